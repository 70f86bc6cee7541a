#!/usr/bin/python3
"""Runs the calibration suite and writes what follows from it.

    tests/calibration/report.py CHECKOUTS PAGE.html [--jobs=N] [--from=POINTS.json | --again]

- PAGE.html: one page with predicted against published cycles, and the misses by set and by the part
  of a program's time that vector operations take;
- results.csv: what each point gave, from which the other files follow;
- docs/cycle-model.md: the tables between `<!-- calibration NAME -->` and `<!-- end -->`;
- emu/machine/residuals.def: by machine and class of program, the range in which the published
  cycles lie around ours.  wse-emu --stats gives it beside its cycles.

--from takes the points of `suite.py --json` instead of running the suite; --again takes results.csv.
"""
import argparse
import csv
import io
import json
import os
import statistics
import sys
from collections import Counter
from pathlib import Path

import matplotlib
import numpy

import report_table
import suite

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

RESULTS = suite.HERE / "results.csv"
COLUMNS = ("set", "program", "arch", "release", "role", "case", "quantity", "published", "ours",
           "group_share")
RESIDUALS = suite.ROOT / "emu" / "machine" / "residuals.def"
# A program is of class `vector` if groups of vector operations, with their bank conflicts, are at
# least half of its threads' cycles, else `scalar`.
HALF = 0.5
COVERED = (5, 95)     # percentiles that the range covers
HEAD = """/* Where published cycles lie around ours, in percent: written by tests/calibration/report.py, which
 * says what a class is.  wse-emu --stats gives the range beside its cycles.
 *   RESIDUAL(arch, class, points, low, high)    %d %% of the points lie between low and high, where each
 *     program counts the same */

"""


def class_of(point):
    return "vector" if point.group_share >= HALF else "scalar"


def weighted_range(points):
    """Published over ours in percent, from the lower to the upper percentile.  A program weighs as much
    as any other, however many sizes of it were measured."""
    sizes = Counter(p.program for p in points)
    points = sorted(points, key=lambda p: p.published / p.ours)
    found = [100 * (p.published / p.ours - 1) for p in points]
    weights = numpy.cumsum([1 / sizes[p.program] for p in points]) / len(sizes)
    low = found[numpy.searchsorted(weights, COVERED[0] / 100)]
    high = found[numpy.searchsorted(weights, COVERED[1] / 100 - 1e-9)]
    return int(numpy.floor(low)), int(numpy.ceil(high))


def residual_rows(points):
    """[(arch, class, points, low, high)] in percent of our cycles, from programs of others."""
    rows = []
    points = [p for p in points if p.group_share is not None]
    for arch in ("wse2", "wse3"):
        for kind in ("vector", "scalar"):
            found = [p for p in points if p.arch == arch and class_of(p) == kind]
            if found:
                rows.append((arch, kind, len(found), *weighted_range(found)))
    return rows


def residuals_text(rows):
    """The whole of residuals.def."""
    text = HEAD % (COVERED[1] - COVERED[0])
    text += "/*       arch  class   points low high */\n"
    text += "".join(f"RESIDUAL({arch}, {kind}, {n:4}, {low:4}, {high:4})\n"
                    for arch, kind, n, low, high in rows)
    return text + "\n#undef RESIDUAL\n"


