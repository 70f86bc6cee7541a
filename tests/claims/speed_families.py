"""The families of tests/bench/families.py are faster than in another build: the bounds are ratios
to commit 35dd493, whose programs are the first argument.

    /usr/bin/python3 tests/claims/speed_families.py OLD_BIN NEW_BIN [--size SIZE] [--only TEXT]
                                                    [--repeat N] [--instructions]

With CONFORMANCE_DIR, a checkout of Cerebras/csl-examples, also benchmarks from there.  Each build
runs what its own compiler makes of a family, by turns; the median of the ratios of user times per
active tile-cycle counts, or that of the counts of instructions.  It needs two builds, so run.sh does
not run it.

No short form: two builds.
"""
import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import families  # noqa: E402
from claims import Checks, build_folder  # noqa: E402

# How many times as fast; a family without a bound is printed.
LEAST_FASTER = {"chain": 1.0, "chain2d": 1.7, "broadcast": 1.5, "gemv": 3.0, "stencil": 2.5,
                "tasks": 2.5, "scalar": 1.5, **dict.fromkeys(families.vendor.BENCHMARKS, 3.0)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--size", choices=families.SIZES, default="middle")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    checks = Checks()
    for name, workload in families.workloads(options.size).items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            value, cycles = families.ratio(options.old, options.new, workload, Path(folder),
                                           options.repeat, options.instructions)
        text = f"{name}, {cycles[0]} and {cycles[1]} cycles: how many times as fast"
        if name in LEAST_FASTER:
            checks.at_least(text, 1 / value, LEAST_FASTER[name])
        else:
            print(f"{text}: {1 / value:.2f}")
    checks.finish()


if __name__ == "__main__":
    main()
