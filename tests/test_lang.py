"""The language at run time: each file under tests/lang is a program that checks itself.

First line: `//# lang [flags for cslc]`; a file without it only serves others.  The program checks
its results with @assert, which stops the emulator with the line, and sets its exported variable
`done` to 1 at the end.  Each is run on both architectures (unless the flags name one) and at all
optimisation levels, on tiles 1 x 1 unless it has a layout; `done` must be 1 on the tile (0, 0).
"""
import shlex

import pytest

import harness

LEVELS = ("-O0", "-O1", "-O2")
ARCHS = ("wse2", "wse3")
FOLDER = harness.ROOT / "tests" / "lang"


def flags_of(path):
    """The flags of a test; None for a file that only serves others."""
    first = path.read_text().split("\n", 1)[0]
    return shlex.split(first.removeprefix("//# lang")) if first.startswith("//# lang") else None


def cases():
    for path in sorted(FOLDER.glob("*.csl")):
        flags = flags_of(path)
        if flags is None:
            continue
        named = [f for f in flags if f.startswith("--arch=")]
        for arch in ([] if named else [f"--arch={a}" for a in ARCHS]) or [named[0]]:
            for level in LEVELS:
                rest = [f for f in flags if not f.startswith("--arch=")]
                yield pytest.param(path, [arch, level, *rest],
                                   id=f"{path.stem}-{arch[-4:]}{level}")


@pytest.mark.parametrize("path, flags", cases())
def test_language(path, flags, tmp_path):
    harness.cslc(*flags, path.name, "-o", tmp_path / "p.bin", cwd=FOLDER)
    ran = harness.emu(tmp_path / "p.bin", "--print=done")
    assert harness.values(ran.out, "done")[0, 0] == [1.0]
