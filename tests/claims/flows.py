#!/usr/bin/python3
"""Random programs of several tiles, with tasks, streams, control wavelets, switches, filters, stopped
colors, flushed queues, calls of the library, launches and operations in the background, leave in
memory what a model says that shares no code with the compiler or the emulator (tests/flows).  Some
runs stop on their way and go on from their state.

    flows.py [PROGRAMS] [--seed=N] [--jobs=N] [--part=NAME]

Default: 2,000 programs on both machines at every level, with a seed drawn from the commit.  Of 1,000
programs that do not wait for operations in the background, --check=order has a finding in 98 % of
those that go wrong: it takes a wavelet for an answer if it may be one.  Each seeded miscompile of tests/flows/defects.py is found within 400 programs.  --part:
programs, careless or miscompiles.

Short form: test_flows.py::test_programs_leave_what_the_model_says.
"""
import argparse
import os

from claims import Claims, commit_seed, harness

import seeded_miscompiles
from flows import check, defects

WITHIN = 400


def agrees(claims, programs, seed, jobs):
    print(f"seed {seed}")
    found = check.run(programs, seed, jobs)
    for text in found.differences[:5]:
        print(text)
    print("of the programs: " + ", ".join(f"{n} {what}" for what, n in found.counts.items()))
    claims.at_least("programs", found.programs, programs)
    claims.at_least("runs", found.runs, programs * len(check.MACHINES) * len(check.LEVELS))
    claims.equals("differences", len(found.differences), 0)


def finds_careless(claims, programs, seed, jobs):
    outcomes = check.run_careless(programs, seed, jobs)
    for (result, finding), count in sorted(outcomes.items(), key=str):
        print(f"{count} {result}, {finding or 'nothing found'}")
    wrong = sum(count for (result, _), count in outcomes.items() if result == "wrong")
    claims.at_least("programs that do not wait and go wrong", wrong, programs // 4)
    claims.at_most("of them without a finding", round(100 * outcomes["wrong", None] / wrong, 1), 2,
                   "%")


def finds_miscompiles(claims, seed, jobs):
    folder = harness.ROOT / "build" / "miscompile-flows"
    os.environ["WSE_BIN"] = str(seeded_miscompiles.build(defects.ROWS, folder))
    for row in defects.ROWS:
        os.environ["WSE_MISCOMPILE"] = row.name
        machine = "wse3" if row.name in defects.OF_WSE3 else "wse2"
        found = check.run(WITHIN, seed, jobs, ways=[(machine, "-O1"), (machine, "-O2")],
                          stop=lambda total: total.differences)
        claims.at_least(f"{row.name}: differences within {found.programs} programs",
                        len(found.differences), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="?", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=commit_seed())
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--part", choices=("programs", "careless", "miscompiles"))
    options = parser.parse_args()
    claims = Claims()
    if options.part in (None, "programs"):
        agrees(claims, options.programs, options.seed, options.jobs)
    if options.part in (None, "careless"):
        finds_careless(claims, options.programs // 2, options.seed, options.jobs)
    if options.part in (None, "miscompiles"):
        finds_miscompiles(claims, options.seed, options.jobs)
    claims.finish()


if __name__ == "__main__":
    main()
