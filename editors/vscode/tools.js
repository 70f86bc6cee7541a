// The programs of the toolchain, by their settings.
const fs = require("fs");
const path = require("path");
const vscode = require("vscode");

function setting(name) {
  return vscode.workspace.getConfiguration("csl").get(name);
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function isFound(program) {
  const folders = program.includes("/") ? [""] : (process.env.PATH ?? "").split(path.delimiter);
  return folders.some((folder) => isProgram(path.join(folder, program)));
}

// The program that VS Code itself starts by the setting csl.NAME; undefined, with a message, if there
// is none.
async function findTool(name) {
  const program = setting(name), open = "Open Settings";
  if (isFound(program)) return program;
  const text = program.includes("/") ? `there is no program ${program}. Correct csl.${name}.`
    : `${program} is not on the PATH. Install the toolchain, or set csl.${name} to its path.`;
  vscode.window.showErrorMessage(`CSL: ${text}`, open)
    .then((choice) => choice === open &&
      vscode.commands.executeCommand("workbench.action.openSettings", `csl.${name}`));
  return undefined;
}

module.exports = { findTool, setting };
