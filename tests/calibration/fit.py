#!/usr/bin/python3
"""Fits rows of the table of times to published cycle counts, and says what the points constrain.

    tests/calibration/fit.py FEATURES.json [--arch=wse2|wse3]

FEATURES.json is what features.py has written; only its `fit` points are used.  A point's equation
is: its cycles now, plus for each row the feature times the row's change, are the published cycles.
Both sides are divided by the published cycles, so that misses count as parts; a program with many
points counts as much as one with few.

Rows that time one mechanism are one unknown (GROUPS), which stays in a range that documents or
plain reasoning about the machine give.  The middle of that range is a weak prior: a miss of MISS of
a program weighs as much as an unknown at the edge of its range.  So a row that no point has keeps
its prior, and two rows that only one program separates do not run away.  No range comes from a
fit.  A documented row does not move.

Prints each row with its value, the fitted one and its range, and whether the points constrain it;
then the misses with the fitted rows, and those of leaving one program out: the rows that are fitted
without a program predict it.
"""
import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path

import numpy
from scipy.optimize import lsq_linear

from features import read_rows, value

# A row is constrained if the fit's misses grow by this when the row is moved by a half: the claim
# of seeded errors rests on it.
SEED, LEAST_GROWTH = 0.5, 0.01
MISS = 0.03     # the claim's bound of a set's median


@dataclass(frozen=True)
class Group:
    """Rows of one mechanism, the least and the most cycles that they can have, and why."""
    rows: tuple
    low: float
    high: float
    source: str


GROUPS = (
    Group(("alu16", "fp", "branch_not_taken", "dsr_update", "vector_async_issue", "vector_next",
           "random", "load", "store"), 1, 1.5, "single issue: one cycle per plain instruction"),
    Group(("alu32", "move32"), 1, 3, "one instruction or two halves, and the carry"),
    Group(("cmp32",), 1, 4, "two halves, joined"),
    Group(("order32",), 2, 12, "two halves, their signs, and the choice between the halves"),
    Group(("mul32",), 1, 12, "one product of words to four, and their sum"),
    Group(("jump", "branch_taken", "loop_back"), 1, 9, "one instruction to a refilled pipeline"),
    Group(("call", "ret"), 1, 5, "an instruction, a word of memory"),
    Group(("config", "counter"), 1, 5, "one instruction to a few cycles"),
    Group(("idiv",), 16, 56, "a cycle or a few per bit"),
    Group(("fconv",), 1, 32, "one instruction to one cycle per bit"),
    Group(("local_task_start",), 4, 6, "documented range"),
    Group(("data_task_start", "control_task_start"), 5, 8, "documented range"),
    Group(("task_end_to_pick",), 1, 3, "a few cycles"),
    Group(("async_done_action",), 1, 5, "a few cycles"),
    Group(("vector_start", "vector_end"), 1, 3, "fmacs: their sum with one group is 3 to 5"),
    Group(("dsr_load",), 8, 10, "fmacs: 27 to 29 cycles for three"),
    Group(("xdsr_load",), 8, 16, "more words than dsr_load"),
    Group(("ramp_up", "ramp_down"), 1, 6, "wse3: a few cycles; wse2 is documented"),
)
GROUP_OF = {row: group for group in GROUPS for row in group.rows}
DOCUMENTED_ON_WSE2 = {"ramp_up", "ramp_down", "counter"}


def program_of(point):
    return point["program"] + point["case"].split(" ")[0] if point["program"].startswith(
        ("spmm", "stencil", "lww")) else point["program"]


def moves(row, rows, arch):
    """May a fit move the row on this machine?  Some rows are documented for wse2 only."""
    if row in DOCUMENTED_ON_WSE2:
        return arch != "wse2"
    return rows[row][2] != "D"


def free_rows(points, rows, arch):
    """Rows that may move: some point has them, and they are not documented."""
    present = {row for p in points for row in p["features"]}
    return [row for row in rows if row in present and row in GROUP_OF and moves(row, rows, arch)]


def equations(points, names):
    weights = {}
    for p in points:
        weights[program_of(p)] = weights.get(program_of(p), 0) + 1
    matrix = numpy.array([[p["features"].get(row, 0) for row in names] for p in points], float)
    missing = numpy.array([p["published"] - p["ours"] for p in points], float)
    scale = numpy.array([1 / p["published"] / weights[program_of(p)] ** 0.5 for p in points]) / MISS
    return matrix * scale[:, None], missing * scale


