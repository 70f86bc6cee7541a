#!/usr/bin/python3
"""<collectives> against collectives as an MPI library for a network of tiles has them, on 4 to 49
tiles: binomial trees of ranks, an all-to-all of N - 1 stages, and the rounds of the thesis that
compares itself with these (samples/network-mpi).  The library's take fewer cycles in every row.

Prints the ratio of each row. FIGURES names a folder for the thesis' figures 4.1 to 4.10 as CSV and
SVG, with our numbers.  About 5 minutes.

Short form: test_network.py::test_the_library_is_faster.
"""
import os
from pathlib import Path

from claims import Claims
import network_run as network

SIDES = range(2, 8)
SIZES = {network.STAGES: (1, 2, 4, 8, 16, 32, 48), network.ROUNDS: (1, 16),
         network.BROADCAST: (1, 16, 256, 1024), network.REDUCE: (1, 16, 256, 1024),
         network.ALLREDUCE: (1, 16, 256, 1024), network.BARRIER: (0,), network.CENTRE_BARRIER: (0,)}
NAMES = {network.STAGES: "alltoall, stages", network.ROUNDS: "alltoall, rounds",
         network.BROADCAST: "broadcast", network.REDUCE: "reduce",
         network.ALLREDUCE: "allreduce", network.BARRIER: "barrier",
         network.CENTRE_BARRIER: "barrier, rooted in the centre"}
BY_TILES = {"4.1": network.STAGES, "4.2": network.REDUCE, "4.3": network.ALLREDUCE,
            "4.4": network.BARRIER, "4.5": network.BROADCAST}
# The thesis has the all-to-all twice, once with the shorter messages only.
BY_SIZE = {"4.6": (network.STAGES, 8), "4.7": (network.STAGES, 48), "4.8": (network.REDUCE, 1024),
           "4.9": (network.ALLREDUCE, 1024), "4.10": (network.BROADCAST, 1024)}


def draw_all(folder, cycles):
    """cycles[whose][operation, tiles, size]"""
    folder.mkdir(parents=True, exist_ok=True)
    for figure, operation in BY_TILES.items():
        least = SIZES[operation][0]
        network.draw(folder, figure, "tiles", {whose: {
            tiles: found for (what, tiles, n), found in of.items()
            if what == operation and n == least} for whose, of in cycles.items()})
    for figure, (operation, most) in BY_SIZE.items():
        network.draw(folder, figure, "elements", {f"{whose}, {side * side} tiles": {
            n: found for (what, tiles, n), found in of.items()
            if what == operation and tiles == side * side and n <= most}
            for side in SIDES for whose, of in cycles.items()})


def main():
    claims = Claims()
    cycles = {"ours": {}, "network": {}}
    for operation, sizes in SIZES.items():
        for side in SIDES:
            for n in sizes:
                row = operation, side * side, n
                cycles["network"][row] = network.network(claims.scratch / "network", side, side,
                                                         operation, n)
                cycles["ours"][row] = network.own(claims.scratch / "own", side, operation, n)
                ours, theirs = cycles["ours"][row], cycles["network"][row]
                claims.at_least(f"{NAMES[operation]}, {side} x {side} tiles, {n} elements: {theirs} "
                                f"cycles against {ours}, ratio", round(theirs / ours, 1), 1.1)
    if os.environ.get("FIGURES"):
        draw_all(Path(os.environ["FIGURES"]), cycles)
    claims.finish()


main()
