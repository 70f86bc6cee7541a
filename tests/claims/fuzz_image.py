#!/usr/bin/python3
"""The reader of program images survives fuzzing: no crash, no sanitizer report, no allocation of
more than 256 MB, and at least 80 % of its lines reached.

    fuzz_image.py [SECONDS]      30 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzzing

READER = ["image_read.c", "image_check.c", "image_codec.c", "image_fields.c", "image_grid.c"]

fuzzing.claim("image", [f"ir/machine/{file}" for file in READER], "image reader",
              options=["-max_len=20000", "-malloc_limit_mb=256"])
