"""Imported by the claims about the emulator's speed: a workload of tests/bench/bench.py on one
thread.  Nothing else may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

WHAT = {"active_per_second": "active tile-cycles", "instructions_per_second": "scalar instructions"}


def claim(workload, least, repeat, key="active_per_second"):
    """The whole claim: the median of the runs is at least so many a second."""
    claims = Claims()
    result, = bench.run_all(repeat=repeat, threads=1, only=workload)
    claims.at_least(f"{WHAT[key]} per second, median of {repeat}", result[key], least)
    if key == "active_per_second":
        print("program tile-cycles per second, which the vendor's simulator calls active: "
              f"{result['program_per_second'] / 1e6:.1f} M")
    claims.finish()
