#!/usr/bin/python3
"""The reader and router of layouts made by host scripts survive fuzzing: no crash, no sanitizer
report, and at least 80 % of their lines reached.

    fuzz_regions.py [SECONDS]      10 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

if __name__ == "__main__":
    fuzzing.claim("regions", ["frontend/layout/regions_read.c", "frontend/layout/regions_route.c"],
                  "layouts of host scripts", seeds=fuzz_seeds.regions(), default_seconds=600,
                  options=["-max_len=8000", "-malloc_limit_mb=1024", "-rss_limit_mb=3000",
                           "-close_fd_mask=3"])
