"""A build of the emulator is not slower than another one by more than 3 %: the benchmarks of
tests/bench, each run by turns with both; the median of the ratios of their user times counts.

    /usr/bin/python3 tests/claims/speed_ratio.py OLD_BIN NEW_BIN [--repeat N] [--only TEXT]

OLD_BIN and NEW_BIN: folders of the programs. Each build runs what its own compiler makes of the
benchmark, and times are per active tile-cycle, so that builds with other formats of images and
other cycles can be compared.  It needs two builds, so run.sh does not run it.  Where other programs
run on the machine, the counts of instructions (--instructions, with valgrind) say more than the
times.

No short form: two builds.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402
import harness  # noqa: E402
from claims import Checks, build_folder  # noqa: E402

MOST_RATIO = 1.03


class Build:
    """A build of the tools, with its image of a benchmark."""

    def __init__(self, tools, workload, folder):
        folder.mkdir()
        image = workload.compile(tools, folder)
        self.command = [tools / "wse-emu", image, *workload.actions(folder.parent)]
        harness.run([*self.command, f"--stats={folder / 's.json'}"], timeout=600)
        self.statistics = harness.stats(folder / "s.json")

    def user_seconds(self):
        process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, f"{self.command[0]} failed"
        return usage.ru_utime / self.statistics["active_tile_cycles"]

    def instructions(self):
        done = harness.run(["valgrind", "--tool=cachegrind", "--cache-sim=no",
                            "--cachegrind-out-file=/dev/null", *self.command], timeout=3600)
        found = re.search(r"I\s+refs:\s+([\d,]+)", done.err)
        return int(found[1].replace(",", "")) / self.statistics["active_tile_cycles"]


def ratios(measure, old, new, repeat):
    """New by old, each pair in another order than the one before."""
    found = []
    for turn in range(repeat):
        pair = (old, new) if turn % 2 else (new, old)
        took = {build: measure(build) for build in pair}
        found.append(took[new] / took[old])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    checks = Checks()
    measure, repeat = (Build.user_seconds, options.repeat)
    if options.instructions:
        measure, repeat = Build.instructions, 1
    what = "instructions" if options.instructions else "user time"
    for workload in bench.WORKLOADS:
        if options.only not in workload.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            old = Build(options.old, workload, Path(folder) / "old")
            new = Build(options.new, workload, Path(folder) / "new")
            found = ratios(measure, old, new, repeat)
        cycles = [build.statistics["cycles"] for build in (old, new)]
        checks.at_most(f"{workload.name}, {cycles[0]} and {cycles[1]} cycles: {what} per active "
                       "tile-cycle, new by old", statistics.median(found), MOST_RATIO)
    checks.finish()


if __name__ == "__main__":
    main()
