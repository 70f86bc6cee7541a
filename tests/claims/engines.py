#!/usr/bin/python3
"""Both engines give the same events, statistics, findings, memory and registers, and so does the
reference engine when it visits the tiles in another order.

Programs: every sample, as its README compiles it, at each level on both machines, and 2,000 random
ones, half of them wild (tests/unit/random_program.h).  ENGINES_SEEDS sets their number; 200 is the
least that was promised.
"""
import os
import re

from claims import Claims, harness
import token_mutants

SEEDS = int(os.environ.get("ENGINES_SEEDS", "2000"))


def compare(images=(), seeds=1):
    """What unit-engine_diff says, and whether all comparisons held."""
    ran = harness.run([harness.tool("unit-engine_diff")], expect=None, timeout=3000,
                      env={"ENGINE_DIFF_SEEDS": str(seeds),
                           "ENGINE_DIFF_IMAGES": ":".join(map(str, images))})
    if ran.code:
        print(ran.out + ran.err)
    return ran.err + ran.out, ran.code == 0


def main():
    claims = Claims()
    said, same = compare(seeds=SEEDS)
    claims.equals(f"{SEEDS} random programs, same in every way", same, True)
    events = re.search(r"(\d+) quiet.* (\d+) with faults; (\d+) events", said)
    claims.at_least("  runs of them that ended quietly", int(events[1]), SEEDS // 10)
    claims.at_least("  runs of them that ended with a finding", int(events[2]), SEEDS // 20)
    claims.at_least("  events compared", int(events[3]), 100 * SEEDS)
    for sample in token_mutants.samples():
        name = sample.folder.name
        images = []
        for arch in ("wse2", "wse3"):
            for level in ("-O0", "-O1", "-O2"):
                image = claims.scratch / f"{name}{level}-{arch}.bin"
                harness.cslc(*sample.args, level, f"--arch={arch}", "-o", image, cwd=sample.folder)
                images.append(image)
        said, same = compare(images)
        claims.equals(f"{name}, both machines, -O0 to -O2: same in every way", same, True)
        claims.equals("  images compared", len(re.findall(r"\.bin: \d+ events", said)), 6)
    claims.finish()


main()
