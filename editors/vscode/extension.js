// Starts csl-ls for files of CSL.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate(context) {
  const command = workspace.getConfiguration("csl").get("server");
  const watcher = workspace.createFileSystemWatcher("**/{*.csl,csl.json,commands*.sh}");
  context.subscriptions.push(watcher);
  client = new LanguageClient("csl", "CSL", { command, args: ["--stdio"] }, {
    documentSelector: [{ scheme: "file", language: "csl" }],
    synchronize: { fileEvents: watcher },
  });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
