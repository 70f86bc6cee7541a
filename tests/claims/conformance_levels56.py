#!/usr/bin/python3
"""All scripts of ladder levels 5 and 6 of the vendor's public examples pass unmodified: layouts made
in Python, solvers, stencils, transforms and sparse products, 13 scripts for one machine and 11 for
the other.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.
"""
import json
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
                           "--level=5", "--level=6", "--jobs=2",
                           f"--json={claims.scratch / 'results.json'}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    results = json.loads((claims.scratch / "results.json").read_text())
    for arch, scripts in (("wse2", 13), ("wse3", 11)):
        passed = sum(r["outcome"] == "passed" and r["arch"] == arch for r in results)
        claims.equals(f"scripts of {arch} that pass", passed, scripts)
    claims.equals("scripts that fail", sum(r["outcome"] == "failed" for r in results), 0)
    claims.finish()


main()
