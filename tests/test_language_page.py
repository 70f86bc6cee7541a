"""docs/language.md, the compiler's tables and the tests agree."""
import re

import pytest

import language_rows

ROWS = language_rows.rows()
BUILTINS = language_rows.builtins()


def test_rows_are_found():
    assert len(ROWS) > 200
    assert {"as", "get_dsd", "fmacs", "dfilt"} <= set(BUILTINS)


def test_every_builtin_has_one_row():
    named = [row.builtin for row in ROWS if row.builtin]
    assert sorted(named) == sorted(BUILTINS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what[:40])
def test_row(row):
    """What is there is run by a test that exists; what is not, by none."""
    if row.state != "yes":
        assert not row.test
        return
    text = language_rows.test_text(row.test)
    assert text is not None, f"line {row.line}: {row.test} is no test that runs"
    named = re.findall(r"--arch=(wse[23])", text.split("\n", 1)[0])
    if named and row.test.endswith(".csl"):
        assert row.arch in named, f"line {row.line}: {row.test} runs on {named[0]} only"
    if row.builtin:
        assert re.search(rf"@{row.builtin}\b", text), f"{row.test} does not name @{row.builtin}"


def test_states_are_those_of_the_compiler():
    """The tables refuse what the page refuses, and know the same architectures."""
    for row in ROWS:
        if not row.builtin:
            continue
        cells = BUILTINS[row.builtin]
        state = {"later": "later"}.get(cells[-1], "yes")
        assert row.state == state, f"line {row.line}"
        arch = next((cell.lower() for cell in cells if cell in ("WSE2", "WSE3")), "")
        assert row.arch == (arch if state == "yes" else ""), f"line {row.line}"


def test_signs_of_a_release_are_of_that_release():
    """A builtin that shows release 2 is in no row of an earlier one."""
    table = (language_rows.harness.ROOT / "frontend" / "release.def").read_text()
    signs = {name: release for release, name in
             re.findall(r'^SIGN\(\w+,\s*SDK_(\w+),\s*"@(\w+)"', table, re.M)}
    assert signs == {"concat_structs": "1_4", "export": "2", "load_to_dsr_xdsr": "2",
                     "load_to_dsr_xdsr_sr": "2", "bind_rotating_tasks": "2"}
    for row in ROWS:
        if row.builtin in signs:
            assert (row.release == "2.10") == (signs[row.builtin] == "2"), f"line {row.line}"


def test_a_wrong_page_would_be_seen():
    assert language_rows.test_text("lang/modules_inner.csl") is None        # runs nothing itself
    assert language_rows.test_text("lang/nowhere.csl") is None
    assert language_rows.test_text("test_golden.py::nothing") is None
    assert language_rows.test_text("golden/sema/err_calls.csl") is None     # only compiled
    with pytest.raises(AssertionError):
        language_rows.rows("| `x` | refused | | 1.x |\n")                   # without reason
    with pytest.raises(AssertionError):
        language_rows.rows("| `x` | refused: why | | 3.0 |\n")              # no such release
    with pytest.raises(AssertionError):
        language_rows.rows("| `x` | refused: why | |\n")                    # without release
    assert language_rows.rows("| a | refused: why | | ours |")[0].reason == "why"
