#!/usr/bin/python3
"""Packets of <collectives/packets> on 8 x 8 tiles: random patterns of receivers, among them hot
spots, with receivers that pause: no loss, no reordering between a pair, no deadlock; and the
latency against the distance, whose line docs/collectives.md states.

The model at random points of both machines, on lines and rectangles: the latency of a packet alone
and the cycles from one packet to the next, both within 5 % + 16, but for three packets at once on a
straight way within 12 % + 16; and no random pattern takes fewer cycles than its busiest tile needs,
nor hot spots 1.25 times as many.

PATTERNS and POINTS (of the model, 60 per machine) set other numbers.  About 4 minutes.

Short form: test_packets.py::test_patterns, test_packets.py::test_model.
"""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy

from claims import Claims, harness
from collectives_run import log_uniform
import packets_run as packets

PATTERNS = int(os.environ.get("PATTERNS", "10000"))
POINTS = int(os.environ.get("POINTS", "60"))
PAGE = harness.ROOT / "docs" / "collectives.md"
WIDTH = HEIGHT = 8
OF_A_RUN = 250           # patterns, one behind the other without a barrier
OF_A_TILE = 4            # packets in a pattern
LONGEST = 8
CYCLES_PER_STEP = {"wse2": 100, "wse3": 85}      # of a packet of one word, from tile to tile

OF_MODEL, CYCLES_OF_MODEL = 0.05, 16
MANY, OF_MANY = 3, 0.12      # packets at once on a straight way, which wait for each other in turns
LONGEST_ALONE = 40           # words; a tile has room for 3 of each of 64 senders
HOT_SPOT, OF_HOT_SPOT = 1, 1.25                  # its place in packets.PATTERNS


def run_patterns(folder, i):
    random = harness.commit_random(f"packets {i}")
    window, delay = int(random.integers(1, 3)), int(random.choice([0, 40]))
    folder.mkdir()
    image = packets.build(folder, WIDTH, HEIGHT, OF_A_RUN * OF_A_TILE, LONGEST, window, delay,
                          ("wse2", "wse3")[i % 2])
    kinds = random.integers(0, len(packets.PATTERNS), OF_A_RUN)
    targets = numpy.concatenate([packets.pattern(random, kind, WIDTH, HEIGHT, OF_A_TILE)
                                 for kind in kinds], axis=1)
    try:
        packets.run(folder, image, targets, random.integers(0, LONGEST + 1, targets.shape), WIDTH,
                    HEIGHT)
    except AssertionError as failure:
        print(f"run {i}: {failure}"[:3000], flush=True)
        return OF_A_RUN
    finally:
        for path in folder.glob("*"):
            path.unlink()
    return 0


def off_the_model(measured, predicted, share=OF_MODEL):
    """By how much more than the bound allows; negative within it."""
    return abs(measured - predicted) - share * measured - CYCLES_OF_MODEL


def worst_of_pairs(folder, arch, random):
    """Of random pairs of tiles, the worst latency and the worst interval."""
    alone, in_turn = [], []
    for _ in range(POINTS):
        width, height = [(12, 1), (1, 12), (8, 8), (5, 3)][int(random.integers(4))]
        source, target = (int(tile) for tile in random.choice(width * height, 2, replace=False))
        ends = (abs(target % width - source % width), abs(target // width - source // width))
        words, window = log_uniform(random, 1, LONGEST_ALONE), int(random.integers(1, 4))
        pair = (width, height, source, target, words)
        image = packets.build(folder, width, height, 1, words, arch=arch)
        alone.append(off_the_model(packets.between(folder, image, *pair),
                                   packets.predicted(arch, "latency", words, ends)))
        in_turn.append(off_the_model(packets.interval(folder, arch, window, *pair),
                                     packets.predicted(arch, "interval", words, ends, window),
                                     OF_MANY if window == MANY and 0 in ends else OF_MODEL))
    return max(alone), max(in_turn)


def over_the_bound(folder, arch, kind, random):
    """Cycles of a random pattern on a random rectangle, over those of its busiest tile."""
    width, height = (int(side) for side in random.integers(3, WIDTH + 1, 2))
    count = int(random.integers(5, 30))
    image = packets.build(folder, width, height, count, LONGEST, int(random.integers(1, 4)),
                          arch=arch, checks=False)
    targets = packets.pattern(random, kind, width, height, count)
    lengths = random.integers(1, LONGEST + 1, targets.shape)
    cycles, _ = packets.run(folder, image, targets, lengths, width, height)
    return cycles / packets.least_cycles(arch, targets, lengths, width)


def check_model(claims, arch):
    random = harness.commit_random(f"model of packets {arch}")
    alone, in_turn = worst_of_pairs(claims.scratch, arch, random)
    claims.at_most(f"{arch}: latency off the model, beyond 5 % + 16", alone, 0, "cycles")
    claims.at_most(f"{arch}: interval off the model, beyond 5 % + 16, for three packets at once on a "
                   "straight way 12 % + 16", in_turn, 0, "cycles")
    kinds = [k % len(packets.PATTERNS) for k in range(max(POINTS // 2, len(packets.PATTERNS)))]
    found = [(k, over_the_bound(claims.scratch, arch, k, random)) for k in kinds]
    claims.at_least(f"{arch}: random patterns, cycles over those of the busiest tile",
                    min(ratio for _, ratio in found), 1)
    claims.at_most(f"{arch}: the same, of hot spots",
                   max(ratio for k, ratio in found if k == HOT_SPOT), OF_HOT_SPOT)


def main():
    claims = Claims()
    runs = -(-PATTERNS // OF_A_RUN)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = sum(pool.map(lambda i: run_patterns(claims.scratch / str(i), i), range(runs)))
    claims.equals(f"of {runs * OF_A_RUN} patterns, those in runs with a loss, a change of order, a "
                  "wrong word or a deadlock", failed, 0)
    for arch, bound in CYCLES_PER_STEP.items():
        found = packets.latencies(claims.scratch, WIDTH, HEIGHT, arch)
        by_distance = {d: [c for other, c in found if other == d] for d, _ in found}
        for distance in sorted(by_distance):
            print(f"{arch}, distance {distance}: {min(by_distance[distance])} to "
                  f"{max(by_distance[distance])} cycles")
        first = max(by_distance[1])
        steps = max((max(cycles) - first) / (d - 1) for d, cycles in by_distance.items() if d > 1)
        claims.at_most(f"{arch}: cycles of a packet of one word per tile further", steps, bound)
        line = "{} cycles and {} per tile".format(*packets.line_through(found))
        claims.check(f"{arch}: the line through them is on the page", line, "stated",
                     f"{line} on {arch}" in " ".join(PAGE.read_text().split()))
        check_model(claims, arch)
    claims.finish()


main()
