#!/usr/bin/python3
"""Published results of wafers and of the vendor's simulator, beside ours: the table of docs/published.md.

Each program's result is compared with numpy's; ratios of emulated to published are printed and have no
bound of their own.  --update writes the table.  PUBLISHED_FULL=1 also transforms a cube of 128^3 on
128 x 128 tiles.  About five minutes, most of them for the programs of 600 x 595 tiles.

Short form: test_published.py::test_quick_rows_of_the_page_are_current.
"""
import os
import sys

from claims import Claims, harness
import gemm_table
import published_rows
import published_run as published
from published_rows import line

PAGE = harness.ROOT / "docs" / "published.md"
MEGAHERTZ = 850                   # CS-2
TILES = 850_000                   # of a WSE-2
THREADS = 2

# "Fast Stencil-Code Computation on a Wafer-Scale Processor": 0.86 PFLOPS, about a third of the peak.
MESH = (600, 595, 1536)
SHARE_OF_PEAK = 1 / 3
OPERATIONS = 44                   # per point and iteration: two products, four dots, six axpys
PEAK_F16 = 8                      # operations per cycle and tile: multiply and add on four elements
# "Massively scalable stencil algorithm"
STENCIL_FLOPS = 503e12
OPERATIONS_OF_STAR = 53           # 24 multiply-adds, the centre, and the step in time
PEAK_F32 = 2
# "Wafer-Scale Fast Fourier Transforms"
FFT_SIDE, FFT_MICROSECONDS = 512, 959
# siddharthbc/CSR-graph-coloring, spikes/experiments/allreduce_spike/RESULTS.md: 100 calls
ALLREDUCES = {2: 73506, 4: 87406, 8: 128206}

HEAD = ["what", "machine", "published", "emulated", "ratio"]


# ---- programs ------------------------------------------------------------------------------------

def check_bicgstab(claims, found, where):
    claims.at_most(f"BiCGSTAB, {where}: error of the solution", found["error"], 0.01)
    claims.at_most(f"BiCGSTAB, {where}: error of rho", found["rho"], 0.005)
    return found["cycles"]


def bicgstab(claims, folder):
    """Columns are as long as in the paper on 16 x 16 tiles; what the sums over 600 x 595 tiles take more
    comes from short columns there."""
    width, height, Z = MESH
    runs = [(16, 16, Z, 2), (16, 16, 16, 2), (width, height, 16, 1)]
    whole, short, far = (check_bicgstab(
        claims, published.run_bicgstab(folder, *run, threads=THREADS),
        f"{run[0]} x {run[1]} x {run[2]}") for run in runs)
    cycles = whole + far - short
    print(f"BiCGSTAB: {cycles:.0f} cycles per iteration; {far - short:.0f} of them for the distance")
    share = OPERATIONS * Z / (PEAK_F16 * cycles)
    return [line("BiCGSTAB, 600 x 595 x 1536 points, f16: share of the peak", "CS-1", SHARE_OF_PEAK,
                 share)]


def stencil(claims, folder):
    Z = 1000
    found = published.run_stencil(folder, 12, 12, Z, 2, threads=THREADS)
    claims.at_most("stencil of 25 points: error", found["error"], 1e-5)
    per_point = found["cycles"] / Z
    print(f"stencil: {per_point:.1f} cycles per point and step")
    return [line("stencil of 25 points, columns of 1000, f32: share of the peak", "CS-2",
                 STENCIL_FLOPS / (TILES * MEGAHERTZ * 1e6 * PEAK_F32),
                 OPERATIONS_OF_STAR / per_point / PEAK_F32)]


def fft(claims, folder):
    for side in (32, 64) + ((128,) if os.environ.get("PUBLISHED_FULL") else ()):
        whole = published.run_fft(folder, side, threads=THREADS)
        row = published.run_fft_row(folder, side)
        claims.at_most(f"transform of {side}^3: error", whole["error"], 1e-6)
        claims.equals(f"transform of {side}^3: cycles on all tiles, as one row says",
                      whole["cycles"], row["cycles"])
    row = published.run_fft_row(folder, FFT_SIDE)
    claims.at_most(f"transform of one row of {FFT_SIDE}: error", row["error"], 2e-6)
    print(f"transform of {FFT_SIDE}^3: {row}")
    return [line(f"Fourier transform of {FFT_SIDE}^3 numbers, f32: microseconds", "CS-2",
                 FFT_MICROSECONDS, row["cycles"] / MEGAHERTZ, "{:.0f}")]


def allreduces(_claims, folder):
    return [line(f"allreduce of one number, {side} x {side} tiles: cycles", "simulator of wse3",
                 total / 100, published.run_allreduce(folder, side, side, 100), "{:.0f}")
            for side, total in ALLREDUCES.items()]


def main():
    claims = Claims()
    lines = []
    for measure in (allreduces, stencil, fft, bicgstab):
        lines += measure(claims, claims.scratch)
    table = gemm_table.table_of([HEAD, *published_rows.collectives(), *published_rows.gemm(), *lines])
    print(table)
    if "--update" in sys.argv:
        gemm_table.write_to_page("published", table, PAGE)
    claims.equals("the page has this table", gemm_table.on_the_page("published", PAGE) == table, True)
    claims.finish()


if __name__ == "__main__":
    main()
