#!/usr/bin/python3
"""The Python layer survives random calls in random order with arguments of every wrong kind: each
returns or raises what a script can understand, and the interpreter lives.

    fuzz_host_python.py [SECONDS]      10 minutes without an argument

The seeds follow from the commit; SEED sets the first of them.

Short form: test_host_python.py::test_random_calls_are_understood.
"""
import argparse
import re

from claims import Claims, commit_seed, harness
import host_run

SEEDS = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=int, default=600)
    seconds = parser.parse_args().seconds
    claims = Claims()
    calls = harness.ROOT / "tests" / "host_python_calls.py"
    opened = made = findings = 0
    for number in range(SEEDS):
        seed, arch = commit_seed() + number, ("wse2", "wse3")[number % 2]
        folder = host_run.build(claims.scratch / f"program{seed}", arch=arch)
        ran = harness.run([harness.tool("cs_python"), "-X", "faulthandler", calls, seed,
                           seconds / SEEDS], cwd=folder, timeout=seconds / SEEDS + 300, expect=None,
                          env={"WSE_MAX_CYCLES": "5000"})
        print(f"seed {seed}, {arch}: {ran.out}{ran.err[-3000:]}", end="")
        counts = [int(n) for n in re.findall(r"\d+", ran.out)]
        findings += ran.code != 0
        opened, made = opened + sum(counts[:1]), made + sum(counts[1:])
    claims.at_least("programs opened", opened, 100)
    claims.at_least(f"calls in {seconds} s", made, 1000)
    claims.equals("findings", findings, 0)
    claims.finish()


main()
