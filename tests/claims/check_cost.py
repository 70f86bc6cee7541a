#!/usr/bin/python3
"""--check=memory,tasks takes less than three times the processor time of a run without it, on three
workloads of tests/bench: streams in two dimensions, a GEMV, and tiles that only compute.

    check_cost.py [RUNS]      the least time of so many runs each counts, 3 without an argument

Processor time hardly depends on what else runs on the machine.

No short form: times.
"""
import resource
import sys
from pathlib import Path

from claims import Claims, harness

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

CHECKS = "--check=memory,tasks"
WORKLOADS = ("chain2d-256x256", "gemv-64x64", "busy-64x64")


def seconds(image, *options):
    """The processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.emu(image, *options, timeout=1200)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    claims = Claims()
    for workload in (w for w in bench.WORKLOADS if w.name in WORKLOADS):
        image = claims.scratch / "p.bin"
        harness.compile(workload.layout, image, params=workload.params)
        times = [(seconds(image, "--threads=1"), seconds(image, "--threads=1", CHECKS))
                 for _ in range(runs)]
        plain, checked = map(min, zip(*times))
        claims.at_most(f"{workload.name}: {checked:.2f} s with the checks over {plain:.2f} s without",
                       round(checked / plain, 2), 3)
    claims.finish()


main()
