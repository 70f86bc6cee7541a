"""Calls in a row of one of the collectives that move or combine parts, against the same in numpy,
for test_streams.py and the claims.  A configuration has the parameters of
tests/stdlib/streams/layout.csl.
"""
import numpy

import collectives_run as lines
import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "streams" / "layout.csl"
KINDS = ["allgather", "allgather_v", "reduce_scatter", "reduce_scatter_v", "scan", "exclusive scan",
         "barrier", "alltoall", "alltoall_v", "alltoall_2d",
         "broadcast_any", "shift_up", "shift_down",
         "gather_v", "scatter_v", "two_way_scatter", "two_way_gather",
         "planned_allgather", "planned_reduce_scatter", "split_allreduce",
         "wide_allreduce", "stream_allreduce", "vector_allreduce", "alltoall_short",
         "planned_alltoall", "alltoall_both", "gather", "scatter", "ring_reduce", "jump",
         "steady_barrier"]
(ALLGATHER, ALLGATHER_V, REDUCE_SCATTER, REDUCE_SCATTER_V, SCAN, EXSCAN, BARRIER, ALLTOALL,
 ALLTOALL_V, ALLTOALL_2D, BROADCAST_ANY, SHIFT_UP, SHIFT_DOWN, GATHER_V,
 SCATTER_V, TWO_WAY_SCATTER, TWO_WAY_GATHER, PLANNED_ALLGATHER,
 PLANNED_REDUCE_SCATTER, SPLIT_ALLREDUCE, WIDE_ALLREDUCE,
 STREAM_ALLREDUCE, VECTOR_ALLREDUCE, ALLTOALL_SHORT,
 PLANNED_ALLTOALL, ALLTOALL_BOTH, GATHER, SCATTER, RING_REDUCE, JUMP,
 STEADY_BARRIER) = range(31)
TWO_WAYS = (TWO_WAY_SCATTER, TWO_WAY_GATHER)
ALLREDUCES = (SPLIT_ALLREDUCE, WIDE_ALLREDUCE, STREAM_ALLREDUCE, VECTOR_ALLREDUCE)
ALWAYS_WITH_TASK = (*TWO_WAYS, PLANNED_ALLGATHER, PLANNED_REDUCE_SCATTER, SPLIT_ALLREDUCE,
                    WIDE_ALLREDUCE, ALLTOALL_SHORT, PLANNED_ALLTOALL, ALLTOALL_BOTH)
SCHEMES = WHOLE, HALVES = range(2)       # of rings both ways
WITH_TASK = (ALLGATHER, REDUCE_SCATTER, SCAN, EXSCAN, BARRIER, ALLTOALL, ALLTOALL_2D,
             STREAM_ALLREDUCE, VECTOR_ALLREDUCE, *ALWAYS_WITH_TASK)
GATHERS = (ALLGATHER, ALLGATHER_V, TWO_WAY_GATHER, PLANNED_ALLGATHER)
SCATTERS = (REDUCE_SCATTER, REDUCE_SCATTER_V, TWO_WAY_SCATTER, PLANNED_REDUCE_SCATTER)
REDUCTIONS = (*SCATTERS, SCAN, EXSCAN, *ALLREDUCES, RING_REDUCE, JUMP)
BY_VECTORS = (TWO_WAY_SCATTER, PLANNED_REDUCE_SCATTER, *ALLREDUCES)
BY_HALVES = (ALLTOALL_SHORT, ALLTOALL_BOTH)
RECTANGLE_EXCHANGES = (ALLTOALL_2D, ALLTOALL_SHORT, PLANNED_ALLTOALL, ALLTOALL_BOTH)
EXCHANGES = (ALLTOALL, ALLTOALL_V, *RECTANGLE_EXCHANGES)
OF_RECTANGLES = (BARRIER, STEADY_BARRIER, BROADCAST_ANY, *RECTANGLE_EXCHANGES)
OF_PARTS = (ALLGATHER_V, REDUCE_SCATTER_V, GATHER_V, SCATTER_V)
DEFAULTS = {"width": 4, "height": 1, "shape": lines.ROW, "kind": ALLGATHER, "element": 0,
            "operation": lines.ADD, "with_task": 0, "skew": 0, "late": 0, "steady": 0,
            "classes": 2, "scheme": WHOLE}
CLOSED = 4               # shape besides those of collectives_run


