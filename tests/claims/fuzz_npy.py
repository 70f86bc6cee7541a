#!/usr/bin/python3
"""The reader of array files survives fuzzing: no crash, no sanitizer report, no allocation of more
than 64 MB, what it accepts is the same when written and read again, and at least 80 % of its lines
are reached.

    fuzz_npy.py [SECONDS]      30 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

fuzzing.claim("npy", ["emu/host/npy.c"], "array reader", seeds=fuzz_seeds.npy(),
              options=["-max_len=5000", "-malloc_limit_mb=64"])
