#!/usr/bin/python3
"""The families of programs: speed, where the time goes, and the ratio to another build.

    tests/bench/families.py [--size small|middle|large|wafer] [--only TEXT] [--stages]
                            [--other BIN] [--repeat N] [--instructions]

The programs are our own and, if CONFORMANCE_DIR names a checkout of Cerebras/csl-examples, benchmarks
from there; these only on squares of up to 256 x 256 tiles.

Without --other: the rate of each family, the median of the runs.  --stages: the shares of the
instructions by stage, by callgrind.  --other: a folder of programs of another build; each build
runs what its own compiler makes of the program, by turns, and the ratio is that of the times per
active tile-cycle, new by old; --instructions compares counts of instructions instead, which say
more where other programs run on the machine.
"""
import argparse
import functools
import os
import re
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "claims"))
import bench  # noqa: E402
import c_text  # noqa: E402
import harness  # noqa: E402
import speed_ratio  # noqa: E402
import vendor  # noqa: E402

SIZES = {"small": (8, 8), "middle": (64, 64), "large": (256, 256), "wafer": (750, 994)}

CHAIN, BROADCAST = "samples/reduce-chain/layout.csl", "samples/broadcast-1d/layout.csl"


def on_grid(name, layout, **params):
    """A family on a rectangle of any size."""
    return lambda w, h: bench.Workload(name, layout, {"width": w, "height": h, **params})


def on_line(name, layout, **params):
    """Several times as long as the rectangle, so that a run takes long enough to be measured."""
    return lambda w, h: bench.Workload(name, layout, {"P": min(512, 8 * max(w, h)), **params})


# On a grid, the vectors of a chain are long enough that a run takes a tenth of a second or more: the
# clock of user time has ticks of milliseconds.
CHAIN2D_ELEMENTS = 2048


COPIED_WORDS = 64               # of each tile


def copies(w, h):
    """All words go in and out through the channels of the host."""
    def actions(folder):
        array = folder / "a.npy"
        np.save(array, np.ones((h, w, COPIED_WORDS), np.float32))
        return (f"--h2d=a={array}", "--launch=double", f"--d2h=a:{COPIED_WORDS}={folder / 'out.npy'}")

    flags = ("--memcpy", f"--channels={min(h, 16)}", f"--fabric-dims={w + 7},{h + 2}",
             "--fabric-offsets=4,1")
    return bench.Workload("copies", "tests/bench/copies/layout.csl",
                          {"width": w, "height": h, "words": COPIED_WORDS}, flags, actions)


def gemv(w, h):
    return bench.Workload("gemv", "samples/gemv/layout.csl",
                          {"width": w, "height": h, "M": 32 * h, "N": 32 * w})


FAMILIES = {
    "chain": on_line("chain", CHAIN, B=4096),
    "chain2d": on_grid("chain2d", "tests/bench/chain2d/layout.csl", B=CHAIN2D_ELEMENTS),
    "broadcast": on_line("broadcast", BROADCAST, B=4096),
    "waves": on_grid("waves", "tests/bench/wafer/layout.csl", B=64),
    "gemv": gemv,
    "gemm": on_grid("gemm", "tests/bench/gemm/layout.csl", size=14, panels=2),
    "stencil": on_grid("stencil", "tests/bench/stencil/layout.csl", nz=32, steps=4),
    "fft": on_grid("fft", "tests/bench/fft/layout.csl", log_n=5, turns=1),
    "sparse": on_grid("sparse", "tests/bench/sparse/layout.csl", rows=32, turns=4),
    "tasks": on_grid("tasks", "tests/bench/tasks/layout.csl", numbers=64),
    "scalar": on_grid("scalar", "tests/bench/busy/layout.csl", turns=500),
    "copies": copies,
}


