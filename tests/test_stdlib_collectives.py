"""<collectives_2d>: rounds of broadcast, reduce, gather and scatter along a line of tiles, against
the same in numpy."""
import numpy
import pytest

import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "collectives" / "layout.csl"


def expected(size, count, first_root, rounds):
    """What every tile holds at the end."""
    index = numpy.arange(count)
    shared = 1000 * numpy.arange(size)[:, None] + index
    own = numpy.arange(size)[:, None] + index * 100.0
    sums = numpy.zeros((size, count))
    gathered = numpy.zeros((size, size * count))
    scattered = numpy.zeros((size, count))
    for round_ in range(rounds):
        root = (first_root + round_) % size
        shared[:] = shared[root]
        sums[root] += own.sum(axis=0)
        gathered[root] = shared.ravel()
        scattered += gathered[root].reshape(size, count)
    return {"shared": shared, "sums": sums, "gathered": gathered, "scattered": scattered}


def run(tmp_path, arch, engine, vertical, size, count, first_root, rounds, *args, **params):
    image = tmp_path / "o.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}",
                    params={"size": size, "vertical": int(vertical), "count": count,
                            "first_root": first_root, "rounds": rounds, **params})
    names = ("shared", "sums", "gathered", "scattered")
    harness.emu(image, f"--engine={engine}", "--launch=main", *args,
                *(f"--d2h={name}={tmp_path / name}.npy" for name in names))
    return {name: harness.load_npy(tmp_path / f"{name}.npy").reshape(size, -1) for name in names}


def check(tmp_path, arch, engine, vertical, size, count, first_root, rounds, *args, **params):
    found = run(tmp_path, arch, engine, vertical, size, count, first_root, rounds, *args, **params)
    for name, want in expected(size, count, first_root, rounds).items():
        numpy.testing.assert_array_equal(found[name], want, err_msg=name)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("vertical", [False, True], ids=["row", "column"])
@pytest.mark.parametrize("size, count, first_root, rounds",
                         [(1, 3, 0, 2), (2, 1, 0, 4), (3, 4, 1, 6), (8, 17, 5, 8), (5, 40, 4, 5)])
def test_rounds_with_every_root(tmp_path, arch, vertical, size, count, first_root, rounds):
    check(tmp_path, arch, "fast", vertical, size, count, first_root, rounds)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_operands_have_the_lengths_of_their_operations(tmp_path, arch):
    check(tmp_path, arch, "fast", False, 4, 7, 1, 4, "--check=lengths")


def test_the_reference_engine_agrees(tmp_path):
    check(tmp_path, "wse3", "reference", False, 6, 9, 2, 6)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("vertical", [False, True], ids=["row", "column"])
def test_colors_in_descending_order(tmp_path, arch, vertical):
    check(tmp_path, arch, "fast", vertical, 5, 4, 1, 5, descending="true")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("vertical", [False, True], ids=["row", "column"])
def test_a_wrong_place_in_the_layout_does_no_harm(tmp_path, arch, vertical):
    """A tile finds its place when the program runs, whatever the call of get_params says."""
    check(tmp_path, arch, "fast", vertical, 5, 4, 1, 5, at_origin="true")


def test_a_broadcast_costs_its_length_and_distance(tmp_path):
    """The route carries one word per cycle: 16 times the words add no more than that many
    cycles."""
    cycles = []
    for count in (64, 1024):
        image = tmp_path / f"{count}.bin"
        harness.compile(harness.ROOT / "tests" / "stdlib" / "collectives" / "bcast.csl", image,
                        params={"size": 16, "count": count})
        harness.emu(image, "--launch=main", f"--stats={tmp_path / 's.json'}")
        cycles.append(harness.stats(tmp_path / "s.json")["cycles"])
    assert abs(cycles[1] - cycles[0] - (1024 - 64)) <= 8


# SDK 0.6: init() takes what both axes share.
SHARED = (("mpi.init()", "mpi.init(&common.pendings)"),
          ("var buffer =", """
const common = @import_module("<collectives_2d/common>", .{ .c2d_params = params });
var buffer ="""))


