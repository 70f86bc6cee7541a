#!/usr/bin/python3
"""<collectives> against numpy: random configurations of patterns, roots, shapes, types, operations,
ways to call and architectures, each with three calls in a row of different lengths.

3,000 configurations, the same number for each pattern: six of reductions, and allreduce by ring,
butterfly, exchange and plan, which also follow one another, and reduce and broadcast, on the same
colors;
the same number for each shape of a pattern, too; tiles and lengths log-uniform up to 512 tiles in a
line, 64 x 64 in a rectangle and 4,096 elements.  The seed is from the commit.
CONFIGURATIONS sets another number, SEED another seed.  About 10 minutes on two cores.

Short form: test_collectives.py::test_random_configurations.
"""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy

from claims import Claims, commit_seed, harness
import collectives_run as lines

CONFIGURATIONS = int(os.environ.get("CONFIGURATIONS", "3000"))
MOST_TILES = 512
MOST_ELEMENTS = 4096
MOST_WORK = 1.5e6          # tiles times elements, slow operations counted more
REDUCE_PATTERNS = 6        # in four shapes
ALLREDUCES = (lines.RING, lines.BUTTERFLY, lines.EXCHANGE, lines.PLANNED)     # in three
PATTERNS = REDUCE_PATTERNS + len(ALLREDUCES)


def main():
    claims = Claims()
    seed = commit_seed()
    print(f"seed {seed}")
    counts = {}

    def one(i):
        random = numpy.random.default_rng([seed, i])
        pattern = i % PATTERNS
        is_reduce = pattern < REDUCE_PATTERNS
        shape = i // PATTERNS % (4 if is_reduce else 3)
        make, run = ((lines.random_config, lines.run) if is_reduce else
                     (lines.random_allreduces, lines.run_allreduces))
        config = make(random, pattern if is_reduce else ALLREDUCES[pattern - REDUCE_PATTERNS],
                      shape, MOST_TILES, MOST_ELEMENTS, MOST_WORK)
        folder = claims.scratch / str(i)
        try:
            run(folder, config, seed=i, arch=("wse2", "wse3")[int(random.integers(2))])
        except AssertionError as failure:
            print(f"configuration {i}: {failure}"[:3000], flush=True)
            return i
        finally:
            for path in folder.glob("*"):
                path.unlink()
        counts[pattern, shape] = counts.get((pattern, shape), 0) + 1
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [i for i in pool.map(one, range(CONFIGURATIONS)) if i is not None]
    claims.equals("configurations that differ from numpy", len(failures), 0)
    claims.equals("configurations", sum(counts.values()) + len(failures), CONFIGURATIONS)
    claims.at_least("configurations of the rarest pattern and shape", min(counts.values()),
                    CONFIGURATIONS // (4 * PATTERNS) if not failures else 0)
    for i, kind in enumerate(ALLREDUCES):
        claims.at_least(f"configurations of allreduce by {lines.KIND_NAMES[kind]}", sum(
            counts.get((REDUCE_PATTERNS + i, shape), 0) for shape in range(3)),
            CONFIGURATIONS // PATTERNS if not failures else 0)
    claims.finish()


main()
