"""wse-emu from the outside: host actions, options, exit codes, statistics, and a message for every
mistake of its user.  Each message is named by its row in emu/host/diag.def."""
import json
import re

import numpy
import pytest

import harness

LAYOUT = """
layout {
  @set_rectangle(3, 2);
  for (@range(u16, 3)) |x| {
    for (@range(u16, 2)) |y| {
      @set_tile_code(x, y, if (x == 2) "other.csl" else "pe.csl", .{ .x = x, .y = y });
    }
  }
  @export_name("v", [*]f32, true);
  @export_name("w", i16, true);
  @export_name("u", u32, true);
  @export_name("h", [*]f16, true);
  @export_name("flag", bool, true);
  @export_name("nothing", i16, true);
  @export_name("loose", [*]u16, true);
  @export_name("start", fn(i16, f32)void);
  @export_name("again", fn()void);
  @export_name("never", fn()void);
}
"""

PE = """
param x: u16;
param y: u16;
var v = @zeros([4]f32);
var v_ptr: [*]f32 = &v;
var w: i16 = -7;
var u: u32 = 4000000000;
var h = @zeros([2]f16);
var h_ptr: [*]f16 = &h;
var flag: bool = true;
var loose_ptr: [*]u16;
fn start(a: i16, b: f32) void {
  w = a + @as(i16, x);
  v[0] = v[0] + b;
}
fn again() void {
  w = w + 1;
}
comptime {
  @export_symbol(v_ptr, "v");
  @export_symbol(w, "w");
  @export_symbol(u, "u");
  @export_symbol(h_ptr, "h");
  @export_symbol(flag, "flag");
  @export_symbol(loose_ptr, "loose");
  @export_symbol(start);
  @export_symbol(again);
}
"""

OTHER = """
param x: u16;
param y: u16;
var u: u32 = 9;
comptime {
  @export_symbol(u, "u");
}
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emulator")
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PE)
    (folder / "other.csl").write_text(OTHER)
    harness.compile(folder / "layout.csl", folder / "p.bin")
    return folder / "p.bin"


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


# ---- host actions --------------------------------------------------------------------------------

def test_prints_every_type_and_skips_tiles_without_the_symbol(image, engine):
    ran = harness.emu(image, engine, "--print=w", "--print=u@1,0,2,1", "--print=flag@0,0,1,1",
                      "--print=v:2@0,1,1,1")
    assert ran.out.splitlines() == [
        "w@0,0: -7", "w@1,0: -7", "w@0,1: -7", "w@1,1: -7", "u@1,0: 4000000000", "u@2,0: 9",
        "flag@0,0: 1", "v@0,1: 0 0"]


def test_actions_are_carried_out_in_order(image, engine):
    ran = harness.emu(image, engine, "--h2d=v@0,0,2,2=" + ",".join("1.5" for _ in range(16)),
                      "--launch=start(5, 0.25)", "--print=w@0,0,2,1", "--launch=again",
                      "--print=w@1,1,1,1", "--print=v@1,1,1,1")
    assert ran.out.splitlines() == ["w@0,0: 5", "w@1,0: 6", "w@1,1: 7", "v@1,1: 1.75 1.5 1.5 1.5"]


@pytest.mark.parametrize("order", "CF")
def test_arrays_go_there_and_back(image, tmp_path, engine, order):
    there = numpy.arange(16, dtype=numpy.float32).reshape(2, 2, 4) / 3
    numpy.save(tmp_path / "a.npy", numpy.asarray(there, order=order))
    half = numpy.array([1.5, -2, 65504, 6e-8, 0.1, 3, 4, 5], numpy.float16)
    harness.save_npy(tmp_path / "h.npy", half)
    harness.emu(image, engine, f"--h2d=v@0,0,2,2={tmp_path}/a.npy", "--run",
                f"--h2d=h@0,0,2,2={tmp_path}/h.npy", f"--d2h=v@0,0,2,2={tmp_path}/b.npy",
                f"--d2h=h@0,0,2,2={tmp_path}/i.npy", f"--d2h=w@1,0,1,2={tmp_path}/w.npy",
                f"--d2h=flag@0,0,1,1={tmp_path}/f.npy")
    back = harness.load_npy(tmp_path / "b.npy")
    assert back.dtype == numpy.float32 and (back == there).all()
    assert (harness.load_npy(tmp_path / "i.npy").ravel() == half).all()
    w = harness.load_npy(tmp_path / "w.npy")
    assert w.dtype == numpy.int16 and w.shape == (2, 1, 1) and (w == -7).all()
    assert harness.load_npy(tmp_path / "f.npy").tolist() == [[[True]]]


def test_an_output_folder_is_a_program(image, tmp_path):
    harness.compile(image.parent / "layout.csl", tmp_path / "out")
    assert harness.emu(tmp_path / "out", "--print=w@0,0,1,1").out == "w@0,0: -7\n"


def test_version_says_what_cycles_stand_for():
    out = harness.emu("--version").out
    assert re.match(r"wse-emu \d+\.\d+", out)
    assert "Nothing was verified on hardware." in out and "does not run on a wafer" in out


def test_help_lists_the_options():
    out = harness.emu("--help").out
    for option in ("--h2d", "--launch", "--max-cycles", "--trace-region", "--stats[=FILE]"):
        assert option in out


# ---- statistics and traces --------------------------------------------------------------------------

STATS = {"cycles", "host_cycles", "phases", "tiles", "threads", "load_seconds", "wall_seconds",
         "program_tile_cycles", "active_tile_cycles", "active_tile_cycles_per_second",
         "instructions", "wavelets", "wavelet_hops", "stalls", "peak_rss_bytes"}


def sample(tmp_path, name, **params):
    harness.compile(f"samples/{name}/layout.csl", tmp_path / f"{name}.bin", params=params)
    return tmp_path / f"{name}.bin"


def test_statistics(tmp_path, engine):
    program = sample(tmp_path, "reduce-chain", P=6, B=20)
    harness.emu(program, engine, f"--stats={tmp_path}/s.json")
    stats = harness.stats(tmp_path / "s.json")
    assert STATS <= set(stats)
    assert stats["program_tile_cycles"] == 6 * stats["cycles"]
    assert stats["wavelets"] == 5 * 20 and stats["wavelet_hops"] == 5 * 20
    assert sum(p["cycles"] for p in stats["phases"]) == stats["cycles"] and stats["host_cycles"] == 0
    printed = harness.emu(program, engine, "--stats").out
    assert json.loads(printed)["cycles"] == stats["cycles"]


SAMPLES = (("hello-wavelet", {}), ("broadcast-1d", {"P": 9, "B": 12}),
           ("reduce-chain", {"P": 9, "B": 12}), ("reduce-tree", {"P": 8, "B": 12}),
           ("data-task", {"N": 9}), ("gemv", {"width": 3, "height": 2, "M": 6, "N": 6}))


@pytest.mark.parametrize("name, params", SAMPLES, ids=[s[0] for s in SAMPLES])
def test_both_engines_give_the_same_trace_and_statistics(tmp_path, name, params):
    program = sample(tmp_path, name, **params)
    traces, all_stats = [], []
    for which in ("fast", "reference"):
        harness.emu(program, f"--engine={which}", "--trace=all", f"--trace-file={tmp_path}/t",
                    f"--stats={tmp_path}/s.json")
        traces.append((tmp_path / "t").read_text())
        stats = harness.stats(tmp_path / "s.json")
        for key in ("engine", "load_seconds", "wall_seconds", "peak_rss_bytes",
                    "active_tile_cycles_per_second"):
            del stats[key]
        all_stats.append(stats)
    assert traces[0] == traces[1] and traces[0].count("\n") > 15
    assert all_stats[0] == all_stats[1]


def test_trace_is_sorted_and_limited(tmp_path, engine):
    program = sample(tmp_path, "reduce-chain", P=5, B=6)
    everything = harness.emu(program, engine, "--trace=all").out.splitlines()
    line = re.compile(r"@(\d+) P(\d+)\.(\d+) (task|inst|wavelet|switch|queue|stall|host) \w+")
    keys = [(int(m[1]), int(m[3]), int(m[2])) for m in map(line.match, everything)]
    assert keys == sorted(keys)
    some = harness.emu(program, engine, "--trace=wavelet,task", "--trace-region=1,0,2,1",
                       "--trace-cycles=20:60").out.splitlines()
    assert some == [text for text, (cycle, _, x) in zip(everything, keys)
                    if 20 <= cycle <= 60 and x in (1, 2) and
                    text.split()[2] in ("wavelet", "task")]
    assert some


# ---- exit codes -----------------------------------------------------------------------------------------

def program_of(tmp_path, pe, layout=None, *args):
    (tmp_path / "layout.csl").write_text(layout or """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("n", u16, true);
}
""")
    (tmp_path / "pe.csl").write_text(pe)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", *args)
    return tmp_path / "p.bin"


MAIN = """
const main_id = @get_local_task_id(8);
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
  @export_symbol(n);
}
"""


def test_a_fault_ends_with_exit_2_and_its_place(tmp_path, engine):
    program = program_of(tmp_path, "export var n: u16 = 0;\ntask main() void {\n"
                         "  n = 3;\n  @assert(n == 4);\n}\n" + MAIN)
    ran = harness.emu(program, engine, f"--stats={tmp_path}/s.json", "--print=n", expect=2)
    assert "ASSERT" in ran.err and "pe.csl:4" in ran.err and "P0.0" in ran.err
    assert ran.out == "" and harness.stats(tmp_path / "s.json")["cycles"] > 0


def test_a_run_in_which_nothing_happens_is_told(tmp_path, engine):
    program = program_of(tmp_path, """
