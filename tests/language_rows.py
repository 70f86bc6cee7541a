"""Reads docs/language.md: the tables of constructs and builtins, and which test runs each row."""
import re
from dataclasses import dataclass
from pathlib import Path

import harness

PAGE = harness.ROOT / "docs" / "language.md"
TESTS = harness.ROOT / "tests"
STATES = ("yes", "yes (wse2)", "yes (wse3)", "later")
RELEASES = ("1.x", "2.10", "ours")


@dataclass
class Row:
    line: int
    what: str
    state: str          # yes, later or refused
    reason: str         # of a refused row
    arch: str           # wse2, wse3, or empty: both
    test: str           # path under tests/, perhaps with ::function; empty: none
    release: str        # one of RELEASES

    @property
    def builtin(self):
        """The name of a builtin's row without '@', else None."""
        match = re.match(r"`@(\w+)", self.what)
        return match and match[1]


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows(text=None):
    found = []
    for number, line in enumerate((text or PAGE.read_text()).splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| ---"):
            continue
        cells = cells_of(line)
        if cells[1] == "state":
            continue
        assert len(cells) == 4, f"line {number}: {len(cells)} cells"
        state, _, reason = cells[1].partition(": ")
        arch = re.search(r"\((wse[23])\)", state)
        assert state in STATES or (state == "refused" and reason), f"line {number}: '{cells[1]}'"
        assert cells[3] in RELEASES, f"line {number}: '{cells[3]}'"
        found.append(Row(number, cells[0], state.split(" ")[0], reason, arch[1] if arch else "",
                         cells[2].strip("`"), cells[3]))
    return found


def function_text(path, name):
    """The text of a Python function and its decorators; None if the file has none of the name."""
    match = re.search(rf"^def {name}\(.*?(?=^(?:def|@|class|\w+ = )|\Z)", path.read_text(),
                      re.M | re.S)
    return match and match[0]


def runs(path):
    """Does this CSL file run on the emulator in the suite, at each level on both architectures?"""
    text = path.read_text()
    return path.is_relative_to(TESTS / "lang") and text.startswith("//# lang")


def test_text(test):
    """What a row's test says, or None if there is no such test that runs."""
    name, _, function = test.partition("::")
    path = TESTS / name
    if not path.is_file():
        return None
    if path.suffix == ".csl":
        return path.read_text() if runs(path) else None
    return function_text(path, function) if function else None


def builtins():
    """The builtins the compiler knows: {name: its row's other cells}."""
    found = {}
    for table, macro in (("builtins.def", "BUILTIN"), ("dsd_ops.def", "DSD_OP")):
        text = (harness.ROOT / "frontend" / table).read_text()
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for name, rest in re.findall(rf"^{macro}\((\w+),(.*)\)$", text, re.M):
            found[name] = [cell.strip() for cell in rest.split(",")]
    return found


def path_of(test):
    return Path(test.partition("::")[0])
