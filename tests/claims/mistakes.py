#!/usr/bin/python3
"""No silent wrong results, and no deadlock without a cause: each program of tests/mistakes/ ends
with its guilty line in the first three lines of output, on both machines and engines.

Short form: test_mistakes.py::test_mistake.
"""
from claims import Claims
import mistake_run


def main():
    claims = Claims()
    for mistake in mistake_run.all_mistakes():
        for arch in mistake.arches:
            texts = [mistake_run.report(mistake, arch, "-O1", engine, claims.scratch)
                     for engine in mistake_run.ENGINES]
            claims.equals(f"{mistake.name}, {arch}: wrong in the report",
                          mistake_run.wrong(mistake, texts[0]), [])
            claims.equals(f"{mistake.name}, {arch}: both engines say the same",
                          texts[0] == texts[1], True)
    claims.finish()


main()