def write_results(points):
    with open(RESULTS, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(COLUMNS)
        for p in points:
            share = "" if p.group_share is None else f"{p.group_share:.4f}"
            table.writerow([p.set, p.program, p.arch, p.release, p.role, p.case, p.quantity,
                            p.published, p.ours, share])


def read_results():
    """The points of results.csv."""
    with open(RESULTS, newline="") as table:
        return [suite.Point(source="", **{
            **row, "published": float(row["published"]), "ours": float(row["ours"]),
            "group_share": float(row["group_share"]) if row["group_share"] else None})
            for row in csv.DictReader(table)]


def tables(points):
    """The tables of docs/cycle-model.md by name."""
    return {"results": results_table(points), "residuals": residual_table(residual_rows(points))}


def results_table(points):
    lines = ["| set | machine | release | role | points | median | median of sizes | worst |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    groups = {}
    for p in points:
        groups.setdefault((p.set, p.arch, p.release, p.role), []).append(suite.miss(p))
    for (name, arch, release, role), misses in groups.items():
        lines.append(f"| {name} | {arch} | {release} | {role} | {len(misses)} | "
                     f"{statistics.median(misses):+.1f} % | "
                     f"{statistics.median(map(abs, misses)):.1f} % | "
                     f"{max(misses, key=abs):+.1f} % |")
    return "\n".join(lines) + "\n"


def residual_table(rows):
    lines = ["| machine | class | points | published, relative to ours |", "| --- | --- | --- | --- |"]
    lines += [f"| {arch} | {kind} | {n} | {low:+d} % to {high:+d} % |"
              for arch, kind, n, low, high in rows]
    return "\n".join(lines) + "\n"


def draw(points):
    """The page's figure as SVG."""
    sets = list(dict.fromkeys(p.set for p in points))
    figure, (both, by_set, by_share) = pyplot.subplots(3, 1, figsize=(10, 21))
    colors = pyplot.get_cmap("tab10")
    for i, name in enumerate(sets):
        for role, marker in (("fit", "o"), ("judge", "x")):
            mine = [p for p in points if p.set == name and p.role == role]
            if not mine:
                continue
            style = {"color": colors(i % 10), "marker": marker, "linestyle": "none", "alpha": 0.7}
            both.plot([p.published for p in mine], [p.ours for p in mine],
                      label=f"{name} ({role})", **style)
            by_set.plot([suite.miss(p) for p in mine],
                        [i + (0.15 if role == "judge" else -0.15)] * len(mine), **style)
            public = [p for p in mine if p.group_share is not None]
            by_share.plot([p.group_share for p in public], [suite.miss(p) for p in public], **style)
    ends = [min(p.published for p in points), max(p.published for p in points)]
    both.plot(ends, ends, color="gray", linewidth=1)
    both.set(xscale="log", yscale="log", xlabel="published cycles", ylabel="emulated cycles")
    both.legend(fontsize=8)
    by_set.set(yticks=range(len(sets)), yticklabels=sets, xlabel="miss in percent of published")
    by_set.axvline(0, color="gray", linewidth=1)
    by_share.set(xlabel="share of vector groups in the cycles of threads",
                 ylabel="miss in percent of published")
    by_share.axhline(0, color="gray", linewidth=1)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()


def page(points):
    svg = draw(points)
    rows = "".join(f"<tr><td>{p.set}</td><td>{p.name}</td><td>{p.role}</td>"
                   f"<td>{p.published:.0f}</td><td>{p.ours:.0f}</td><td>{p.ratio:.3f}</td></tr>\n"
                   for p in points)
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<title>Calibration</title><style>body{font:14px sans-serif;margin:2em}"
            "td,th{padding:1px 8px;text-align:left}</style></head><body>\n"
            "<h1>Published and emulated cycles</h1>\n"
            "<p>o: points that rows are fitted to; x: points for judging only.</p>\n"
            + svg[svg.index("<svg"):]
            + "<table><tr><th>set</th><th>point</th><th>role</th><th>published</th>"
              "<th>emulated</th><th>ratio</th></tr>\n" + rows + "</table></body></html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--from", dest="points", type=Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.again:
        points = read_results()
    elif options.points:
        points = [suite.Point(**p) for p in json.loads(options.points.read_text())]
    else:
        binaries = Path(os.environ.get("WSE_BIN") or suite.ROOT / "build/release/bin").resolve()
        points = suite.Suite(options.checkouts.resolve(), binaries).run(suite.read_points(),
                                                                        options.jobs)
    for p in points:
        if p.problem:
            print(f"{p.name}: {p.problem}", file=sys.stderr)
    points = [p for p in points if p.ours is not None]
    if not points:
        sys.exit("no point has been run")
    write_results(points)
    points = read_results()     # as any other reader of the file sees them
    RESIDUALS.write_text(residuals_text(residual_rows(points)))
    for name, text in tables(points).items():
        report_table.write(name, text)
    options.page.write_text(page(points))
    suite.print_summary(points)


if __name__ == "__main__":
    main()
