"""The editors' files: the TextMate grammar knows the words of the compiler, and the extension of
VS Code is whole."""
import json
import os
import re
import shutil
import tomllib

import pytest

import harness

FOLDER = harness.ROOT / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "csl.tmLanguage.json").read_text())


def rules(pattern):
    """(name, regular expression) of a pattern and those inside."""
    if "match" in pattern:
        yield pattern.get("name", ""), pattern["match"]
    for key in ("begin", "end"):
        if key in pattern:
            yield pattern.get("name", ""), pattern[key]
    for inner in pattern.get("patterns", []):
        yield from rules(inner)


RULES = [rule for pattern in GRAMMAR["repository"].values() for rule in rules(pattern)]


def scopes(text):
    """Scopes of the rules that match the whole text."""
    return {name for name, rule in RULES if re.fullmatch(rule, text)}


def keywords():
    text = (harness.ROOT / "frontend/syntax/parse.y").read_text()
    return re.findall(r'"(\w+)"', text[text.index("%token\n  CONST"):text.index("%token END")])


def types():
    text = (harness.ROOT / "frontend/value/value.h").read_text()
    table = text[text.index("#define WELL_KNOWN_TYPES"):text.index("POOL_RAW_NONE")]
    return re.findall(r'T\(\w+, "(\w+)"\)', table)


def test_tables_are_found():
    assert len(keywords()) > 30 and len(types()) > 30


@pytest.mark.parametrize("word", keywords())
def test_keywords_have_a_color(word):
    assert any(s.startswith(("keyword", "storage", "constant.language")) for s in scopes(word))


@pytest.mark.parametrize("word", [*types(), "i16", "u128"])
def test_types_have_a_color(word):
    assert "storage.type.csl" in scopes(word)


@pytest.mark.parametrize("text,scope", [
    ("// x", "comment.line.double-slash.csl"), ("@get_dsd", "support.function.builtin.csl"),
    ("1_000", "constant.numeric.integer.csl"), ("0x1F", "constant.numeric.integer.csl"),
    ("0b10", "constant.numeric.integer.csl"), ("1.5e-3", "constant.numeric.float.csl"),
    ("2e8", "constant.numeric.float.csl"), ("0x1.8p3", "constant.numeric.float.csl"),
    ("\\x1b", "constant.character.escape.csl"), ("\\q", "invalid.illegal.escape.csl"),
    ("<<=", "keyword.operator.csl"), (".*", "keyword.operator.csl")])
def test_tokens_have_a_color(text, scope):
    assert scope in scopes(text)


@pytest.mark.parametrize("word", ["value", "constant", "i_16", "forever"])
def test_names_have_none(word):
    assert not scopes(word)


def test_every_include_is_there():
    for pattern in [GRAMMAR, *GRAMMAR["repository"].values()]:
        for inner in pattern.get("patterns", []):
            if "include" in inner:
                assert inner["include"].removeprefix("#") in GRAMMAR["repository"]


def test_the_extension_is_whole():
    package = json.loads((FOLDER / "package.json").read_text())
    contributes = package["contributes"]
    named = [package["main"], *(g["path"] for g in contributes["grammars"]),
             *(l["configuration"] for l in contributes["languages"])]
    assert all((FOLDER / name).exists() for name in named)
    json.loads((FOLDER / "language-configuration.json").read_text())
    assert contributes["configuration"]["properties"]["csl.server"]["default"] == "csl-ls"


