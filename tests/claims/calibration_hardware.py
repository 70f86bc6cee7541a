#!/usr/bin/python3
"""Loops that were measured on a CS-2, under --timing=cs2: set by set, apart from the simulator's points.

CALIBRATION_DIR is a folder of fetched checkouts, as tests/calibration/suite.py describes it; without it
nothing can be measured and the claim fails.  The median miss of a set is at most 5 %, and less than with the
usual times.

No short form: programs of others.
"""
import statistics
import sys

from claims import Claims, harness

sys.path.insert(0, str(harness.ROOT / "tests" / "calibration"))
import hardware  # noqa: E402
import report_table  # noqa: E402

MEDIAN = 5.0


def size(misses):
    return statistics.median(map(abs, misses))


def main():
    claims = Claims()
    folder = claims.given("CALIBRATION_DIR", "a folder of checkouts")
    found = hardware.measure(folder, harness.bin_dir().resolve())
    usual = hardware.by_set(found["usual"])
    for name, misses in hardware.by_set(found["cs2"]).items():
        claims.at_most(f"{name}, {len(misses)} points: median miss", size(misses), MEDIAN, "%")
        claims.at_most(f"{name}: median miss over that with the usual times",
                       size(misses) / size(usual[name]), 1.0)
        print(f"{name}: worst miss {max(misses, key=abs):+.1f} %", flush=True)
    claims.equals("the page has this table", report_table.read("hardware") == hardware.table(found),
                  True)
    claims.finish()


main()
