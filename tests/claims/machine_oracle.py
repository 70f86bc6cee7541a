#!/usr/bin/python3
"""Random programs of the machine end as an independent model says, on both engines.

    machine_oracle.py [N [M]]

N sequences of instructions of one tile (20,000), against a model written from docs/isa.md; M programs
of small fabrics on each machine (20,000), against a model of the fabric without time, on both engines,
with 1 to 3 threads, with and without events; and a tenth of M wild programs, whose ends are judged
from the state that the emulator shows: whether nothing can move, and whether the verdict follows.
Seeds follow from the commit.  Each of the seeded defects of tests/machine/defects.py is found.

Short form: test_machine_oracle.py::test_fabric_programs_end_as_the_model_says.
"""
import functools
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ProcessPoolExecutor

from claims import Claims, harness
from machine import oracle
from machine.defects import DEFECTS, build
from machine.fabric import Fabric
from machine.sequences import Sequence
from machine.verdict import Wild

PART, DEFECT_PROGRAMS, PROMISED_DEFECTS, WORKERS = 500, 1500, 10, 2


def first_seed():
    """From the commit's hash, so that each commit tries other programs."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=harness.ROOT, capture_output=True,
                          text=True)
    return zlib.crc32(done.stdout.encode()) % 10 ** 7 * 100


def check_all(make, first, count):
    """The Tally of `count` programs, in parts, by some processes."""
    parts = [range(at, min(at + PART, first + count)) for at in range(first, first + count, PART)]
    whole = oracle.Tally()
    with ProcessPoolExecutor(WORKERS) as pool:
        for tally in pool.map(functools.partial(oracle.check, make), parts):
            whole.programs += tally.programs
            whole.undecided += tally.undecided
            whole.differences += tally.differences
            whole.outcomes += tally.outcomes
    return whole


def report(claims, what, tally, count):
    claims.equals(f"{what}: programs", tally.programs, count)
    claims.equals("  that differ", len(tally.differences), 0)
    for seed, sentences in tally.differences[:5]:
        print(f"    seed {seed}: " + "\n      ".join(sentences[:5]))
    claims.at_most("  that the model cannot judge", tally.undecided, count // 10 + 1)
    print("  ends: " + ", ".join(f"{name} {n}" for name, n in tally.outcomes.most_common()))


def find_defects(claims, first):
    found = 0
    for defect in DEFECTS:
        with tempfile.TemporaryDirectory() as folder:
            tally = oracle.check(defect.programs, range(first, first + DEFECT_PROGRAMS),
                                 build(defect, folder), enough=1)
        found += bool(tally.differences)
        claims.at_least(f"defect '{defect.name}': programs of {tally.programs} that show it",
                        len(tally.differences), 1)
    claims.at_least("seeded defects found", found, PROMISED_DEFECTS)


def main():
    claims = Claims()
    sequences, fabrics = (int(n) for n in (sys.argv[1:3] + ["20000", "20000"][len(sys.argv) - 1:]))
    first = first_seed()
    print(f"seeds from {first}")
    report(claims, "sequences of instructions", check_all(Sequence, first, sequences), sequences)
    for arch in ("wse2", "wse3"):
        tally = check_all(functools.partial(Fabric, arch=arch), first, fabrics)
        report(claims, f"programs of fabrics, {arch}", tally, fabrics)
        claims.at_least("  of them complete", tally.outcomes["done"], fabrics // 10)
        claims.at_least("  of them stuck", tally.outcomes["stuck"], fabrics // 10)
    report(claims, "wild programs", check_all(Wild, first, fabrics // 10), fabrics // 10)
    find_defects(claims, first)
    claims.finish()


if __name__ == "__main__":
    main()
