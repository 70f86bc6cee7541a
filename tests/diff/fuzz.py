#!/usr/bin/python3
"""Differential test of the compiler: compile time, -O0, -O1 and -O2 agree bit for bit.

    tests/diff/fuzz.py [--functions=N] [--seed=N] [--batch=N] [--jobs=N] [--show=SEED]

Random functions (generate.py) are computed at compile time and run at every level, on wse2 for even
seeds and on wse3 for odd ones.  A difference is printed with its seed and its function; --show=SEED
prints that seed's program.  Calls that are errors at compile time (COMPTIME_ERRORS) are compared at
run time only and counted apart.
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
# Rows of ir/ops.def that scalar functions of the language cannot be made of.  clz, ctz, popcnt and
# fscale: no operator or builtin over scalars gives them (tests/unit/codegen_random.c runs them).
# Descriptors and vector operations: tests/diff/vectors.py; the others have no value to compare.
ELSEWHERE = set("""
clz ctz popcnt fscale dsd_const dsd_set dsd_get dsr_load dsr_set dsr_get vec activate block unblock
get_config set_config queue_flush random16 set_prng counter trap""".split())
LISTED = 16                   # one batch of so many has its rows counted
ROUNDS = 40
# More than any program takes: calls stop by their bound on loops.
MOST_CYCLES = 10_000_000
COMPILE_SECONDS = 20
# What compile time refuses and run time computes: results that do not fit.
COMPTIME_ERRORS = {"comptime_overflow", "value_out_of_range", "bad_shift", "division_by_zero"}


@dataclass
class Outcome:
    """Of one or more batches."""
    functions: int = 0
    calls: int = 0
    known: int = 0                                   # calls that compile time computed as well
    refused: collections.Counter = field(default_factory=collections.Counter)
    dropped: int = 0                                 # functions refused in code too
    rows: collections.Counter = field(default_factory=collections.Counter)   # of ir/ops.def
    differences: list = field(default_factory=list)  # texts

    def add(self, other):
        for name in ("functions", "calls", "known", "refused", "dropped", "rows", "differences"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def rows_missing(self):
        return [row for row in rows_wanted() if not self.rows[row]]

    def summary(self, seconds):
        wanted = rows_wanted()
        return (f"{self.functions} functions in {seconds:.1f} s, {self.functions / seconds:.0f} a "
                f"second; {self.calls} calls, {self.known} of them at compile time too; errors at "
                f"compile time only: {dict(self.refused)}; {self.dropped} functions refused in "
                f"code; {len(wanted) - len(self.rows_missing())} of {len(wanted)} rows of "
                f"ir/ops.def{''.join(f', not {r}' for r in self.rows_missing())}; "
                f"{len(self.differences)} differences")


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
    """By tile: the numbers."""
    return [[int(v) for v in line.split(":", 1)[1].split()]
            for line in text.splitlines() if line.startswith(symbol + "@")]


def arch_of(seed):
    return f"--arch=wse{2 + seed % 2}"


def rows_used(source, levels, arch):
    """How often the code has each row of ir/ops.def."""
    found = collections.Counter()
    for level in (levels[0], levels[-1]):
        listing = harness.cslc(source, level, arch, "--emit=ir").out
        found.update(re.findall(r"^  (?:%\d+ = )?([a-z]\w*)", listing, re.M))
    return found


def rows_wanted():
    table = (harness.ROOT / "ir" / "ops.def").read_text()
    return [n for n in re.findall(r"^IR_OP\((\w+),", table, re.M) if n not in ELSEWHERE]


def write(program, folder, name, **options):
    """The program and its layout; gives the layout."""
    layout = folder / f"{name}.csl"
    (folder / f"{name}-tile.csl").write_text(program.text(**options))
    layout.write_text(program.layout(f"{name}-tile.csl"))
    return layout


def compile_first(program, folder, name, options, outcome):
    """Compiles without the calls that are errors.  What they are: (calls, functions)."""
    skip, dropped = set(), set()
    for _ in range(ROUNDS):
        layout = write(program, folder, name, skip=skip, dropped=dropped)
        ran = harness.cslc(layout, "-o", folder / f"{name}.bin", *options, "--diag-format=json",
                           expect=None)
        if ran.code == 0:
            return skip, dropped
        sort_errors(program, harness.diagnostics(ran.err), skip, dropped, outcome)
        dropped = called_by(program, dropped)
    raise Refused("too many errors")


def run_levels(program, folder, name, arch, levels, env, outcome):
    """What each level gives, by name and tile; "comptime" is one.  And the calls to leave out."""
    skip, dropped = compile_first(program, folder, name, [levels[0], arch], outcome)
    image, results = folder / f"{name}.bin", {}
    layout = write(program, folder, name, skip=skip, dropped=dropped, want=False)
    for level in levels:
        if level != levels[0]:
            harness.cslc(layout, "-o", image, level, arch, env=env, timeout=COMPILE_SECONDS)
        out = harness.emu(image, f"--max-cycles={MOST_CYCLES}", "--print=got", "--print=want").out
        results[level] = words(out, "got")
        if level == levels[0]:
            results["comptime"] = words(out, "want")
    if int(name[1:]) % LISTED == 0:
        outcome.rows = rows_used(layout, levels, arch)
    return results, skip, dropped


def compare(program, seed, results, skip, dropped, outcome):
    outcome.dropped = len(dropped)
    for i, (f, choice) in enumerate(program.calls):
        if f.name in dropped:
            continue
        outcome.calls += 1
        outcome.known += i not in skip and program.is_computed(i, 0)
        for tile in range(generate.TILES):
            seen = {way: values[tile][i] for way, values in results.items()
                    if way != "comptime" or i not in skip and program.is_computed(i, tile)}
            if len(set(seen.values())) > 1:
                shown = ", ".join(f"{k} {v:#x}" for k, v in seen.items())
                call = f.call(program.arguments(f, choice, False))
                outcome.differences.append(f"seed {seed}: call {i}, tile {tile}: {call}: {shown}\n"
                                           f"  {f.text}")
                break


def run_batch(seed, functions, folder, levels=LEVELS, env=None):
    """One program; env: of the compiler at the levels but the first."""
    folder, name = Path(folder), f"p{seed}"
    program = generate.Program(random.Random(seed), functions)
    outcome = Outcome(functions=functions)
    try:
        found = run_levels(program, folder, name, arch_of(seed), levels, env, outcome)
    except TooLarge:
        halves = [run_batch(seed + (half << 40), functions // 2, folder, levels, env)
                  for half in (1, 2)]
        halves[0].add(halves[1])
        return halves[0]
    except (Refused, AssertionError) as failed:
        outcome.differences.append(f"seed {seed}: {failed}")
        return outcome
    compare(program, seed, *found, outcome)
    for path in folder.glob(f"{name}[.-]*"):
        path.unlink()
    return outcome


def run(functions, seed, batch=BATCH, jobs=2, levels=LEVELS, env=None, stop_at_first=False,
        report=lambda total: None):
    """Batches until that many functions are done.  The same seed gives the same functions.
    report: is called now and then."""
    total = Outcome()
    seeds = [(seed << 20) + i for i in range(-(-functions // batch))]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        # Few at a time, so that it stops soon after the first difference.
        for start in range(0, len(seeds), 4 * jobs):
            part = [pool.submit(run_batch, s, batch, folder, levels, env)
                    for s in seeds[start:start + 4 * jobs]]
            for done in part:
                total.add(done.result())
            report(total)
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
        program = generate.Program(random.Random(options.show), options.batch)
        print(f"// {program.tiles}\n{program.text()}", end="")
        return
    start = time.time()
    total = run(options.functions, options.seed, options.batch, options.jobs)
    for text in total.differences[:20]:
        print(text)
    print(total.summary(time.time() - start))
    sys.exit(1 if total.differences else 0)


if __name__ == "__main__":
    main()
