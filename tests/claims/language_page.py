#!/usr/bin/python3
"""docs/language.md: how much of the language is supported, how much refused, each row with its
test or its reason.

Short form: test_language_page.py::test_row.
"""
from claims import Claims
import language_rows


def main():
    claims = Claims()
    rows = language_rows.rows()
    states = {state: [row for row in rows if row.state == state]
              for state in ("yes", "refused", "later")}
    for row in states["refused"] + states["later"]:
        print(f"  {row.state}: {row.what} ({row.reason or 'not done yet'})")
    untested = [row.what for row in states["yes"] if language_rows.test_text(row.test) is None]
    named = {row.builtin for row in rows if row.builtin}
    claims.equals("supported rows without a test that runs", len(untested), 0)
    claims.equals("builtins without a row", len(set(language_rows.builtins()) - named), 0)
    claims.at_least("supported rows", len(states["yes"]), 210)
    claims.at_most("refused rows", len(states["refused"]), 12)
    claims.equals("rows not done yet", len(states["later"]), 0)
    claims.finish()


main()
