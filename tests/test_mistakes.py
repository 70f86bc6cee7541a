"""For every program of tests/mistakes/ a few lines of the report show what is wrong, and where."""
import pytest

import mistake_run

MISTAKES = mistake_run.all_mistakes()
LEVELS = ("-O0", "-O1", "-O2")


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m.name for m in MISTAKES])
def test_mistake(mistake, tmp_path):
    for arch in mistake.arches:
        for level in LEVELS:
            reports = [mistake_run.report(mistake, arch, level, engine, tmp_path)
                       for engine in mistake_run.ENGINES]
            assert reports[0] == reports[1]
            assert mistake.guilty and mistake.finds
            assert not mistake_run.wrong(mistake, reports[0]), f"{arch} {level}\n{reports[0]}"
