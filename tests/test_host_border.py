"""CSELFRunner of cerebras.elf: tensors that pass the border of a program's rectangle, on both machines
and both engines."""
import textwrap

import pytest

import harness

LAYOUT = """
param W: u16; param H: u16;
param into: color = @get_color(1); param out: color = @get_color(2);
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{
        .into = if (x % 2 == 0) into else out, .out = if (x % 2 == 0) out else into });
      @set_color_config(x, y, into, .{ .routes = if (x % 2 == 0) .{ .rx = .{WEST}, .tx = .{RAMP} }
                                                 else .{ .rx = .{RAMP}, .tx = .{EAST} } });
      @set_color_config(x, y, out, .{ .routes = if (x % 2 == 0) .{ .rx = .{RAMP}, .tx = .{EAST} }
                                                else .{ .rx = .{WEST}, .tx = .{RAMP} } });
    }
  }
}
"""

# Each tile adds its own number to what passes, and a control wavelet passes on.
PE = """
param into: color; param out: color;
const wse3 = @is_arch("wse3");
const iq = @get_input_queue(2);
const oq = @get_output_queue(3);
const take = if (wse3) @get_data_task_id(iq) else @get_data_task_id(into);
const end = @get_control_task_id(40);
const words = @get_dsd(fabout_dsd, .{ .fabric_color = out, .extent = 1, .output_queue = oq });
const last = @get_dsd(fabout_dsd, .{ .fabric_color = out, .extent = 1, .output_queue = oq,
                                     .control = true });
var add: u32 = 0;
var seen: u32 = 0;
var ended: u16 = 0;
task pass(word: u32) void { seen += 1; @mov32(words, word + add); }
task pass_end() void { ended += 1; @mov32(last, @as(u32, 40) << 16); }
comptime {
  @bind_data_task(pass, take);
  @bind_control_task(pass_end, end);
  if (wse3) { @initialize_queue(iq, .{ .color = into }); @initialize_queue(oq, .{ .color = out }); }
}
"""

RUN = """
import sys
import numpy as np
from cerebras.elf.cs_elf_runner import CSELFRunner

def message(call, *args, **named):
    try:
        call(*args, **named)
    except (ValueError, RuntimeError, TypeError, OSError, NotImplementedError) as error:
        return str(error)
    raise AssertionError("no error")

runner = CSELFRunner(["out/bin/out_0_0.elf"])
"""

machines = pytest.mark.parametrize("arch", ("wse2", "wse3"))


def build(folder, arch, width, height, pe=PE, layout=LAYOUT):
    folder.mkdir(exist_ok=True)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(pe)
    harness.compile(folder / "layout.csl", folder / "out", f"--arch={arch}",
                    f"--fabric-dims={width + 7},{height + 2}", "--fabric-offsets=4,1",
                    params={"W": width, "H": height})
    return folder


