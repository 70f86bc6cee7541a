#!/usr/bin/python3
"""How much each assumed row of the table of times could move a program, as a table of docs.

    tests/calibration/sensitivity.py [--update]

Each sample runs with every assumed row at half and at twice its value (at least one cycle less or
more); a cell is the larger change of its cycles in percent.  --update writes the table into
docs/cycle-model.md, else it is printed.  No checkout is needed.
"""
import argparse
import sys
import tempfile
import textwrap
from pathlib import Path

import features
import report_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

PROGRAMS = {
    "reduce-chain": {"P": 16, "B": 64},
    "broadcast-1d": {"P": 16, "B": 64},
    "reduce-tree": {"P": 8, "B": 16},
    "gemv": {"width": 4, "height": 4, "M": 32, "N": 32},
    "data-task": {"N": 40},
    "packets": {"packets": 12},
}
COLUMNS = 100   # of text in the pages
SHOWN = 0.5     # percent: rows that move no program by as much are named below the table


def cycles(image, scratch, *options):
    harness.emu(image, f"--stats={scratch}/s.json", *options)
    return harness.stats(scratch / "s.json")["cycles"]


def change(image, scratch, row, now, usual):
    """The larger change in percent, with its sign."""
    values = {max(1, now // 2), max(now + 1, 2 * now)} - {now}
    moved = [100 * (cycles(image, scratch, f"--timing={row}:{v}") / usual - 1) for v in values
             if not row.startswith("ramp_") or v <= 8]
    return max(moved, key=abs, default=0)


def table(arch):
    rows = {row: features.value({row: r}, row, arch)
            for row, r in features.read_rows().items() if r[2] == "G" and r[0]}
    found = {row: {} for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for name, params in PROGRAMS.items():
            image = scratch / f"{name}.bin"
            harness.compile(f"samples/{name}/layout.csl", image, f"--arch={arch}", params=params)
            usual = cycles(image, scratch)
            for row, now in rows.items():
                found[row][name] = change(image, scratch, row, now, usual)
    moving = {row: cells for row, cells in found.items()
              if max(map(abs, cells.values())) >= SHOWN}
    lines = [f"| assumed row, {arch} | " + " | ".join(PROGRAMS) + " |",
             "| --- |" + " --- |" * len(PROGRAMS)]
    lines += [f"| `{row}` | " + " | ".join(f"{cells[name]:+.1f} %" for name in PROGRAMS) + " |"
              for row, cells in moving.items()]
    still = ", ".join(f"`{row}`" for row in found if row not in moving)
    below = textwrap.fill(f"Below {SHOWN} % in all of them: {still}.", COLUMNS,
                          break_on_hyphens=False)
    return "\n".join(lines) + f"\n\n{below}\n"


def text():
    """Of both machines, as the page has it."""
    return "\n".join(table(arch) for arch in ("wse2", "wse3"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true")
    if parser.parse_args().update:
        report_table.write("sensitivity", text())
    else:
        print(text())


if __name__ == "__main__":
    main()
