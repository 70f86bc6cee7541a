#!/usr/bin/python3
"""At least 100 million scalar instructions per second on one thread: 4,096 tiles that only compute.
The median of five runs; nothing else may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
busy, = bench.run_all(repeat=5, threads=1, only="busy-64x64")
claims.at_least("scalar instructions per second, median of 5", busy["instructions_per_second"],
                100e6)
claims.finish()