@pytest.mark.parametrize("edits", [(), SHARED], ids=["0.9", "0.6"])
def test_task_ids_that_are_colors(tmp_path, edits):
    """SDK 0.9: the last two of an axis' four colors are its tasks, and the callback is a color."""
    for name in ("bcast_colors.csl", "bcast_colors_pe.csl"):
        text = (harness.ROOT / "tests" / "stdlib" / "collectives" / name).read_text()
        for old, new in edits if name.endswith("_pe.csl") else ():
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / name).write_text(text)
    image = tmp_path / "c.bin"
    harness.compile(tmp_path / "bcast_colors.csl", image, "--arch=wse2",
                    params={"size": 4, "count": 6})
    harness.emu(image, "--launch=main", f"--d2h=buffer={tmp_path / 'b.npy'}")
    found = harness.load_npy(tmp_path / "b.npy").reshape(4, 6)
    numpy.testing.assert_array_equal(found, numpy.tile([1, 5, 10, 15, 20, 25], (4, 1)))


def test_two_colors_without_entrypoints(tmp_path):
    (tmp_path / "layout.csl").write_text("""
const params = @import_module("<collectives_2d/params>");
layout {
  @set_rectangle(1, 1);
  const p = params.get_params(0, 0, .{ .x_colors = .{ @get_color(1), @get_color(2) } });
  @set_tile_code(0, 0, "layout.csl", .{ .p = p });
}
""")
    ran = harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path, expect=1)
    assert "an axis of collectives needs two colors and two entrypoints" in ran.err


AXES_LAYOUT = """
        const c2d = @import_module("<collectives_2d/params>");
        layout {
          @set_rectangle(2, 1);
          for (@range(u16, 2)) |x| {
            @set_tile_code(x, 0, "pe.csl", .{ .dims = c2d.get_params(x, 0, .{
              .x_colors = .{ @get_color(0), @get_color(1) },
              .x_entrypoints = .{ @get_local_task_id(8), @get_local_task_id(9) },
              .y_colors = .{ @get_color(2), @get_color(3) },
              .y_entrypoints = .{ @get_local_task_id(10), @get_local_task_id(11) } }) });
          }
        }
        """


