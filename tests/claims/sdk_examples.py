#!/usr/bin/python3
"""The vendor's public examples of each release from 1.0 to 2.10 pass unmodified, with no option.

Arguments, or the words of CONFORMANCE_DIRS, name the checkouts: RELEASE=FOLDER, all of them for
the whole claim.  2.10 is github.com/Cerebras/sdk-examples, the others are tags of
github.com/Cerebras/csl-examples.

No short form: programs of others.
"""
import os
import sys

import examples
from claims import Claims

# Release: (how many scripts pass, programs that cannot: what they need is not in the release).
RELEASES = {"2.10": (102, []), "1.4": (100, []), "1.3": (89, []), "1.2": (57, []),
            "1.1": (42, []), "1.0": (40, ["spmv-hypersparse"])}


def checkouts():
    """{release: folder}, as the caller names them."""
    words = sys.argv[1:] or os.environ.get("CONFORMANCE_DIRS", "").split()
    found = dict(word.split("=", 1) for word in words if "=" in word)
    if not found or found.keys() - RELEASES:
        sys.exit("name the checkouts as RELEASE=FOLDER, in the arguments or in CONFORMANCE_DIRS; "
                 f"releases: {', '.join(RELEASES)}\nFAIL")
    return found


claims = Claims()
for release, folder in checkouts().items():
    passing, without_input = RELEASES[release]
    results = examples.run(claims, folder)
    claims.equals(f"{release}: scripts that pass",
                  sum(r["outcome"] == "passed" for r in results), passing)
    claims.equals(f"{release}: programs that fail",
                  sorted({r["program"] for r in results if r["outcome"] != "passed"}),
                  without_input)
claims.finish()
