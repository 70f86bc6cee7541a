#!/usr/bin/python3
"""Benchmarks of the emulator: active tile-cycles per second on named workloads.

    tests/bench/bench.py [--repeat N] [--threads N] [--only NAME] [--json FILE]

Each workload runs N times (default 5); the median counts.  Run with nothing else on the machine.
`active` is (tile, cycle) pairs in which the tile issued or its router moved a wavelet; `program`
counts all tiles of the rectangle, which the vendor's simulator calls active.
"""
import argparse
import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402


@dataclass
class Workload:
    name: str
    layout: str
    params: dict
    flags: tuple = ()           # of cslc, beside the parameters
    actions: Callable = lambda folder: ()      # of wse-emu, with arrays in the folder

    def compile(self, tools, folder):
        """What the compiler of a build makes of the program."""
        params = ",".join(f"{name}:{value}" for name, value in self.params.items())
        image = folder / "p.bin"
        harness.run([tools / "cslc", harness.ROOT / self.layout, *([f"--params={params}"] * bool(params)),
                     *self.flags, "-o", image], timeout=600)
        return image


WORKLOADS = (
    Workload("chain-512x4096", "samples/reduce-chain/layout.csl", {"P": 512, "B": 4096}),
    Workload("chain2d-256x256", "tests/bench/chain2d/layout.csl",
             {"width": 256, "height": 256, "B": 1024}),
    Workload("gemv-64x64", "samples/gemv/layout.csl",
             {"width": 64, "height": 64, "M": 2048, "N": 2048}),
    Workload("busy-64x64", "tests/bench/busy/layout.csl",
             {"width": 64, "height": 64, "turns": 1000}),
    Workload("wafer-256x256", "tests/bench/wafer/layout.csl", {"width": 256, "height": 256, "B": 64}),
    Workload("broadcast-512x4096", "samples/broadcast-1d/layout.csl", {"P": 512, "B": 4096}),
)


def measure(workload, repeat, threads, folder):
    """The statistics of each run."""
    image = workload.compile(harness.bin_dir(), folder)
    actions = workload.actions(folder)
    runs = []
    for _ in range(repeat):
        harness.emu(image, *actions, f"--stats={folder}/s.json", f"--threads={threads}", timeout=600)
        runs.append(harness.stats(folder / "s.json"))
    return runs


def summary(workload, runs):
    speeds = [r["active_tile_cycles"] / r["wall_seconds"] for r in runs]
    program = [r["program_tile_cycles"] / r["wall_seconds"] for r in runs]
    scalar = [r["instructions"] / r["wall_seconds"] for r in runs]
    return {"name": workload.name, "params": workload.params, "cycles": runs[0]["cycles"],
            "threads": runs[0]["threads"], "runs": len(runs),
            "active_per_second": statistics.median(speeds), "slowest": min(speeds),
            "fastest": max(speeds), "program_per_second": statistics.median(program),
            "instructions_per_second": statistics.median(scalar)}


def machine():
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} x {len(names)}"


def run_all(repeat=5, threads=1, only=""):
    results = []
    for workload in WORKLOADS:
        if only in workload.name:
            with tempfile.TemporaryDirectory() as folder:
                results.append(summary(workload, measure(workload, repeat, threads, Path(folder))))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = run_all(options.repeat, options.threads, options.only)
    print(f"machine: {machine()}")
    for r in results:
        print(f"{r['name']:20} {r['cycles']:>8} cycles  {r['active_per_second'] / 1e6:8.2f} M active "
              f"tile-cycles/s ({r['slowest'] / 1e6:.2f} to {r['fastest'] / 1e6:.2f}, {r['runs']} runs, "
              f"{r['threads']} thread)  {r['program_per_second'] / 1e6:8.2f} M program tile-cycles/s")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
