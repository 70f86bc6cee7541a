#!/usr/bin/python3
"""-O2 is never slower than -O1: the cycles of every sample as its README runs it, and of every point
of the calibration suite.

CALIBRATION_DIR is a folder of fetched checkouts, as tests/calibration/suite.py describes it; without
it the points cannot be measured and the claim fails.  tests/test_codegen_table.py shows the same of
the programs of tests/bench/codegen.  Five minutes.
"""
import sys
import tempfile
from pathlib import Path

from claims import Claims, harness

sys.path[:0] = [str(harness.ROOT / "tests"), str(harness.ROOT / "tests" / "calibration")]
import suite  # noqa: E402
import test_samples as samples  # noqa: E402

LEVELS = ("-O1", "-O2")


def sample_cycles(sample, level):
    with tempfile.TemporaryDirectory() as folder:
        return int(samples.run_commands(sample, Path(folder), level).split("cycles: ")[-1])


def check(claims, what, cycles):
    """cycles: {name: those at -O1 and at -O2}."""
    for name, (usual, best) in cycles.items():
        if best > usual:
            print(f"{name}: {usual:.0f} at -O1, {best:.0f} at -O2", flush=True)
    claims.equals(f"{what}, {len(cycles)}: slower at -O2 than at -O1",
                  sum(best > usual for usual, best in cycles.values()), 0)


def point_cycles(folder, level):
    points = suite.read_points()
    suite.Suite(folder, harness.bin_dir().resolve(), level).run(points)
    return {f"{p.set}, {p.name}": p.ours for p in points}


def main():
    claims = Claims()
    check(claims, "samples", {name: [sample_cycles(name, level) for level in LEVELS]
                              for name in samples.SAMPLES})
    folder = claims.given("CALIBRATION_DIR", "a folder of checkouts")
    usual, best = (point_cycles(folder, level) for level in LEVELS)
    claims.equals("points that did not run", [n for n in usual if None in (usual[n], best[n])], [])
    check(claims, "points", {n: (usual[n], best[n]) for n in usual if None not in (usual[n], best[n])})
    claims.finish()


main()