def solve(points, names, rows, arch):
    """The fitted values of the rows."""
    now = numpy.array([value(rows, row, arch) for row in names], float)
    groups = list(dict.fromkeys(GROUP_OF[row] for row in names))
    member = numpy.array([[float(GROUP_OF[row] is group) for group in groups] for row in names])
    matrix, missing = equations(points, names)
    low, high = (numpy.array([getattr(g, end) for g in groups], float) for end in ("low", "high"))
    middle, reach = (low + high) / 2, (high - low) / 2
    matrix, missing = matrix @ member, missing + matrix @ now
    matrix = numpy.vstack([matrix, numpy.diag(1 / reach)])
    missing = numpy.concatenate([missing, middle / reach])
    return member @ lsq_linear(matrix, missing, bounds=(low, high)).x


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


def leave_one_out(points, names, rows, arch):
    """{program: [(point, miss)]}: each predicted by the rows that are fitted without its program."""
    found = {}
    for program in dict.fromkeys(map(program_of, points)):
        others = [p for p in points if program_of(p) != program]
        mine = [p for p in points if program_of(p) == program]
        if others:
            values = solve(others, names, rows, arch)
            found[program] = list(zip(mine, misses(mine, names, values, rows, arch)))
    return found


def only_here(points, program, names, rows, arch):
    """Rows that move this program when they are wrong by a half, and no other one."""
    def moves_point(p, row):
        half = SEED * value(rows, row, arch)
        return abs(p["features"].get(row, 0)) * half / p["published"] >= LEAST_GROWTH
    mine = [p for p in points if program_of(p) == program]
    others = [p for p in points if program_of(p) != program]
    return [row for row in names if any(moves_point(p, row) for p in mine)
            and not any(moves_point(p, row) for p in others)]


def percent(values):
    values = [100 * v for v in values]
    return (f"median {statistics.median(map(abs, values)):.1f} %, "
            f"worst {max(values, key=abs):+.1f} %")


def print_left_out(points, names, rows, arch):
    left = leave_one_out(points, names, rows, arch)
    print(f"leave one out:  {percent([miss for found in left.values() for _, miss in found])}")
    for program, found in left.items():
        alone = only_here(points, program, names, rows, arch)
        print(f"  {program}: {percent([miss for _, miss in found])}"
              f"{', alone has ' + ', '.join(alone) if alone else ''}")
        for p, miss in found:
            print(f"    {100 * miss:+6.1f} %  {p['case']}: {p['quantity']}")


def report(points, rows, arch):
    names = free_rows(points, rows, arch)
    values = solve(points, names, rows, arch)
    print(f"\n{arch}: {len(points)} points of {len(set(map(program_of, points)))} programs")
    print(f"{'row':20} {'status':6} {'now':>4} {'fitted':>7} {'range':>9}  constrained")
    for row, fitted in zip(names, values):
        grows = growth(points, names, values, rows, arch, row)
        group = GROUP_OF[row]
        print(f"{row:20} {rows[row][2]:6} {value(rows, row, arch):4} {fitted:7.2f} "
              f"{group.low:4}-{group.high:<4}  {'yes' if grows >= LEAST_GROWTH else 'no '}  "
              f"{100 * grows:+.1f} % if half more; {group.source}")
    absent = [row for row in GROUP_OF if row not in names and moves(row, rows, arch)]
    print(f"no point has: {', '.join(absent) or '-'}")
    print(f"now:            {percent(misses(points, [], [], rows, arch))}")
    print(f"fitted:         {percent(misses(points, names, values, rows, arch))}")
    print_left_out(points, names, rows, arch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path)
    parser.add_argument("--arch", choices=["wse2", "wse3"])
    options = parser.parse_args()
    measured = [p for p in json.loads(options.features.read_text()) if p["role"] == "fit"]
    for arch in ("wse2", "wse3"):
        points = [p for p in measured if p["arch"] == arch]
        if points and options.arch in (None, arch):
            report(points, read_rows(), arch)


if __name__ == "__main__":
    main()
