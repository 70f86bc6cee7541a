#!/usr/bin/python3
"""The scripts of level 1 of the vendor's public examples, 8 for each machine, pass
unmodified.

No short form: programs of others.
"""
import examples
from claims import Claims

claims = Claims()
examples.check(claims, levels=(1,), scripts={"wse2": 8, "wse3": 8})
claims.finish()
