"""The counts of --stats are those of the trace: docs/emulator.md says which events count."""
import re
from collections import Counter

import pytest

import harness

LAYOUT = """
const data = @get_color(1);
const marks = @get_color(2);
layout {
  @set_rectangle(2, 1);
  const sends = .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } };
  const takes = .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } };
  @set_tile_code(0, 0, "left.csl", .{ .data = data, .marks = marks });
  @set_tile_code(1, 0, "right.csl", .{ .data = data, .marks = marks });
  @set_color_config(0, 0, data, sends);
  @set_color_config(1, 0, data, takes);
  @set_color_config(0, 0, marks, sends);
  @set_color_config(1, 0, marks, takes);
}
"""

# Operations of one or more groups and of none, with bank conflicts, into a register, beside which
# instructions issue, and that a full or empty FIFO ends.
LEFT = """
param data: color;
param marks: color;
const control = @import_module("<control>");
var a = @zeros([24]f32);
var b = @zeros([24]f32);
var c = @zeros([24]f32);
var count: u16 = 5;
var room = @zeros([6]u32);
var words = [9]u32{ 1, 2, 3, 4, 5, 6, 7, 8, 9 };
const fifo = @allocate_fifo(room);
const all_a = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{24} -> a[i] });
const all_b = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{24} -> b[i] });
const all_c = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{24} -> c[i] });
const all_words = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{9} -> words[i] });
const data_queue = @get_output_queue(2);
const marks_queue = @get_output_queue(3);
const out = @get_dsd(fabout_dsd, .{
  .fabric_color = data, .extent = 7, .output_queue = data_queue });
const mark = @get_dsd(fabout_dsd, .{
  .fabric_color = marks, .extent = 1, .output_queue = marks_queue, .control = true });
const plain = @get_dsd(fabout_dsd, .{
  .fabric_color = marks, .extent = 3, .output_queue = marks_queue });
const to = @get_dsr(dsr_dest, 1);
const from = @get_dsr(dsr_src1, 1);
const main_id = @get_local_task_id(8);
const later_id = @get_local_task_id(9);
const last_id = @get_local_task_id(10);

task main() void {
  @fadds(all_a, all_b, all_c);
  @fmacs(@set_dsd_length(all_a, count), all_a, all_b, 2.0);
  @fmovs(@set_dsd_length(all_c, count - 5), all_a);
  var x: f32 = 3.0;
  @fmovs(&x, @set_dsd_length(all_a, 1));
  a[count] = x / 2.0;
  if (@mov32(fifo, all_words)) { a[0] = 1.0; }
  if (@mov32(all_words, fifo)) { a[0] = 2.0; }
  @mov32(out, @set_dsd_length(all_words, 7), .{ .async = true, .activate = later_id });
}
task later() void {
  @mov32(plain, @set_dsd_length(all_words, 3));
  @mov32(mark, control.encode_control_task_payload({}));
  @mov32(plain, @set_dsd_length(all_words, 3));
  @mov32(fifo, @set_dsd_length(all_words, 5));
  @mov32(@set_dsd_length(out, 5), fifo, .{ .async = true, .activate = last_id });
}
task last() void {
  @mov32(plain, @set_dsd_length(all_words, 3));
  @mov32(mark, control.encode_control_task_payload({}));
  for (@range(i16, 5)) |i| { a[i] = @as(f32, i) * (if (i > 2) 1.0 else 2.0); }
  @load_to_dsr(to, all_a);
  @load_to_dsr(from, all_b);
  @fadds(to, from, c[0]);
  @fadds(to, from, c[1]);
  @fadds(to, from, c[2]);
}

comptime {
  @bind_local_task(main, main_id);
  @bind_local_task(later, later_id);
  @bind_local_task(last, last_id);
  @activate(main_id);
  if (@is_arch("wse3")) {
    @initialize_queue(data_queue, .{ .color = data });
    @initialize_queue(marks_queue, .{ .color = marks });
  }
}
"""

# A control wavelet ends an operation, and another one the data that @dfilt drops.
RIGHT = """
param data: color;
param marks: color;
var got = @zeros([12]u32);
var sums = @zeros([40]u32);
const data_queue = @get_input_queue(2);
const marks_queue = @get_input_queue(3);
const in = @get_dsd(fabin_dsd, .{
  .fabric_color = data, .extent = 12, .input_queue = data_queue });
const up_to_mark = @get_dsd(fabin_dsd, .{
  .fabric_color = marks, .extent = 40, .input_queue = marks_queue });
const all_got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{12} -> got[i] });
const all_sums = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{40} -> sums[i] });
const main_id = @get_local_task_id(8);
const marked_id = @get_local_task_id(9);

task main() void {
  @mov32(all_got, in, .{ .async = true });
  @mov32(all_sums, up_to_mark, .{ .on_control = .{ .activate = marked_id } });
}
task marked() void {
  @mov32(@set_dsd_length(all_sums, 1), @set_dsd_length(up_to_mark, 1));
  @mov32(@set_dsd_length(all_sums, 3), @set_dsd_length(up_to_mark, 3));
  @dfilt(@set_dsd_length(up_to_mark, 1), .{ .async = true });
}
comptime {
  @bind_local_task(main, main_id);
  @bind_local_task(marked, marked_id);
  @activate(main_id);
  @initialize_queue(data_queue, .{ .color = data });
  @initialize_queue(marks_queue, .{ .color = marks });
}
"""