# What the extension gets from VS Code, as far as it uses it; prints what the extension makes of it.
STUB = """
const [file, command] = process.argv.slice(2);
const made = [];
const commands = {};
const settings = { server: "csl-ls", debugger: "wse-dbg", compiler: "cslc", emulator: "wse-emu",
                   runArguments: ["--launch=main"] };
class Made { constructor(...args) { made.push([this.constructor.name, ...args]); } }
class DebugAdapterExecutable extends Made {}
class DebugAdapterServer extends Made {}
class ShellExecution extends Made {}
class Task {}
class LanguageClient { start() { return Promise.resolve(); } stop() {} }
const panel = { webview: {}, onDidDispose() {} };
const asked = [];
const vscode = {
  DebugAdapterExecutable, DebugAdapterServer, ShellExecution, Task,
  TaskScope: {}, ViewColumn: {},
  commands: { registerCommand(name, run) { commands[name] = run; return {}; } },
  tasks: { executeTask() {}, onDidEndTaskProcess: () => ({}) },
  window: { activeTextEditor: { document: { fileName: file } },
            showErrorMessage(text) { made.push(["error", text]); },
            createWebviewPanel() { return panel; } },
  workspace: { getConfiguration: () => ({ get: (name) => settings[name] }),
               onDidChangeConfiguration: () => ({}), saveAll() {} },
  debug: {
    registerDebugAdapterDescriptorFactory(type, factory) {
      for (const configuration of command ? [] : [{ request: "attach", port: 7 },
                                                  { request: "launch", program: "p" }])
        asked.push(factory.createDebugAdapterDescriptor({ type, configuration }));
      return {};
    },
    registerDebugConfigurationProvider: () => ({}), onDidTerminateDebugSession: () => ({}),
  },
};
const Module = require("module");
const load = Module._load;
Module._load = (name, ...rest) => name === "vscode" ? vscode
  : name.startsWith("vscode-languageclient") ? { LanguageClient } : load(name, ...rest);
(async () => {
  await require(process.argv[1]).activate({ subscriptions: [] });
  await Promise.all(asked);
  if (command) await commands[command]();
  if (panel.webview.html) made.push(["page", panel.webview.html.length]);
  console.log(JSON.stringify(made));
})();
"""


def made_by_the_extension(*arguments):
    env = {"PATH": f"{harness.bin_dir()}:{os.environ['PATH']}"}
    return json.loads(harness.run(["node", "-e", STUB, FOLDER / "extension.js", *arguments],
                                  env=env).out)


def test_the_extension_starts_or_finds_the_debugger():
    assert made_by_the_extension() == [["DebugAdapterServer", 7],
                                       ["DebugAdapterExecutable", "wse-dbg", ["--dap"]]]


LAYOUT = 'param n: i16;\nlayout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); ' \
         '@export_name("main", fn() void); }\n'
PROGRAM = "var x: i16 = 1;\nfn main() void { x += 1; }\ncomptime { @export_symbol(main); }\n"


@pytest.fixture
def program(tmp_path):
    folder = tmp_path / "it's here"
    (folder / "src").mkdir(parents=True)
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PROGRAM)
    return folder


@pytest.mark.parametrize("name,text", [
    ("csl.json", '{"programs": [{"layout": "layout.csl", "options": ["--params=n:3"]}]}'),
    ("commands.sh", "set -e\ncslc layout.csl --params=n:3 -o out\n"
                    "wse-emu out --launch=main $WSE_ARGS\n"),
    ("layout.csl", LAYOUT.replace("i16;", "i16 = 3;"))])
def test_the_extension_runs_programs_and_shows_their_reports(program, name, text):
    (program / name).write_text(text)
    file = program / "src" / "any.csl"
    (kind, why), = made_by_the_extension(file, "csl.showReport")
    assert kind == "error" and "report.html is missing" in why
    (kind, command, options), = made_by_the_extension(file, "csl.run")
    assert kind == "ShellExecution" and options == {"cwd": str(program)}
    harness.run(["bash", "-c", command], cwd=program,
                env={"PATH": f"{harness.bin_dir()}:{os.environ['PATH']}"})
    assert json.loads((program / "profile.json").read_text())["cycles"] > 0
    assert made_by_the_extension(file, "csl.showReport") == [
        ["page", len((program / "report.html").read_text())]]


def test_the_extension_reports_what_it_cannot_run(tmp_path):
    folder = tmp_path.joinpath(*"abcdef")
    folder.mkdir(parents=True)
    (kind, why), = made_by_the_extension(folder / "pe.csl", "csl.run")
    assert kind == "error" and "no csl.json" in why
    (folder / "csl.json").write_text("{")
    (kind, why), = made_by_the_extension(folder / "pe.csl", "csl.run")
    assert kind == "error" and "cannot read csl.json" in why


