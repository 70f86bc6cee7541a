#!/usr/bin/python3
"""NAS parallel benchmarks with the library's collectives on a row of tiles, and with those of an MPI
library for a network of tiles on a rectangle (samples/network-mpi), as the thesis compares them in its
figures 4.11 to 4.15; both verified.  MG on a grid of 16^3 points, four iterations; IS with 1,024 keys
per tile, two iterations; CG with 28 rows per tile, one iteration; FT with 1,024 and with 512 points
per tile and LU with 54, two iterations, both on the rectangle.  The library's take fewer cycles for
each number of tiles, and the difference grows with it, but for MG's.  MG and LU of class S over the
network have the results of the specification.

FIGURES names a folder for the figures as CSV and SVG.  A minute.

Short form: test_npb.py::test_the_same_over_a_network.
"""
import os
from pathlib import Path

from claims import Claims
import network_run
import npb_run

IS_SIZES = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8))
LOG_KEYS_OF_TILE = 10
CG_SIZES = ((2, 2), (4, 2), (4, 4), (8, 4), (7, 7))
CG_ROWS_OF_TILE = 28
FT_SIZES = {1024: ((2, 2), (8, 4)), 512: ((4, 2), (8, 8))}     # by points per tile
LOG_SIDES = {(2, 2): 4, (8, 4): 5, (4, 2): 4, (8, 8): 5}
MG_SIZES = ((2, 2), (4, 2), (4, 4))
MG_LOG_SIDE = 4
MG_ERROR = 1e-5
MG_CLASS_S_SIZE = (8, 4)
LU_SIZES = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8))
LU_COLUMNS_OF_TILE, LU_PLANES = (3, 3), 6
LU_CLASS_S_SIZE = (5, 5)
ERROR = 1e-6
LEAST_FASTER = 1.05


def is_cycles(claims, size, network):
    tiles = size[0] * size[1]
    return npb_run.run_is(claims.scratch, tiles, 2, network=size if network else None,
                          log_keys=LOG_KEYS_OF_TILE + tiles.bit_length() - 1)


def cg_cycles(claims, size, network):
    tiles = size[0] * size[1]
    error, cycles = npb_run.run_cg(claims.scratch, tiles, 1, n=CG_ROWS_OF_TILE * tiles,
                                   network=size if network else None)
    claims.at_most(f"CG, {CG_ROWS_OF_TILE * tiles} rows, {'network' if network else 'ours'}: "
                   "relative error of zeta", error, ERROR)
    return cycles


def ft_cycles(claims, size, network):
    error, cycles = npb_run.run_ft(claims.scratch, size, LOG_SIDES[size], 2, network=network)
    claims.at_most(f"FT, {size[0]} x {size[1]} tiles, {'network' if network else 'ours'}: relative "
                   "error of a checksum", error, ERROR)
    return cycles


def mg_cycles(claims, size, network):
    tiles = size[0] * size[1]
    error, cycles = npb_run.run_mg(claims.scratch, tiles, npb_run.MG_ITERATIONS,
                                   log_side=MG_LOG_SIDE, network=size if network else None)
    claims.at_most(f"MG, {tiles} tiles, {'network' if network else 'ours'}: relative error of the "
                   "norm", error, MG_ERROR)
    return cycles


def lu_cycles(claims, size, network):
    inner = (*(n * columns for n, columns in zip(size, LU_COLUMNS_OF_TILE)), LU_PLANES)
    off, cycles = npb_run.run_lu(claims.scratch, size, 2, inner=inner, network=network)
    claims.at_most(f"LU, {size[0]} x {size[1]} tiles, {'network' if network else 'ours'}: largest "
                   "relative error of a norm or of the integral", max(off), ERROR)
    return cycles


def check_mg_of_class_s(claims):
    tiles = MG_CLASS_S_SIZE[0] * MG_CLASS_S_SIZE[1]
    (_, ours), (error, cycles) = (
        npb_run.run_mg(claims.scratch, tiles, npb_run.MG_ITERATIONS, network=size)
        for size in (None, MG_CLASS_S_SIZE))
    claims.at_most(f"MG, class S, network, {tiles} tiles, {cycles} cycles against {ours}: relative "
                   "error of the norm", error, MG_ERROR)


def check_lu_of_class_s(claims):
    off, cycles = npb_run.run_lu(claims.scratch, LU_CLASS_S_SIZE, npb_run.LU_ITERATIONS,
                                 network=True)
    for (name, bound), value in zip(npb_run.LU_BOUNDS.items(), off):
        claims.at_most(f"LU, class S, network, 25 tiles, {cycles} cycles: relative error of the "
                       f"{name}", value, bound)


def compare(claims, figure, kernel, sizes, cycles_of, grows=True):
    curves = {name: {size[0] * size[1]: cycles_of(claims, size, name == "network")
                     for size in sizes} for name in ("ours", "network")}
    for tiles, ours in curves["ours"].items():
        theirs = curves["network"][tiles]
        claims.at_least(f"{kernel}, {tiles} tiles: {theirs} cycles against {ours}, ratio",
                        round(theirs / ours, 2), LEAST_FASTER)
    more = [curves["network"][tiles] - ours for tiles, ours in curves["ours"].items()]
    if grows:
        claims.equals(f"{kernel}: the difference grows with the tiles", more == sorted(more), True)
    if os.environ.get("FIGURES"):
        folder = Path(os.environ["FIGURES"])
        folder.mkdir(parents=True, exist_ok=True)
        network_run.draw(folder, figure, "tiles", curves)


def main():
    claims = Claims()
    compare(claims, "4.11", "MG", MG_SIZES, mg_cycles, grows=False)
    compare(claims, "4.12", "IS", IS_SIZES, is_cycles)
    compare(claims, "4.13", "CG", CG_SIZES, cg_cycles)
    for points, sizes in FT_SIZES.items():
        compare(claims, f"4.14-{points}", f"FT, {points} points per tile", sizes, ft_cycles)
    compare(claims, "4.15", "LU", LU_SIZES, lu_cycles)
    check_mg_of_class_s(claims)
    check_lu_of_class_s(claims)
    claims.finish()


main()
