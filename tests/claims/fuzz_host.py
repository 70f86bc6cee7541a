#!/usr/bin/python3
"""The host interface survives fuzzing: random calls of libwse in random order, on programs with and
without memcpy: no crash, no sanitizer report, no leak, no hang, every failure has a message, and at
least 80 % of the lines of the host's side are reached.

    fuzz_host.py [SECONDS]      30 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

HOST = ["libwse.c", "session.c", "operations.c", "operation_checks.c", "transfer.c", "collect.c"]

fuzzing.claim("host", [f"emu/host/{file}" for file in HOST], "host interface",
              seeds=fuzz_seeds.host(),
              options=["-max_len=1200", "-timeout=60", "-rss_limit_mb=3000",
                       "-close_fd_mask=3"])
