"""cslc --check: every message, no output; standard input under the name '-'."""
import json
import subprocess

import pytest

import harness

SAMPLE = harness.SAMPLES / "gemv"
PARAMS = "--params=width:2,height:2,M:4,N:4"
BAD = "const a: u16 = b;\nexport const c: f32 = true;\n"


def check(*args, **options):
    return harness.cslc("--check", *args, **options)


def from_stdin(text, *args):
    done = subprocess.run([harness.tool("cslc"), "--check", *args, "-"], input=text,
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_good_program_writes_nothing(tmp_path):
    ran = check(SAMPLE / "layout.csl", PARAMS, cwd=tmp_path)
    assert ran.out + ran.err == "" and not list(tmp_path.iterdir())


def test_the_messages_are_those_of_a_compilation(tmp_path):
    path = tmp_path / "bad.csl"
    path.write_text(BAD + "comptime { @comptime_assert(a == 1 and c == 1.0); }\n")
    want = harness.cslc(path, "-o", tmp_path / "o.bin", expect=1).err
    assert "undeclared" in want
    assert check(path, expect=1).err == want


def test_more_than_twenty_errors_are_shown(tmp_path):
    path = tmp_path / "bad.csl"
    path.write_text("".join(f"const c{i} u16 = 1;\n" for i in range(40)))
    assert check(path, expect=1).err.count(": error: ") == 40
    assert "too many errors" in harness.cslc(path, "-o", tmp_path / "o.bin", expect=1).err


def test_standard_input():
    assert from_stdin("export var x: u16 = 1;\n") == (0, "")
    code, err = from_stdin("export var x u16;\n", "--diag-format=json")
    first = json.loads(err.splitlines()[0])
    assert code == 1 and (first["file"], first["line"], first["col"]) == ("<stdin>", 1, 14)


def test_standard_input_imports_from_the_current_folder(tmp_path):
    (tmp_path / "other.csl").write_text("const n: u16 = 3;\n")
    text = 'const other = @import_module("other.csl");\nexport var x = [other.n]u16{1, 2, 3};\n'
    done = subprocess.run([harness.tool("cslc"), "--check", "-"], input=text, cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_parameters_of_a_tile_program_alone_are_no_mistake(tmp_path):
    assert check(SAMPLE / "pe.csl").err == ""
    path = tmp_path / "pe.csl"
    path.write_text("param n: u16;\nexport var x = @zeros([n]u16);\nexport var y: u16 = -1;\n")
    err = check(path, expect=1).err
    assert "unbound_param" not in err and f"{path}:3:21: error" in err


def test_parameters_of_a_layout_are_needed(tmp_path):
    assert "unbound_param" in check(SAMPLE / "layout.csl", expect=1).err


@pytest.mark.parametrize("args,text", [
    (["--emit=ir", "x.csl"], "--check and --emit exclude each other"),
    ([], "no source file is given")])
def test_wrong_usage(args, text):
    assert text in check(*args, expect=2).err


def test_standard_input_is_for_check_only():
    assert "- is for --check" in harness.cslc("-", expect=2).err