def closed_order(width, height):
    """(x, y) of the tiles of a closed line through a rectangle, as <collectives/layout> has it."""
    if height % 2 == 1:
        return [(x, y) for y, x in closed_order(height, width)]
    rows = [[(x, y) for x in range(1, width)][::1 if y % 2 == 0 else -1] for y in range(height)]
    return [(0, 0), *(tile for row in rows for tile in row),
            *((0, y) for y in range(height - 1, 0, -1))]


def has_vector_operation(element, operation):
    """As <collectives/operations> has it: those that rings with a completion task take."""
    return element in (0, 1) or (element in (2, 3) and operation == lines.ADD)


def tile_order(config):
    """(y, x) of the tiles in the order of their numbers."""
    if config["shape"] == CLOSED:
        return [(y, x) for x, y in closed_order(config["width"], config["height"])]
    return [(y, x) for x, y in lines.line_order(config)]


class Calls:
    """Lengths of the calls, and where each tile's vectors lie; a guard element follows each."""

    def __init__(self, config, lengths, random):
        self.P = config["width"] * config["height"]
        self.kind = config["kind"]
        self.lengths = list(lengths)
        if self.kind == ALLTOALL_V:            # counts[i][p, q]: from tile p to tile q
            self.pairs = [random.integers(0, n + 1, (self.P, self.P)) for n in lengths]
        elif self.kind in (ALLTOALL, *RECTANGLE_EXCHANGES):
            self.pairs = [numpy.full((self.P, self.P), n) for n in lengths]
        if self.kind in OF_PARTS:
            self.counts = [random.integers(0, n + 1, self.P) for n in lengths]
        else:
            self.counts = [numpy.full(self.P, n) for n in lengths]
        self.sends = [self.words_sent(i) for i in range(len(lengths))]
        self.recvs = [self.words_received(i) for i in range(len(lengths))]
        self.send_at = numpy.cumsum([0, *(n + 1 for n in self.sends)])
        self.recv_at = numpy.cumsum([0, *(n + 1 for n in self.recvs)])

    def words_sent(self, i):
        if self.kind in EXCHANGES:
            return int(self.pairs[i].sum(axis=1).max())
        whole = self.kind in (*SCATTERS, SCATTER_V, SCATTER)
        return int(self.counts[i].sum()) if whole else int(self.counts[i].max())

    def words_received(self, i):
        if self.kind in EXCHANGES:
            return int(self.pairs[i].sum(axis=0).max())
        whole = self.kind in (*GATHERS, GATHER_V, GATHER)
        return int(self.counts[i].sum()) if whole else int(self.counts[i].max())

    def firsts(self, i):
        return numpy.concatenate([[0], numpy.cumsum(self.counts[i])])


def expected(config, calls, i, sent):
    """What each tile has of call i in `recv`: its elements, or None for no change.  sent[p] is its
    `send` of the call."""
    P, kind = calls.P, config["kind"]
    counts, firsts = calls.counts[i], calls.firsts(i)
    if kind in (SCATTER_V, SCATTER):
        return [sent[config["root"]][firsts[p]:firsts[p + 1]] for p in range(P)]
    if kind in (*GATHERS, GATHER_V, GATHER):
        everything = numpy.concatenate([sent[p][:counts[p]] for p in range(P)])
        on_root = kind in (GATHER_V, GATHER)
        return [everything if p == config["root"] or not on_root else None for p in range(P)]
    if kind in EXCHANGES:
        begins = numpy.cumsum(calls.pairs[i], axis=1) - calls.pairs[i]
        return [numpy.concatenate([sent[p][begins[p, q]:begins[p, q] + calls.pairs[i][p, q]]
                                   for p in range(P)]) for q in range(P)]
    if kind in (SHIFT_UP, SHIFT_DOWN):
        way = 1 if kind == SHIFT_UP else -1
        return [sent[(p - way) % P][:calls.lengths[i]] for p in range(P)]
    function = lines.FUNCTIONS[config["operation"]]
    with numpy.errstate(over="ignore"):
        if kind in (*SCATTERS, *ALLREDUCES, RING_REDUCE, JUMP):
            total = sent[0].copy()
            for p in range(1, P):
                total = function(total, sent[p])
            if kind == RING_REDUCE:
                return [total if p == chosen_root(calls.P, i) else sent[p] for p in range(P)]
            if kind == JUMP:
                return [total if p == config["root"] else None for p in range(P)]
            return ([total[:counts[p]] for p in range(P)] if kind in ALLREDUCES
                    else [total[firsts[p]:firsts[p + 1]] for p in range(P)])
        if kind in (SCAN, EXSCAN):
            sums = [sent[0]]
            for p in range(1, P):
                sums.append(function(sums[-1], sent[p]))
            return sums if kind == SCAN else [None, *sums[:-1]]
    return [None] * P


