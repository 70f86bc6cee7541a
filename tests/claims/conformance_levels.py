#!/usr/bin/python3
"""All scripts of ladder levels 1 to 4 of the vendor's public examples, 38 for each machine, pass
unmodified, and two at a time they take less than five minutes.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.
"""
import json
import os
import resource
import subprocess
import sys
import time

from claims import Claims, harness

LEVELS = (1, 2, 3, 4)


def main():
    folder = os.environ.get("CONFORMANCE_DIR")
    claims = Claims()
    if not folder:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/csl-examples")
        claims.finish()
    start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, harness.ROOT / "tests/conformance/run.py", folder,
                           *(f"--level={level}" for level in LEVELS), "--jobs=2",
                           f"--json={claims.scratch / 'results.json'}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    wall, now = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(done.stdout + done.stderr, end="")
    results = json.loads((claims.scratch / "results.json").read_text())
    for arch in ("wse2", "wse3"):
        passed = sum(r["outcome"] == "passed" and r["arch"] == arch for r in results)
        claims.equals(f"scripts of {arch} that pass", passed, 38)
    claims.equals("scripts that fail", sum(r["outcome"] == "failed" for r in results), 0)
    busy = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(f"processor time: {busy:.1f} s")      # tells a slow program from a busy machine
    claims.at_most("wall time with two jobs", round(wall, 1), 300, "s")
    claims.finish()


main()
