#!/usr/bin/env python3
"""Draws figures 12 to 14 of "General Matrix Multiply on CS-2" from its equations, with the measured
cycles of this project's gemm beside them, and a roofline of products whose blocks grow.

    cs_python samples/gemm/roofline.py --out=gemm-out

Each figure is a CSV, an SVG and a PNG.  Needs python3-matplotlib; shows a bar if there is python3-tqdm.
"""
import argparse
import csv
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy
from wse_blas import gemm

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

SIMD = 4                                          # 16-bit multiplications and additions of a cycle
MB = 70                                           # of figures 12 and 13, as in the paper
BLOCKS = [(70, 10), (10, 70), (70, 70)]           # NB and KB
SIDES = [5, 10, 20, 50, 100, 200, 400, 700]       # tiles per side
SQUARES = [64, 128, 256, 512, 1024, 2048]         # M = N = K
SQUARE_SIDES = [16, 32, 64]
VECTORS = {"MASTER": 1, "MASTER_OPT": 2, "SUMMA_VECTOR": 3, "SUMMA_VECTOR2": 4, "SUMMA_VECTOR_OPT": 5}
PANELS = {"MASTER": 1, "MASTER_OPT": 2, "SUMMA_BLOCK": 6, "SUMMA_BLOCK2": 7, "SUMMA_BLOCK_OPT": 8}
IDEALS = {"MASTER_IDEAL": 2, "SUMMA_IDEAL": 9}
MEASURED = {"gemm, measured": "auto", "gemm_summa_block, measured": "summa_block",
            "gemm_master_block, measured": "master_block"}
ROOFLINE_SIDE = 8                                 # tiles
ROOFLINE_BLOCKS = [2, 4, 8, 12, 16, 24, 32, 48]   # MB = NB


@dataclass(frozen=True)
class Product:
    """A square of side x side tiles, each with blocks of MB, NB and KB."""
    side: int
    M: int
    N: int
    K: int
    algorithm: str = "auto"

    def share(self, cycles):
        """Share of the peak: the arithmetic's cycles over all."""
        return self.M * self.N * self.K / self.side ** 2 / SIMD / cycles

    def predicted(self, equation):
        done = subprocess.run(["wse-model", "gemm", f"--size={self.M}x{self.N}x{self.K}",
                               f"--pes={self.side}", f"--equation={equation}"],
                              capture_output=True, text=True, check=True)
        return self.share(int(done.stdout))

    def measured(self):
        """The same on the tiles, of small whole numbers: the product is exact."""
        random = numpy.random.default_rng(self.M + self.N)
        A, B = (random.integers(0, 2, shape).astype(numpy.float16)
                for shape in ((self.M, self.K), (self.K, self.N)))
        result = gemm(A, B, tiles=(self.side, self.side), algorithm=self.algorithm, progress=False)
        if (result.C != A.astype(numpy.float32) @ B.astype(numpy.float32)).any():
            sys.exit(f"roofline.py: {self} is not numpy's product")
        return self.share(result.cycles)


@dataclass
class Curve:
    label: str
    points: dict                      # x: Product
    equation: int = 0                 # 0: measured
    values: dict = field(default_factory=dict)


@dataclass
class Panel:
    title: str
    x: str
    curves: list


def by_side(NB, KB, equations, measured, sides):
    product = lambda side, algorithm: Product(side, MB * side, NB * side, KB * side, algorithm)
    return Panel(f"MB = {MB}, NB = {NB}, KB = {KB}", "tiles per side",
                 [Curve(label, {side: product(side, "auto") for side in SIDES}, equation)
                  for label, equation in equations.items()]
                 + [Curve(label, {side: product(side, MEASURED[label]) for side in sides})
                    for label in measured])


def by_size(side, measured_sizes):
    return Panel(f"{side} x {side} tiles", "M = N = K",
                 [Curve(label, {n: Product(side, n, n, n) for n in SQUARES}, equation)
                  for label, equation in IDEALS.items()]
                 + [Curve("gemm, measured", {n: Product(side, n, n, n) for n in measured_sizes})])


