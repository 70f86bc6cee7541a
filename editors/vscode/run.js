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

function compileAndRun(tools, layout, options) {
  const compile = [tools.compiler, layout, ...options, "-o", OUTPUT];
  const run = [tools.emulator, OUTPUT, ...OBSERVED, ...tools.runArguments];
  return `${compile.map(quoted).join(" ")} && ${run.map(quoted).join(" ")}`;
}

// The command for a folder; undefined if it has no program.
function commandIn(folder, tools) {
  const project = path.join(folder, "csl.json");
  if (fs.existsSync(project)) {
    const [program] = JSON.parse(fs.readFileSync(project, "utf8")).programs ?? [];
    if (program) return compileAndRun(tools, program.layout, program.options ?? []);
  }
  const script = fs.readdirSync(folder).sort().find((name) => /^commands.*\.sh$/.test(name));
  if (script) return `WSE_ARGS=${quoted(OBSERVED.join(" "))} bash ${quoted(script)}`;
  if (fs.existsSync(path.join(folder, "layout.csl")))
    return compileAndRun(tools, "layout.csl", []);
  return undefined;
}

// { folder, command } for the file; undefined if no folder above it has a program.
function programOf(file, tools) {
  let folder = path.dirname(file);
  for (let up = 0; up <= MOST_FOLDERS_UP; up++) {
    const command = commandIn(folder, tools);
    if (command) return { folder, command };
    folder = path.dirname(folder);
  }
  return undefined;
}

module.exports = { programOf, REPORT };
