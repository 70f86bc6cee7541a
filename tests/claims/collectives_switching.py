#!/usr/bin/python3
"""Going from one collective to the next on the same colors: ten calls in a row without a barrier
take at most 100 cycles a switch more than the same ten calls alone, each on colors of its own.

Negative where a call begins on some tiles while others are still busy with the one before.

Short form: test_collectives.py::test_switching_takes_few_cycles.
"""
from claims import Claims
from collectives_measure import PAIRS, switch_cycles

BOUND = 100


def main():
    claims = Claims()
    for pair, (name, _) in enumerate(PAIRS):
        for tiles in (8, 64, 512):
            for length in (1, 64, 1024):
                claims.at_most(f"{name}, {tiles} tiles, {length} elements: a switch",
                               switch_cycles(claims.scratch, pair, tiles, length), BOUND, "cycles")
    claims.finish()


main()
