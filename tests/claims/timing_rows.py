#!/usr/bin/python3
"""The timing table holds the published and inferred machine facts unchanged, and every row counts.

The values are those of the public sources (docs/cycle-model.md names them), written down here a
second time on purpose: the table must not drift.  unit-emu_timing sets each row to 0 and to other
values and measures that the emulated cycles move.
"""
import re

from claims import Claims, harness

# Row: cycles, on both machines.
PUBLISHED = {"ramp_up": 2, "ramp_down": 2, "hop": 1, "element_to_queue": 1, "bank_conflict": 1,
             "load": 1, "store": 1, "fdiv": 50, "priority_update": 4}
# Sums that were measured: n + 6 around one operation, 27 to 29 for three descriptors; and what one
# more 16-bit operation takes in the GEMM table.
INFERRED = {"vector_start": 2, "vector_end": 2, "vector_next": 1, "dsr_load": 9, "dsr_update": 4}
# Elements per cycle, wse2 and wse3.
WIDTHS = {"fadds": (2, 4), "fmovs": (2, 4), "fmacs": (1, 1), "fmuls": (1, 1), "fmach": (4, 8),
          "faddh": (4, 8), "fmovh": (4, 8), "mov16": (4, 8), "mov32": (2, 4), "add16": (4, 8),
          "sll16": (1, 4), "fmachs": (2, 4), "faddhs": (2, 4), "fmaxs": (1, 4), "fmaxh": (1, 8),
          "fs2h": (1, 4), "xp162fh": (1, 8)}


def main():
    claims = Claims()
    table = (harness.ROOT / "emu/machine/timing.def").read_text()
    rows = {m[1]: (int(m[2]), int(m[3]), m[4]) for m in
            re.finditer(r"^TIMING\((\w+),\s*(\d+),\s*(\d+),\s*(\w)", table, re.M)}
    for expected, status in ((PUBLISHED, "D"), (INFERRED, "I")):
        for name, cycles in expected.items():
            claims.equals(f"{name}", rows[name], (cycles, cycles, status))
    named = {name for name, row in rows.items() if row[2] in "DI" and "host_" not in name}
    claims.equals("rows marked D or I that nobody listed", sorted(named - {*PUBLISHED, *INFERRED}), [])
    widths = {m[1]: (int(m[2]), int(m[3])) for m in
              re.finditer(r"^SIMD\((\w+),\s*(\d+),\s*(\d+)\)", table, re.M)}
    for name, pair in WIDTHS.items():
        claims.equals(f"width of {name}", widths[name], pair)
    ran = harness.run([harness.tool("unit-emu_timing")], expect=None)
    claims.equals("unit-emu_timing: exit code", ran.code, 0)
    claims.finish()


main()
