#!/usr/bin/python3
"""Random DSD operations (vectors.py) against numpy, on both architectures, at every level.

    tests/diff/dsd_check.py [--programs=N] [--seed=N] [--jobs=N] [--show=SEED]
"""
import argparse
import collections
import concurrent.futures
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
from diff import vectors  # noqa: E402

ARCHES = ("wse2", "wse3")
LEVELS = ("-O0", "-O1", "-O2")


@dataclass
class Found:
    programs: int = 0
    operations: collections.Counter = field(default_factory=collections.Counter)
    differences: list = field(default_factory=list)

    def add(self, other):
        self.programs += other.programs
        self.operations += other.operations
        self.differences += other.differences


def differing(program, image, folder):
    """Elements that are not what numpy says: [(array, index, machine, numpy)]."""
    files = {k: folder / f"{image.stem}-{k}.npy" for k in "hsw"}
    harness.emu(image, "--run", *(f"--d2h={k}={path}" for k, path in files.items()))
    wrong = []
    for kind, wanted in program.result().items():
        got = harness.load_npy(files[kind]).reshape(-1).view(wanted.dtype)
        wrong += [(kind, int(i), hex(got[i]), hex(wanted[i]))
                  for i in numpy.flatnonzero(got != wanted)]
        files[kind].unlink()
    return wrong


def check(seed, folder, arches=ARCHES, levels=LEVELS):
    program = vectors.Program(random.Random(seed))
    found = Found(programs=1, operations=collections.Counter(program.counts))
    source, image = Path(folder) / f"v{seed}.csl", Path(folder) / f"v{seed}.bin"
    source.write_text(program.text())
    for arch in arches:
        for level in levels:
            try:
                harness.cslc(source, "-o", image, f"--arch={arch}", level)
                wrong = differing(program, image, Path(folder))
            except AssertionError as failed:
                wrong = str(failed)
            if wrong:
                found.differences.append(f"seed {seed} {arch} {level}: {wrong}")
    source.unlink()
    image.unlink(missing_ok=True)
    return found


def run(programs, seed, jobs=2):
    """The same seed gives the same programs."""
    total = Found()
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for done in pool.map(check, range(seed << 20, (seed << 20) + programs),
                             [folder] * programs, chunksize=4):
            total.add(done)
    return total


def missing(found):
    """Operations of frontend/dsd_ops.def over memory that no program used."""
    table = (harness.ROOT / "frontend" / "dsd_ops.def").read_text()
    names = [line.split("(")[1].split(",")[0] for line in table.splitlines()
             if line.startswith("DSD_OP(")]
    return [n for n in names if not found.operations[n] and n != "dfilt"]   # filters the fabric


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        print(vectors.Program(random.Random(options.show)).text(), end="")
        return
    found = run(options.programs, options.seed, options.jobs)
    for text in found.differences[:20]:
        print(text)
    print(f"{found.programs} programs, {sum(found.operations.values())} operations, not used: "
          f"{missing(found)}; {len(found.differences)} differences")
    sys.exit(1 if found.differences else 0)


if __name__ == "__main__":
    main()
