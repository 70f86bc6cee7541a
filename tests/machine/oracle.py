"""Runs programs on the emulator's driver and compares how they end with what the model says.  A
program has `seed`, `text()`, the statements for the driver, and `differences(end)`: a list of
sentences, or None if the model cannot say."""
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field

import harness

BATCH = 100                     # programs of one process


@dataclass
class Tally:
    programs: int = 0
    undecided: int = 0
    differences: list = field(default_factory=list)     # (seed, sentences)
    outcomes: Counter = field(default_factory=Counter)

    def count(self, program, end, found):
        self.programs += 1
        self.undecided += found is None
        if found:
            self.differences.append((program.seed, found))
        self.outcomes[end["faults"][-1][0] if end["faults"] else end["idle"] or end["status"]] += 1


def driver():
    return harness.tool("machine-driver")


def ends_of(programs, with_driver):
    """How each program has ended, as dictionaries; a text where the driver itself has found a
    difference between two ways to run it."""
    programs = list(programs)
    while programs:
        done = subprocess.run([with_driver], input="".join(p.text() for p in programs), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        ends = [json.loads(line) for line in done.stdout.splitlines()]
        yield from ends
        if done.returncode == 0:
            assert len(ends) == len(programs)
            return
        yield done.stderr[-2000:] or f"the driver ends with {done.returncode}"
        programs = programs[len(ends) + 1:]


def check(make, seeds, with_driver=None, enough=None):
    """The Tally of make(seed) for all seeds; stops when `enough` programs differ."""
    with_driver, tally, seeds = with_driver or driver(), Tally(), list(seeds)
    for at in range(0, len(seeds), BATCH):
        programs = [make(seed) for seed in seeds[at:at + BATCH]]
        for program, end in zip(programs, ends_of(programs, with_driver)):
            if isinstance(end, str):
                tally.programs += 1
                tally.differences.append((program.seed, [end]))
            else:
                tally.count(program, end, program.differences(end))
        if enough and len(tally.differences) >= enough:
            break
    return tally
