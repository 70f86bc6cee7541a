"""Collectives over all tiles of several wafers (<links/wafer>, <links/tiles>) against numpy."""
import numpy
import pytest

import cluster_collectives
import cluster_run
import cluster_tiles as tiles
import harness
from cluster_collectives import wse_cluster

cluster_collectives.use_build()


@pytest.mark.parametrize("operation", tiles.OPERATIONS)
@pytest.mark.parametrize("round_", range(3))
def test_random_calls(operation, round_, tmp_path):
    random = harness.commit_random(f"cluster tiles {operation} {round_}")
    shape = tiles.random_shape(random, operation)
    right, _, _ = tiles.check(shape, random, tmp_path)
    assert right, (shape.calls, shape.workers, vars(shape.cluster))


def test_tiles_know_their_number(tmp_path):
    """The numbers are those along the last axis, here the columns of the cluster."""
    cluster = wse_cluster.Cluster(2, 3, channels=1)
    shape = tiles.Shape(cluster, 2, calls=[tiles.Call("broadcast", 1)])
    right, times, _ = tiles.check(shape, numpy.random.default_rng(1), tmp_path)
    assert right
    for y in range(3):
        for x in range(2):
            numbers = y * shape.tiles + numpy.arange(shape.tiles)
            assert times[y, x][:, 2:].tolist() == [[3, 3 * shape.tiles, n] for n in numbers]


@pytest.mark.parametrize("operation", tiles.OPERATIONS)
@pytest.mark.parametrize("arch,wraps", [("wse2", True), ("wse3", False)])
def test_blocks_shorter_than_the_hubs_are_many(operation, arch, wraps, tmp_path):
    """One word among four channels: most hubs carry nothing."""
    cluster = wse_cluster.Cluster(3, wraps=wraps, channels=3, arch=arch, latency=9)
    shape = tiles.Shape(cluster, elements=400, calls=[tiles.Call(operation, 1, 0, 2, 5, 0, 11)] * 2)
    right, _, _ = tiles.check(shape, numpy.random.default_rng(4), tmp_path)
    assert right


@pytest.mark.parametrize("n", [3, 400])
def test_sums_of_fractions_agree_to_the_last_bit(n, tmp_path):
    """In every tile, whether short vectors are added by every gate or long ones by the hubs."""
    cluster = wse_cluster.Cluster(5, channels=2, latency=30)
    shape = tiles.Shape(cluster, 2, calls=[tiles.Call("all_reduce", n)])
    random = numpy.random.default_rng(11)
    send = random.normal(size=(1, 5, shape.tiles, shape.elements)).astype(numpy.float32)
    got, _, _, _ = tiles.run(shape, send, tmp_path)
    assert numpy.allclose(got[0, 0, 0, :n], send[..., :n].sum(axis=(0, 1, 2)), atol=1e-3)
    assert numpy.all(got[..., :n] == got[0, 0, 0, :n])


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_short_sums_take_few_hops(arch, tmp_path):
    """Four wafers away at most on a ring of eight, not fourteen."""
    def cycles(latency):
        cluster = wse_cluster.Cluster(8, channels=1, latency=latency, arch=arch)
        shape = tiles.Shape(cluster, calls=[tiles.Call("all_reduce", 1)] * 2)
        right, times, _ = tiles.check(shape, numpy.random.default_rng(3), tmp_path)
        assert right
        return int(times[..., 0].max())

    hops = (cycles(3000) - cycles(1000)) / 2000
    assert hops < 2 * 4 + 4                 # two calls, and the greetings of the first one


def test_short_sums_that_the_hubs_have_no_room_for_take_the_long_way(tmp_path):
    """The vectors of seven wafers fit into the gate (7 * 65 <= 512), not into its one hub."""
    cluster = wse_cluster.Cluster(7, channels=1, latency=20)
    shape = tiles.Shape(cluster, elements=400, calls=[tiles.Call("all_reduce", 65)])
    assert shape.room() < 7 * 65
    right, _, _ = tiles.check(shape, numpy.random.default_rng(5), tmp_path)
    assert right


def test_the_ends_of_a_line_send_nothing(tmp_path):
    cluster = wse_cluster.Cluster(3, wraps=False, latency=20)
    shape = tiles.Shape(cluster, calls=[tiles.Call("broadcast", 5, 0, 1, 4)])
    right, _, _ = tiles.check(shape, numpy.random.default_rng(3), tmp_path, "--check=strict")
    assert right


def test_an_exchange_along_a_long_line(tmp_path):
    """The blocks on their way take most room in the middle."""
    cluster = wse_cluster.Cluster(9, wraps=False, channels=1, latency=5)
    shape = tiles.Shape(cluster, elements=450, calls=[tiles.Call("all_to_all", 10)])
    assert shape.tiles * cluster.width * 10 == shape.elements
    right, _, _ = tiles.check(shape, numpy.random.default_rng(3), tmp_path)
    assert right


def test_both_engines_agree(tmp_path):
    seen = []
    for engine in ("fast", "reference"):
        random = numpy.random.default_rng(6)
        cluster = wse_cluster.Cluster(3, 2, latency=20, packet_words=8, engine=engine)
        calls = [tiles.Call(operation, 3, axis, 1, 7, 0, 4)
                 for axis, operation in enumerate(("all_gather", "reduce_scatter"))]
        right, times, stats = tiles.check(tiles.Shape(cluster, 2, calls=calls), random, tmp_path)
        assert right
        seen.append((times.tolist(), cluster_run.stable(stats)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_tiles_compute_in_the_meantime(arch, tmp_path):
    """An all-reduce over long links beside a loop that takes eight tenths of its time."""
    cluster = wse_cluster.Cluster(4, latency=3000, arch=arch)

    def cycles(turns):
        shape = tiles.Shape(cluster, 2, calls=[tiles.Call("all_reduce", 400, turns=turns)])
        right, times, _ = tiles.check(shape, numpy.random.default_rng(8), tmp_path)
        assert right and numpy.all(times[..., 1] == turns)
        return int(times[..., 0].max())

    alone = cycles(0)
    turn = (cycles(8000) - cycles(6000)) / 2000         # both longer than the call
    assert cycles(round(0.8 * alone / turn)) < 1.1 * alone
