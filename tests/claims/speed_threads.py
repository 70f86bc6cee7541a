#!/usr/bin/python3
"""Two threads reach at least 0.95 of the scaling that two independent copies of the program reach
on the same machine, on a fabric of 256 x 256 and on a wafer of 750 x 994 tiles, with the same
statistics.  The best of several runs counts; nothing else may run on the machine.

    speed_threads.py [NAME]     only the program of that name

No short form: times.
"""
import json
import subprocess
import sys

from claims import Claims, harness

# Layout, parameters and runs.
PROGRAMS = {
    "chain2d": ("tests/bench/chain2d/layout.csl", {"width": 256, "height": 256, "B": 256}, 5),
    "wafer": ("tests/bench/wafer/layout.csl", {"width": 750, "height": 994, "B": 64}, 3),
}
LEAST = 0.95
SAME = ("cycles", "active_tile_cycles", "instructions", "groups", "elements", "tasks", "wavelets",
        "wavelet_hops", "stalls")


def start(image, folder, name, threads):
    stats = folder / f"{name}.json"
    command = [harness.tool("wse-emu"), image, f"--stats={stats}", f"--threads={threads}"]
    return subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL), stats


def seconds(image, folder, copies, threads):
    """The seconds of the slowest copy, and the statistics of the first."""
    running = [start(image, folder, i, threads) for i in range(copies)]
    if any(process.wait(600) for process, _ in running):
        raise RuntimeError("wse-emu failed")
    stats = [json.loads(path.read_text()) for _, path in running]
    return max(s["wall_seconds"] for s in stats), {key: stats[0][key] for key in SAME}


def check(claims, name):
    layout, params, repeat = PROGRAMS[name]
    image = claims.scratch / f"{name}.bin"
    harness.compile(layout, image, params=params)
    runs = {"alone": [], "copies": [], "threads": []}
    for _ in range(repeat):
        runs["alone"].append(seconds(image, claims.scratch, 1, 1))
        runs["copies"].append(seconds(image, claims.scratch, 2, 1))
        runs["threads"].append(seconds(image, claims.scratch, 1, 2))
    best = {kind: min(s for s, _ in found) for kind, found in runs.items()}
    of_copies = 2 * best["alone"] / best["copies"]
    of_threads = best["alone"] / best["threads"]
    print(f"{name}: one thread {best['alone']:.2f} s, two copies {best['copies']:.2f} s, "
          f"two threads {best['threads']:.2f} s")
    print(f"{name}: scaling of two copies {of_copies:.2f}, of two threads {of_threads:.2f}")
    claims.at_least(f"{name}: scaling of threads over scaling of copies", of_threads / of_copies,
                    LEAST)
    claims.equals(f"{name}: kinds of statistics",
                  len({json.dumps(s) for found in runs.values() for _, s in found}), 1)


def main():
    claims = Claims()
    for name in sys.argv[1:] or PROGRAMS:
        check(claims, name)
    claims.finish()


main()