@pytest.mark.parametrize("given", ["dims", ".{ .colors = dims.x.colors }"])
def test_both_axes_in_place_of_one(tmp_path, given):
    """One error, with the import that has handed them over."""
    (tmp_path / "layout.csl").write_text(AXES_LAYOUT)
    (tmp_path / "pe.csl").write_text(f"""param dims;
const mpi = @import_module("<collectives_2d/pe>", .{{ .dim_params = {given} }});
const main_id = @get_local_task_id(12);
task main() void {{ mpi.init(); }}
comptime {{ @bind_local_task(main, main_id); @activate(main_id); }}
""")
    ran = harness.cslc("layout.csl", "-o", tmp_path / "o", "--arch=wse3", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1, ran.err
    assert "dim_params is one axis of what get_params() returns: its member .x or .y" in ran.err
    assert "pe.csl:2:13: note: '<collectives_2d/pe>' imported here" in ran.err


# What a second import is given beside the parameters of the first, and the first clash.
CLASHES = {
    "one axis twice": (".dim_params = dims.x", "color 0 is configured twice"),
    "the same queues": (".dim_params = dims.y, .queues = [2]u16 { 2, 4 }", "input queue 2 is init"),
    "one queue twice": (".dim_params = dims.y, .queues = [2]u16 { 3, 3 }", "input queue 3 is init"),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_imports_that_clash_are_one_error(tmp_path, clash):
    given, said = CLASHES[clash]
    (tmp_path / "layout.csl").write_text(AXES_LAYOUT)
    (tmp_path / "pe.csl").write_text(f"""param dims;
const mpi_x = @import_module("<collectives_2d/pe>", .{{ .dim_params = dims.x }});
const mpi_y = @import_module("<collectives_2d/pe>", .{{ {given} }});
const main_id = @get_local_task_id(12);
task main() void {{ mpi_x.init(); mpi_y.init(); }}
comptime {{ @bind_local_task(main, main_id); @activate(main_id); }}
""")
    ran = harness.cslc("layout.csl", "-o", tmp_path / "o", "--arch=wse3", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1 and said in ran.err, ran.err
    assert "pe.csl:3:15: note: '<collectives_2d/pe>' imported here" in ran.err


# Module: a role of another module in its place, a call, a member that the role lacks, whose role it is.
OTHER_ROLES = {
    "collectives/broadcast": ("m.run(1, buf);", "on", "of broadcast_tile in <collectives/layout>"),
    "collectives/scan": ("m.run(1, buf, buf);", "p", "of scan_tile in <collectives/streams>"),
    "mpi": ("m.bcast(buf, 1, 0);", "ring", "of mpi_tile in <mpi/layout>"),
    "blas/gemv": ("m.run();", "scatters", "of gemv_tile in <blas/vector_layout>"),
}


@pytest.mark.parametrize("module", OTHER_ROLES)
def test_the_role_of_another_module(tmp_path, module):
    """One error, at the import that was given it, and what the module's file says of the parameter."""
    call, member, whose = OTHER_ROLES[module]
    (tmp_path / "layout.csl").write_text("""
const collectives = @import_module("<collectives/layout>");
layout {
  const plan = collectives.reduce_plan(2, 0, collectives.pattern.chain, 8, 0);
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .role = collectives.reduce_tile(
      x, 0, plan, x, WEST, EAST, [2]color{ @get_color(0), @get_color(1) }) });
  }
}
""")
    (tmp_path / "pe.csl").write_text(f"""param role: comptime_struct;
const m = @import_module("<{module}>", .{{ .role = role }});
var numbers = @zeros([4]f32);
const buf: [*]f32 = &numbers;
const main_id = @get_local_task_id(12);
task main() void {{ {call} }}
comptime {{ @bind_local_task(main, main_id); @activate(main_id); }}
""")
    ran = harness.cslc("layout.csl", "-o", tmp_path / "o", "--arch=wse3", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1, ran.err
    given = (tmp_path / "pe.csl").read_text().splitlines()[1].rindex("role") + 1
    assert (f"pe.csl:2:{given}: error: '<{module}>' takes another struct as its parameter 'role': "
            f"this one has no member '{member}' [other_struct_bound]") in ran.err
    assert f"note: 'role' declared here: {whose}\n" in ran.err


@pytest.mark.parametrize("given, wanted", [
    (", .{}", ["role"]), ("", ["role"]),
    (", .{ .role = 3, .limits = [3]u16{ 1, 2, 3 } }", ["first", "second"])])
def test_a_parameter_that_the_import_does_not_give(tmp_path, given, wanted):
    """At the import, with what the module's file says of it; also where the import gives nothing."""
    module = "collectives/auto" if "limits" in given else "collectives/reduce"
    (tmp_path / "pe.csl").write_text(f"""
const m = @import_module("<{module}>"{given});
var numbers = @zeros([4]f32);
const buf: [*]f32 = &numbers;
layout {{ @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }}
task main() void {{ m.run(1, buf); }}
comptime {{ @bind_local_task(main, @get_local_task_id(12)); }}
""")
    ran = harness.cslc("pe.csl", "-o", tmp_path / "o", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == len(wanted), ran.err
    for name in wanted:
        assert (f"pe.csl:2:11: error: '<{module}>' needs its parameter '{name}', and the import does not "
                "give it [param_not_given]") in ran.err
    if wanted == ["role"]:
        assert "note: 'role' declared here: of reduce_tile in <collectives/layout>\n" in ran.err


def test_what_a_module_says_of_a_parameter(tmp_path):
    """With a value of another type, too."""
    (tmp_path / "pe.csl").write_text("""
const m = @import_module("<collectives/reduce>", .{ .role = 3 });
var numbers = @zeros([4]f32);
const buf: [*]f32 = &numbers;
layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }
task main() void { m.run(1, buf); }
comptime { @bind_local_task(main, @get_local_task_id(12)); }
""")
    ran = harness.cslc("pe.csl", "--diag-format=json", "-o", "o", cwd=tmp_path, expect=1)
    found = harness.diagnostics(ran.err)
    assert [d["id"] for d in found] == ["bad_binding", "parameter_is", "imported_with"]
    assert found[1]["message"] == "'role' declared here: of reduce_tile in <collectives/layout>"


@pytest.mark.parametrize("module, role, call", [
    ("scatter", "scatter_tile(x, 0, 2, 0, x, WEST, EAST, @get_color(0))", "m.run(1, &b, &b);"),
    ("gather", "gather_tile(x, 0, 2, 0, x, WEST, EAST, [2]color{ @get_color(0), @get_color(1) })",
     "m.run(1, &b, &b);")])
def test_elements_of_another_type(tmp_path, module, role, call):
    (tmp_path / "layout.csl").write_text(f"""
const paths = @import_module("<collectives/paths>");
layout {{
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {{ @set_tile_code(x, 0, "pe.csl", .{{ .role = paths.{role} }}); }}
}}
""")
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const m = @import_module("<collectives/{module}>", .{{ .role = role, .T = u8 }});
var b = @zeros([4]u8);
task main() void {{ {call} }}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }}
""")
    ran = harness.cslc("layout.csl", "-o", "x.bin", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1, ran.err
    assert "elements of collectives are floats and integers of 16 and 32 bits" in ran.err
    assert f"pe.csl:3:11: note: '<collectives/{module}>' imported here with T = u8" in ran.err


# Modules without a task of their own, and the param that their start() then misses first.
WITHOUT_TASKS = {
    "reduce": ("lines.reduce_tile(x, 0, lines.reduce_plan(2, 0, lines.pattern.chain, 4, 0), x, WEST, EAST, "
               "colors(2))", ".operation = 2", "4, &b", "step_task"),
    "ring": ("paths.ring_tile(x, 0, 2, x, WEST, EAST, colors(3))", "", "4, &b", "step_task"),
    "butterfly": ("paths.butterfly_tile(x, 0, 2, 2, x, WEST, EAST, colors(2))", ".scratch = &c",
                  "4, &b", "step_task"),
    "exchange": ("paths.exchange_tile(x, 0, x, if (x == 0) EAST else WEST, colors(2))",
                 ".scratch = &c, .operation = 2", "4, &b", "step_task"),
    "allgather": ("streams.allgather_tile(x, 0, 2, x, WEST, EAST, colors(2))", "", "2, &b, &c", "up_task"),
    "alltoall": ("streams.alltoall_tile(x, 0, 2, x, WEST, EAST, colors(6))",
                 ".output_queues = [2]u16{ 4, 5 }", "2, &b, &c", "forth_task"),
    "scan": ("streams.scan_tile(x, 0, 2, x, WEST, EAST, colors(4))", "", "4, &b, &c", "step_task"),
    "barrier": ("streams.barrier_tile(2, 1, 0, 0, x, 0, colors(2), [2]color{ @get_color(2), @get_color(3) }, "
                "@get_color(4))", "", "", "step_task"),
    "stream_allreduce": ("streams.stream_allreduce_tile(x, 0, 2, x, WEST, EAST, colors(3))",
                         ".operation = 2", "4, &b", "end_task"),
}


@pytest.mark.parametrize("module", WITHOUT_TASKS)
def test_a_task_of_the_modules_own_is_missing(tmp_path, module):
    """One error that names the param, not that -1 is no task id."""
    role, params, arguments, missing = WITHOUT_TASKS[module]
    (tmp_path / "layout.csl").write_text(f"""
const lines = @import_module("<collectives/layout>");
const paths = @import_module("<collectives/paths>");
const streams = @import_module("<collectives/streams>");
fn colors(comptime n: u16) [n]color {{
  var found: [n]color;
  for (@range(u16, n)) |i| {{ found[i] = @get_color(i); }}
  return found;
}}
layout {{
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {{ @set_tile_code(x, 0, "pe.csl", .{{ .role = {role} }}); }}
}}
""")
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const m = @import_module("<collectives/{module}>", .{{ .role = role, .done_task = 9, {params} }});
var b = @zeros([4]f32);
var c = @zeros([4]f32);
task main() void {{ m.start({arguments}); }}
task done() void {{}}
comptime {{
  @bind_local_task(main, @get_local_task_id(8));
  @bind_local_task(done, @get_local_task_id(9));
  @activate(@get_local_task_id(8));
}}
""")
    ran = harness.cslc("layout.csl", "-o", "x.bin", "--arch=wse3", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1, ran.err
    assert f"start() needs the param {missing}, a local task id of the module's own" in ran.err
    assert f"pe.csl:3:11: note: '<collectives/{module}>' imported here" in ran.err


@pytest.mark.parametrize("done, count", [(10, 0), (9, 1)])
def test_a_done_task_that_is_the_modules_own(tmp_path, done, count):
    """It would start itself for ever."""
    (tmp_path / "layout.csl").write_text("""
const paths = @import_module("<collectives/paths>");
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .role = paths.exchange_tile(
      x, 0, x, if (x == 0) EAST else WEST, [2]color{ @get_color(0), @get_color(1) }) });
  }
}
""")
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const m = @import_module("<collectives/exchange>", .{{
  .role = role, .operation = @as(u16, 2), .step_task = 9, .done_task = {done},
  .scratch = @ptrcast([*]f32, &room) }});
var room = @zeros([4]f32);
var b = @zeros([4]f32);
task main() void {{ m.start(4, &b); }}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }}
""")
    ran = harness.cslc("layout.csl", "-o", "x.bin", "--arch=wse3", cwd=tmp_path, expect=count)
    assert ran.err.count("error: ") == count, ran.err
    assert not count or "step_task is a task of the module's own" in ran.err


AS_NUMBERS = ("10", "9", "20", "[2]u16{ 6, 7 }")
AS_IDS = ("@get_local_task_id(10)", "@get_local_task_id(9)", "@get_local_task_id(20)",
          "[2]input_queue{ @get_input_queue(6), @get_input_queue(7) }")
AS_TUPLE = ("@get_local_task_id(10)", "9", "20", ".{ @get_input_queue(6), @get_input_queue(7) }")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("step, done, arrived, queues", [AS_NUMBERS, AS_IDS, AS_TUPLE])
def test_params_take_tasks_and_queues_as_numbers_and_as_ids(tmp_path, arch, step, done, arrived,
                                                            queues):
    """Some modules say u16 or i16, others local_task_id: a program need not know which."""
    (tmp_path / "layout.csl").write_text("""
const paths = @import_module("<collectives/paths>");
const streams = @import_module("<collectives/streams>");
fn colors() [8]color {
  var found: [8]color;
  for (@range(u16, 8)) |i| { found[i] = @get_color(i + 2); }
  return found;
}
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{
      .exchange_role = paths.exchange_tile(x, 0, x, if (x == 0) EAST else WEST,
                                           [2]color{ @get_color(0), @get_color(1) }),
      .packets_role = streams.packets_tile(2, 1, x, 0, colors())
    });
  }
  @export_name("b", [*]f32, true);
}
""")
    (tmp_path / "pe.csl").write_text(f"""
