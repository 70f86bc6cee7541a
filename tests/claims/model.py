#!/usr/bin/python3
"""wse-model answers as the checked performance model does, and fast.

Cycles of collectives on a line (T_R = 2) agree to the cycle with a program that carries out the
rules of the model; the optimal tree of 512 tiles and 512 elements comes within 2 seconds.

Short form: test_model.py::test_table.
"""
import time

from claims import Claims, harness

OPS = [("broadcast", "multicast"), ("reduce", "star"), ("reduce", "chain"), ("reduce", "tree"),
       ("reduce", "two-phase"), ("reduce", "optimal"), ("reduce", "ring"), ("allreduce", "chain"),
       ("allreduce", "ring")]
TABLE = [
    (4, 16, 24, 54, 34, 38, 38, 34, 35, 58, 66),
    (16, 16, 36, 246, 106, 70, 68, 61, 119, 142, 240),
    (64, 64, 132, 4038, 442, 390, 248, 215, 503, 574, 1008),
    (64, 1028, 1096, 64770, 1406, 6174, 2176, 1406, 1467, 2502, 2906),
    (512, 1, 517, 517, 3067, 557, 732, 517, 3576, 3584, 7156),
    (512, 64, 580, 32710, 3130, 853, 831, 668, 3639, 3710, 7282),
    (512, 512, 1028, 261638, 3578, 4614, 1727, 1527, 4087, 4606, 8176),
    (512, 4096, 4612, 2093062, 7162, 36870, 8895, 7162, 7671, 11774, 15330),
]


def main():
    claims = Claims()
    model = harness.tool("wse-model")
    for tiles, length, *values in TABLE:
        for (op, pattern), value in zip(OPS, values):
            got = harness.run([model, "predict", f"--op={op}", f"--pattern={pattern}",
                               f"--pes={tiles}", f"--len={length}"]).out
            claims.equals(f"{op} {pattern} P={tiles} B={length}", int(got), value, "cycles")
    for length in (1, 512):
        start = time.monotonic()
        harness.run([model, "tree", "--pes=512", f"--len={length}"])
        claims.at_most(f"optimal tree P=512 B={length}", time.monotonic() - start, 2.0, "s")
    claims.finish()


main()
