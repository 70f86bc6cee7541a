"""The programs of tests/mistakes/: each has one mistake of a kind that used to end in a wrong
result or in a deadlock report without a cause.

The first lines of layout.csl say what is wrong and what happens:

  //# exit: N       the exit code of wse-emu
  //# cslc: ...     options of cslc
  //# emu: ...      options of wse-emu and host actions
  //# error: ...    with these options wse-emu ends with exit code 2; without them it only warns
  //# arch: NAME    only this machine
  //# finds: TEXT   TEXT occurs in the first three lines that wse-emu says
  //# helps: TEXT   TEXT occurs in a line of help

The guilty lines of the program end in `//! guilty`.  One of them is named in the first three
lines, too; no report is longer than 25 lines."""
import re
from dataclasses import dataclass, replace
from pathlib import Path

import harness

FOLDER = harness.ROOT / "tests" / "mistakes"
ENGINES = ("reference", "fast")
FIRST_LINES, MOST_LINES = 3, 25


@dataclass
class Mistake:
    folder: Path
    exit_code: int
    arches: tuple
    cslc: list
    emu: list
    error: list
    finds: list
    helps: list
    guilty: list

    @property
    def name(self):
        return self.folder.name


def guilty_lines(folder):
    return [f"{path.name}:{n}" for path in sorted(folder.glob("*.csl"))
            for n, line in enumerate(path.read_text().splitlines(), 1)
            if line.endswith("//! guilty")]


def read(folder):
    text = (folder / "layout.csl").read_text()
    found = dict(re.findall(r"^//# (exit|arch|cslc|emu|error): (.+)$", text, re.M))
    arches = (found["arch"],) if "arch" in found else ("wse2", "wse3")
    return Mistake(folder, int(found["exit"]), arches, found.get("cslc", "").split(),
                   found.get("emu", "").split(), found.get("error", "").split(),
                   re.findall(r"^//# finds: (.*)$", text, re.M),
                   re.findall(r"^//# helps: (.*)$", text, re.M), guilty_lines(folder))


def all_mistakes():
    return [read(p.parent) for p in sorted(FOLDER.glob("*/layout.csl"))]


def as_error(mistake):
    """The same program with the options that make an error of what it warns of; None: has none."""
    return replace(mistake, emu=mistake.error, exit_code=2) if mistake.error else None


def report(mistake, arch, level, engine, scratch):
    """What wse-emu says of the program; it has to end with the program's exit code."""
    image = Path(scratch) / f"{mistake.name}-{arch}{level}.bin"
    harness.cslc("layout.csl", "--fabric-warnings", f"--arch={arch}", level, *mistake.cslc,
                 "-o", image, cwd=mistake.folder)
    return harness.emu(image, f"--engine={engine}", *mistake.emu, expect=mistake.exit_code).err


def wrong(mistake, text):
    """What the report should have and has not, as a list of texts."""
    lines = text.splitlines()
    first = "\n".join(lines[:FIRST_LINES])
    bad = [f"not in the first lines: {part}" for part in mistake.finds if part not in first]
    help_lines = [line for line in lines if line.lstrip().startswith("help: ")]
    bad += [f"no help: {part}" for part in mistake.helps
            if not any(part in line for line in help_lines)]
    if not any(re.search(re.escape(place) + r"\b", first) for place in mistake.guilty):
        bad.append(f"no guilty line in the first lines: {', '.join(mistake.guilty)}")
    if len(lines) > MOST_LINES:
        bad.append(f"{len(lines)} lines")
    return bad