export var n: u16 = 4;
fn work() void { n += 1; }
comptime {
  @export_symbol(n);
  @export_symbol(work);
}
""", """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("n", u16, true);
  @export_name("work", fn()void);
}
""")
    ran = harness.emu(program, engine, "--print=n")
    assert ran.out == "n@0,0: 4\n"
    # note launchable
    assert "[nothing_ran]" in ran.err and "--launch=work" in ran.err
    ran = harness.emu(program, engine, "--launch=work", "--print=n")
    assert (ran.out, ran.err) == ("n@0,0: 5\n", "")


def test_an_endless_program_ends_with_exit_4(tmp_path, engine):
    program = program_of(tmp_path, "export var n: u16 = 0;\ntask main() void {\n"
                         "  while (true) { n += 1; }\n}\n" + MAIN)
    ran = harness.emu(program, engine, "--max-cycles=5000", expect=4)
    assert "[cycle_limit]" in ran.err and "5000" in ran.err
    assert "\n  P0.0 main thread (local task 8 'main') has not ended at " in ran.err


@pytest.mark.parametrize("loop, reads", [
    ("while (flag == 0) {}", "in a loop without an end"),
    ("while (look() == 0) {}", "until there is a change in 'flag'"),
    ("while (@get_config(0x7e38) + @get_config(where) != 1) {}",
     "change in register QUEUE_STATUS or register TASK_ACTIVE"),
    ("while (flag == 0) { other = 1; other = flag; @assert(other < 2); }", "in a loop "),
    ("while (flag == 0) { other += 1; }", None),
    ("while (@get_config(0x7e12) != 0xffff) {}", None),
    ("while (@random16() | 1 != 0) {}", None),
    ("while (flag == 0) { @activate(@get_local_task_id(8)); }", "in a loop "),
    ("while (flag == 0) { @set_config(0x7e38 - 8, 0); }", None)])
def test_a_loop_that_nothing_can_end_is_told(tmp_path, engine, loop, reads):
    """A loop that counts, or looks at the time, may have an end."""
    program = program_of(tmp_path, """
