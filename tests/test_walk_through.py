"""docs/walk-through.md names functions that exist in the files it names."""
import re

import pytest

import harness

PAGE = harness.ROOT / "docs" / "walk-through.md"
ROW = re.compile(r"^\|([^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
PATH = re.compile(r"`((?:docs|emu|frontend|ir|samples|stdlib|tests)/[\w./-]+)`")


def rows(text):
    """(functions, file) of each row of the page's tables of steps."""
    found = []
    for step, functions, file in ROW.findall(text):
        if step.strip() not in ("step", "---"):
            found.append((NAME.findall(functions), NAME.findall(file)))
    return found


def defines(source, name):
    """The text of a C file defines the function: its header begins a line and a body follows."""
    head = re.search(rf"^\w[\w \*]*\b{name}\([^;{{]*\)\s*{{", source, re.MULTILINE)
    return head is not None


def wrong_names(text):
    wrong = []
    for functions, files in rows(text):
        if not functions or len(files) != 1 or not (harness.ROOT / files[0]).is_file():
            wrong.append(f"no such row: {functions} in {files}")
            continue
        source = (harness.ROOT / files[0]).read_text()
        wrong += [f"{files[0]} does not define {name}" for name in functions
                  if not defines(source, name)]
    wrong += [f"no file {path}" for path in PATH.findall(text)
              if not (harness.ROOT / path).exists()]
    return wrong


def test_each_function_is_in_its_file():
    text = PAGE.read_text()
    assert len(rows(text)) > 50
    assert wrong_names(text) == []


@pytest.mark.parametrize("row", [
    "| runs | `no_such_function` | `ir/print.c` |",
    "| runs | `ir_optimise` | `frontend/driver/driver.c` |",    # only called there
    "| runs | `ir_print` | `ir/no_such_file.c` |",
    "| runs | ir_print | `ir/print.c` |",
    "`ir/no_such_file.c`",
])
def test_a_wrong_row_is_found(row):
    assert wrong_names(row + "\n")
