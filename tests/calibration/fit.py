#!/usr/bin/python3
"""Fits rows of the table of times to published cycle counts, and says what the points constrain.

    tests/calibration/fit.py FEATURES.json [--arch=wse2|wse3] [--most=FACTOR]

FEATURES.json is what features.py has written; only its `fit` points are used.  A point's equation
is: its cycles now, plus for each row the feature times the row's change, are the published cycles.
Both sides are divided by the published cycles, so that every point counts the same; a program with
many points counts as much as one with few.  The changes are found by bounded least squares: a row
stays between 1 cycle and FACTOR times its value (at least 10), and a documented row does not move.

Prints each row with its value, the fitted one, its bounds, and whether the points constrain it;
then the misses with the fitted rows, and those of leaving one program out: the rows that are fitted
without a program predict it.
"""
import argparse
import json
import statistics
from pathlib import Path

import numpy
from scipy.optimize import lsq_linear

from features import read_rows, value

# A row is constrained if the fit's misses grow by this when the row is moved by a half: the claim
# of seeded errors rests on it.
SEED, LEAST_GROWTH = 0.5, 0.01
WEAK = 1e-4     # pulls a row that no point moves to its value


def program_of(point):
    return point["program"] + point["case"].split(" ")[0] if point["program"].startswith(
        ("spmm", "stencil", "lww")) else point["program"]


def free_rows(points, rows):
    """Rows that may move: some point has them, and they are not documented."""
    present = {row for p in points for row in p["features"]}
    return [row for row in rows if row in present and rows[row][2] != "D"]


def equations(points, names):
    weights = {}
    for p in points:
        weights[program_of(p)] = weights.get(program_of(p), 0) + 1
    matrix = numpy.array([[p["features"].get(row, 0) for row in names] for p in points], float)
    missing = numpy.array([p["published"] - p["ours"] for p in points], float)
    scale = numpy.array([1 / p["published"] / weights[program_of(p)] ** 0.5 for p in points])
    return matrix * scale[:, None], missing * scale


def solve(points, names, rows, arch, most):
    """The fitted values of the rows."""
    now = numpy.array([value(rows, row, arch) for row in names], float)
    low, high = 1 - now, numpy.maximum(most * now, 10) - now + 1e-6
    low = numpy.minimum(low, -1e-6)
    matrix, missing = equations(points, names)
    matrix = numpy.vstack([matrix, WEAK * numpy.eye(len(names))])
    missing = numpy.concatenate([missing, numpy.zeros(len(names))])
    return now + lsq_linear(matrix, missing, bounds=(low, high)).x


def misses(points, names, values, rows, arch):
    """Relative misses with the given values of the rows."""
    changes = {row: v - value(rows, row, arch) for row, v in zip(names, values)}
    return [(p["ours"] + sum(changes[row] * p["features"].get(row, 0) for row in names))
            / p["published"] - 1 for p in points]


def growth(points, names, values, rows, arch, row):
    """By how much the mean miss grows if the row is wrong by a half."""
    def mean(v):
        return statistics.mean(map(abs, misses(points, names, v, rows, arch)))
    seeded = numpy.array(values)
    seeded[names.index(row)] *= 1 + SEED
    return mean(seeded) - mean(values)


def leave_one_out(points, names, rows, arch, most):
    """[(point, miss)]: each predicted by the rows that are fitted without its program."""
    found = []
    for program in dict.fromkeys(map(program_of, points)):
        others = [p for p in points if program_of(p) != program]
        mine = [p for p in points if program_of(p) == program]
        if others:
            values = solve(others, names, rows, arch, most)
            found += zip(mine, misses(mine, names, values, rows, arch))
    return found


def percent(values):
    values = [100 * v for v in values]
    return (f"median {statistics.median(map(abs, values)):.1f} %, "
            f"worst {max(values, key=abs):+.1f} %")


def report(points, rows, arch, most):
    names = free_rows(points, rows)
    values = solve(points, names, rows, arch, most)
    print(f"\n{arch}: {len(points)} points of {len(set(map(program_of, points)))} programs")
    print(f"{'row':20} {'status':6} {'now':>4} {'fitted':>7} {'bounds':>9}  constrained")
    for row, fitted in zip(names, values):
        now = value(rows, row, arch)
        grows = growth(points, names, values, rows, arch, row)
        print(f"{row:20} {rows[row][2]:6} {now:4} {fitted:7.2f} {1:4}-{max(int(most * now), 10):<4}"
              f"  {'yes' if grows >= LEAST_GROWTH else 'no '}  {100 * grows:+.1f} % if half more")
    absent = [row for row in rows if row not in names and rows[row][2] != "D"]
    print(f"no point has: {', '.join(absent) or '-'}")
    print(f"now:            {percent(misses(points, [], [], rows, arch))}")
    print(f"fitted:         {percent(misses(points, names, values, rows, arch))}")
    left = leave_one_out(points, names, rows, arch, most)
    print(f"leave one out:  {percent([miss for _, miss in left])}")
    for p, miss in left:
        print(f"  {100 * miss:+6.1f} %  {p['program']} {p['case']}: {p['quantity']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--arch", choices=["wse2", "wse3"])
    parser.add_argument("--most", type=float, default=4.0)
    options = parser.parse_args()
    measured = [p for p in json.loads(options.features.read_text()) if p["role"] == "fit"]
    for arch in ("wse2", "wse3"):
        points = [p for p in measured if p["arch"] == arch]
        if points and options.arch in (None, arch):
            report(points, read_rows(), arch, options.most)


if __name__ == "__main__":
    main()
