"""Imported by claims written in Python: builds the programs and has the checks.

`harness` is tests/harness.py.  An exception that escapes a claim is a FAIL.
"""
import argparse
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402


def build():
    """Builds the release preset unless WSE_BIN says where the programs are."""
    if os.environ.get("WSE_BIN"):
        return
    for command in ([".ci/setup.sh"], ["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release"]):
        done = subprocess.run(command, cwd=harness.ROOT, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            print(done.stdout[-4000:])
            sys.exit("FAIL")


def build_folder(text):
    """For arguments: the folder of the programs of a build, from any folder, or an error."""
    folder = Path(text).resolve()
    if not (folder / "cslc").exists():
        raise argparse.ArgumentTypeError(f"{text} has no cslc; build/release/bin of a checkout is meant")
    return folder


def commit_seed():
    """For random tests: SEED, or the first digits of the commit's hash, or 1 outside a repository."""
    return int(os.environ.get("SEED") or harness.commit_seed())


class Checks:
    """Checks with their values and bounds; finish() prints PASS or FAIL and exits."""

    def __init__(self):
        self.held = self.missed = 0
        sys.excepthook = self._failed

    def _failed(self, kind, value, trace):
        traceback.print_exception(kind, value, trace, file=sys.stdout)
        print("FAIL", flush=True)

    def check(self, name, value, bound, holds, unit=""):
        """bound is a text; holds says whether the value keeps it."""
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        print(f"{name}: value {shown}{unit and ' ' + unit}, bound {bound}{unit and ' ' + unit}",
              flush=True)
        if holds:
            self.held += 1
        else:
            print("  outside its bound", flush=True)
            self.missed += 1
        return bool(holds)

    def at_most(self, name, value, bound, unit=""):
        return self.check(name, value, f"<= {bound}", value <= bound, unit)

    def at_least(self, name, value, bound, unit=""):
        return self.check(name, value, f">= {bound}", value >= bound, unit)

    def equals(self, name, value, bound, unit=""):
        return self.check(name, value, f"= {bound}", value == bound, unit)

    def within(self, name, value, low, high, unit=""):
        return self.check(name, value, f"{low} to {high}", low <= value <= high, unit)

    def given(self, variable, what):
        """The path that a variable of the environment names; without it the claim ends, missed."""
        path = os.environ.get(variable)
        self.check(what, path or "none", f"{variable} names it", bool(path))
        if not path:
            self.finish()
        return Path(path).resolve()

    def finish(self):
        good = self.held > 0 and self.missed == 0
        print("PASS" if good else "FAIL", flush=True)
        sys.exit(0 if good else 1)


class Claims(Checks):
    """The same over built programs, with a folder that is gone at the end."""

    def __init__(self):
        super().__init__()
        self.scratch = Path(tempfile.mkdtemp(prefix="claim-"))
        atexit.register(shutil.rmtree, self.scratch, ignore_errors=True)
        build()
