#!/usr/bin/python3
"""A full trace of a chain over 512 tiles, B = 1,024, is small when compressed, and the compressed
trace is the plain one.

    trace_size.py [OLD_BIN]     OLD_BIN: programs of another build, whose time for its plain trace is
                                compared, by turns (user time, median of 5)

Short form: test_observe.py::test_a_trace_is_compressed_by_its_name.
"""
import os
import statistics
import subprocess
import sys
from pathlib import Path

from claims import Claims, harness

TILES, ELEMENTS = 512, 1024
MOST_OF_PLAIN = 0.1
MOST_PERFETTO_BYTES = 15 * 10 ** 6
MOST_TIME, TURNS = 0.5, 5


def user_seconds(tools, image, *options):
    process = subprocess.Popen([tools / "wse-emu", image, *options], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_utime


def build(tools, folder):
    folder.mkdir()
    harness.run([tools / "cslc", harness.ROOT / "samples/reduce-chain/layout.csl",
                 f"--params=P:{TILES},B:{ELEMENTS}", "-o", folder / "p.bin"])
    return folder / "p.bin"


def main():
    claims = Claims()
    folder, tools = claims.scratch, Path(harness.tool("wse-emu")).parent
    image = build(tools, folder / "new")
    plain, packed = folder / "t", folder / "t.zst"
    for path in (plain, packed):
        harness.emu(image, "--trace=all", f"--trace-file={path}", timeout=600)
    same = subprocess.run(["bash", "-c", 'zstd -dc "$1" | cmp - "$2"', "bash", packed, plain])
    claims.equals("the unpacked trace differs from the plain one", same.returncode, 0)
    claims.at_most("bytes of the trace as .zst, by those of the plain one",
                   packed.stat().st_size / plain.stat().st_size, MOST_OF_PLAIN)
    harness.emu(image, "--trace-format=perfetto", f"--trace-file={folder}/p.json.gz", timeout=600)
    claims.at_most("bytes of the trace for Perfetto as .gz", (folder / "p.json.gz").stat().st_size,
                   MOST_PERFETTO_BYTES)
    if len(sys.argv) > 1:
        old = Path(sys.argv[1])
        old_image = build(old, folder / "old")
        ratios = []
        for _ in range(TURNS):
            before = user_seconds(old, old_image, "--trace=all", f"--trace-file={plain}")
            after = user_seconds(tools, image, "--trace=all", f"--trace-file={packed}")
            ratios.append(after / before)
        claims.at_most("user time, compressed trace by the other build's plain one",
                       statistics.median(ratios), MOST_TIME)
    claims.finish()


main()
