#!/usr/bin/python3
"""On one thread, at least 12 million active tile-cycles per second on a GEMV of 64 x 64 tiles, and
100 million scalar instructions per second on 4,096 tiles that only compute.  Medians; nothing else
may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
gemv, = bench.run_all(repeat=5, threads=1, only="gemv-64x64")
claims.at_least("gemv: active tile-cycles per second, median of 5", gemv["active_per_second"], 12e6)
busy, = bench.run_all(repeat=5, threads=1, only="busy-64x64")
claims.at_least("busy tiles: scalar instructions per second, median of 5",
                busy["instructions_per_second"], 100e6)
claims.finish()
