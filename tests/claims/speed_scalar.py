#!/usr/bin/python3
"""At least 100 million scalar instructions per second on one thread: 4,096 tiles that only compute.
The median of five runs; nothing else may run on the machine.

No short form: times.
"""
import speed

speed.claim("busy-64x64", least=100e6, repeat=5, key="instructions_per_second")
