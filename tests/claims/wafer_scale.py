#!/usr/bin/python3
"""A 750 x 994 program in which every tile takes part: broadcast, then reduction by rows and by the
first column, B = 64; result checked, at most 30 s in all and 1.5 GB, compile and load included.

Short form: test_bench_families.py::test_engines_agree_on_wide_rows.
"""
import time

from claims import Claims, harness

WIDTH, HEIGHT, WORDS = 750, 994, 64
TILES = WIDTH * HEIGHT


def main():
    claims = Claims()
    image, out = claims.scratch / "w.bin", claims.scratch / "sum.npy"
    start = time.monotonic()
    harness.compile("tests/bench/wafer/layout.csl", image,
                    params={"width": WIDTH, "height": HEIGHT, "B": WORDS})
    harness.emu(image, f"--d2h=sum@0,0,1,1={out}", f"--stats={claims.scratch}/s.json",
                "--threads=2", timeout=900)
    seconds = time.monotonic() - start
    total = harness.load_npy(out).ravel()
    claims.equals("sum over the wafer is right", list(total) == [TILES * (i % 16) for i in range(WORDS)],
                  True)
    stats = harness.stats(claims.scratch / "s.json")
    claims.at_least("active tile-cycles", stats["active_tile_cycles"], TILES * 128)
    claims.at_most("compile, load and run", seconds, 30.0, "s")
    claims.at_most("peak memory of the emulator", stats["peak_rss_bytes"], 1.5e9, "bytes")
    claims.finish()


main()
