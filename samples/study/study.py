#!/usr/bin/python3
"""Measures and draws the figures of the study of collectives: CSV, SVG and PNG of each.

Ctrl-C stops it; the same command goes on from there.
"""
import argparse
import csv
import os
import re
import sys
from pathlib import Path

import figures
import programs
import runner                # puts the folder of wse_sweep on the path
from wse_sweep import SweepError

ROOT = programs.ROOT
BEGIN, END = "<!-- claims: {} -->", "<!-- end of claims -->"


FORMATS = ("svg", "png", "pdf")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="study-out", help="folder of the figures")
    parser.add_argument("--keep", default=None, help="folder of the results (default: OUT/results)")
    parser.add_argument("--bin", default=os.environ.get("WSE_BIN", ROOT / "build/release/bin"),
                        help="folder of cslc, wse-emu and wse-model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="measurements at a time")
    parser.add_argument("--only", default="", help="figures, as in 5.9,7.4")
    parser.add_argument("--small", action="store_true", help="few tiles and short vectors")
    parser.add_argument("--page", help="text whose tables of claims are renewed")
    parser.add_argument("--formats", default="svg,png", help="of the drawings; none: only CSV")
    return parser.parse_args()


def chosen(args):
    size = figures.SMALL if args.small else figures.FULL
    every = [make(size) for make in figures.ALL]
    numbers = [number for number in args.only.split(",") if number]
    unknown = set(numbers) - {figure.number for figure in every}
    if unknown:
        sys.exit(f"study.py: no figure {', '.join(sorted(unknown))}; there are "
                 + ", ".join(figure.number for figure in every))
    unknown = {form for form in args.formats.split(",") if form} - set(FORMATS)
    if unknown:
        sys.exit(f"study.py: no format {', '.join(sorted(unknown))}; there are {', '.join(FORMATS)}")
    return [figure for figure in every if not numbers or figure.number in numbers]


def write_csv(path, figure, cycles):
    xs = sorted({x for curve in figure.curves for x in curve.points})
    with path.open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow([figure.x, *(curve.label for curve in figure.curves)])
        for x in xs:
            rows.writerow([x, *(cycles[curve.label].get(x, "") for curve in figure.curves)])


def draw(path, figure, cycles, formats):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    # The same data give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "study", "svg.fonttype": "none", "font.size": 9})
    fig, axes = pyplot.subplots(figsize=(6, 4))
    colors = {}
    for curve in figure.curves:
        name = curve.label.removesuffix(", model")
        color = colors.setdefault(name, f"C{len(colors)}")
        values = cycles[curve.label]
        axes.plot(list(values), list(values.values()), "--" if curve.is_model else "o-",
                  color=color, label=curve.label, markersize=4, linewidth=1.2)
    if figure.log_x:
        axes.set_xscale("log", base=2)
    if figure.log_y:
        axes.set_yscale("log")
    axes.set(xlabel=figure.x, ylabel="cycles", title=f"{figure.number} {figure.title}")
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(fontsize=7)
    fig.tight_layout()
    for form in formats:
        fig.savefig(f"{path}.{form}", dpi=120,
                    metadata={"Date": None} if form == "svg" else None)
    pyplot.close(fig)


def read_csv(path, figure):
    """What write_csv wrote."""
    with path.open(newline="") as text:
        head, *rows = csv.reader(text)
    if head != [figure.x, *(curve.label for curve in figure.curves)]:
        raise ValueError(f"{path} is not of this figure")
    return {label: {int(row[0]): int(row[k]) for row in rows if row[k]}
            for k, label in enumerate(head) if k}


def claims_table(figure, cycles):
    lines = ["| the thesis says | found | |", "| --- | --- | --- |"]
    for said, found, same in figure.claims(cycles):
        verdict = "" if same is None else "reproduced" if same else "different"
        lines.append(f"| {said} | {found} | {verdict} |")
    return "\n".join(lines)


def renew(page, tables):
    """Puts the tables between the page's marks; every mark needs a table."""
    text = page.read_text()
    for name, table in tables.items():
        begin = re.escape(BEGIN.format(name))
        text, count = re.subn(f"({begin}\n).*?({re.escape(END)})",
                              lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.S)
        if count != 1:
            sys.exit(f"study.py: {page} has no mark for figure {name}")
    page.write_text(text)


def make_figures(args):
    wanted = chosen(args)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    tools = programs.Tools(args.bin)
    found = runner.run(tools, args.keep or out / "results",
                       [what for figure in wanted for curve in figure.curves
                        for what in curve.points.values()], args.jobs)
    tables = {}
    for figure in wanted:
        cycles = {curve.label: {x: found[runner.key_of(what)] for x, what in curve.points.items()}
                  for curve in figure.curves}
        write_csv(out / f"fig-{figure.number}.csv", figure, cycles)
        if args.formats:
            draw(out / f"fig-{figure.number}", figure, cycles, args.formats.split(","))
        if figure.claims:
            tables[figure.number] = claims_table(figure, cycles)
            print(f"{figure.number} {figure.title}\n{tables[figure.number]}\n")
    if args.page:
        renew(Path(args.page), tables)


def main():
    try:
        make_figures(arguments())
    except (programs.Wrong, SweepError) as wrong:
        sys.exit(f"study.py: {wrong}")
    except OSError as wrong:
        sys.exit(f"study.py: '{wrong.filename}': {wrong.strerror}")
    except KeyboardInterrupt:
        sys.exit("study.py: interrupted; the same command goes on from here")


if __name__ == "__main__":
    main()
