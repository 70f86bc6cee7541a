#!/usr/bin/python3
"""All-gather and reduce-scatter, both also by rings both ways, all-to-all, scan, barrier and
broadcasts from any tile of <collectives>: random configurations against numpy, from the commit's
hash, some of 20 calls in a row; cycles within the model + 64 + 5 % at 200 random points; the plan of
an all-to-all at 20 points of each machine against all ways that it chooses from, at most 15 % slower
than the fastest and 2 % on the average; and the cycles of trial programs that were written by hand
for single sizes.

CONFIGURATIONS and POINTS set other numbers.  About 6 minutes.

Short form: test_streams.py::test_random_configurations.
"""
import os
from concurrent.futures import ThreadPoolExecutor

from claims import Claims, harness
import collectives_run as lines
import streams_run as streams

CONFIGURATIONS = int(os.environ.get("CONFIGURATIONS", "3000"))
POINTS = int(os.environ.get("POINTS", "200"))
LONG_ROW = 20
SKEW_OF_LEAVING = 20
CALLED = ((streams.ALLGATHER, 0), (streams.ALLGATHER, 1), (streams.REDUCE_SCATTER, 0),
          (streams.REDUCE_SCATTER, 1), (streams.SCAN, 0), (streams.EXSCAN, 0), (streams.BARRIER, 0),
          (streams.ALLTOALL, 0), (streams.ALLTOALL_2D, 1), (streams.SCAN, 1), (streams.EXSCAN, 1),
          (streams.BARRIER, 1), (streams.ALLTOALL, 1), (streams.TWO_WAY_GATHER, 1),
          (streams.TWO_WAY_SCATTER, 1), (streams.SPLIT_ALLREDUCE, 1),
          (streams.STREAM_ALLREDUCE, 0), (streams.STREAM_ALLREDUCE, 1), (streams.ALLTOALL_SHORT, 1),
          (streams.ALLTOALL_BOTH, 1))
# Tiles, elements of a part, cycles of the trial program.
TRIALS = ((streams.REDUCE_SCATTER, 128, 8, 1327), (streams.REDUCE_SCATTER, 16, 64, 1174),
          (streams.ALLGATHER, 128, 8, 1615), (streams.ALLGATHER, 37, 13, 801))
TRIAL_BARRIER = 80
PLANS = 20
OF_FASTEST = 1.15
OF_FASTEST_MEAN = 1.02