export var n: u16 = 0;
var flag: u16 = 0;
var other: u16 = 0;
var where: u16 = 0x7e50;
noinline fn look() u16 { return flag; }
task main() void {
  %s
}
""" % loop + MAIN)
    err = harness.emu(program, engine, "--max-cycles=5000", expect=4).err
    assert ("nothing ends the loop" in err) == (reads is not None), err
    assert reads is None or reads in err.splitlines()[1], err


INTEGERS = ("i1", "u1", "i3", "u5", "i8", "u8", "i16", "u16", "i24", "u24", "u31", "i32", "i33", "u48",
            "i64", "u64")


def limits(kind):
    bits = int(kind[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)


@pytest.fixture(scope="module")
def integers(tmp_path_factory):
    """A program with a function and an array for each integer type."""
    folder = tmp_path_factory.mktemp("integers")
    program = "".join(f"""
var got_{kind}: {kind[0]}64 = 0;
var all_{kind} = @zeros([2]{kind});
var ptr_{kind}: [*]{kind} = &all_{kind};
fn f_{kind}(first: bool, x: {kind}) void {{ if (first) {{ got_{kind} = @as({kind[0]}64, x); }} }}
comptime {{ @export_symbol(ptr_{kind}); @export_symbol(f_{kind}); }}
""" for kind in INTEGERS)
    (folder / "pe.csl").write_text(program)
    names = "".join(f'  @export_name("ptr_{kind}", [*]{kind}, true);\n'
                    f'  @export_name("f_{kind}", fn(bool, {kind})void);\n' for kind in INTEGERS)
    (folder / "layout.csl").write_text(
        f'layout {{\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, "pe.csl");\n{names}}}\n')
    harness.cslc("layout.csl", "-o", "out", cwd=folder)
    return folder


@pytest.mark.parametrize("kind", INTEGERS)
def test_an_argument_has_the_bits_of_its_type(integers, kind):
    """A value outside is refused with the range; one inside arrives, sign included."""
    for value in limits(kind):
        ran = harness.emu(integers / "out", f"--launch=f_{kind}(1,{value})", f"--print=got_{kind}",
                          f"--h2d=ptr_{kind}={value},0", f"--print=ptr_{kind}")
        assert ran.out == f"got_{kind}@0,0: {value}\nptr_{kind}@0,0: {value} 0\n"
    for value in (limits(kind)[0] - 1, limits(kind)[1] + 1):
        for action in (f"--launch=f_{kind}(1,{value})", f"--h2d=ptr_{kind}={value},0"):
            err = harness.emu(integers / "out", action, expect=1).err
            assert f"'{value}' is no value of type {kind}" in err, err
            assert f"{kind} takes {limits(kind)[0]} to {limits(kind)[1]}, decimal or" in err, err


def element_bytes(kind):
    """What an integer takes in a tile's memory."""
    return next(size for size in (1, 2, 4, 8) if int(kind[1:]) <= 8 * size)


@pytest.mark.parametrize("kind", INTEGERS)
def test_an_array_has_the_bits_of_its_type(integers, tmp_path, kind):
    """A number outside is refused like one on the command line, whichever sign the array has."""
    size = element_bytes(kind)
    for value in (*limits(kind), limits(kind)[0] - 1, limits(kind)[1] + 1):
        for sign in "iu":
            if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
                continue
            bits = (value % (1 << 8 * size)).to_bytes(size, "little") * 2
            numpy.save(tmp_path / "a.npy", numpy.frombuffer(bits, f"{sign}{size}"))
            there = int.from_bytes(bits[:size], "little", signed=kind[0] == "i")
            fits = limits(kind)[0] <= there <= limits(kind)[1]
            ran = harness.emu(integers / "out", f"--h2d=ptr_{kind}={tmp_path}/a.npy",
                              f"--print=ptr_{kind}", expect=0 if fits else 1)
            assert fits or f" is no value of type {kind}" in ran.err, ran.err
            assert not fits or ran.out == f"ptr_{kind}@0,0: {there} {there}\n"


def test_a_script_gives_arguments_the_bits_of_their_types(integers):
    calls = [(kind, value, 0 <= i < 2) for kind in INTEGERS
             for i, value in enumerate([*limits(kind), limits(kind)[0] - 1, limits(kind)[1] + 1])]
    (integers / "run.py").write_text(f"""
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
with SdkRuntime("out", memcpy_required=False) as r:
    for kind, value, fits in {calls!r}:
        try:
            r.launch(f"f_{{kind}}", True, value, nonblock=False)
            assert fits, (kind, value)
        except ValueError as e:
            assert not fits and "is outside" in str(e) and f"({{kind}})" in str(e), (kind, value, e)
""")
    harness.run([harness.tool("cs_python"), "run.py"], cwd=integers)


ROUNDS = """
export var n: u16 = 0;
var flag: u16 = 0;
var other: u16 = 0;
const again_id = @get_local_task_id(9);
task main() void {
  if (flag == 0) { @activate(again_id); }
}
task again() void {
  %s
  if (flag == 0) { @activate(@get_local_task_id(8)); }
}
task set() void { flag = 1; }
comptime {
  @bind_local_task(again, again_id);
  @bind_local_task(set, @get_local_task_id(10));
}
"""


@pytest.mark.parametrize("extra, is_endless", [
    ("", True), ("other = 1 - other;", True), ("@block(again_id); @unblock(again_id);", True),
    ("other += 1;", False), ("other = @get_config(0x7e12);", False), ("other = @random16();", False),
    ("if (other == 3) { flag = 1; } else { other += 1; }", None)])
def test_tasks_that_start_each_other_for_ever_end_the_run(tmp_path, engine, extra, is_endless):
    """Unless they count, read the time or draw numbers: such rounds may have an end."""
    program = program_of(tmp_path, ROUNDS % extra + MAIN)
    ran = harness.emu(program, engine, "--max-cycles=1500000",
                      expect={True: 3, False: 4, None: 0}[is_endless])
    if is_endless:
        assert "nothing can change any more, but the program goes on" in ran.err
        assert re.search(r"P0.0 local task 8 'main', activated at \S+:\d+, and local task 9 'again', "
                         r"activated at \S+:7, start again and again, in rounds that go on until "
                         r"there is a change in 'flag'", ran.err), ran.err
        assert "nothing ends the rounds" in ran.err
    assert ("start again and again" in ran.err) == bool(is_endless), ran.err


