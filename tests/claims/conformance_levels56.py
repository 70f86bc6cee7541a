#!/usr/bin/python3
"""All scripts of levels 5 and 6 of the vendor's public examples pass unmodified: layouts made
in Python, solvers, stencils, transforms and sparse products, 13 scripts for one machine and 11 for
the other.

No short form: programs of others.
"""
import examples
from claims import Claims

claims = Claims()
examples.check(claims, levels=(5, 6), scripts={"wse2": 13, "wse3": 11})
claims.finish()
