"""The programs of tests/hazards/: each has one mistake, and a report that it must give.

The first lines of layout.csl say what is wrong and what the report has to name:

  //# exit: N       the exit code of wse-emu
  //# arch: NAME    the machine, if it is not wse2
  //# options: ...  of wse-emu
  //# must: TEXT    TEXT occurs in the report; cycle, tile, color, what met what, and the source
                    lines of both sides are asked for in this way

The whole report is compared with report.txt; tests/update_golden.sh writes it anew.
"""
import re
from dataclasses import dataclass
from pathlib import Path

import harness

FOLDER = harness.ROOT / "tests" / "hazards"
ENGINES = ("reference", "fast")


@dataclass
class Hazard:
    folder: Path
    exit_code: int
    arch: str
    options: list
    must: list

    @property
    def name(self):
        return self.folder.name

    @property
    def golden(self):
        return self.folder / "report.txt"


def read(folder):
    text = (folder / "layout.csl").read_text()
    found = dict(re.findall(r"^//# (exit|arch|options): (.+)$", text, re.M))
    must = re.findall(r"^//# must: (.*)$", text, re.M)
    return Hazard(folder, int(found["exit"]), found.get("arch", "wse2"),
                  found.get("options", "").split(), must)


def all_hazards():
    return [read(p.parent) for p in sorted(FOLDER.glob("*/layout.csl"))]


def report(hazard, engine, scratch):
    """What wse-emu says of the program; it has to end with the program's exit code."""
    image = Path(scratch) / f"{hazard.name}.bin"
    # In the folder, so that no place in the report depends on where the tree lies.
    harness.cslc("layout.csl", f"--arch={hazard.arch}", "--fabric-warnings", "-o", image,
                 cwd=hazard.folder)
    return harness.emu(image, f"--engine={engine}", *hazard.options,
                       expect=hazard.exit_code).err


def missing(hazard, text):
    """What the report has to name and does not."""
    return [part for part in hazard.must if part not in text]
