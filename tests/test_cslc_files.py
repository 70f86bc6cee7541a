"""What cslc reads and writes: bounds, refusals, outputs that are whole."""
import json
import os
import subprocess
import time

import harness
import pytest

EMPTY = "layout { @set_rectangle(1, 1); @set_tile_code(0, 0); }\n"


def errors(tmp_path, text, *flags):
    """Compiles a program that is in error; its messages and how long that took."""
    (tmp_path / "p.csl").write_text(text)
    start = time.monotonic()
    ran = harness.cslc(*flags, "p.csl", "-o", "p.bin", cwd=tmp_path, expect=1, timeout=60)
    assert not (tmp_path / "p.bin").exists()
    return ran.err, time.monotonic() - start


# ---- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["<../../x>", "<math/../../x>", "</etc/hostname>", "<a//x>"])
def test_library_imports_stay_in_the_library(tmp_path, path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "x.csl").write_text("const n = 1;")
    text, _ = errors(tmp_path, f'{EMPTY}const m = @import_module("{path}");\n'
                               "comptime { @comptime_print(m.n); }", "--import-path=lib/a/b")
    assert "[import_leaves_library]" in text


def test_a_library_path_that_is_no_folder_is_shown(tmp_path):
    """Only where an import is missing: a script may name folders that some programs need."""
    text, _ = errors(tmp_path, f'{EMPTY}const m = @import_module("<mine>");\n'
                               "comptime { @comptime_print(m.n); }", "--import-path=lib",
                     f"--import-path={tmp_path}")
    assert f", lib (there is no such folder), {tmp_path}\n" in text
    (tmp_path / "p.csl").write_text(EMPTY)
    ran = harness.cslc("--import-path=lib", "p.csl", "-o", "p.bin", cwd=tmp_path)
    assert ran.err == ""


def test_a_missing_file_says_where_the_compiler_looked(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "pe.csl").write_text('const m = @import_module("utils.csl");\n'
                                             "comptime { @comptime_print(m.n); }\n")
    text, _ = errors(tmp_path, "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"src/pe.csl\"); }",
                     "--import-path=lib")
    assert "src/pe.csl:1:26: error: cannot find 'utils.csl' [import_not_found]" in text
    assert "note: looked in src/, ./, lib (there is no such folder)\n" in text
    (tmp_path / "src" / "pe.csl").write_text("")
    text, _ = errors(tmp_path, EMPTY + 'const m = @import_module("util/all.csl");\n'
                                       "comptime { @comptime_print(m.n); }\n")
    assert "note: looked in ./\n" in text


def test_a_main_file_like_another_one_is_suggested(tmp_path):
    (tmp_path / "layout.csl").write_text(EMPTY)
    for given, near in (("layuot.csl", "layout.csl"), ("layout.cls", "layout.csl"),
                        (f"{tmp_path}/layouts.csl", f"{tmp_path}/layout.csl")):
        ran = harness.cslc(given, "-o", "p.bin", cwd=tmp_path, expect=1)
        assert f"cannot find '{given}' [import_not_found]\nnote: did you mean '{near}'?" in ran.err
    ran = harness.cslc("quite_else.csl", "-o", "p.bin", cwd=tmp_path, expect=1)
    assert "did you mean" not in ran.err


def test_imported_values_are_not_quoted(tmp_path):
    (tmp_path / "secret").write_text("user:hidden:0:0\n")
    text, _ = errors(tmp_path, EMPTY + 'const v = @import_comptime_value(u16, "secret");\n'
                                       "comptime { @comptime_print(v); }")
    assert "no JSON, from line 1, column" in text
    assert "hidden" not in text and "user" not in text


@pytest.mark.parametrize("flags", [["/dev/zero"], ["--layout-json=/dev/zero"], ["imports.csl"],
                                   ["--layout-json=."]])
def test_endless_files_are_refused(tmp_path, flags):
    (tmp_path / "imports.csl").write_text(
        EMPTY + 'const v = @import_comptime_value(u16, "/dev/zero");\n'
                "comptime { @comptime_print(v); }")
    ran = harness.cslc(*flags, "-o", "p.bin", cwd=tmp_path, expect=None, timeout=20)
    assert ran.code in (1, 2) and "error:" in ran.err


