#!/usr/bin/python3
"""A sweep that is killed at random moments loses nothing that it has measured.

A sweep of 60 points, five of which fail, is killed with all its processes at 20 random moments and
started again, in turn on threads and on three processes of mpirun.  No point that was kept is
measured again, every kept file is whole, no part of a table appears before the end, and the table
at the end is that of a sweep without a kill.

Short form: test_sweep.py::test_a_killed_sweep_goes_on.
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
POINTS, FAIL_EVERY = 60, 12
SCRIPT = f"""
import os
import sys
import time
import wse_sweep

def measure(point):
    with open("measured", "a") as log:
        log.write(f"{{point['x']}}\\n")
    time.sleep(0.05)
    if point["x"] % {FAIL_EVERY} == 7:
        raise ValueError("no number")
    return {{"y": point["x"] ** 2, "long": list(range(1000))}}

if __name__ == "__main__":
    points = wse_sweep.grid(x=list(range(int(sys.argv[3]))))
    found = wse_sweep.sweep(measure, points, wse_sweep.Kept(sys.argv[1]), jobs=2,
                            failures=(ValueError,))
    wse_sweep.write_table(sys.argv[2], found)
"""


class Sweep:
    """A sweep of so many points in a folder, which is killed and started again."""

    def __init__(self, folder, draw, points=POINTS):
        self.folder, self.draw, self.points = folder, draw, points
        self.good = points - len(range(7, points, FAIL_EVERY))
        (folder / "mine.py").write_text(SCRIPT)
        self.keep, self.table = folder / "kept", folder / "t.csv"
        self.again = self.early = self.useful = 0
        began = time.monotonic()
        assert self.start(1, "whole", "whole.csv").wait(timeout=120) == 0
        self.seconds = time.monotonic() - began
        assert sorted(self.measured()) == list(range(points))

    def start(self, processes, keep="kept", table="t.csv"):
        command = [harness.tool("wse-sweep"), "mine.py", keep, table, str(self.points)]
        return subprocess.Popen(ranks_run.command(processes, *command) if processes > 1 else command,
                                cwd=self.folder, env={**os.environ, **ranks_run.ENVIRONMENT},
                                start_new_session=True, stderr=subprocess.PIPE)

    def measured(self):
        log = self.folder / "measured"
        found = list(map(int, log.read_text().split())) if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    def kill_once(self, processes):
        before = kept_points(self.keep)
        process = self.start(processes)
        if self.draw.random() < 0.75:              # the others end while the processes start
            wait_for_result(process, self.keep, before)
        time.sleep(self.draw.uniform(0, self.seconds / 4))
        kill(process)
        self.useful += kept_points(self.keep) != before
        self.again += len(before & set(self.measured()))
        self.early += self.table.exists() and len(kept_points(self.keep)) < self.good
        if len(kept_points(self.keep)) == self.good:        # begin anew
            for path in self.keep.glob("*"):
                path.unlink()
            self.table.unlink(missing_ok=True)

    def finish(self, checks):
        before = kept_points(self.keep)
        last = self.start(1)
        checks.equals("exit code of the last start", last.wait(timeout=120), 0)
        checks.equals("points measured again though kept",
                      self.again + len(before & set(self.measured())), 0)
        checks.equals("tables before the end", self.early, 0)
        checks.equals("the table is that of a sweep without a kill",
                      self.table.read_bytes() == (self.folder / "whole.csv").read_bytes(), True)


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


def wait_for_result(process, folder, before):
    """Until a point is kept that was not, or the sweep has ended: how long the processes take to
    start depends on what else runs on the machine."""
    while process.poll() is None and len(list(folder.glob("*.json"))) <= len(before):
        time.sleep(0.005)


def main():
    claims = Claims()
    sweep = Sweep(claims.scratch, random.Random(commit_seed()))
    for moment in range(MOMENTS):
        sweep.kill_once(3 if moment % 2 else 1)
    sweep.finish(claims)
    claims.at_least("kills after new results", sweep.useful, MOMENTS // 2)
    claims.finish()


if __name__ == "__main__":
    main()