SLOW_SENDER = """
param is_sender: bool;
export var n: u16 = 0;
const data = @get_color(3);
const to = @get_output_queue(2);
const from = @get_input_queue(2);
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = data, .output_queue = to });
const receive_id = if (@is_arch("wse3")) @get_data_task_id(from) else @get_data_task_id(data);
const poll_id = @get_local_task_id(9);
var turns: u32 = 0;
task main() void {
  if (!is_sender) { @activate(poll_id); return; }
  while (turns < 200000) { turns += 1; }
  @mov16(out, 7, .{ .async = true });
}
task poll() void {
  if (n == 0) { @activate(poll_id); }
}
task receive(word: u16) void { n = word; }
comptime {
  @bind_local_task(poll, poll_id);
  if (!is_sender) @bind_data_task(receive, receive_id);
  if (@is_arch("wse3") and is_sender) @initialize_queue(to, .{ .color = data });
  if (!is_sender) @initialize_queue(from, .{ .color = data });
}
"""

SLOW_LAYOUT = """
const data = @get_color(3);
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .is_sender = true });
  @set_tile_code(1, 0, "pe.csl", .{ .is_sender = false });
  @set_color_config(0, 0, data, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, data, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  @export_name("n", u16, true);
}
"""


def test_rounds_that_wait_for_a_tile_at_work_go_on(tmp_path, engine):
    """However long it takes: the looks at rounds come after 2^20 cycles and later."""
    program = program_of(tmp_path, SLOW_SENDER + MAIN, SLOW_LAYOUT)
    ran = harness.emu(program, engine, f"--stats={tmp_path}/s.json", "--print=n@1,0,1,1")
    assert ran.out == "n@1,0: 7\n" and harness.stats(tmp_path / "s.json")["cycles"] > 1 << 21


LOOPED = """
export var n: u16 = 0;
var from = @zeros([5]u32);
var into = @zeros([5]u32);
var sum: f32 = 0.0;
var last: u32 = 0;
const from_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &from, .extent = 5 });
const into_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &into, .extent = 5 });
const loop = @get_color(5);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = loop, .extent = %d,
                                    .output_queue = @get_output_queue(2) });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = loop, .extent = %d,
                                  .input_queue = @get_input_queue(3) });
task main() void {
  @mov32(out, from_dsd, .{ .async = true });
  %s
}
comptime {
  @set_local_color_config(loop, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  @initialize_queue(@get_input_queue(3), .{ .color = loop });
  if (@is_arch("wse3")) @initialize_queue(@get_output_queue(2), .{ .color = loop });
}
"""


@pytest.mark.parametrize("extents, is_found", [((5, 5), False), ((1, 5), False), ((5, 1), True),
                                               ((2, 5), True)])
def test_one_wavelet_on_the_fabric_stands_for_any_number(tmp_path, engine, extents, is_found):
    """Unless it decides: then the memory that waits for more has another length."""
    program = program_of(tmp_path, LOOPED % (*extents, "@mov32(into_dsd, in);") + MAIN, None,
                         "--fabric-warnings")
    err = harness.emu(program, engine, "--check=lengths", expect=2 if is_found else 0).err
    assert ("[LENGTHS]" in err) == is_found, err


@pytest.mark.parametrize("operation", ["@fadds(&sum, sum, in, .{ .async = true });",
                                       "@mov32(&last, in, .{ .async = true });"])
def test_a_scalar_that_takes_the_result_has_no_length(tmp_path, engine, operation):
    program = program_of(tmp_path, LOOPED % (5, 5, operation) + MAIN, None)
    harness.emu(program, engine, "--check=lengths")


def test_a_loop_beside_an_operation_is_not_told(tmp_path, engine):
    """What still moves may end it."""
    program = program_of(tmp_path, """
export var n: u16 = 0;
var flag = @zeros([1]u32);
const flag_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> flag[0] });
const loop = @get_color(5);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = loop, .extent = 0x7fff,
                                    .output_queue = @get_output_queue(2) });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = loop, .extent = 0x7fff,
                                  .input_queue = @get_input_queue(3) });
task main() void {
  @mov32(in_memory, in, .{ .async = true });
  @mov32(out, 0, .{ .async = true });
  while (flag[0] == 0) {}
}
const in_memory = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{0x7fff} -> flag[0] });
comptime {
  @set_local_color_config(loop, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  @initialize_queue(@get_input_queue(3), .{ .color = loop });
  if (@is_arch("wse3")) @initialize_queue(@get_output_queue(2), .{ .color = loop });
}
""" + MAIN)
    err = harness.emu(program, engine, "--max-cycles=5000", expect=4).err
    assert "nothing ends the loop" not in err and "has not ended at" in err, err


def test_tiles_at_the_same_place_are_one_entry(tmp_path, engine):
    (tmp_path / "pe.csl").write_text("""
param x: u16;
export var n: u16 = 0;
task main() void {
  while (x > 0 or n < 3) { n += 1; }
}
comptime {
  @bind_local_task(main, @get_local_task_id(9));
  @activate(@get_local_task_id(9));
}
""")
    (tmp_path / "layout.csl").write_text("""
layout {
  @set_rectangle(5, 3);
  for (@range(u16, 5)) |x| {
    for (@range(u16, 3)) |y| { @set_tile_code(x, y, "pe.csl", .{ .x = x }); }
  }
}
""")
    harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path)
    lines = harness.emu(tmp_path / "p.bin", engine, "--max-cycles=5000",
                        expect=4).err.splitlines()
    assert re.match(r"  P1.0 main thread \(local task 9 'main'\) has not ended at pe.csl:5", lines[1])
    assert lines[2] == "  likewise at P2.0, P3.0, P4.0, P1.1, P2.1, P3.1, P4.1, P1.2 and 3 more"
    assert lines[3].startswith("  help: if this is an end that never comes, look at what the loop's")


