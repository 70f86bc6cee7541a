"""A build of the emulator is not slower than another one by more than 3 %: the benchmarks of
tests/bench, each run by turns with both; the median of the ratios of their user times counts.

    /usr/bin/python3 tests/claims/speed_ratio.py OLD_BIN NEW_BIN [--repeat N] [--only TEXT]

It needs two builds, so run.sh does not run it.  Where other programs run on the machine, the counts
of instructions (--instructions, with valgrind) say more than the times.
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
from claims import Checks  # noqa: E402

MOST_RATIO = 1.03


def user_seconds(tools, image):
    process = subprocess.Popen([tools / "wse-emu", image], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{tools}/wse-emu failed"
    return usage.ru_utime


def instructions(tools, image):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no",
                           "--cachegrind-out-file=/dev/null", tools / "wse-emu", image],
                          capture_output=True, text=True, check=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def ratios(measure, old, new, image, repeat):
    """New by old, each pair in another order than the one before."""
    found = []
    for turn in range(repeat):
        pair = (old, new) if turn % 2 else (new, old)
        took = {tools: measure(tools, image) for tools in pair}
        found.append(took[new] / took[old])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    checks = Checks()
    measure, repeat = (instructions, 1) if options.instructions else (user_seconds, options.repeat)
    what = "instructions" if options.instructions else "user time"
    for workload in bench.WORKLOADS:
        if options.only not in workload.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder) / "p.bin"
            harness.compile(workload.layout, image, params=workload.params)
            found = ratios(measure, options.old, options.new, image, repeat)
        checks.at_most(f"{workload.name}: {what}, new by old", statistics.median(found), MOST_RATIO)
    checks.finish()


if __name__ == "__main__":
    main()
