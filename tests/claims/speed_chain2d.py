#!/usr/bin/python3
"""At least 25 million active tile-cycles per second on one thread: chains by rows and then by the
first column, 256 x 256 tiles with 1,024 elements.  The median of three runs; nothing else may run
on the machine.

No short form: times.
"""
import speed

speed.claim("chain2d-256x256", least=25e6, repeat=3)
