#!/usr/bin/python3
"""At -O2 a counted loop costs at most 2 instructions per turn beyond its body, and the table of
cycles and bytes in docs/ is what the programs cost.

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import sys

from claims import Claims, harness
sys.path.insert(0, str(harness.ROOT / "tests" / "bench" / "codegen"))
import table  # noqa: E402

# Operations that the source has in the loop: none of them can be left out.
BODIES = {"counted_loop": 2, "scalar_loop": 4, "wide_loop": 3}

claims = Claims()
for name, body in BODIES.items():
    cost = table.turn_cost(table.FOLDER / f"{name}.csl", "-O2")
    claims.within(f"{name}: instructions a turn beyond its body of {body}", cost - body, 0, 2)
claims.equals("docs/codegen-table.md is up to date", table.TABLE.read_text() == table.table(), True)
claims.finish()
