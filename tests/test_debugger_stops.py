"""The debugger prints what variables hold, at every level: at lines of random programs it prints what
a copy of the program writes there; what has no certain value says so.  More of them:
tests/claims/debugger_stops.py."""
import random

import pytest

import harness
import probed_run

PROGRAMS = 4


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_printed_variables_are_those_of_a_copy_with_probes(tmp_path, level):
    numbers = harness.commit_random("debugger stops")
    draw, total = random.Random(int(numbers.integers(1 << 30))), probed_run.Outcome()
    number = compared = 0
    while compared < PROGRAMS:                # with probes, some are too large for a tile
        outcome = probed_run.check_generated(tmp_path / str(number), draw.randrange(1 << 30), level,
                                             draw, 12)
        compared, number = compared + (outcome.stops > 0), number + 1
        total.add(outcome)
    assert not total.wrong
    assert total.printed > total.stops


# Seeds that were wrong once: constants of a dropped statement that others use (6), a statement in two
# pieces around others (8), instructions in front of a loop with a line of the loop (10, 14), the end
# of one branch with a line of the other (43).
@pytest.mark.parametrize("seed", [6, 8, 10, 14, 43])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_programs_that_were_shown_wrong(tmp_path, seed, level):
    outcome = probed_run.check_generated(tmp_path / "p", seed, level, random.Random(1), 1000)
    assert outcome.printed > outcome.stops > 0
    assert not outcome.wrong
