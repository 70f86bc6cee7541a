"""Every program of tests/hazards/ gives its report, word for word, on both engines."""
import os

import pytest

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


def test_the_hazards_are_there():
    assert {"two_senders", "missing_receiver", "wrong_extent", "cyclic_wait", "queue_reuse",
            "color_without_configuration", "off_fabric", "stack_overflow",
            "out_of_range_pointer", "failed_assert"} <= {h.name for h in HAZARDS}