def test_of_many_places_some_are_shown(tmp_path, engine):
    loops = "".join(f"  while (x == {x}) {{ n += 1; }}\n" for x in range(10))
    (tmp_path / "pe.csl").write_text("param x: u16;\nexport var n: u16 = 0;\n"
                                     f"task main() void {{\n{loops}}}\n"
                                     "comptime {\n"
                                     "  @bind_local_task(main, @get_local_task_id(9));\n"
                                     "  @activate(@get_local_task_id(9));\n}\n")
    (tmp_path / "layout.csl").write_text("""
layout {
  @set_rectangle(10, 1);
  for (@range(u16, 10)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .x = x }); }
}
""")
    harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path)
    lines = harness.emu(tmp_path / "p.bin", engine, "--max-cycles=5000",
                        expect=4).err.splitlines()
    shown = [line for line in lines if "has not ended" in line]
    assert [line.split()[0] for line in shown] == [f"P{x}.0" for x in range(len(shown))]
    assert f"  and {10 - len(shown)} more places" in lines and len(shown) < 10


def test_tasks_that_activate_each_other_are_named(tmp_path, engine):
    program = program_of(tmp_path, """
export var n: u16 = 0;
const there = @get_local_task_id(9);
const back = @get_local_task_id(10);
task go() void { n += 1; @activate(back); }
task come() void { @activate(there); }
comptime {
  @bind_local_task(go, there);
  @bind_local_task(come, back);
  @activate(there);
}
""")
    lines = {harness.emu(program, engine, f"--max-cycles={limit}", expect=4).err.splitlines()[1]
             for limit in range(5000, 5020)}
    said = "\n".join(sorted(lines))
    assert "task 9 'go') has not ended" in said and "task 10 'come' is about to start" in said
    assert re.search(r"'come'\) has not ended at \S+:6, activated at \S+:5", said), said
    assert re.search(r"'go' is about to start, activated at \S+:6", said), said


def test_a_receive_that_never_completes_ends_with_exit_3(tmp_path, engine):
    program = program_of(tmp_path, """
export var n: u16 = 0;
const in = @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(5), .extent = 2,
                                  .input_queue = @get_input_queue(3) });
var data = @zeros([2]u32);
const data_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> data[i] });
task main() void {
  @mov32(data_dsd, in);
}
""" + MAIN, """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @set_color_config(0, 0, @get_color(5), .{ .routes = .{ .rx = .{ NORTH }, .tx = .{ RAMP } } });
  @export_name("n", u16, true);
}
""")
    ran = harness.emu(program, engine, expect=3)
    assert "deadlock" in ran.err and "P0.0" in ran.err and "pe.csl:8" in ran.err

BLOCKED = """
export var n: u16 = 0;
const first = @get_local_task_id(9);
const second = @get_local_task_id(10);
task one() void {
  n += 1;
}
task two() void {
  n += 10;
}
task main() void {
  @block(first);
  @activate(first);
  @activate(second);
  @activate(second);
}
comptime {
  @bind_local_task(one, first);
  @bind_local_task(two, second);
}
"""


def test_a_deadlock_names_blocked_tasks_and_lost_activations(tmp_path, engine):
    program = program_of(tmp_path, BLOCKED + MAIN, """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("n", u16, true);
}
""")
    ran = harness.emu(program, engine, "--print=n", expect=3)
    assert "local task 9 'one' is activated, but blocked" in ran.err
    assert "local task 10 'two' was activated again before it had started" in ran.err


# ---- mistakes -----------------------------------------------------------------------------------------------

MISTAKES = (
    ("option_unknown", ["--fast"]),
    ("option_value_missing", ["--h2d"]),
    ("option_argument", ["--threads=none"]),
    ("option_argument", ["--max-cycles=0"]),
    ("option_argument", ["--check=maybe"]),
    ("option_argument", ["--check=warn,strict"]),
    ("option_argument", ["--check=off,memory"]),
    ("option_argument", ["--check=tasks,off"]),
    ("option_argument", ["--trace-region=1,2,3"]),
    ("option_argument", ["--trace-cycles=9:3"]),
    ("option_argument", ["--trace-format=json"]),
    ("unknown_engine", ["--engine=slow"]),
    ("unknown_trace_kind", ["--trace=task,wave"]),
    ("program_twice", ["second.bin"]),
    ("output_unwritable", ["--trace", "--trace-file=/nonexistent/t"]),
    ("output_unwritable", ["--stats=/nonexistent/s.json"]),
    ("output_unwritable", ["--d2h=w@0,0,1,1=/nonexistent/w.npy"]),
    ("action_syntax", ["--h2d=w"]),
    ("action_syntax", ["--h2d=w@0,0=1"]),
    ("action_syntax", ["--d2h=w=w.txt"]),
    ("action_syntax", ["--print=w=1"]),
    ("action_syntax", ["--print=v:many"]),
    ("action_syntax", ["--launch=start(1"]),
    ("symbol_unknown", ["--print=vv"]),
    ("symbol_is_function", ["--print=start"]),
    ("symbol_is_data", ["--launch=w"]),
    ("symbol_nowhere", ["--print=nothing"]),
    ("symbol_nowhere", ["--launch=never"]),
    ("region_lacks_symbol", ["--print=w@2,0,1,2"]),
    ("tile_lacks_symbol", ["--h2d=w=1,2,3,4,5,6"]),
    ("region_outside", ["--print=w@1,1,2,2"]),
    ("region_outside", ["--trace", "--trace-region=0,0,4,1"]),
    ("extent_unknown", ["--print=loose"]),
    ("extent_exceeded", ["--h2d=v@0,0,1,1=1,2,3,4,5"]),
    ("elements_uneven", ["--h2d=w@0,0,2,1=1,2,3"]),
    ("elements_too_many", ["--print=v:60000"]),
    ("elements_too_many", ["--h2d=loose@0,0,1,1=" + "1," * 49152 + "1"]),
    ("memory_outside", ["--print=h:24576@0,0,1,1"]),
    ("argument_count", ["--launch=start(1)"]),
    ("argument_count", ["--launch=again(1)"]),
    ("value_bad", ["--launch=start(1.5, 2)"]),
    ("value_bad", ["--h2d=w@0,0,1,1=32768"]),
    ("value_bad", ["--h2d=u@0,0,1,1=-1"]),
    ("value_bad", ["--h2d=v@0,0,1,1=1,,2"]),
    ("value_bad", ["--h2d=v@0,0,1,1=1,-1e39"]),
    ("value_bad", ["--h2d=v@0,0,1,1=1e400,1"]),
    ("array_unreadable", ["--h2d=v@0,0,1,1=/nonexistent/v.npy"]),
)


