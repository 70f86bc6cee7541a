#!/usr/bin/python3
"""The debugger's command line survives fuzzing: any lines are commands on a program that runs: no
crash, no sanitizer report, no hang, and at least 70 % of its lines are reached.

    fuzz_commands.py [SECONDS]      10 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

DEBUGGER = ["commands.c", "evaluate.c", "stops.c", "debugger.c", "frames.c", "timeline.c",
            "csdb.c", "follow.c"]
LEAST_COVERAGE = 70

fuzzing.claim("commands", [f"emu/debug/{file}" for file in DEBUGGER], "debugger's commands",
              default_seconds=600, seeds=fuzz_seeds.commands(), least_coverage=LEAST_COVERAGE,
              options=["-max_len=1500", "-rss_limit_mb=3000"])
