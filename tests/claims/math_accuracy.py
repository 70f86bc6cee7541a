#!/usr/bin/python3
"""<math> is right to 2 ulp in f32 (4 for pow) and to 1 ulp in every 16-bit format.

f32: some two million arguments per function, with the neighbours of all multiples of pi/2 for sine
and cosine; 16-bit formats: all arguments (pow: as many pairs).  The oracle is numpy's long double.
The cycles of a call and the bytes of code of docs/math.md are printed and bounded.

    math_accuracy.py [--points=N] [--table]     --table prints the rows of docs/math.md

Short form: test_math_accuracy.py::test_f32.
"""
import argparse

from claims import Claims, harness  # noqa: F401
import math_accuracy as accuracy

FORMATS = ("f32", "f16", "bf16", "cb16")
CYCLES = {"exp": 150, "log": 150, "sin": 150, "cos": 150, "sqrt": 150}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    claims = Claims()
    rows = []
    for name, (_, _, bound) in accuracy.FUNCTIONS.items():
        row = [name]
        for element in FORMATS:
            points = accuracy.points(name, element, options.points)
            found = accuracy.evaluate(claims.scratch, name, element, points)
            worst, where, _ = accuracy.worst(name, element, found, points)
            claims.at_most(f"{name} {element}: {len(points[0])} points, worst at {where}", worst,
                           bound if element == "f32" else min(bound, 1), "ulp")
            row.append(f"{worst:.3f}" if worst else "0")
        for element in ("f32", "f16"):
            cycles, code = accuracy.cost(claims.scratch, name, element, accuracy.typical(name, element))
            print(f"{name} {element}: {cycles:.0f} cycles a call, {code} bytes of code")
            if name in CYCLES and element == "f32":
                claims.at_most(f"{name} {element}", cycles, CYCLES[name], "cycles a call")
            row += [f"{cycles:.0f}", str(code)]
        rows.append(row)
    if options.table:
        for row in rows:
            print("| `" + row[0] + "` | " + " | ".join(row[1:]) + " |")
    claims.finish()


main()
