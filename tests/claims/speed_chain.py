#!/usr/bin/python3
"""At least 25 million active tile-cycles per second on one thread: a chain of 512 tiles with 4,096
elements.  The median of nine runs; nothing else may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
result, = bench.run_all(repeat=9, threads=1, only="chain-512x4096")
claims.at_least("active tile-cycles per second, median of 9", result["active_per_second"], 25e6)
print("program tile-cycles per second, which the vendor's simulator calls active: "
      f"{result['program_per_second'] / 1e6:.1f} M")
claims.finish()
