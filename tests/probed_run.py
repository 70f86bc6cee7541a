"""Compares a debugger's stops with what a program with probes has written (probed_programs.py)."""
import collections
import re
from dataclasses import dataclass, field

import numpy

import harness
import probed_programs

SHOWN = re.compile(r"\w+ = (\S+)$")


@dataclass
class Outcome:
    """Stops that were compared, the variables that they printed, those that had no certain value
    (and said so), and what was wrong."""
    stops: int = 0
    printed: int = 0
    without: int = 0
    exact: int = 0                # lines with as many stops as hits
    lines: int = 0
    wrong: list = field(default_factory=list)

    def add(self, other):
        for name in ("stops", "printed", "without", "exact", "lines", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def compare(self, name, stops, hits):
        """[{name: value}] of the stops at a line against its hits."""
        if not stops:
            return
        self.lines += 1
        self.stops += len(stops)
        self.exact += len(stops) == len(hits)
        found = probed_programs.first_disagreement(stops, hits)
        if found:
            self.wrong.append(f"{name}: {found}")


def read_stop(outcome, source, line, answers):
    """The values that the answers to `print` show; answers: text by name."""
    values = {}
    for name, kind in source.lines[line]:
        shown = SHOWN.match(answers[name].strip())
        if shown:
            values[name] = probed_programs.read_value(shown[1], kind)
            outcome.printed += 1
        else:
            assert "no place" in answers[name] or "newer value" in answers[name] or \
                "there is no" in answers[name], answers[name]
            outcome.without += 1
    early = source.not_yet.get(line)
    if early and SHOWN.match(answers[early].strip()):
        outcome.wrong.append(f"line {line}: {early} is shown before it is declared")
    return values


def names_at(source, line):
    early = source.not_yet.get(line)
    return [name for name, _ in source.lines[line]] + ([early] if early else [])


def write(folder, layout, code):
    folder.mkdir(exist_ok=True)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(code)


def oracle(folder, maker):
    """(source, hits) of a generated program; None: it computes what does not fit a type, or is too
    large for a tile with probes."""
    source = probed_programs.Source(maker.text(), "pe")
    write(folder / "probed", maker.layout(True), source.exported())
    image = folder / "probed" / "p.bin"
    built = harness.compile(folder / "probed" / "layout.csl", image, "--arch=wse3", "-O0",
                            expect=None)
    if "[ir_too_large]" in built.err or "[comptime_" in built.err:
        return None
    assert built.code == 0, built.err
    harness.emu(image, f"--d2h=probe_log={folder}/log.npy")
    return source, source.hits(numpy.load(folder / "log.npy"))


def commands_of(source, hits, lines):
    """Commands that stop at each of the lines until the end of the run and print all variables; and
    for each stop its line and the number of its `continue`."""
    commands, marks = ["continue"], []
    for line in lines:
        commands += ["delete", "goto 0", f"break pe.csl:{line}"]
        for _ in range(2 * len(hits[line]) + 2):      # optimised code may stop more often
            commands.append("continue")
            marks.append((line, len(commands) - 1))
            commands += [f"print {name}" for name in names_at(source, line)]
    return commands, marks


def check_generated(folder, seed, level, draw, most_lines):
    """One program, compiled at the level, at lines that `draw` (random.Random) chooses."""
    maker, outcome = probed_programs.Maker(seed), Outcome()
    folder.mkdir(exist_ok=True)
    known = oracle(folder, maker)
    if not known:
        return outcome
    source, hits = known
    lines = sorted(draw.sample(sorted(hits), min(most_lines, len(hits))))
    write(folder / "plain", maker.layout(False), maker.text())
    image, script = folder / "plain" / "p.bin", folder / "script"
    harness.compile(folder / "plain" / "layout.csl", image, "--arch=wse3", level)
    commands, marks = commands_of(source, hits, lines)
    script.write_text("\n".join(commands) + "\n")
    ran = harness.run([harness.tool("wse-dbg"), image, "-x", script])
    answers = [text.partition("\n")[2] for text in ran.out.split("(wse-dbg) ")[1:]]
    stops = collections.defaultdict(list)
    for line, at in marks:
        text = answers[at].strip()
        if not text.startswith("breakpoint") or not text.endswith(f"pe.csl:{line}"):
            continue              # the run is over, or the line has no code of its own
        shown = dict(zip(names_at(source, line), answers[at + 1:]))
        stops[line].append(read_stop(outcome, source, line, shown))
    for line in lines:
        outcome.compare(f"seed {seed} {level} line {line}", stops[line], hits[line])
    return outcome
