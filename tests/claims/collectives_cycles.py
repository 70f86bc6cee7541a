#!/usr/bin/python3
"""<collectives> obeys the performance model at -O1: reduce by chain, star, tree and two-phase and
broadcast on 512 tiles, the chain in two dimensions, and the published ratios between them.

Model: wse-model.  The lengths are known to the programs only when they run.  About 4 minutes.

Short form: test_collectives.py::test_cycles_are_the_model_and_a_constant.
"""
from claims import Claims
from collectives_measure import (BROADCAST, CHAIN, NAMES, OPTIMAL, REDUCE, STAR, TREE, TWO_PHASE, Runs,
                              predicted)

TILES = 512
LENGTHS = tuple(2 ** k for k in range(14))
STAR_LENGTHS = (1, 16, 256, 1024, 8192)     # the root takes every vector: long runs
OVERHEAD = 64
GRIDS = (4, 8, 16, 32, 64)
GRID_LENGTH = 1028
RATIO = 0.08
MOST = 8192


def main():
    claims = Claims()
    runs = Runs(claims.scratch)
    measured = {}

    def overhead(what, pattern, length):
        cycles = runs.cycles(what, pattern, TILES, length, most=MOST)
        measured[what, pattern, length] = cycles
        name = "broadcast" if what == BROADCAST else NAMES[pattern]
        claims.at_most(f"{name}, {TILES} tiles, {length} elements: cycles - model",
                       cycles - predicted(what, pattern, TILES, length), OVERHEAD)

    for length in LENGTHS:
        for pattern in (CHAIN, TREE, TWO_PHASE):
            overhead(REDUCE, pattern, length)
        overhead(BROADCAST, CHAIN, length)
    for length in STAR_LENGTHS:
        overhead(REDUCE, STAR, length)

    for side in GRIDS:
        cycles = runs.cycles(REDUCE, CHAIN, (side, side), GRID_LENGTH)
        model = predicted(REDUCE, CHAIN, (side, side), GRID_LENGTH)
        claims.at_most(f"chain on {side} x {side} tiles, {GRID_LENGTH} elements", cycles,
                       round(1.03 * model + 128), "cycles")

    # The constant that a program needs beside the model.
    constant = measured[REDUCE, CHAIN, 1] - predicted(REDUCE, CHAIN, TILES, 1)

    def formula(pattern, length):
        return predicted(REDUCE, pattern, TILES, length) + constant

    def ratio(name, published, value, expected):
        print(f"{name}: {value:.3f}, published {published}")
        claims.within(f"{name}: measured ratio over that of the formulas", value / expected,
                      1 - RATIO, 1 + RATIO)

    ratio("tree over chain, 1 element", 5.1,
          measured[REDUCE, CHAIN, 1] / measured[REDUCE, TREE, 1],
          formula(CHAIN, 1) / formula(TREE, 1))
    ratio(f"two-phase over chain, {TILES} elements", 2,
          measured[REDUCE, CHAIN, TILES] / measured[REDUCE, TWO_PHASE, TILES],
          formula(CHAIN, TILES) / formula(TWO_PHASE, TILES))

    three = (CHAIN, TREE, TWO_PHASE)
    best = max(min(measured[REDUCE, p, n] for p in three) / predicted(REDUCE, OPTIMAL, TILES, n)
               for n in LENGTHS)
    expected = max(min(formula(p, n) for p in three) / predicted(REDUCE, OPTIMAL, TILES, n)
                   for n in LENGTHS)
    ratio("best of the three over the optimal pre-order tree, at most", 1.38, best, expected)
    claims.at_most("best of the three over the optimal pre-order tree", best, 1.38)
    claims.finish()


main()
