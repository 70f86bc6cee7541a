"""A wafer in which every tile takes part (wafer_scale.py), compile included, takes at most 0.55 of
the time that another build takes, and at most 1.5 GB; both run by turns, on two threads.

    /usr/bin/python3 tests/claims/speed_wafer.py OLD_BIN NEW_BIN [--repeat N]

OLD_BIN and NEW_BIN: folders of the programs.  The bound is a ratio to commit 35dd493.  It needs two
builds, so run.sh does not run it.  Where other programs run on the machine, the processor time says
more than the wall time; both are printed.

No short form: two builds.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from claims import Checks, build_folder  # noqa: E402

PARAMS = "--params=width:750,height:994,B:64"
MOST_RATIO, MOST_BYTES = 0.55, 1.5e9


def run(command):
    """Processor time in seconds, and the most memory in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, f"{command[0]} failed"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure(tools, folder):
    """Wall time, processor time and memory of compile and run."""
    image = Path(folder) / "wafer.bin"
    start = time.monotonic()
    compiled, _ = run([tools / "cslc", harness.ROOT / "tests/bench/wafer/layout.csl", PARAMS,
                       "-o", image])
    ran, memory = run([tools / "wse-emu", image, "--threads=2"])
    return time.monotonic() - start, compiled + ran, memory


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.repeat):
            order = [options.old, options.new] if turn % 2 else [options.new, options.old]
            took = {tools: measure(tools, folder) for tools in order}
            pairs.append((took[options.old], took[options.new]))
    checks = Checks()
    for what, i in (("wall time", 0), ("processor time", 1)):
        old, new = (statistics.median(pair[side][i] for pair in pairs) for side in (0, 1))
        ratio = statistics.median(new[i] / old[i] for old, new in pairs)
        checks.at_most(f"{what}, {old:.1f} s and {new:.1f} s: new by old", ratio, MOST_RATIO)
    checks.at_most("memory of the new one", max(new[2] for _, new in pairs), MOST_BYTES, "bytes")
    checks.finish()


if __name__ == "__main__":
    main()
