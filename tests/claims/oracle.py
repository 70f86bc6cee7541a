#!/usr/bin/python3
"""Random functions give what an oracle says that shares no code with the compiler (tests/oracle).

    oracle.py [FUNCTIONS] [--seed=N] [--jobs=N] [--old=BIN] [--part=NAME]

Default: 200,000 functions on both machines, at every level and at compile time, with a seed drawn
from the commit.  Then the oracle shows what it finds within 5,000 functions: each seeded miscompile
(tests/seeded_miscompiles.py) and, with the tools of the commit OLD in BIN (built from the history
unless given), the three defects of wide integers that OLD had.  --part: functions, miscompiles or old.

Short form: test_oracle.py::test_the_oracle_agrees_with_every_level_on_both_machines.
"""
import argparse
import os
import subprocess
import time
from pathlib import Path

from claims import Claims, commit_seed, harness

import seeded_miscompiles as miscompiles
from oracle import check, reduce

OLD = "35dd493"
# What an evaluation notes where OLD computed something else.
DEFECTS = {"shift by more than 16 bits": "shift amounts were cut to 16 bits",
           "wide shift by the width": "wide shifts by the width or more",
           "wide division by zero": "wide division by zero"}
WITHIN = 5_000


def build(source, folder):
    for command in (["cmake", "-S", source, "-B", folder, "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=Release"],
                    ["cmake", "--build", folder, "--target", "cslc", "wse-emu"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return folder / "bin"


def old_tools(claims):
    source = claims.scratch / "old"
    source.mkdir()
    archive = subprocess.run(["git", "archive", OLD], cwd=harness.ROOT, capture_output=True,
                             check=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    return build(source, claims.scratch / "old-build")


def show(difference):
    """The smallest program that still differs."""
    print(difference)
    found = reduce.reduced(difference.program, difference, difference.half)
    print(reduce.shown(found) if found else "  no smaller program differs", flush=True)


def agrees(claims, functions, seed, jobs):
    start, shown = time.time(), 0

    def report(total):
        nonlocal shown
        if total.functions - shown >= functions / 20:
            shown = total.functions
            print(f"{shown} functions, {len(total.differences)} differences", flush=True)

    print(f"seed {seed}")
    total = check.run(functions, seed, jobs, report=report)
    print(total.summary(time.time() - start))
    for text in total.failures[:5]:
        print(text[:3000])
    for difference in total.differences[:5]:
        show(difference)
    claims.at_least("functions", total.functions, functions)
    claims.equals("differences", len(total.differences), 0)
    claims.equals("programs that failed", len(total.failures), 0)
    claims.at_least("calls that compile time computes as well",
                    round(100 * total.known / total.calls, 1), 20, "%")


def finds_miscompiles(claims, seed, jobs):
    os.environ["WSE_BIN"] = os.environ.get("WSE_MISCOMPILE_BIN") or str(miscompiles.build())
    claims.at_least("seeded miscompiles", len(miscompiles.NAMES), 20)
    ways = [(check.MACHINES[0], level, False) for level in check.LEVELS[1:]]
    clean = check.run(2 * check.BATCH, seed, jobs, ways)
    claims.equals("differences with none switched on", len(clean.differences + clean.failures), 0)
    for name in miscompiles.NAMES:
        # A program that the miscompile makes hang or fault is found as well.
        found = check.run(WITHIN, seed, jobs, ways, env={"WSE_MISCOMPILE": name},
                          stop=lambda total: total.differences or total.failures)
        claims.at_least(f"{name}: differences within {found.functions} functions",
                        len(found.differences + found.failures), 1)


def finds_old_defects(claims, seed, jobs, tools):
    """A defect counts as found if the smallest program that differs has nothing else unusual."""
    os.environ["WSE_BIN"] = str(tools)
    missing = dict(DEFECTS)

    def stop(total):
        for difference in total.differences:
            notes = {n for c in difference.function.calls for n in c.notes} & set(missing)
            if not notes or difference.way != "-O0 wse2":
                continue
            found = reduce.reduced(difference.program, difference, difference.half, seconds=20)
            only = found and {n for c in found[1].function.calls for n in c.notes}
            if only and len(only) == 1 and only & set(missing):
                print(f"{missing.pop(only.pop())}:\n{reduce.shown(found)}", flush=True)
        total.differences.clear()
        return not missing

    found = check.run(WITHIN, seed, jobs, [("wse2", "-O0", False)], stop=stop)
    claims.equals(f"defects of {OLD} not found within {found.functions} functions",
                  ", ".join(missing.values()), "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("functions", nargs="?", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=commit_seed())
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--part", choices=("functions", "miscompiles", "old"))
    options = parser.parse_args()
    claims = Claims()
    if options.part in (None, "functions"):
        agrees(claims, options.functions, options.seed, options.jobs)
    if options.part in (None, "miscompiles"):
        finds_miscompiles(claims, options.seed, options.jobs)
    if options.part in (None, "old"):
        finds_old_defects(claims, options.seed, options.jobs, options.old or old_tools(claims))
    claims.finish()


if __name__ == "__main__":
    main()