@pytest.mark.parametrize("flags", [[], ["--memcpy", "--channels=1", "--fabric-dims=9,3",
                                        "--fabric-offsets=4,1"]], ids=["direct", "memcpy"])
def test_elements_of_64_bits(tmp_path, flags):
    (tmp_path / "l.csl").write_text("""
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
  }
  @export_name("v", [*]i64, true);
  @export_name("n", u64, true);
}
""")
    (tmp_path / "pe.csl").write_text("""
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var v = @zeros([3]i64);
var p: [*]i64 = &v;
var n: u64 = 5;
comptime { @export_symbol(p, "v"); @export_symbol(n); }
""")
    harness.cslc(*flags, "l.csl", "-o", "p.bin", cwd=tmp_path)
    image = tmp_path / "p.bin"
    ran = harness.emu(image, "--h2d=v=1,2,3,4,5,-6", "--h2d=n@0,0,1,1=9999999999", "--print=v",
                      "--print=n")
    assert ran.out == "v@0,0: 1 2 3\nv@1,0: 4 5 -6\nn@0,0: 9999999999\nn@1,0: 5\n"
    given = numpy.arange(6, dtype=numpy.int64) << 33
    numpy.save(tmp_path / "a.npy", given)
    harness.emu(image, f"--h2d=v={tmp_path}/a.npy", f"--d2h=v={tmp_path}/b.npy")
    back = numpy.load(tmp_path / "b.npy")
    assert back.dtype == numpy.int64 and (back == given.reshape(1, 2, 3)).all()
    assert "[extent_exceeded]" in harness.emu(image, "--h2d=n@0,0,1,1=1,2", expect=1).err


@pytest.mark.parametrize("given, near", [("--lanuch=go", "--launch"), ("--trace-files=t", "--trace-file"),
                                         ("-threads=2", "--threads"), ("--fast", None)])
def test_an_unknown_option_comes_with_the_nearest_one(given, near):
    said = harness.emu("no.bin", given, expect=1).err
    assert f"wse-emu has no option '{given}'" in said
    assert re.findall("did you mean '(.*)'", said) == ([near] if near else []), "option_nearest"


def test_the_beginning_of_several_options_comes_with_them():
    said = harness.emu("no.bin", "--save", expect=1).err
    assert said.endswith("note: several options begin so: --save-state, --save-every\n"), \
        "options_begin_so"


@pytest.mark.parametrize("name, arguments", MISTAKES,
                         ids=[f"{n}-{i}" for i, (n, _) in enumerate(MISTAKES)])
def test_a_mistake_has_its_message(image, name, arguments):
    ran = harness.emu(image, *arguments, expect=1)
    assert f"[{name}]" in ran.err and ran.err.startswith("error: ")
    assert ran.out == "" or name == "output_unwritable"


@pytest.mark.parametrize("arguments, note", [       # value_forms, elements_region
    ("--h2d=w@0,0,1,1=32768", "i16 takes -32768 to 32767, decimal or with 0x"),
    ("--h2d=v@0,0,1,1=1,x", "f32 takes a number in its range, inf or nan"),
    ("--launch=start(1.5, 2)", "takes -"),
    ("--h2d=w@0,0,2,1=1,2,3", "a region names fewer tiles, as in w@0,0,1,1")])
def test_a_bad_value_comes_with_those_that_fit(image, arguments, note):
    assert "\nnote: " in (said := harness.emu(image, arguments, expect=1).err) and note in said


def test_minus_0_is_a_number_without_a_sign_too(image):
    assert harness.emu(image, "--h2d=u@0,0,1,1=-0", "--print=u@0,0,1,1").out == "u@0,0: 0\n"


def test_no_program():
    assert "[program_missing]" in harness.emu("--run", expect=1).err


def test_names_are_suggested(image):
    # notes symbol_nearest and symbols_exported
    assert "did you mean 'start'?" in harness.emu(image, "--launch=stat", expect=1).err
    assert "it exports v, w, u" in harness.emu(image, "--print=entirely_else", expect=1).err


def test_what_is_not_exported_is_shown_how_to_export(image):
    said = harness.emu(image, "--launch=compute_all", expect=1).err        # note export_form
    assert "'@export_symbol(compute_all)'" in said and "'@export_name(\"compute_all\", TYPE)'" in said
    assert "@export_symbol" not in harness.emu(image, "--launch=stat", expect=1).err


def test_images_that_are_none(tmp_path):
    (tmp_path / "text.bin").write_text("no image")
    assert "[image_unreadable]" in harness.emu(tmp_path / "text.bin", expect=1).err
    said = harness.emu(tmp_path / "absent.bin", expect=1).err
    assert "[image_unreadable]" in said, "with image_missing"
    assert re.search(r"note: the compiler writes it: 'cslc LAYOUT\.csl -o \S+absent\.bin'", said)
    (tmp_path / "layout.csl").write_text("layout {}")
    said = harness.emu(tmp_path / "layout.csl", expect=1).err
    assert "[image_unreadable]" in said, "with image_is_source"
    assert re.search(r"'cslc \S+layout\.csl -o prog\.bin' makes the image", said)
    said = harness.emu(tmp_path, expect=1).err
    assert "[image_unreadable]" in said and f"-o {tmp_path}'" in said
    assert "note:" not in harness.emu(tmp_path / "text.bin", expect=1).err


