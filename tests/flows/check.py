#!/usr/bin/python3
"""Compiles random programs at every level for both machines, runs them, and compares.

    tests/flows/check.py [--programs=N] [--seed=N] [--jobs=N] [--show=SEED]
"""
import argparse
import concurrent.futures
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from flows.code import DTYPES  # noqa: E402
from flows.filters import SparseFilter  # noqa: E402
from flows.library import records_of  # noqa: E402
from flows.program import Program  # noqa: E402
from flows.routers import Unfit  # noqa: E402

MACHINES = ("wse2", "wse3")
LEVELS = ("-O0", "-O1", "-O2")
WAYS = [(arch, level) for arch in MACHINES for level in LEVELS]
# Nothing in a program is a finding, whatever is looked for.
ALL_CHECKS = ["--check=strict,memory,tasks,lengths,order", "--check-reads", "--check-left"]
OPTIONS = ([], ["--threads=3"], ALL_CHECKS, ["--engine=reference"],
           [*ALL_CHECKS, "--engine=reference"])
MOST_CYCLES, LIMIT_CODE = 3_000_000, 4
MOST_STOPS, IN_PARTS = 3, 0.3     # so many of the runs stop on their way
CHECK_INDICES = 0.2               # of the images; no index leaves its dimension
ENGINES = ([], ["--threads=2"], ["--engine=reference"])
RECORD = "debug.debug_trace_buffer"


@dataclass
class Found:
    programs: int = 0
    runs: int = 0
    counts: Counter = field(default_factory=Counter)
    differences: list = field(default_factory=list)   # texts

    def add(self, other):
        self.programs += other.programs
        self.runs += other.runs
        self.counts += other.counts
        self.differences += other.differences


def make(seed, careless=False):
    """The program of the seed; where one does not fit, another one."""
    for attempt in range(100):
        try:
            return Program(f"{seed} {attempt}", careless)
        except Unfit:
            continue
    raise AssertionError(f"seed {seed}: no program fits")


def write(program, folder):
    for name, text in program.files().items():
        (folder / name).write_text(text)
    return folder / "layout.csl"


def is_same(got, wanted):
    if wanted.dtype.kind == "f":
        return (got == wanted) | (numpy.isnan(got) & numpy.isnan(wanted))
    return got == wanted


@dataclass
class Copy:
    """What the host reads, and what it should be."""
    name: str
    kind: str
    size: int
    file: Path
    wanted: dict                  # by place

    def action(self, program):
        count = f":{self.size}" if self.size > 1 else ""
        return f"--d2h={self.name}{count}{everywhere(program)}={self.file}"

    def differing(self, program):
        got = harness.load_npy(self.file).view(DTYPES[self.kind])
        got = got.reshape(program.height, program.width, self.size)
        for (x, y), held in self.wanted.items():
            wanted = numpy.array(held, DTYPES[self.kind])
            for i in numpy.flatnonzero(~is_same(got[y, x], wanted)):
                yield f"{self.file.stem}[{i}] at {x},{y}: {got[y, x][i]}, expected {wanted[i]}"


def everywhere(program):
    return f"@0,0,{program.width},{program.height}"


def copy_in(program, array, by_place, file):
    values = [[by_place[x, y] for x in range(program.width)] for y in range(program.height)]
    harness.save_npy(file, numpy.array(values, DTYPES[array.kind]))
    return f"--h2d={array.name}{everywhere(program)}={file}"


def run_in_parts(image, actions, options, stops, state):
    """Stops at these cycles, and goes on from its state, with any engine."""
    going_on = []
    for stop, engine in stops:
        checks = [o for o in options if o.startswith("--check")]
        ran = harness.emu(image, *actions, *checks, *engine, *going_on, f"--max-cycles={stop}",
                          f"--save-state={state}", expect=None)
        if ran.code != LIMIT_CODE:
            break                                     # the whole run says what there is to say
        going_on = [f"--load-state={state}"]
    return harness.emu(image, *actions, *options, *going_on, f"--max-cycles={MOST_CYCLES}")


def random_stops(rng):
    """Most runs take hundreds or thousands of cycles."""
    count = rng.randrange(1, MOST_STOPS + 1) if rng.random() < IN_PARTS else 0
    return [(cycle, rng.choice(ENGINES))
            for cycle in sorted(int(10 ** rng.uniform(1, 4)) for _ in range(count))]


def differing(program, expected, image, folder, options, stops=()):
    """What is not as expected: texts; what the emulator wrote to stderr."""
    actions, copies = [] if program.launches else ["--run"], []
    for number, launch in enumerate(program.launches):
        actions += [copy_in(program, a, launch.given[a.name], folder / f"{number}_{a.name}.npy")
                    for a in program.arrays if a.name in launch.given]
        read = [Copy(a.name, a.kind, a.size, folder / f"{number}_{a.name}_seen.npy",
                     launch.seen[a.name]) for a in launch.read]
        actions += [f"--launch={launch.text()}", *(c.action(program) for c in read)]
        copies += read
    last = [Copy(a.name, a.kind, a.size, folder / f"{a.name}.npy",
                 {p: env.arrays[a.name] for p, env in expected.items()}) for a in program.arrays]
    last += [Copy(n, k, 1, folder / f"{n}.npy", {p: [e.values[n]] for p, e in expected.items()})
             for n, k in program.globals]
    recording = [place for place, tile in program.tiles.items() if tile.library.records]
    actions += [*(c.action(program) for c in last),
                *(f"--print={RECORD}@{x},{y},1,1" for x, y in recording)]
    ran = run_in_parts(image, actions, options, stops, folder / "p.state")
    wrong = [text for c in copies + last for text in c.differing(program)]
    wrong += [text for place in recording
              for text in differing_records(place, expected[place].records, ran.out)]
    return wrong, ran.err


