"""Tables of docs/cycle-model.md that scripts of this folder write."""
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "cycle-model.md"


def place(name):
    """The pattern of a table: what is before it, the table, and what is behind."""
    mark = re.escape(f"<!-- calibration {name} -->\n")
    return re.compile(f"({mark})(.*?)(<!-- end -->)", re.S)


def read(name):
    return place(name).search(PAGE.read_text())[2]


def write(name, table):
    """Puts the text between `<!-- calibration NAME -->` and `<!-- end -->`."""
    text, count = place(name).subn(lambda m: m[1] + table + m[3], PAGE.read_text())
    if count != 1:
        sys.exit(f"{PAGE}: {count} tables named {name}")
    PAGE.write_text(text)
