"""Benchmarks of Cerebras/csl-examples on rectangles of any size, for comparisons of two builds.

A checkout of the examples is named by CONFORMANCE_DIR.
"""
import functools
import os
import shlex
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import bench  # noqa: E402
import harness  # noqa: E402

RECORDER = harness.ROOT / "tests/bench/record_actions.py"

# What cslc gets beside the fabric's size, and the host script with its arguments, for a square of
# n x n tiles.
KRYLOV = (" ".join(["--params=width:{n},height:{n},MAX_ZDIM:16 --params=BLOCK_SIZE:4",
                    *[f"--params=C{i}_ID:{i}" for i in range(9)]]),
          "run.py -m={n} -n={n} -k=16 --latestlink out --channels=1 --width-west-buf=0 "
          "--width-east-buf=0 --zDim=16 --run-only")
BENCHMARKS = {
    "gemm-collectives_2d": ("layout.csl", "--params=P:{n},Mt:{t},Kt:{t},Nt:{t}", "run.py --name out"),
    "gemv-collectives_2d": ("layout.csl", "--params=kernel_rows:{n},kernel_cols:{n},"
                            "matrix_rows:{m},matrix_cols:{m}", "run.py --name out"),
    "7pt-stencil-spmv": ("src/layout.csl", *KRYLOV),
    "bicgstab": ("src/layout.csl", KRYLOV[0], KRYLOV[1] + " --max-ite=2"),
    "power-method": ("src/layout.csl", KRYLOV[0], KRYLOV[1] + " --max-ite=4"),
}
MOST_BLOCK, MOST_PRODUCT = 14, 448     # elements along a side: of a tile's block, of the matrices


def fill(text, side):
    return shlex.split(text.format(n=side, m=32 * side,
                                   t=max(1, min(MOST_BLOCK, MOST_PRODUCT // side))))


def flags_of(name, side):
    """What cslc gets beside the layout and the output."""
    return ["--arch=wse2", "--memcpy", "--channels=1", f"--fabric-dims={side + 7},{side + 2}",
            "--fabric-offsets=4,1", *fill(BENCHMARKS[name][1], side)]


def script_in(folder, name, tools, side):
    """Compiles a copy of the benchmark in the folder with a build's compiler.  Returns the
    benchmark's folder there, and the command of its host script."""
    shutil.copytree(Path(os.environ["CONFORMANCE_DIR"]) / "benchmarks", folder)
    layout, _, script = BENCHMARKS[name]
    harness.run([tools / "cslc", layout, *flags_of(name, side), "-o", "out"], cwd=folder / name,
                timeout=600)
    return folder / name, fill(script, side)


@functools.cache
def record(name, side, folder):
    """What the benchmark's script does, as actions of wse-emu; the arrays are in the folder."""
    arrays = folder / "arrays"
    arrays.mkdir()
    tools = harness.bin_dir()
    place, script = script_in(folder / "recorded", name, tools, side)
    harness.run([tools / "cs_python", RECORDER, arrays, *script], cwd=place, timeout=3600)
    return (arrays / "actions").read_text().split("\n")[:-1]


def workload_of(name, side):
    layout = Path(os.environ["CONFORMANCE_DIR"]) / "benchmarks" / name / BENCHMARKS[name][0]
    return bench.Workload(name, layout, {}, flags_of(name, side),
                          lambda folder: record(name, side, folder))
