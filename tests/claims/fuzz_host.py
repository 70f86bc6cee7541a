#!/usr/bin/python3
"""The host interface survives fuzzing: random calls of libwse in random order, on programs with and
without memcpy: no crash, no sanitizer report, no leak, no hang, every failure has a message, and at
least 80 % of the lines of the host's side are reached.

    fuzz_host.py [SECONDS]      30 minutes without an argument
"""
import random

import fuzzing

HOST = ["libwse.c", "session.c", "operations.c", "transfer.c", "collect.c"]



def seeds():
    """Bytes by chance, long enough for many calls."""
    chance = random.Random(1)
    return [chance.randbytes(chance.randrange(200, 2500)) for _ in range(300)]


fuzzing.claim("host", [f"emu/host/{file}" for file in HOST], "host interface",
              seeds=seeds(),
              options=["-max_len=3000", "-rss_limit_mb=3000", "-close_fd_mask=3"])
