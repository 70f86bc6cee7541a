"""Random collectives over all tiles of several wafers (<links/tiles>) against numpy, for tests and
claims: runs tests/cluster/tiles and computes what each tile must have afterwards."""
from dataclasses import dataclass, field

import numpy

import cluster_run
import harness
from cluster_collectives import random_cluster

OPERATIONS = ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "transfer")
MOST_CALLS = 8


@dataclass
class Call:
    operation: str
    n: int
    axis: int = 0
    wafer: int = 0
    rank: int = 0
    to_wafer: int = 0
    to_rank: int = 0
    turns: int = 0              # of a loop that runs beside the call

    def words(self):
        return [1 + OPERATIONS.index(self.operation), self.n, self.axis, self.wafer, self.rank,
                self.to_wafer, self.to_rank, self.turns]


@dataclass
class Shape:
    """A cluster of wse_cluster, and the wafers' workers."""
    cluster: object
    workers: int = 1            # rows of them
    elements: int = 400         # of each array of a worker
    length: int = 20            # about that of sums
    calls: list = field(default_factory=list)

    @property
    def top(self):
        return self.cluster.axes * (2 * self.cluster.channels + 1)

    @property
    def tiles(self):
        return self.cluster.tiles * self.workers

    def wafers(self, axis):
        return (self.cluster.width, self.cluster.height)[axis]

    def room(self):
        """What a hub needs: its share of the longest array, and a word more for each block."""
        return -(-self.elements // self.cluster.channels) + 2 * max(self.cluster.width,
                                                                   self.cluster.height)


def build(shape, folder):
    c = shape.cluster
    harness.compile("tests/cluster/tiles/layout.csl", folder / "p.bin", f"--arch={c.arch}", params={
        "axes": c.axes, "k": c.channels, "width": c.tiles, "height": shape.top + shape.workers,
        "packet_words": c.packet_words, "buffers": c.buffers, "pulls": str(c.pulls).lower(),
        "room": shape.room(), "elements": shape.elements, "length": shape.length})
    return cluster_run.write(folder / "c.json", c.file("p.bin"))


def words_of_calls(shape, x, y):
    """What every tile of wafer (x, y) gets: the calls, and its place along both axes."""
    c = shape.cluster
    words = numpy.zeros(8 * MOST_CALLS + 6, numpy.uint16)
    for i, call in enumerate(shape.calls):
        words[8 * i:8 * i + 8] = call.words()
    words[-6:] = [c.width, x, c.wraps, c.height, y, c.wraps]
    return words


def run(shape, send, folder, *options):
    """send[y, x, tile]: of each wafer's tiles.  Returns `send`, `recv` and the cycles afterwards,
    and the statistics."""
    c, rows, width = shape.cluster, shape.workers, shape.cluster.tiles
    path = build(shape, folder)
    region, copies, fetch = f"@0,{shape.top},{width},{rows}", [], []
    for x, y in c.wafers():
        name = f"w{x}.{y}"
        numpy.save(folder / f"s{name}.npy", send[y, x].reshape(rows, width, -1))
        calls = numpy.tile(words_of_calls(shape, x, y), (rows, width, 1))
        numpy.save(folder / f"c{name}.npy", calls)
        copies += [f"--h2d={name}:{symbol}{region}={symbol[0]}{name}.npy"
                   for symbol in ("send", "calls")]
        fetch += [f"--d2h={name}:{symbol}{region}={symbol}-{name}.npy"
                  for symbol in ("send", "recv", "times")]
    ran, stats = cluster_run.emu(path, *copies, "--launch=go", *fetch, f"--engine={c.engine}",
                                 *options, cwd=folder)
    assert ran.code == 0, ran.out + ran.err

    def of(symbol):
        arrays = [[numpy.load(folder / f"{symbol}-w{x}.{y}.npy") for x in range(c.width)]
                  for y in range(c.height)]
        return numpy.array(arrays).reshape(c.height, c.width, shape.tiles, -1)

    return of("send"), of("recv"), of("times"), stats


