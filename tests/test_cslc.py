"""The command cslc: outputs, import paths, exit codes."""
import json
import os
import re
import shutil

import harness
import pytest
import token_mutants

LAYOUT = """
param size: u16;
param flow: color;
param deep: bool = false;
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .size = size });
  @set_tile_code(1, 0, "pe.csl", .{ .size = size });
  @set_color_config(0, 0, flow, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @export_name("v", [*]f32, true);
  @export_name("run", fn(i16) void);
}
"""

PE = """
param size: u16;
var v: [size]f32;
var v_ptr: [*]f32 = &v;
fn run(x: i16) void {
  v[0] = @as(f32, x);
}
comptime {
  @export_symbol(v_ptr, "v");
  @export_symbol(run);
}
"""


@pytest.fixture(name="program")
def fixture_program(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    return tmp_path / "layout.csl"


def cslc(program, *flags, expect=0, **options):
    return harness.cslc(program.name, *flags, cwd=program.parent, expect=expect, **options)


def test_out_json_holds_what_host_scripts_read(program):
    cslc(program, "--params=size:4,deep:1", "--params", "size:5", "--colors=flow:3",
         "--fabric-dims=9,3", "--fabric-offsets=4,1", "--memcpy", "--channels=1", "-o", "out")
    out = json.loads((program.parent / "out/out.json").read_text())
    assert out["params"] == {"size": "5", "deep": "1", "flow": "3"}
    assert out["colors"] == {"flow": 3}
    assert out["arch"] == "wse2" and out["classes"] == 1
    assert (out["fabric"]["width"], out["fabric"]["height"]) == (9, 3)
    assert (out["rectangle"]["width"], out["rectangle"]["height"]) == (2, 1)
    assert [(e["name"], e["type"], e["mutable"]) for e in out["exports"]] == \
        [("v", "[*]f32", True), ("run", "fn(i16)void", False)]
    assert (program.parent / "out/prog.bin").exists()


@pytest.mark.parametrize("flags, name", [
    (["--output-json", "-o", "out"], "out.json"), (["--output-json=told.json"], "told.json"),
    (["--output-json", "-o", "a.bin"], "a.json"), (["--output-json", "-o", "out/"], "out.json")])
def test_what_out_json_says_goes_to_another_file_too(program, flags, name):
    cslc(program, "--params=size:4", "--colors=flow:3", *flags)
    said = json.loads((program.parent / name).read_text())
    assert said["params"] == {"size": "4", "flow": "3"}


def test_routes_are_printed_and_the_program_is_made(program):
    local = (program.parent / "pe.csl").read_text() + """
comptime {
  @set_local_color_config(@get_color(9), .{
    .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP, EAST } },
    .switches = .{ .pos1 = .{ .rx = RAMP }, .current_switch_pos = 1 } });
}
"""
    (program.parent / "pe.csl").write_text(local)
    ran = cslc(program, "--params=size:4,flow:3", "--out-routes", "-o", "a.bin")
    assert [line.split() for line in ran.out.splitlines()[:4]] == [
        ["tile", "color", "pos", "rx", "tx"], ["0,0", "3", "0*", "RAMP", "EAST"],
        ["0,0", "9", "0", "WEST", "EAST", "RAMP"], ["0,0", "9", "1*", "RAMP", "EAST", "RAMP"]]
    assert (program.parent / "a.bin").exists()


def test_an_unbound_parameter_of_layout_and_program_is_told_once(tmp_path):
    program = tmp_path / "both.csl"
    program.write_text("param size: u16;\nvar v: [size]f32;\nexport const p = &v;\n"
                       "layout { @set_rectangle(1, 1); @set_tile_code(0, 0); }\n")
    ran = cslc(program, "-o", "a.bin", expect=1)
    assert "[unbound_param]" in ran.err and "[param_unused]" not in ran.err


def test_a_name_ending_in_bin_is_one_file(program):
    cslc(program, "--params=size:4,flow:3", "-o", "a.bin")
    assert (program.parent / "a.bin").is_file()


def test_equal_programs_give_equal_bytes(program):
    for name in ("a.bin", "b.bin"):
        cslc(program, "--params=size:4,flow:3", "-o", name)
    assert (program.parent / "a.bin").read_bytes() == (program.parent / "b.bin").read_bytes()


@pytest.mark.parametrize("kind, text", [("tokens", "layout"), ("ast", "@set_rectangle(2, 1)"),
                                        ("ir", "func @run"), ("asm", "run:"),
                                        ("layout", "rectangle 2 1"), ("map", "code")])
def test_emit_goes_to_stdout_or_a_file(program, kind, text):
    shown = cslc(program, "--params=size:4,flow:3", f"--emit={kind}").out
    assert text in shown
    cslc(program, "--params=size:4,flow:3", f"--emit={kind}", "-o", "text")
    assert (program.parent / "text").read_text() == shown
    assert cslc(program, "--params=size:4,flow:3", f"--emit={kind}", "-o", "-").out == shown
    ran = cslc(program, "--params=size:4,flow:3", "-o", "-", expect=2)
    assert "-o - is standard output, for --emit" in ran.err
    assert not (program.parent / "-").exists()


def test_nothing_is_written_when_the_program_has_errors(program):
    ran = cslc(program, "--params=size:0x10000,flow:3", "-o", "out", expect=1)
    assert "error: " in ran.err
    assert not (program.parent / "out").exists()


def test_outputs_that_cannot_be_written(program):
    ran = cslc(program, "--params=size:4,flow:3", "-o", "layout.csl/out", expect=1)
    assert "layout.csl/out" in ran.err
    (program.parent / "file").touch()
    ran = cslc(program, "--params=size:4,flow:3", "-o", "file", expect=1)
    assert ran.err == ("cslc: error: cannot write 'file': Not a directory\n"
                       "cslc: note: without the ending .bin this is the name of a folder\n")


def test_the_output_folder_is_made_with_those_above_it(program):
    for out in ("builds/wse2/out", "./builds/other//out/"):
        cslc(program, "--params=size:4,flow:3", "-o", out)
        assert (program.parent / out / "out.json").is_file()


def test_scripts_that_look_for_elf_files_find_one(program):
    """Some compile and go on if bin/out_[0-9]*.elf are there; one says what it is."""
    for _ in range(2):                     # also where it is already
        cslc(program, "--params=size:4,flow:3", "-o", "out")
    found = list((program.parent / "out/bin").glob("out_[0-9]*.elf"))
    assert len(found) == 1 and "prog.bin" in found[0].read_text()


def test_blanks_around_bindings(program):
    cslc(program, "--params= size:4, deep: 1 ,", "--colors=flow:3 ", "-o", "out")
    out = json.loads((program.parent / "out/out.json").read_text())
    assert out["params"] == {"size": "4", "deep": "1", "flow": "3"}


def test_imports_are_looked_for_beside_the_file_then_the_main_file_then_the_paths(tmp_path):
    for folder in ("sub", "lib", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "main.csl").write_text(
        'const sub = @import_module("sub/sub.csl");\nconst own = @import_module("<own>");\n'
        "comptime {\n  @comptime_assert(sub.near.id == 1 and sub.far.id == 2);\n"
        "  @comptime_assert(own.id == 3 and sub.last.id == 4);\n}\n")
    (tmp_path / "sub/sub.csl").write_text(
        'const near = @import_module("near.csl");\nconst far = @import_module("far.csl");\n'
        'const last = @import_module("<last>");\n')
    (tmp_path / "sub/near.csl").write_text("const id = 1;\n")
    (tmp_path / "near.csl").write_text("const id = 10;\n")
    (tmp_path / "far.csl").write_text("const id = 2;\n")
    (tmp_path / "lib/own.csl").write_text("const id = 3;\n")
    (tmp_path / "other/own.csl").write_text("const id = 30;\n")
    (tmp_path / "other/last.csl").write_text("const id = 4;\n")
    os.environ["CSL_IMPORT_PATH"] = str(tmp_path / "other")
    try:
        harness.cslc("main.csl", "--import-path=lib", "-o", "x.bin", cwd=tmp_path)
    finally:
        del os.environ["CSL_IMPORT_PATH"]


def test_warnings_become_errors(tmp_path):
    (tmp_path / "a.csl").write_text("""
const a = @get_color(1);
const out = @get_dsd(fabout_dsd, .{
  .fabric_color = a, .extent = 1, .output_queue = @get_output_queue(3) });
task main() void { @mov32(out, 1); }
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
""")
    ran = harness.cslc("a.csl", "--arch=wse3", "-o", "x.bin", cwd=tmp_path)
    assert "warning: " in ran.err
    ran = harness.cslc("a.csl", "--arch=wse3", "--werror", "-o", "y.bin", cwd=tmp_path, expect=1)
    assert "error: " in ran.err and not (tmp_path / "y.bin").exists()


WARNINGS = ["unused_result", "param_unused", "color_without_route", "queue_shared",
            "microthread_shared", "reserved_color", "reserved_task_id", "tensor_bounds"]


@pytest.mark.parametrize("warning", WARNINGS)
def test_each_warning_alone_becomes_an_error(warning, tmp_path):
    """The golden test of the warnings, without the lines that name the others."""
    for name in ("warnings.csl", "warnings_pe.csl", "warnings_lib.csl"):
        lines = (harness.GOLDEN / "sema" / name).read_text().splitlines()
        others = set(WARNINGS) - {warning}
        kept = [l for l in lines if warning in l or not any(o in l for o in others)]
        (tmp_path / name).write_text("\n".join(kept))
    flags = ["--memcpy", "--fabric-dims=9,3", "--fabric-offsets=4,1", "--channels=1",
             "--diag-format=json", "-o", "x.bin"]
    for flag, severity in ((None, "warning"), ("--werror", "error")):
        ran = harness.cslc("warnings.csl", *flags, *[flag] * bool(flag), cwd=tmp_path,
                           expect=1 if flag else 0)
        found = {(d["id"], d["severity"]) for d in harness.diagnostics(ran.err)}
        assert {f for f in found if f[1] != "note"} == {(warning, severity)}
        (tmp_path / "x.bin").unlink(missing_ok=flag is not None)


@pytest.mark.parametrize("sample", token_mutants.samples(), ids=lambda s: s.folder.name)
def test_samples_give_no_warning(sample, tmp_path):
    ran = harness.cslc(*sample.args, "--werror", "-o", tmp_path / "x.bin", cwd=sample.folder)
    assert ran.err == ""


def test_time_report_names_every_stage(program):
    ran = cslc(program, "--params=size:4,flow:3", "--time-report", "-o", "x.bin")
    for stage in ("layout", "analysis", "optimise", "codegen", "image", "total"):
        assert stage in ran.err


def test_verbose_tells_the_end_of_every_stage(program, tmp_path):
    """In the order of --time-report, and what has been made of each file."""
    ran = cslc(program, "--params=size:4,flow:3", "--verbose", "--time-report", "-o", "x.bin")
    stages = re.findall(r"^(\w+) +[\d.]+ s .*%$", ran.err, re.M)
    assert re.findall(r"^cslc: (\w+) done$", ran.err, re.M) == stages and "codegen" in stages
    assert re.search(r"^cslc:   \d+ programs? of \S*\.csl, of up to \d+ bytes with \d+ of code$",
                     ran.err, re.M)
    (tmp_path / "a.csl").write_text("fn f() void { const x: i16 = true; }\n"
                                    "comptime { @bind_local_task(f, @get_local_task_id(8)); }\n")
    ran = harness.cslc("a.csl", "-v", "-o", "a.bin", cwd=tmp_path, expect=1)
    assert "cslc: analysis ends with errors" in ran.err and "codegen" not in ran.err
    (tmp_path / "b.csl").write_text("export var a = @zeros([40000]u8); export var b = @zeros([40000]u8);\n")
    ran = harness.cslc("b.csl", "-v", "-o", "b.bin", cwd=tmp_path, expect=1)
    assert "cslc: codegen ends with errors" in ran.err and "cslc: optimise done" in ran.err


@pytest.mark.parametrize("used_before", [False, True])
def test_a_compile_time_use_changes_nothing_of_the_code(tmp_path, used_before):
    """What a call gave at compile time is not taken for known where the call stands in code: the
    prong that it leaves out is checked like the others."""
    (tmp_path / "a.csl").write_text(f"""
fn same(x: i32) i32 {{
  return x;
}}
fn chosen(k: u16) u16 {{
  switch ((same(1) + 1) & 3) {{
    1 => {{
      return @as(u16, -7.5);
    }},
    else => {{
      return k;
    }}
  }}
}}
var n: u16 = {"chosen(1) + chosen(2)" if used_before else 0};
task main() void {{
  n += chosen(3);
}}
comptime {{
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}}
""")
    ran = harness.cslc(tmp_path / "a.csl", "-o", tmp_path / "a.bin", expect=1)
    assert "[value_out_of_range]" in ran.err and "a.csl:8:" in ran.err


ONE_TILE = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @export_name("r", [*]i32, true);
  @export_name("main", fn() void);
}
"""


def test_map_without_a_register_left_names_the_map(tmp_path):
    (tmp_path / "layout.csl").write_text(ONE_TILE)
    dsds = "\n".join(f"const d{i} = @get_dsd(mem4d_dsd, .{{ .tensor_access = "
                     f"|i,j|{{2,{i + 2}}} -> a[i,j] }});" for i in range(3))
    (tmp_path / "pe.csl").write_text(f"""
