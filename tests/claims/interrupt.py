#!/usr/bin/python3
"""Ctrl-C at 20 random moments of wse-emu and at 20 of a host script: the program ends within a
second, says where the tiles are, `finally` has run, and no file is half written.

Short form: test_host_run.py::test_a_signal_keeps_what_was_seen.
"""
import json
import os
import random
import re
import signal
import subprocess
import time

from claims import Claims, commit_seed, harness

claims = Claims()
draw = random.Random(commit_seed())
MOMENTS, MOST_WAIT, LEFT = 20, 1.0, re.compile(r"P\d\.0 main thread has not ended at \S*loop\.csl:\d")

(claims.scratch / "layout.csl").write_text("""
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "loop.csl", .{});
  @set_tile_code(1, 0, "loop.csl", .{});
  @export_name("main", fn()void);
}
""")
(claims.scratch / "loop.csl").write_text("""
var n: u32 = 0;
fn main() void { while (true) { n += 1; } }
comptime { @export_symbol(main); }
""")
(claims.scratch / "run.py").write_text("""
import sys
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
try:
    print("ready", flush=True)
    runner = SdkRuntime(sys.argv[1], memcpy_required=False)
    runner.load()
    runner.run()
    print("running", flush=True)
    runner.launch("main", nonblock=False)
    runner.stop()
finally:
    print("finally ran", flush=True)
""")
image = claims.scratch / "p.bin"
harness.compile(claims.scratch / "layout.csl", image)


def interrupt(command, line, env=None):
    """(seconds that the end took, exit code, output, errors); the moment counts from the line, or
    from the start."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, cwd=claims.scratch,
                               env={**os.environ, **(env or {})})
    if line:
        while process.stdout.readline() != line + "\n":
            assert process.poll() is None, process.stderr.read()
    time.sleep(draw.uniform(0.0 if line else 0.3, 1.5))
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return time.monotonic() - start, process.returncode, out, err


def is_whole(path):
    """The statistics are there, and say that the run was cut short."""
    return json.loads(path.read_text())["partial"]


slowest, bad = 0.0, 0
for _ in range(MOMENTS):
    stats = claims.scratch / "s.json"
    stats.unlink(missing_ok=True)
    seconds, code, _, err = interrupt(
        [harness.tool("wse-emu"), image, "--launch=main", f"--stats={stats}"], None)
    slowest = max(slowest, seconds)
    ok = code == 128 + signal.SIGINT and LEFT.search(err) and is_whole(stats)
    bad += not ok
    if not ok:
        print(code, err)
claims.equals(f"wse-emu, {MOMENTS} moments: no place, or statistics not whole", bad, 0)
claims.at_most("wse-emu: the slowest end", slowest, MOST_WAIT, "s")

slowest, bad = 0.0, 0
for number in range(MOMENTS):
    stats = claims.scratch / "t.json"
    stats.unlink(missing_ok=True)
    line = ("ready", "running")[number % 2]
    seconds, code, out, err = interrupt(
        [harness.tool("cs_python"), claims.scratch / "run.py", image], line,
        {"WSE_ARGS": f"--stats={stats}"})
    slowest = max(slowest, seconds)
    ok = code != 0 and "finally ran" in out and "KeyboardInterrupt" in err
    if "interrupted at cycle" in err:
        ok = ok and LEFT.search(err)
    if stats.exists():
        ok = ok and is_whole(stats)
    bad += not ok
    if not ok:
        print(line, code, out, err)
claims.equals(f"host script, {MOMENTS} moments: no finally, no place, or statistics not whole", bad,
              0)
claims.at_most("host script: the slowest end", slowest, MOST_WAIT, "s")
claims.finish()
