#!/usr/bin/python3
"""A killed run is brought back with nothing lost: kill -9 at 20 random moments of wse-emu, of one of
three processes under mpirun, and of a host script.  The end is prompt and says so, whatever file of
a state there is can be used, and the restart ends with the results, statistics and output of a run
without a kill."""
import json
import os
import random
import signal
import subprocess
import time

from claims import Claims, commit_seed, harness
import ranks_run

claims = Claims()
draw = random.Random(commit_seed())
MOMENTS = 20
# Three processes on two cores are slow, since they meet in each cycle of so few tiles.
ROUNDS = {"wse-emu": (45, 30, 15), "mpirun": (6, 4, 2), "script": (45, 30, 15)}
EVERY = {"wse-emu": 5000000, "mpirun": 500000, "script": 5000000}

(claims.scratch / "layout.csl").write_text("""
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
""")
(claims.scratch / "pe.csl").write_text("""
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
""")
(claims.scratch / "run.py").write_text("""
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
""")
image = claims.scratch / "p.bin"
harness.compile(claims.scratch / "layout.csl", image)
STATE, STATS = claims.scratch / "state", claims.scratch / "s.json"
def command_of(kind, options):
    """The command, and what it needs in its environment."""
    a, b, c = ROUNDS[kind]
    emu = [harness.tool("wse-emu"), image, f"--launch=main({a})", "--print=state:1",
           f"--launch=main({b})", f"--d2h=state:1={claims.scratch}/state.npy",
           f"--launch=main({c})", "--print=state:1", *options.split()]
    if kind == "mpirun":
        return ranks_run.command(3, *emu), ranks_run.ENVIRONMENT
    if kind == "script":
        return [harness.tool("cs_python"), "run.py", image, *ROUNDS[kind]], {"WSE_ARGS": options}
    return emu, {}


def saving(kind):
    return f"--save-state={STATE} --save-every={EVERY[kind]} --stats={STATS}"


def start(kind, options):
    command, env = command_of(kind, options)
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, cwd=claims.scratch, start_new_session=True,
                            env={**os.environ, **env})


def outcome(kind, options):
    process = start(kind, options)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    stats = {k: v for k, v in json.loads(STATS.read_text()).items() if k not in ranks_run.OWN_KEYS}
    array = claims.scratch / "state.npy"
    return out, stats, array.read_bytes() if kind != "script" else b""


def workers_of(process):
    """The emulator's processes under mpirun."""
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)],
                            capture_output=True, text=True).stdout.split("\n")
    return [int(line.split()[0]) for line in listed if "wse-emu" in line]


def kill_and_restart(kind, seconds, whole, tally):
    STATE.unlink(missing_ok=True)
    options = saving(kind)
    process = start(kind, options)
    time.sleep(draw.uniform(0.1, 0.85) * seconds)
    pids = workers_of(process) if kind == "mpirun" else [process.pid]
    if pids and process.poll() is None:
        os.kill(draw.choice(pids), signal.SIGKILL)
        tally["killed"] += 1
    begin = time.monotonic()
    _, err = process.communicate(timeout=60)
    tally["slowest"] = max(tally["slowest"], time.monotonic() - begin)
    tally["quiet"] += process.returncode == 0 or (kind == "mpirun" and not err.strip())
    if STATE.exists():
        options += f" --load-state={STATE}"
        tally["states"] += 1
    tally["different"] += outcome(kind, options) != whole


for kind in ("wse-emu", "mpirun", "script") if ranks_run.is_possible() else ("wse-emu", "script"):
    begin = time.monotonic()
    whole = outcome(kind, f"--stats={STATS}")
    seconds = time.monotonic() - begin
    begin = time.monotonic()
    claims.equals(f"{kind}: a run with states has the same outcome", outcome(kind, saving(kind)) == whole,
                  True)
    print(f"  {seconds:.2f} s without states, {time.monotonic() - begin:.2f} s with one every "
          f"{EVERY[kind]} cycles")
    tally = {"killed": 0, "slowest": 0.0, "quiet": 0, "states": 0, "different": 0}
    for _ in range(MOMENTS):
        kill_and_restart(kind, seconds, whole, tally)
    print(f"  {tally['states']} of {MOMENTS} had written a state")
    claims.at_least(f"{kind}: killed", tally["killed"], MOMENTS - 4)
    claims.equals(f"{kind}: exit code 0, or no message of mpirun, after that",
                  tally["quiet"] - (MOMENTS - tally["killed"]), 0)
    claims.at_most(f"{kind}: the slowest end", tally["slowest"], 10.0, "s")
    claims.at_least(f"{kind}: restarts from a state", tally["states"], MOMENTS // 2)
    claims.equals(f"{kind}: restarts with another outcome", tally["different"], 0)
claims.finish()
