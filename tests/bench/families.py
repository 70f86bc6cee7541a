#!/usr/bin/python3
"""The families of programs: speed, where the time goes, and the ratio to another build.

    tests/bench/families.py [--size small|middle|large|wafer] [--only TEXT] [--stages]
                            [--other BIN] [--repeat N] [--instructions]

Without --other: the rate of each family, the median of the runs.  --stages: the shares of the
instructions by stage, by callgrind.  --other: a folder of programs of another build; each build
runs what its own compiler makes of the program, by turns, and the ratio is that of the times per
active tile-cycle, new by old; --instructions compares counts of instructions instead, which say
more where other programs run on the machine.
"""
import argparse
import re
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "claims"))
import bench  # noqa: E402
import harness  # noqa: E402
import speed_ratio  # noqa: E402

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
}

# What a function belongs to, by the start of its name; the first that fits.  The fast engine's
# visits, routers and streams are inlined into one function.
STAGES = (
    ("scalar rows", r"scalar_|run_carefully|load_elsewhere|store_elsewhere|ahead_steps|fast_ahead"),
    ("vector start", r"vec_begin|capture_|check_|stream_span|port_started|is_plain|make_plain|"
                     r"overlap_|vector_start|port_run_alloc|dsr_|descriptor_|load_descriptor"),
    ("vector elements", r"plain_|vec_|vector_|fp16_|fp32_|read_element|write_element|mem_"),
    ("tasks and issue", r"tile_|plan_|commit_|issue_|visit_any|visit_threads|turn_pay|timing_|"
                        r"port_|class_insn|access_config"),
    ("visits, routers, streams", r"visit_|fast_|move_|settle_|take_down|end_block|run_|timers_"),
    ("load", r"crc32|image_|program_|load_|insn_decode|inflate|read_"),
)


def stage_of(function):
    return next((name for name, pattern in STAGES if re.match(pattern, function)), "other")


def stages(tools, workload, folder):
    """The share of each stage in the instructions of a run."""
    image, out = folder / "s.bin", folder / "callgrind.out"
    harness.compile(workload.layout, image, params=workload.params)
    harness.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                 tools / "wse-emu", image], timeout=3600)
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
    for name, make in FAMILIES.items():
        workload = make(*SIZES[options.size])
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
