#!/usr/bin/python3
"""At least 10 million active tile-cycles per second on one thread: chain, P = 512, B = 4096."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
result, = bench.run_all(repeat=5, threads=1, only="chain-512x4096")
claims.at_least("active tile-cycles per second, median of 5", result["active_per_second"], 10e6)
claims.finish()
