"""Tables of docs/cycle-model.md that scripts of this folder write."""
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "cycle-model.md"


def write(name, table):
    """Puts the text between `<!-- calibration NAME -->` and `<!-- end -->`."""
    mark = re.escape(f"<!-- calibration {name} -->\n")
    text, count = re.subn(f"({mark}).*?(<!-- end -->)", lambda m: m[1] + table + m[2],
                          PAGE.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{PAGE}: {count} tables named {name}")
    PAGE.write_text(text)
