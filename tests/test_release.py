"""The release that a program is written for is found by signs in its own files."""
import re

import pytest

import harness

MAIN = 'task main() void {}\ncomptime { @bind_local_task(main, @get_local_task_id(8)); }\n'
DSD = """var word: u32;
const to = @get_dsd(mem1d_dsd, .{{ .base_address = &word, .extent = 1 }});
const q = @get_input_queue(3);
const in = @get_dsd(fabin_dsd, .{{ .extent = 1, .input_queue = q{color} }});
task main() void {{ @mov32(to, in); }}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); {bind} }}
"""
BIND = "@initialize_queue(q, .{ .color = @get_color(1) });"
NAMED = ", .fabric_color = @get_color(1)"
ROUTES = "comptime {{ @set_local_color_config(@get_color(1), .{{ .routes = {} }}); }}\n"
FIFO = "var room = @zeros([8]u16);\nconst fifo = @allocate_fifo(room, .{{ {} }});\n" + MAIN.replace(
    "void {}", "void {{ const ok = @mov16(fifo, @as(u16, 1)); }}").replace(
    "comptime { @bind_local_task(main, @get_local_task_id(8)); }",
    "comptime {{ @bind_local_task(main, @get_local_task_id(8)); }}")
BODY = """// What a task does:
task main() void {{ {} }}
const n: i16 = 3;
var a: i16 = 1;
var h: f16 = 1.0;
var b = @zeros([4]u16);
comptime {{ @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }}
"""


def taken(tmp_path, program, *flags, arch="wse2"):
    """The release, and what it says beside it."""
    (tmp_path / "pe.csl").write_text(program)
    ran = harness.cslc("pe.csl", "--verbose", f"--arch={arch}", *flags, "-o", "o.bin", cwd=tmp_path)
    return re.search(r"cslc: SDK (\S+?),?(?: by --sdk)?\n", ran.err)[1], ran.err


@pytest.mark.parametrize("program, release, why", [
    (MAIN, "1.4", "nothing in the program shows a release"),
    (MAIN + "param x: comptime_struct = .{};\n", "1.4", "comptime_struct at pe.csl:3"),
    (MAIN + "const x = @concat_structs(.{}, .{});\n", "1.4", "@concat_structs at pe.csl:3"),
    (DSD.format(color=NAMED, bind=""), "1.4", "a DSD binds to a color at pe.csl:4"),
    (DSD.format(color=NAMED, bind=BIND), "1.4", "nothing in the program shows a release"),
    (DSD.format(color="", bind=BIND), "2", "a fabric DSD without fabric_color at pe.csl:4"),
    (MAIN + ROUTES.format("0x210"), "2", "routes as an integer at pe.csl:3"),
    (MAIN + ROUTES.format(".{ .rx = RAMP, .tx = RAMP }"), "1.4", "nothing"),
    (MAIN + "// comptime_struct, simd_max\nconst text = \"simd_max\";\n", "1.4", "nothing"),
    (MAIN + "fn unused() void { const x = .{ .simd_max = true }; }\n", "2", "simd_max at pe.csl:3"),
    (MAIN + "fn unused() void { const x = .{ .dense_mode = true }; }\n", "2", "dense mode"),
    (MAIN + "fn unused() void { const x = .{ .simd_off = true }; }\n", "2", "simd_off at pe.csl:3"),
    (MAIN + "fn unused(x: circbuf_dsd) void {}\n", "2", "the type circbuf_dsd at pe.csl:3"),
    (MAIN + "const T = packed struct { a: u8, b: u8 };\n", "2", "packed struct or union at pe.csl:3"),
    (MAIN + "const T = union { a: u16, b: f16 };\n", "2", "a union at pe.csl:3"),
    (MAIN + "fn unused(x: *anyopaque) void {}\n", "2", "the type anyopaque at pe.csl:3"),
    *((MAIN + f"fn unused() void {{ {name}(); }}\n", "2", f"{name} at pe.csl:3")
      for name in ("@load_to_dsr_xdsr", "@load_to_dsr_xdsr_sr", "@bind_rotating_tasks")),
    (MAIN + 'const t = @import_module("<types>");\n', "2", "SDK 1.x does not have at pe.csl:3"),
    (MAIN + 'const m = @import_module("<math>");\n', "1.4", "nothing"),
    (FIFO.format(".empty_action = .{ .terminate = true }"), "2", "for an empty or a full FIFO at"),
    (FIFO.format(".activate_push = main"), "1.4", "nothing"),
    (MAIN + "comptime { @comptime_assert(u16 != void); }\n", "2", "types compared"),
    (MAIN + "comptime { @comptime_assert(@is_same_type(u16, u16)); }\n", "1.4", "nothing"),
    (BODY.format("var b: u5 = 3;"), "2", "a width other than 8, 16, 32 and 64 bits at pe.csl:2"),
    (BODY.format("var b: i64 = 3;"), "1.4", "nothing"),
    (BODY.format("var wide: i32 = a;"), "2", "becomes wider without @as at pe.csl:2"),
    (BODY.format("var wide: f32 = 1.0; wide += h;"), "2", "becomes wider"),
    (BODY.format("var wide: i32 = 0; wide += a;"), "2", "becomes wider"),
    (BODY.format("var wide: i32 = n; wide = @as(i32, a) << b[a];"), "1.4", "nothing"),
    (MAIN + "param x: comptime_struct = .{};\n" + ROUTES.format("0x210"), "2",
     "in spite of the type comptime_struct at pe.csl:3"),
])
def test_signs(tmp_path, program, release, why):
    found, said = taken(tmp_path, program)
    assert found == release and why in said, said


