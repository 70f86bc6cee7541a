#!/usr/bin/python3
"""At least 12 million active tile-cycles per second on one thread: a GEMV of 64 x 64 tiles.  The
median of five runs; nothing else may run on the machine.

No short form: times.
"""
import speed

speed.claim("gemv-64x64", least=12e6, repeat=5)
