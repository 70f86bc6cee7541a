"""docs/hardware.md names a test for each feature of the machine, and each of them exists."""
import re

import pytest

import harness

PAGE = (harness.ROOT / "docs" / "hardware.md").read_text()
TESTS = harness.ROOT / "tests"
ROWS = [line.strip("| ").rsplit(" | ", 1) for line in PAGE.splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| feature"))]
NAMED = sorted({name for _, tests in ROWS for name in re.findall(r"`([^`]+)`", tests)})


def exists(name):
    place, colon, test = name.partition(": ")
    if not colon:
        return (TESTS / place).exists()
    if place.endswith(".py"):
        return re.search(rf"^def {test}\(", (TESTS / place).read_text(), re.M) is not None
    return f"cmocka_unit_test({test})" in (TESTS / "unit" / f"{place}.c").read_text()


def test_every_feature_names_a_test():
    assert len(ROWS) > 60
    assert [feature for feature, tests in ROWS if "`" not in tests] == []


@pytest.mark.parametrize("name", NAMED)
def test_the_named_test_exists(name):
    assert exists(name)


def test_a_missing_test_would_be_seen():
    assert not exists("emu_router: no_such_test") and not exists("hazards/none")
    assert not exists("test_hardware.py: test_nothing")


def test_no_feature_is_forgotten():
    for word in ("ring_mode", "pop_on_advance_nop", "invalid", "sparse", "range", "swap",
                 "teardown", "multicast", "edge", "microthread", "flushed", "FIFO", "banks",
                 "exception", "fabric SIMD", "circular", "@map", "timestamp", "control task table"):
        assert word.lower() in PAGE.lower(), word
