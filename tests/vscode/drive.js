// Runs editors/vscode over a stand-in for the module that VS Code gives extensions (jest-mock-vscode),
// with VS Code's client library and the programs themselves:
//   node drive.js EXTENSION FOLDER SETTINGS_JSON
// It opens FOLDER/pe.csl, waits for the messages of the language server, asks what the extension has
// registered, and prints all of it as JSON.  Without a server, it prints what the extension shows.
const fs = require("fs");
const net = require("net");
const path = require("path");
const { once } = require("events");
const Module = require("module");
const { ModuleMocker } = require("jest-mock");
const { createVSCodeMock } = require("jest-mock-vscode");

const MOST_MS = 60000;
const [extension, folder, settings] = process.argv.slice(2);
const own = JSON.parse(settings);
const declared = JSON.parse(fs.readFileSync(path.join(path.dirname(extension), "package.json")))
  .contributes.configuration.properties;
const vscode = createVSCodeMock(new ModuleMocker(globalThis));
const nothing = { dispose() {} };

// Some members of the stand-in can only be read.
function override(object, members) {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(object, name, { value, writable: true, configurable: true });
}

// What the stand-in lacks.
for (const name of ["InlayHint", "CancellationError", "DebugAdapterExecutable", "DebugAdapterServer",
                    "ShellExecution", "Task", "Hover"]) {
  vscode[name] ??= class { constructor(...args) { this.args = args; } };
}
vscode.env = { language: "en", appName: "stand-in" };
vscode.CancellationTokenSource = class {
  token = { isCancellationRequested: false, onCancellationRequested: () => nothing };
  cancel() {}
  dispose() {}
};

// Events of documents, by hand: the listeners are those that the client has added.
const opened = [];
const document = {
  uri: vscode.Uri.file(path.join(folder, "pe.csl")), fileName: path.join(folder, "pe.csl"),
  languageId: "csl", version: 1, isClosed: false, isUntitled: false, isDirty: false,
  getText: () => fs.readFileSync(path.join(folder, "pe.csl"), "utf8"),
};
const silent = () => nothing;
override(vscode.workspace, {
  textDocuments: [document], notebookDocuments: [], workspaceFolders: undefined,
  onDidOpenTextDocument: (listener) => (opened.push(listener), nothing),
  // Settings that the user has not set have the values that package.json declares.
  getConfiguration: (section) => ({
    get: (name) => own[`${section}.${name}`] ?? declared[`${section}.${name}`]?.default,
  }),
  createFileSystemWatcher: () => ({ onDidCreate: silent, onDidChange: silent, onDidDelete: silent,
                                    ...nothing }),
  saveAll: async () => true,
});
for (const name in vscode.workspace)
  if (/^on(Did|Will)/.test(name) && name !== "onDidOpenTextDocument")
    override(vscode.workspace, { [name]: silent });
const shown = [], channel = { appendLine: (text) => shown.push(text), append: (text) =>
  shown.push(text), show() {}, clear() {}, dispose() {} };
override(vscode.window, {
  activeTextEditor: { document }, visibleTextEditors: [{ document }],
  createOutputChannel: () => channel,
  showErrorMessage: async (text) => { shown.push(text); },
  showInformationMessage: async () => undefined,
  tabGroups: { all: [], onDidChangeTabs: silent, onDidChangeTabGroups: silent },
});
for (const name in vscode.window)
  if (/^onDid/.test(name)) override(vscode.window, { [name]: silent });

const commands = {}, providers = {}, factories = {}, configurations = {}, tasks = [], ended = [];
const terminated = [], left = [], executions = [];
vscode.commands.registerCommand = (name, run) => (commands[name] = run, nothing);
vscode.debug.registerDebugAdapterDescriptorFactory = (type, factory) =>
  (factories[type] = factory, nothing);
vscode.debug.registerDebugConfigurationProvider = (type, provider) =>
  (configurations[type] = provider, nothing);
