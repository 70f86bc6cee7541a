#!/usr/bin/python3
"""The vendor's public examples take at most 0.6 times the processor time that an older build takes:
every script, run by turns with both builds; the sums over the scripts count.

    CONFORMANCE_DIR=... /usr/bin/python3 tests/claims/speed_scripts.py OLD_BIN NEW_BIN [--only TEXT]

OLD_BIN and NEW_BIN: folders of the programs.  Compilation, Python and the emulator all count; what
Python takes to start and to import numpy, which no build can change, is printed beside them.  It
needs two builds, so run.sh does not run it.

No short form: two builds.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance"))
import run as conformance  # noqa: E402
from claims import Checks, build_folder  # noqa: E402

MOST_RATIO = 0.6


def processor_seconds(command, folder, tools):
    """User and system time of the command and all that it starts; it must succeed."""
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                   "MPLBACKEND": "Agg"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"{command} in {folder} with {tools}: {done.stderr[-400:]}"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def script_seconds(root, script, tools):
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "tree"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git"))
        here = copy / script.relative_to(root)
        conformance.expand_macros(here)
        return processor_seconds(["bash", here.name], here.parent, tools)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    root = Path(os.environ["CONFORMANCE_DIR"])
    checks = Checks()
    sums = {options.old: 0.0, options.new: 0.0}
    scripts = [row[0] for row in conformance.find_scripts(root) if options.only in str(row[0])]
    for turn, script in enumerate(scripts):
        found = {tools: script_seconds(root, script, tools)
                 for tools in (sums if turn % 2 else reversed(sums))}
        for tools, seconds in found.items():
            sums[tools] += seconds
        print(f"{script.relative_to(root)}: {found[options.old]:.2f} s, {found[options.new]:.2f} s",
              flush=True)
    idle = processor_seconds(["/usr/bin/python3", "-c", "import numpy"], root, options.new)
    print(f"of these, {len(scripts)} starts of Python with numpy: {idle * len(scripts):.1f} s")
    checks.check("old build", sums[options.old], "none", True, "s")
    checks.check("new build", sums[options.new], "none", True, "s")
    ratio = sums[options.new] / sums[options.old]
    checks.check(f"new by old, {len(scripts)} scripts", ratio, f"<= {MOST_RATIO}",
                 ratio <= MOST_RATIO)
    checks.finish()


if __name__ == "__main__":
    main()
