#!/usr/bin/python3
"""NAS parallel benchmarks, class S.  IS on 16, 32 and 64 tiles: ten iterations whose results are
those of the benchmark's specification, and fewer cycles on more tiles up to 32; with 1,024 keys
per tile, at most twice the cycles on 64 tiles of those on 8.  EP on 64 tiles:
sums to 6 digits and counts to 1 in 100,000.  CG on 32 and 64 tiles: 15 iterations, zeta to 6
digits.  MG on 16 and 32 tiles: the norm to 5 digits.  FT on 16 x 16 and 32 x 16 tiles: six
checksums to 6 digits.  LU on 4, 10, 25 and 50 tiles: norms of the residual to 3 digits, of the
error to 4, the integral to 6.  16 minutes.

Short form: test_npb.py::test_integer_sort.
"""
from claims import Claims
import npb_run

ITERATIONS = 10
TILES = (16, 32, 64)
LOG_KEYS_BY_TILES = {8: 13, 16: 14, 32: 15, 64: 16}     # weak scaling
EP_TILES = 64
CG_TILES = (32, 64)
MG_TILES = (16, 32)
FT_TILES = ((16, 16), (32, 16))
LU_TILES = ((2, 2), (5, 2), (5, 5), (10, 5))


def main():
    claims = Claims()
    cycles = {}
    for tiles in TILES:
        # A difference raises.
        cycles[tiles] = npb_run.run_is(claims.scratch, tiles, ITERATIONS)
        claims.at_least(f"IS, class S, {tiles} tiles: verified iterations, {cycles[tiles]} cycles",
                        ITERATIONS, ITERATIONS)
    claims.at_most("IS on 32 tiles: cycles against those on 16", cycles[32] / cycles[16], 1.0)
    cycles = {tiles: npb_run.run_is(claims.scratch, tiles, 2, log_keys=log_keys)
              for tiles, log_keys in LOG_KEYS_BY_TILES.items()}
    claims.at_most("IS, two iterations of 1,024 keys per tile: " + ", ".join(
        f"{took} cycles on {tiles} tiles" for tiles, took in cycles.items()) + ": last by first",
                   cycles[64] / cycles[8], 2.0)
    of_sums, of_counts, took = npb_run.run_ep(claims.scratch, EP_TILES, npb_run.EP_CLASS_S)
    claims.at_most(f"EP on {EP_TILES} tiles, {took} cycles: relative error of the sums", of_sums,
                   1e-6)
    claims.at_most("EP: error of a count, of all pairs", of_counts, 1e-5)
    cycles = {}
    for tiles in CG_TILES:
        error, cycles[tiles] = npb_run.run_cg(claims.scratch, tiles, npb_run.CG_ITERATIONS)
        claims.at_most(f"CG, class S, {tiles} tiles, {cycles[tiles]} cycles: relative error of zeta",
                       error, 1e-6)
    claims.at_most("CG on 64 tiles: cycles against those on 32", cycles[64] / cycles[32], 1.0)
    cycles = {}
    for tiles in MG_TILES:
        error, cycles[tiles] = npb_run.run_mg(claims.scratch, tiles, npb_run.MG_ITERATIONS)
        claims.at_most(f"MG, class S, {tiles} tiles, {cycles[tiles]} cycles: relative error of the "
                       "norm", error, 1e-5)
    claims.at_most("MG on 32 tiles: cycles against those on 16", cycles[32] / cycles[16], 1.0)
    cycles = {}
    for size in FT_TILES:
        error, cycles[size] = npb_run.run_ft(claims.scratch, size, npb_run.FT_CLASS_S,
                                             len(npb_run.FT_SUMS))
        claims.at_most(f"FT, class S, {size[0]} x {size[1]} tiles, {cycles[size]} cycles: relative "
                       "error of a checksum", error, 1e-6)
    claims.at_most("FT on 512 tiles: cycles against those on 256",
                   cycles[32, 16] / cycles[16, 16], 1.0)
    cycles = []
    for size in LU_TILES:
        off, took = npb_run.run_lu(claims.scratch, size, npb_run.LU_ITERATIONS)
        cycles.append(took)
        for (name, bound), value in zip(npb_run.LU_BOUNDS.items(), off):
            claims.at_most(f"LU, class S, {size[0]} x {size[1]} tiles, {took} cycles: relative "
                           f"error of the {name}", value, bound)
    claims.equals("LU: cycles fall with more tiles", cycles == sorted(cycles, reverse=True), True)
    claims.finish()


main()
