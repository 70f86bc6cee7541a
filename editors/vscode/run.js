// How the program of a file is compiled and run: by the script or the csl.json that csl-ls finds, too
// (docs/editors.md, "csl-ls").
const fs = require("fs");
const path = require("path");

const MOST_FOLDERS_UP = 4;
const OUTPUT = "out";
const PROFILE = "profile.json";
const REPORT = "report.html";
const OBSERVED = [`--profile=${PROFILE}`, `--report=${REPORT}`];

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function compileAndRun(tools, options, layout, layoutOptions) {
  const compile = [tools.compiler, layout, ...layoutOptions, "-o", OUTPUT];
  const run = [tools.emulator, OUTPUT, ...options, ...tools.runArguments];
  return `${compile.map(quoted).join(" ")} && ${run.map(quoted).join(" ")}`;
}

// The command for a folder; undefined if it has no program.
function commandIn(folder, tools, options) {
  const project = path.join(folder, "csl.json");
  if (fs.existsSync(project)) {
    const [program] = JSON.parse(fs.readFileSync(project, "utf8")).programs ?? [];
    if (program) return compileAndRun(tools, options, program.layout, program.options ?? []);
  }
  const script = fs.readdirSync(folder).sort().find((name) => /^commands.*\.sh$/.test(name));
  if (script) return `WSE_ARGS=${quoted(options.map(quoted).join(" "))} bash ${quoted(script)}`;
  if (fs.existsSync(path.join(folder, "layout.csl")))
    return compileAndRun(tools, options, "layout.csl", []);
  return undefined;
}

// { folder, command } for the file, where the emulator gets `options`; undefined if no folder above
// it has a program.
function programOf(file, tools, options = OBSERVED) {
  let folder = path.dirname(file);
  for (let up = 0; up <= MOST_FOLDERS_UP; up++) {
    const command = commandIn(folder, tools, options);
    if (command) return { folder, command };
    folder = path.dirname(folder);
  }
  return undefined;
}

module.exports = { programOf, REPORT };
