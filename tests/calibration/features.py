#!/usr/bin/python3
"""What each row of the table of times does to each published program: d cycles / d row.

    tests/calibration/features.py CHECKOUTS OUT.json [--set=TEXT] [--only=TEXT] [--role=fit|judge]
                                  [--rows=ROW,...] [--jobs=N]

Each program runs once as it is and once for each row with the row raised by STEP cycles; the change
per cycle is the point's feature of the row.  It is what instruction counts times rows would give if
a program were one thread: it counts what lies on the path to the end and nothing else.

"""
import argparse
import functools
import json
import os
import re
import sys
from pathlib import Path

import suite
from suite import wse_sweep
from tools import ProgramFailed

STEP = 1
TABLE = suite.ROOT / "emu" / "machine" / "timing.def"
HOST_ROWS = {"host_wavelets_num", "host_wavelets_den"}    # of the host's port: no time of a program


def read_rows():
    """Row: (wse2, wse3, status)."""
    found = re.findall(r"^TIMING\((\w+),\s*(\d+),\s*(\d+),\s*(\w)", TABLE.read_text(), re.M)
    return {name: (int(a), int(b), status) for name, a, b, status in found
            if name not in HOST_ROWS}


def value(rows, row, arch):
    return rows[row][0 if arch == "wse2" else 1]


def run_features(the_suite, rows, case):
    """{quantity: {"": cycles, row: change per cycle}} of one run."""
    with suite.Run(the_suite, case["program"], case["case"]) as run:
        usual = run.quantities()
        found = {quantity: {"": cycles} for quantity, cycles in usual.items()}
        for row in rows:
            raised = run.quantities(f"--timing={row}:{value(rows, row, case['arch']) + STEP}")
            for quantity, cycles in raised.items():
                change = (cycles - usual[quantity]) / STEP
                if change:
                    found[quantity][row] = change
        return found


def measure(the_suite, points, rows, jobs):
    """[(point, {row: feature})], the point with `ours`; points that cannot run are reported."""
    cases = [{"program": p.program, "case": p.case, "arch": p.arch} for p in points]
    outcomes = wse_sweep.sweep(functools.partial(run_features, the_suite, rows), cases, jobs=jobs,
                               failures=(ProgramFailed, suite.Absent))
    measured = []
    for point, outcome in zip(points, outcomes):
        if outcome.error is not None:
            print(f"{point.name}: {outcome.error}", file=sys.stderr)
            continue
        features = dict(outcome.values[point.quantity])
        point.ours = features.pop("")
        measured.append((point, features))
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--set", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--role", choices=["fit", "judge"])
    parser.add_argument("--rows", help="these rows only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    binaries = Path(os.environ.get("WSE_BIN") or suite.ROOT / "build/release/bin").resolve()
    rows = read_rows()
    if options.rows:
        rows = {row: rows[row] for row in options.rows.split(",")}
    points = [p for p in suite.read_points() if options.set in p.set and options.only in p.name
              and options.role in (None, p.role)]
    the_suite = suite.Suite(options.checkouts.resolve(), binaries)
    measured = measure(the_suite, points, rows, options.jobs)
    options.out.write_text(json.dumps([{**suite.asdict(p), "features": f} for p, f in measured],
                                      indent=1) + "\n")
    print(f"{len(measured)} points, {len(rows)} rows")


if __name__ == "__main__":
    main()
