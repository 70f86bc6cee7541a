#!/usr/bin/python3
"""Collectives between wafers in lines, rings, 2 x 2 and 3 x 3, two to nine wafers, against numpy:
random operations, lengths, channels, packets, latencies, rates and credits.  First those between
the hubs of wafers of 32 x 32 tiles, then those over all tiles of the wafers, up to three calls one
behind the other; CLUSTER_RUNS says how many of each (1000).  Every tenth run of an all-reduce, a
broadcast or a transfer is over wafers of 32 x 32 tiles; the others have arrays in every tile that
grow with the number of tiles.

Short form: test_cluster_collectives.py::test_random_clusters, test_cluster_tiles.py::test_random_calls.
"""
import os
import tempfile
from pathlib import Path

import numpy

from claims import Claims, commit_seed
import cluster_collectives as collectives
import cluster_tiles as tiles

RUNS = int(os.environ.get("CLUSTER_RUNS", 1000))
SIDE = 32


def between_hubs(random, operation):
    cluster = collectives.random_cluster(random, tiles=SIDE, rows=SIDE)
    _, right = collectives.run(operation, cluster, random)
    return right, cluster


def over_tiles(random, operation):
    is_large = operation in ("all_reduce", "broadcast", "transfer") and random.integers(10) == 0
    shape = tiles.random_shape(random, operation, most_calls=1 if is_large else 3)
    if is_large:
        shape.cluster.tiles = SIDE
        shape.workers = SIDE - shape.top
        shape.calls = [tiles.random_call(random, operation, shape)]
    with tempfile.TemporaryDirectory() as folder:
        right, _, _ = tiles.check(shape, random, Path(folder))
    return right, shape.cluster


def compare(claims, level, run, operations):
    wrong = {operation: 0 for operation in operations}
    shapes = set()
    for i in range(RUNS):
        operation = operations[i % len(operations)]
        right, cluster = run(numpy.random.default_rng([commit_seed(), i]), operation)
        shapes.add((cluster.width, cluster.height, cluster.wraps))
        wrong[operation] += not right
        if not right:
            print(f"wrong: run {i}, {operation}, {vars(cluster)}", flush=True)
    claims.at_least(f"{level}: shapes of clusters", len(shapes), min(RUNS // 6, 18))
    for operation, count in wrong.items():
        claims.equals(f"{level}: {operation}: wrong results of {RUNS // len(wrong)}", count, 0)


def main():
    claims = Claims()
    collectives.use_build()
    compare(claims, "between hubs", between_hubs, collectives.OPERATIONS)
    compare(claims, "over all tiles", over_tiles, tiles.OPERATIONS)
    claims.finish()


main()
