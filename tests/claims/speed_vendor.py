#!/usr/bin/python3
"""Benchmarks of the vendor on 32 x 32 tiles take at most a third of the processor time that an older
build takes for the host script: the run of the program, copies, Python and all.

    CONFORMANCE_DIR=... /usr/bin/python3 tests/claims/speed_vendor.py OLD_BIN NEW_BIN [--only TEXT]
                                                                      [--side N] [--repeat N]

`speed_families.py` runs the same benchmarks on the emulator alone.  CONFORMANCE_DIR: a checkout of
Cerebras/csl-examples.  OLD_BIN and NEW_BIN: folders of the programs, whose scripts run by turns, each
on what its own compiler makes.  The median of the ratios counts; the bound is a ratio to commit
35dd493.  It needs two builds, so run.sh does not run it.

No short form: two builds.
"""
import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import vendor  # noqa: E402
from claims import Checks, build_folder  # noqa: E402
from speed_scripts import processor_seconds  # noqa: E402

LEAST_FASTER = 3.0


def script_of(folder, name, tools, side):
    """The folder of the compiled benchmark and the command of its host script."""
    place, script = vendor.script_in(folder, name, tools, side)
    return place, [tools / "cs_python", *script]


def ratio(name, side, builds, repeat):
    """Seconds of each build, and the median of old by new."""
    with tempfile.TemporaryDirectory() as scratch:
        scripts = [(*script_of(Path(scratch) / str(i), name, tools, side), tools)
                   for i, tools in enumerate(builds)]
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
    checks = Checks()
    for name in vendor.BENCHMARKS:
        if options.only not in name:
            continue
        (old, new), faster = ratio(name, options.side, [options.old, options.new], options.repeat)
        checks.at_least(f"{name}: {old:.2f} and {new:.2f} s, how many times as fast", faster,
                        LEAST_FASTER)
    checks.finish()


if __name__ == "__main__":
    main()
