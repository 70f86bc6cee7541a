"""Collectives on a square of tiles as an MPI library for a network of tiles has them
(samples/network-mpi), and the library's own, for test_network.py and the claim
collectives_baseline: results against numpy, and cycles."""
import numpy

import collectives_run as lines
import harness
import streams_run as streams

PROGRAM = "samples/network-mpi/layout.csl"
(STAGES, ROUNDS, BROADCAST, REDUCE, ALLREDUCE, BARRIER, CENTRE_BARRIER) = range(7)
AUTO = lines.PATTERN_NAMES.index("auto")


def expected(operation, size, n):
    """The result of each rank, or None where it has no meaning."""
    parts = size if operation in (STAGES, ROUNDS) else 1
    sent = (numpy.arange(size)[:, None] + numpy.arange(parts * n) / 4096).astype(numpy.float32)
    if operation in (STAGES, ROUNDS):
        return list(sent.reshape(size, size, n).transpose(1, 0, 2).reshape(size, -1))
    if operation == BROADCAST:
        return [sent[0]] * size
    total = sent.astype(float).sum(axis=0)
    return [total if rank == 0 or operation == ALLREDUCE else None for rank in range(size)]


def network(folder, width, height, operation, n, arch="wse2"):
    """Cycles of one call, from the last begin of a tile to the last end; the result is checked."""
    folder.mkdir(exist_ok=True)
    image = folder / "network.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}", params={
        "width": width, "height": height, "operation": operation, "n": n})
    harness.emu(image, *(f"--d2h={name}={folder / name}.npy" for name in ("result", "stamps")),
                timeout=900)
    size = width * height
    result, stamps = (harness.load_npy(folder / f"{name}.npy").reshape(size, -1)
                      for name in ("result", "stamps"))
    if operation < BARRIER:
        for found, want in zip(result, expected(operation, size, n)):
            if want is not None:
                numpy.testing.assert_allclose(found[:len(want)], want, rtol=1e-6)
    times = (stamps.reshape(size, 2, 3).astype(int) << numpy.array([0, 16, 32])).sum(axis=2)
    return int(times[:, 1].max() - times[:, 0].max())


def line_cycles(folder, side, what, call, n):
    """Cycles of a call of tests/stdlib/lines over a square, patterns chosen by the model."""
    lines.run(folder, {"width": side, "height": side, "shape": lines.RECTANGLE, "what": what,
                       "pattern_a": AUTO, "pattern_b": AUTO, "first": n, "second": n, "third": n})
    words = harness.load_npy(folder / "stamps.npy").astype(int).reshape(side * side, -1, 3)
    times = (words << numpy.array([0, 16, 32])).sum(axis=2)
    return int(times[:, call + 1].max() - times[:, call].max())


def own(folder, side, operation, n):
    """The same by <collectives>."""
    if operation in (STAGES, ROUNDS):
        kind = streams.PLANNED_ALLTOALL
    elif operation in (BARRIER, CENTRE_BARRIER):
        kind, n = streams.BARRIER, 0
    else:
        what = {REDUCE: lines.REDUCE, ALLREDUCE: lines.ALLREDUCE, BROADCAST: lines.MIXED}[operation]
        return line_cycles(folder, side, what, int(operation == BROADCAST), n)
    return streams.cycles_of(streams.run(folder, {
        "kind": kind, "width": side, "height": side, "shape": lines.RECTANGLE}, (n,)))


def draw(folder, figure, across, curves):
    """A figure as CSV and SVG; curves[name] is a dictionary of cycles."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    with open(folder / f"fig-{figure}.csv", "w") as out:
        print("series", across, "cycles", sep=",", file=out)
        for name, points in curves.items():
            for at, cycles in sorted(points.items()):
                print(name, at, cycles, sep=",", file=out)
    plot, axes = pyplot.subplots(figsize=(6, 4))
    for name, points in curves.items():
        axes.plot(*zip(*sorted(points.items())), "o-" if name.startswith("ours") else "s:",
                  label=name)
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel("cycles")
    axes.legend(fontsize="x-small")
    plot.savefig(folder / f"fig-{figure}.svg")
    pyplot.close(plot)