# ---- what numpy says ----------------------------------------------------------------------------

def _carry_out(call, send, recv):
    """One call on send[wafer, tile, element] and recv of a line of wafers; nan: any number."""
    n, (wafers, tiles, _) = call.n, send.shape
    everyone = wafers * tiles
    if call.operation == "all_reduce":
        send[..., :n] = send[..., :n].sum(axis=(0, 1))
    elif call.operation == "broadcast":
        send[..., :n] = send[call.wafer, call.rank, :n]
    elif call.operation == "transfer":
        sent = send[call.wafer, call.rank, :n].copy()
        send[..., :n] = numpy.nan
        send[call.to_wafer, call.to_rank, :n] = sent
    elif call.operation == "all_gather":
        recv[..., :everyone * n] = send[..., :n].ravel()
    else:
        blocks = send[..., :everyone * n].reshape(everyone, everyone, n)
        if call.operation == "reduce_scatter":
            recv[..., :n] = blocks.sum(axis=0).reshape(wafers, tiles, n)
            send[..., :everyone * n] = numpy.nan
        else:
            recv[..., :everyone * n] = blocks.swapaxes(0, 1).reshape(wafers, tiles, -1)


def wanted(shape, send):
    recv = numpy.zeros_like(send)
    send = send.copy()
    for call in shape.calls:
        if call.axis == 0:
            for y in range(send.shape[0]):
                _carry_out(call, send[y], recv[y])
        else:
            for x in range(send.shape[1]):
                _carry_out(call, send[:, x], recv[:, x])
    return send, recv


def agrees(wanted_values, values):
    return bool(numpy.all(numpy.isnan(wanted_values) | (wanted_values == values)))


# ---- random calls -------------------------------------------------------------------------------

def random_call(random, operation, shape):
    axis = int(random.integers(shape.cluster.axes))
    wafers, tiles = shape.wafers(axis), shape.tiles
    parts = 1 if operation in ("all_reduce", "broadcast", "transfer") else wafers * tiles
    most = min(shape.elements // parts, 90)
    return Call(operation, int(random.integers(1, most + 1)), axis,
                int(random.integers(wafers)), int(random.integers(tiles)),
                int(random.integers(wafers)), int(random.integers(tiles)),
                int(random.choice([0, 0, 7, 300])))


def random_shape(random, operation, most_calls=3, **changes):
    """A cluster of few channels and tiles, one call of `operation` and perhaps others after it.
    One of them at most makes sums, whose numbers stay exact."""
    cluster = random_cluster(random, channels=int(random.integers(1, 3)), **changes)
    cluster.tiles = 4 * cluster.channels + 1 + int(random.integers(3))
    shape = Shape(cluster, int(random.integers(1, 4)))
    shape.elements = max(400, max(cluster.width, cluster.height) * shape.tiles)
    shape.calls = [random_call(random, operation, shape)]
    sums = ("all_reduce", "reduce_scatter")
    others = [o for o in OPERATIONS if o not in sums or operation not in sums]
    for _ in range(int(random.integers(most_calls))):
        shape.calls.append(random_call(random, str(random.choice(others)), shape))
        if shape.calls[-1].operation in sums:
            others = [o for o in others if o not in sums]
    return shape


def check(shape, random, folder, *options):
    """Runs the calls on random data; returns whether every tile has what numpy says, its times, and
    the statistics."""
    c = shape.cluster
    send = random.integers(-9, 10, (c.height, c.width, shape.tiles, shape.elements)).astype(
        numpy.float32)
    want_send, want_recv = wanted(shape, send)
    got_send, got_recv, times, stats = run(shape, send, folder, *options)
    right = agrees(want_send, got_send) and agrees(want_recv, got_recv)
    return right, times, stats
