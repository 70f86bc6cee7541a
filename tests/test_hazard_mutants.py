"""Some of the single-edit mutants of the samples; the claim hazard_mutants.py runs all."""
import pytest

import hazard_mutants

SOME = [m for m in hazard_mutants.all_mutants() if m.what in (
    "receiver's route dropped", "no passing on", "one tile's extent halved", "unblock skipped",
    "no advance behind the vector", "first column does not send", "data task blocks itself")]


@pytest.mark.parametrize("mutant", SOME, ids=[m.name for m in SOME])
def test_the_report_names_the_tile_and_the_color(mutant, tmp_path):
    text, _ = hazard_mutants.report(mutant, tmp_path)
    assert hazard_mutants.names_place(mutant, text), text


def test_without_the_edit_nothing_is_reported(tmp_path):
    for sample in hazard_mutants.PARAMS:
        original = hazard_mutants.Mutant("none", sample, "layout.csl", "layout {", "layout {", (), ())
        assert hazard_mutants.report(original, tmp_path) == ("", 0)
