#!/usr/bin/python3
"""The rule of <blas/layout> for the paper's SUMMA on wse2: tiles take their own panels from memory, or from
the fabric.  For random products, the way that the rule takes needs at most 0.5 % more cycles on average
than the faster one, and a tile's turn costs as many saved cycles as the rule says, within a quarter.  All
results are compared with numpy.  The seed is from the commit.  SHAPES sets another number of products,
SEED another seed.  Two minutes.

Short form: test_blas.py::test_own_panels_come_the_faster_way.
"""
import os
import statistics

import numpy

from claims import Claims, commit_seed
import blas_run
from blas_run import Case

SHAPES = int(os.environ.get("SHAPES", "60"))
BYTES = {blas_run.F16: 2, blas_run.F16_F32: 2, blas_run.F32: 4, blas_run.BF16: 2}
COPY_BYTES = 8                              # that a copy in memory moves in a cycle


def random_case(random):
    side = lambda: int(numpy.exp(random.uniform(numpy.log(8), numpy.log(360))))
    return Case(side(), side(), side(), *map(int, random.integers(2, 17, 2)),
                algorithm=blas_run.SUMMA, element=int(random.choice(list(BYTES))))


def tiles_with_panels(shape, own):
    return -(-shape.panels // own)


def saved_and_turns(case, shape):
    """Cycles that copies of A save where all else is equal, and tiles that leave the loop for one."""
    copy = -(-shape.a_panel * BYTES[case.element] // COPY_BYTES)
    return ((shape.panels - shape.a_panels) * (shape.a_panel - copy),
            sum(tiles_with_panels(shape, own) - 1 for own in (shape.a_panels, shape.b_panels)))


def own_turn():
    layout = blas_run.LIBRARY / "blas" / "layout.csl"
    line = next(line for line in layout.read_text().splitlines() if line.startswith("const OWN_TURN = "))
    return int(line.split("=")[1].strip(" ;"))


def main():
    claims = Claims()
    random = numpy.random.default_rng(commit_seed())
    libraries = [blas_run.library_with_own_panels(claims.scratch / name, name == "memory")
                 for name in ("memory", "fabric")]
    excess, terms, gains = [], [], []
    for _ in range(SHAPES):
        case = random_case(random)
        taken = blas_run.check(claims.scratch, case, 1)
        memory, fabric = (blas_run.cycles_with(library, claims.scratch, case) for library in libraries)
        assert taken.cycles in (memory, fabric), f"{case}: {taken.cycles}, {memory}, {fabric}"
        excess.append(taken.cycles / min(memory, fabric) - 1)
        gains.append(fabric - memory)
        terms.append(saved_and_turns(case, taken.shape))
    (saved, turn), *_ = numpy.linalg.lstsq(numpy.array(terms, float), numpy.array(gains, float), rcond=None)
    claims.at_least("products that are faster from memory", sum(gain > 0 for gain in gains), SHAPES // 12)
    claims.at_least("products that are faster from the fabric", sum(gain < 0 for gain in gains), SHAPES // 12)
    print(f"{sum(e == 0 for e in excess)} of {SHAPES} choices are the faster way; most above it: "
          f"{max(excess):.3f}")
    claims.at_most("mean of the cycles above the faster way's", statistics.mean(excess), 0.005)
    claims.within(f"saved cycles that a turn costs, by the products; the rule has {own_turn()}",
                  float(-turn / saved), own_turn() * 0.75, own_turn() * 1.25)
    claims.finish()


main()
