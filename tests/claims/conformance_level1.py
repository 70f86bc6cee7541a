#!/usr/bin/python3
"""The scripts of ladder level 1 of the vendor's public examples pass unmodified.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.
"""
import os
import subprocess
import sys

from claims import Claims, harness


def main():
    folder = os.environ.get("CONFORMANCE_DIR")
    claims = Claims()
    if not folder:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/csl-examples")
        claims.finish()
    done = subprocess.run([sys.executable, harness.ROOT / "tests/conformance/run.py", folder,
                           "--level=1", "--jobs=2"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    print(done.stdout, end="")
    lines = done.stdout.splitlines()
    claims.equals("scripts that passed", sum(line.startswith("passed") for line in lines), 16)
    claims.equals("scripts that failed", sum(line.startswith("failed") for line in lines), 0)
    claims.finish()


main()
