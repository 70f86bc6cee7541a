#!/usr/bin/python3
"""Packets of <collectives/packets> on 8 x 8 tiles: random patterns of receivers, among them hot
spots, with receivers that pause: no loss, no reordering between a pair, no deadlock; and the
latency against the distance, whose line docs/collectives.md states.

PATTERNS sets another number.  About 4 minutes.
"""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy

from claims import Claims, harness
import packets_run as packets

PATTERNS = int(os.environ.get("PATTERNS", "10000"))
PAGE = harness.ROOT / "docs" / "collectives.md"
WIDTH = HEIGHT = 8
OF_A_RUN = 250           # patterns, one behind the other without a barrier
OF_A_TILE = 4            # packets in a pattern
LONGEST = 8
CYCLES_PER_STEP = {"wse2": 100, "wse3": 85}      # of a packet of one word, from tile to tile


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
    claims.finish()


main()