ARRAYS = (
    (lambda path: path.write_bytes(b"PK\x03\x04"), "array_unreadable", "no .npy file"),
    (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\xff\xff{}" + b" " * 50),
     "array_unreadable", "header's length"),
    (lambda path: numpy.save(path, numpy.zeros(4, numpy.float64)), "array_unreadable", "astype"),
    (lambda path: numpy.save(path, numpy.zeros(4, ">f4")), "array_unreadable", "big-endian"),
    (lambda path: numpy.save(path, numpy.zeros(4, numpy.int32)), "array_type", "has elements of type i4; 'v' takes f4"),
    (lambda path: numpy.save(path, numpy.zeros(4, numpy.float16)), "array_type", "f2"),
    (lambda path: numpy.save(path, numpy.zeros((0, 4), "f4")), "array_empty", "no elements"),
    (lambda path: (numpy.save(path, numpy.zeros(4, numpy.float32)),
                   path.write_bytes(path.read_bytes()[:-1])), "array_unreadable", "as long as"),
)


@pytest.mark.parametrize("make, name, words", ARRAYS, ids=[str(i) for i in range(len(ARRAYS))])
def test_bad_arrays(image, tmp_path, make, name, words):
    make(tmp_path / "a.npy")
    ran = harness.emu(image, f"--h2d=v@0,0,1,1={tmp_path}/a.npy", expect=1)
    assert f"[{name}]" in ran.err and words in ran.err


@pytest.mark.parametrize("type_name, value, number", [("u1", 2, "2"), ("i1", -1, "-1")])
def test_an_array_for_bools_has_0_and_1(image, tmp_path, type_name, value, number):
    for wrong in (False, True):
        given = numpy.array([[1, 0], [0, value if wrong else 1]], type_name)
        numpy.save(tmp_path / "a.npy", given)
        ran = harness.emu(image, f"--h2d=flag@0,0,2,2={tmp_path}/a.npy", "--print=flag",
                          expect=int(wrong))
        if wrong:
            assert f"'{number}' is no value of type bool" in ran.err and "true, false" in ran.err
        else:
            assert ran.out == "flag@0,0: 1\nflag@1,0: 0\nflag@0,1: 0\nflag@1,1: 1\n"


def test_an_array_has_as_many_dimensions_as_numpy_allows(image, tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.arange(4, dtype="f4").reshape((1,) * 31 + (4,)))
    ran = harness.emu(image, f"--h2d=v@0,0,1,1={tmp_path}/a.npy", "--print=v@0,0,1,1")
    assert ran.out == "v@0,0: 0 1 2 3\n"


def test_no_prefix_of_an_array_file_is_taken(image, tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.zeros(4, numpy.float32))
    whole = (tmp_path / "a.npy").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "b.npy").write_bytes(whole[:length])
        harness.emu(image, f"--h2d=v@0,0,1,1={tmp_path}/b.npy", expect=1)


def test_a_warning_is_given_once(tmp_path):
    (tmp_path / "pe.csl").write_text("""
const c = @get_color(1);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1,
                                    .output_queue = @get_output_queue(2) });
var sent: u16 = 0;
task main() void { @mov32(out, 5); sent = 1; }
comptime {
  @set_local_color_config(c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  @initialize_queue(@get_input_queue(2), .{ .color = c });
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
  @export_symbol(sent);
}
""")
    harness.cslc("pe.csl", "-o", "p.bin", cwd=tmp_path)
    ran = harness.emu("p.bin", "--print=sent", cwd=tmp_path)
    assert ran.err.count("the fabric is quiet with work left undone") == 1


SENDS_AND_TAKES = """
param n: u16 = 0;                 // of elements that launches of `more` take
const c = @get_color(1);
const in_queue = @get_input_queue(2);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 3,
                                    .output_queue = @get_output_queue(2) });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 1, .input_queue = in_queue });
var taken = @zeros([3]u16);
const memory = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> taken[i] });
fn send() void { @mov16(out, 7); @mov16(memory, in); }
fn more() void { @mov16(@set_dsd_length(memory, n), @set_dsd_length(in, n)); }
comptime {
  @set_local_color_config(c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  @initialize_queue(in_queue, .{ .color = c });
  @export_symbol(send);
  @export_symbol(more);
}
"""


@pytest.mark.parametrize("n, left", [(2, 0), (1, 1)])
def test_what_a_later_launch_may_take_is_no_warning(tmp_path, n, left):
    (tmp_path / "pe.csl").write_text(SENDS_AND_TAKES)
    harness.cslc("pe.csl", f"--params=n:{n}", "-o", "p.bin", cwd=tmp_path)
    for engine in ("fast", "reference"):
        ran = harness.emu("p.bin", "--launch=send", "--launch=more", f"--engine={engine}",
                          cwd=tmp_path)
        assert ran.err.count("work left undone") == (left > 0)
        assert not left or f"holds {left} wavelet" in ran.err


def test_a_color_has_the_name_of_its_declaration(tmp_path):
    (tmp_path / "pe.csl").write_text("""
const row = @get_color(1);
const queue = @get_input_queue(2);
var word: u32;
fn from(comptime c: color, comptime q: input_queue) fabin_dsd {
  return @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 1, .input_queue = q });
}
fn take() void { @mov32(&word, comptime from(row, queue)); }
comptime {
  @set_local_color_config(row, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  @initialize_queue(queue, .{ .color = row });
  @export_symbol(take);
}
""")
    harness.cslc("pe.csl", "-o", "p.bin", cwd=tmp_path)
    ran = harness.emu("p.bin", "--launch=take", expect=3, cwd=tmp_path)
    assert "color 1 'row'" in ran.err and "'c'" not in ran.err


