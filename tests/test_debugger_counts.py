"""wse-dbg stops at an instruction as often as the trace has it issued: beside microthreads, and
beside operations of the main thread."""
import re
from collections import Counter

import pytest

import harness
from test_debugger import line_of

LAYOUT = """
const around = @get_color(1);
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .x = x, .around = around });
    @set_color_config(x, 0, around, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ RAMP } } });
  }
}
"""

# While tasks run, microthreads move 200 words; `rows` has operations without a gap between them.
PE = """
param x: u16;
param around: color;
var words = @zeros([200]u32);
var back = @zeros([200]u32);
var a = @zeros([40]f16);
var b = @zeros([10]f16);
var factors = @zeros([3]f16);
var turns: u16 = 0;
const out_queue = @get_output_queue(2);
const in_queue = @get_input_queue(3);
const all_words = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{200} -> words[i] });
const all_back = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{200} -> back[i] });
const some_a = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{10} -> a[i] });
const all_b = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{10} -> b[i] });
const out = @get_dsd(fabout_dsd, .{
  .fabric_color = around, .extent = 200, .output_queue = out_queue });
const in = @get_dsd(fabin_dsd, .{
  .fabric_color = around, .extent = 200, .input_queue = in_queue });
const to = @get_dsr(dsr_dest, 1);
const sum = @get_dsr(dsr_src0, 1);
const from = @get_dsr(dsr_src1, 1);
const main_id = @get_local_task_id(8);
const turn_id = @get_local_task_id(9);
const rows_id = @get_local_task_id(10);

task main() void {
  @mov32(out, all_words, .{ .async = true });
  @mov32(all_back, in, .{ .async = true, .activate = rows_id });
  @activate(turn_id);
}
task turn() void {
  turns += 1;
  factors[0] = factors[0] / 3.0;
  if (turns < 3 + x) { @activate(turn_id); }
}
task rows() void {
  @load_to_dsr(to, all_b);
  @load_to_dsr(sum, all_b);
  @load_to_dsr(from, some_a, .{ .save_address = true });
  @fmach(to, sum, from, factors[0]);
  @fmach(to, sum, from, factors[1]);
  @fmach(to, sum, from, factors[2]);
  turns = 0;
}
comptime {
  @bind_local_task(main, main_id);
  @bind_local_task(turn, turn_id);
  @bind_local_task(rows, rows_id);
  @activate(main_id);
  @initialize_queue(in_queue, .{ .color = around });
  if (@is_arch("wse3")) { @initialize_queue(out_queue, .{ .color = around }); }
}
"""


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PE)
    harness.compile(folder / "layout.csl", folder / "p.bin", request.param)
    return folder / "p.bin"


def debug(program, engine, *commands):
    script = program.parent / "script"
    script.write_text("\n".join(commands) + "\n")
    return harness.run([harness.tool("wse-dbg"), program, engine, "-x", script]).out


def issued(program):
    """How often each tile issues the instruction at each address.  The debugger begins where those
    of cycle 0 are about to issue."""
    trace = harness.emu(program, "--trace=inst").out
    issues = re.findall(r"^@(\d+) P(\d+)\.(\d+) inst issue (0x\w+)", trace, re.M)
    return Counter(f"*{pc} @{x},{y}" for cycle, x, y, pc in issues if cycle != "0")


@pytest.mark.parametrize("engine", ["--engine=fast", "--engine=reference"])
def test_a_breakpoint_has_as_many_hits_as_the_trace_has_issues(program, engine):
    counts = issued(program)
    assert max(counts.values()) > 3 and len(counts) > 30
    ignored = [f"ignore {number} 1000" for number in range(1, len(counts) + 1)]
    said = debug(program, engine, *(f"break {place}" for place in counts), *ignored, "continue",
                 "info breakpoints")
    hits = dict(re.findall(r"^\d+  breakpoint (.*), (\d+) hits", said, re.M))
    assert {place: int(n) for place, n in hits.items()} == counts


def test_lines_beside_an_operation_are_stopped_at_one_by_one(program):
    first, last = line_of("@fmach(to, sum, from, factors[0])", PE), line_of("turns = 0;", PE)
    said = debug(program, "--engine=fast", f"break {first} @1,0", "continue", "next", "next",
                 "next", "reverse-next", "reverse-next", f"goto {10**6}", "delete",
                 f"break {first} @1,0", "reverse-continue", "next 3", "print b[0]")
    lines = [int(n) for n in re.findall(r"P1\.0: rows at \S*pe.csl:(\d+)", said)]
    assert lines == [first, first + 1, first + 2, last, first + 2, first + 1, last, first,
                     last]
    assert re.search(rf"pe.csl:{first + 1}, beside its operation at \S*pe.csl:{first}$", said, re.M)


CALLS = """
param x: u16;
const math = @import_module("<math>");
var values = [6]f32{ 1.0, 4.0, 9.0, 16.0, 25.0, 36.0 };
var total: f32 = 0.0;
var count: u16 = 0;
var large: u16 = 0;
const main_id = @get_local_task_id(8);
const next_id = @get_local_task_id(9);
fn root(v: f32) f32 {
  return math.sqrt(v);
}
fn bump(n: u16) void {
  count += n;
  if (count > 3) {
    large = count;
  }
}
task main() void {
  for (@range(u16, 6)) |i| {
    total += root(values[i]);
    bump(x + 1);
  }
  @activate(next_id);
}
task next() void {
  bump(1);
  count += 1;
  if (count < 20) { @activate(next_id); }
}
comptime {
  @bind_local_task(main, main_id);
  @bind_local_task(next, next_id);
  @activate(main_id);
}
"""
CALL_LAYOUT = """
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .x = x }); }
}
"""


