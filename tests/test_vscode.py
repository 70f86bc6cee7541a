"""The extension for VS Code, run: over a stand-in for the module that VS Code gives extensions, with
VS Code's client library, csl-ls and this project's programs.  tests/vscode/drive.js says what stands
in; tests/claims/vscode.py runs VS Code itself."""
import json
import os
import shutil

import pytest

import harness

FOLDER = harness.ROOT / "tests" / "vscode"
EXTENSION = harness.ROOT / "editors" / "vscode" / "extension.js"
pytestmark = pytest.mark.skipif(not (FOLDER / "node_modules").exists() or not shutil.which("node"),
                                reason="needs Node.js, and npm ci in tests/vscode")

LAYOUT = 'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }\n'
PROGRAM = """// The sum of all.
var total: i16 = 0;
fn main() void {
  total += nothing;
}
comptime { @export_symbol(total); }
"""


def driven(folder, settings, path=None):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PROGRAM)
    ran = harness.run(["node", FOLDER / "drive.js", EXTENSION, folder, json.dumps(settings)],
                      env={"PATH": path or os.environ["PATH"]})
    return json.loads(ran.out)


def test_the_extension_from_start_to_end(tmp_path):
    """Messages and answers of the server that the settings name; commands; the debugger."""
    seen = driven(tmp_path, {"csl.server": harness.tool("csl-ls"),
                             "csl.debugger": harness.tool("wse-dbg"),
                             "csl.compiler": "/c/cslc", "csl.emulator": "/e/wse-emu",
                             "csl.runArguments": ["--launch=main"]})
    assert [4, "'nothing' is not declared", "cslc"] in seen["messages"]
    assert "var total: i16" in seen["hover"] and "The sum of all." in seen["hover"]
    assert {"CompletionItem", "Definition", "DocumentFormattingEdit", "Hover", "InlayHints", "Rename",
            "SignatureHelp", "DocumentSemanticTokens"} <= set(seen["providers"])
    assert seen["commands"] == ["csl.run", "csl.showReport"]
    assert seen["launch"] == ["program", str(harness.tool("wse-dbg")), ["--dap"]]
    assert seen["attach"] == ["server", 7]
    (command, options), = seen["task"]
    assert command == ("/c/cslc layout.csl -o out && /e/wse-emu out --profile=profile.json "
                       "--report=report.html --launch=main")
    assert options == {"cwd": str(tmp_path)}
    assert (seen["given"]["program"], seen["given"]["cwd"]) == ("p", "/a/folder")
    assert seen["edited"] == {
        "answer": "hello", "request": "launch", "terminated": 0,
        "command": "/c/cslc layout.csl -o out && /e/wse-emu out --dap=N --launch=main"}
    assert seen["early"] == ["debug"] and seen["failed"]


def test_without_settings_the_programs_come_from_the_path(tmp_path):
    """The values that package.json declares."""
    seen = driven(tmp_path, {}, f"{harness.bin_dir()}:{os.environ['PATH']}")
    assert seen["launch"] == ["program", "wse-dbg", ["--dap"]]
    assert seen["task"][0][0].startswith("cslc layout.csl -o out && wse-emu out ")
    assert any("nothing" in text for _, text, _ in seen["messages"])


@pytest.mark.parametrize("setting, message", [
    ("csl-ls", "csl-ls is not on the PATH. Install the toolchain, or set csl.server to its path."),
    ("/nowhere/csl-ls", "there is no program /nowhere/csl-ls. Correct csl.server.")])
def test_a_server_that_is_missing(tmp_path, setting, message):
    assert driven(tmp_path, {"csl.server": setting}, "/usr/bin:/bin")["shown"] == [f"CSL: {message}"]
