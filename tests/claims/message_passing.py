#!/usr/bin/python3
"""Messages of <message_passing> on random rectangles of up to 8 x 8 tiles: random patterns of
receivers, among them hot spots, with receivers that pause, elements of 16 and of 32 bits, any two
queues, both engines: no loss, no reordering between a pair, no wrong element, no deadlock.

CONFIGURATIONS sets another number.  About 10 minutes.

Short form: test_message_passing.py::test_patterns.
"""
import os
from concurrent.futures import ThreadPoolExecutor

from claims import Claims, harness
import message_run
import packets_run as packets

CONFIGURATIONS = int(os.environ.get("CONFIGURATIONS", "600"))


def run_one(folder, i):
    """Messages sent, and whether the run was wrong."""
    random = harness.commit_random(f"claim of messages {i}")
    width, height = (int(n) for n in random.integers(1, 9, 2))
    count = int(random.integers(1, 40))
    folder.mkdir()
    image = message_run.build(folder, width, height, count, int(random.choice([0, 0, 20, 200])),
                              [int(q) for q in random.integers(1, 8, 2)],
                              int(random.integers(0, 2)))
    targets = packets.pattern(random, int(random.integers(0, len(packets.PATTERNS))), width,
                              height, count)
    longest = int(random.choice([1, 2, 5, message_run.MOST]))
    try:
        message_run.run(folder, image, targets,
                        random.integers(1, longest + 1, targets.shape), width, height,
                        str(random.choice(["fast", "fast", "reference"])))
    except AssertionError as failure:
        print(f"run {i}: {failure}"[:3000], flush=True)
        return targets.size, 1
    finally:
        for path in folder.glob("*"):
            path.unlink()
    return targets.size, 0


def main():
    claims = Claims()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda i: run_one(claims.scratch / str(i), i),
                             range(CONFIGURATIONS)))
    print(f"{sum(sent for sent, _ in runs)} messages")
    claims.equals(f"of {CONFIGURATIONS} configurations, those with a loss, a change of order, a "
                  "wrong element or a deadlock", sum(wrong for _, wrong in runs), 0)
    claims.finish()


main()
