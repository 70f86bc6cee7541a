#!/usr/bin/python3
"""Every feature of docs/hardware.md is shown by a test, and each of these tests passes: unit tests
on both engines, programs under tests/lang, tests/golden and tests/hazards, and Python tests.

Short form: test_hardware.py::test_the_named_test_exists.
"""
import re
import subprocess
import sys

from claims import Claims, harness
import test_hardware

FOLDERS = {"lang": "test_lang.py", "golden": "test_golden.py", "hazards": "test_hazards.py"}


def passed_units(name):
    """The tests of a unit executable that pass on both engines."""
    good = None
    for engine in ("reference", "fast"):
        ran = harness.run([harness.unit_test(name)], expect=None, timeout=600,
                          env={"EMU_ENGINE": engine})
        ok = set(re.findall(r"^\[ +OK \] (\w+)", ran.out + ran.err, re.M))
        good = ok if good is None else good & ok
    return good


def passes(place, key):
    """Does pytest pass, with at least one test, what `key` selects of a file?"""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", place,
                           "-k", key], cwd=harness.ROOT / "tests", stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return done.returncode == 0


def shown(name, units):
    place, colon, test = name.partition(": ")
    if not colon:
        folder, _, rest = name.partition("/")
        return passes(FOLDERS[folder], rest.split("/")[-1].removesuffix(".csl"))
    if place.endswith(".py"):
        return passes(place, test)
    if place not in units:
        units[place] = passed_units(place)
    return test in units[place]


def main():
    claims = Claims()
    units = {}
    results = {name: shown(name, units) for name in test_hardware.NAMED}
    claims.at_least("features", len(test_hardware.ROWS), 60)
    for feature, tests in test_hardware.ROWS:
        names = re.findall(r"`([^`]+)`", tests)
        failed = [n for n in names if not results[n]]
        claims.equals(f"{feature}: {len(names)} tests, failed", failed, [])
    claims.finish()


main()
