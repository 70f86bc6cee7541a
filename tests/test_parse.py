"""The syntactic front end as a user meets it: round trips of whole files, tokens, limits."""
import os
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import harness

OURS = [f for part in ("samples", "stdlib", "tests/golden", "tests/parse")
        for f in sorted((harness.ROOT / part).rglob("*.csl"))]
VENDOR = sorted(Path(os.environ["CONFORMANCE_DIR"]).rglob("*.csl")) \
    if os.environ.get("CONFORMANCE_DIR") else []


def tree(path):
    return harness.cslc("--emit=tree", path, expect=None)


def check_round_trip(path, printed, as_read):
    """Printing and parsing again gives the same tree, and printing that the same text."""
    harness.cslc("--emit=ast", path, "-o", printed)
    assert tree(printed).out == as_read.out
    assert harness.cslc("--emit=ast", printed).out == printed.read_text()


def test_round_trip_of_our_files(tmp_path):
    """A third of them, another one with each commit."""
    checked = 0
    for path in harness.commit_random("round trips").permutation(OURS)[:len(OURS) // 3]:
        as_read = tree(path)
        if as_read.code == 0:
            check_round_trip(path, tmp_path / "printed.csl", as_read)
            checked += 1
    assert checked > 20


@pytest.mark.skipif(not VENDOR, reason="CONFORMANCE_DIR is not set")
def test_round_trip_of_the_vendors_files(tmp_path):
    for path in VENDOR:
        check_round_trip(path, tmp_path / "printed.csl", tree(path))


def test_every_construct_is_in_the_tour():
    """tests/parse/tour.csl has a node of every kind."""
    names = {line.split('"')[1]
             for line in (harness.ROOT / "frontend/syntax/nodes.def").read_text().splitlines()
             if line.startswith("NODE(")}
    dump = tree(harness.ROOT / "tests/parse/tour.csl").out
    missing = {n for n in names if f": {n} " not in dump and f": {n}\n" not in dump}
    assert missing == {"erroneous construct"}


def emit(tmp_path, kind, text, expect=0):
    path = tmp_path / "t.csl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return harness.cslc(f"--emit={kind}", "--diag-format=json", path, expect=expect)


def printed(tmp_path, text):
    return emit(tmp_path, "ast", text).out


def test_tokens_have_places_and_spellings(tmp_path):
    out = emit(tmp_path, "tokens", "const x =\n  @f(0x1_0, \"a\\n\") << 1.5;").out
    assert out.splitlines() == [
        "1:1 const", "1:7 name x", "1:9 '='", "2:3 builtin @f", "2:5 '('", "2:6 integer 0x1_0",
        "2:11 ','", "2:13 string \"a\\n\"", "2:18 ')'", "2:20 <<", "2:23 float 1.5", "2:26 ';'",
        "2:27 end of file"]


PRECEDENCE = [
    ("a & b - 1 == 0", "a & (b - 1) == 0"),
    ("a << 16 | b", "(a << 16) | b"),
    ("a & b | c ^ d", "((a & b) | c) ^ d"),
    ("a == b and c != d or e", "((a == b) and (c != d)) or e"),
    ("-a * b", "(-a) * b"),
    ("a - b - c", "(a - b) - c"),
    ("a + b << c", "(a + b) << c"),
    ("a * b % c / d", "((a * b) % c) / d"),
    ("!a.b[c].*", "!(((a.b)[c]).*)"),
    ("&a[b]", "&(a[b])"),
    ("comptime f(a) > 0 and b", "((comptime f(a)) > 0) and b"),
    ("[2]T{ a, b }[0]", "([2]T{ a, b })[0]"),
    ("[2]*const [*]T", "[2](*const ([*]T))"),
    ("if (a) b else if (c) d else e", "if (a) b else (if (c) d else e)"),
    ("if (a) if (b) c else d", "if (a) (if (b) c else d)"),
    ("fn(a) [2]b", "fn(a) ([2]b)"),
]


@pytest.mark.parametrize("plain, explicit", PRECEDENCE)
def test_precedence(tmp_path, plain, explicit):
    assert emit(tmp_path, "tree", f"const x = {plain};").out == \
        emit(tmp_path, "tree", f"const x = {explicit};").out
    assert printed(tmp_path, f"const x = {explicit};") == f"const x = {plain};\n"


@pytest.mark.parametrize("text", [
    "(a == b) == c", "a - (b - c)", "(a + b) * c", "-(a + b)", "(*T)(x)", "(if (a) b else c) + d",
    "&(&a)", "if (a) (if (b) c) else d", "a + (comptime if (b) c else d)", "(1).x"])
def test_needed_parentheses_stay(tmp_path, text):
    assert printed(tmp_path, f"const x = {text};") == f"const x = {text};\n"


def test_statements_without_braces(tmp_path):
    source = ("fn f() void { if (a) b = 1; else c(); if (a) b() else c(); if (a) ; else {} "
              "while (a) : (b += 1) ; for (a) |_, i| b(i); if (a) if (b) c(); else d(); }")
    assert printed(tmp_path, source) == """\
fn f() void {
  if (a) b = 1; else c();
  if (a) b(); else c();
  if (a) {} else {}
  while (a) : (b += 1) {}
  for (a) |_, i| b(i);
  if (a) if (b) c(); else d();
}
"""


def test_stray_semicolons_and_marks_vanish(tmp_path):
    source = b"\xef\xbb\xbf;const a = 1;;\r\ncomptime {};\nfn f() void {;;};\n"
    assert printed(tmp_path, source) == "const a = 1;\n\ncomptime {}\n\nfn f() void {}\n"


def test_strings_are_bytes(tmp_path):
    assert printed(tmp_path, b'const a = "\\x00\\x0a\xc3\xa9\xff\\x7f";') == \
        'const a = "\\x00\\n\\xc3\\xa9\\xff\\x7f";\n'
    assert printed(tmp_path, "const a = 'é' + '€' + '\\x0a';") == "const a = '\\xe9' + '€' + '\\n';\n"


def test_numbers_keep_value_and_base(tmp_path):
    source = "const a = .{ 0xFF_ff, 0o17, 0b1_01, 1_000, 18446744073709551616, 0x1p-5, 1.50e+3 };"
    assert printed(tmp_path, source) == \
        "const a = .{ 0xffff, 0o17, 0b101, 1000, 18446744073709551616, 0x1p-5, 1.50e+3 };\n"


def first_error(ran):
    return next(d for d in harness.diagnostics(ran.err) if d["severity"] == "error")


DEEP = {
    "parentheses": ("const x = " + "(" * 50000, "nested_too_deep"),
    "sum": ("const x = 1" + " + 1" * 50000 + ";", "nested_too_deep"),
    "members": ("const x = a" + ".b" * 50000 + ";", "nested_too_deep"),
    "else if": ("fn f() void { " + "if (a) {} else " * 5000 + "b(); }", "nested_too_deep"),
    "blocks": ("fn f() void " + "{" * 50000 + "}" * 50000, "nested_too_deep"),
    "open braces": ("{\n" * 50000, "unexpected_token"),
    "closing braces": ("}\n" * 50000, "unmatched_close_brace"),
    "errors": ("const = ;\n" * 50000, "unexpected_token"),
}


@pytest.mark.parametrize("name", DEEP)
def test_hostile_nesting_is_an_error(tmp_path, name):
    text, wanted = DEEP[name]
    ran = emit(tmp_path, "ast", text, expect=1)
    assert first_error(ran)["id"] == wanted


def test_long_files_are_fine(tmp_path):
    text = "const a = .{ 1, 2, 3 };\n" * 50000 + "const b = " + "1 + " * 900 + "1;"
    assert printed(tmp_path, text).count("\n") == 50001


def test_too_large_a_file(tmp_path):
    path = tmp_path / "large.csl"
    with path.open("wb") as f:
        f.truncate((64 << 20) + 1)
    ran = harness.cslc("--emit=ast", "--diag-format=json", path, expect=1)
    assert first_error(ran)["id"] == "file_unreadable"
    assert "too large" in first_error(ran)["message"]


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_text_is_one_mistake(tmp_path, mark):
    path = tmp_path / "wide.csl"
    path.write_bytes("\ufefflayout { @set_rectangle(1, 1); }\n".encode(mark))
    found = harness.diagnostics(harness.cslc("--diag-format=json", path, "-o", tmp_path / "o", expect=1).err)
    assert [d["id"] for d in found] == ["file_unreadable"]
    assert "it is UTF-16 text; save it as UTF-8" in found[0]["message"]


def test_a_program_image_is_one_mistake(tmp_path):
    """The file of another tool, as in 'cslc p.bin'."""
    image = tmp_path / "p.bin"
    harness.compile("samples/hello-wavelet/layout.csl", image)
    found = harness.diagnostics(harness.cslc("--diag-format=json", image, "-o", tmp_path / "o",
                                             expect=1).err)
    assert [d["id"] for d in found] == ["file_unreadable"]
    assert "it is a program image, which wse-emu runs" in found[0]["message"]


def test_a_folder_leads_to_its_layout(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    for has_layout in (False, True):
        found = harness.diagnostics(harness.cslc("--diag-format=json", folder, "-o", tmp_path / "o",
                                                 expect=1).err)
        assert [d["id"] for d in found] == ["file_unreadable"] + ["layout_of_folder"] * has_layout
        (folder / "layout.csl").touch()
    assert f"'{folder}/layout.csl'" in found[1]["message"]


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csl")
    for path in (tmp_path / "pipe.csl", "/dev/null"):
        ran = harness.cslc("--diag-format=json", path, "-o", tmp_path / "o", expect=1)
        assert first_error(ran)["id"] == "file_unreadable"
        assert f"cannot read '{path}': it is no regular file" in first_error(ran)["message"]


def test_nul_bytes_and_broken_utf8(tmp_path):
    ran = emit(tmp_path, "ast", b"const a\0 = 1;\nconst b\xc3 = 2;\n// \xff fine\n", expect=1)
    found = [(d["line"], d["id"]) for d in harness.diagnostics(ran.err)]
    assert found == [(1, "bad_character"), (2, "bad_utf8")]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_answered(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.csl"
    path.write_bytes(data)
    assert harness.cslc("--emit=ast", path, expect=None).code in (0, 1)


# ---- the command line ---------------------------------------------------------------------------

def options(tmp_path, *flags):
    path = tmp_path / "o.csl"
    path.write_text("const a = 1;\n")
    return harness.cslc("--emit=ast", *flags, path, expect=None)


@pytest.mark.parametrize("flags", [
    ["--arch=wse3"], ["--arch", "wse2"], ["--fabric-dims=8,4", "--fabric-offsets", "4,1"],
    ["--params=P:4,B:0x10", "--params", "C:-1"], ["--params="], ["--colors=c:3"], ["--memcpy"],
    ["--channels=1"], ["--channels=016"], ["--channels=08"], ["--channels=0x10"], ["--width-west-buf=0", "--width-east-buf", "0"], ["--import-path=lib"],
    ["--max-inlined-iterations=9"], ["--max-parallelism=2"], ["--output-json"], ["--out-routes"], ["-g0"],
    ["--comptime-func-depth-limit=5"], ["--fp16-format=bf16"], ["--verbose"], ["-O0"], ["-O2"],
    ["--sdk=2"], ["--sdk=1.4"], ["--werror"], ["--time-report"], ["--diag-format=json"]])
def test_options_are_understood(tmp_path, flags):
    ran = options(tmp_path, *flags)
    assert (ran.code, ran.out) == (0, "const a = 1;\n"), ran.err


@pytest.mark.parametrize("flags, said", [
    (["--arch=wse4"], "unknown value 'wse4' of --arch; known are wse2, wse3"),
    (["--fabric-dims=8"], "--fabric-dims must be two numbers, as in '8,4', not '8'"),
    (["--fabric-dims=0,4"], "must be two numbers"), (["--channels=17"], "from 1 to 16"),
    (["--fabric-dims=8,4x"], "must be two numbers"), (["--channels=-1"], "from 1 to 16"),
    (["--channels=017"], "from 1 to 16"), (["--channels=0x"], "from 1 to 16"),
    (["--params=P=4"], "--params takes NAME:VALUE,NAME:VALUE..., not 'P=4'"),
    (["--params=P:"], "NAME:VALUE"), (["-O7"], "-O0, -O1 and -O2"), (["--emit=asr"], "did you mean 'ast'?"),
    (["--link-section-start-address-bytes=a"], "takes NAME:ADDRESS"),
    (["--link-section-start-address-bytes=a:50000"], "below 49152"),
    (["--link-section-start-address-bytes=a:2,b:4", "--link-section-start-address-bytes=a:6"],
     "gives 'a' two addresses, 2 and 6"),
    (["--emit=ir"], "--emit is given twice, as 'ast' and as 'ir'; cslc takes one"),
    (["--depfile=a", "--depfile=b"], "--depfile is given twice, as 'a' and as 'b'"),
    (["--output-json", "--output-json=b"], "--output-json is given twice, as '' and as 'b'"),
    (["--layout-json=a", "--layout-json=b"], "--layout-json is given twice, as 'a' and as 'b'"),
    (["--no-such"], "--no-such"), (["a.csl"], "one source file"), (["-o="], "-o needs a name")])
def test_wrong_usage(tmp_path, flags, said):
    ran = options(tmp_path, *flags)
    assert ran.code == 2 and said in ran.err and ran.out == ""


def test_an_option_may_be_given_again(tmp_path):
    """With the same value, or where two values cannot both be meant."""
    (tmp_path / "o.csl").write_text("const a = 1;\n")
    harness.cslc("o.csl", "--emit=asm", "--emit=asm", "-O0", "-O2", "--arch=wse2", "--arch=wse3",
                 cwd=tmp_path)


def test_help_and_version():
    shown = harness.cslc("--help").out
    for name in ("--arch", "--params", "--emit", "--diag-format"):
        assert name in shown
    assert "does not run on a wafer" in harness.cslc("--version").out
    assert harness.cslc(expect=2).err


def test_output_goes_where_o_says(tmp_path):
    source = tmp_path / "o.csl"
    source.write_text("const a = 1;\n")
    for flag in (["-o", tmp_path / "x"], [f"-o={tmp_path / 'x'}"], [f"-o{tmp_path / 'x'}"]):
        assert harness.cslc("--emit=ast", source, *flag).out == ""
        assert (tmp_path / "x").read_text() == "const a = 1;\n"
        (tmp_path / "x").unlink()
    assert "import_not_found" in harness.cslc("--emit=ast", tmp_path / "none.csl", expect=1).err


@pytest.mark.parametrize("before, after", [(b"/* ", b"*/"), (b"", b"")])
def test_many_bytes_that_are_no_text_are_one_error(before, after, tmp_path):
    path = tmp_path / "nul.csl"
    path.write_bytes(before + b"\0" * 300_000 + after)
    ran = harness.cslc("--emit=ast", "--diag-format=json", path, expect=1, timeout=20)
    assert [d["line"] for d in harness.diagnostics(ran.err)] == [1]