def roofline(blocks):
    """K = 16 MB: the work of a word that comes in grows with the block."""
    side = ROOFLINE_SIDE
    products = {block: Product(side, side * block, side * block, 16 * block) for block in blocks}
    return Panel(f"{side} x {side} tiles, K = 16 MB", "MB = NB",
                 [Curve("gemm, measured", products),
                  *(Curve(label, products, equation) for label, equation in IDEALS.items())])


def figures(is_small):
    sides = [5] if is_small else [5, 10]
    three = list(MEASURED)[1:]
    return {
        "fig-12": [by_side(NB, KB, VECTORS, [], []) for NB, KB in BLOCKS],
        "fig-13": [by_side(NB, KB, PANELS, three, sides if NB * KB < MB * MB else sides[:1])
                   for NB, KB in BLOCKS],
        "fig-14": [by_size(side, [n for n in SQUARES if n <= (1024 if is_small else 8192) // side])
                   for side in SQUARE_SIDES],
        "roofline": [roofline(ROOFLINE_BLOCKS[:3] if is_small else ROOFLINE_BLOCKS)],
    }


def bar(jobs):
    try:
        from tqdm import tqdm
    except ImportError:
        return jobs
    return tqdm(jobs, unit="product", disable=None)


def measure(panels):
    curves = [curve for panel in panels for curve in panel.curves]
    for curve in curves:
        if curve.equation:
            curve.values = {x: product.predicted(curve.equation) for x, product in curve.points.items()}
    for curve, x in bar([(curve, x) for curve in curves if not curve.equation for x in curve.points]):
        curve.values[x] = curve.points[x].measured()


def write_csv(path, panels):
    with path.open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["panel", "curve", panels[0].x, "share of the peak"])
        for panel in panels:
            for curve in panel.curves:
                rows.writerows([panel.title, curve.label, x, f"{value:.4f}"]
                               for x, value in curve.values.items())


def draw(path, title, panels):
    # The same data give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "gemm", "svg.fonttype": "none", "font.size": 9})
    drawing, every = pyplot.subplots(1, len(panels), figsize=(max(6, 4.2 * len(panels)), 4), sharey=True,
                                     squeeze=False)
    for axes, panel in zip(every[0], panels):
        for curve in panel.curves:
            style = "--" if curve.equation else "o-"
            axes.plot(list(curve.values), list(curve.values.values()), style, label=curve.label,
                      markersize=4, linewidth=1.2)
        xs = sorted({x for curve in panel.curves for x in curve.points})
        axes.set(xscale="log", xlabel=panel.x, title=panel.title, ylim=(0, 1.02))
        axes.set_xticks(xs, [str(x) for x in xs], fontsize=7)
        axes.minorticks_off()
        axes.grid(True, which="major", linewidth=0.4)
    every[0][0].set_ylabel("share of the fmach peak")
    every[0][0].legend(fontsize=7)
    drawing.suptitle(title, fontsize=10)
    drawing.tight_layout()
    for form in ("svg", "png"):
        drawing.savefig(f"{path}.{form}", dpi=120, metadata={"Date": None} if form == "svg" else None)
    pyplot.close(drawing)


TITLES = {
    "fig-12": "Figure 12: MASTER and SUMMA by vectors, equations 1 to 5",
    "fig-13": "Figure 13: MASTER and SUMMA by blocks, equations 1, 2, 6 to 8",
    "fig-14": "Figure 14: the ideals of square products, equations 2 and 9",
    "roofline": "gemm: share of the peak by the size of the blocks",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gemm-out"), help="folder of the figures")
    parser.add_argument("--small", action="store_true", help="few and small products: seconds")
    args = parser.parse_args()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        sys.exit(f"roofline.py: '{wrong.filename}': {wrong.strerror}")
    for name, panels in figures(args.small).items():
        measure(panels)
        write_csv(args.out / f"{name}.csv", panels)
        draw(args.out / name, TITLES[name], panels)


if __name__ == "__main__":
    main()
