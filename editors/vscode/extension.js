// Starts csl-ls for files of CSL, and wse-dbg for debug sessions of the type csl.
const { DebugAdapterExecutable, DebugAdapterServer, debug, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function setting(name) {
  return workspace.getConfiguration("csl").get(name);
}

// A run that waits has a port; any other one is started.
const debuggers = {
  createDebugAdapterDescriptor({ configuration }) {
    return configuration.request === "attach"
      ? new DebugAdapterServer(configuration.port)
      : new DebugAdapterExecutable(setting("debugger"), ["--dap"]);
  },
};

function activate(context) {
  const watcher = workspace.createFileSystemWatcher("**/{*.csl,csl.json,commands*.sh,profile.json}");
  context.subscriptions.push(
    watcher, debug.registerDebugAdapterDescriptorFactory("csl", debuggers));
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
