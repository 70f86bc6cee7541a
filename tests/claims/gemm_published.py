#!/usr/bin/python3
"""SUMMA by vectors beside the measured column of Table I of "General Matrix Multiply on CS-2": f16,
wse2, within 10 % of each published number; each product compared with numpy.

Cycles from the first tile's first instruction to the last tile's end.  MASTER, the other column, is
not in the library.  Two minutes.
"""
from claims import Claims
from gemm_table import ROWS
import blas_run

MOST_OFF = 0.10


def main():
    claims = Claims()
    folder = claims.scratch / "run"
    folder.mkdir()
    for row in ROWS:
        case = blas_run.Case(row.M, row.N, row.K, row.tiles, row.tiles)
        cycles = blas_run.check(folder, case, seed=row.K, algorithm=1).cycles
        claims.within(f"K {row.K}, N {row.N}, M {row.M}: {cycles} cycles, published {row.summa}: ratio",
                      cycles / row.summa, 1 - MOST_OFF, 1 + MOST_OFF)
    claims.finish()


main()
