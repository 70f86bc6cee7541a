#!/usr/bin/env python3
"""Draws figures 12 to 14 of "General Matrix Multiply on CS-2" from the equations, and the cycles of
this project's gemm under them.

    cs_python samples/gemm/roofline.py --out=gemm-out

Each figure is a CSV, an SVG and a PNG.  Needs python3-matplotlib.
"""
import argparse
import csv
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy
from matplotlib import pyplot
from wse_blas import gemm

matplotlib.use("Agg")

SIMD = 4
SIDES = [10, 20, 50, 100, 200, 400, 700]          # tiles per side
BLOCKS = [(70, 10), (10, 70), (70, 70)]           # NB and KB, with MB = 70
SQUARES = [64, 128, 256, 512, 1024]               # M = N = K
VECTORS = {"MASTER": 1, "MASTER_OPT": 2, "SUMMA_VECTOR": 3, "SUMMA_VECTOR2": 4,
           "SUMMA_VECTOR_OPT": 5}
PANELS = {"MASTER": 1, "MASTER_OPT": 2, "SUMMA_BLOCK": 6, "SUMMA_BLOCK2": 7, "SUMMA_BLOCK_OPT": 8}
IDEALS = {"MASTER_IDEAL": 2, "SUMMA_IDEAL": 9}
MEASURED_TILES = 4
MEASURED_BLOCKS = [4, 8, 16, 24, 32]


def efficiency(M, N, K, side, equation):
    """Share of the peak that the equation gives: the arithmetic's cycles over all."""
    cycles = int(subprocess.run(["wse-model", "gemm", f"--size={M}x{N}x{K}", f"--pes={side}",
                                 f"--equation={equation}"], capture_output=True, text=True,
                                check=True).stdout)
    return M * N * K / side ** 2 / SIMD / cycles


def by_side(NB, KB, equations):
    return {name: [efficiency(70 * p, NB * p, KB * p, p, equation) for p in SIDES]
            for name, equation in equations.items()}


def show_progress(done, all_of_them):
    """A bar on a terminal's stderr."""
    if sys.stderr.isatty():
        print(f"\rmeasuring [{'#' * done}{'.' * (all_of_them - done)}]", end="", file=sys.stderr)
        if done == all_of_them:
            print(file=sys.stderr)


def measured():
    """Share of the peak of gemm with square blocks, K = 4 blocks; numpy-checked."""
    shares = []
    for count, block in enumerate(MEASURED_BLOCKS):
        show_progress(count, len(MEASURED_BLOCKS))
        side = MEASURED_TILES * block
        A, B = numpy.ones((side, side), numpy.float16), numpy.ones((side, side), numpy.float16)
        result = gemm(A, B, tiles=(MEASURED_TILES, MEASURED_TILES), progress=False)
        assert (result.C == side).all()
        shares.append(block * block * side / SIMD / result.cycles)
    show_progress(len(MEASURED_BLOCKS), len(MEASURED_BLOCKS))
    return shares


def draw(out, name, xs, x_label, curves):
    with open(out / f"{name}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([x_label, *curves])
        table.writerows([x, *(f"{values[i]:.4f}" for values in curves.values())]
                        for i, x in enumerate(xs))
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for label, values in curves.items():
        axes.plot(xs, values, marker="o", markersize=3, label=label)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set(xlabel=x_label, ylabel="share of the fmach peak", ylim=(0, 1.05), xscale="log",
             title=name)
    axes.set_xticks(xs, [str(x) for x in xs])
    axes.minorticks_off()
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(out / f"{name}.svg")
    figure.savefig(out / f"{name}.png", dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gemm-out"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for NB, KB in BLOCKS:
        draw(out, f"fig-12-NB{NB}-KB{KB}", SIDES, "tiles per side", by_side(NB, KB, VECTORS))
        draw(out, f"fig-13-NB{NB}-KB{KB}", SIDES, "tiles per side", by_side(NB, KB, PANELS))
    for side in (16, 32, 64):
        draw(out, f"fig-14-{side}-tiles", SQUARES, "M = N = K",
             {name: [efficiency(n, n, n, side, equation) for n in SQUARES]
              for name, equation in IDEALS.items()})
    sides = [MEASURED_TILES * block for block in MEASURED_BLOCKS]
    draw(out, "roofline", MEASURED_BLOCKS, "MB = NB = KB",
         {"gemm, measured": measured(),
          **{name: [efficiency(n, n, n, MEASURED_TILES, equation) for n in sides]
             for name, equation in IDEALS.items()}})


if __name__ == "__main__":
    main()
