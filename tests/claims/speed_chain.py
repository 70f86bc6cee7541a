#!/usr/bin/python3
"""At least 25 million active tile-cycles per second on one thread: a chain, P = 512, B = 4096, and
chains in two dimensions, 256 x 256, B = 1024.  Medians; nothing else may run on the machine."""
import sys
from pathlib import Path

from claims import Claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import bench  # noqa: E402

claims = Claims()
for name, repeat in (("chain-512x4096", 9), ("chain2d-256x256", 3)):
    result, = bench.run_all(repeat=repeat, threads=1, only=name)
    claims.at_least(f"{name}: active tile-cycles per second, median of {repeat}",
                    result["active_per_second"], 25e6)
    print(f"  program tile-cycles per second, which the vendor's simulator calls active: "
          f"{result['program_per_second'] / 1e6:.1f} M")
claims.finish()
