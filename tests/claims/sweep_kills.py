#!/usr/bin/python3
"""A sweep that is killed at random moments loses nothing that it has measured.

A sweep of 60 points, five of which fail, is killed with all its processes at 20 random moments and
started again, in turn on threads and on three processes of mpirun.  No point that was kept is
measured again, every kept file is whole, no part of a table appears before the end, and the table
at the end is that of a sweep without a kill.
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
claims = Claims()
draw = random.Random(commit_seed())
SCRIPT = claims.scratch / "mine.py"
SCRIPT.write_text("""
import os
import sys
import time
import wse_sweep

def measure(point):
    with open("measured", "a") as log:
        log.write(f"{point['x']}\\n")
    time.sleep(0.05)
    if point["x"] % 12 == 7:
        raise ValueError("no number")
    return {"y": point["x"] ** 2, "long": list(range(1000))}

if __name__ == "__main__":
    points = wse_sweep.grid(x=list(range(60)))
    found = wse_sweep.sweep(measure, points, wse_sweep.Kept(sys.argv[1]), jobs=2,
                            failures=(ValueError,))
    wse_sweep.write_table(sys.argv[2], found)
""")


def start(processes, keep, table):
    command = [harness.tool("wse-sweep"), "mine.py", keep, table]
    return subprocess.Popen(ranks_run.command(processes, *command) if processes > 1 else command,
                            cwd=claims.scratch, env={**os.environ, **ranks_run.ENVIRONMENT},
                            start_new_session=True, stderr=subprocess.PIPE)


def processes_below(process):
    """Open MPI gives each of its processes a session of its own."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
    parents = dict(map(int, line.split()) for line in listed.splitlines())
    return [pid for pid in parents if is_below(parents, pid, process.pid)]


def is_below(parents, pid, top):
    while pid in parents and pid != top:
        pid = parents[pid]
    return pid == top


def kill(process):
    for pid in processes_below(process):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate()


def kept_points(folder):
    """The points with a result; a file that is not whole is an error here."""
    return {json.loads(path.read_text())["point"]["x"] for path in folder.glob("*.json")}


def measured():
    log = claims.scratch / "measured"
    found = list(map(int, log.read_text().split())) if log.exists() else []
    log.unlink(missing_ok=True)
    return found


def wait_for_result(process, folder, before):
    """Until a point is kept that was not, or the sweep has ended: how long the processes take to
    start depends on what else runs on the machine."""
    while process.poll() is None and len(list(folder.glob("*.json"))) <= len(before):
        time.sleep(0.005)


def main():
    keep, table = claims.scratch / "kept", claims.scratch / "t.csv"
    began = time.monotonic()
    assert start(1, "whole", "whole.csv").wait(timeout=120) == 0
    seconds = time.monotonic() - began
    assert sorted(measured()) == list(range(60))
    again = early = useful = 0
    for moment in range(MOMENTS):
        before = kept_points(keep)
        process_count = 3 if moment % 2 else 1
        process = start(process_count, keep.name, table.name)
        if draw.random() < 0.75:              # the others end while the processes start
            wait_for_result(process, keep, before)
        time.sleep(draw.uniform(0, seconds / 4))
        kill(process)
        useful += kept_points(keep) != before
        again += len(before & set(measured()))
        early += table.exists() and len(kept_points(keep)) < 55
        if len(kept_points(keep)) == 55:        # all but the failing ones: begin anew
            for path in keep.glob("*"):
                path.unlink()
            table.unlink(missing_ok=True)
    before = kept_points(keep)
    last = start(1, keep.name, table.name)
    claims.equals("exit code of the last start", last.wait(timeout=120), 0)
    claims.equals("points measured again though kept", again + len(before & set(measured())), 0)
    claims.equals("tables before the end", early, 0)
    claims.at_least("kills after new results", useful, MOMENTS // 2)
    claims.equals("the table is that of a sweep without a kill",
                  table.read_bytes() == (claims.scratch / "whole.csv").read_bytes(), True)
    claims.finish()


main()