def differing_records(place, wanted, out):
    x, y = place
    line = re.search(rf"^{re.escape(RECORD)}@{x},{y}: {{ (.*) }}$", out, re.M)[1]
    words = []
    for item in line.split(", "):
        number, _, times = item.partition(" <")
        words += [int(number)] * int(times.split()[0] if times else 1)
    got = records_of(words)
    if len(got) != len(wanted):
        yield f"{len(got)} records at {x},{y}, expected {len(wanted)}"
    for i, (one, other) in enumerate(zip(got, wanted)):
        if one.kind != other.kind or not is_same_record(one.value, other.value, one.kind):
            yield f"record {i} at {x},{y}: {one.value}, expected {other.value}"


def is_same_record(got, wanted, kind):
    return is_same(got, DTYPES[kind](wanted)) if kind in DTYPES else got == wanted


def contents(program):
    """What the program has, for reports of what was tested."""
    texts = [t.text() for t in program.tiles.values()]
    network = program.network
    return Counter({
        "tiles": len(texts), "streams": len(network.streams), "relays": len(network.relays),
        "data tasks": sum(t.count("@bind_data_task") for t in texts),
        "control tasks": sum(t.count("@bind_control_task") for t in texts),
        "courses": len(network.courses),
        "switches": sum(len(n.positions) > 1 for c in network.courses for n in c.nodes.values()),
        "filters": sum(bool(n.filter) for c in network.courses for n in c.nodes.values()),
        "sparse filters": sum(isinstance(n.filter, SparseFilter)
                              for c in network.courses for n in c.nodes.values()),
        "colors that handlers open": sum(len(t.openers) for t in program.tiles.values()),
        "queues that are flushed": sum(len(t.all_flushers()) for t in program.tiles.values()),
        "records": sum(t.library.records for t in program.tiles.values()),
        "launches": len(program.launches),
        "operations that control wavelets end": sum(t.count(".on_control") for t in texts),
        "operations in the background": sum(t.count(".async = true") for t in texts)})


def check(seed, ways=WAYS):
    """One program in all ways."""
    program = make(seed)
    with numpy.errstate(all="ignore"):
        expected = program.expected()
    found, rng = Found(programs=1, counts=contents(program)), random.Random(f"ways {seed}")
    folder = Path(tempfile.mkdtemp(prefix="flows-"))
    try:
        layout, image = write(program, folder), folder / "p.bin"
        # Each program gives the ways other options.
        for number, (arch, level) in enumerate(ways, seed):
            options, stops = OPTIONS[number % len(OPTIONS)], random_stops(rng)
            found.counts["runs in parts"] += bool(stops)
            indices = ["--check-indices"] if rng.random() < CHECK_INDICES else []
            try:
                harness.cslc(layout, "-o", image, f"--arch={arch}", level, *indices,
                             *program.options())
                wrong, _ = differing(program, expected, image, folder, options, stops)
            except AssertionError as failed:
                wrong = [without_command(str(failed))[:3000]]
            found.runs += 1
            if wrong:
                way = " ".join([arch, level, *indices, *options,
                                *(f"stop {c} {e}" for c, e in stops)])
                found.differences.append(f"seed {seed} {way}: " + "; ".join(wrong[:5]))
    finally:
        shutil.rmtree(folder)
    return found


def without_command(text):
    """A failure's text; the command names many files."""
    first, *lines = text.split("\n")
    return "\n".join([first.split(": ")[0], *lines])


def judge_careless(seed):
    """("right" or "wrong", finding or None) of a program that does not wait."""
    program, (arch, level) = make(seed, careless=True), WAYS[seed % len(WAYS)]
    with numpy.errstate(all="ignore"):
        expected = program.expected()
    folder = Path(tempfile.mkdtemp(prefix="flows-"))
    try:
        image = folder / "p.bin"
        harness.cslc(write(program, folder), "-o", image, f"--arch={arch}", level,
                     *program.options())
        wrong, err = differing(program, expected, image, folder, ["--check=warn,order"])
    finally:
        shutil.rmtree(folder)
    found = re.search(r"\[((?:READ|WRITE)_(?:RACE|UNWAITED))\]", err)
    return "wrong" if wrong else "right", found and found[1]


def run_careless(programs, seed, jobs=2):
    """How many programs have each outcome of judge_careless."""
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        return Counter(pool.map(judge_careless, range(seed << 20, (seed << 20) + programs),
                                chunksize=2))


def run(programs, seed, jobs=2, ways=WAYS, stop=lambda total: False):
    """So many programs, or until stop(total) is true.  The same seed gives the same programs."""
    total = Found()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(check, (seed << 20) + i, ways) for i in range(programs)]
        for done in waiting:
            total.add(done.result())
            if stop(total):
                pool.shutdown(cancel_futures=True)
                break
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="with --show: the files there")
    options = parser.parse_args()
    if options.show is not None:
        program = make(options.show)
        if options.write:
            write(program, options.write)
        else:
            for name, text in program.files().items():
                print(f"// {name}\n{text}")
        return
    start = time.time()
    found = run(options.programs, options.seed, options.jobs)
    for text in found.differences[:20]:
        print(text)
    print(f"{found.programs} programs, {found.runs} runs in {time.time() - start:.1f} s; "
          f"{len(found.differences)} differences")
    sys.exit(1 if found.differences else 0)


if __name__ == "__main__":
    main()
