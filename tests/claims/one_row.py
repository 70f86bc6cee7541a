#!/usr/bin/python3
"""One active row on a full fabric of 750 x 994 tiles: the cycle loop takes at most 1.2 times what it
takes for the row alone.  Both are repeated, in turns, until each has run for 2 s; medians.

No short form: times.
"""
import statistics

from claims import Claims, harness

WIDTH, HEIGHT, WORDS = 750, 994, 4096
LEAST_SECONDS = 2.0


def main():
    claims = Claims()
    images = {}
    for name, height in (("row", 1), ("fabric", HEIGHT)):
        images[name] = claims.scratch / f"{name}.bin"
        harness.compile("tests/bench/row/layout.csl", images[name],
                        params={"width": WIDTH, "height": height, "row": height // 2, "B": WORDS})
    runs = {name: [] for name in images}
    while any(sum(r["wall_seconds"] for r in found) < LEAST_SECONDS for found in runs.values()):
        for name, image in images.items():
            harness.emu(image, f"--stats={claims.scratch}/s.json", timeout=600)
            runs[name].append(harness.stats(claims.scratch / "s.json"))
    claims.equals("cycles are the same", len({r["cycles"] for f in runs.values() for r in f}), 1)
    row, fabric = (statistics.median(r["wall_seconds"] for r in runs[n]) for n in ("row", "fabric"))
    print(f"{len(runs['row'])} runs each: row {row:.3f} s, fabric {fabric:.3f} s")
    claims.at_most("fabric over row alone", fabric / row, 1.2)
    idle = statistics.median(r["peak_rss_bytes"] for r in runs["fabric"])
    print(f"peak memory of the fabric: {idle / 1e6:.0f} MB")
    claims.finish()


main()
