#!/usr/bin/python3
"""Runs the programs that were measured on a CS-2, with --timing=cs2 and with the usual times.

    tests/calibration/hardware.py CHECKOUTS [--only=TEXT] [--jobs=N] [--update]

hardware.csv has the points: averages over all tiles of a wafer's rectangle, each of which runs the same
loop on about as many nonzeros.  They are apart from those of suite.py, which are the vendor's
simulator's.  --update writes the table of docs/cycle-model.md, else it is printed.
"""
import argparse
import os
import statistics
import sys
from pathlib import Path

import report_table
import suite

POINTS = suite.HERE / "hardware.csv"
MODES = {"cs2": "--timing=cs2", "usual": ""}


def measure(checkouts, binaries, only="", jobs=2):
    """{mode: points}, each point with `ours`; the text of what went wrong ends the program."""
    found = {}
    for mode, options in MODES.items():
        points = [p for p in suite.read_table(POINTS) if only in p.name]
        suite.Suite(checkouts, binaries, options=options).run(points, jobs)
        for point in points:
            if point.problem:
                sys.exit(f"{point.name}: {point.problem}")
        found[mode] = points
    return found


def by_set(points):
    sets = {}
    for point in points:
        sets.setdefault(point.set, []).append(suite.miss(point))
    return sets


def table(found):
    usual = by_set(found["usual"])
    lines = ["| set | points | median, `--timing=cs2` | worst | median, usual times |",
             "| --- | --- | --- | --- | --- |"]
    lines += [f"| {name} | {len(misses)} | {statistics.median(misses):+.1f} % | "
              f"{max(misses, key=abs):+.1f} % | {statistics.median(usual[name]):+.1f} % |"
              for name, misses in by_set(found["cs2"]).items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    binaries = Path(os.environ.get("WSE_BIN") or suite.ROOT / "build/release/bin").resolve()
    found = measure(options.checkouts.resolve(), binaries, options.only, options.jobs)
    suite.print_points(found["cs2"])
    text = table(found)
    if options.update:
        report_table.write("hardware", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
