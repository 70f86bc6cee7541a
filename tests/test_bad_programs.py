"""Typical mistakes of authors with experience in C, Zig or Python, or new to the machine.

bad_programs.txt has the programs.  Each starts with a line

    === NAME: ID LINE: TEXT

and must be refused with that error first, in that line; TEXT occurs in its message or in one of
its notes, those about the way there (calls, tiles) aside.  A program without a layout gets the
lines that start its task `main`; one with a layout has the file pe.csl beside it."""
import re
from pathlib import Path

import pytest

import harness
import token_mutants

START = "comptime {\n  @bind_local_task(main, @get_local_task_id(8));\n" \
        "  @activate(@get_local_task_id(8));\n}\n"
PE = "param size: u16;\nvar v: [size]f32;\ntask main() void { v[0] = 1.0; }\n" + START
HEAD = re.compile(r"^=== (.*?): (\w+) (\d+): (.*)$", re.M)
TEXT = (Path(__file__).parent / "bad_programs.txt").read_text()
HEADS = list(HEAD.finditer(TEXT))
PROGRAMS = [(*head.groups(), TEXT[head.end() + 1:end].rstrip("\n") + "\n")
            for head, end in zip(HEADS, [h.start() for h in HEADS[1:]] + [len(TEXT)])]


def diagnose(source, folder):
    (folder / "pe.csl").write_text(PE)
    is_layout = re.search(r"^layout\b", source, re.M)
    (folder / "p.csl").write_text(source + ("" if is_layout else START))
    ran = harness.cslc("p.csl", "--diag-format=json", "-o", "x.bin", cwd=folder, expect=1)
    return harness.diagnostics(ran.err)


@pytest.mark.parametrize("name, error, line, said, source", PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_a_mistake_is_explained(name, error, line, said, source, tmp_path):
    mutant = token_mutants.Mutant(None, None, "", 0, name, found=diagnose(source, tmp_path))
    first = mutant.first_error
    assert (first[0]["id"], first[0]["line"]) == (error, int(line)), first
    assert any(said in d["message"] for d in first), first


def test_there_are_many():
    assert len(PROGRAMS) >= 60 and len(set(p[0] for p in PROGRAMS)) == len(PROGRAMS)
