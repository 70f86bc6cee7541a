#!/usr/bin/python3
"""A deleted token is reported where it was deleted.

Deletes one random token from a random file of ours, many times. At least 90 % of those that make
the file ungrammatical must have their first error within one line of the deletion.

    syntax_deletions.py [--count=N] [--seed=N] [--verbose] [FOLDER...]

Short form: test_mutants.py::test_mutants_are_refused_near_the_change.
"""
import argparse
import random
import re
import sys
from pathlib import Path

from claims import Claims, harness

TEXT = re.compile(r"(\d+):(\d+) (.*)")
WITH_TEXT = ("name ", "builtin ", "string ", "integer ", "float ", "character ")


def tokens(path):
    """(line, column, text) of each token."""
    found = []
    for row in harness.cslc("--emit=tokens", path).out.splitlines():
        line, column, rest = TEXT.match(row).groups()
        word = next((rest[len(w):] for w in WITH_TEXT if rest.startswith(w)), rest.strip("'"))
        if rest != "end of file":
            found.append((int(line), int(column), word))
    return found


def without(text, token):
    """The file's text without a token."""
    line, column, word = token
    lines = text.split(b"\n")
    raw = word.encode("utf-8", "surrogateescape")
    at = column - 1
    assert lines[line - 1][at:at + len(raw)] == raw, (token, lines[line - 1])
    lines[line - 1] = lines[line - 1][:at] + lines[line - 1][at + len(raw):]
    return b"\n".join(lines)


def errors(path):
    ran = harness.cslc("--emit=ast", "--diag-format=json", path, expect=None)
    assert ran.code in (0, 1), ran.err
    return [d for d in harness.diagnostics(ran.err) if d["severity"] == "error"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    claims = Claims()
    folders = options.folders or [harness.ROOT / "samples", harness.ROOT / "stdlib"]
    files = sorted(f for folder in folders for f in Path(folder).rglob("*.csl"))
    all_tokens = {f: tokens(f) for f in files}
    places = [(f, t) for f in files for t in all_tokens[f]]
    chosen = random.Random(options.seed)
    broken = near = total_errors = 0
    damaged = claims.scratch / "damaged.csl"
    while broken < options.count:
        path, token = chosen.choice(places)
        damaged.write_bytes(without(path.read_bytes(), token))
        found = errors(damaged)
        if not found:
            continue
        broken += 1
        total_errors += len(found)
        line = min(d["line"] for d in found)
        if abs(line - token[0]) <= 1:
            near += 1
        elif options.verbose:
            print(f"{path}:{token[0]}:{token[1]}: '{token[2]}' deleted, reported in line {line}: "
                  f"{found[0]['message']}")
    print(f"{broken} ungrammatical deletions, {total_errors / broken:.2f} errors each")
    claims.at_least("first error within one line of the deletion",
                    round(100 * near / broken, 1), 90, "%")
    claims.finish()


if __name__ == "__main__":
    sys.exit(main())
