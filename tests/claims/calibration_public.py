#!/usr/bin/python3
"""Public programs from elsewhere: the published cycle counts at -O1, set by set.

CALIBRATION_DIR is a folder of fetched checkouts, as tests/calibration/suite.py describes it; without
it nothing can be measured and the claim fails.  For the points that rows may be fitted to, the
median miss of a set is at most 3 % and the worst at most 10 %, except for one point per set.  The
points for judging have no bound; the claim prints what they miss.

No short form: programs of others.
"""
import statistics
import sys

from claims import Claims, harness

sys.path.insert(0, str(harness.ROOT / "tests" / "calibration"))
import suite  # noqa: E402

MEDIAN, WORST = 3.0, 10.0


def show_judged(name, points):
    misses = [suite.miss(p) for p in points if p.ours is not None]
    if misses:
        print(f"{name}, for judging: {len(misses)} points, median of sizes "
              f"{statistics.median(map(abs, misses)):.1f} %, "
              f"worst {max(misses, key=abs):+.1f} %", flush=True)


def check_set(claims, name, points):
    claims.equals(f"{name}: points that did not run", [p.name for p in points if p.ours is None],
                  [])
    misses = sorted(abs(suite.miss(p)) for p in points if p.ours is not None)
    if misses:
        claims.at_most(f"{name}: median miss", statistics.median(misses), MEDIAN, "%")
        claims.at_most(f"{name}: worst miss but one", misses[-2:][0], WORST, "%")


def main():
    claims = Claims()
    folder = claims.given("CALIBRATION_DIR", "a folder of checkouts")
    points = suite.read_points()
    suite.Suite(folder, harness.bin_dir().resolve()).run(points)
    for key in dict.fromkeys((p.set, p.release) for p in points):
        name = f"{key[0]} ({key[1]})"
        mine = [p for p in points if (p.set, p.release) == key]
        fitted = [p for p in mine if p.role == "fit"]
        if fitted:
            check_set(claims, name, fitted)
        show_judged(name, [p for p in mine if p.role == "judge"])
    claims.finish()


main()
