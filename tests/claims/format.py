#!/usr/bin/python3
"""csl-fmt keeps the vendor's programs: after it, each of the 202 scripts of two releases compiles to
the same code, data, routes and tiles; a second run changes nothing.

CONFORMANCE_DIRS names checkouts of github.com/Cerebras/sdk-examples and
github.com/Cerebras/csl-examples, separated by colons.  A script that calls cslc itself is compared
by its commands: assembly, memory map and layout without source places, and the sections of the
image that hold no places.  The scripts of SdkLayout compile inside of Python: their runs must pass
with the same cycles.

Short form: test_format.py::test_tokens_and_comments_stay.
"""
import shutil

import compiled
import examples
from claims import Claims, harness


def check_folder(claims, folder):
    neat = claims.scratch / "neat" / folder.name
    shutil.copytree(folder, neat, ignore=shutil.ignore_patterns(".git"))
    files = sorted(neat.rglob("*.csl"))
    before = {f: f.read_bytes() for f in files}
    harness.run([harness.tool("csl-fmt"), "-i", *files])
    again = harness.run([harness.tool("csl-fmt"), "--check", *files], expect=None)
    changed = sum(f.read_bytes() != before[f] for f in files)
    print(f"{folder}: {len(files)} files, {changed} changed")
    claims.equals("files that a second run changes", len(again.out.splitlines()), 0)
    same = different = in_python = 0
    for script in sorted(folder.rglob("commands*.sh")):
        calls = examples.commands(script)
        place = script.parent.relative_to(folder)
        in_python += not calls
        for words in calls:
            equal = (compiled.program(folder / place, words, claims.scratch)
                     == compiled.program(neat / place, words, claims.scratch))
            if not equal:
                print(f"{script}: another program")
            same, different = same + equal, different + (not equal)
    runs = compiled.runs(claims, folder) if in_python else []
    claims.equals("programs that change", different, 0)
    claims.check("scripts of SdkLayout", len(runs), f"= {in_python}, all pass with the same cycles",
                 len(runs) == in_python and runs == (compiled.runs(claims, neat) if runs else [])
                 and all(outcome == "passed" for _, outcome, _ in runs))
    return same + in_python


def main():
    folders = examples.checkouts()
    claims = Claims()
    programs = sum(check_folder(claims, folder) for folder in folders)
    claims.at_least("scripts' programs compared", programs, 202)
    claims.finish()


main()