def workloads(size):
    """All programs of that size, by name."""
    w, h = SIZES[size]
    found = {name: make(w, h) for name, make in FAMILIES.items()}
    if "CONFORMANCE_DIR" in os.environ and w == h:
        found |= {name: vendor.workload_of(name, w) for name in vendor.BENCHMARKS}
    return found


# What a function belongs to, by the file that defines it; the first that fits.  The fast engine's
# visits, routers and streams are inlined into one function.
STAGES = (
    ("scalar rows", r"emu/tile/exec_scalar"),
    ("main thread ahead", r"emu/fast/(ahead|beside|kept|steps|whole)\."),
    ("vector operations", r"emu/fast/plain\.|emu/tile/(check|exec_vec|known|mem|overlap|vector)\.|"
                          r"ir/base/(fp|platform/lanes)"),
    ("tasks and issue", r"emu/tile/|emu/fast/(port|tasks)\."),
    ("visits, routers, streams", r"emu/(fast|fabric)/"),
    ("host", r"emu/(engine|host|observe)/"),
    ("load", r"emu/machine/|ir/"),
)


@functools.cache
def files_of_functions():
    """The file that defines a function of the emulator, by its name."""
    found = {}
    for folder in ("emu", "ir"):
        for path in sorted((harness.ROOT / folder).rglob("*.[ch]")):
            for function in c_text.functions(path.read_text()):
                found[function.name] = path.relative_to(harness.ROOT).as_posix()
    return found


def stage_of(function):
    """The compiler adds a suffix to the names of its copies, and callgrind one to those that recur."""
    file = files_of_functions().get(re.split(r"[.']", function)[0], "")
    return next((name for name, pattern in STAGES if re.match(pattern, file)), "other")


def stages(tools, workload, folder):
    """The share of each stage in the instructions of a run."""
    out = folder / "callgrind.out"
    harness.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", tools / "wse-emu",
                 workload.compile(tools, folder), *workload.actions(folder)], timeout=3600)
    listed = harness.run(["callgrind_annotate", "--threshold=100", out]).out
    counts = Counter()
    for count, function in re.findall(r"^\s*([\d,]+) \([^)]*\)\s+\S*?:(\S+)", listed, re.M):
        counts[stage_of(function)] += int(count.replace(",", ""))
    total = sum(counts.values())
    assert total, "callgrind_annotate lists no function"
    return {name: count / total for name, count in counts.most_common()}


def ratio(old, new, workload, folder, repeat, instructions):
    """New by old, per active tile-cycle: the median, and both builds' cycles."""
    pair = [speed_ratio.Build(Path(tools), workload, folder / side)
            for side, tools in (("old", old), ("new", new))]
    measure = speed_ratio.Build.instructions if instructions else speed_ratio.Build.user_seconds
    found = speed_ratio.ratios(measure, *pair, 1 if instructions else repeat)
    return statistics.median(found), [build.statistics["cycles"] for build in pair]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="middle")
    parser.add_argument("--only", default="")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--other", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    print(f"machine: {bench.machine()}")
    for name, workload in workloads(options.size).items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            runs = bench.measure(workload, options.repeat, 1, folder)
            found = bench.summary(workload, runs)
            rate = found["active_per_second"] / 1e6
            print(f"{name:10} {found['cycles']:>8} cycles {rate:8.2f} M "
                  f"active tile-cycles/s ({found['slowest'] / 1e6:.2f} to "
                  f"{found['fastest'] / 1e6:.2f}, {found['runs']} runs)", flush=True)
            if options.stages:
                for stage, share in stages(harness.bin_dir(), workload, folder).items():
                    print(f"    {share:6.1%}  {stage}")
            if options.other:
                value, cycles = ratio(options.other, harness.bin_dir(), workload, folder,
                                      options.repeat, options.instructions)
                what = "instructions" if options.instructions else "user time"
                print(f"    {what} per active tile-cycle, new by old: {value:.3f} "
                      f"({cycles[0]} and {cycles[1]} cycles)", flush=True)


if __name__ == "__main__":
    main()
