"""Imported by the claims that run the vendor's public examples; check takes the
programs of some levels (docs/status.md has the meaning of a level).

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.
"""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from claims import harness


def checkouts():
    """The folders that CONFORMANCE_DIRS names; the claim ends if it names none or a wrong one."""
    folders = [Path(f) for f in os.environ.get("CONFORMANCE_DIRS", "").split(":") if f]
    if not folders:
        sys.exit("set CONFORMANCE_DIRS to checkouts of the vendor's public examples")
    for folder in folders:
        if not any(folder.rglob("commands*.sh")):
            sys.exit(f"CONFORMANCE_DIRS: '{folder}' has no scripts 'commands*.sh'; "
                     "a checkout of the vendor's public examples is meant")
    return folders


def commands(script):
    """The arguments of each call of cslc."""
    lines = script.read_text().replace("\\\n", " ").splitlines()
    found = [shlex.split(line) for line in lines if re.match(r"\s*cslc\b", line)]
    return [words[1:] for words in found]


def without_output(words):
    """The arguments without `-o OUT`, `-oOUT` and `-o=OUT`."""
    kept = list(words)
    for i in reversed(range(len(kept))):
        if kept[i].startswith("-o"):
            del kept[i:i + (2 if kept[i] == "-o" else 1)]
    return kept


def run(claims, folder, *choice):
    """The results of the scripts in the folder that the options of run.py choose, two at a time."""
    results = claims.scratch / "results.json"
    results.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, harness.ROOT / "tests/conformance/run.py", folder,
                           *choice, "--jobs=2", f"--json={results}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return json.loads(results.read_text()) if results.exists() else []


def check(claims, levels, scripts):
    """Runs the scripts of the levels; scripts: by machine, how many pass."""
    folder = os.environ.get("CONFORMANCE_DIR")
    if not folder:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/csl-examples")
        claims.finish()
    results = run(claims, folder, *(f"--level={level}" for level in levels))
    outcomes = [(r["arch"], r["outcome"]) for r in results]
    for arch, count in scripts.items():
        claims.equals(f"scripts of {arch} that pass", outcomes.count((arch, "passed")), count)
    claims.equals("scripts that fail", sum(outcome == "failed" for _, outcome in outcomes), 0)
