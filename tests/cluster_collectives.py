"""Random collectives of wse_cluster against numpy, for tests and claims."""
import os
import sys

import numpy

import harness

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))
import wse_cluster  # noqa: E402

OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "transfer")


def use_build():
    """The programs of the build that the tests run."""
    os.environ["PATH"] = f"{harness.bin_dir()}:{os.environ['PATH']}"


def random_cluster(random, shape=None, **changes):
    width, height = shape or [(2, 1), (3, 1), (4, 1), (5, 1), (7, 1), (9, 1), (2, 2), (3, 2), (3, 3)][
        random.integers(9)]
    options = dict(
        wraps=bool(random.integers(2)), channels=int(random.integers(1, 4)),
        latency=int(random.integers(1, 250)), packet_words=int(random.choice([4, 16, 33, 128])),
        buffers=int(random.integers(1, 4)), pulls=bool(random.integers(2)),
        words_per_cycle=float(random.choice([1, 1, 0.5])),
        credits=[None, None, 3, 20][random.integers(4)],
        arch=str(random.choice(["wse2", "wse3"])))
    return wse_cluster.Cluster(width, height, **{**options, **changes})


def numbers(random, *shape):
    """Whole numbers, whose sums are exact in any order."""
    return random.integers(-1000, 1000, shape).astype(numpy.float32)


def wanted(operation, cluster, axis, data, root=0, target=0):
    """What numpy says; along columns by swapping the axes."""
    if axis == "y":
        data = data.swapaxes(0, 1)
    size = data.shape[1]
    if operation == "all_gather":
        out = numpy.stack([data] * size, axis=1)
    elif operation == "reduce_scatter":
        out = data.sum(axis=1)
    elif operation == "all_reduce":
        out = numpy.stack([data.sum(axis=1)] * size, axis=1)
    elif operation == "all_to_all":
        out = data.swapaxes(1, 2)
    elif operation == "broadcast":
        out = numpy.stack([data[:, root]] * size, axis=1)
    else:
        out = numpy.zeros_like(data)
        out[:, target] = data[:, root]
    return out.swapaxes(0, 1) if axis == "y" else out


def run(operation, cluster, random, length=None, axis=None, **options):
    """One operation on random data; returns its Result and whether it is right."""
    axis = axis or ("y" if cluster.axes == 2 and random.integers(2) else "x")
    size = cluster.height if axis == "y" else cluster.width
    length = length or int(random.integers(1, 80))
    wafers = (cluster.height, cluster.width)
    blocks = operation in ("reduce_scatter", "all_to_all")
    data = numbers(random, *wafers, *((size,) if blocks else ()), length)
    places = {}
    if operation in ("broadcast", "transfer"):
        places["root"] = int(random.integers(size))
    if operation == "transfer":
        places["target"] = int(random.integers(size))
    if operation == "all_gather" and "scheme" not in options:
        options["scheme"] = str(random.choice(["split", "half"]))
    args = [places[name] for name in ("root", "target") if name in places]
    result = getattr(cluster, operation)(data, *args, axis=axis, **options)
    right = numpy.array_equal(result.values, wanted(operation, cluster, axis, data, **places))
    return result, right
