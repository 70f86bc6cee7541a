#!/usr/bin/python3
"""Two threads reach at least 0.75 of the scaling that two independent copies of the program reach
on the same machine, on a fabric of 256 x 256, with the same statistics.  The best of several runs
counts; nothing else may run on the machine.

No short form: times.
"""
import json
import subprocess

from claims import Claims, harness

PARAMS = {"width": 256, "height": 256, "B": 256}
REPEAT = 5
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


def main():
    claims = Claims()
    image = claims.scratch / "p.bin"
    harness.compile("tests/bench/chain2d/layout.csl", image, params=PARAMS)
    runs = {"alone": [], "copies": [], "threads": []}
    for _ in range(REPEAT):
        runs["alone"].append(seconds(image, claims.scratch, 1, 1))
        runs["copies"].append(seconds(image, claims.scratch, 2, 1))
        runs["threads"].append(seconds(image, claims.scratch, 1, 2))
    best = {kind: min(s for s, _ in found) for kind, found in runs.items()}
    of_copies = 2 * best["alone"] / best["copies"]
    of_threads = best["alone"] / best["threads"]
    print(f"one thread {best['alone']:.2f} s, two copies {best['copies']:.2f} s, "
          f"two threads {best['threads']:.2f} s")
    print(f"scaling of two copies {of_copies:.2f}, of two threads {of_threads:.2f}")
    claims.at_least("scaling of threads over scaling of copies", of_threads / of_copies, 0.75)
    claims.equals("statistics are the same",
                  len({json.dumps(s) for found in runs.values() for _, s in found}), 1)
    claims.finish()


main()
