#!/usr/bin/python3
"""The floor plan in figures: what the two engines share as text, circles of files, code in headers,
files per folder, fields of the largest struct, functions with a name of one word.

    floor_plan.py [DIR] [--list]      DIR: another checkout to measure; --list: names behind figures

Before the rooms, commit 35dd493 had: 111 functions of the same name in both engines and 66 of them
alike, a circle of 27 files, 3,216 lines of code in the fast engine's headers, 279 names of one
word.

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import argparse
import difflib
import re
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import c_text  # noqa: E402
from claims import Checks  # noqa: E402

LAYERS = ("frontend", "ir", "emu")
SUFFIXES = {".c", ".h", ".l", ".y"}
ENGINES = {"reference": ("emu/reference/*.[ch]", "emu/engine_ref*.[ch]"),
           "fast": ("emu/fast/*.[ch]", "emu/engine_fast*.[ch]")}
PREFIX = re.compile(r"^(ref|reference|fast)_")     # ref_run and fast_run are one name
ALIKE = 0.7

MOST_SAME_NAME, MOST_ALIKE = 15, 5
MOST_IN_CIRCLE = {"frontend/sema": 12}             # the language is recursive
MOST_IN_OTHER_CIRCLE = 2
MOST_HEADER_LINES = 300
MOST_SOURCES = 30
MOST_FIELDS = 50
MOST_ONE_WORD = 40


class Tree:
    def __init__(self, root):
        self.root = root
        self.texts = {p.relative_to(root): p.read_text() for layer in LAYERS
                      for p in sorted((root / layer).rglob("*")) if p.suffix in SUFFIXES}

    def folders(self):
        found = defaultdict(dict)
        for path, text in self.texts.items():
            found[str(path.parent)][path] = text
        return found

    def engine(self, name):
        """Name without the engine's prefix -> functions."""
        found = defaultdict(list)
        for pattern in ENGINES[name]:
            for path in sorted(self.root.glob(pattern)):
                for function in c_text.functions(path.read_text()):
                    found[PREFIX.sub("", function.name)].append(function)
        return found


def likeness(a, b):
    """The part of the tokens that two functions share, parameters included."""
    left, right = (c_text.tokens(f.parameters + f.body) for f in (a, b))
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()


def measure_engines(tree, checks, shown):
    reference, fast = tree.engine("reference"), tree.engine("fast")
    checks.at_least("functions of the smaller engine", min(len(reference), len(fast)), 50)
    same = sorted(set(reference) & set(fast))
    alike = [name for name in same
             if any(likeness(a, b) >= ALIKE for a in reference[name] for b in fast[name])]
    shown("same name", same)
    shown("alike", alike)
    checks.at_most("functions of the same name in both engines", len(same), MOST_SAME_NAME)
    checks.at_most("of these at least 70 % the same tokens", len(alike), MOST_ALIKE)


def measure_circles(tree, checks, shown):
    for folder, sources in sorted(tree.folders().items()):
        code = {p: t for p, t in sources.items() if p.suffix == ".c"}
        if not code:
            continue
        circle = c_text.largest_circle(list(code), c_text.calls(code))
        bound = MOST_IN_CIRCLE.get(folder, MOST_IN_OTHER_CIRCLE)
        shown(f"circle of {folder}", [p.name for p in circle] if len(circle) > 1 else [])
        checks.at_most(f"{folder}: files in the largest circle of calls", len(circle), bound)
    included = c_text.largest_circle(list(tree.texts), c_text.includes(tree.texts))
    checks.at_most("files in the largest circle of includes", len(included), 1)


def measure_headers(tree, checks):
    fast = sum(c_text.code_lines(p.read_text()) for pattern in ENGINES["fast"]
               for p in tree.root.glob(pattern) if p.suffix == ".h")
    checks.at_most("lines of code in the fast engine's headers", fast, MOST_HEADER_LINES)
    bodies = sum(f.body.count("\n") + 1 for p, text in tree.texts.items() if p.suffix == ".h"
                 and p.parts[0] == "emu" for f in c_text.functions(text))
    checks.at_most("lines of functions in all headers of emu", bodies, MOST_HEADER_LINES)


def measure_folders(tree, checks):
    for folder, sources in sorted(tree.folders().items()):
        checks.at_most(f"{folder}: sources", len(sources), MOST_SOURCES)


def measure_structs(tree, checks, shown):
    fields = sorted(((n, name, path.name) for path, text in tree.texts.items()
                     for name, n in c_text.struct_fields(text)), reverse=True)
    shown("largest structs", [f"{name} {n} ({file})" for n, name, file in fields[:8]])
    checks.at_most(f"fields of the largest struct ({fields[0][1]})", fields[0][0], MOST_FIELDS)


def measure_names(tree, checks, shown):
    count = 0
    for layer in LAYERS:
        names = {f.name for path, text in tree.texts.items() if path.parts[0] == layer
                 for f in c_text.functions(text) if "_" not in f.name} - {"main"}
        shown(f"one word in {layer}", sorted(names))
        count += len(names)
    checks.at_most("functions whose name is one word", count, MOST_ONE_WORD)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    checks, tree = Checks(), Tree(options.dir.resolve())

    def shown(what, names):
        if options.list and names:
            print(f"  {what}: {', '.join(names)}")

    measure_engines(tree, checks, shown)
    measure_circles(tree, checks, shown)
    measure_headers(tree, checks)
    measure_folders(tree, checks)
    measure_structs(tree, checks, shown)
    measure_names(tree, checks, shown)
    checks.finish()


if __name__ == "__main__":
    main()
