#!/usr/bin/python3
"""Cycles and bytes of small programs at each level: writes docs/codegen-table.md.

    tests/bench/codegen/table.py [--check]      --check: compare with the file, write nothing
"""
import argparse
import re
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent.parent))
import harness  # noqa: E402

TABLE = harness.ROOT / "docs" / "codegen-table.md"
LEVELS = ("-O0", "-O1", "-O2")
HEAD = """\
# Cycles and bytes at each level

This table shows what the programs of `tests/bench/codegen/` cost on one tile: cycles of the whole
run, and bytes of code. `tests/bench/codegen/table.py` writes it, and
`tests/claims/counted_loops.py` compares the counted loops with their bound.

| program | what it does | cycles -O0 | -O1 | -O2 | bytes -O0 | -O1 | -O2 |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def measure(source, level, folder, actions=("--run",)):
    """Statistics of a run, bytes of code, and what the program left in `done`."""
    image = folder / "p.bin"
    harness.compile(source, image, level)
    listing = harness.cslc(source, level, "--emit=asm").out
    ran = harness.emu(image, *actions, f"--stats={folder}/s.json", "--print=done")
    size = int(re.search(r"^; code 0x[0-9a-f]+, (\d+) bytes", listing, re.M).group(1))
    return harness.stats(folder / "s.json"), size, harness.values(ran.out, "done")


def row(source, folder):
    found = [measure(source, level, folder) for level in LEVELS]
    assert found[0][2] == found[1][2] == found[2][2], f"{source}: the levels disagree"
    purpose = source.read_text().split("\n", 1)[0].removeprefix("// ").rstrip(".")
    cells = [str(stats["cycles"]) for stats, _, _ in found] + [str(size) for _, size, _ in found]
    return f"| `{source.stem}` | {purpose} | {' | '.join(cells)} |\n"


def table():
    with tempfile.TemporaryDirectory() as folder:
        return HEAD + "".join(row(s, Path(folder)) for s in sorted(FOLDER.glob("*.csl")))


def turn_cost(source, level, few=100, many=400):
    """Instructions a turn of the loop that takes `n` turns."""
    with tempfile.TemporaryDirectory() as folder:
        counts = [measure(source, level, Path(folder), (f"--h2d=n={n}", "--run"))[0]["instructions"]
                  for n in (few, many)]
    return (counts[1] - counts[0]) / (many - few)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    text = table()
    if not parser.parse_args().check:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE} is not what the programs cost now")


if __name__ == "__main__":
    main()
