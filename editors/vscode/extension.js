// Starts csl-ls for files of CSL, and debug sessions of the type csl; runs programs and shows their
// reports.
const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { Debugger } = require("./debug");
const { programOf, REPORT } = require("./run");
const { findTool, setting } = require("./tools");

let client;
const panels = new Map();        // of reports, by file

// The program of the file in the editor; undefined, with a message, if there is none.
function currentProgram(options) {
  const file = vscode.window.activeTextEditor?.document.fileName;
  const tools = {
    compiler: setting("compiler"),
    emulator: setting("emulator"),
    runArguments: setting("runArguments"),
  };
  try {
    const program = file && programOf(file, tools, options);
    if (program) return program;
    vscode.window.showErrorMessage(
      "CSL: no csl.json, commands.sh or layout.csl in the folder of this file or four above it.");
  } catch (error) {
    vscode.window.showErrorMessage(`CSL: cannot read csl.json: ${error.message}`);
  }
  return undefined;
}

// The emulator gets `options`, or else those for the profile and the report.
async function startTask(options) {
  const program = currentProgram(options);
  if (!program) return undefined;
  await vscode.workspace.saveAll(false);
  const execution = new vscode.ShellExecution(program.command, { cwd: program.folder });
  const matchers = client ? [] : ["$csl"];      // the server shows the compiler's messages, too
  return vscode.tasks.executeTask(new vscode.Task(
    { type: "shell" }, vscode.TaskScope.Workspace, options ? "debug" : "run", "CSL", execution,
    matchers));
}

// ---- reports ------------------------------------------------------------------------------------

function loadReport(file) {
  panels.get(file).webview.html = fs.readFileSync(file, "utf8");
}

function openPanel(file) {
  const panel = vscode.window.createWebviewPanel("csl.report", "CSL report",
    vscode.ViewColumn.Beside, { enableScripts: true, retainContextWhenHidden: true });
  panel.onDidDispose(() => panels.delete(file));
  panels.set(file, panel);
}

function showReport() {
  const program = currentProgram();
  if (!program) return;
  const file = path.join(program.folder, REPORT);
  if (!fs.existsSync(file)) {
    vscode.window.showErrorMessage(`CSL: ${file} is missing; "CSL: Compile and Run" writes it.`);
    return;
  }
  if (panels.has(file)) panels.get(file).reveal();
  else openPanel(file);
  loadReport(file);
}

function reloadReports() {
  for (const file of panels.keys())
    if (fs.existsSync(file)) loadReport(file);
}

// ---- the server ---------------------------------------------------------------------------------

async function startServer() {
  await client?.stop();
  client = undefined;
  const command = await findTool("server");
  if (!command) return;
  const started = new LanguageClient("csl", "CSL", { command, args: ["--stdio"] }, {
    documentSelector: [{ scheme: "file", language: "csl" }],
  });
  await started.start();
  client = started;
}

function activate(context) {
  context.subscriptions.push(
    ...new Debugger(startTask).register(),
    vscode.commands.registerCommand("csl.run", () => startTask()),
    vscode.commands.registerCommand("csl.showReport", showReport),
    vscode.tasks.onDidEndTaskProcess(({ execution }) =>
      execution.task.source === "CSL" && reloadReports()),
    vscode.workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration("csl.server") && startServer()));
  return startServer();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