def check_plan(claims, folder, arch):
    random = harness.commit_random(f"plans of an all-to-all {arch}")
    ratios = []
    for _ in range(PLANS):
        width, height = (int(side) for side in random.integers(2, 9, 2))
        n = lines.log_uniform(random, 2, 2500 // (width * height))
        config = {"width": width, "height": height, "shape": lines.RECTANGLE, "with_task": 1,
                  "classes": 3 if arch == "wse2" else 2}
        cycles = {kind: streams.cycles_of(streams.run(folder, {**config, "kind": kind}, (n,), arch=arch))
                  for kind in (streams.PLANNED_ALLTOALL, streams.ALLTOALL_2D, *streams.BY_HALVES)}
        planned = cycles.pop(streams.PLANNED_ALLTOALL)
        fastest = min(cycles, key=cycles.get)
        ratios.append(planned / cycles[fastest])
        claims.at_most(f"plan of an all-to-all, {arch}, {width} x {height} tiles, {n} elements: cycles, "
                       f"against {streams.KINDS[fastest]}", planned, OF_FASTEST * cycles[fastest])
    claims.at_most(f"plans of all-to-alls, {arch}: mean of the cycles over those of the fastest way",
                   sum(ratios) / PLANS, OF_FASTEST_MEAN)


def check_results(claims):
    def differs(i):
        random = harness.commit_random(f"streams {i}")
        kind = i % len(streams.KINDS)
        calls = LONG_ROW if i % 5 == 0 else 4
        config, lengths = streams.random_config(random, kind, 100, 300, calls)
        folder = claims.scratch / str(i)
        try:
            streams.run(folder, config, lengths, seed=i, arch=("wse2", "wse3")[i // 7 % 2])
        except AssertionError as failure:
            print(f"configuration {i}: {failure}"[:3000], flush=True)
            return 1
        finally:
            for path in folder.glob("*"):
                path.unlink()
        return 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        claims.equals(f"of {CONFIGURATIONS} configurations, those that differ from numpy",
                      sum(pool.map(differs, range(CONFIGURATIONS))), 0)


def config_of(kind, with_task, size, scheme=streams.WHOLE):
    """size: tiles of a line, or the sides of a rectangle."""
    config = {"kind": kind, "with_task": with_task, "scheme": scheme}
    if kind in streams.OF_RECTANGLES:
        return {**config, "shape": lines.RECTANGLE, "width": size[0], "height": size[1]}
    return {**config, "shape": lines.ROW, "width": size}


def random_size(random, kind):
    """Sides or tiles, and how many tiles bound the length of a call."""
    tiles = lines.log_uniform(random, 2, 200)
    if kind == streams.BARRIER:          # it has no length
        return (lines.log_uniform(random, 1, 30), lines.log_uniform(random, 2, 30)), tiles
    if kind == streams.ALLTOALL_2D:
        size = (lines.log_uniform(random, 1, 12), lines.log_uniform(random, 2, 12))
        return size, size[0] * size[1]
    if kind in streams.BY_HALVES:
        size = tuple(int(side) for side in random.integers(2, 9, 2))
        return size, size[0] * size[1]
    if kind == streams.ALLTOALL:
        tiles = lines.log_uniform(random, 2, 40)
    return tiles, tiles


def check_points(claims, folder):
    random = harness.commit_random("points")
    for i in range(POINTS):
        kind, with_task = CALLED[i % len(CALLED)]
        size, tiles = random_size(random, kind)
        n = lines.log_uniform(random, 1, max(1, min(500, 3000 // tiles)))
        scheme = int(random.integers(0, 2)) if kind in streams.TWO_WAYS else streams.WHOLE
        arch = ("wse2", "wse3")[i // len(CALLED) % 2]
        cycles, model = streams.cycles_and_model(
            folder, config_of(kind, with_task, size, scheme), n, arch)
        way = f" both ways round, scheme {scheme}" if kind in streams.TWO_WAYS else ""
        call = f"{streams.OPERATIONS[kind]}{' with a task' * with_task}{way}"
        claims.at_most(f"{call}, {arch}, {size} tiles, {n} elements: cycles", cycles,
                       round(streams.most_cycles(model)))


def check_trials(claims, folder):
    for kind, tiles, n, trial in TRIALS:
        stamps = streams.run(folder, config_of(kind, 1, tiles), (n,))
        claims.at_most(f"{streams.OPERATIONS[kind]} with a task, {tiles} tiles, {n} elements: "
                       "cycles", streams.cycles_of(stamps), trial)
    stamps = streams.run(folder, config_of(streams.BARRIER, 0, (7, 7)), (0,))
    claims.at_most("barrier, 7 x 7 tiles: cycles", streams.cycles_of(stamps), TRIAL_BARRIER)
    claims.at_most("barrier, 7 x 7 tiles: from the first to leave to the last",
                   int(stamps[0, :, 1].max() - stamps[0, :, 1].min()), SKEW_OF_LEAVING)


def check_short_parts(claims, folder):
    for arch, n in (*((arch, n) for arch in ("wse2", "wse3") for n in range(1, 9)),
                    ("wse2", 24), ("wse2", 48)):
        stamps = streams.run(folder, {
            "kind": streams.PLANNED_ALLTOALL, "width": 7, "height": 7,
            "shape": lines.RECTANGLE, "with_task": 1}, (n,), arch=arch)
        claims.at_most(f"alltoall, {arch}, 7 x 7 tiles, {n} elements a pair: cycles",
                       streams.cycles_of(stamps), 168 * n + 150)


def main():
    claims = Claims()
    check_results(claims)
    folder = claims.scratch / "points"
    check_points(claims, folder)
    check_trials(claims, folder)
    for arch in ("wse2", "wse3"):
        check_plan(claims, folder, arch)
    check_short_parts(claims, folder)
    claims.finish()


main()
