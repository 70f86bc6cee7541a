"""The shape of the tree: the includes that a layer may have, size limits, and that every table row
is tested."""
import re

import pytest

import harness

# Folder: the prefixes of what its files may include (a name without '/' is its own folder's).
# The first matching row decides.
LAYERS = {
    "ir/base/": ("ir/base/",),
    "ir/machine/": ("ir/base/", "ir/machine/"),
    "ir/": ("ir/",),
    "frontend/": ("ir/", "frontend/"),
    "emu/": ("ir/base/", "ir/machine/", "emu/"),
}
OURS = {".c", ".h", ".l", ".y", ".def"}
MAX_LINES, MAX_COLUMNS = 1500, 100

SOURCES = sorted(p for folder in ("ir", "frontend", "emu") for p in (harness.ROOT / folder).rglob("*")
                 if p.suffix in OURS)


def name_of(path):
    return str(path.relative_to(harness.ROOT))


def included(text):
    return re.findall(r'^\s*#\s*(?:include|define DIAG_DEF)\s+"([^"]+)"', text, re.M)


def layer_violations(name, text):
    allowed = next(v for k, v in LAYERS.items() if name.startswith(k))
    return [i for i in included(text) if "/" in i and not i.startswith(allowed)]


def test_layers_hold():
    assert SOURCES
    bad = [f"{name_of(p)} includes {i}" for p in SOURCES
           for i in layer_violations(name_of(p), p.read_text())]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name,include", [
    ("emu/tile/mem.c", "frontend/driver/driver.h"), ("emu/tile/mem.c", "ir/ir.h"), ("ir/print.c", "emu/tile/tile.h"),
    ("frontend/layout/layout.c", "emu/machine/timing.def"), ("ir/machine/encode.c", "ir/ir.h"),
    ("ir/base/arena.c", "ir/machine/machine.h"),
    ("ir/opt/pass_dce.c", "frontend/syntax/syntax.h")])
def test_a_violation_would_be_seen(name, include):
    assert layer_violations(name, f'#include "{include}"\n') == [include]


def test_files_and_lines_keep_their_size():
    bad = []
    for path in SOURCES:
        lines = path.read_text().splitlines()
        if len(lines) > MAX_LINES:
            bad.append(f"{name_of(path)}: {len(lines)} lines")
        if path.suffix != ".def":      # a row stays a row
            bad += [f"{name_of(path)}:{n}: {len(line)} columns"
                    for n, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS]
    assert not bad, "\n".join(bad)


# ---- every row is named by a test ---------------------------------------------------------------

# Table, row macro, and how a test names a row of it.
TABLES = [
    ("frontend/diag.def", r"DIAG\d", "{}"),
    ("emu/host/diag.def", r"DIAG\d", "{}"),
    ("ir/diag.def", r"DIAG\d", "{}"),
    ("ir/machine/diag.def", r"DIAG\d", "{}"),
    ("frontend/builtins.def", r"BUILTIN\w*", "@{}"),
    ("frontend/dsd_ops.def", r"DSD_OP\w*", "@{}"),
    ("ir/ops.def", r"IR_OP", "{}"),
    ("ir/machine/isa.def", r"INSN", "{}"),
]
TABLES = [row for row in TABLES if (harness.ROOT / row[0]).exists()]
# Rows that no test names yet: `table row` a line.  A row that is named must leave the list.
EXCEPTIONS = harness.ROOT / "tests" / "unnamed_rows.txt"


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def rows_of(text, macro):
    """The row names of a table text: the first argument, a diagnostic's second."""
    skip = r"\w+\s*,\s*" if macro.startswith("DIAG") else ""
    return re.findall(rf"^\s*(?:{macro})\(\s*{skip}@?(\w+)", without_comments(text), re.M)


def text_of_tests():
    here = harness.ROOT / "tests"
    files = [p for p in here.rglob("*") if p.suffix in (".c", ".py", ".csl", ".ir", ".golden")
             and p.name != "test_layers.py"]
    return "\n".join(p.read_text(errors="replace") for p in files)


def unnamed_rows():
    words = set(re.findall(r"@?\w+", text_of_tests()))
    words |= {w.lstrip("@") for w in words}
    unnamed = []
    for table, macro, form in TABLES:
        rows = rows_of((harness.ROOT / table).read_text(), macro)
        assert rows, f"{table} has no {macro} row"
        unnamed += [f"{table} {row}" for row in rows if form.format(row) not in words]
    return unnamed


def test_every_row_is_named_by_a_test():
    allowed = EXCEPTIONS.read_text().split("\n") if EXCEPTIONS.exists() else []
    allowed = {line for line in allowed if line and not line.startswith("#")}
    unnamed = set(unnamed_rows())
    missing, stale = sorted(unnamed - allowed), sorted(allowed - unnamed)
    assert not missing, "no test names these rows:\n" + "\n".join(missing)
    assert not stale, f"take these out of {EXCEPTIONS.name}:\n" + "\n".join(stale)


def test_rows_are_found():
    table = '/* DIAG0(ERROR, no, "") */\nDIAG2(ERROR, bad_pair,\n "{} {}", int, a, int, b)\n'
    assert rows_of(table, r"DIAG\d") == ["bad_pair"]
    assert rows_of("IR_OP(add, INT2)\nIR_OP( sub, INT2)\n", "IR_OP") == ["add", "sub"]


@pytest.mark.parametrize("table", [t for t, macro, _ in TABLES if macro.startswith("DIAG")])
def test_templates_have_one_brace_pair_a_parameter(table):
    text = re.sub(r"^ ?/\*.*?\*/", " ", (harness.ROOT / table).read_text(), flags=re.S | re.M)
    rows = re.findall(r'^DIAG(\d)\(\w+,\s*(\w+),\s*((?:"(?:\\.|[^"\\])*"\s*)+)', text, re.M)
    assert rows
    bad = [name for n, name, template in rows if template.count("{}") != int(n)]
    assert not bad


def test_every_builtin_says_how_it_is_written():
    folder = harness.ROOT / "frontend"
    for table, macro in (("builtins.def", "BUILTIN"), ("builtin_usage.def", "USAGE")):
        assert rows_of((folder / table).read_text(), macro)
    builtins = rows_of((folder / "builtins.def").read_text(), "BUILTIN")
    usages = rows_of((folder / "builtin_usage.def").read_text(), "USAGE")
    assert sorted(builtins) == sorted(usages)
