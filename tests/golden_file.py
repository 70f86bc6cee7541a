"""Directive tests: what a file under tests/golden says about itself.

First line: `//# run: KIND [flags]`.  KIND is a row of KINDS below; flags go to cslc, those after
` -- ` to wse-emu.  A file that only serves others says `//# helper` instead.

  //# exit: N          the exit code of the last program (default: 1 if errors are expected, else 0)
  //# stderr: TEXT     TEXT occurs in what the last program writes to stderr
  //~ SEVERITY ID: TEXT   on the offending line; //~^ for the line above, //~^^ two above; //~0 for
                       a diagnostic without a place.  `: TEXT` may be left out, else it occurs in
                       the message.  Severities: error, warning, note.
  //# expect           the lines that follow, without their leading `// `, are the exact stdout

Longer stdout goes to NAME.golden beside NAME.csl; tests/update_golden.sh rewrites both kinds.
An error or warning that the file does not expect fails; so do notes in a file that expects one.
The comment leader may be any (`;#`, `;~` in IR text): the first line shows which.
"""
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

# KIND: cslc flags, whether the image is run, whether stdout must be expected by the file
KINDS = {
    "parse": (["--emit=ast"], False, False),
    "sema": (["--emit=ir"], False, False),
    "ir": (["--emit=ir"], False, True),
    "asm": (["--emit=asm"], False, True),
    "layout": (["--emit=layout"], False, True),
    "emu": ([], True, True),
}
SEVERITIES = ("error", "warning", "note")


class BadDirective(Exception):
    pass


@dataclass
class GoldenFile:
    path: Path
    kind: str = ""
    cslc_flags: list = field(default_factory=list)
    emu_flags: list = field(default_factory=list)
    exit_code: int | None = None
    stderr: list = field(default_factory=list)
    expected: list = field(default_factory=list)     # (line, severity, id, text)
    block: str | None = None                         # of //# expect

    @property
    def golden_path(self):
        return self.path.with_suffix(".golden")

    @property
    def wants_exit(self):
        if self.exit_code is not None:
            return self.exit_code
        return 1 if any(e[1] == "error" for e in self.expected) else 0


def leader_of(text):
    """The comment leader of a test, or None when the first line is no directive."""
    match = re.match(r"(\S+?)# (run:|helper\b)", text)
    return match and match.group(1)


def is_helper(text):
    return bool(re.match(r"\S+?# helper\b", text))


def expectations(text, leader="//"):
    """The (line, severity, id, text) that a source text expects of itself."""
    found = []
    mark = re.compile(re.escape(leader) + r"~(0|\^*)\s*(\w*)\s+(\w+)(?::[ \t]*(.*?))?\s*(?="
                      + re.escape(leader) + r"~|$)")
    for number, line in enumerate(text.splitlines(), 1):
        start = line.find(leader + "~")
        if start < 0:
            continue
        if line.count(leader + "~", start) != len(mark.findall(line[start:])):
            raise BadDirective(f"line {number}: cannot read '{line[start:]}'")
        for up, severity, name, said in mark.findall(line[start:]):
            if severity not in SEVERITIES:
                raise BadDirective(f"line {number}: '{severity}' is no severity")
            place = 0 if up == "0" else number - len(up)
            found.append((place, severity, name, said))
    return found


def _apply_directive(test, key, value):
    if key == "run":
        flags, _, emu_flags = (value + " ").partition(" -- ")
        test.kind, *test.cslc_flags = shlex.split(flags)
        test.emu_flags = shlex.split(emu_flags)
        if test.kind not in KINDS:
            raise BadDirective(f"unknown kind '{test.kind}'")
        if test.emu_flags and not KINDS[test.kind][1]:
            raise BadDirective(f"kind '{test.kind}' does not run wse-emu")
    elif key == "exit":
        test.exit_code = int(value)
    elif key == "stderr":
        test.stderr.append(value)
    else:
        raise BadDirective(f"unknown directive '{key}'")


def read(path, text=None):
    """Parses a test; raises BadDirective."""
    test = GoldenFile(Path(path))
    text = Path(path).read_text(errors="surrogateescape") if text is None else text
    leader = leader_of(text)
    if leader is None or is_helper(text):
        raise BadDirective("the first line must be '//# run: KIND [flags]' or '//# helper'")
    head, block_mark, block = text.partition(f"\n{leader}# expect\n")
    for line in head.splitlines():
        match = re.match(re.escape(leader) + r"# (\w+):?\s*(.*?)\s*$", line)
        if match:
            _apply_directive(test, *match.groups())
    if block_mark:
        test.block = block_text(block, leader)
    test.expected = expectations(head, leader)
    return test


def block_text(block, leader):
    lines = []
    for line in block.splitlines():
        if not line.startswith(leader):
            raise BadDirective(f"after '{leader}# expect' every line starts with '{leader}'")
        rest = line[len(leader):]
        lines.append(rest[1:] if rest.startswith(" ") else rest)
    return "".join(line + "\n" for line in lines)


def with_block(text, leader, stdout):
    """The test's text with its expect block replaced."""
    head, mark, _ = text.partition(f"\n{leader}# expect\n")
    lines = [f"{leader} {line}".rstrip() for line in stdout.splitlines()]
    return head + mark + "".join(line + "\n" for line in lines)


def differences(expected, found):
    """What is expected and did not come, what came unexpected; both as printable lists.  found:
    diagnostics as dictionaries with line, severity, id and message."""
    check_notes = any(e[1] == "note" for e in expected)
    left = [d for d in found if d["severity"] != "note" or check_notes]
    missing = []
    for line, severity, name, text in expected:
        match = next((d for d in left if (d["line"], d["severity"], d["id"]) ==
                      (line, severity, name) and text in d["message"]), None)
        if match:
            left.remove(match)
        else:
            missing.append(f"line {line}: expected {severity} {name}: {text}")
    surplus = [f"line {d['line']}: unexpected {d['severity']} {d['id']}: {d['message']}"
               for d in left]
    return missing, surplus