class TileTrace:
    """What the lines of one tile say, in their order; background: the pcs of operations of
    microthreads."""

    def __init__(self, arch, background):
        self.background = background
        self.start_cycles = harness.timing("vector_start", arch)
        self.end_cycles = harness.timing("task_end_to_pick", arch)
        self.active, self.grouped = set(), None
        self.thread_cycles = self.beside = 0
        self.started = self.operation = None     # the task's first cycle; the main thread's pc

    def issue(self, cycle, pc, instruction):
        if self.started is None:
            self.started = cycle                 # what the compiler puts before the first task
        if self.operation is not None:
            self.beside += 1
            return
        self.active.add(cycle)
        if instruction == "endtask":
            self.thread_cycles += cycle + self.end_cycles - self.started
            self.started = None
        elif pc in self.background:
            self.thread_cycles += self.start_cycles
        elif instruction.startswith("vec."):
            self.operation = pc

    def take(self, cycle, kind, what, rest):
        in_background = len(rest) > 1 and rest[1].startswith("ut")
        if what == "issue":
            self.issue(cycle, rest[0], rest[1])
        elif what == "group":
            self.active.add(cycle)
            self.grouped = cycle
            self.thread_cycles += in_background
        elif what == "done":
            self.active.add(cycle)
            self.operation = self.operation if in_background else None
        elif kind == "wavelet":
            self.active.add(cycle)
        elif (what, rest[0]) == ("pop", "input") and self.grouped != cycle:
            self.active.add(cycle)               # by @dfilt: the programs have no data tasks
            self.thread_cycles += 1
        elif (kind, what) == ("task", "start"):
            self.started = cycle
        elif what == "waited":
            cause, cycles = rest[-3], int(rest[-2])
            if in_background:
                self.thread_cycles += cycles if cause == "bank" else 0
            else:
                self.thread_cycles -= 0 if cause == "bank" else cycles


def counts_of_trace(text, arch):
    """What --stats should say, as {name: count}.  Each instruction beside an operation takes one
    cycle."""
    lines = [re.match(r"@(\d+) (P\S+) (\w+) (\w+) (.*)", line) for line in text.splitlines()]
    background = {(m[1], m[2])
                  for m in re.finditer(r"^@\d+ (P\S+) \w+ \w+ (0x\w+) ut", text, re.M)}
    tiles, counts = {}, Counter()
    for m in lines:
        cycle, tile, kind, what, rest = int(m[1]), m[2], m[3], m[4], m[5].split()
        if tile not in tiles:
            tiles[tile] = TileTrace(arch, {pc for place, pc in background if place == tile})
        tiles[tile].take(cycle, kind, what, rest)
        counts[f"{kind} {what}"] += 1
        if what == "group":
            counts["elements"] += int(rest[-1])
        elif what == "waited":
            counts[f"stalls {rest[-3]}"] += int(rest[-2])
    return {"active_tile_cycles": sum(len(t.active) for t in tiles.values()),
            "trust": sum(t.thread_cycles + t.beside for t in tiles.values()),
            "beside": sum(t.beside for t in tiles.values()),
            "instructions": counts["inst issue"], "groups": counts["inst group"],
            "elements": counts["elements"], "tasks": counts["task start"],
            "stalls": {name.split()[1]: n for name, n in counts.items()
                       if name.startswith("stalls")}}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_statistics_count_what_the_trace_shows(tmp_path, arch, level):
    for name, text in (("layout", LAYOUT), ("left", LEFT), ("right", RIGHT)):
        (tmp_path / f"{name}.csl").write_text(text)
    program = tmp_path / "p.bin"
    harness.compile(tmp_path / "layout.csl", program, f"--arch={arch}", level)
    harness.emu(program, "--trace=all", f"--trace-file={tmp_path}/t")
    trace = (tmp_path / "t").read_text()
    counts = counts_of_trace(trace, arch)
    assert counts["beside"] == 2
    assert " by control" in trace and "vec.dfilt" in trace
    assert {"input", "bank"} <= set(counts["stalls"])
    for engine in ("fast", "reference"):
        harness.emu(program, f"--engine={engine}", f"--stats={tmp_path}/s.json")
        stats = harness.stats(tmp_path / "s.json")
        paid = [n for status, n in stats["trust"].items() if status != "assumed_share"]
        assert sum(paid) == counts["trust"]
        assert {cause: n for cause, n in stats["stalls"].items() if n} == counts["stalls"]
        for name in ("active_tile_cycles", "instructions", "groups", "elements", "tasks"):
            assert stats[name] == counts[name], name
