// Starts csl-ls for files of CSL, and wse-dbg for debug sessions of the type csl; runs programs and
// shows their reports.
const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { programOf, REPORT } = require("./run");

let client;

function setting(name) {
  return vscode.workspace.getConfiguration("csl").get(name);
}

// A run that waits has a port; any other one is started.
const debuggers = {
  createDebugAdapterDescriptor({ configuration }) {
    return configuration.request === "attach"
      ? new vscode.DebugAdapterServer(configuration.port)
      : new vscode.DebugAdapterExecutable(setting("debugger"), ["--dap"]);
  },
};

// The program of the file in the editor; undefined, with a message, if there is none.
function currentProgram() {
  const file = vscode.window.activeTextEditor?.document.fileName;
  const tools = {
    compiler: setting("compiler"),
    emulator: setting("emulator"),
    runArguments: setting("runArguments"),
  };
  try {
    const program = file && programOf(file, tools);
    if (program) return program;
    vscode.window.showErrorMessage(
      "CSL: no csl.json, commands.sh or layout.csl in the folder of this file or four above it.");
  } catch (error) {
    vscode.window.showErrorMessage(`CSL: cannot read csl.json: ${error.message}`);
  }
  return undefined;
}

async function runProgram() {
  const program = currentProgram();
  if (!program) return;
  await vscode.workspace.saveAll(false);
  const execution = new vscode.ShellExecution(program.command, { cwd: program.folder });
  await vscode.tasks.executeTask(new vscode.Task(
    { type: "shell" }, vscode.TaskScope.Workspace, "run", "CSL", execution, "$csl"));
}

function showReport() {
  const program = currentProgram();
  if (!program) return;
  const file = path.join(program.folder, REPORT);
  if (!fs.existsSync(file)) {
    vscode.window.showErrorMessage(`CSL: ${file} is missing; "CSL: Compile and Run" writes it.`);
    return;
  }
  const panel = vscode.window.createWebviewPanel(
    "csl.report", "CSL report", vscode.ViewColumn.Beside, { enableScripts: true });
  panel.webview.html = fs.readFileSync(file, "utf8");
}

function activate(context) {
  const watcher = vscode.workspace.createFileSystemWatcher(
    "**/{*.csl,csl.json,commands*.sh,profile.json}");
  context.subscriptions.push(
    watcher,
    vscode.debug.registerDebugAdapterDescriptorFactory("csl", debuggers),
    vscode.commands.registerCommand("csl.run", runProgram),
    vscode.commands.registerCommand("csl.showReport", showReport));
  client = new LanguageClient("csl", "CSL", { command: setting("server"), args: ["--stdio"] }, {
    documentSelector: [{ scheme: "file", language: "csl" }],
    synchronize: { fileEvents: watcher },
  });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
