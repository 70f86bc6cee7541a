"""One-token mutants of our own programs: what the compiler reports for a program with one damaged
place.

Used by tests/test_mutants.py and the claim tests/claims/mutants.py."""
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import golden_file
import harness

WAYS = ("delete", "duplicate", "replace", "swap")
SECONDS = 20
CONTEXT = ("called_here", "instantiated_here", "imported_here", "imported_with", "in_tile")
TOKEN = re.compile(r"(\d+):(\d+) (.*)")
WITH_TEXT = ("name ", "builtin ", "string ", "integer ", "float ", "character ")


@dataclass(frozen=True)
class Token:
    line: int
    column: int       # of bytes, from 1
    text: str


@dataclass
class Program:
    """Something that compiles: cslc's arguments in a folder, and the files that may be damaged."""
    folder: Path
    args: list
    files: list
    tokens: dict = field(default_factory=dict)     # by file


@dataclass
class Mutant:
    program: Program
    file: Path
    way: str
    line: int
    shown: str        # what was done
    code: int = 0
    found: list = field(default_factory=list)      # the diagnostics

    @property
    def first_error(self):
        """The first error and its notes, without those that say how the compiler came there."""
        head = next(i for i, d in enumerate(self.found) if d["severity"] == "error")
        tail = head + 1
        while tail < len(self.found) and self.found[tail]["severity"] == "note":
            tail += 1
        return [d for d in self.found[head:tail] if d["id"] not in CONTEXT]

    @property
    def is_near(self):
        """Does the first error, or a note of it, stand within a line of the change?"""
        return any(d["file"] and Path(d["file"]).name == self.file.name
                   and abs(d["line"] - self.line) <= 1 for d in self.first_error)

    @property
    def is_bare(self):
        """Is all that is said which token was expected?"""
        return len(self.first_error) == 1 and self.first_error[0]["id"] == "unexpected_token"


def tokens_of(path):
    found = []
    for row in harness.cslc("--emit=tokens", path).out.splitlines():
        line, column, rest = TOKEN.match(row).groups()
        if rest != "end of file":
            text = next((rest[len(w):] for w in WITH_TEXT if rest.startswith(w)), rest.strip("'"))
            found.append(Token(int(line), int(column), text))
    return found


def samples():
    """The compile command of each sample's README; samples without programs have none."""
    for readme in sorted(harness.SAMPLES.glob("*/README.md")):
        text = readme.read_text().replace("\\\n", " ")
        command = re.search(r"^cslc (samples/\S+/)(\S+)(.*)$", text, re.M)
        if command is None and not list(readme.parent.rglob("*.csl")):
            continue
        folder = harness.ROOT / command.group(1)
        args = [a for a in shlex.split(command.group(3)) if not a.endswith(".bin") and a != "-o"]
        yield Program(folder, [command.group(2), *args], sorted(folder.glob("*.csl")))


def golden_tests():
    """The tests of one file that compile without an error."""
    for path in sorted(p for folder in ("golden", "lang") for p in
                       (harness.ROOT / "tests" / folder).rglob("*.csl")):
        text = path.read_text(errors="surrogateescape")
        if golden_file.leader_of(text) is None or golden_file.is_helper(text):
            continue
        test = golden_file.read(path)
        if test.kind != "parse" and not test.expected:
            yield Program(path.parent, [path.name, *test.cslc_flags], [path])


def all_programs():
    programs = [*samples(), *golden_tests()]
    for p in programs:
        p.tokens = {f: tokens_of(f) for f in p.files}
    return programs


def mutate(text, tokens, way, chosen):
    """(text, line changed, what was done); None if this way leaves the tokens as they are."""
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    k = chosen.randrange(len(tokens))
    token = tokens[k]
    raw = token.text.encode("utf-8", "surrogateescape")
    at = starts[token.line - 1] + token.column - 1
    if text[at:at + len(raw)] != raw:
        return None               # a token that is not printed as it was written
    head, tail = text[:at], text[at + len(raw):]
    if way == "delete":
        return head + tail, token.line, f"'{token.text}' deleted"
    if way == "duplicate":
        return head + raw + b" " + raw + tail, token.line, f"'{token.text}' doubled"
    if way == "replace":
        other = chosen.choice(tokens)
        if other.text == token.text:
            return None
        new = other.text.encode("utf-8", "surrogateescape")
        return head + b" " + new + b" " + tail, token.line, f"'{token.text}' became '{other.text}'"
    if k + 1 == len(tokens) or tokens[k + 1].text == token.text or \
            tokens[k + 1].line != token.line:
        return None
    after = tokens[k + 1].text.encode("utf-8", "surrogateescape")
    gap = tokens[k + 1].column - token.column - len(raw)
    if gap < 0 or tail[gap:gap + len(after)] != after:
        return None
    return (head + after + b" " + raw + tail[gap + len(after):], token.line,
            f"'{token.text}' and '{tokens[k + 1].text}' swapped")


class Mutator:
    """Makes and compiles mutants in a scratch folder."""

    def __init__(self, scratch, chosen):
        self.scratch, self.chosen = Path(scratch), chosen
        self.programs = all_programs()
        self.places = [(p, f) for p in self.programs for f in p.files if p.tokens[f]]
        self.weights = [min(len(p.tokens[f]), 600) for p, f in self.places]
        self.copies = {}

    def _copy(self, program):
        if program.folder not in self.copies:
            copy = self.scratch / str(len(self.copies))
            shutil.copytree(program.folder, copy)
            self.copies[program.folder] = copy
        return self.copies[program.folder]

    def next(self):
        """Some mutant, compiled."""
        while True:
            program, file = self.chosen.choices(self.places, self.weights)[0]
            way = self.chosen.choice(WAYS)
            made = mutate(file.read_bytes(), program.tokens[file], way, self.chosen)
            if made:
                break
        text, line, shown = made
        mutant = Mutant(program, file, way, line, shown)
        copy = self._copy(program)
        damaged = copy / file.relative_to(program.folder)
        damaged.write_bytes(text)
        try:
            ran = harness.cslc("--diag-format=json", *program.args, "-o",
                               self.scratch / "mutant.bin", cwd=copy, expect=None, timeout=SECONDS)
        except AssertionError as failed:     # a crash or a hang: the caller wants to see the text
            failed.args = (f"{failed.args[0]}\nin {file}:{line}: {shown}",)
            raise
        finally:
            damaged.write_bytes(file.read_bytes())
        mutant.code = ran.code
        mutant.found = harness.diagnostics(ran.err)
        assert ran.code in (0, 1), f"exit code {ran.code} in {file}:{line}: {shown}\n{ran.err}"
        if ran.code == 1:
            assert any(d["severity"] == "error" for d in mutant.found), \
                f"exit code 1 without an error in {file}:{line}: {shown}\n{ran.err}"
        return mutant
