#!/usr/bin/python3
"""Each seeded miscompile (ir/opt/miscompile.def), switched on alone, is found by the differential
fuzzer.

    miscompiles.py [FUNCTIONS] [--only=NAME] [--jobs=N]      default: within 20,000 functions

Builds the compiler with WSE_MISCOMPILE in build/miscompile unless WSE_MISCOMPILE_BIN names a
folder that has such a build.
"""
import argparse
import os
import re
import subprocess

from claims import Claims, harness

FOLDER = harness.ROOT / "build" / "miscompile"


def build():
    if "WSE_MISCOMPILE_BIN" not in os.environ:
        for command in (["cmake", "-S", harness.ROOT, "-B", FOLDER, "-G", "Ninja",
                         "-DCMAKE_BUILD_TYPE=Release", "-DWSE_MISCOMPILE=ON"],
                        ["cmake", "--build", FOLDER, "--target", "cslc", "wse-emu"]):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    os.environ["WSE_BIN"] = os.environ.get("WSE_MISCOMPILE_BIN", str(FOLDER / "bin"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("functions", nargs="?", type=int, default=20_000)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    build()
    from diff import fuzz
    claims = Claims()
    table = (harness.ROOT / "ir" / "opt" / "miscompile.def").read_text()
    names = re.findall(r"^MISCOMPILE\((\w+),", table, re.M)
    claims.at_least("seeded miscompiles", len(names), 20)
    clean = fuzz.run(512, 1, jobs=options.jobs)
    claims.equals("differences with none switched on", len(clean.differences), 0)
    for name in [n for n in names if options.only in (None, n)]:
        found = fuzz.run(options.functions, 1, jobs=options.jobs, stop_at_first=True,
                         env={"WSE_MISCOMPILE": name})
        claims.at_least(f"{name}: differences within {found.functions} functions",
                        len(found.differences), 1)
    claims.finish()


if __name__ == "__main__":
    main()