def test_files_that_are_too_large_are_refused(tmp_path):
    with open(tmp_path / "big.csl", "wb") as big:
        big.truncate(65 << 20)
    ran = harness.cslc("big.csl", "-o", "p.bin", cwd=tmp_path, expect=1)
    assert "too large" in ran.err


# ---- work with an end ----------------------------------------------------------------------------

SLOW = 20            # seconds; these took minutes, or all memory


def test_a_loop_without_end_is_found_soon(tmp_path):
    text, seconds = errors(tmp_path, EMPTY + "comptime { while (true) {} }")
    assert "[too_many_steps]" in text and seconds < SLOW


def test_many_labels_take_their_time_each(tmp_path):
    labels = "".join(f"    {i} => {i + 1},\n" for i in range(20000))
    text, seconds = errors(tmp_path, f"{EMPTY}fn f(x: u16) u16 {{\n  return switch (x) {{\n{labels}"
                                     "    7 => 1,\n    else => 0 };\n}\n"
                                     "comptime { @comptime_assert(f(3) == 4); }")
    assert "[repeated_label]" in text and seconds < SLOW


def test_texts_of_types_and_values_have_a_bound(tmp_path):
    text, seconds = errors(tmp_path, EMPTY + """
fn doubled(comptime n: u16) comptime_struct {
  if (n == 0) { return .{ .a = 1 }; }
  const half = doubled(n - 1);
  return .{ .a = half, .b = half };
}
fn grown(x: comptime_struct, n: u16) comptime_struct {
  return if (n == 0) x else grown(.{ .a = x, .b = x }, n - 1);
}
comptime {
  @comptime_print(doubled(60));
  @comptime_print(grown(.{ .a = 1 }, 60));
  const x: u16 = doubled(60);
}
""")
    assert "print: .{ .a = .{" in text and "[type_mismatch]" in text
    assert len(text) < 100000 and seconds < SLOW


DOUBLED = "const T0 = struct { x: u16 };\nconst v0 = .{ .x = @as(u16, 1) };\n" + "".join(
    f"const T{n} = struct {{ a: T{n - 1}, b: T{n - 1} }};\n"
    f"const v{n} = .{{ .a = v{n - 1}, .b = v{n - 1} }};\n" for n in range(1, 41))


@pytest.mark.parametrize("use, said", [
    ("comptime { var x: T40; x.a = x.b; }", "comptime_variable_size"),
    ("comptime { var x = v40; x.a = x.b; }", "comptime_variable_size"),
    ("var x: T40;\nfn f() void { x.a = x.b; }\ncomptime { f(); }", "type_larger_than_tile"),
    ("fn f() void { var x = v40; x.a = x.b; }\n"
     "task t() void { f(); }\ncomptime { @bind_local_task(t, @get_local_task_id(8)); }",
     "type_larger_than_tile"),
    ("comptime { const x: u16 = @as(T40, v40); }", "type_mismatch"),
    ("comptime { const x: T40 = v40; const y: u16 = x.a.b; }", "type_mismatch"),
    ("comptime { if (true) { const x = if (true) v40 else v39; } const y: T39 = v40; }",
     "type_mismatch"),
    ('const types = @import_module("<types>");\n'
     "comptime { const x: u16 = types.byte_size_of(T40); }", "value_out_of_range"),
    ("comptime { var x: T24; const y: u16 = x; }", "type_mismatch")])
def test_a_type_that_is_doubled_takes_linear_time(tmp_path, use, said):
    text, seconds = errors(tmp_path, EMPTY + DOUBLED + use)
    assert f"[{said}]" in text and seconds < SLOW, text[:1000]


# ---- writing -------------------------------------------------------------------------------------


