#!/usr/bin/python3
"""Benchmarks of the vendor on 32 x 32 tiles take at most a third of the processor time that an older
build takes for the host script: the run of the program, copies, Python and all.

    CONFORMANCE_DIR=... /usr/bin/python3 tests/claims/speed_vendor.py OLD_BIN NEW_BIN [--only TEXT]
                                                                      [--side N] [--repeat N]

CONFORMANCE_DIR: a checkout of Cerebras/csl-examples.  OLD_BIN and NEW_BIN: folders of the programs,
whose scripts run by turns, each on what its own compiler makes.  The median of the ratios counts; the
bound is a ratio to commit 35dd493.  It needs two builds, so run.sh does not run it.

No short form: two builds.
"""
import argparse
import os
import shlex
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from claims import Checks, build_folder  # noqa: E402
from speed_scripts import processor_seconds  # noqa: E402

LEAST_FASTER = 3.0
# What cslc gets beside the fabric's size, and the host script with its arguments.
KRYLOV = (" ".join(["--params=width:{n},height:{n},MAX_ZDIM:16 --params=BLOCK_SIZE:4",
                    *[f"--params=C{i}_ID:{i}" for i in range(9)], "-o=out"]),
          "run.py -m={n} -n={n} -k=16 --latestlink out --channels=1 --width-west-buf=0 "
          "--width-east-buf=0 --zDim=16 --run-only")
BENCHMARKS = {
    "gemm-collectives_2d": ("layout.csl", "--params=P:{n},Mt:14,Kt:14,Nt:14 -o out",
                            "run.py --name out"),
    "gemv-collectives_2d": ("layout.csl", "--params=kernel_rows:{n},kernel_cols:{n},"
                            "matrix_rows:{m},matrix_cols:{m} -o out", "run.py --name out"),
    "7pt-stencil-spmv": ("src/layout.csl", *KRYLOV),
    "bicgstab": ("src/layout.csl", KRYLOV[0], KRYLOV[1] + " --max-ite=2"),
    "power-method": ("src/layout.csl", KRYLOV[0], KRYLOV[1] + " --max-ite=4"),
}


def script_in(scratch, root, name, tools, side):
    """Compiles a copy of the benchmark; returns its folder and the command of its host script."""
    layout, options, script = BENCHMARKS[name]
    copy = Path(scratch) / tools.parent.name / str(len(os.listdir(scratch)))
    shutil.copytree(root / "benchmarks", copy)
    fill = {"n": side, "m": 32 * side}
    processor_seconds([tools / "cslc", layout, "--arch=wse2", "--memcpy", "--channels=1",
                       f"--fabric-dims={side + 7},{side + 2}", "--fabric-offsets=4,1",
                       *shlex.split(options.format(**fill))], copy / name, tools)
    return copy / name, [tools / "cs_python", *shlex.split(script.format(**fill))]


def ratio(root, name, side, builds, repeat):
    """Seconds of each build, and the median of old by new."""
    with tempfile.TemporaryDirectory() as scratch:
        scripts = [(*script_in(scratch, root, name, tools, side), tools) for tools in builds]
        pairs = []
        for turn in range(repeat):
            order = scripts if turn % 2 else scripts[::-1]
            took = {tools: processor_seconds(command, folder, tools)
                    for folder, command, tools in order}
            pairs.append([took[tools] for tools in builds])
    return pairs[-1], statistics.median(old / new for old, new in pairs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--only", default="")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    root, checks = Path(os.environ["CONFORMANCE_DIR"]), Checks()
    for name in BENCHMARKS:
        if options.only not in name:
            continue
        (old, new), faster = ratio(root, name, options.side, [options.old, options.new],
                                   options.repeat)
        checks.at_least(f"{name}: {old:.2f} and {new:.2f} s, how many times as fast", faster,
                        LEAST_FASTER)
    checks.finish()


if __name__ == "__main__":
    main()
