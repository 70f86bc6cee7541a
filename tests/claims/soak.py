#!/usr/bin/python3
"""One process opens, runs and closes 2,000 programs, and one makes 10,000 launches, from C and from
Python: with constant memory, and without a leak by the leak sanitizer's count.

Short form: unit/host_soak.c.
"""
import re
import subprocess
from pathlib import Path

from claims import Claims, harness
import host_run

PROGRAMS, LAUNCHES = 2000, 10000
SOAK = re.compile(r"(\w+) (\d+): live bytes (\d+) then (\d+), resident kB (\d+) then (\d+)")

# Resident kB after the warm-up and at the end: the least of some samples, since the allocator keeps
# now more, now less.
PYTHON = f"""
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4

def use(r, turn):
    word, back = np.full(6, turn, np.float32), np.zeros(6, np.float32)
    named = dict(streaming=False, data_type=MemcpyDataType.MEMCPY_32BIT,
                 order=MemcpyOrder.ROW_MAJOR)
    r.memcpy_h2d(r.get_id("a"), word, 0, 0, 1, 1, 6, nonblock=True, **named)
    r.launch("scale", np.float32(1), np.int16(1), nonblock=False)
    r.memcpy_d2h(back, r.get_id("a"), 0, 0, 1, 1, 6, nonblock=False, **named)
    assert (back == turn).all()

samples = []
for turn in range(1, {PROGRAMS} + 1):
    with SdkRuntime("out") as r:
        use(r, turn)
    samples.append(resident())
print("programs", min(samples[100:500]), min(samples[-400:]))
samples = []
with SdkRuntime("out") as r:
    for turn in range(1, {LAUNCHES} + 1):
        use(r, turn)
        samples.append(resident())
    print("launches", min(samples[5000:6000]), min(samples[-1000:]))
"""


def soak(preset, *args):
    """The C program of a preset's build, under the leak sanitizer if it has it."""
    program = harness.ROOT / "build" / preset / "bin" / "unit-host_soak"
    return subprocess.run([program, *map(str, args)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True,
                          env={"ASAN_OPTIONS": "detect_leaks=1:exitcode=23"})


def build(preset):
    for command in (["cmake", "--preset", preset],
                    ["cmake", "--build", "--preset", preset, "--target", "unit-host_soak"]):
        done = subprocess.run(command, cwd=harness.ROOT, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout[-4000:]


def from_c(claims):
    build("release")
    build("debug")
    done = soak("release", PROGRAMS, LAUNCHES)
    print(done.stdout + done.stderr, end="")
    for what, count, _, _, before, after in SOAK.findall(done.stdout):
        claims.at_most(f"C, {what}: growth after the warm-up, {count} in all",
                       int(after) - int(before), 512, "kB")
    claims.equals("C: exit code", done.returncode, 0)
    done = soak("debug", PROGRAMS, LAUNCHES)
    print(done.stdout + done.stderr, end="")
    for what, count, before, after, _, _ in SOAK.findall(done.stdout):
        claims.equals(f"C, sanitized, {what}: bytes more after the warm-up, {count} in all",
                      int(after) - int(before), 0)
    claims.equals("C, sanitized: exit code", done.returncode, 0)
    claims.equals("a leak on purpose is noticed: exit code", soak("debug", "leak").returncode, 23)


def from_python(claims):
    folder = host_run.build(Path(claims.scratch) / "program")
    (folder / "run.py").write_text(PYTHON)
    lines = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, timeout=1000).out
    for what, before, after in (line.split() for line in lines.splitlines()):
        claims.at_most(f"Python, {what}: growth after the warm-up", int(after) - int(before), 2048,
                       "kB")


def main():
    claims = Claims()
    from_c(claims)
    from_python(claims)
    claims.equals("measurements", claims.held + claims.missed, 9)
    claims.finish()


main()
