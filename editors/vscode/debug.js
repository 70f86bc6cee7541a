// Debug sessions of the type csl: a program image that wse-dbg starts, a run that waits at a port, or,
// without either, the program of the file in the editor, compiled and run.
const vscode = require("vscode");
const { findTool } = require("./tools");
const { findPort, waitFor } = require("./wait");

// `startTask`, of the program of the file in the editor with options of the emulator: a promise of
// the task's execution; undefined: there is no program.
class Debugger {
  constructor(startTask) {
    this.startTask = startTask;
    this.runs = [];              // of programs of the editor: { execution, wait }
  }

  register() {
    return [
      vscode.debug.registerDebugConfigurationProvider("csl", this),
      vscode.debug.registerDebugAdapterDescriptorFactory("csl", this),
      vscode.tasks.onDidEndTaskProcess(({ execution }) =>
        this.take((run) => run.execution === execution)?.wait.close()),
      vscode.debug.onDidTerminateDebugSession(({ configuration }) =>
        this.leave(this.take((run) => run.wait.port === configuration.port))),
    ];
  }

  // F5 without launch.json gives an empty configuration.
  resolveDebugConfiguration(folder, configuration) {
    const whole = { type: "csl", request: "launch", name: "CSL", ...configuration };
    if (whole.request === "launch" && whole.program && folder) whole.cwd ??= folder.uri.fsPath;
    return whole;
  }

  async resolveDebugConfigurationWithSubstitutedVariables(folder, configuration) {
    if (configuration.request !== "launch" || configuration.program) return configuration;
    const target = await findPort();
    const wait = await waitFor(target);
    const execution = await this.startTask([`--dap=${target}`, ...configuration.args ?? []]);
    if (execution) this.runs.push({ execution, wait });     // before an event can say that it ended
    else wait.close();
    return execution && { ...configuration, port: wait.port };
  }

  async createDebugAdapterDescriptor({ configuration }) {
    if (configuration.port !== undefined) return new vscode.DebugAdapterServer(configuration.port);
    const program = await findTool("debugger");
    return program && new vscode.DebugAdapterExecutable(program, ["--dap"]);
  }

  take(isMeant) {
    const run = this.runs.find(isMeant);
    this.runs = this.runs.filter((other) => other !== run);
    return run;
  }

  // A program whose run the debugger has ended, or its host script, still goes on to its own end.
  leave(run) {
    if (!run?.wait.isConnected) run?.execution.terminate();
  }
}

module.exports = { Debugger };
