"""Random packets over <collectives/packets> (tests/stdlib/packets): what must come where, for
test_packets.py and the claim packets."""
import numpy

import harness

NOBODY = 0xffff              # in the place of a receiver: this tile sends no more
PROGRAM = "tests/stdlib/packets/layout.csl"
OF_A_STREAM = 20             # packets
# How the receivers of a pattern are drawn.
PATTERNS = ("any tile", "one tile", "half of all to one tile", "a tile of a row", "neighbours",
            "one receiver for each tile", "mirrored", "one tile sends")


def pattern(random, kind, width, height, count):
    """receivers[tile, packet] of one pattern; tiles are numbered row by row."""
    size = width * height
    anyone = random.integers(0, size, (size, count))
    one = int(random.integers(0, size))
    if kind == 1:
        return numpy.full((size, count), one)
    if kind == 2:
        return numpy.where(random.integers(0, 2, (size, count)) == 1, one, anyone)
    if kind == 3:
        return one // width * width + anyone % width
    if kind == 4:
        x, y = numpy.arange(size) % width, numpy.arange(size) // width
        step = random.integers(0, 4, (size, count))
        to_x = numpy.clip(x[:, None] + numpy.choose(step, [1, -1, 0, 0]), 0, width - 1)
        to_y = numpy.clip(y[:, None] + numpy.choose(step, [0, 0, 1, -1]), 0, height - 1)
        return to_y * width + to_x
    if kind == 5:
        return numpy.repeat(random.permutation(size)[:, None], count, axis=1)
    if kind == 6:
        return numpy.repeat(size - 1 - numpy.arange(size)[:, None], count, axis=1)
    if kind == 7:                     # the others send to themselves, which takes no links
        return numpy.where(numpy.arange(size)[:, None] == one, anyone,
                           numpy.arange(size)[:, None])
    return anyone


def build(folder, width, height, count, longest=8, window=1, delay=0, arch="wse2",
          checks=True):
    image = folder / "packets.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}", params={
        "width": width, "height": height, "count": count, "longest": longest, "window": window,
        "delay": delay, "checks": str(checks).lower()})
    return image


def run(folder, image, targets, lengths, width, height, engine="fast", timeout=900, **more):
    """Sends packet k of tile t, of lengths[t, k] words, to tile targets[t, k] unless this is NOBODY
    (as it then is for all further k), and compares what each tile got from each; gives the cycles of
    the run, and for each tile those in which it sent its first packet and got its last. `more` has
    further inputs."""
    size, count = targets.shape

    def saved(name, array):
        array = numpy.asarray(array, numpy.uint16).reshape(height, width, -1)
        return f"--h2d={name}={harness.save_npy(folder / f'{name}.npy', array)}"

    names = ("received", "received_words", "wrong", "stamps")
    harness.emu(image, f"--engine={engine}", saved("targets", targets), saved("lengths", lengths),
                *(saved(name, array) for name, array in more.items()),
                "--launch=main", *(f"--d2h={name}={folder / name}.npy" for name in names),
                f"--stats={folder / 's.json'}", timeout=timeout)
    received, words, wrong, stamps = (
        harness.load_npy(folder / f"{name}.npy").reshape(size, -1) for name in names)
    want = numpy.zeros((size, size), int)
    want_words = numpy.zeros((size, size), int)
    senders = numpy.repeat(numpy.arange(size)[:, None], count, axis=1)
    is_sent = targets != NOBODY
    numpy.add.at(want, (targets[is_sent], senders[is_sent]), 1)
    numpy.add.at(want_words, (targets[is_sent], senders[is_sent]), lengths[is_sent])
    numpy.testing.assert_array_equal(received, want % 65536)
    numpy.testing.assert_array_equal(words, want_words % 65536)
    assert not wrong.any()
    times = (stamps.reshape(size, 2, 3).astype(int) << numpy.array([0, 16, 32])).sum(axis=2)
    return harness.stats(folder / "s.json")["cycles"], times


def between(folder, image, width, height, source, target, words, count=1, most=1):
    """Cycles from the sending of the first of `count` packets between two tiles of an idle network
    to the coming of the last one. The image is for `most` packets."""
    targets = numpy.full((width * height, most), NOBODY)
    targets[source, :count] = target
    _, times = run(folder, image, targets, numpy.full(targets.shape, words), width, height)
    return int(times[target, 1] - times[source, 0])


def interval(folder, arch, window, *ends):
    """Cycles from one packet to the next, late in a stream between two tiles."""
    width, height, _, _, words = ends
    image = build(folder, width, height, 2 * OF_A_STREAM, words, window, arch=arch, checks=False)
    half, whole = (between(folder, image, *ends, count, 2 * OF_A_STREAM)
                   for count in (OF_A_STREAM, 2 * OF_A_STREAM))
    return (whole - half) / OF_A_STREAM


def latencies(folder, width, height, arch):
    """(distance, cycles) of a packet of one word between tile 0 and each other tile, alone."""
    image = build(folder, width, height, 1, arch=arch)
    return [(to % width + to // width, between(folder, image, width, height, 0, to, 1))
            for to in range(1, width * height)]


def line_through(found):
    """Cycles at distance 0 and per tile, by least squares."""
    step, first = numpy.polyfit(*zip(*found), 1)
    return f"{first:.0f}", f"{step:.0f}"


# ---- the model ----------------------------------------------------------------------------------

def predicted(arch, pattern, words=1, ends=(1, 0), window=1):
    """`ends`: how many columns and rows the receiver is away."""
    return int(harness.run([
        harness.tool("wse-model"), "predict", "--op=packets", f"--pattern={pattern}",
        f"--grid={ends[0] + 1}x{ends[1] + 1}", f"--len={words}", f"--step={window}",
        f"--arch={arch}"]).out)


def passed(width, source, target):
    """The tiles between two: first along the column, then along the row."""
    x, y = source % width, source // width
    tiles = []
    while (x, y) != (target % width, target // width):
        if y != target // width:
            y += 1 if y < target // width else -1
        else:
            x += 1 if x < target % width else -1
        tiles.append(y * width + x)
    return tiles[:-1]


def least_cycles(arch, targets, lengths, width):
    """What the model says the busiest tile needs at least. Packets to oneself are not counted."""
    sends, takes, passes = (predicted(arch, name) - 1 for name in ("sends", "takes", "passes"))
    passes_credit = predicted(arch, "passes-credit")
    busy = numpy.zeros(len(targets), int)
    for source, row in enumerate(zip(targets, lengths)):
        for target, words in zip(*row):
            if target == NOBODY or target == source:
                continue
            busy[source] += sends + words
            busy[target] += takes + words
            for tile in passed(width, source, target):
                busy[tile] += passes + words
            for tile in passed(width, target, source):
                busy[tile] += passes_credit
    return int(busy.max())
