#!/usr/bin/python3
"""csl-ls renames and keeps the vendor's programs: after random renames in each program, each of the
202 scripts of two releases compiles to the same code, data, routes, tiles and exported names.

CONFORMANCE_DIRS names checkouts of github.com/Cerebras/sdk-examples and
github.com/Cerebras/csl-examples, separated by colons.  RENAMES (3) says how many declarations of
each kind are renamed per program; the commit or SEED choose them.  Assembly, memory map and layout
are compared with the old names put back, and the sections of the image that hold neither names nor
places.  The scripts of SdkLayout compile inside of Python: their runs must pass with the same
cycles.

Short form: test_language_server.py::test_random_renames_keep_a_sample.
"""
import os
import random
import re
import shutil
import string
from collections import Counter

import compiled
import examples
from claims import Claims, commit_seed
from language_client import Client, apply, path_of

NO_CODE = re.compile(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"")
STRUCT = re.compile(r"\bstruct\s*\{[^{}]*\}")
HEADER = re.compile(r"\b(?:fn|task)\s+\w+\s*\([^)]*\)")
KINDS = {
    "constant": re.compile(r"^(?:export\s+)?const\s+(\w+)", re.MULTILINE),
    "variable": re.compile(r"^(?:export\s+)?var\s+(\w+)", re.MULTILINE),
    "param": re.compile(r"^(?:param|color)\s+(\w+)", re.MULTILINE),
    "function": re.compile(r"^(?:export\s+|inline\s+)*fn\s+(\w+)", re.MULTILINE),
    "task": re.compile(r"^(?:export\s+)?task\s+(\w+)", re.MULTILINE),
    "local": re.compile(r"^[ \t]+(?:const|var)\s+(\w+)", re.MULTILINE),
    "capture": re.compile(r"(?:\)\s*|=\s*)\|\s*(\w+)"),
    "argument": re.compile(r"(\w+)\s*:(?=[^:])"),
    "field": re.compile(r"(\w+)\s*:"),
}
INSIDE = {"argument": HEADER, "field": STRUCT}


def declarations(text):
    """The places of the names that a text declares, by kind."""
    code = NO_CODE.sub(lambda m: " " * len(m[0]), text)
    found = {}
    for kind, pattern in KINDS.items():
        spans = [m.span() for m in INSIDE[kind].finditer(code)] if kind in INSIDE else [
            (0, len(code))]
        found[kind] = [m.start(1) for start, end in spans
                       for m in pattern.finditer(code, start, end)]
    return found


def rename_at_random(folder, choice, number):
    """So many declarations of each kind, in all files of the folder."""
    with Client() as client:
        renaming = Renaming(client, sorted(folder.rglob("*.csl")), choice)
        for kind in KINDS:
            renaming.rename_some(kind, number)
    return renaming


class Renaming:
    """Random renames in the copy of a program, which one session of the server has open."""

    def __init__(self, client, files, choice):
        self.client, self.choice = client, choice
        self.docs = {path: client.open(path) for path in files}
        self.old_names = {}                    # by new name
        self.done, self.refused = Counter(), Counter()

    def fresh_name(self):
        while True:
            name = "".join(self.choice.choices(string.ascii_letters + "_",
                                               k=self.choice.randrange(4, 20)))
            if not any(re.search(rf"\b{name}\b", doc.text) for doc in self.docs.values()):
                return name

    def rename_some(self, kind, number):
        for _ in range(number):
            places = [(doc, at) for doc in self.docs.values()
                      for at in declarations(doc.text)[kind]]
            places = [(doc, at) for doc, at in places
                      if re.match(r"\w+", doc.text[at:])[0] not in self.old_names]
            if places:
                self.rename(kind, *self.choice.choice(places))

    def rename(self, kind, doc, at):
        old, new = re.match(r"\w+", doc.text[at:])[0], self.fresh_name()
        answer = self.client.request_raw("textDocument/rename", {
            "textDocument": {"uri": doc.uri}, "newName": new,
            "position": self.client.position(doc.text, at)})
        why = answer["error"]["message"] if "error" in answer else None
        if not why and not answer["result"]:
            why = "no answer"
        if why:
            print(f"  refused: {kind} {old} of {doc.path.name}: {why}")
            self.refused[kind] += 1
            return
        self.old_names[new] = old
        self.done[kind] += 1
        for uri, edits in answer["result"]["changes"].items():
            self.edit(path_of(uri), edits)

    def edit(self, path, edits):
        doc = self.docs[path]
        self.client.change(doc, apply(doc.text, edits))
        path.write_text(doc.text)


def copied(folder, to):
    """A copy of a program and of the folders beside it that it imports from."""
    texts = "".join(path.read_text() for path in folder.rglob("*.csl"))
    for beside in folder.parent.iterdir():
        if beside == folder or f"../{beside.name}/" in texts:
            shutil.copytree(beside, to / beside.name)
    return to / folder.name


def runs_the_same(claims, folder, copy, scripts):
    before = compiled.runs(claims, folder)
    return (len(before) == len(scripts) and all(outcome == "passed" for _, outcome, _ in before)
            and before == compiled.runs(claims, copy))


def is_same(folder, copy, words, scratch, old_names):
    before = compiled.program(folder, words, scratch, {})
    try:
        return before == compiled.program(copy, words, scratch, old_names)
    except AssertionError as error:
        print(error)
        return False


def check_program(claims, folder, choice):
    """The renames, the number of scripts, and whether they make the same programs as before."""
    scripts = sorted(folder.glob("commands*.sh"))
    calls = [words for script in scripts for words in examples.commands(script)]
    scratch = claims.scratch / "copy"
    shutil.rmtree(scratch, ignore_errors=True)
    copy = copied(folder, scratch)
    renaming = rename_at_random(scratch, choice, int(os.environ.get("RENAMES", "3")))
    same = (all(is_same(folder, copy, words, claims.scratch, renaming.old_names)
                for words in calls)
            if calls else runs_the_same(claims, folder, copy, scripts))
    print(f"{folder}: {renaming.done.total()} renamed")
    if not same:
        print(f"  another program: {renaming.old_names}")
    return renaming, len(scripts), same


def main():
    roots = [folder.resolve() for folder in examples.checkouts()]
    claims = Claims()
    choice = random.Random(commit_seed())
    folders = sorted({s.parent for root in roots for s in root.rglob("commands*.sh")})
    done, refused, scripts, wrong = Counter(), Counter(), 0, 0
    for folder in folders:
        renaming, number, same = check_program(claims, folder, choice)
        done, refused = done + renaming.done, refused + renaming.refused
        scripts, wrong = scripts + number, wrong + (not same)
    for kind in KINDS:
        print(f"{kind}: {done[kind]} renamed, {refused[kind]} refused")
    asked = done.total() + refused.total()
    claims.at_least("scripts of the programs", scripts, 202)
    claims.equals("programs that change", wrong, 0)
    claims.at_least(f"renames carried out, of {asked}", 100 * done.total() / asked, 80, "%")
    claims.finish()


if __name__ == "__main__":
    main()
