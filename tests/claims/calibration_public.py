#!/usr/bin/python3
"""Public programs from elsewhere: the published cycle counts at -O1, set by set.

CALIBRATION_DIR is a folder of fetched checkouts, as tests/calibration/suite.py describes it; without
it nothing can be measured and the claim fails. For the points that rows may be fitted to, the
median miss of a set is at most 3 % and the worst at most 10 %, except for one point per set.
"""
import os
import statistics
import sys
from pathlib import Path

from claims import Claims, harness

sys.path.insert(0, str(harness.ROOT / "tests" / "calibration"))
import suite  # noqa: E402

MEDIAN, WORST = 3.0, 10.0


def main():
    claims = Claims()
    folder = os.environ.get("CALIBRATION_DIR")
    claims.check("checkouts", folder or "none", "CALIBRATION_DIR names a folder", bool(folder))
    if not folder:
        claims.finish()
    points = [p for p in suite.read_points() if p.role == "fit"]
    suite.Suite(Path(folder).resolve(), harness.bin_dir().resolve()).run(points)
    for name in dict.fromkeys(p.set for p in points):
        mine = [p for p in points if p.set == name]
        missing = [p.name for p in mine if p.ours is None]
        claims.equals(f"{name}: points that did not run", missing, [])
        misses = sorted(abs(suite.miss(p)) for p in mine if p.ours is not None)
        if misses:
            claims.at_most(f"{name}: median miss", statistics.median(misses), MEDIAN, "%")
            claims.at_most(f"{name}: worst miss but one", misses[-2:][0], WORST, "%")
    claims.finish()


main()
