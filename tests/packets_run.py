"""Random packets over <collectives/packets> (tests/stdlib/packets): what must come where, for
test_packets.py and the claim packets."""
import numpy

import harness

NOBODY = 0xffff              # in the place of a receiver: this tile sends no more
PROGRAM = "tests/stdlib/packets/layout.csl"
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


def build(folder, width, height, count, longest=8, window=1, delay=0, arch="wse2"):
    image = folder / "packets.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}", params={
        "width": width, "height": height, "count": count, "longest": longest, "window": window,
        "delay": delay})
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


def latencies(folder, width, height, arch):
    """(distance, cycles) of a packet of one word between tile 0 and each other tile, alone."""
    size = width * height
    image = build(folder, width, height, 1, arch=arch)
    found = []
    for to in range(1, size):
        targets = numpy.full((size, 1), NOBODY)
        targets[0, 0] = to
        _, times = run(folder, image, targets, numpy.ones((size, 1), int), width, height)
        found.append((to % width + to // width, int(times[to, 1] - times[0, 0])))
    return found


def line_through(found):
    """Cycles at distance 0 and per tile, by least squares."""
    step, first = numpy.polyfit(*zip(*found), 1)
    return f"{first:.0f}", f"{step:.0f}"
