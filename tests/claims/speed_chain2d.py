#!/usr/bin/python3
"""At least 25 million active tile-cycles per second on one thread: chains by rows and then by the
first column, 256 x 256 tiles with 1,024 elements.  The median of three runs; nothing else may run
on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
result, = bench.run_all(repeat=3, threads=1, only="chain2d-256x256")
claims.at_least("active tile-cycles per second, median of 3", result["active_per_second"], 25e6)
print("program tile-cycles per second, which the vendor's simulator calls active: "
      f"{result['program_per_second'] / 1e6:.1f} M")
claims.finish()
