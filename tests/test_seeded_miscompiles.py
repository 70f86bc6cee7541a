"""The seeded miscompiles fit the optimiser as it is; tests/claims/miscompiles.py runs them."""
import pytest

import harness
import seeded_miscompiles as miscompiles


@pytest.mark.parametrize("row", miscompiles.ROWS, ids=miscompiles.NAMES)
def test_a_miscompile_has_its_place(row):
    text = (harness.ROOT / row.file).read_text()
    changed = miscompiles.seeded(row, text)
    assert f'is_seeded("{row.name}")' in changed


def test_names_differ():
    assert len(set(miscompiles.NAMES)) == len(miscompiles.NAMES) >= 20


def test_a_miscompile_without_its_place_would_be_seen():
    row = miscompiles.Miscompile("none", "", "a.c", "x + @{1 @or 2}@;")
    assert miscompiles.seeded(row, "a = x\n  + 1;") == 'a = x\n  + (is_seeded("none") ? (2) : (1));'
    for text in ("a = x + 3;", "x + 1; x + 1;"):
        with pytest.raises(AssertionError):
            miscompiles.seeded(row, text)
