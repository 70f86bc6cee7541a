#!/usr/bin/python3
"""The choice of <blas/layout>: for random products, the plan that `auto` takes needs at most 5 % more
cycles on average than the faster of gemm_summa_block and gemm_master_block, and the prediction is off by
at most 20 % in the median.  The seed is from the commit.  SHAPES sets another number of products, SEED
another seed.  Five minutes.

Short form: test_blas.py::test_choice.
"""
import os
import statistics
import subprocess

import numpy

from claims import Claims, commit_seed, harness
import blas_run
from blas_run import Case

SHAPES = int(os.environ.get("SHAPES", "60"))
NAMES = {blas_run.SUMMA_BLOCK: "gemm_summa_block", blas_run.MASTER_BLOCK: "gemm_master_block"}
SIMD = {"wse2": 4, "wse3": 8}


def random_case(random):
    side = lambda: int(numpy.exp(random.uniform(numpy.log(4), numpy.log(600))))
    return Case(side(), side(), side(), *map(int, random.integers(1, 13, 2)),
                arch=str(random.choice(["wse2", "wse3"])))


def predictions(case):
    """{name: cycles} of the plans that fit."""
    out = harness.run([harness.tool("wse-model"), "gemm", f"--size={case.M}x{case.N}x{case.K}",
                       f"--grid={case.width}x{case.height}", f"--simd={SIMD[case.arch]}"]).out
    lines = (line.split(": ") for line in out.splitlines())
    return {name: int(cycles) for name, cycles in lines if name in NAMES.values()}


def main():
    claims = Claims()
    random = numpy.random.default_rng(commit_seed())
    excess, errors = [], []
    while len(excess) < SHAPES:
        case = random_case(random)
        expected = predictions(case)
        if len(expected) < len(NAMES):
            continue
        taken = {}
        for algorithm, name in NAMES.items():
            fixed = Case(**{**vars(case), "algorithm": algorithm})
            taken[name] = blas_run.check(claims.scratch, fixed, 1).cycles
            errors.append(abs(expected[name] / taken[name] - 1))
        chosen = blas_run.check(claims.scratch, case, 1)
        name = NAMES[chosen.shape.algorithm]
        assert name == min(expected, key=expected.get) or len(set(expected.values())) == 1
        excess.append(taken[name] / min(taken.values()) - 1)
    print(f"{sum(e == 0 for e in excess)} of {SHAPES} choices are the faster plan")
    claims.at_most("mean of the cycles above the faster plan's", statistics.mean(excess), 0.05)
    claims.at_most("median error of the prediction", statistics.median(errors), 0.2)
    claims.finish()


main()
