#!/usr/bin/python3
"""cslc --emit=ast accepts all 164 files of the vendor's public examples, and what it prints
parses to the same tree.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.  Trees are compared by
--emit=tree, which shows every field of every node.

Short form: test_parse.py::test_round_trip_of_our_files.
"""
import os
from pathlib import Path

from claims import Claims, harness


def same_tree(path, printed):
    """None if the file is accepted and survives the round trip, else what went wrong."""
    ran = harness.cslc("--emit=ast", path, "-o", printed, expect=None)
    if ran.code:
        return "rejected: " + ran.err.splitlines()[0]
    again = harness.cslc("--emit=tree", printed, expect=None)
    if again.code:
        return "printed text is rejected: " + again.err.splitlines()[0]
    if again.out != harness.cslc("--emit=tree", path).out:
        return "another tree"
    return None


def main():
    folder = os.environ.get("CONFORMANCE_DIR")
    claims = Claims()
    files = sorted(Path(folder).rglob("*.csl")) if folder else []
    if not files:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/csl-examples")
        claims.finish()
    ours = [f for part in ("samples", "stdlib") for f in sorted((harness.ROOT / part).rglob("*.csl"))]
    bad = 0
    for path in files + ours:
        trouble = same_tree(path, claims.scratch / "printed.csl")
        if trouble:
            bad += 1
            print(f"{path}: {trouble}")
    claims.equals("files of the vendor's examples", len(files), 164)
    claims.equals("files that are rejected or change their tree", bad, 0)
    claims.finish()


main()
