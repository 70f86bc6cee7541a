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


def test_a_variable_of_an_unknown_value_has_its_type():
    """What a parameter without a value gives it is not known; what the code does with it is."""
    code, err = from_stdin("param n: u16;\nvar x: u16 = n + 1;\n"
                           "fn f() void { x = 2.5; x = n; }\ncomptime { @export_symbol(f); }\n")
    assert code == 1 and err.count(": error: ") == 1 and "<stdin>:3:19" in err


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


def test_imports_with_parameters_without_a_value(tmp_path):
    """What they import is not known, but that a file is missing, or wrong by itself."""
    path = tmp_path / "pe.csl"
    path.write_text('param n: u16;\nconst a = @import_module("a.csl", .{ .n = n });\n'
                    'const b = @import_module("b.csl", .{ .n = n });\nexport var x = a.x + b.x;\n')
    (tmp_path / "a.csl").write_text("param n: u16;\nvar x u16;\n")
    err = check(path, expect=1).err
    assert f"{tmp_path}/a.csl:2:7: error" in err and f"{path}:3:26: error" in err
    assert err.count("error: ") == 2


def test_parameters_of_a_layout_are_needed(tmp_path):
    assert "unbound_param" in check(SAMPLE / "layout.csl", expect=1).err


@pytest.mark.parametrize("args,text", [
    (["--emit=ir", "x.csl"], "--check and --emit exclude each other"),
    ([], "no source file is given")])
def test_wrong_usage(args, text):
    assert text in check(*args, expect=2).err


@pytest.mark.parametrize("name", ["collectives_2d/pe.csl", "kernels/fft/fft3d_layout.csl"])
def test_a_file_of_the_library_may_be_opened(name):
    """Editors go to the definition of a function there; forms of one name are no mistake."""
    assert "redeclared" not in harness.cslc("--check", harness.ROOT / "stdlib" / name,
                                            expect=None).err


def test_standard_input_is_for_check_only():
    assert "- is for --check" in harness.cslc("-", expect=2).err


LAYOUT = """layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .is_first = true });
  @set_tile_code(1, 0, "pe.csl", .{ .is_first = false });
}
"""
MAIN = """param is_first: bool;
const n: u16 = 2;
%s
task main() void {
  if (is_first) first_only();
}
const id = @get_local_task_id(9);
comptime { @bind_local_task(main, id); @activate(id); }
"""
RIGHT = """var x: f32 = 0.0;
fn first_only() void { x = 1.0; }
fn for_other_machines() void { @comptime_assert(n == 3); undeclared(); }
fn template(comptime T: type, v: T) T { return v; }
inline fn inlined(v: u16) u16 { return v + "x"; }
fn of_a_known_number(v: comptime_int) comptime_int { return v; }
fn only_on_the_first() void { const a: f32 = if (is_first) 1 else n; }
"""


def check_layout(folder, decls):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(MAIN % decls)
    harness.cslc(folder / "layout.csl", "-o", folder / "o.bin")
    return check(folder / "layout.csl", cwd=folder).err


def test_what_nothing_uses_is_right(tmp_path):
    assert check_layout(tmp_path, RIGHT) == ""


@pytest.mark.parametrize("decl,message", [
    ("fn f(v: u16) f32 { return v; }", "expected 'f32', found 'u16'"),
    ("fn f() void { g(1); }\nfn g() void {}", "'g' takes 0 argument(s), found 1"),
    ("fn f(v: u16) void { v.x = 1; }", "'u16' has no members"),
    ("const f: u8 = 300;", "300 does not fit 'u8'"),
    ("var f = @zeros([n]nothing);", "'nothing' is not declared"),
    ("task f() void { later(); }\ncomptime { if (n == 1) { @bind_local_task(f, id); } }",
     "'later' is not declared")])
def test_what_nothing_uses_is_checked(tmp_path, decl, message):
    err = check_layout(tmp_path, RIGHT + decl)   # each warning has the note nothing_uses
    assert err.count("warning: ") == 1 and "error: " not in err
    assert message in err and "note: nothing uses 'f', so a compilation leaves it out" in err


