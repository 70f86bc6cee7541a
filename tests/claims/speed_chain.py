#!/usr/bin/python3
"""At least 25 million active tile-cycles per second on one thread: a chain of 512 tiles with 4,096
elements.  The median of nine runs; nothing else may run on the machine.

No short form: times.
"""
import speed

speed.claim("chain-512x4096", least=25e6, repeat=9)
