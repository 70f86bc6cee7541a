#!/usr/bin/python3
"""What several processes cost and save, with the program of wafer_scale.py (every tile active).

    ranks_speed.py [WIDTH HEIGHT]

Rate of two processes over that of two threads, in turns, median of three; memory of the larger process
over that of one; the time of a meeting of two processes (a vote and a swap), from a program in which
nearly nothing happens in each cycle.  From these the speed on 8 and 64 nodes is predicted: a node has
its share of the tiles at the rate of one process here, and meets the others once per block of cycles,
whose vote takes a message for each doubling of the nodes.

No short form: times.
"""
import math
import statistics
import sys

from claims import Claims, harness
import ranks_run

WIDTH, HEIGHT, WORDS, ROUNDS = 750, 994, 16, 3
NODES = (8, 64)


def run(claims, processes, image, *args):
    stats = claims.scratch / "s.json"
    if processes > 1:
        ranks_run.emu(processes, image, f"--stats={stats}", *args, timeout=900)
    else:
        harness.emu(image, f"--stats={stats}", *args, timeout=900)
    return harness.stats(stats)


def meeting_seconds(claims):
    """Two columns of tiles: the processes meet in each cycle for a few visits."""
    image = claims.scratch / "row.bin"
    harness.compile("tests/bench/wafer/layout.csl", image, params={"width": 2, "height": 64, "B": 2000})
    times = [run(claims, p, image) for p in (1, 2)]
    return (times[1]["wall_seconds"] - times[0]["wall_seconds"]) / times[1]["cycles"]


def main():
    claims = Claims()
    width, height = map(int, sys.argv[1:]) if len(sys.argv) > 2 else (WIDTH, HEIGHT)
    image = claims.scratch / "w.bin"
    harness.compile("tests/bench/wafer/layout.csl", image,
                    params={"width": width, "height": height, "B": WORDS})
    threads, processes = [], []
    for _ in range(ROUNDS):
        threads.append(run(claims, 1, image, "--threads=2"))
        processes.append(run(claims, 2, image))
    rate = statistics.median(s["active_tile_cycles_per_second"] for s in processes)
    ratio = rate / statistics.median(s["active_tile_cycles_per_second"] for s in threads)
    one = run(claims, 1, image)
    claims.at_least("rate of two processes over that of two threads", round(ratio, 3), 0.8)
    claims.at_most("memory of the process with the host over that of one process",
                   round(processes[-1]["peak_rss_bytes"] / one["peak_rss_bytes"], 3), 0.6)
    meeting = meeting_seconds(claims)
    print(f"a meeting of two processes takes {meeting * 1e6:.1f} microseconds")
    work, cycles = one["active_tile_cycles"], one["cycles"]
    for nodes in NODES:
        seconds = work / (rate / 2 * nodes) + cycles * meeting * math.log2(nodes)
        print(f"predicted on {nodes} nodes: {work} active tile-cycles / ({rate / 2:.3g} per s and node x "
              f"{nodes}) + {cycles} cycles x {meeting * 1e6:.1f} us x {math.log2(nodes):.0f} = "
              f"{seconds:.2f} s, {work / seconds / 1e6:.0f} M active tile-cycles/s")
    claims.finish()


main()