UNKNOWN_RIGHT = """var sum: f32 = 0.0;
const pair = struct { a: u16, b: u16 };
fn by_type(comptime T: type, v: T) T {
  var r: T = v;
  if (T == f16) { r += 1.0; } else if (@is_same_type(T, u16)) { r = v.left; }
  else { @comptime_assert(false, "no such type"); nothing(); }
  if (T == f32) { return r; } else { return r + v; }
}
fn by_any(x: anytype) f32 {
  var s: f32 = 0.0;
  for (x) |v, i| { s += v * x[i]; if (i > 2) break; }
  while (x.more()) : (x.next()) { s += x.value; continue; }
  return switch (x.kind) { 0 => s, 1 => x.scale * s, else => s };
}
fn by_number(comptime k: u16) u16 {
  comptime var i: u16 = 0;
  var a = @zeros([k]u16);
  inline while (i < k) : (i += 1) { a[i] = i; }
  @comptime_assert(i == k);
  comptime { var left = i; while (left > 0) { left -= 1; } @comptime_assert(left == 0); }
  return a[k - 1];
}
fn numbers(comptime k: u16) [k]u16 {
  var a: [k]u16;
  for (@range(u16, k)) |i| { a[i] = i; }
  return a;
}
fn of_type(comptime k: u16) type {
  var i: u16 = 0;
  while (true) { i += 1; if (i == k) { break; } }
  if (i == 4) { return pair; }
  return if (k > 3) u32 else [i]f16;
}
fn meant_for_a_layout(comptime x: u16) void { @set_tile_code(x, 0, "pe.csl", .{}); }
fn meant_for_a_layout_too() void { @set_rectangle(2, 1); }
inline fn inlined_too(x: u16, p: pair) void {
  if (x > 3) { sum = 1.0; return; }
  const q: pair = .{ .a = x, .b = p.a };
  sum += @as(f32, q.b);
}
"""


def test_what_depends_on_parameters_of_templates_is_unknown(tmp_path):
    assert check_layout(tmp_path, RIGHT + UNKNOWN_RIGHT) == ""


@pytest.mark.parametrize("head", ["comptime T: type", "x: anytype", "comptime k: u16, v: [k]f16"])
@pytest.mark.parametrize("body,message", [
    ("return later;", "'later' is not declared"),
    ("while (COND) { later(); }", "'later' is not declared"),
    ("for (PARAM) |v, i| { later(v, i); }", "'later' is not declared"),
    ("if (COND) { first_only(); } else { first_only(1); }",
     "'first_only' takes 0 argument(s), found 1"),
    ("switch (PARAM) { 1 => { later(); }, else => {} }", "'later' is not declared"),
    ("const a: u16 = if (COND) 1 else true;", "expected 'u16', found 'bool'"),
    ("const a: [2]u8 = .{ 1, 300 };", "300 does not fit 'u8'"),
    ("comptime var i: u16 = 0; inline while (i < 3) : (i += 1) { x.y = 1; }", "no members"),
    ("const a = PARAM; @as(u16); _ = a;", "'@as' takes 2 arguments, found 1"),
    ("n.field = PARAM;", "has no members"),
    ("@nothing(PARAM);", "there is no builtin '@nothing'"),
    ("_ = @as(f32, first_only);", "first_only")])
def test_templates_that_nothing_uses_are_checked(tmp_path, head, body, message):
    """Each body has one mistake that no parameter has to do with."""
    name = head.replace("comptime ", "").split(":")[0]
    if "x.y" in body and name == "x":
        pytest.skip("there it depends on the parameter")
    body = body.replace("COND", f"{name} == 1").replace("PARAM", name)
    for kind in ("", "inline "):
        err = check_layout(tmp_path, RIGHT + f"{kind}fn f({head}) void {{ {body} }}")
        assert err.count("warning: ") == 1 and "error: " not in err, err
        assert message in err and "note: nothing uses 'f', so a compilation leaves it out" in err


def test_what_nothing_uses_does_not_decide_the_release(tmp_path):
    """A DSD without a color is a sign of release 2, in which that load is an error."""
    load = """var grid = @zeros([2, 2]f32);
const inner = @get_dsd(mem4d_dsd, .{ .tensor_access = |i, j|{2, 2} -> grid[i, j] });
const dsr = @get_dsr(dsr_src1, 1);
comptime { @load_to_dsr(dsr, inner); }
"""
    queue_color = "fn f() void { const d = @get_dsd(fabin_dsd, .{ .extent = n,\n" \
                  "  .input_queue = @get_input_queue(2) }); %s }\n"
    assert "load_mem4d" not in check_layout(tmp_path, RIGHT + load + queue_color % "")
    assert "'g' is not" in check_layout(tmp_path, RIGHT + load + queue_color % "g();")
