#!/usr/bin/python3
"""A program on several processes does what it does on one.

    ranks_identity.py [N]

N random programs of small fabrics (300), as threads of one process that stand for 2, 3 and 7
processes: end, statistics, memory, events.  Then the samples and, if CONFORMANCE_DIR names a folder of
programs, its scripts, as `mpirun -n R` starts them: R = 1, 2, 3, 4, 7 with 1 to 3 threads each.

Short form: test_ranks.py::test_everything_is_as_on_one_process.
"""
import os
import sys
import tempfile
from pathlib import Path

from claims import Claims, harness
import ranks_run
from machine import oracle
from machine.fabric import Fabric
from machine.verdict import Wild

PROCESSES, MOST_THREADS = (1, 2, 3, 4, 7), 3
SAMPLES = {
    "gemv": ({"width": 7, "height": 9, "M": 18, "N": 14}, ["--print=y@6,0,1,9"]),
    "gemv-collectives": ({"width": 5, "height": 6, "rows": 2, "columns": 3}, ["--launch=main"]),
    "gemm": ({"M": 23, "N": 17, "K": 19, "width": 4, "height": 5}, ["--print=C:8"]),
    "packets": ({"packets": 6}, []),
    "reduce-tree": ({"P": 8, "B": 5}, ["--print=sum@0,0,1,1"]),
}


def check_random(claims, count):
    first = int(harness.commit_random("ranks").integers(10 ** 9))
    for make, n in ((Fabric, count - count // 4), (Wild, count // 4)):
        tally = oracle.check(make, range(first, first + n))
        claims.equals(f"{make.__name__}: programs", tally.programs, n)
        claims.equals("  that differ", len(tally.differences), 0)


def check_sample(claims, name, params, args):
    differing = []
    with tempfile.TemporaryDirectory() as scratch:
        image = Path(scratch) / "p.bin"
        harness.compile(f"samples/{name}/layout.csl", image, params=params)
        shown = ["--trace=all", "--trace-file={out}/t.txt", *args]
        traced = ranks_run.outcome(Path(scratch), 0, image, shown)
        for processes in PROCESSES:
            threads = 1 + processes % MOST_THREADS
            other = ranks_run.outcome(Path(scratch), processes, image,
                                      [*shown, f"--threads={threads}"])
            differing += [f"{processes} x {threads}: {key}" for key in traced
                          if traced[key] != other[key]]
    claims.equals(f"sample {name}: differences", differing, [])


def check_examples(claims, folder):
    """Each script makes its own comparison with numpy, here with the host on three processes."""
    runner, tools = harness.ROOT / "tests" / "conformance" / "run.py", claims.scratch / "bin"
    tools.mkdir()
    for tool in harness.bin_dir().iterdir():
        (tools / tool.name).symlink_to(tool)
    (tools / "cs_python").unlink()
    (tools / "cs_python").write_text(
        f'#!/bin/sh\nexec mpirun -n 3 {harness.tool("cs_python")} "$@"\n')
    (tools / "cs_python").chmod(0o755)
    done = harness.run([sys.executable, runner, folder], expect=None, timeout=3600,
                       env={**ranks_run.ENVIRONMENT, "WSE_BIN": str(tools)})
    last = done.out.splitlines()[-1]
    claims.equals("scripts of the folder that fail on three processes", last.split(", ")[1], "0 failed")
    print(f"  {last}")


def main():
    claims = Claims()
    check_random(claims, int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    for name, (params, args) in SAMPLES.items():
        check_sample(claims, name, params, args)
    if os.environ.get("CONFORMANCE_DIR"):
        check_examples(claims, os.environ["CONFORMANCE_DIR"])
    claims.finish()


main()
