#!/usr/bin/python3
"""The debugger's server for editors survives fuzzing: any lines are requests of a client: no crash,
no sanitizer report, no hang, and at least 70 % of its lines are reached.

    fuzz_dap.py [SECONDS]      10 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

SERVER = ["breakpoints.c", "machine.c", "memory.c", "places.c", "server.c", "talk.c", "threads.c",
          "values.c", "wire.c"]
LEAST_COVERAGE = 70

fuzzing.claim("dap", [f"emu/dap/{file}" for file in SERVER], "debugger's server",
              default_seconds=600, seeds=fuzz_seeds.dap(), least_coverage=LEAST_COVERAGE,
              options=["-max_len=3000", "-rss_limit_mb=3000"])