vscode.debug.onDidTerminateDebugSession = (listener) => (left.push(listener), nothing);
vscode.tasks.executeTask = async (task) => {
  tasks.push(task);
  executions.push({ task: { source: task.args[3] },
                    terminate() { terminated.push(task.args[2]); } });
  return executions.at(-1);
};
vscode.tasks.onDidEndTaskProcess = (listener) => (ended.push(listener), nothing);
let said, told = new Promise((resolve) => { said = resolve; });
vscode.languages.createDiagnosticCollection = () => ({
  set: (uri, messages) => said(messages), delete() {}, clear() {}, dispose() {},
});
vscode.languages.match = (selector, doc) => {
  const all = [selector].flat();
  return all.some((s) => (s.language ?? s) === doc.languageId) ? 10 : 0;
};
for (const name of Object.keys(vscode.languages))
  if (name.startsWith("register"))
    vscode.languages[name] = (selector, provider) =>
      (providers[name.slice("register".length).replace(/Provider$/, "")] = provider, nothing);

const load = Module._load;
const here = Module.createRequire(__filename);
Module._load = (name, parent, ...rest) => {
  if (name === "vscode") return vscode;
  if (name.startsWith("vscode-languageclient") && !parent.filename.startsWith(__dirname))
    return here(name);
  return load(name, parent, ...rest);
};

async function descriptor(configuration) {
  const made = await factories.csl.createDebugAdapterDescriptor({ type: "csl", configuration });
  return [made instanceof vscode.DebugAdapterServer ? "server" : "program", ...made.args];
}

async function resolve(configuration) {
  const folder = { uri: vscode.Uri.file("/a/folder") };
  const whole = configurations.csl.resolveDebugConfiguration(folder, configuration);
  return configurations.csl.resolveDebugConfigurationWithSubstitutedVariables(folder, whole);
}

// F5 without launch.json: VS Code connects at once, the program listens later.
async function debugEditor() {
  const configuration = await resolve({});
  const [command] = tasks.at(-1).args[4].args;
  const client = net.connect(configuration.port, "127.0.0.1");
  client.write("hello");
  await new Promise((later) => setTimeout(later, 150));
  const program = net.createServer((socket) => socket.pipe(socket));
  program.listen(Number(/--dap=(\d+)/.exec(command)[1]), "127.0.0.1");
  const [answer] = await once(client, "data");
  client.destroy();
  program.close();
  left.forEach((listener) => listener({ configuration }));
  return { answer: String(answer), request: configuration.request, terminated: terminated.length,
           command: command.replace(/--dap=\d+/, "--dap=N") };
}

// The user gives up while the program is being compiled.
async function leaveEarly() {
  const configuration = await resolve({ type: "csl", request: "launch", name: "x", args: ["-v"] });
  left.forEach((listener) => listener({ configuration }));
  return terminated;
}

// The compiler finds an error.
async function failToCompile() {
  const configuration = await resolve({});
  const client = net.connect(configuration.port, "127.0.0.1").resume();
  await once(client, "connect");
  ended.forEach((listener) => listener({ execution: executions.at(-1) }));
  await once(client, "close");
  return true;
}

async function main() {
  setTimeout(() => { throw new Error(`nothing for ${MOST_MS} ms: ${shown.join("\n")}`); },
             MOST_MS).unref();
  const main = require(extension);
  const context = { subscriptions: [] };
  await main.activate(context);
  if (shown.some((text) => text.includes("csl.server"))) return console.log(JSON.stringify({ shown }));
  const messages = await told;
  const token = new vscode.CancellationTokenSource().token;
  const text = document.getText(), at = text.indexOf("total +=");
  const line = text.slice(0, at).split("\n").length - 1;
  const hover = await providers.Hover.provideHover(document, new vscode.Position(line, 3), token);
  await commands["csl.run"]();
  const result = {
    messages: messages.map((m) => [m.range.start.line + 1, m.message, m.source]),
    hover: [hover.args[0]].flat().map((part) => part.value).join("\n"),
    providers: Object.keys(providers).sort(), commands: Object.keys(commands).sort(),
    launch: await descriptor({ request: "launch" }),
    attach: await descriptor({ request: "attach", port: 7 }),
    task: tasks.map((t) => t.args[4].args), given: await resolve({ request: "launch", program: "p" }),
    edited: await debugEditor(), early: await leaveEarly(), failed: await failToCompile(),
    shown,
  };
  await main.deactivate();
  console.log(JSON.stringify(result));
}

main().then(() => process.exit(0), (error) => {
  console.error(error.stack, shown.join("\n"));
  process.exit(1);
});
