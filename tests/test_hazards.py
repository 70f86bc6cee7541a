"""Every program of tests/hazards/ gives its report, word for word, on both engines."""
import os
import re
from dataclasses import replace

import pytest

import harness
import hazard_run

HAZARDS = hazard_run.all_hazards()


@pytest.mark.parametrize("hazard", HAZARDS, ids=[h.name for h in HAZARDS])
def test_hazard(hazard, tmp_path):
    reports = [hazard_run.report(hazard, engine, tmp_path) for engine in hazard_run.ENGINES]
    assert reports[0] == reports[1]
    assert hazard.must and not hazard_run.missing(hazard, reports[0]), reports[0]
    if os.environ.get("WSE_UPDATE_GOLDEN"):
        hazard.golden.write_text(reports[0])
    assert reports[0] == hazard.golden.read_text()


GROUPS = dict(re.findall(r"^FAULT\((\w+), *(\w+),",
                         (harness.ROOT / "emu/machine/faults.def").read_text(), re.M))


def ended_by(group):
    """The hazards whose default run ends by a finding of the group."""
    found = ((h, re.match(r"error: cycle .*\[(\w+)\]\n", h.golden.read_text())) for h in HAZARDS)
    return [h for h, m in found if m and not h.options and GROUPS[m[1]] == group]


@pytest.mark.parametrize("check", ["warn", "off"])
@pytest.mark.parametrize("engine", hazard_run.ENGINES)
@pytest.mark.parametrize("hazard", ended_by("HARD"), ids=lambda h: h.name)
def test_what_is_no_hazard_ends_the_run_anyway(hazard, engine, check, tmp_path):
    """Nothing says how the machine would go on, and the report says that."""
    said = hazard_run.report(replace(hazard, options=[f"--check={check}"]), engine, tmp_path)
    assert said.splitlines()[0] == hazard.golden.read_text().splitlines()[0]
    assert said.count("  note: --check does not apply to this finding: ") == 1


@pytest.mark.parametrize("check", ["warn", "off"])
@pytest.mark.parametrize("engine", hazard_run.ENGINES)
@pytest.mark.parametrize("hazard", ended_by("HAZARD"), ids=lambda h: h.name)
def test_a_run_goes_on_behind_a_hazard(hazard, engine, check, tmp_path):
    head = hazard.golden.read_text().splitlines()[0]
    said = hazard_run.report(replace(hazard, options=[f"--check={check}"], exit_code=None), engine,
                             tmp_path)
    assert (f"warning, not an {head}" in said.splitlines()) == (check == "warn"), said
    assert head not in said.splitlines() and "note: --check" not in said, said


def test_the_hazards_are_there():
    assert {"two_senders", "missing_receiver", "wrong_extent", "cyclic_wait", "queue_reuse",
            "color_without_configuration", "off_fabric", "stack_overflow",
            "out_of_range_pointer", "failed_assert"} <= {h.name for h in HAZARDS}