var a = @zeros([4, 4]i16);
var r = @zeros([1]i32);
var p: [*]i32 = &r;
{dsds}
fn next(x: i16) i16 {{ return x + 1; }}
fn main() void {{
  @map(next, d0, d0);
  @map(next, d1, d1);
  @map(next, d2, d2);
}}
comptime {{ @export_symbol(p, "r"); @export_symbol(main); }}
""")
    told = harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "out", expect=1).err
    assert "pe.csl:12:3: error: '@map' reads or writes a DSD of several dimensions here" in told
    assert "explicit DSRs hold 0 of them, '@map' 5" in told      # the note ir_xdsrs_held


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_divisions_of_wide_integers_share_their_code(tmp_path, level):
    def code_bytes(count):
        (tmp_path / "pe.csl").write_text(
            "var a: i127 = 5;\nvar b: i127 = 3;\nvar r: i127 = 0;\n"
            "task main() void {" + " r = a / b;" * count + " r = a % b; }\n"
            "comptime { @bind_local_task(main, @get_local_task_id(8)); @export_symbol(a); "
            "@export_symbol(b); @export_symbol(r); }\n")
        text = harness.cslc("pe.csl", level, "--emit=map", cwd=tmp_path).out
        return int(re.search(r"^code +\w+ +(\d+) bytes$", text, re.M)[1])

    assert (code_bytes(6) - code_bytes(2)) / 4 < 300


CLASS_LAYOUT = """
layout {
  @set_rectangle(4, 1);
  for (@range(u16, 4)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .p = x }); }
  @export_name("sum", [*]u16, true);
}
"""
CLASS_TILE = """
param p: u16;
var sums = @zeros([1]u16);
var sum: [*]u16 = &sums;
inline fn from_end(k: u16) u16 { return p - 1 - k; }
task main() void { for (@range(u16, p)) |k| { sums[0] += from_end(k); } }
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
  @export_symbol(sum);
}
"""


def test_a_value_that_one_tile_cannot_have_and_never_uses(tmp_path):
    """On tile 0 `p - 1` is negative, in a loop without turns: that tile gets its own class."""
    (tmp_path / "layout.csl").write_text(CLASS_LAYOUT)
    (tmp_path / "pe.csl").write_text(CLASS_TILE)
    harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path)
    ran = harness.emu(tmp_path / "p.bin", "--print=sum:1")
    assert harness.values(ran.out, "sum") == {(p, 0): [p * (p - 1) / 2] for p in range(4)}


def test_depfile_names_what_was_read(tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "n.json").write_text("3")
    (folder / "p.csl").write_text(
        'const m = @import_module("lib#1:2.csl");\nconst n = @import_comptime_value(u16, "n.json");\n'
        "layout { @set_rectangle(m.width, n);\n"
        "  for (@range(u16, n)) |y| { @set_tile_code(0, y); @set_tile_code(1, y); } }\n")
    (folder / "lib#1:2.csl").write_text("const width = 2;\n")
    harness.cslc("a b/p.csl", "-o", "x$.bin", "--depfile=d", cwd=tmp_path)
    text = (tmp_path / "d").read_text()
    assert text == "x$$.bin: \\\n  a\\ b/p.csl \\\n  a\\ b/lib\\#1\\:2.csl \\\n  a\\ b/n.json\n"
    (tmp_path / "Makefile").write_text("include d\n")
    if shutil.which("make"):
        harness.run(["make", "-q", "x$.bin"], cwd=tmp_path)      # up to date: it reads the rule
    ran = harness.cslc("a b/p.csl", "--check", "--depfile=d", cwd=tmp_path, expect=None)
    assert ran.code == 2 and "--depfile lists what an image is made of" in ran.err


def test_a_chain_of_calls_takes_memory_in_proportion_to_its_copies(tmp_path):
    """Each function is put into the next; a table of all locations for each call would take 2.7 GB
    here."""
    n = 1000
    functions = ["fn step0() void { v += 1; }"]
    functions += [f"fn step{i}() void {{ v += 1; step{i - 1}(); }}" for i in range(1, n)]
    (tmp_path / "p.csl").write_text("\n".join([
        "export var v: u16 = 0;", *functions, f"task main() void {{ step{n - 1}(); }}",
        "comptime { @bind_local_task(main, @get_local_task_id(8)); "
        "@activate(@get_local_task_id(8)); }"]))
    harness.run(["bash", "-c", 'ulimit -v 1500000 && exec "$@"', "-", harness.tool("cslc"),
                 "p.csl", "-o", "p.bin"], cwd=tmp_path)
    ran = harness.emu(tmp_path / "p.bin", "--print=v")
    assert harness.values(ran.out, "v")[0, 0] == [n]


@pytest.mark.parametrize("arguments, message", [
    (["--fabric_dims=3,3"], "there is no option '--fabric_dims'\ndid you mean '--fabric-dims'?\n"),
    (["--nothing"], "there is no option '--nothing'\nrun 'cslc --help' for the options\n"),
    (["-vq"], "there is no option '-q'\n"),
    (["--arch"], "'--arch' needs a value\n"),
    (["-o"], "'-o' needs a value\n"),
    (["--import-path", "--memcpy"], "'--import-path' needs a value, and '--memcpy' is an option\n"),
    (["-o", "--memcpy"], "'-o' needs a value, and '--memcpy' is an option\n"),
    (["--sdk=3"], "unknown value '3' of --sdk; known are 1.4, 2\n"),
    (["--sdk=2x"], "unknown value '2x' of --sdk; known are 1.4, 2\n"),
    (["--memcpy=3"], "--memcpy takes no value\n"),
    (["--comptime-func-depth-limit=0"],
     "--comptime-func-depth-limit must be a number from 1 to 4294967295, not '0'\n"),
    (["--width=3"], "'--width' is the beginning of several options: --width-west-buf "
                    "--width-east-buf\n"),
])
def test_options_that_there_are_not(program, arguments, message):
    ran = cslc(program, *arguments, expect=2)
    assert ran.err.startswith("cslc: " + message)


def test_a_section_that_no_variable_is_in(tmp_path):
    """option_unknown_section; of the sections of a program and of one that is not used."""
    (tmp_path / "p.csl").write_text("var x: i16 linksection(\".far\") = 3;\n"
                                    "comptime { @export_symbol(x); }\n")
    option = "--link-section-start-address-bytes="
    good = cslc(tmp_path / "p.csl", option + ".far:40960,.far:0xa000", "-o", "p.bin")
    assert good.err == ""
    bad = cslc(tmp_path / "p.csl", option + ".far:40960,.fra:4096", "-o", "p.bin")
    assert "warning: no variable of a tile's program is in the section '.fra'" in bad.err
    assert bad.err.count("warning") == 1 and "[option_unknown_section]" in bad.err


def test_options_of_which_only_the_name_is_public(program):
    names = ("--single-pe", "--lomem-reservation-end=64", "--dump-dsr-alloc-graph",
             "--disable-auto-microthread-id")
    ran = cslc(program, *names, "--params=size:4", "--colors=flow:3", "-o", "out")
    assert ran.err == "".join(f"cslc: warning: {name.split('=')[0]} has no effect: only its name is "
                              "public\n" for name in names)


@pytest.mark.parametrize("body, expect", [("@activate(late_id);", 0), ("@activate(later_id);", 1)])
def test_all_memory_is_given_back(tmp_path, body, expect):
    """Only the debug build looks, and also after errors: the language server lives on."""
    (tmp_path / "pe.csl").write_text(f"""
        const out = @get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = @get_color(3),
          .output_queue = @get_output_queue(2) }});
        const late_id = @get_local_task_id(9);
        task late() void {{}}
        task main() void {{ @mov32(out, 1); {body} }}
        comptime {{
          @bind_local_task(main, @get_local_task_id(8));
          @bind_local_task(late, late_id);
          @activate(@get_local_task_id(8));
          if (@is_arch("wse3")) {{
            @initialize_queue(@get_output_queue(2), .{{ .color = @get_color(3) }});
          }}
        }}""")
    for arch in ("wse2", "wse3"):
        cslc(tmp_path / "pe.csl", f"--arch={arch}", "-o", "pe.bin", expect=expect,
             env={"ASAN_OPTIONS": "detect_leaks=1:exitcode=99"})