def files_of(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


WHOLE = ["bin", "bin/out_0_0.elf", "out.json", "prog.bin"]


def test_an_output_folder_is_written_as_a_whole(tmp_path):
    (tmp_path / "p.csl").write_text(EMPTY)
    harness.cslc("p.csl", "-o", "new/out", cwd=tmp_path)
    out = tmp_path / "new" / "out"
    assert files_of(out) == WHOLE and files_of(tmp_path / "new") == ["out"] + [
        f"out/{name}" for name in WHOLE]
    (out / "mine").write_text("kept")
    before = (out / "prog.bin").read_bytes()
    errors(tmp_path, "layout { @set_rectangle(0, 1); }")
    assert (out / "prog.bin").read_bytes() == before
    harness.cslc("p.csl", "-o", "new/out", cwd=tmp_path, expect=1)
    assert (out / "prog.bin").read_bytes() == before
    (tmp_path / "p.csl").write_text(EMPTY)
    harness.cslc("--fabric-dims=8,3", "--fabric-offsets=4,1", "p.csl", "-o", "new/out/",
                 cwd=tmp_path)
    assert json.loads((out / "out.json").read_text())["fabric"]["width"] == 8
    assert files_of(out) == sorted([*WHOLE, "mine"])
    assert files_of(tmp_path / "new") == ["out"] + [f"out/{n}" for n in sorted([*WHOLE, "mine"])]


def test_two_compilers_leave_the_files_of_one(tmp_path):
    (tmp_path / "p.csl").write_text("param n: u16;\n" + EMPTY + "export var v: [n]u16;\n")
    for turn in range(5):
        sizes = [turn * 2 + 1, turn * 2 + 2]
        runs = [subprocess.Popen([harness.tool("cslc"), f"--params=n:{n}", "p.csl", "-o", "out"],
                                 cwd=tmp_path) for n in sizes]
        assert [run.wait(timeout=60) for run in runs] == [0, 0]
        given = json.loads((tmp_path / "out" / "out.json").read_text())["params"]["n"]
        harness.cslc(f"--params=n:{given}", "p.csl", "-o", "same.bin", cwd=tmp_path)
        image = (tmp_path / "out" / "prog.bin").read_bytes()
        assert image == (tmp_path / "same.bin").read_bytes() and int(given) in sizes
        assert sorted(os.listdir(tmp_path)) == ["out", "p.csl", "same.bin"]


def test_colors_of_an_array_are_a_list(tmp_path):
    (tmp_path / "p.csl").write_text("""
const pair = [2]color{ @get_color(5), @get_color(3) };
const one = @get_color(1);
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0);
  @set_color_config(0, 0, pair[1], .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
  @set_color_config(0, 0, one, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
}
""")
    harness.cslc("p.csl", "-o", "out", cwd=tmp_path)
    colors = json.loads((tmp_path / "out" / "out.json").read_text())["colors"]
    assert colors == {"pair": [5, 3], "one": 1}


def test_colors_that_a_helper_sets_have_the_names_of_their_constants(tmp_path):
    (tmp_path / "p.csl").write_text("""
const east = @get_color(5);
const west = @get_color(3);
const other = @get_color(3);
fn set(c: color) void {
  @set_color_config(0, 0, c, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
}
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0);
  set(east);
  set(west);
  set(@get_color(7));
}
""")
    harness.cslc("p.csl", "-o", "out", cwd=tmp_path)
    colors = json.loads((tmp_path / "out" / "out.json").read_text())["colors"]
    assert colors == {"east": 5, "west": 3, "c": 7}


def test_images_do_not_say_where_the_library_is(tmp_path):
    (tmp_path / "p.csl").write_text(EMPTY + """
const math = @import_module("<math>");
export var x: f32 = 2.0;
task main() { x = math.sqrt(x); }
comptime { @bind_local_task(main, @get_local_task_id(8)); }
""")
    copy = tmp_path / "elsewhere" / "library"
    copy.parent.mkdir()
    subprocess.run(["cp", "-r", str(harness.ROOT / "stdlib"), str(copy)], check=True)
    harness.cslc("p.csl", "-o", "a.bin", cwd=tmp_path)
    harness.cslc("p.csl", "-o", "b.bin", cwd=tmp_path, env={"CSL_STDLIB": str(copy)})
    image = (tmp_path / "a.bin").read_bytes()
    assert image == (tmp_path / "b.bin").read_bytes()
    assert b"<math>" in image and str(harness.ROOT).encode() not in image


def test_the_library_is_linked_without_a_path_to_run_from():
    assert "rpath" not in (harness.ROOT / "cmake" / "wse.pc.in").read_text()
