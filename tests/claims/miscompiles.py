#!/usr/bin/python3
"""Each seeded miscompile (tests/seeded_miscompiles.py), switched on alone, is found by the differential
fuzzer.

    miscompiles.py [FUNCTIONS] [--only=NAME] [--jobs=N]      default: within 20,000 functions

Builds a compiler that has them in build/miscompile unless WSE_MISCOMPILE_BIN names a folder that
has such a build.

Short form: test_seeded_miscompiles.py::test_a_miscompile_has_its_place.
"""
import argparse
import os

from claims import Claims

import seeded_miscompiles as miscompiles


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("functions", nargs="?", type=int, default=20_000)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    os.environ["WSE_BIN"] = os.environ.get("WSE_MISCOMPILE_BIN") or str(miscompiles.build())
    from diff import fuzz
    claims = Claims()
    claims.at_least("seeded miscompiles", len(miscompiles.NAMES), 20)
    clean = fuzz.run(512, 1, jobs=options.jobs)
    claims.equals("differences with none switched on", len(clean.differences), 0)
    for name in [n for n in miscompiles.NAMES if options.only in (None, n)]:
        found = fuzz.run(options.functions, 1, jobs=options.jobs, stop_at_first=True,
                         env={"WSE_MISCOMPILE": name})
        claims.at_least(f"{name}: differences within {found.functions} functions",
                        len(found.differences), 1)
    claims.finish()


if __name__ == "__main__":
    main()
