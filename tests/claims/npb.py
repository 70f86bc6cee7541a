#!/usr/bin/python3
"""IS of the NAS parallel benchmarks, class S, on 16, 32 and 64 tiles: ten iterations whose results are
those of the benchmark's specification, and fewer cycles on more tiles up to 32.  1 minute.
"""
from claims import Claims
import npb_run

ITERATIONS = 10
TILES = (16, 32, 64)


def main():
    claims = Claims()
    cycles = {}
    for tiles in TILES:
        cycles[tiles] = npb_run.run_is(claims.scratch, tiles, ITERATIONS)      # raises if it differs
        claims.at_least(f"IS, class S, {tiles} tiles: verified iterations, {cycles[tiles]} cycles",
                        ITERATIONS, ITERATIONS)
    claims.at_most("IS on 32 tiles: cycles against those on 16", cycles[32] / cycles[16], 1.0)
    claims.finish()


main()
