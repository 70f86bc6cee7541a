#!/usr/bin/python3
"""How far the models of collectives between wafers (<links/model>) and over all tiles of the wafers
(<links/tiles_model>) are off: random shapes that they were not fitted to.  CLUSTER_RUNS says how
many of each (60).  A call over all tiles follows another one, so the links have been greeted.

Short form: test_cluster_collectives.py::test_the_models_agree_at_random_shapes.
"""
import os
import tempfile
from pathlib import Path

import numpy

from claims import Claims, commit_seed
import cluster_collectives as collectives
import cluster_model_table as model
import cluster_tiles as tiles
from cluster_collectives import wse_cluster

LARGEST_ERROR = {"between hubs": 0.35, "over all tiles": 0.25}
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
        cluster.width, length, NAMES[operation], scheme, *options_of(cluster))
    return result.cycles / expected, (operation, scheme, length, vars(cluster))


def options_of(cluster):
    return (f"--channels={cluster.channels}", f"--packet={cluster.packet_words}",
            f"--buffers={cluster.buffers}", f"--latency={cluster.latency}", f"--arch={cluster.arch}")


def random_tiles(random, operations):
    """Wafers in a ring, and a call over all their tiles."""
    channels = int(random.integers(1, 4))
    cluster = wse_cluster.Cluster(
        int(random.integers(3, 8)), channels=channels, arch=str(random.choice(["wse2", "wse3"])),
        latency=int(random.choice([10, 60, 200, 500, 1200])), buffers=int(random.integers(1, 5)),
        packet_words=int(random.choice([16, 48, 200, 512])),
        tiles=4 * channels + 1 + int(random.integers(6)))
    shape = tiles.Shape(cluster, int(random.integers(1, 6)))
    parts = cluster.width * shape.tiles
    shape.elements = max(1000, parts)
    operation = str(random.choice(sorted(operations)))
    is_whole = operation in ("all_reduce", "broadcast")
    n = int(min(random.choice([1, 2, 5, 20, 100, 400, 900]),
                shape.elements if is_whole else shape.elements // parts))
    shape.length = n if is_whole else parts * n
    return shape, tiles.Call(operation, n, 0, int(random.integers(cluster.width)),
                             int(random.integers(1, shape.tiles)))


def measure_tiles(random, operations=tuple(NAMES)):
    shape, call = random_tiles(random, operations)
    first = tiles.Call("all_reduce", 12)        # words for every channel, so that all are greeted
    cycles = []
    for calls in ([first], [first, call]):
        shape.calls = calls
        with tempfile.TemporaryDirectory() as folder:
            right, times, _ = tiles.check(shape, random, Path(folder))
        assert right
        cycles.append(int(times[..., 0].max()))
    expected = model.cycles(shape.cluster.width, call.n, NAMES[call.operation], "split",
                            f"--grid={shape.cluster.tiles}x{shape.workers}",
                            *options_of(shape.cluster))
    return (cycles[1] - cycles[0]) / expected, (call, shape.workers, vars(shape.cluster))


def compare(claims, level, measured):
    ratios = []
    for i in range(RUNS):
        try:
            ratios.append(measured(numpy.random.default_rng([commit_seed(), i])))
        except wse_cluster.ClusterError as full:
            print(f"  left out: {str(full).splitlines()[0]}")
    ratios.sort(key=lambda pair: pair[0])
    for ratio, shape in (ratios[0], ratios[-1]):
        print(f"  farthest: measured {ratio:.2f} of predicted, {shape}")
    errors = [abs(ratio - 1) for ratio, _ in ratios]
    claims.at_least(f"{level}: shapes", len(ratios), RUNS // 2)
    claims.at_most(f"{level}: median error", float(numpy.median(errors)), 0.1)
    claims.at_most(f"{level}: largest error", max(errors), LARGEST_ERROR[level])


def main():
    claims = Claims()
    collectives.use_build()
    compare(claims, "between hubs", measure)
    compare(claims, "over all tiles", measure_tiles)
    claims.finish()


if __name__ == "__main__":
    main()
