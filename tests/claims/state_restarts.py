#!/usr/bin/python3
"""A killed run is brought back with nothing lost: kill -9 at 20 random moments of wse-emu, of one of
three processes under mpirun, and of a host script.  The end is prompt and says so, whatever file of
a state there is can be used, and the restart ends with the results, statistics and output of a run
without a kill.

Short form: test_states.py::test_a_killed_run_goes_on_from_its_state.
"""
import json
import os
import random
import signal
import subprocess
import time

from claims import Claims, commit_seed, harness
import ranks_run

MOMENTS = 20
# Three processes on two cores are slow, since they meet in each cycle of so few tiles.
ROUNDS = {"wse-emu": (45, 30, 15), "mpirun": (6, 4, 2), "script": (45, 30, 15)}
EVERY = {"wse-emu": 5000000, "mpirun": 500000, "script": 5000000}
FILES = {"layout.csl": """
const ring = @get_color(0);
layout {
  @set_rectangle(2, 6);
  for (@range(u16, 6)) |y| {
    for (@range(u16, 2)) |x| { @set_tile_code(x, y, "pe.csl", .{ .sends = x == 0 }); }
    @set_color_config(0, y, ring, .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } });
    @set_color_config(1, y, ring, .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } });
  }
  @export_name("main", fn(u16)void);
  @export_name("state", [*]u32, true);
}
""", "pe.csl": """
param sends: bool;
const ring = @get_color(0);
const to = @get_dsd(fabout_dsd, .{ .fabric_color = ring, .extent = 1,
                                   .output_queue = @get_output_queue(2) });
var state = @zeros([1]u32);
var state_ptr: [*]u32 = &state;
fn main(rounds: u16) void {
  if (!sends) { return; }
  for (@range(u16, rounds)) |r| {
    for (@range(u16, 30000)) |i| {
      state[0] = state[0] * 1664525 + 1013904223;
      if (i % 500 == 499) { @mov32(to, state[0]); }
    }
  }
}
task take(word: u32) void { state[0] ^= word; }
comptime {
  if (!sends) {
    if (@is_arch("wse3")) {
      @initialize_queue(@get_input_queue(2), .{ .color = ring });
      @bind_data_task(take, @get_data_task_id(@get_input_queue(2)));
    } else { @bind_data_task(take, @get_data_task_id(ring)); }
  } else if (@is_arch("wse3")) {
    @initialize_queue(@get_output_queue(2), .{ .color = ring });
  }
  @export_symbol(main);
  @export_symbol(state_ptr, "state");
}
""", "run.py": """
import sys
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime
r = SdkRuntime(sys.argv[1], memcpy_required=False)
r.load()
r.run()
for rounds in map(int, sys.argv[2:]):
    r.launch("main", np.uint16(rounds), nonblock=False)
    words = np.zeros(12, np.uint32)
    r.memcpy_d2h(words, r.get_id("state"), 0, 0, 2, 6, 1, streaming=False, nonblock=False,
                 order=MemcpyOrder.ROW_MAJOR, data_type=MemcpyDataType.MEMCPY_32BIT)
    print(words, flush=True)
r.stop()
"""}