def test_commands_of_the_extension_are_declared():
    package = json.loads((FOLDER / "package.json").read_text())
    declared = {c["command"] for c in package["contributes"]["commands"]}
    assert declared == set(re.findall(r'registerCommand\("([\w.]+)"',
                                      (FOLDER / "extension.js").read_text()))
    used = {name for file in FOLDER.glob("*.js")
            for name in re.findall(r'(?:setting|findTool)\("(\w+)"', file.read_text())}
    assert {f"csl.{name}" for name in used} == set(
        package["contributes"]["configuration"]["properties"])


def test_the_debugger_s_arguments_are_documented():
    package = json.loads((FOLDER / "package.json").read_text())
    launch = package["contributes"]["debuggers"][0]["configurationAttributes"]["launch"]
    guide = (harness.ROOT / "docs" / "debugger.md").read_text()
    assert all(f"| `{name}` |" in guide for name in launch["properties"])


ZED = harness.ROOT / "editors" / "zed"

# What the extension for Zed uses of Zed's library, with the types of its documentation.
ZED_LIBRARY = """
pub struct LanguageServerId;
pub struct Worktree;
pub type Result<T, E = String> = core::result::Result<T, E>;
pub struct Command { pub command: String, pub args: Vec<String>, pub env: Vec<(String, String)> }
impl Worktree {
    pub fn which(&self, name: &str) -> Option<String> { Some(format!("/bin/{name}")) }
    pub fn shell_env(&self) -> Vec<(String, String)> { vec![] }
}
pub trait Extension {
    fn new() -> Self where Self: Sized;
    fn language_server_command(&mut self, _: &LanguageServerId, _: &Worktree) -> Result<Command>;
}
#[macro_export]
macro_rules! register_extension { ($t:ty) => {
    pub fn run() -> String {
        let mut made = <$t as $crate::Extension>::new();
        let got = $crate::Extension::language_server_command(
            &mut made, &$crate::LanguageServerId, &$crate::Worktree).unwrap();
        format!("{} {}", got.command, got.args.join(" "))
    }
}; }
"""


def test_the_extension_for_zed_is_whole():
    extension = tomllib.loads((ZED / "extension.toml").read_text())
    language = tomllib.loads((ZED / "languages" / "csl" / "config.toml").read_text())
    assert language["grammar"] in extension["grammars"]
    assert extension["language_servers"]["csl-ls"]["languages"] == [language["name"]]
    assert (harness.ROOT / extension["grammars"]["csl"]["path"] / "src" / "parser.c").exists()
    assert "csl" in language["path_suffixes"]
    highlights = harness.ROOT / "editors" / "tree-sitter" / "queries" / "highlights.scm"
    assert (ZED / "languages" / "csl" / "highlights.scm").resolve() == highlights
    cargo = tomllib.loads((ZED / "Cargo.toml").read_text())
    assert cargo["lib"]["crate-type"] == ["cdylib"] and cargo["dependencies"]["zed_extension_api"]


@pytest.mark.skipif(not shutil.which("rustc"), reason="Rust is not installed")
def test_the_extension_for_zed_starts_the_server(tmp_path):
    def rustc(source, *options):
        harness.run(["rustc", "--edition=2021", "-L", tmp_path, "--out-dir", tmp_path, *options,
                     source])
    (tmp_path / "zed_extension_api.rs").write_text(ZED_LIBRARY)
    (tmp_path / "main.rs").write_text('fn main() { println!("{}", csl::run()); }')
    rustc(tmp_path / "zed_extension_api.rs", "--crate-type=rlib")
    rustc(ZED / "src" / "lib.rs", "--crate-type=rlib", "--crate-name=csl",
          "--extern=zed_extension_api")
    rustc(tmp_path / "main.rs", "--extern=csl")
    assert harness.run([tmp_path / "main"]).out == "/bin/csl-ls --stdio\n"
