#!/usr/bin/python3
"""A trace of some cycles costs little more than the run, however long that is: of each family of
programs (tests/bench/families.py) on 12 x 10 tiles, what wse-emu with --trace=all and --trace-cycles
takes more than without, in instructions of the host, is at most a tenth of what the whole trace takes
more.  The commit draws the 20 cycles.  The trace is the lines of the whole trace in these cycles.
Runs of fewer than 1,000 cycles are left out.

FAMILIES=TEXT chooses families; SIZE=WxH another rectangle.

No short form: times.
"""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import families  # noqa: E402
from claims import Claims, harness  # noqa: E402

MOST_SHARE, CYCLES, FEWEST = 0.1, 20, 1000
SIZE = tuple(int(part) for part in os.environ.get("SIZE", "12x10").split("x"))

claims = Claims()
random = harness.commit_random("cycles that are traced")


def instructions(*options):
    done = harness.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                        harness.tool("wse-emu"), *options], timeout=3600)
    return int(re.search(r"Collected : (\d+)", done.err)[1])


def traced(image, *options):
    """A run's trace of these options, line by line, what is not about a cycle left out."""
    trace = claims.scratch / "t.txt"
    harness.emu(image, "--trace=all", f"--trace-file={trace}", *options, timeout=600)
    with open(trace, encoding="utf-8") as lines:
        yield from (line for line in lines if line.startswith("@"))


def cycle_of(line):
    return int(re.match(r"@(\d+) ", line)[1])


def last_cycle(image):
    stats = claims.scratch / "s.json"
    harness.emu(image, f"--stats={stats}", timeout=600)
    return harness.stats(stats)["cycles"] - 1


for name, make in families.FAMILIES.items():
    if os.environ.get("FAMILIES", "") not in name:
        continue
    workload = make(*SIZE)
    image = claims.scratch / "p.bin"
    harness.compile(workload.layout, image, "--fabric-warnings", params=workload.params)
    last = last_cycle(image)
    if last < FEWEST:
        continue
    first = int(random.integers(last))
    end = first + CYCLES
    limits = f"--trace-cycles={first}:{end - 1}"
    part = [line for line in traced(image) if first <= cycle_of(line) < end]
    claims.equals(f"{name}: lines of the trace of cycles {first} to {end - 1} that are not in the "
                  "whole trace, or the other way round",
                  len(set(part) ^ set(traced(image, limits))), 0)
    alone = instructions(image)
    of_part, of_whole = (instructions(image, "--trace=all", f"--trace-file={claims.scratch}/t.txt",
                                      *options) - alone for options in ([limits], []))
    claims.at_most(f"{name}: what it takes more than the run alone, over what the whole trace does",
                   of_part / of_whole, MOST_SHARE)
claims.finish()
