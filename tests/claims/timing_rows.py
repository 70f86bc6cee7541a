#!/usr/bin/python3
"""The timing table holds the documented machine facts unchanged, and every row counts.

The values are those of the public sources (docs/cycle-model.md names them), written down here a
second time on purpose: the table must not drift.  unit-emu_timing sets each row to 0 and to other
values and measures that the emulated cycles move.  Inferred rows say from what; the points from
which they were inferred hold them (calibration_fit.py).  What assumed rows could move is what
docs/cycle-model.md says.

Short form: test_calibration.py::test_documented_times_stay, unit/emu_timing.c.
"""
import re
import sys

from claims import Claims, harness

sys.path.insert(0, str(harness.ROOT / "tests" / "calibration"))
import report_table  # noqa: E402
import sensitivity  # noqa: E402

# Row: cycles, on wse2 and wse3.
PUBLISHED = {"ramp_up": (2, 5), "ramp_down": (2, 5), "hop": (1, 1), "element_to_queue": (1, 1),
             "bank_conflict": (1, 1), "load": (1, 1), "store": (1, 1), "fdiv": (50, 50),
             "counter": (1, 3), "priority_update": (4, 4)}
# Elements per cycle, wse2 and wse3.
WIDTHS = {"fadds": (2, 4), "fmovs": (2, 4), "fmacs": (1, 1), "fmuls": (1, 1), "fmach": (4, 8),
          "faddh": (4, 8), "fmovh": (4, 8), "mov16": (4, 8), "mov32": (2, 4), "add16": (4, 8),
          "sll16": (1, 4), "fmachs": (2, 4), "faddhs": (2, 4), "fmaxs": (1, 4), "fmaxh": (1, 8),
          "fs2h": (1, 4), "xp162fh": (1, 8)}


def check_rows(claims):
    table = (harness.ROOT / "emu/machine/timing.def").read_text()
    rows = {m[1]: (int(m[2]), int(m[3]), m[4], m[5]) for m in
            re.finditer(r'^TIMING\((\w+),\s*(\d+),\s*(\d+),\s*(\w), "(.*)"\)$', table, re.M)}
    claims.equals("rows that the pattern does not read", table.count("\nTIMING(") - len(rows), 0)
    for name, cycles in PUBLISHED.items():
        claims.equals(f"{name}", rows[name][:3], (*cycles, "D"))
    documented = {name for name, row in rows.items() if row[2] == "D" and "host_" not in name}
    claims.equals("documented rows that are not listed", sorted(documented - {*PUBLISHED}), [])
    unsourced = [name for name, row in rows.items() if row[2] == "I" and not row[3]]
    claims.equals("inferred rows that do not say from what", unsourced, [])
    widths = {m[1]: (int(m[2]), int(m[3])) for m in
              re.finditer(r"^SIMD\((\w+),\s*(\d+),\s*(\d+)\)", table, re.M)}
    for name, pair in WIDTHS.items():
        claims.equals(f"width of {name}", widths[name], pair)
    claims.equals("the page has the table of assumed rows",
                  report_table.read("sensitivity") == sensitivity.text(), True)


def main():
    claims = Claims()
    check_rows(claims)
    ran = harness.run([harness.unit_test("emu_timing")], expect=None)
    claims.equals("unit-emu_timing: exit code", ran.code, 0)
    claims.finish()


if __name__ == "__main__":
    main()
