#!/usr/bin/python3
"""A report of a large program costs at most half of its run: wse-emu with --report against wse-emu
alone, on 750 x 994 tiles by processor time (the median of pairs by turns), and by the instructions of
programs of 250 x 190 tiles. With --profile beside --report, which adds time lines and cycles of lines,
it costs at most six times the run (processor time, the median of pairs by turns); of programs that
the emulator runs in large steps without it, loops and streams, at most 80 times.

PAIRS=N (default 3); WAFER=0 leaves the wafer out, which takes minutes on a busy machine.

No short form: times.
"""
import os
import re
import resource
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import families  # noqa: E402
from claims import Claims, harness  # noqa: E402

MOST_RATIO, MOST_WITH_PROFILE, MOST_OF_LARGE_STEPS = 1.5, 6, 80
PAIRS = int(os.environ.get("PAIRS", "3"))
SIZE = (250, 190)
PROGRAMS = ("waves", "stencil", "tasks")
IN_LARGE_STEPS = ("chain", "scalar")
STEPS_SIZE = (100, 100)
claims = Claims()
image, page = claims.scratch / "p.bin", claims.scratch / "r.html"
profile = f"--profile={claims.scratch}/p.json"


def instructions(*options):
    done = harness.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                        harness.tool("wse-emu"), image, *options], timeout=3600)
    return int(re.search(r"Collected : (\d+)", done.err)[1])


def processor_seconds(*options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.emu(image, *options, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio_by_turns(common, *more):
    return statistics.median(processor_seconds(*common, *more) / processor_seconds(*common)
                             for _ in range(PAIRS))


for name in PROGRAMS:
    workload = families.FAMILIES[name](*SIZE)
    harness.compile(workload.layout, image, "--fabric-warnings", params=workload.params)
    claims.at_most(f"{name}, {SIZE[0]} x {SIZE[1]} tiles: instructions with a report over those "
                   "without", instructions(f"--report={page}") / instructions(), MOST_RATIO)
    claims.at_most(f"{name}, {SIZE[0]} x {SIZE[1]} tiles: processor time with a report and a profile "
                   "over that without", ratio_by_turns((), f"--report={page}", profile),
                   MOST_WITH_PROFILE)
for name in IN_LARGE_STEPS:
    workload = families.FAMILIES[name](*STEPS_SIZE)
    harness.compile(workload.layout, image, "--fabric-warnings", params=workload.params)
    claims.at_most(f"{name}, {STEPS_SIZE[0]} x {STEPS_SIZE[1]} tiles: processor time with a report "
                   "and a profile over that without", ratio_by_turns((), f"--report={page}", profile),
                   MOST_OF_LARGE_STEPS)
if os.environ.get("WAFER") != "0":
    harness.compile("tests/bench/wafer/layout.csl", image, "--fabric-warnings",
                    params={"width": 750, "height": 994, "B": 64})
    claims.at_most("750 x 994 tiles: processor time with a report over that without",
                   ratio_by_turns(("--threads=2",), f"--report={page}"), MOST_RATIO)
    claims.at_most("750 x 994 tiles: processor time with a report and a profile over that without",
                   ratio_by_turns(("--threads=2",), f"--report={page}", profile), MOST_WITH_PROFILE)
claims.finish()
