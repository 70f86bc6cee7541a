#!/usr/bin/python3
"""The compiler has at least 150 distinct messages that tests trigger.

Runs every test under tests/golden and counts the templates (rows of the diag.def tables) that a
test both expects, by id and line, and gets.  A template counts once, however often it comes; notes
count as templates of their own.  Says which rows no golden test triggers.

    diagnostics.py [--verbose]

Short form: test_layers.py::test_every_row_is_named_by_a_test.
"""
import argparse
from pathlib import Path

from claims import Claims, harness
import golden_file
import test_golden
import test_layers


def rows():
    """id: table of every diagnostic of the compiler."""
    return {row: table for table in ("frontend/diag.def", "ir/diag.def")
            for row in test_layers.rows_of((harness.ROOT / table).read_text(), r"DIAG\d")}


def triggered(name, scratch):
    """The ids that a golden test expects and gets; nothing if it does not pass."""
    test = golden_file.read(harness.GOLDEN / name)
    _, found = test_golden.run_test(test, scratch)
    expected = test.expected + test_golden.imported_expectations(test, found)
    missing, surplus = golden_file.differences(expected, found)
    if missing or surplus:
        print(f"{name} does not pass")
        return set()
    return {name for _, _, name, _ in expected}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    claims = Claims()
    known, seen = rows(), set()
    for path in test_golden.FILES:
        if test_golden.is_test(path):
            seen |= triggered(str(Path(path).relative_to(harness.GOLDEN)), claims.scratch)
    seen &= set(known)
    print(f"{len(known)} templates in the tables of the compiler")
    if options.verbose:
        for row in sorted(set(known) - seen):
            print(f"  no golden test triggers {row} of {known[row]}")
    claims.at_least("distinct templates expected and triggered by tests", len(seen), 150)
    claims.finish()


if __name__ == "__main__":
    main()
