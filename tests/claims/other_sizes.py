#!/usr/bin/python3
"""The vendor's benchmarks pass at sizes that their scripts do not have: random rectangles, blocks and
iterations, both machines.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/sdk-examples or csl-examples.  Sizes are such
that the programs' own checks allow for the rounding, and square where a program needs that.  The seed
is from the commit; ROUNDS says how often each script runs (3).

No short form: programs of others.
"""
import os
import shutil
import sys
from pathlib import Path

import numpy

from claims import Claims, commit_seed
import examples

ROUNDS = int(os.environ.get("ROUNDS", 3))


def dims(width, height):
    return f"--fabric-dims={width + 7},{height + 2}"


def krylov(pick):
    """7 points of a grid in each direction, `z` of them in a tile."""
    width, height, z = pick(2, 9), pick(2, 9), pick(2, 12)
    return {"--fabric-dims=12,7": dims(width, height),
            "width:5,height:5,MAX_ZDIM:5": f"width:{width},height:{height},MAX_ZDIM:{z}",
            "BLOCK_SIZE:2": f"BLOCK_SIZE:{pick(1, z)}",
            "-m=5 -n=5 -k=5": f"-m={height} -n={width} -k={z}", "--zDim=5": f"--zDim={z}"}


def bandwidth(pick):
    width, height, words = pick(2, 9), pick(2, 9), pick(1, 60)
    return {"--fabric-dims=12,7": dims(width, height),
            "width:5,height:5,pe_length:5": f"width:{width},height:{height},pe_length:{words}",
            "-m=5 -n=5 -k=5": f"-m={height} -n={width} -k={words}"}


def cholesky(pick):
    side = pick(2, 9)
    return {"--fabric-dims=17,12": dims(side, side), "P:10,Nt:4": f"P:{side},Nt:{pick(1, 4)}"}


def gemm(pick):
    side = pick(2, 7)
    m, k, n = (2 * pick(1, 9) for _ in range(3))
    return {"--fabric-dims=11,6": dims(side, side),
            "P:4,Mt:14,Kt:14,Nt:14": f"P:{side},Mt:{m},Kt:{k},Nt:{n}"}


def gemv(pick, side=None):
    height, width = (side, side) if side else (pick(2, 6), pick(2, 6))
    return {"--fabric-dims=11,6": dims(width, height),
            "kernel_rows:4,kernel_cols:4,matrix_rows:32,matrix_cols:16":
                f"kernel_rows:{height},kernel_cols:{width},matrix_rows:{height * pick(1, 9)},"
                f"matrix_cols:{width * pick(1, 5)}"}


def checkerboard(pick):
    """Its tiles count elements of x by the rows of tiles, so rows and columns must be as many."""
    return gemv(pick, side=2 * pick(1, 3))


def life(pick):
    """The host's array has x first, so the rectangle must be a square.  One generation never ends."""
    side = pick(4, 14)
    return {"--fabric-dims=19,14": dims(side, side), "x_dim:12,y_dim:12": f"x_dim:{side},y_dim:{side}",
            "glider --iters 20": f"random --iters {pick(2, 30)}"}


def fft_lines(pick):
    return {"DIM:1,Nz:4": f"DIM:1,Nz:{2 ** pick(1, 4)}"}


def histogram(pick):
    return {"INPUT_SIZE:16": f"INPUT_SIZE:{pick(2, 60)}"}


BENCHMARKS = {
    "7pt-stencil-spmv": krylov, "bicgstab": krylov, "conjugate-gradient": krylov,
    "power-method": krylov, "preconditioned-conjugate-gradient": krylov, "bandwidth-test": bandwidth,
    "cholesky": cholesky, "gemm-collectives_2d": gemm, "gemv-collectives_2d": gemv,
    "gemv-checkerboard-pattern": checkerboard, "game-of-life": life, "fft-1d-2d": fft_lines,
    "histogram-torus": histogram,
}


def resize(script, sizes, pick):
    """Writes other sizes into the script; returns them."""
    text, other = script.read_text(), sizes(pick)
    for old, new in other.items():
        assert old in text, f"{script} has no {old}"
        text = text.replace(old, new)
    script.write_text(text)
    return " ".join(other.values())


def run_round(claims, root, random):
    """Results of all scripts, and the sizes by script."""
    copy = claims.scratch / "tree"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git"))
    chosen = {}
    for name, sizes in BENCHMARKS.items():
        for script in sorted((copy / "benchmarks" / name).glob("commands_wse*.sh")):
            chosen[str(script.relative_to(copy))] = resize(
                script, sizes, lambda least, most: int(random.integers(least, most + 1)))
    for other in copy.rglob("commands*.sh"):
        if str(other.relative_to(copy)) not in chosen:
            other.unlink()
    results = examples.run(claims, copy)
    shutil.rmtree(copy)
    return results, chosen


def main():
    root = os.environ.get("CONFORMANCE_DIR")
    if not root:
        sys.exit("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/sdk-examples\nFAIL")
    claims, ran, failed = Claims(), 0, 0
    for round_ in range(ROUNDS):
        results, sizes = run_round(claims, Path(root), numpy.random.default_rng([commit_seed(), round_]))
        ran += len(results)
        for result in results:
            if result["outcome"] != "passed":
                failed += 1
                print(f"  failed with {sizes[result['script']]}", flush=True)
    claims.at_least("scripts at other sizes", ran, 20 * ROUNDS)
    claims.equals("of them failed", failed, 0)
    claims.finish()


main()
