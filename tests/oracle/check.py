#!/usr/bin/python3
"""Runs programs of the oracle and compares: compile time, and each level on each machine."""
import argparse
import collections
import concurrent.futures
import itertools
import random
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from oracle import choose  # noqa: E402
from oracle.generate import Maker  # noqa: E402
from oracle.loops import LoopMaker  # noqa: E402
from oracle.places import TooLong  # noqa: E402
from oracle.program import Program, draw_arguments  # noqa: E402
from oracle.turns import TurnMaker  # noqa: E402
from oracle.vectors import VectorMaker  # noqa: E402

MACHINES = ("wse2", "wse3")
LEVELS = ("-O0", "-O1", "-O2")
HALVES = ("f16", "f16", "bf16", "cb16")       # f16 is the default and the most used
FUNCTIONS = 20                # of a tile
TILES = 6                     # of a program
BATCH = FUNCTIONS * TILES
VECTORS = 0.1                 # share of functions over descriptors
LOOPS = 0.25                  # share of functions of loops over memory
TURNS = 0.25                  # share of functions of short loops
MOST_CYCLES = 10_000_000
COMPILE_SECONDS = 100
# Findings that a tile with many functions may have, but not one function alone.
TOO_LARGE = re.compile(r"\[(ir_too_large|STACK|cycle_limit)\]")
LAYOUT = """\
layout {{
  @set_rectangle({count}, 1);
{tiles}
  @export_name("got", [*]u64, true);
  @export_name("want", [*]u64, true);
  @export_name("zero", u16, true);
}}
"""


@dataclass
class Difference:
    """What one function gives that the oracle does not say."""
    seed: int                     # of the batch, for reduce.py
    tile: int
    program: Program
    half: str                     # the 16-bit float type
    function: object              # program.Driven
    way: str                      # "comptime wse2", "-O1 wse3"
    word: int                     # of the function's words
    wanted: int
    got: int

    def __str__(self):
        return (f"seed {self.seed}, tile {self.tile}, {self.function.function.name}, {self.way}, "
                f"word {self.word}: expected {self.wanted:#x}, got {self.got:#x}")


