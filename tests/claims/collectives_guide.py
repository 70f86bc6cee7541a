#!/usr/bin/python3
"""Every measured table of docs/collectives.md is what the emulator gives.

With WSE_UPDATE_GOLDEN=1 the page is rewritten first.  About 2 minutes.

Short form: test_collectives.py::test_rows_of_the_guide_are_current.
"""
import os

from claims import Claims
import collectives_tables as tables


def main():
    claims = Claims()
    for name, make in tables.ALL.items():
        made = make(claims.scratch)
        if os.environ.get("WSE_UPDATE_GOLDEN"):
            tables.update(name, made)
        claims.equals(f"table '{name}' of the page is current", tables.current(name) == made, True)
    claims.finish()


main()
