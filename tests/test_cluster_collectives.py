"""Collectives along rows and columns of wafers (wse_cluster, <links/ring>) against numpy."""
import numpy
import pytest

import cluster_collectives as collectives
import cluster_model_table
import cluster_run
import harness
from cluster_collectives import wse_cluster

collectives.use_build()


@pytest.mark.parametrize("operation", collectives.OPERATIONS)
@pytest.mark.parametrize("round_", range(4))
def test_random_clusters(operation, round_):
    random = harness.commit_random(f"cluster {operation} {round_}")
    cluster = collectives.random_cluster(random)
    _, right = collectives.run(operation, cluster, random)
    assert right, vars(cluster)


@pytest.mark.parametrize("operation", collectives.OPERATIONS)
def test_both_engines_agree(operation):
    seen = []
    for engine in ("fast", "reference"):
        random = numpy.random.default_rng(5)
        cluster = wse_cluster.Cluster(3, channels=1, latency=7, packet_words=8, engine=engine)
        result, right = collectives.run(operation, cluster, random, length=20, axis="x")
        assert right
        seen.append((result.cycles, cluster_run.stable(result.stats)))
    assert seen[0] == seen[1]


def link_words(result):
    return sum(link[way]["words"] for link in result.links.values()
               for way in ("forward", "backward"))


def test_the_two_schemes_of_the_all_gather():
    """Half of each part all the way round carries as many words as whole parts half-way; the latter
    has half of the hops, and wins if parts are short."""
    cluster = wse_cluster.Cluster(8, channels=1, latency=300, packet_words=16)
    runs = {scheme: collectives.run("all_gather", cluster, numpy.random.default_rng(1), length=2,
                                    axis="x", scheme=scheme)[0]
            for scheme in ("split", "half")}
    assert runs["half"].cycles < 0.7 * runs["split"].cycles
    long = {scheme: link_words(collectives.run(
        "all_gather", cluster, numpy.random.default_rng(1), length=160, axis="x", scheme=scheme)[0])
        for scheme in ("split", "half")}
    assert abs(long["half"] / long["split"] - 1) < 0.1


@pytest.mark.parametrize("operation,arch,wafers,channels,buffers,packet,length", [
    ("all_to_all", "wse2", 5, 3, 1, 512, 600),          # channels wait for a buffer and for the link
    ("all_to_all", "wse2", 6, 1, 4, 512, 240),          # bundles shorter than a hop
    ("broadcast", "wse3", 7, 1, 3, 512, 1100),          # packets hold each other up
    ("all_gather", "wse3", 3, 2, 4, 256, 3072),         # two words moved per word of a packet
])
def test_the_model_agrees(operation, arch, wafers, channels, buffers, packet, length):
    cluster = wse_cluster.Cluster(wafers, channels=channels, buffers=buffers, arch=arch, latency=10,
                                  packet_words=packet)
    result, right = collectives.run(operation, cluster, numpy.random.default_rng(2), length=length,
                                    axis="x")
    assert right
    predicted = cluster_model_table.cycles(
        wafers, length, operation.replace("_", "-"), "split", f"--channels={channels}", "--latency=10",
        f"--packet={packet}", f"--buffers={buffers}", f"--arch={arch}")
    assert abs(result.cycles / predicted - 1) < 0.2


MODEL = harness.claim("cluster_model")


@pytest.mark.parametrize("level, measure", [
    ("between hubs", MODEL.measure),
    # An all-to-all over all tiles takes seconds.
    ("over all tiles", lambda random: MODEL.measure_tiles(random, MODEL.NAMES.keys() - {"all_to_all"}))],
    ids=MODEL.LARGEST_ERROR)
def test_the_models_agree_at_random_shapes(level, measure):
    """The short form of the claim cluster_model."""
    for i in range(4):
        try:
            ratio, shape = measure(harness.commit_random(f"model {level} {i}"))
        except wse_cluster.ClusterError:
            continue              # it does not fit
        assert abs(ratio - 1) <= MODEL.LARGEST_ERROR[level], shape


def test_a_line_has_a_reduce_scatter_of_its_own():
    """A link carries a block for each wafer behind it, not all blocks there and back."""
    cluster = wse_cluster.Cluster(5, wraps=False, channels=1, latency=40, packet_words=64)
    result, right = collectives.run("reduce_scatter", cluster, numpy.random.default_rng(3), length=128,
                                    axis="x")
    assert right
    links = [result.links[f"x{i}.0"] for i in range(4)]
    for way, behind in (("forward", (4, 3, 2, 1)), ("backward", (1, 2, 3, 4))):
        for link, blocks in zip(links, behind):
            assert 128 * blocks <= link[way]["words"] < 1.25 * 128 * blocks + 40
    whole, _ = collectives.run("all_reduce", cluster, numpy.random.default_rng(3), length=5 * 128,
                               axis="x")
    assert result.cycles < 0.75 * whole.cycles


def test_columns_use_links_of_their_own():
    cluster = wse_cluster.Cluster(2, 3, latency=20)
    result, right = collectives.run("all_reduce", cluster, numpy.random.default_rng(2), axis="y")
    assert right
    words = {name: link["forward"]["words"] for name, link in result.links.items()}
    assert all((n > 2) == name.startswith("y") for name, n in words.items()), words


def test_slices():
    assert wse_cluster.slices(10, 4) == (3, 4) and wse_cluster.slices(0, 2) == (1, 2)


@pytest.mark.parametrize("call,message", [
    (lambda: wse_cluster.Cluster(1), "2 x 1 wafers at least"),
    (lambda: wse_cluster.Cluster(2, channels=5), "1 to 4 channels"),
    (lambda: wse_cluster.Cluster(2).all_gather(numpy.zeros((1, 3, 4))), "the first 1 rows and 2"),
    (lambda: wse_cluster.Cluster(2).all_gather(numpy.zeros((1, 2, 4)), axis="y"), "axes of this cluster"),
    (lambda: wse_cluster.Cluster(2).all_gather(numpy.zeros((1, 2, 4)), scheme="whole"), "schemes are"),
    (lambda: wse_cluster.Cluster(2).broadcast(numpy.zeros((1, 2, 4)), 2), "numbers 0 to 1"),
    (lambda: wse_cluster.Cluster(2).broadcast(numpy.zeros((1, 2, 4)), 0.5), "numbers 0 to 1; not 0.5"),
    (lambda: wse_cluster.Cluster(2).transfer(numpy.zeros((1, 2, 4)), 0, "1"), "numbers 0 to 1; not '1'"),
    (lambda: wse_cluster.Cluster(2).all_reduce(3), r"has 3 dimensions, .* this one is \(\)"),
    (lambda: wse_cluster.Cluster(2).all_reduce(numpy.zeros(4)), r"has 3 dimensions, .* this one is \(4,\)"),
    (lambda: wse_cluster.Cluster(2).all_reduce([[[1], [1, 2]]]), "rows of different lengths"),
    (lambda: wse_cluster.Cluster(2).all_reduce(numpy.zeros((1, 2, 3), complex)), "elements of type complex"),
    (lambda: wse_cluster.Cluster(2, rows="3"), "tiles and rows are whole numbers"),
    (lambda: wse_cluster.Cluster(2).all_to_all(numpy.zeros((1, 2, 3, 4))), "a block for each of 2"),
    (lambda: wse_cluster.Cluster(2).all_gather(numpy.zeros((1, 2, 9000))), "a hub has no room"),
])
def test_mistakes(call, message):
    with pytest.raises(wse_cluster.ClusterError, match=message):
        call()