def script(folder, text, expect=0, **env):
    (folder / "run.py").write_text(RUN + textwrap.dedent(text) + "\nprint('DONE')\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, env=env, expect=expect)
    assert expect or ran.out.endswith("DONE\n")
    return ran


@machines
@pytest.mark.parametrize("number", range(3))
def test_tensors_pass_rows_of_tiles(tmp_path, arch, number):
    """Of random sizes, in a random order over the rows; engines and threads take the same cycles."""
    random = harness.commit_random(f"border {arch} {number}")
    width, height, n = (int(random.integers(1, most)) for most in (6, 5, 40))
    folder = build(tmp_path, arch, width, height)
    kind = str(random.choice(["np.uint32", "np.int32"]))
    out = 2 if width % 2 else 1
    into = f"{{x[i=0:{n}-1][y=0:{height - 1}] -> [PE[-1, y] -> index[i]]}}"
    back = f"{{z[y=0:{height - 1}, i=0:{n - 1}] -> [PE[{width}, y] -> index[i]]}}"
    text = f"""
        W, H, N = {width}, {height}, {n}
        x = np.random.default_rng({number}).integers(0, 10 ** 6, (N, H)).astype({kind})
        add = np.arange(W * H, dtype=np.uint32).reshape(W, H, 1)
        runner.set_symbol_rect("add", add, offset=(4, 1))
        runner.add_input_tensor(1, {into!r}, x)
        runner.add_output_tensor({out}, {back!r}, {kind})
        runner.connect_and_run()
        z = runner.out_tensor_dict["z"]
        assert z.dtype == {kind} and z.shape == (H, N)
        assert (z == x.T + add.sum(0).astype({kind})).all(), z
        assert (runner.get_symbol_rect(((4, 1), (W, H)), "seen", np.uint32) == N).all()
        assert (runner.get_symbol(4 + W - 1, 1, "add", np.uint32) == add[W - 1, 0]).all()
    """
    found = []
    for engine, args in (("fast", ""), ("fast", "--threads=3"), ("reference", "")):
        script(folder, text, WSE_ENGINE=engine, WSE_ARGS=f"{args} --stats=s.json")
        found.append(harness.stats(folder / "s.json")["cycles"])
    assert len(set(found)) == 1, found


@machines
def test_a_sentinel_comes_behind_the_elements(tmp_path, arch):
    """And an array goes to the rows of a side in its own order."""
    script(build(tmp_path, arch, 3, 2), """
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        back = np.zeros((2, 4), np.float32)
        runner.add_input_array("x", 1, "W", x, sentinel=40)
        runner.add_output_array("z", 2, "E", back)
        runner.connect_and_run()
        assert (runner.out_tensor_dict["z"] == x).all()
        assert (runner.get_symbol_rect(((4, 1), (3, 2)), "ended", np.uint16) == 1).all()
        assert (runner.get_symbol_rect(((4, 1), (3, 2)), "seen", np.uint32) == 4).all()
    """)


NARROW = PE.replace("task pass(word: u32) void { seen += 1; @mov32(words, word + add); }", """
var at: [9]u16;
task pass(value: i16, index: u16) void { seen += 1; at[index] = index; @mov16(words, value + 1); }
""")


@machines
def test_elements_of_16_bits_come_with_their_index(tmp_path, arch):
    script(build(tmp_path, arch, 1, 1, pe=NARROW), """
        x = np.array([5, -3, 7, 0, 2, 1], np.int16)
        runner.add_input_tensor(1, "{x[i=0:5] -> [PE[-1, 0] -> index[i + 3]]}", x)
        runner.add_output_tensor(2, "{z[i=0:5] -> [PE[1, 0] -> index[i]]}", np.int16)
        runner.connect_and_run()
        assert (runner.out_tensor_dict["z"] == x + 1).all()
        assert runner.get_symbol(4, 1, "at", np.uint16).tolist() == [0, 0, 0, 3, 4, 5, 6, 7, 8]
    """)


COLUMNS = LAYOUT.replace("WEST", "NORTH").replace("EAST", "SOUTH")


def test_tiles_at_all_sides(tmp_path):
    """A column that is one tile wide, from north to south; (SIDE, I) is a tile, too."""
    folder = build(tmp_path, "wse3", 1, 1, layout=COLUMNS)
    for into in ('"{x[i=0:3] -> [PE[0, -1] -> index[i]]}"', '("NORTH", 0)'):
        script(folder, f"""
            x = np.array([4, 3, 2, 1], np.uint32)
            runner.add_input_tensor(1, {into}, x)
            runner.add_output_tensor(2, "{{z[i=0:3] -> [PE[0, 1] -> index[i]]}}", np.uint32)
            runner.connect_and_run()
            assert (runner.out_tensor_dict["z"] == x).all()
        """)


ENDLESS = PE.replace("comptime {", """
task again() void { @activate(@get_local_task_id(9)); }
comptime { @bind_local_task(again, @get_local_task_id(9)); @activate(@get_local_task_id(9));""")


def test_a_program_that_never_rests_ends_with_its_outputs(tmp_path):
    script(build(tmp_path, "wse2", 1, 1, pe=ENDLESS), """
        runner.add_input_tensor(1, "{x[i=0:3] -> [PE[-1, 0] -> index[i]]}", np.arange(4, dtype=np.int32))
        runner.add_output_tensor(2, "{z[i=0:3] -> [PE[1, 0] -> index[i]]}", np.int32)
        runner.connect_and_run()
        assert runner.out_tensor_dict["z"].tolist() == [0, 1, 2, 3]
    """)


def test_tiles_of_a_program_are_listed(tmp_path):
    script(build(tmp_path, "wse3", 2, 3), """
        from cerebras.elf.cself import ELFMemory
        places = list(ELFMemory("out/bin/out_0_0.elf").iter_coordinates())
        assert sorted(places) == [(x, y) for x in (4, 5) for y in (1, 2, 3)]
    """)


UNNAMED = PE.replace("var add", 'const sums = @import_module("<debug>", .{ .buffer_size = 40 });\n'
                     'var add').replace("seen += 1;", "seen += 1; sums.trace_u32(word);")
TWO = UNNAMED.replace("var seen", 'const more = @import_module("<debug>", .{ .buffer_size = 40 });\n'
                      'var seen').replace("seen += 1;", "seen += 1; more.trace_u32(seen);")


def test_records_without_a_key_have_the_name_of_the_import(tmp_path):
    script(build(tmp_path, "wse2", 1, 1, pe=TWO), """
        from cerebras.elf.cs_elf_runner.lib.csl_utils import read_trace
        runner.add_input_tensor(1, ("WEST", 0), np.array([7, 9], np.uint32))
        runner.connect_and_run()
        assert read_trace(runner, 4, 1, "sums") == [7, 9]
        assert read_trace(runner, 4, 1, "more") == [1, 2]
        assert read_trace(runner, 4, 1, "") in ([7, 9], [1, 2])
        assert "it has 'sums', 'more'" in message(read_trace, runner, 4, 1, "less")
    """)


def test_an_import_within_an_expression_has_no_name(tmp_path):
    nested = UNNAMED.replace('const sums = @import_module("<debug>", .{ .buffer_size = 40 });', """
const both = .{ .sums = @import_module("<debug>", .{ .buffer_size = 40 }) };""")
    script(build(tmp_path, "wse2", 1, 1, pe=nested.replace("; sums.", "; both.sums.")), """
        from cerebras.elf.cs_elf_runner.lib.csl_utils import read_trace
        runner.add_input_tensor(1, ("WEST", 0), np.array([7, 9], np.uint32))
        runner.connect_and_run()
        assert read_trace(runner, 4, 1, "") == [7, 9]
        said = message(read_trace, runner, 4, 1, "sums")
        assert "it has ''; an import of <debug> gets a name with .key" in said, said
    """)


TRACED = PE.replace("var add", 'const debug = @import_module("<debug>", .{ .key = "words", '
                    '.buffer_size = 40 });\nvar add').replace("seen += 1;",
                                                              "seen += 1; debug.trace_u32(word);")


def test_traces_are_read(tmp_path):
    script(build(tmp_path, "wse2", 1, 1, pe=TRACED), """
        from cerebras.elf.cs_elf_runner.lib import csl_utils
        runner.add_input_tensor(1, ("WEST", 0), np.array([7, 9], np.uint32))
        runner.connect_and_run()
        assert csl_utils.read_trace(runner, 4, 1, "words") == [7, 9]
        said = message(csl_utils.read_trace, runner, 4, 1, "sums")
        assert "records no trace 'sums'; it has 'words'" in said
    """)


def test_what_does_not_come_is_named(tmp_path):
    script(build(tmp_path, "wse3", 2, 2), """
        x = np.arange(6, dtype=np.uint32).reshape(2, 3)
        runner.add_input_array("x", 1, "W", x)
        runner.add_output_tensor(1, "{z[y=0:1, i=0:4] -> [PE[2, y] -> index[i]]}", np.uint32)
        said = message(runner.connect_and_run)
        assert "3 of 5 elements of 'z' have come from tile 1,0 on color 1" in said, said
        assert "tile 1,1" in said
    """)


def test_wavelets_beyond_an_output_are_named(tmp_path):
    ran = script(build(tmp_path, "wse3", 1, 1), """
        runner.add_input_tensor(1, ("W", 0), np.arange(9, dtype=np.uint32))
        runner.add_output_tensor(2, "{z[i=0:5] -> [PE[1, 0] -> index[i]]}", np.uint32)
        runner.connect_and_run()
        assert runner.out_tensor_dict["z"].tolist() == list(range(6))
    """)
    assert "run.py:17: RuntimeWarning: tile 0,0 has sent 3 more wavelets on color 2 than 'z' has " \
        "elements there" in ran.err, ran.err


WAITS = PE.replace("@bind_data_task(pass, take);",
                   "@bind_data_task(pass, take); @block(take);")


def test_what_does_not_enter_is_named(tmp_path):
    """The tile's queue and router are full: the rest waits at the border."""
    ran = script(build(tmp_path, "wse3", 1, 1, pe=WAITS), """
        runner.add_input_tensor(1, ("W", 0), np.arange(60, dtype=np.uint32))
        runner.add_output_tensor(2, "{z[i=0:59] -> [PE[1, 0] -> index[i]]}", np.uint32)
        runner.connect_and_run()
    """, expect=1)
    assert "data task 2 'pass' is blocked since the start: nothing unblocks it" in ran.err, ran.err
    assert "0 of 60 elements of 'z' have come from tile 0,0 on color 2; 49 wavelets for color 1 still " \
        "wait at the border of tile 0,0" in ran.err, ran.err


def test_mistakes_are_explained(tmp_path):
    script(build(tmp_path, "wse2", 2, 1), """
        x = np.arange(3, dtype=np.uint32)
        assert "got no ELF files" in message(CSELFRunner, [])
        assert "no output folder of cslc" in message(CSELFRunner, ["other/bin/out_0_0.elf"])
        assert "is of 4 elements, the tensor has 3" in message(
            runner.add_input_tensor, 1, "{x[i=0:3] -> [PE[-1, 0] -> index[i]]}", x)
        assert "16 or 32 bits" in message(runner.add_input_tensor, 1, ("W", 0), x.astype(np.int64))
        assert "16 or 32 bits" in message(
            runner.add_output_tensor, 1, "{z[i=0:3] -> [PE[2, 0] -> index[i]]}", np.float64)
        assert "sentinel must be at most 63" in message(runner.add_input_tensor, 1, ("W", 0), x, 64)
        assert "a side is one of" in message(runner.add_input_array, "x", 1, "X", x)
        assert "'-3' is no number from 0 on" in message(
            runner.add_output_tensor, 1, "{z[i=0:-3] -> [PE[2, 0] -> index[i]]}", np.uint32)
        one = "{z[i=0:2] -> [PE[2, 0] -> index[i]]}"
        named = CSELFRunner("out/bin/out_0_0.elf")
        named.add_output_tensor(1, one, np.uint32)
        assert "there is an output 'z' already" in message(named.add_output_tensor, 2, one, np.uint32)
        assert "connect_and_run() first" in message(runner.get_symbol, 4, 1, "add", np.uint32)
        inner = CSELFRunner(["out/bin/out_0_0.elf"])
        inner.add_input_tensor(1, "{x[i=0:2] -> [PE[0, 0] -> index[i]]}", x)
        assert "PE[0, 0] is not beside the border of the program's 2 x 1 tiles" in message(
            inner.connect_and_run)
        routeless = CSELFRunner(["out/bin/out_0_0.elf"])
        routeless.add_input_tensor(7, ("WEST", 0), x)
        said = message(routeless.connect_and_run)
        assert "no port can be at tile 0,0 for color 7" in said and "[port_refused]" in said, said
        twice = CSELFRunner(["out/bin/out_0_0.elf"])
        twice.add_input_tensor(1, ("WEST", 0), x)
        twice.add_input_tensor(1, ("WEST", 0), x)
        assert "another port is at the same place" in message(twice.connect_and_run)
        runner.add_input_tensor(1, ("WEST", 0), x)
        runner.connect_and_run()
        assert "runs once" in message(runner.connect_and_run)
        assert "has been run" in message(runner.add_input_tensor, 1, ("WEST", 0), x)
        assert "has been run" in message(runner.set_symbol, 4, 1, "add", x[:1])
        said = message(runner.get_symbol, 5, 1, "sum", np.uint32)
        assert "tile 1,0 has no symbol 'sum'" in said, said
        assert "tile 1,0 of the program is tile (5, 1) of the fabric" in said, said
        assert "no port has the number 5 and is an input" in message(runner.tiles.send, 5, x)
        said = message(runner.tiles.take, 0, 1)
        assert "no port has the number 0 and is an output" in said and "[port_number]" in said
    """)


def test_ports_are_for_runs_by_themselves(tmp_path):
    script(build(tmp_path, "wse2", 1, 1), """
        runner.add_input_tensor(1, ("WEST", 0), np.arange(3, dtype=np.uint32))
        said = message(runner.connect_and_run)
        assert "a run with ports at the border is for itself" in said, said
        assert "[ports_refuse]" in said
        assert "a state of the run is written or read" in said, said
    """, WSE_ARGS="--save-state=s")
