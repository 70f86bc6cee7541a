#!/usr/bin/python3
"""Collectives between wafers of 32 x 32 tiles, in lines, rings, 2 x 2 and 3 x 3, two to nine wafers,
against numpy: random operations, lengths, channels, packets, latencies, rates and credits.
CLUSTER_RUNS says how many (1000)."""
import os

import numpy

from claims import Claims, commit_seed
import cluster_collectives as collectives

RUNS = int(os.environ.get("CLUSTER_RUNS", 1000))
SIDE = 32


def main():
    claims = Claims()
    collectives.use_build()
    wrong = {operation: 0 for operation in collectives.OPERATIONS}
    shapes = set()
    for i in range(RUNS):
        operation = collectives.OPERATIONS[i % len(collectives.OPERATIONS)]
        random = numpy.random.default_rng([commit_seed(), i])
        cluster = collectives.random_cluster(random, tiles=SIDE, rows=SIDE)
        shapes.add((cluster.width, cluster.height, cluster.wraps))
        _, right = collectives.run(operation, cluster, random)
        wrong[operation] += not right
        if not right:
            print(f"wrong: run {i}, {operation}, {vars(cluster)}", flush=True)
    claims.at_least("shapes of clusters", len(shapes), min(RUNS // 6, 18))
    for operation, count in wrong.items():
        claims.equals(f"{operation}: wrong results of {RUNS // len(wrong)}", count, 0)
    claims.finish()


main()
