#!/usr/bin/python3
"""gemm on 256 x 256 tiles, f16, blocks of 16 x 16, K = 4096: right, at 80 % of the peak of the fmach
unit or better, and emulated at 25 M active tile-cycles per second or more on one thread.

TILES and INNER set other numbers.  About half an hour.

Short form: test_blas.py::test_a_row_of_the_page_is_what_the_product_takes.
"""
import os

from claims import Claims
import blas_run

TILES = int(os.environ.get("TILES", "256"))
INNER = int(os.environ.get("INNER", "4096"))
BLOCK = 16
SIMD = 4
MOST_SECONDS = 3 * 3600


def main():
    claims = Claims()
    folder = claims.scratch / "run"
    folder.mkdir()
    case = blas_run.Case(TILES * BLOCK, TILES * BLOCK, INNER, TILES, TILES)
    result = blas_run.check(folder, case, seed=1, emu=("--threads=1",), timeout=MOST_SECONDS)
    groups = BLOCK * BLOCK * INNER / SIMD
    claims.at_least("of the peak", groups / result.cycles, 0.8)
    claims.at_least("active tile-cycles per second",
                    result.stats["active_tile_cycles_per_second"], 25e6)
    claims.finish()


main()
