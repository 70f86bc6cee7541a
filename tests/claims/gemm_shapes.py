#!/usr/bin/python3
"""<blas/gemm> against numpy: 2,000 random products.

M, N, K log-uniform from 1 to 600, rectangles of 1 x 1 to 32 x 32 tiles, all element types, both
machines, with and without alpha and beta, all algorithms, B resident or streamed.  A product that does
not fit into the tiles' memory must be refused with the number of bytes that are missing; nothing else
is refused.  The seed is from the commit.  SHAPES sets another number, FIRST the first of them (so that
parts make a whole), SEED another seed.  Four minutes on two cores.

Short form: test_blas.py::test_random_products.
"""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy

from claims import Claims, commit_seed, harness
import blas_run

SHAPES = int(os.environ.get("SHAPES", "2000"))
FIRST = int(os.environ.get("FIRST", "0"))
MOST_SIDE = 600
MOST_TILES = 32
# Algorithm and stationary matrix: half of the products leave the choice to the library.
CHOICES = [(blas_run.AUTO, blas_run.ANY)] * 6 + [
    (blas_run.SUMMA_BLOCK, blas_run.ANY), (blas_run.SUMMA, blas_run.C_STAYS),
    (blas_run.MASTER_BLOCK, blas_run.ANY), (blas_run.MASTER, blas_run.A_STAYS),
    (blas_run.AUTO, blas_run.B_STAYS), (blas_run.MASTER, blas_run.B_STAYS)]

# The plan says so, or the compiler about the tile that holds all of streamed B.
REFUSALS = ["bytes more than a tile has", "bytes too many"]


def random_case(random):
    side = lambda: int(numpy.exp(random.uniform(0, numpy.log(MOST_SIDE + 1))))
    tiles = lambda: int(random.integers(1, MOST_TILES + 1))
    algorithm, stationary = CHOICES[random.integers(len(CHOICES))]
    case = blas_run.Case(side(), side(), side(), tiles(), tiles(),
                         int(random.integers(len(blas_run.NAMES))), int(random.integers(2)),
                         str(random.choice(["wse2", "wse3"])), algorithm=algorithm,
                         stationary=stationary, streamed=int(random.integers(4) == 0))
    if case.scaled:
        # multiples that every format has, as alpha and beta are elements, too
        case.alpha, case.beta = (int(random.integers(-16, 17)) / 8 for _ in range(2))
    return case


def divides(case):
    return case.M % case.height == 0 and case.N % case.width == 0 and case.K % case.width == 0


def outcome(folder, case, seed):
    """Whether it is right, or too large for the tiles' memory; raises if it is wrong, or refused for
    another reason."""
    try:
        blas_run.check(folder, case, seed=seed)
    except AssertionError as failure:
        if any(text in str(failure) for text in REFUSALS):
            return "refused"
        raise
    return "right"


def main():
    claims = Claims()
    seed = commit_seed()
    print(f"seed {seed}")

    def one(i):
        case = random_case(numpy.random.default_rng([seed, i]))
        folder = claims.scratch / str(i)
        folder.mkdir()
        try:
            return outcome(folder, case, i), case
        except AssertionError as failure:
            print(f"product {i}: {failure}"[:3000], flush=True)
            return "wrong", case
        finally:
            for path in folder.glob("*"):
                path.unlink()

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(one, range(FIRST, FIRST + SHAPES)))
    count = lambda what: sum(result == what for result, _ in results)
    print(f"{count('right')} right, {count('refused')} too large for the tiles' memory")
    claims.equals("products that are wrong, or refused for another reason", count("wrong"), 0)
    claims.at_least("right ones", count("right"), SHAPES * 3 // 4)
    odd = sum(not divides(case) for _, case in results)
    claims.at_least("whose parts do not divide", odd, SHAPES // 2)
    claims.finish()


if __name__ == "__main__":
    main()