def test_a_color_that_only_a_helper_names_has_the_name_of_its_declaration(tmp_path):
    (tmp_path / "pe.csl").write_text("""
const row = @get_color(1);
const queue = @get_output_queue(2);
fn to(comptime c: color) fabout_dsd {
  return @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 100, .output_queue = queue });
}
fn routes(comptime c: color) void {
  @set_local_color_config(c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
}
fn send() void { @mov32(to(row), @as(u32, 1)); }
comptime {
  routes(row);
  @export_symbol(send);
}
""")
    harness.cslc("pe.csl", "-o", "p.bin", cwd=tmp_path)
    ran = harness.emu("p.bin", "--launch=send", expect=3, cwd=tmp_path)
    assert "color 1 'row'" in ran.err and "'c'" not in ran.err


def test_print_of_arrays_of_different_lengths(tmp_path):
    (tmp_path / "l.csl").write_text("""
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .n = 2 * x + 2 }); }
  @export_name("v", [*]i16, true);
}
""")
    (tmp_path / "pe.csl").write_text("""
param n: u16;
var v = @constants([n]i16, 7);
var p: [*]i16 = &v;
comptime { @export_symbol(p, "v"); }
""")
    harness.cslc("l.csl", "-o", "p.bin", cwd=tmp_path)
    image = tmp_path / "p.bin"
    assert harness.emu(image, "--print=v").out == "v@0,0: 7 7\nv@1,0: 7 7 7 7\n"
    assert harness.emu(image, "--print=v:1").out == "v@0,0: 7\nv@1,0: 7\n"
    assert "read_too_long" not in harness.emu(image, "--print=v", "--print=v:2").err
    beyond = harness.emu(image, "--print=v:3").err
    assert "warning: 6 bytes are read from 'v' of tile 0,0, whose variable has 4 bytes" in beyond
    assert beyond.count("[read_too_long]") == 1       # the other tile has them
    assert harness.emu(image, "--print=v:5").err.count("[read_too_long]") == 1

RING_LAYOUT = """
param at: u16;
layout { @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .at = at });
  @set_tile_code(1, 0, "sink.csl", .{});
  @set_color_config(0, 0, @get_color(1), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, @get_color(1), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
}
"""

RING_SENDER = """
param at: u16;
export var buf = @zeros([40]u16);
const src = @get_dsr(dsr_src1, 2);
const out = @get_dsr(dsr_dest, 2);
task main() void {
  @mov16(out, src, .{ .async = true });
  @mov16(@get_dsd(mem1d_dsd, .{ .base_address = &buf, .extent = 2, .offset = at }), 7);
}
comptime {
  @load_to_dsr_xdsr(src, @get_xdsr(1), @get_dsd(circbuf_dsd, .{
    .base_address = &buf, .extent = 20, .wraparound = 40 }), .{ .save_address = true });
  @load_to_dsr(out, @get_dsd(fabout_dsd, .{ .fabric_color = @get_color(1), .extent = 20,
    .output_queue = @get_output_queue(2) }), .{ .async = true });
  @bind_local_task(main, @get_local_task_id(10));
  @activate(@get_local_task_id(10));
}
"""

RING_SINK = """
var got = @zeros([20]u16);
task main() void {
  @mov16(@get_dsd(mem1d_dsd, .{ .base_address = &got, .extent = 20 }), @get_dsd(fabin_dsd, .{
    .fabric_color = @get_color(1), .extent = 20, .input_queue = @get_input_queue(2) }), .{});
}
comptime {
  @initialize_queue(@get_input_queue(2), .{ .color = @get_color(1) });
  @bind_local_task(main, @get_local_task_id(10));
  @activate(@get_local_task_id(10));
}
"""


@pytest.mark.parametrize("at, races", [(10, True), (19, True), (20, False), (30, False)])
def test_a_write_beside_a_walk_round_a_buffer(tmp_path, at, races):
    """The first half of a buffer of 40 words is on its way: only a write there disturbs it."""
    for name, text in (("layout", RING_LAYOUT), ("pe", RING_SENDER), ("sink", RING_SINK)):
        (tmp_path / f"{name}.csl").write_text(text)
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", params={"at": at})
    ran = harness.emu(tmp_path / "o.bin", "--check=error,memory", expect=2 if races else 0)
    assert ("[WRITE_RACE]" in ran.err) == races


@pytest.mark.parametrize("behind, note", [
    (";  // the host sends four ", "the host sends four"), (";", None), (" ;//no blank", None),
    (";  //! guilty", None), (";\n  // of the next line", None), (";  //  ", None),
    ("; k = 1;  // of another statement", None)])
def test_a_failed_assertion_shows_the_comment_behind_it(tmp_path, engine, behind, note):
    program = program_of(tmp_path, "export var n: u16 = 0;\nvar k: u16 = 3;\ntask main() void {\n"
                         f"  @assert(k == 4){behind}\n}}\n" + MAIN)
    lines = harness.emu(program, engine, expect=2).err.splitlines()
    assert [line for line in lines if "note" in line] == ([f"  note: {note}"] if note else []), lines


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_a_failed_assertion_shows_its_condition(tmp_path, level):
    """As the source has it, however it is written; a call in it has another place."""
    (tmp_path / "a.csl").write_text("""
layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "a.csl", .{}); }
var k: u16 = 4;
noinline fn twice(x: u16) u16 { return x * 2; }
task main() void {
  @assert (  (twice(k) + 1 < 3) or
             ( k == 0 )  );
}
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
""")
    image = tmp_path / "a.bin"
    harness.compile(tmp_path / "a.csl", image, level, "--arch=wse3")
    err = harness.emu(image, expect=2).err
    assert "P0.0: assertion failed: (twice(k) + 1 < 3) or ( k == 0 ) [ASSERT]" in err, err
    assert "a.csl:6" in err
