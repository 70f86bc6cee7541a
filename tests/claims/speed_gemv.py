#!/usr/bin/python3
"""At least 12 million active tile-cycles per second on one thread: a GEMV of 64 x 64 tiles.  The
median of five runs; nothing else may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
gemv, = bench.run_all(repeat=5, threads=1, only="gemv-64x64")
claims.at_least("active tile-cycles per second, median of 5", gemv["active_per_second"], 12e6)
claims.finish()