def chosen_root(tiles, call):
    """The root of a broadcast from any tile or a ring reduction, by the number of the call; the rule
    is that of tests/stdlib/streams/pe.csl."""
    return (7 * call + 3) % tiles


def stamps_of(folder, config, calls):
    """(calls, tiles, 2): the cycle in which each tile came and left."""
    words = harness.load_npy(folder / "stamps.npy").astype(numpy.int64)
    words = words.reshape(config["height"], config["width"], len(calls.lengths), 2, 3)
    cycles = words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)
    return numpy.stack([cycles[y, x] for y, x in tile_order(config)], axis=1)


def everywhere(config, numbers):
    """The same numbers for every tile."""
    numbers = numpy.asarray(numbers, numpy.uint16).ravel()
    shape = config["height"], config["width"], numbers.size
    return numpy.broadcast_to(numbers, shape).copy()


def by_tile(config, numbers):
    """numbers[p]: of the tiles in their order, each a list."""
    array = numpy.zeros((config["height"], config["width"], len(numbers[0])), numpy.uint16)
    for (y, x), row in zip(tile_order(config), numbers):
        array[y, x] = row
    return array


def tables_of(config, calls):
    """The program's arrays of numbers: lengths and places of the calls and of their parts."""
    tables = {"lengths": everywhere(config, calls.lengths),
              "send_at": everywhere(config, calls.send_at[:-1]),
              "recv_at": everywhere(config, calls.recv_at[:-1])}
    if calls.kind not in EXCHANGES:
        places = everywhere(config, [calls.firsts(i)[:-1] for i in range(len(calls.lengths))])
        return {**tables, "counts": everywhere(config, calls.counts), "places": places,
                "sources": places}

    def begins(numbers):
        return numpy.cumsum(numbers) - numbers

    def of_pairs(of_tile):
        return by_tile(config, [numpy.concatenate([of_tile(pairs, p) for pairs in calls.pairs])
                                for p in range(calls.P)])

    return {**tables, "counts": of_pairs(lambda pairs, p: pairs[p]),
            "sources": of_pairs(lambda pairs, p: begins(pairs[p])),
            "places": of_pairs(lambda pairs, p: begins(pairs[:, p]))}


def received(config, calls, sent, before, after):
    """What `recv` must hold at the end.  sent, before: `send` and `recv` at the start; after: what
    `recv` holds, for the tiles that may use it as they like."""
    want, order = before.copy(), tile_order(config)
    for i, length in enumerate(calls.lengths):
        begin, at = int(calls.recv_at[i]), int(calls.send_at[i])
        parts = [sent[y, x, at:at + calls.sends[i]] for y, x in order]
        whole = slice(begin, begin + length)
        if config["kind"] == BROADCAST_ANY:
            want[..., whole] = before[*order[chosen_root(calls.P, i)], whole]
        for (y, x), numbers in zip(order, expected(config, calls, i, parts)):
            if numbers is not None:
                want[y, x, begin:begin + len(numbers)] = numbers
            elif config["kind"] == JUMP:           # scratch of the tiles that are not the root
                want[y, x, whole] = after[y, x, whole]
    return want


def compiled(folder, config, calls, *options):
    image = folder / "streams.bin"
    harness.compile(PROGRAM, image, "--werror", *options, params={
        **config, "calls": len(calls.lengths), "longest": max([1, *calls.lengths]),
        "room_send": int(calls.send_at[-1]) + 1, "room_recv": int(calls.recv_at[-1]) + 1})
    return image


