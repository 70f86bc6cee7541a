#!/usr/bin/python3
"""The vendor's example of a matrix product over <collectives_2d> against gemm: f32, the same square
matrices on the same tiles, cycles of the whole call.  Ours takes at most half of them.

The argument, or the variable EXAMPLES, names a checkout of github.com/Cerebras/csl-examples, tag 1.4.0.
Ten seconds.

No short form: programs of others.
"""
import os
import sys
from pathlib import Path

from claims import Claims, harness
import blas_run

EXAMPLE = "benchmarks/gemm-collectives_2d/layout.csl"
SIZES = [(4, 14), (8, 14), (8, 32)]      # tiles per side, rows and columns of a block
BORDER = (7, 2)                          # fabric that the vendor's host library takes around


def vendor_cycles(claims, source, tiles, block):
    image, stats = claims.scratch / "vendor", claims.scratch / "vendor.json"
    harness.compile(source, image, "--arch=wse2", "--memcpy", "--channels=1", "--fabric-offsets=4,1",
                    f"--fabric-dims={tiles + BORDER[0]},{tiles + BORDER[1]}",
                    params={"P": tiles, "Mt": block, "Kt": block, "Nt": block})
    harness.emu(image, "--launch=main", "--run", f"--stats={stats}")
    return harness.stats(stats)["cycles"]


def main():
    folder = " ".join(sys.argv[1:]) or os.environ.get("EXAMPLES", "")
    source = Path(folder) / EXAMPLE
    if not folder or not source.exists():
        sys.exit(f"name a checkout with {EXAMPLE}, as the argument or in EXAMPLES\nFAIL")
    claims = Claims()
    (claims.scratch / "ours").mkdir()
    for tiles, block in SIZES:
        theirs = vendor_cycles(claims, source.resolve(), tiles, block)
        side = tiles * block
        ours = blas_run.check(claims.scratch / "ours",
                              blas_run.Case(side, side, side, tiles, tiles, blas_run.F32), 1).stats
        claims.at_least(f"{side} x {side} on {tiles} x {tiles} tiles: {theirs} cycles to "
                        f"{ours['cycles']}: ratio", theirs / ours["cycles"], 2)
    claims.finish()


main()
