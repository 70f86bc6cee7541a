#!/usr/bin/python3
"""Differential test of the compiler: compile time, -O0, -O1 and -O2 agree bit for bit.

    tests/diff/fuzz.py [--functions=N] [--seed=N] [--batch=N] [--jobs=N] [--show=SEED]

Random functions (generate.py) are computed at compile time and run at every level.  A difference
is printed with its seed and its function; --show=SEED prints that seed's program.  Calls that are
errors at compile time (COMPTIME_ERRORS) are compared at run time only and counted apart.
"""
import argparse
import collections
import concurrent.futures
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from diff import generate  # noqa: E402

LEVELS = ("-O0", "-O1", "-O2")
BATCH = 32
ROUNDS = 40
# What compile time refuses and run time computes: results that do not fit.
COMPTIME_ERRORS = {"comptime_overflow", "value_out_of_range", "bad_shift"}


@dataclass
class Outcome:
    """Of one or more batches."""
    functions: int = 0
    calls: int = 0
    known: int = 0                                   # calls that compile time computed as well
    refused: collections.Counter = field(default_factory=collections.Counter)
    dropped: int = 0                                 # functions refused in code too
    differences: list = field(default_factory=list)  # texts

    def add(self, other):
        for name in ("functions", "calls", "known", "refused", "dropped", "differences"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Refused(Exception):
    """The compiler refuses a program for a reason that is none of the known ones."""


class TooLarge(Exception):
    """The program does not fit a tile."""


def sort_errors(program, found, skip, dropped, outcome):
    """Takes the calls and functions out that the diagnostics speak of; what they say is counted."""
    last = program.first_want + len(program.calls)
    blamed = []
    for d in found:
        if d["severity"] != "note":
            blamed.append((d, []))
        if blamed:
            blamed[-1][1].append(d["line"])
    progress = False
    for error, lines in blamed:
        if error["severity"] != "error" or error["id"] == "too_many_errors":
            continue
        if "an erroneous type" in error["message"]:   # follows from another
            continue
        calls = {line - program.first_want for line in lines if program.first_want <= line < last}
        functions = {line - program.first_function for line in lines
                     if 0 <= line - program.first_function < len(program.functions)}
        if error["id"] == "ir_too_large":
            raise TooLarge
        if error["id"] not in COMPTIME_ERRORS or not (calls or functions):
            raise Refused(f"line {error['line']}: {error['message']} [{error['id']}]")
        if calls:
            for call in calls - skip:
                outcome.refused[error["id"]] += 1
                progress = True
            skip |= calls
        else:
            names = {program.functions[f].name for f in functions}
            progress = progress or bool(names - dropped)
            dropped |= names
    if not progress:
        raise Refused("the same errors again")


def called_by(program, names):
    """The functions that mention one of the names, and these."""
    names = set(names)
    for f in program.functions:
        if any(re.search(rf"\b{n}\(", f.text.split("{", 1)[1]) for n in names):
            names.add(f.name)
    return names


def words(text, symbol):
    line = next(x for x in text.splitlines() if x.startswith(symbol + "@"))
    return [int(v) for v in line.split(":", 1)[1].split()]


def run_batch(seed, functions, folder, levels=LEVELS, env=None):
    """One program; env: of the compiler, once the calls to compare at compile time are known."""
    folder = Path(folder)
    program = generate.Program(random.Random(seed), functions)
    source, image = folder / f"p{seed}.csl", folder / f"p{seed}.bin"
    outcome, skip, dropped = Outcome(functions=functions), set(), set()
    try:
        for _ in range(ROUNDS):
            source.write_text(program.text(skip, dropped))
            ran = harness.cslc(source, "-o", image, levels[0], "--diag-format=json", expect=None)
            if ran.code == 0:
                break
            sort_errors(program, harness.diagnostics(ran.err), skip, dropped, outcome)
            dropped = called_by(program, dropped)
        else:
            raise Refused("too many errors")
        results = {}
        for level in levels:
            harness.cslc(source, "-o", image, level, env=env)
            out = harness.emu(image, "--print=got", "--print=want").out
            results[level] = words(out, "got")
            if level == levels[0]:
                want = words(out, "want")
    except TooLarge:
        halves = [run_batch(seed + (half << 40), functions // 2, folder, levels, env)
                  for half in (1, 2)]
        halves[0].add(halves[1])
        return halves[0]
    except (Refused, AssertionError) as failed:
        outcome.differences.append(f"seed {seed}: {failed}")
        return outcome
    outcome.dropped = len(dropped)
    for i, (f, choice) in enumerate(program.calls):
        if f.name in dropped:
            continue
        outcome.calls += 1
        seen = {level: values[i] for level, values in results.items()}
        if i not in skip:
            outcome.known += 1
            seen["comptime"] = want[i]
        if len(set(seen.values())) > 1:
            args = [program.values[k][c] for (_, k), c in zip(f.params, choice)]
            shown = ", ".join(f"{k} {v:#x}" for k, v in seen.items())
            outcome.differences.append(f"seed {seed}: call {i}: {f.name}{tuple(args)}: {shown}\n"
                                       f"  {f.text}")
    for path in (source, image):
        path.unlink()
    return outcome


def run(functions, seed, batch=BATCH, jobs=2, levels=LEVELS, env=None, stop_at_first=False):
    """Batches until that many functions are done.  The same seed gives the same functions."""
    total = Outcome()
    seeds = [(seed << 20) + i for i in range(-(-functions // batch))]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for start in range(0, len(seeds), 8 * jobs):
            part = [pool.submit(run_batch, s, batch, folder, levels, env)
                    for s in seeds[start:start + 8 * jobs]]
            for done in part:
                total.add(done.result())
            if stop_at_first and total.differences:
                break
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--functions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        print(generate.Program(random.Random(options.show), options.batch).text(), end="")
        return
    start = time.time()
    total = run(options.functions, options.seed, options.batch, options.jobs)
    for text in total.differences[:20]:
        print(text)
    seconds = time.time() - start
    print(f"{total.functions} functions in {seconds:.1f} s, "
          f"{total.functions / seconds:.0f} a second; {total.calls} calls, {total.known} of them at compile time too, refused there:"
          f" {dict(total.refused)}, {total.dropped} functions refused in code;"
          f" {len(total.differences)} differences")
    sys.exit(1 if total.differences else 0)


if __name__ == "__main__":
    main()