param exchange_role: comptime_struct;
param packets_role: comptime_struct;
const exchange = @import_module("<collectives/exchange>", .{{
  .role = exchange_role, .step_task = {step}, .done_task = {done}, .input_queues = {queues},
  .output_queues = [2]u16{{ 0, 1 }}, .scratch = &room }});
const packets = @import_module("<collectives/packets>", .{{
  .role = packets_role, .arrived_task = {arrived}, .ready_task = {arrived},
  .sent_tasks = [4]u16{{ 15, 16, 17, 18 }} }});
var room = @zeros([3]f32);
var b = [3]f32{{ 1.0, 2.0, 3.0 }};
var b_ptr: [*]f32 = &b;
task main() void {{ exchange.start(3, &b); }}
task done() void {{ packets.send(1 - packets.rank, 1, @ptrcast([*]u32, &b)); }}
task arrived() void {{
  if (packets.has_packet()) {{ b[2] = @ptrcast([*]f32, packets.words())[0]; }}
}}
comptime {{
  @bind_local_task(main, @get_local_task_id(8));
  @bind_local_task(done, @get_local_task_id(9));
  @bind_local_task(arrived, @get_local_task_id(20));
  @activate(@get_local_task_id(8));
  @export_symbol(b_ptr, "b");
}}
""")
    harness.cslc("layout.csl", "-o", "x.bin", f"--arch={arch}", cwd=tmp_path)
    out = harness.emu(tmp_path / "x.bin", "--run", "--print=b:3").out
    assert harness.values(out, "b") == {(x, 0): [2, 4, 2] for x in range(2)}, out