class Runs:
    """Runs of the program, started in each of the ways of ROUNDS, by default as long as these say."""

    def __init__(self, folder, draw, rounds=None, every=None):
        self.folder, self.draw = folder, draw
        self.rounds, self.every = rounds or ROUNDS, every or EVERY
        for name, text in FILES.items():
            (folder / name).write_text(text)
        self.image, self.state, self.stats = folder / "p.bin", folder / "state", folder / "s.json"
        harness.compile(folder / "layout.csl", self.image)

    def command(self, kind, options):
        """The command, and what it needs in its environment."""
        a, b, c = self.rounds[kind]
        emu = [harness.tool("wse-emu"), self.image, f"--launch=main({a})", "--print=state:1",
               f"--launch=main({b})", f"--d2h=state:1={self.folder}/state.npy",
               f"--launch=main({c})", "--print=state:1", *options]
        if kind == "mpirun":
            return ranks_run.command(3, *emu), ranks_run.ENVIRONMENT
        if kind == "script":
            return ([harness.tool("cs_python"), "run.py", self.image, a, b, c],
                    {"WSE_ARGS": " ".join(options)})
        return emu, {}

    def saving(self, kind):
        return [f"--save-state={self.state}", f"--save-every={self.every[kind]}"]

    def start(self, kind, options):
        command, env = self.command(kind, [*options, f"--stats={self.stats}"])
        return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.PIPE, cwd=self.folder, start_new_session=True,
                                env={**os.environ, **env})

    def outcome(self, kind, options=()):
        process = self.start(kind, options)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        array = self.folder / "state.npy"
        return (out, ranks_run.stats_of(self.stats),
                array.read_bytes() if kind != "script" else b"")

    def wait_for_state(self, process):
        """Until there is one, or the run has ended: how long processes take to start depends on the
        machine."""
        while process.poll() is None and not self.state.exists():
            time.sleep(0.005)

    def kill_and_restart(self, kind, seconds, whole, tally, waits=None):
        """seconds: how long a run takes; whole: what it shows; waits: for the first state, before the
        kill, by default three times of four."""
        self.state.unlink(missing_ok=True)
        options = self.saving(kind)
        process = self.start(kind, options)
        if waits or (waits is None and self.draw.random() < 0.75):
            self.wait_for_state(process)
            time.sleep(self.draw.uniform(0, 0.3) * seconds)
        else:
            time.sleep(self.draw.uniform(0.1, 0.85) * seconds)
        pids = ranks_run.emulators_of(process.pid) if kind == "mpirun" else [process.pid]
        if pids and process.poll() is None:
            os.kill(self.draw.choice(pids), signal.SIGKILL)
            tally["killed"] += 1
        begin = time.monotonic()
        _, err = process.communicate(timeout=60)
        tally["slowest"] = max(tally["slowest"], time.monotonic() - begin)
        tally["quiet"] += process.returncode == 0 or (kind == "mpirun" and not err.strip())
        if self.state.exists():
            options.append(f"--load-state={self.state}")
            tally["states"] += 1
        tally["different"] += self.outcome(kind, options) != whole


def check(claims, runs, kind):
    begin = time.monotonic()
    whole = runs.outcome(kind)
    seconds = time.monotonic() - begin
    begin = time.monotonic()
    claims.equals(f"{kind}: a run with states has the same outcome",
                  runs.outcome(kind, runs.saving(kind)) == whole, True)
    print(f"  {seconds:.2f} s without states, {time.monotonic() - begin:.2f} s with one every "
          f"{runs.every[kind]} cycles")
    tally = {"killed": 0, "slowest": 0.0, "quiet": 0, "states": 0, "different": 0}
    for _ in range(MOMENTS):
        runs.kill_and_restart(kind, seconds, whole, tally)
    print(f"  {tally['states']} of {MOMENTS} had written a state")
    claims.at_least(f"{kind}: killed", tally["killed"], MOMENTS - 4)
    claims.equals(f"{kind}: exit code 0, or no message of mpirun, after that",
                  tally["quiet"] - (MOMENTS - tally["killed"]), 0)
    claims.at_most(f"{kind}: the slowest end", tally["slowest"], 10.0, "s")
    claims.at_least(f"{kind}: restarts from a state", tally["states"], MOMENTS // 2)
    claims.equals(f"{kind}: restarts with another outcome", tally["different"], 0)


def main():
    claims = Claims()
    runs = Runs(claims.scratch, random.Random(commit_seed()))
    for kind in ROUNDS:
        if kind != "mpirun" or ranks_run.is_possible():
            check(claims, runs, kind)
    claims.finish()


if __name__ == "__main__":
    main()
