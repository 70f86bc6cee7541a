#!/usr/bin/python3
"""Each hazard is reported with cycle, tile, color, what met what, and the source lines of both
sides: the programs of tests/hazards/ and their reports, on both engines.

Short form: test_hazards.py::test_hazard.
"""
import re

from claims import Claims, harness
import hazard_run

PROMISED = {"two_senders", "missing_receiver", "wrong_extent", "cyclic_wait", "queue_reuse",
            "color_without_configuration", "off_fabric", "stack_overflow",
            "out_of_range_pointer", "failed_assert"}


def main():
    claims = Claims()
    hazards = hazard_run.all_hazards()
    claims.equals("hazards without a program", sorted(PROMISED - {h.name for h in hazards}), [])
    for hazard in hazards:
        for engine in hazard_run.ENGINES:
            text = hazard_run.report(hazard, engine, claims.scratch)
            name = f"{hazard.name}, {engine}"
            claims.equals(f"{name}: not in the report", hazard_run.missing(hazard, text), [])
            claims.equals(f"{name}: cycle, tile and source line",
                          all(re.search(p, text) for p in (r"cycle \d+", r"\bP\d+\.\d+",
                                                           r"\w+\.csl:\d+")), True)
            claims.equals(f"{name}: the report is that of report.txt",
                          text == hazard.golden.read_text(), True)
    claims.finish()


main()