@pytest.fixture(scope="module", params=["-O0", "-O1", "-O2"])
def calls(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    (folder / "layout.csl").write_text(CALL_LAYOUT)
    (folder / "pe.csl").write_text(CALLS)
    harness.compile(folder / "layout.csl", folder / "p.bin", request.param)
    return folder / "p.bin"


# How often tile 0 and tile 1 come to the place: 6 turns each, then `next` until count is 20.
PLACES = (("pe.csl:{}", "total += root", 6, 6), ("pe.csl:{}", "bump(x + 1)", 6, 6),
          ("pe.csl:{}", "bump(1)", 7, 4), ("pe.csl:{}", "return math.sqrt", 6, 6),
          ("root", "", 6, 6), ("sqrt", "", 6, 6), ("bump", "", 13, 10),
          ("pe.csl:{}", "if (count > 3)", 13, 10))


def test_a_line_or_function_stops_as_often_where_calls_are_inlined(calls):
    places = [place.format(line_of(text, CALLS)) if text else place for place, text, *_ in PLACES]
    said = debug(calls, "--engine=fast",
                 *(f"break {place} @{x},0" for place in places for x in range(2)),
                 *(f"ignore {number} 1000" for number in range(1, 2 * len(places) + 1)),
                 "continue", "info breakpoints")
    hits = [int(n) for n in re.findall(r"^\d+  breakpoint .*, (\d+) hits", said, re.M)]
    assert list(zip(hits[::2], hits[1::2])) == [counts[2:] for counts in PLACES]


def test_a_stop_at_a_line_is_in_the_frame_of_the_line(calls):
    line = line_of("bump(x + 1)", CALLS)
    said = debug(calls, "--engine=fast", f"break {line} @1,0 if i == 2", "continue", "print i",
                 "next", "print i", "print count")
    assert said.count("breakpoint 1, ") == 1
    assert f"P1.0: main at {calls.parent}/pe.csl:{line}" in said
    assert re.findall(r"^i = (\d)", said, re.M)[0] == "2"
    assert re.search(rf"\(wse-dbg\) next\ncycle \d+, P1.0: main at \S*:{line - 2}$", said, re.M)
    assert "count = 6" in said
    said = debug(calls, "--engine=fast", f"break {line} @1,0", "continue", "step", "finish")
    assert re.search(r"\(wse-dbg\) step\ncycle \d+, P1.0: bump at .*\n", said)
    assert re.search(r"\(wse-dbg\) finish\ncycle \d+, P1.0: main at .*\n", said)


def test_a_stop_at_a_task_is_in_the_frame_of_the_task(calls):
    line = line_of("bump(1)", CALLS)
    said = debug(calls, "--engine=fast", "break task next @1,0", "continue", "next")
    assert re.search(rf"^breakpoint 1, cycle \d+, P1.0: next at \S*pe.csl:{line}$", said, re.M)
    assert re.search(rf"next\ncycle \d+, P1.0: next at \S*pe.csl:{line + 1}$", said, re.M)


def test_a_line_without_code_names_the_one_that_is_taken(calls):
    line = line_of("}\n  @activate(next_id);", CALLS)
    said = debug(calls, "--engine=fast", f"break {line}")
    assert f"breakpoint 1: {line}, at line {line + 1}, the next one with code" in said


def test_a_stop_names_the_other_tiles_and_breakpoints_of_its_cycle(calls):
    line = line_of("return math.sqrt", CALLS)
    said = debug(calls, "--engine=fast", "break task main", "break root", f"break {line} @1,0",
                 "tbreak root", "continue", "tile 1,0", "continue", "continue", "tile 1,0",
                 "reverse-continue", "info breakpoints")
    assert re.search(r"\nbreakpoint 1, cycle \d+, P0.0: .*\n  also breakpoint 1 at P1.0\n", said)
    both = re.findall(r"\nbreakpoint 2, (cycle \d+), P0.0: root .*\n"
                      r"  also breakpoint 4 at P0.0, P1.0\n  also breakpoint 2 at P1.0\n"
                      r"  also breakpoint 3 at P1.0\n", said)
    assert len(both) == 1
    back = said[said.index("reverse-continue"):]
    assert re.search(rf"breakpoint [23], {both[0]}, P1.0: root", back)
    assert "also breakpoint 2 at P0.0" in back and "4  breakpoint" not in back


def test_continue_and_its_reverse_count_stops(calls):
    cycles = []
    for commands in (["continue"] * 3, ["continue 3"], ["continue 5", "reverse-continue 2"]):
        said = debug(calls, "--engine=fast", "break root @1,0", *commands)
        cycles.append(re.findall(r"^breakpoint 1, cycle (\d+),", said, re.M)[-1])
    assert len(set(cycles)) == 1
    said = debug(calls, "--engine=fast", "break root @1,0", "continue 7", "info breakpoints")
    assert "the run is over" in said and "6 hits" in said


def test_several_steps_are_as_many_single_ones(calls):
    for step in ("step", "next"):
        places = []
        for commands in ([step] * 6, [f"{step} 6"], [f"{step} 4", f"{step} 2"]):
            said = debug(calls, "--engine=fast", "tbreak bump @1,0", "continue", *commands)
            places.append(said.splitlines()[-1])
        assert len(set(places)) == 1 and "P1.0: " in places[0]
