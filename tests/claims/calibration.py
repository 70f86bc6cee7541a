#!/usr/bin/python3
"""Each calibration point, at -O1: published measurements of one vector operation, and the laws of
chain and broadcast in one and two dimensions.

Every row of emu/machine/calibration.def is run.  The emulated cycles are those that the row (and so
docs/cycle-model.md) states; a vector operation lies within 2 cycles of what was published, a whole
program within [20, 64] over the model in 1D and [20, 100] in 2D, and one program on one grid varies
by at most 4 over the length.

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import re
from collections import defaultdict

from claims import Claims, harness

HERE = harness.ROOT / "tests" / "claims" / "calibration"
TABLE = (harness.ROOT / "emu" / "machine" / "calibration.def").read_text()
VECTOR_TOLERANCE = 2
OVERHEAD_1D, OVERHEAD_2D, SPREAD = (20, 64), (20, 100), 4


def rows(kind):
    table = re.sub(r"/\*.*?\*/", "", TABLE, flags=re.S)
    found = re.findall(rf"^{kind}\((.*)\)$", table, re.M)
    return [[cell.strip() for cell in row.split(",")] for row in found]


def vector_cycles(claims, n, op, conflict, loads):
    image = claims.scratch / "vector.bin"
    harness.compile(HERE / "vector_layout.csl", image, "--arch=wse2", "-O1",
                    params={"n": n, "shift": 1 - conflict, "is_sum": int(op == "fadds"),
                            "loaded": int(loads == 0)})
    line = harness.emu(image, "--launch=main", "--print=stamps:6").out
    words = [int(w) for w in line.split(":")[1].split()]
    return sum((words[3 + i] - words[i]) << 16 * i for i in range(3))


def vectors(claims):
    for n, op, conflict, loads, least, most, stated in rows("VECTOR"):
        got = vector_cycles(claims, int(n), op, int(conflict), int(loads))
        name = f"@{op} n={n}{' conflict' if int(conflict) else ''}, {loads} descriptors loaded"
        claims.within(name, got, int(least) - VECTOR_TOLERANCE, int(most) + VECTOR_TOLERANCE)
        claims.equals(f"{name}: stated in the table", got, int(stated))


def program_cycles(claims, layout, **params):
    image = claims.scratch / "program.bin"
    harness.compile(layout, image, "-O1", params=params)
    harness.emu(image, f"--stats={claims.scratch}/s.json", timeout=600)
    return harness.stats(claims.scratch / "s.json")["cycles"]


def laws(claims, kind, bounds):
    by_grid = defaultdict(list)
    for program, tiles, length, model, stated in rows(kind):
        if kind == "LAW2D":
            got = program_cycles(claims, HERE / f"{program}_layout.csl", M=int(tiles),
                                 B=int(length))
        else:
            got = program_cycles(claims, harness.SAMPLES / program / "layout.csl", P=int(tiles),
                                 B=int(length))
        name = f"{program} {tiles} tiles{' a side' if kind == 'LAW2D' else ''}, {length} elements"
        claims.within(f"{name}: cycles - model", got - int(model), *bounds)
        claims.equals(f"{name}: stated in the table", got, int(stated))
        by_grid[program, tiles].append(got - int(model))
    for (program, tiles), overheads in by_grid.items():
        if len(overheads) > 1:
            claims.at_most(f"{program} {tiles} tiles: spread over the length",
                           max(overheads) - min(overheads), SPREAD)


def main():
    claims = Claims()
    vectors(claims)
    laws(claims, "LAW", OVERHEAD_1D)
    laws(claims, "LAW2D", OVERHEAD_2D)
    claims.finish()


main()
