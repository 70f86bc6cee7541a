"""Runs the built programs for the tests.

    import harness
    harness.compile("samples/gemv/layout.csl", tmp_path / "o.bin", params={"P": 4})
    run = harness.emu(tmp_path / "o.bin", f"--stats={tmp_path}/s.json")
    cycles = harness.stats(tmp_path / "s.json")["cycles"]

Every call has a time limit and, unless the caller says otherwise, expects exit code 0: a failure
shows the command line and what the program wrote. The programs are those of build/release; the
environment variable WSE_BIN names another folder, pytest's --debug-build takes build/debug.
"""
import functools
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SAMPLES = ROOT / "samples"

_build = "release"


def use_build(name):
    global _build
    _build = name


def bin_dir():
    return Path(os.environ.get("WSE_BIN") or ROOT / "build" / _build / "bin")


def tool(name):
    path = bin_dir() / name
    assert path.exists(), f"{path} is not built: cmake --build --preset {_build}"
    return str(path)


def unit_test(name):
    """The program of tests/unit/NAME.c.  A build that is not sanitized makes most of these only when
    a claim asks for them."""
    subprocess.run(["cmake", "--build", bin_dir().parent, "--target", f"unit-{name}"], check=True,
                   stdout=subprocess.DEVNULL)
    return tool(f"unit-{name}")


@dataclass
class Ran:
    """What a program did: exit code, stdout, stderr."""
    code: int
    out: str
    err: str


def shown_messages(err):
    """The end of what a program wrote to stderr; if it reports an error, from the first one on, for
    hundreds of warnings may follow it."""
    first = re.search(r"^.*\berror: ", err, re.MULTILINE)
    return err[first.start():][:8000] if first else err[-8000:]


def run(args, expect=0, timeout=120, cwd=None, env=None):
    """Runs a command.  expect: the exit code it must have, or None for any.  A death by signal or
    a sanitizer's report is never accepted."""
    args = [str(a) for a in args]
    shown = shlex.join(args)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:exitcode=99",
                   "UBSAN_OPTIONS": "print_stacktrace=1", **(env or {})}
    try:
        done = subprocess.run(args, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        err = (late.stderr or b"").decode(errors="replace")
        raise AssertionError(f"still running after {timeout} s: {shown}\n{err[-4000:]}") from None
    ran = Ran(done.returncode, done.stdout.decode(errors="replace"),
              done.stderr.decode(errors="replace"))
    crashed = ran.code < 0 or ran.code == 99 or "runtime error:" in ran.err
    if crashed or (expect is not None and ran.code != expect):
        raise AssertionError(f"exit code {ran.code}, expected {expect}: {shown}\n"
                             f"{ran.out[-4000:]}{shown_messages(ran.err)}")
    return ran


def default_signals():
    """For a child: the process that runs the tests may have blocked or ignored them."""
    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)


def cslc(*args, **options):
    return run([tool("cslc"), *args], **options)


def emu(*args, **options):
    return run([tool("wse-emu"), *args], **options)


def compile(source, output, *args, params=None, **options):
    """Compiles a layout; params is a dictionary for --params."""
    if params:
        args += ("--params=" + ",".join(f"{k}:{v}" for k, v in params.items()),)
    source = Path(source)
    return cslc(source if source.is_absolute() else ROOT / source, "-o", output, *args, **options)


def timing(row, arch):
    """A row of the machine's table of times."""
    table = (ROOT / "emu" / "machine" / "timing.def").read_text()
    found = re.search(rf"^TIMING\({row},\s*(\d+),\s*(\d+),", table, re.M)
    return int(found.group(1 if arch == "wse2" else 2))


@functools.cache
def commit_seed():
    """The first digits of the commit's hash, or 1 outside a repository."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(done.stdout[:8], 16) if done.returncode == 0 else 1


def commit_random(purpose):
    """Random numbers that another commit draws differently."""
    return numpy.random.default_rng([commit_seed(), *purpose.encode()])


@functools.cache
def claim(name):
    """The module of tests/claims/NAME.py, for a test that shares its functions.  It is found by its
    path, as a helper of the tests may have the same name."""
    folder = ROOT / "tests" / "claims"
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    spec = importlib.util.spec_from_file_location(f"claim_{name}", folder / f"{name}.py")
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_npy(path):
    return numpy.load(path, allow_pickle=False)


def save_npy(path, array):
    numpy.save(path, numpy.ascontiguousarray(array), allow_pickle=False)
    return path


def stats(path):
    return json.loads(Path(path).read_text())


def values(text, symbol):
    """Parses --print output, `SYM@X,Y: v v v` a line, into {(x, y): [floats]}."""
    tiles = {}
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        if colon and head.startswith(symbol + "@"):
            x, y = head[len(symbol) + 1:].split(",")
            tiles[int(x), int(y)] = [float(v) for v in rest.split()]
    return tiles


def diagnostics(stderr):
    """The diagnostics of --diag-format=json, notes included, as a flat list of dictionaries."""
    found = []
    for line in stderr.splitlines():
        if line.startswith("{"):
            head = json.loads(line)
            found += [head, *head["notes"]]
    return found
