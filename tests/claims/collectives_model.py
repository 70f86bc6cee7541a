#!/usr/bin/python3
"""The lemmas of the performance model for allreduces as the library runs them, against
emulated programs: on wse2 butterfly within 5 % and 40 cycles over a grid of tiles, groups and
lengths, on both machines ring within 8 cycles per step and 32, exchange at most 64 over the model.
Gather, scatter, broadcasts and ring reductions to roots that the program chooses, and jumps:
within the model + 64 + 5 % at 200 random points, from the commit's hash, and so reductions with a
completion task; additions of i32 and u32 element by element within 20 cycles.  ROOT_POINTS sets
another number.  About 3 minutes.

Short form: test_collectives.py::test_allreduces_take_what_their_lemmas_say.
"""
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from claims import Claims, harness

sys.path.insert(0, str(harness.SAMPLES / "study"))
import programs  # noqa: E402
import collectives_measure as measure  # noqa: E402
import streams_run as streams  # noqa: E402

TILES = (2, 3, 5, 7, 8, 13, 16, 27, 50, 64, 125, 200, 400, 512)
GROUPS = (2, 3, 4, 6, 9, 16)
LENGTHS = (1, 10, 50, 200, 1000)
MOST_WORK = 1.5e6        # tiles times group times elements
ROOT_POINTS = int(os.environ.get("ROOT_POINTS", "200"))


def emulated(kind, arch, P, B, G):
    tools = programs.Tools(harness.bin_dir())
    with tempfile.TemporaryDirectory(prefix="claim-") as folder:
        return programs.line(tools, Path(folder), kind, P, B, step=G, arch=arch)


def compare(pool, claims, name, kind, arch, points, bound):
    """`bound` of the model and the point; the farthest from it in each direction is shown."""
    def one(point):
        return emulated(kind, arch, *point), measure.predicted_allreduce(name, *point, arch=arch)

    found = list(pool.map(one, points))
    worst = max(range(len(points)), key=lambda i: abs(found[i][0] - found[i][1])
                / bound(found[i][1], points[i]))
    cycles, model = found[worst]
    print(f"{name}, {arch}: worst of {len(points)} at P, B, G = {points[worst]}: {cycles} cycles, "
          f"model {model}")
    claims.at_most(f"{name}, {arch}: off the model, in parts of its bound",
                   abs(cycles - model) / bound(model, points[worst]), 1.0)
    off = sorted(abs(cycles / model - 1) for cycles, model in found)
    print(f"{name}, {arch}: median {off[len(off) // 2]:.1%}, most {off[-1]:.1%} off the model")


def compare_roots(pool, claims, arch):
    """Calls to or from a root, at half of the points."""
    def one(i):
        kind = streams.OF_A_ROOT[i % len(streams.OF_A_ROOT)]
        config, n = streams.point_of_a_root(harness.commit_random(f"roots {arch} {i}"), kind)
        with tempfile.TemporaryDirectory(prefix="claim-") as folder:
            return config, n, *streams.cycles_of_a_root(Path(folder), config, n, arch)

    for config, n, cycles, model in pool.map(one, range(ROOT_POINTS // 2)):
        tiles = f"{config['width']} x {config['height']} tiles"
        name = f"{streams.KINDS[config['kind']]}, {arch}, {tiles}, root {config['root']}"
        element = streams.lines.TYPE_NAMES[config["element"]]
        claims.at_most(f"{name}, {n} elements of {element}: cycles", cycles,
                       round(streams.most_cycles(model)))


def compare_with_task(pool, claims, arch):
    """Reductions with a completion task to the end of a row, at half of the points."""
    def one(i):
        random = harness.commit_random(f"with task {arch} {i}")
        pattern = i % len(measure.WITH_TASK)
        tiles = streams.lines.log_uniform(random, 2, 200)
        most = 100 if pattern == measure.STAR else 500
        length = streams.lines.log_uniform(random, 1, most)
        with tempfile.TemporaryDirectory(prefix="claim-") as folder:
            cycles = measure.one_reduction(Path(folder), arch, tiles, length, pattern, with_task=1)
        return pattern, tiles, length, cycles

    for pattern, tiles, length, cycles in pool.map(one, range(ROOT_POINTS // 2)):
        model = measure.predicted_with_task(pattern, tiles, length, arch)
        claims.at_most(f"reduce, {measure.WITH_TASK[pattern]}, {arch}, {tiles} tiles, {length} "
                       "elements: cycles", cycles, round(streams.most_cycles(model)))


def compare_by_elements(pool, claims, arch):
    """Additions of i32 and u32, which the machine has for no vectors, to the end of a row."""
    def one(i):
        random = harness.commit_random(f"by elements {arch} {i}")
        pattern = i % len(measure.BY_ELEMENTS)
        tiles = streams.lines.log_uniform(random, 2, 200)
        length = streams.lines.log_uniform(random, 1, max(1, min(100, 4000 // tiles)))
        with tempfile.TemporaryDirectory(prefix="claim-") as folder:
            cycles = measure.one_reduction(Path(folder), arch, tiles, length, pattern,
                                           element=int(random.integers(4, 6)), by_elements=1)
        return pattern, tiles, length, cycles

    for pattern, tiles, length, cycles in pool.map(one, range(ROOT_POINTS // 4)):
        model = measure.predicted_by_elements(pattern, tiles, length, arch)
        claims.within(f"reduce, {measure.BY_ELEMENTS[pattern]}, {arch}, {tiles} tiles, {length} "
                      "elements: emulated - model", cycles - model, 0, 20, "cycles")


def main():
    claims = Claims()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        points = [(P, B, G) for P in TILES for G in GROUPS if G <= P for B in LENGTHS
                  if P * G * B <= MOST_WORK]
        compare(pool, claims, "library-butterfly", "butterfly allreduce", "wse2", points,
                lambda model, _: 0.05 * model + 40)
        points = [(P, B, 0) for P in TILES for B in LENGTHS + (4000,) if P <= 200]
        for arch in ("wse2", "wse3"):
            compare(pool, claims, "library-ring", "ring allreduce", arch, points,
                    lambda _, point: 2 * (point[0] - 1) * 8 + 32)
            compare_roots(pool, claims, arch)
            compare_with_task(pool, claims, arch)
            compare_by_elements(pool, claims, arch)
    for arch in ("wse2", "wse3"):
        for B in LENGTHS:
            model = measure.predicted_allreduce("exchange", 2, B, arch=arch)
            claims.within(f"exchange of {B} elements, {arch}: emulated - model",
                          measure.exchange_cycles(claims.scratch, B, arch) - model, 0, 64, "cycles")
    claims.finish()


main()
