#!/usr/bin/python3
"""All scripts of levels 1 to 4 of the vendor's public examples, 38 for each machine, pass
unmodified, and two at a time they take less than five minutes.

No short form: programs of others.
"""
import resource
import time

import examples
from claims import Claims

claims = Claims()
start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
examples.check(claims, levels=(1, 2, 3, 4), scripts={"wse2": 38, "wse3": 38})
wall, now = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
busy = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(f"processor time: {busy:.1f} s")      # distinguishes a slow program from a busy machine
claims.at_most("wall time with two jobs", round(wall, 1), 300, "s")
claims.finish()
