#!/usr/bin/python3
"""Single-edit mutants of the samples (a route dropped, an extent halved, an unblock skipped, ...):
each is reported, and the report names a tile and a color that the edited line is about.

Short form: test_hazard_mutants.py::test_the_report_names_the_tile_and_the_color.
"""
from claims import Claims
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)   # not this file, the module of its name
import hazard_mutants  # noqa: E402

PROMISED = 30


def main():
    claims = Claims()
    mutants = hazard_mutants.all_mutants()
    claims.at_least("mutants", len(mutants), PROMISED)
    for mutant in mutants:
        text, code = hazard_mutants.report(mutant, claims.scratch)
        named = hazard_mutants.names_place(mutant, text)
        claims.equals(f"{mutant.name} (exit {code}): tile and color named", named, True)
        if not named:
            print(text)
    claims.finish()


main()
