#!/usr/bin/python3
"""Debug information does not slow a run down: of each family of programs (tests/bench/families.py)
on 24 x 20 tiles, the instructions of wse-emu on the image with it are at most 2 % more than on the
image without it (-g0), which runs the same cycles.  Prints what it adds to each image.

FAMILIES=TEXT chooses families; SIZE=WxH another rectangle.

No short form: times.
"""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import families  # noqa: E402
from claims import Claims, harness  # noqa: E402

MOST_MORE = 0.02
SIZE = tuple(int(part) for part in os.environ.get("SIZE", "24x20").split("x"))

claims = Claims()


def instructions(image):
    done = harness.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                        harness.tool("wse-emu"), image], timeout=3600)
    return int(re.search(r"Collected : (\d+)", done.err)[1])


def cycles(image):
    stats = claims.scratch / "s.json"
    harness.emu(image, f"--stats={stats}", timeout=600)
    return harness.stats(stats)["cycles"]


def compare(name, workload):
    images = {}
    for option in ("-g", "-g0"):
        images[option] = claims.scratch / f"{name}{option}.bin"
        harness.compile(workload.layout, images[option], *([option] if option == "-g0" else []),
                        params=workload.params)
    ran = {option: cycles(image) for option, image in images.items()}
    claims.equals(f"{name}: cycles with debug information", ran["-g"], ran["-g0"])
    counts = {option: instructions(image) for option, image in images.items()}
    claims.at_most(f"{name}: instructions with debug information over those without, less one",
                   counts["-g"] / counts["-g0"] - 1, MOST_MORE)
    sizes = {option: image.stat().st_size for option, image in images.items()}
    print(f"  debug information: {sizes['-g'] - sizes['-g0']} of {sizes['-g']} bytes of the image, "
          f"{100 * (sizes['-g'] / sizes['-g0'] - 1):.1f} % more")


for name, make in families.FAMILIES.items():
    if os.environ.get("FAMILIES", "") in name:
        compare(name, make(*SIZE))
claims.finish()