@dataclass
class Outcome:
    functions: int = 0
    calls: int = 0
    known: int = 0                # of the calls, those that compile time computes too
    notes: collections.Counter = field(default_factory=collections.Counter)
    differences: list = field(default_factory=list)
    failures: list = field(default_factory=list)      # texts: refused programs, crashes

    def add(self, other):
        for name in ("functions", "calls", "known", "notes", "differences", "failures"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def count(self, programs):
        """Adds what these programs hold."""
        for driven in (d for program in programs for d in program.driven):
            self.functions += 1
            self.calls += len(driven.calls)
            self.known += sum(not c.refused for c in driven.calls)
            self.notes.update(note for c in driven.calls for note in c.notes)

    def summary(self, seconds):
        return (f"{self.functions} functions in {seconds:.1f} s, {self.calls} calls, {self.known} "
                f"of them at compile time too; {dict(self.notes)}; "
                f"{len(self.differences)} differences, {len(self.failures)} failures")


def tile_program(rng, half, functions=FUNCTIONS):
    """A program of one tile."""
    types = choose.Types(rng, half)
    made, arguments = [], {}
    while len(arguments) < functions:
        name = f"fun{len(arguments)}"
        roll = rng.random()
        if roll < VECTORS:
            maker = VectorMaker(rng, name, types)
        elif roll < VECTORS + LOOPS:
            maker = LoopMaker(rng, name, types, made[-6:])
        elif roll < VECTORS + LOOPS + TURNS:
            maker = TurnMaker(rng, name, types, made[-6:])
        else:
            maker = Maker(rng, name, types, made[-6:], run_time=rng.random() < 0.2)
        function = maker.function()
        drawn = draw_arguments(function, rng)
        try:
            Program(types, [function], {name: drawn})
        except TooLong:
            continue
        made += maker.helpers + [function]
        arguments[name] = drawn
    return Program(types, made, arguments)


def write(programs, folder, name, want):
    """The files of a program with those tiles; gives the layout."""
    lines = []
    size = max(p.size for p in programs)          # an exported array has one size on all tiles
    for i, program in enumerate(programs):
        (folder / f"{name}-{i}.csl").write_text(program.text(want, size))
        lines.append(f'  @set_tile_code({i}, 0, "{name}-{i}.csl", .{{}});')
    path = folder / f"{name}.csl"
    path.write_text(LAYOUT.format(count=len(programs), tiles="\n".join(lines)))
    return path


def words(text, symbol):
    """By tile."""
    found = {}
    for line in text.splitlines():
        if line.startswith(symbol + "@"):
            head, rest = line.split(":", 1)
            found[int(head.split("@")[1].split(",")[0])] = [int(v) for v in rest.split()]
    return found


def run_way(programs, folder, name, half, machine, level, want, env=None):
    """The words of `got` and `want` on each tile."""
    layout, image = write(programs, folder, name, want), folder / f"{name}.bin"
    harness.cslc(layout, "-o", image, level, f"--arch={machine}", f"--fp16-format={half}", env=env,
                 timeout=COMPILE_SECONDS)
    shown = ["--print=got", "--print=want"] if want else ["--print=got"]
    out = harness.emu(image, f"--max-cycles={MOST_CYCLES}", *shown, timeout=COMPILE_SECONDS).out
    return words(out, "got"), words(out, "want")


def compare(seed, tile, program, half, way, got, known):
    """Differences of one tile, the first of each function; known: at compile time."""
    found = []
    for driven in program.driven:
        groups = [(c.at, c.words) for c in driven.calls if not (known and c.refused)]
        if not known:
            last = driven.calls[-1]
            groups.append((last.at + len(last.words), driven.left))
        for at, wanted in groups:
            bad = [i for i, w in enumerate(wanted) if got[at + i] != w]
            if bad:
                word = at + bad[0]
                found.append(Difference(seed, tile, program, half, driven, way, word - driven.at,
                                        wanted[bad[0]], got[word]))
                break
    return found


def ways(machines=MACHINES, levels=LEVELS):
    """(machine, level, with compile time)"""
    return [(m, level, i == 0 and level == levels[0]) for i, m in enumerate(machines)
            for level in levels]


def halve_too_large(programs, message):
    """A tile whose program does not fit keeps the first half of its functions.  False if none has
    more than one."""
    found = {int(n) for n in re.findall(r"/p-(\d+)\.csl:", message)}
    found = {n for n in found if len(programs[n].arguments) > 1}
    for n in found:
        names = list(programs[n].arguments)[:len(programs[n].arguments) // 2]
        last = next(i for i, f in enumerate(programs[n].functions) if f.name == names[-1])
        programs[n] = Program(programs[n].types, programs[n].functions[:last + 1],
                              {name: programs[n].arguments[name] for name in names})
    return bool(found)


def check_programs(seed, programs, half, folder, chosen, env=None):
    """Differences and failures of one program in all the ways chosen.  Programs that are too large
    are made smaller in place."""
    outcome, folder, waiting = Outcome(), Path(folder), list(chosen)
    while waiting:
        machine, level, want = waiting.pop(0)
        way = f"{level} {machine}"
        try:
            got, known = run_way(programs, folder, "p", half, machine, level, want, env)
        except AssertionError as failed:
            if TOO_LARGE.search(str(failed)) and halve_too_large(programs, str(failed)):
                waiting.insert(0, (machine, level, want))
            else:
                outcome.failures.append(f"seed {seed}, {way}: {failed}")
            continue
        for tile, program in enumerate(programs):
            outcome.differences += compare(seed, tile, program, half, way, got[tile], False)
            if want:
                outcome.differences += compare(seed, tile, program, half,
                                               f"comptime {machine}", known[tile], True)
    return outcome


def make(seed, functions):
    """The programs of the tiles and their 16-bit format."""
    rng = random.Random(seed)
    half = rng.choice(HALVES)
    tiles = max(1, round(functions / FUNCTIONS))
    return [tile_program(rng, half, -(-functions // tiles)) for _ in range(tiles)], half


def batch(seed, functions=BATCH, chosen=None, env=None):
    programs, half = make(seed, functions)
    folder = tempfile.mkdtemp(prefix="oracle-")
    try:
        outcome = check_programs(seed, programs, half, folder, chosen or ways(), env)
    finally:
        shutil.rmtree(folder)
    outcome.count(programs)
    return outcome


def run(functions, seed, jobs=2, chosen=None, env=None, report=lambda total: None,
        stop=lambda total: False):
    """Batches until that many functions are done, or stop(total) is true.  The same seed gives the
    same functions."""
    total, each = Outcome(), min(functions, BATCH)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        seeds, waiting = itertools.count(seed << 20), []
        while total.functions < functions and not stop(total):
            while len(waiting) <= jobs:
                waiting.append(pool.submit(batch, next(seeds), each, chosen, env))
            total.add(waiting.pop(0).result())
            report(total)
        for rest in waiting:
            rest.cancel()
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--functions", type=int, default=BATCH)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print the first program")
    options = parser.parse_args()
    if options.show:
        for program in make(options.seed << 20, options.functions)[0]:
            print(program.text(True, program.size))
        return
    start = time.time()
    total = run(options.functions, options.seed, options.jobs)
    for text in total.differences + total.failures:
        print(str(text)[:3000])
    print(total.summary(time.time() - start))
    sys.exit(1 if total.differences or total.failures else 0)


if __name__ == "__main__":
    main()
