#!/usr/bin/python3
"""gemv, ger, axpy, scal, dot and nrm2 of wse_blas against numpy: 2,000 random calls.

Sides log-uniform from 1 to 600, vectors up to 20,000 elements, rectangles of 1 x 1 to 12 x 12 tiles, all
element types, both machines, with and without alpha and beta; most parts are unequal, and some problems
take several pieces.  Each result within the error bound of the sum's format.  The seed is from the
commit.  SHAPES sets another number, FIRST the first of them, SEED another seed.  Three minutes.

Short form: test_blas_python.py::test_random_calls_with_vectors.
"""
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy

from claims import Claims, commit_seed, harness

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))

SHAPES = int(os.environ.get("SHAPES", "2000"))
FIRST = int(os.environ.get("FIRST", "0"))
MOST_SIDE, MOST_LENGTH, MOST_TILES = 600, 20000, 12
# Unit roundoff of elements and of sums, and the smallest number above zero.
FORMATS = {"f16": (2.0 ** -11, 2.0 ** -11, 2.0 ** -24), "f16_f32": (2.0 ** -11, 2.0 ** -24, 2.0 ** -24),
           "f32": (2.0 ** -24, 2.0 ** -24, 2.0 ** -149), "bf16": (2.0 ** -8, 2.0 ** -8, 2.0 ** -133),
           "bf16_f32": (2.0 ** -8, 2.0 ** -24, 2.0 ** -133)}
OF_RESULTS = 2.0 ** -24          # dot and nrm2 add up in f32


class Call:
    """Random arguments of an operation, its result, and how far from it the call may be."""

    def __init__(self, random):
        self.random = random
        self.operation = str(random.choice(["gemv", "gemv", "ger", "axpy", "scal", "dot", "nrm2"]))
        names = list(FORMATS) if self.operation == "gemv" else ["f16", "f32", "bf16"]
        element = str(random.choice(names))
        self.unit, self.of_sums, self.smallest = FORMATS[element]
        most = 2 if random.integers(3) == 0 else MOST_TILES      # few tiles take large problems in pieces
        self.options = {"element": element, "arch": str(random.choice(["wse2", "wse3"])),
                        "tiles": tuple(int(n) for n in random.integers(1, most + 1, 2))}
        # Every format has these as they are.
        self.alpha, self.beta = (int(random.integers(-16, 17)) / 8 for _ in range(2))
        if random.integers(2):
            self.alpha, self.beta = 1.0, 0.0
        self.sides = [self._side(MOST_SIDE), self._side(MOST_SIDE)]
        self.length = self._side(MOST_LENGTH)

    def __str__(self):
        return f"{self.operation} {self.sides} {self.length} {self.alpha} {self.beta} {self.options}"

    def _side(self, most):
        return int(numpy.exp(self.random.uniform(0, numpy.log(most + 1))))

    def numbers(self, *shape):
        """With 8 significant bits, which all formats have."""
        drawn = self.random.uniform(-1, 1, shape).astype(numpy.float32)
        return (drawn.view(numpy.uint32) & numpy.uint32(0xffff0000)).view(numpy.float32).astype(float)

    def has_unequal_parts(self):
        width, height = self.options["tiles"]
        if self.operation in ("gemv", "ger"):
            return self.sides[0] % height != 0 or self.sides[1] % width != 0
        return self.length % (width * height) != 0

    def check(self, blas):
        """Pieces that the call took; raises if the result is too far off."""
        result, wanted, bound = getattr(self, self.operation)(blas)
        off = numpy.abs(numpy.asarray(result.value, float) - wanted)
        if not (off <= bound).all():
            raise AssertionError(f"off by {off.max()}")
        return result.pieces

    def gemv(self, blas):
        M, N = self.sides
        A, x, y = self.numbers(M, N), self.numbers(N), self.numbers(M)
        result = blas.gemv(A, x, y, alpha=self.alpha, beta=self.beta, **self.options)
        wanted = self.alpha * (A @ x) + self.beta * y
        size = abs(self.alpha) * (numpy.abs(A) @ numpy.abs(x)) + abs(self.beta) * numpy.abs(y)
        # Each piece of a row rounds what it has once more.
        relative = numpy.expm1((N + 2) * self.of_sums) + (3 * result.pieces) * self.unit
        return result, wanted, relative * size + (N + 2) * self.smallest

    def ger(self, blas):
        M, N = self.sides
        A, x, y = self.numbers(M, N), self.numbers(M), self.numbers(N)
        result = blas.ger(A, x, y, alpha=self.alpha, **self.options)
        product = self.alpha * numpy.outer(x, y)
        bound = 2 * self.unit * (numpy.abs(A) + 2 * numpy.abs(product)) + 2 * self.smallest
        return result, A + product, bound

    def axpy(self, blas):
        x, y = self.numbers(self.length), self.numbers(self.length)
        wanted = self.alpha * x + y
        return (blas.axpy(self.alpha, x, y, **self.options), wanted,
                self.unit * numpy.abs(wanted) + self.smallest)      # rounded once

    def scal(self, blas):
        x = self.numbers(self.length)
        wanted = self.alpha * x
        return (blas.scal(self.alpha, x, **self.options), wanted,
                self.unit * numpy.abs(wanted) + self.smallest)

    def dot(self, blas):
        x, y = self.numbers(self.length), self.numbers(self.length)
        size = numpy.abs(x) @ numpy.abs(y)
        return (blas.dot(x, y, **self.options), x @ y, numpy.expm1((self.length + 2) * OF_RESULTS) * size)

    def nrm2(self, blas):
        x = self.numbers(self.length)
        norm = numpy.linalg.norm(x)
        return (blas.nrm2(x, **self.options), norm, numpy.expm1((self.length + 8) * OF_RESULTS) * norm)


def main():
    claims = Claims()
    os.environ.update(WSE_BIN=str(harness.bin_dir()), WSE_BLAS_CACHE=str(claims.scratch / "cache"),
                      WSE_LIB=str(harness.bin_dir().parent / "lib" / "libwse.so"))
    import wse_blas
    seed = commit_seed()
    print(f"seed {seed}")

    def one(i):
        call = Call(numpy.random.default_rng([seed, i]))
        try:
            return call.check(wse_blas), call
        except (AssertionError, wse_blas.BlasError) as failure:
            print(f"call {i}, {call}: {failure}"[:3000], flush=True)
            return 0, call

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(one, range(FIRST, FIRST + SHAPES)))
    claims.equals("calls that are wrong or refused", sum(pieces == 0 for pieces, _ in results), 0)
    claims.at_least("calls with unequal parts", sum(call.has_unequal_parts() for _, call in results),
                    SHAPES // 2)
    claims.at_least("calls in several pieces", sum(pieces > 1 for pieces, _ in results), SHAPES // 100)
    claims.finish()


if __name__ == "__main__":
    main()