def test_files_that_are_imported_count_but_not_the_standard_library(tmp_path):
    (tmp_path / "part.csl").write_text(ROUTES.format("0x210"))
    assert taken(tmp_path, 'const part = @import_module("part.csl");\n' + MAIN)[0] == "2"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/own.csl").write_text("param x: comptime_struct = .{};\n")
    own = taken(tmp_path, 'const own = @import_module("<own>");\n' + MAIN, "--import-path=lib")
    assert "own.csl:1" in own[1]
    (tmp_path / "lib/own.csl").write_text(ROUTES.format("0x210"))
    assert taken(tmp_path, 'const own = @import_module("<own>");\n' + MAIN,
                 "--import-path=lib")[0] == "2"
    fft = taken(tmp_path, """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
const fft = @import_module("<kernels/fft/fft3d_layout>", .{ .width = 1, .memcpy = memcpy });
layout { @set_rectangle(1, 1); fft.FFT_kernel(1, 4, f32); }
""", "--memcpy", "--channels=1", arch="wse3")
    assert "nothing in the program" in fft[1]
    library = 'const l = @import_module("<collectives_2d/params>");\n' + MAIN
    assert "nothing in the program" in taken(tmp_path, library)[1]


def test_a_file_of_an_import_path_is_the_programs_own(tmp_path):
    """Also for warnings about what only the standard library may leave open."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/own.csl").write_text("param size: i16;\n")
    said = taken(tmp_path, 'const own = @import_module("<own>");\n' + MAIN, "--import-path=lib")[1]
    assert "lib/own.csl:1:7: warning: parameter 'size' has no value" in said


@pytest.mark.parametrize("flag, release", [
    ("--sdk=1.4", "1.4"), ("--sdk=0.9.0", "1.4"), ("--sdk=2", "2"), ("--sdk=2.10", "2")])
def test_the_option_decides(tmp_path, flag, release):
    for program in (MAIN, MAIN + ROUTES.format("0x210")):
        assert taken(tmp_path, program, flag)[0] == release


def test_integers_for_memcpy(tmp_path):
    program = """const m = @import_module("<memcpy/get_params>",
                         .{ .width = 1, .height = 1, .MEMCPYH2D_1 = VALUE });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "code.csl", .{ .memcpy_params = m.get_params(0) });
}
"""
    (tmp_path / "code.csl").write_text(
        'param memcpy_params;\nconst sys = @import_module("<memcpy/memcpy>", memcpy_params);\n')
    flags = ("--memcpy", "--channels=1")
    assert taken(tmp_path, program.replace("VALUE", "3"), *flags)[0] == "2"
    assert taken(tmp_path, program.replace("VALUE", "@get_color(3)"), *flags)[0] == "1.4"


def test_release_2_loads_grids_with_their_registers(tmp_path):
    """@load_to_dsr of a mem4d_dsd: fine in 1.x, refused in 2, the library's own use aside."""
    load = """var grid = @zeros([4, 4]u16);
const inner = @get_dsd(mem4d_dsd, .{ .tensor_access = |i, j|{2, 2} -> grid[i, j] });
comptime { @load_to_dsr(@get_dsr(dsr_dest, 3), inner); }
"""
    release, said = taken(tmp_path, load + MAIN)
    assert release == "1.4" and "because of @load_to_dsr of a mem4d_dsd at pe.csl:3" in said
    assert taken(tmp_path, load + MAIN + ROUTES.format("0x210"), "--sdk=1.4")[0] == "1.4"
    for text, flags in ((MAIN, ["--sdk=2"]), (MAIN + ROUTES.format("0x210"), [])):
        (tmp_path / "pe.csl").write_text(load + text)
        ran = harness.cslc("pe.csl", *flags, "-o", "o.bin", cwd=tmp_path, expect=1)
        assert "pe.csl:3:12: error: SDK 2 loads a mem4d_dsd by '@load_to_dsr_xdsr_sr" in ran.err
        assert ran.err.count("[load_mem4d]") == 1
        # The note is release_shown_here.
        shown = "pe.csl:6:64: note: the program is of SDK 2 because of routes as an integer"
        assert (shown in ran.err) == (not flags), ran.err
