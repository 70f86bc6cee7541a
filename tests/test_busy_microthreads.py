"""Operations in the background that are started before the last one of their microthread has ended.

Random programs of a row of tiles: each sends words to the east and takes those from the west on two
channels, and waits for no end.  With --check=warn an operation for a busy microthread waits, so the
results follow from the order in the source alone: the k-th operation of a channel takes what lies
behind the words of the one before.
"""
import random

import numpy as np
import pytest

import harness

WORDS, FIRST = 20, 100
ASKED = ("--check=warn", "--print=results")
ENGINES = (["--engine=reference"], ["--engine=fast"], ["--engine=fast", "--threads=2"])
LAYOUT = """
param P: u16;
fn channel(x: u16, first: u16) void {
  const east = @get_color(first + x % 2);
  const west = @get_color(first + 1 - x % 2);
  if (x > 0)
    @set_color_config(x, 0, west, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  if (x < P - 1)
    @set_color_config(x, 0, east, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
}
layout {
  @set_rectangle(P, 1);
  for (@range(u16, P)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .x = x, .is_first = x == 0, .is_last = x == P - 1 });
    channel(x, 4);
    channel(x, 6);
  }
  @export_name("results", [*]u32, false);
}
"""
TILE = """
param x: u16;
param is_first: bool;
param is_last: bool;
const input = [2]input_queue{ @get_input_queue(%(iq0)d), @get_input_queue(%(iq1)d) };
const output = [2]output_queue{ @get_output_queue(%(oq0)d), @get_output_queue(%(oq1)d) };
const west = [2]color{ @get_color(5 - x %% 2), @get_color(7 - x %% 2) };
const east = [2]color{ @get_color(4 + x %% 2), @get_color(6 + x %% 2) };
var data = @zeros([20]u32);
var got = @zeros([40]u32);
const results: [*]u32 = &got;
var ends: u16 = 0;
var a = @zeros([20]f32);
var b = @zeros([20]f32);
const words = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{20} -> data[i] });
const taken = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{20} -> got[i] });
const da = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{%(length)d} -> a[i] });
const db = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{%(length)d} -> b[i] });

fn send(comptime channel: u16, comptime n: u16) void {
  if (is_last) return;
  const out = @get_dsd(fabout_dsd, .{
      .extent = n, .fabric_color = east[channel], .output_queue = output[channel] });
  @mov32(out, @set_dsd_length(words, n), .{ .async = true, .activate = ended });
}
fn take(comptime channel: u16, comptime n: u16) void {
  if (is_first) return;
  const in = @get_dsd(fabin_dsd, .{
      .extent = n, .fabric_color = west[channel], .input_queue = input[channel] });
  const to = @set_dsd_length(@increment_dsd_offset(taken, 20 * channel, u32), n);
  @mov32(to, in, .{ .async = true, .activate = ended });
}
task main() void {
  for (@range(u16, 20)) |i| { data[i] = 100 + i; }
%(begin)s
  @activate(@get_local_task_id(10));
}
task rest() void {
%(end)s
}
task ended() void { ends += 1; }
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @bind_local_task(ended, @get_local_task_id(9));
  @bind_local_task(rest, @get_local_task_id(10));
  @activate(@get_local_task_id(8));
  @export_symbol(results);
  for (@range(u16, 2)) |channel| {
    if (!is_first)
      @initialize_queue(input[channel], .{ .color = west[channel] });
    if (!is_last and @is_arch("wse3"))
      @initialize_queue(output[channel], .{ .color = east[channel] });
  }
}
"""
QUEUES = ((2, 2, 3, 3), (2, 3, 3, 2), (4, 2, 5, 3), (2, 4, 3, 5))       # iq0, oq0, iq1, oq1


class Program:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.tiles = rng.randint(2, 4)
        self.messages = [(rng.randint(0, 1), rng.randint(1, WORDS)) for _ in range(rng.randint(2, 7))]
        lines = []
        for channel, n in self.messages:
            calls = [f"  send({channel}, {n});", f"  take({channel}, {n});"]
            rng.shuffle(calls)
            for call in calls:
                lines.append(call)
                lines += rng.choice(([], [], ["  @fadds(da, da, db);"], ["  ends += 0;"]))
        cut = rng.randint(1, len(lines))
        self.fields = {"begin": "\n".join(lines[:cut]), "end": "\n".join(lines[cut:]),
                       "length": rng.choice((1, 7, WORDS)),
                       **dict(zip(("iq0", "oq0", "iq1", "oq1"), rng.choice(QUEUES)))}

    def compile(self, folder, *flags):
        (folder / "layout.csl").write_text(LAYOUT)
        (folder / "pe.csl").write_text(TILE % self.fields)
        harness.compile(folder / "layout.csl", folder / "p.bin", *flags, "--fabric-warnings",
                        params={"P": self.tiles})

    def taken(self):
        """What every tile but the first holds at the end."""
        got = np.zeros((2, WORDS))
        for channel, n in self.messages:
            got[channel, :n] = FIRST + np.arange(n)
        return got


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_results_and_cycles_of_programs_that_do_not_wait(tmp_path, arch):
    busy = 0
    for seed in range(1, 41):
        program = Program(seed)
        program.compile(tmp_path, f"--arch={arch}", f"-O{seed % 3}")
        runs = []
        for engine in ENGINES:
            ran = harness.emu(tmp_path / "p.bin", *engine, *ASKED, "--trace=all",
                              f"--trace-file={tmp_path / 'trace.txt'}")
            plain = harness.emu(tmp_path / "p.bin", *engine, *ASKED)
            assert (plain.out, plain.err) == (ran.out, ran.err), (seed, engine)
            runs.append((ran.out, ran.err, (tmp_path / "trace.txt").read_text()))
        assert runs[1] == runs[0] and runs[2] == runs[0], seed
        busy += "[MICROTHREAD_BUSY]" in runs[0][1]
        tiles = harness.values(runs[0][0], "results")
        for x in range(1, program.tiles):
            assert np.array_equal(tiles[x, 0], program.taken().ravel()), (seed, x)
    assert busy > 10
