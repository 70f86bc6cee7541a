#!/usr/bin/python3
"""How far the model of collectives between wafers (<links/model>) is off: random shapes that it was
not fitted to.  CLUSTER_RUNS says how many (60)."""
import os

import numpy

from claims import Claims, commit_seed
import cluster_collectives as collectives
import cluster_model_table as model
from cluster_collectives import wse_cluster

RUNS = int(os.environ.get("CLUSTER_RUNS", 60))
NAMES = {"all_gather": "all-gather", "reduce_scatter": "reduce-scatter",
         "all_reduce": "all-reduce", "all_to_all": "all-to-all", "broadcast": "broadcast"}


def measure(random):
    operation = str(random.choice(list(NAMES)))
    is_line = operation == "reduce_scatter" and bool(random.integers(2))
    cluster = wse_cluster.Cluster(
        int(random.integers(3, 9)), wraps=not is_line, channels=int(random.integers(1, 5)),
        latency=int(random.choice([10, 60, 200, 500, 1200])), arch=str(random.choice(["wse2", "wse3"])),
        packet_words=int(random.choice([16, 48, 200, 512])), buffers=int(random.integers(1, 5)))
    length = int(random.choice([2, 20, 80, 240, 600, 1100]))
    scheme = "line" if is_line else \
        str(random.choice(["split", "half"])) if operation == "all_gather" else "split"
    options = {"scheme": scheme} if operation == "all_gather" else {}
    result, right = collectives.run(operation, cluster, random, length=length, axis="x", **options)
    assert right
    expected = model.cycles(
        cluster.width, length, NAMES[operation], scheme, f"--channels={cluster.channels}",
        f"--packet={cluster.packet_words}", f"--buffers={cluster.buffers}",
        f"--latency={cluster.latency}", f"--arch={cluster.arch}")
    return result.cycles / expected, (operation, scheme, length, vars(cluster))


def main():
    claims = Claims()
    collectives.use_build()
    ratios = []
    for i in range(RUNS):
        try:
            ratios.append(measure(numpy.random.default_rng([commit_seed(), i])))
        except wse_cluster.ClusterError as full:
            print(f"  left out: {str(full).splitlines()[0]}")
    ratios.sort(key=lambda pair: pair[0])
    for ratio, shape in (ratios[0], ratios[-1]):
        print(f"  farthest: measured {ratio:.2f} of predicted, {shape}")
    errors = [abs(ratio - 1) for ratio, _ in ratios]
    claims.at_least("shapes", len(ratios), RUNS // 2)
    claims.at_most("median error", float(numpy.median(errors)), 0.1)
    claims.at_most("largest error", max(errors), 0.35)
    claims.finish()


main()
