#!/usr/bin/python3
"""The rows of the table of times against the published cycle counts.

CALIBRATION_FEATURES is the file that tests/calibration/features.py has written: what each row does
to each program.  Without it the claim fails.

- The rows that are fitted without a program predict it: the median miss is at most 6 %.  Each program's
  median is shown, and which rows it alone has: without it only their range is known (fit.py).
- Seeded errors: with any one constrained row half as long again, the misses of a set leave the
  bounds of calibration_public.py that they keep now, or grow by a tenth at least.  Every inferred row
  is one that the fit knows, so that none is left out; documented rows are those of timing_rows.py.

No short form: programs of others.
"""
import json
import statistics
import sys

from claims import Claims, harness

sys.path.insert(0, str(harness.ROOT / "tests" / "calibration"))
import fit  # noqa: E402
from features import read_rows, value  # noqa: E402

LEFT_OUT, GROWN = 6.0, 1.1


def medians(points, names, values, rows, arch):
    """{set: median of the misses' sizes, in percent}."""
    sets = {}
    for p, miss in zip(points, fit.misses(points, names, values, rows, arch)):
        sets.setdefault((p["set"], p["release"]), []).append(100 * abs(miss))
    return {name: statistics.median(found) for name, found in sets.items()}


def check_seeds(claims, points, rows, arch):
    names = fit.free_rows(points, rows, arch)
    absent = [row for row in fit.GROUP_OF if row not in names and fit.moves(row, rows, arch)]
    print(f"{arch}: no point has {', '.join(absent) or '-'}")
    now = [value(rows, row, arch) for row in names]
    usual = medians(points, names, now, rows, arch)
    for row in names:
        if fit.growth(points, names, now, rows, arch, row) < fit.LEAST_GROWTH:
            print(f"{arch}: no point constrains {row}")
            continue
        seeded = list(now)
        seeded[names.index(row)] *= 1 + fit.SEED
        found = medians(points, names, seeded, rows, arch)
        claims.check(f"{arch}: {row} half as long again, largest growth of a set's median",
                     max(found[name] / max(usual[name], 1.0) for name in found), f">= {GROWN}",
                     any(found[name] >= GROWN * max(usual[name], 1.0) for name in found))


def main():
    claims = Claims()
    file = claims.given("CALIBRATION_FEATURES", "a file of features")
    measured = [p for p in json.loads(file.read_text()) if p["role"] == "fit"]
    rows = read_rows()
    claims.equals("inferred rows that the fit does not know",
                  [row for row in rows if rows[row][2] == "I" and row not in fit.GROUP_OF], [])
    for arch in dict.fromkeys(p["arch"] for p in measured):
        points = [p for p in measured if p["arch"] == arch]
        names = fit.free_rows(points, rows, arch)
        fit.print_left_out(points, names, rows, arch)
        left = fit.leave_one_out(points, names, rows, arch)
        claims.at_most(f"{arch}: median miss of programs that the fit has not seen",
                       statistics.median(100 * abs(miss) for found in left.values()
                                         for _, miss in found), LEFT_OUT, "%")
        check_seeds(claims, points, rows, arch)
    claims.finish()


main()
