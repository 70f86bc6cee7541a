"""Rows of the table of docs/published.md that come from other pages, which other claims keep."""
import csv
import statistics

import gemm_table
import harness

STUDY = harness.ROOT / "docs" / "study" / "fig-5.9.csv"
# The thesis, and the article of the same authors
TREE_OVER_CHAIN, TWO_PHASE_OVER_CHAIN, MODEL_ERROR = 5.1, 2.0, 4.0


def line(what, machine, published_value, ours, form="{:.2f}", unit=""):
    """A row of the table; the ratio is emulated over published."""
    shown = [form.format(value) + unit for value in (published_value, ours)]
    return [what, machine, *shown, f"{ours / published_value:.2f}"]


def gemm():
    """From the table of docs/gemm.md, which gemm_published.py keeps."""
    rows = [[cell.strip() for cell in row.strip("|\n").split("|")]
            for row in gemm_table.on_the_page("published").splitlines()[2:]]
    lines = []
    for name, at in (("MASTER", 4), ("SUMMA", 7)):
        ratios = [int(row[at + 1]) / int(row[at]) for row in rows]
        lines.append([f"Table I of \"General Matrix Multiply on CS-2\", {name}, {len(rows)} sizes",
                      "CS-2", "", f"{min(ratios):.2f} to {max(ratios):.2f} of it",
                      f"{statistics.median(ratios):.2f}"])
    return lines


def collectives():
    """From the data of docs/study.md, which study.py keeps."""
    with open(STUDY) as text:
        rows = {int(row["elements"]): row for row in csv.DictReader(text)}
    short = [int(row["chain"]) / int(row["tree"]) for B, row in rows.items() if B <= 16]
    same = rows[512]
    patterns = ("chain", "tree", "two-phase")
    errors = [100 * abs(int(row[f"{name}, model"]) / int(row[name]) - 1)
              for row in rows.values() for name in patterns]
    return [
        line("reduce of short vectors, 512 tiles: tree over chain", "simulator of wse2",
             TREE_OVER_CHAIN, max(short)),
        line("reduce of 512 elements, 512 tiles: two-phase over chain", "simulator of wse2",
             TWO_PHASE_OVER_CHAIN, int(same["chain"]) / int(same["two-phase"])),
        ["the model of reduce, 512 tiles: error", "CS-2", f"less than {MODEL_ERROR:.0f} %",
         f"mean {statistics.mean(errors):.1f} %, largest {max(errors):.1f} %", ""]]