def run(folder, settings, lengths, *args, seed=0, engine="fast", arch="wse2", level="-O1"):
    """Compiles and runs calls of these lengths and compares all results; gives the cycles in which
    each tile came to each call and left it."""
    config = {**DEFAULTS, **settings}
    config["with_task"] |= config["kind"] in ALWAYS_WITH_TASK
    config.setdefault("root", config["width"] * config["height"] // 2)
    random = numpy.random.default_rng(seed)
    calls = Calls(config, lengths, random)
    dtype = lines.TYPES[config["element"]]

    def values(places):
        shape = config["height"], config["width"], int(places[-1]) + 1
        return lines.values(random, config, shape).astype(dtype)

    sent, before = values(calls.send_at), values(calls.recv_at)
    folder.mkdir(exist_ok=True)
    image = compiled(folder, config, calls, level, f"--arch={arch}")
    inputs = {"send": sent, "recv": before, **tables_of(config, calls)}
    copies = [f"--h2d={name}={harness.save_npy(folder / (name + '.npy'), array)}"
              for name, array in inputs.items()]
    harness.emu(image, f"--engine={engine}", *copies, "--run",
                *(f"--d2h={name}={folder / (name + '.npy')}"
                  for name in ("send", "recv", "stamps")),
                f"--stats={folder / 's.json'}", *args, timeout=900)
    numpy.testing.assert_array_equal(
        harness.load_npy(folder / "send.npy").reshape(sent.shape), sent,
        err_msg=f"what was sent has changed: {config}")
    after = harness.load_npy(folder / "recv.npy").reshape(before.shape)
    numpy.testing.assert_array_equal(after, received(config, calls, sent, before, after),
                                     err_msg=f"{config}, lengths {lengths}")
    return stamps_of(folder, config, calls)


OPERATIONS = {ALLGATHER: "allgather", REDUCE_SCATTER: "reduce-scatter", SCAN: "scan",
              EXSCAN: "exclusive-scan", BARRIER: "barrier", ALLTOALL: "alltoall",
              ALLTOALL_2D: "alltoall", ALLTOALL_SHORT: "alltoall", ALLTOALL_BOTH: "alltoall",
              TWO_WAY_SCATTER: "reduce-scatter",
              TWO_WAY_GATHER: "allgather", SPLIT_ALLREDUCE: "allreduce",
              STREAM_ALLREDUCE: "allreduce", GATHER: "gather", SCATTER: "scatter",
              BROADCAST_ANY: "broadcast", RING_REDUCE: "reduce", JUMP: "reduce"}
OF_A_ROOT = (GATHER, SCATTER, BROADCAST_ANY, RING_REDUCE, JUMP)
PATTERNS = {SPLIT_ALLREDUCE: "split", STREAM_ALLREDUCE: "stream", ALLTOALL_SHORT: "short",
            ALLTOALL_BOTH: "both", BROADCAST_ANY: "any", RING_REDUCE: "ring", JUMP: "jump-chain"}


def predicted(kind, tiles, length, with_task=0, scheme=WHOLE, arch="wse2", root=0):
    """Cycles by the model; `tiles` is a number, or a pair for a rectangle, and so is `root`."""
    pattern = (("whole", "halves")[scheme] if kind in TWO_WAYS
               else PATTERNS.get(kind, "task" if with_task else "line"))
    shape = f"--pes={tiles}" if isinstance(tiles, int) else f"--grid={tiles[0]}x{tiles[1]}"
    at = f"{root}" if isinstance(root, int) else f"{root[0]},{root[1]}"
    return int(harness.run([harness.tool("wse-model"), "predict", f"--op={OPERATIONS[kind]}",
                            f"--pattern={pattern}", shape, f"--arch={arch}", f"--root={at}",
                            f"--len={max(length, 1)}"]).out)


def most_cycles(model):
    """What a call may take for which the model predicts so many cycles."""
    return 1.05 * model + 64


def cycles_of(stamps, call=0):
    """From the last tile's coming to the last one's leaving."""
    return int(stamps[call, :, 1].max() - stamps[call, :, 0].max())


def cycles_and_model(folder, config, n, arch="wse2"):
    """Cycles of one call with n elements, and those of the model."""
    tiles = (config["width"], config["height"]) if "height" in config else config["width"]
    model = predicted(config["kind"], tiles, n, config.get("with_task", 0),
                      config.get("scheme", WHOLE), arch)
    return cycles_of(run(folder, config, (n,), arch=arch)), model


def point_of_a_root(random, kind):
    """Tiles (for a broadcast a rectangle), elements, their type and the root of a random call."""
    width = lines.log_uniform(random, 2, 200)
    height = 1
    if kind == BROADCAST_ANY:
        width, height = (lines.log_uniform(random, 1, 14), lines.log_uniform(random, 2, 14))
    tiles = width * height
    most = max(1, min(500, 3000 // tiles)) if kind in (GATHER, SCATTER) else 500
    n = lines.log_uniform(random, 1, most)
    root = int(random.choice([0, tiles - 1, random.integers(0, tiles)]))
    types = 3 if kind in REDUCTIONS else 6                 # those that the machine adds by vectors
    return {"kind": kind, "width": width, "height": height, "root": root,
            "element": int(random.integers(0, types)),
            "shape": lines.RECTANGLE if kind == BROADCAST_ANY else lines.ROW}, n


def words_of(kind, element, n):
    """Wavelets of n elements: a pair of 16 bits is one, where the operation takes pairs."""
    if lines.TYPES[element]().itemsize > 2:
        return n
    if kind in (GATHER, SCATTER):
        return n // 2 if n % 2 == 0 else n
    return (n + 1) // 2


def cycles_of_a_root(folder, config, n, arch):
    """Cycles of the point's call, and those of the model."""
    kind, width = config["kind"], config["width"]
    is_wide = kind in OF_RECTANGLES
    stamps = run(folder, config, (n,), arch=arch)
    by_number = kind in (BROADCAST_ANY, RING_REDUCE)
    root = chosen_root(width * config["height"], 0) if by_number else config["root"]
    model = predicted(kind, (width, config["height"]) if is_wide else width,
                      words_of(kind, config["element"], n), arch=arch,
                      root=(root % width, root // width) if is_wide else root)
    return cycles_of(stamps), model


def bytes_of_exchanges(tiles, lengths):
    """What a tile has for the calls: what it sends, receives and passes on; the last, of one call, also
    twice in the module."""
    return 4 * tiles * (3 * sum(lengths) + 2 * max(lengths))


def random_config(random, kind, most_tiles, longest, calls):
    """A configuration of this kind and the lengths of its calls, some of them 0 and 1."""
    shape = lines.RECTANGLE if kind in OF_RECTANGLES else int(random.integers(0, 3))
    side = min(max(2, int(most_tiles ** 0.5)), 8 if kind in BY_HALVES else most_tiles)
    tiles = lines.log_uniform(random, 1, most_tiles)
    width, height = {lines.ROW: (tiles, 1), lines.COLUMN: (1, tiles)}.get(
        shape, (int(random.integers(1, side + 1)), int(random.integers(1, side + 1))))
    if kind == ALLTOALL_BOTH:
        width, height = max(width, 2), max(height, 2)
    with_task = int(kind in WITH_TASK and random.integers(0, 2))
    config = {"kind": kind, "shape": shape, "width": width, "height": height,
              "element": int(random.integers(0, 6)), "operation": int(random.integers(0, 4)),
              "with_task": with_task, "skew": int(random.choice([0, 0, 30, 300]))}
    if kind == ALLTOALL_2D:
        config["classes"] = int(random.integers(1, 3))
    if kind not in REDUCTIONS:
        config["operation"] = lines.ADD
    elif kind in BY_VECTORS or (with_task and kind == REDUCE_SCATTER):
        # Those with a vector operation.
        config["element"] = int(random.integers(0, 2))
    if kind in TWO_WAYS:
        config["scheme"] = int(random.integers(0, 2))
        if width > 1 and height > 1 and width * height % 2 == 0:
            config["shape"] = CLOSED
    tiles = width * height
    if kind in EXCHANGES:
        longest = longest // 3 + 1
    # Bytes that its code leaves.
    room = 14000 if kind in (ALLTOALL_BOTH, PLANNED_ALLTOALL) else 20000
    most = max(1, min(longest, room // (4 * tiles * calls) - 1))
    if kind in ALLREDUCES:                                 # whose vectors have no part per tile
        most = max(1, min(45 * tiles, 9000 // (4 * calls)))
    lengths = [int(random.choice([0, 1, lines.log_uniform(random, 1, most)], p=[.1, .1, .8]))
               for _ in range(calls)]
    while kind in EXCHANGES and bytes_of_exchanges(tiles, lengths) > 2.2 * room:
        lengths[int(numpy.argmax(lengths))] //= 2
    return config, lengths
