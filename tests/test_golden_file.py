"""The golden runner itself: it must fail where a test fails."""
import pytest

import golden_file

SAMPLE = """//# run: sema --arch=wse3
const a = b;   //~ error undefined_name: 'b'
//~^ note did_you_mean
var c = 1;     //~ warning w1: one //~ error e2
//~0 error no_place: nowhere
//# exit: 3
//# expect
// first
//
//   third
"""


def diag(line, severity, name, message="", file="t.csl"):
    return {"file": file, "line": line, "severity": severity, "id": name, "message": message}


def test_directives_are_read():
    test = golden_file.read("t.csl", SAMPLE)
    assert (test.kind, test.cslc_flags, test.wants_exit) == ("sema", ["--arch=wse3"], 3)
    assert test.expected == [(2, "error", "undefined_name", "'b'"), (2, "note", "did_you_mean", ""),
                             (4, "warning", "w1", "one"), (4, "error", "e2", ""),
                             (0, "error", "no_place", "nowhere")]
    assert test.block == "first\n\n  third\n"


def test_emulator_flags_stand_after_two_dashes():
    test = golden_file.read("t.csl", "//# run: emu --arch=wse3 -- --print=v --threads=2\n")
    assert test.cslc_flags == ["--arch=wse3"]
    assert test.emu_flags == ["--print=v", "--threads=2"]


def test_another_comment_leader():
    test = golden_file.read("t.ir", ";# run: ir -O1\nx ;~ error e: m\n;# expect\n; out\n")
    assert test.expected == [(2, "error", "e", "m")]
    assert test.block == "out\n"


def test_exit_code_follows_the_expected_errors():
    assert golden_file.read("t", "//# run: sema\n//~ error e\n").wants_exit == 1
    assert golden_file.read("t", "//# run: sema\n//~ warning w\n").wants_exit == 0


@pytest.mark.parametrize("text", [
    "const a = 1;\n", "//# run: nonsense\n", "//# run: sema\n//# colour: red\n",
    "//# run: sema\n//~ mistake id: text\n", "//# run: sema\n//~ error\n",
    "//# run: sema -- --print=v\n", "//# run: ir\n//# expect\nno comment\n", "//# helper\n"])
def test_bad_directives_are_refused(text):
    with pytest.raises(golden_file.BadDirective):
        golden_file.read("t.csl", text)


def test_expected_and_found_agree():
    expected = [(2, "error", "e", "par"), (3, "error", "e", "")]
    found = [diag(3, "error", "e", "other"), diag(2, "error", "e", "a part"),
             diag(1, "note", "n", "a note nobody asked for")]
    assert golden_file.differences(expected, found) == ([], [])


@pytest.mark.parametrize("found", [
    [], [diag(3, "error", "e", "text")], [diag(2, "warning", "e", "text")],
    [diag(2, "error", "f", "text")], [diag(2, "error", "e", "else")]])
def test_a_missing_diagnostic_is_told(found):
    missing, surplus = golden_file.differences([(2, "error", "e", "text")], found)
    assert len(missing) == 1 and len(surplus) == len(found)


def test_an_unexpected_diagnostic_is_told():
    twice = [diag(2, "error", "e", "text")] * 2
    assert len(golden_file.differences([(2, "error", "e", "text")], twice)[1]) == 1
    assert len(golden_file.differences([], [diag(1, "warning", "w")])[1]) == 1
    notes = [diag(1, "note", "n"), diag(2, "note", "n")]
    assert len(golden_file.differences([(1, "note", "n", "")], notes)[1]) == 1


def test_blocks_are_rewritten():
    text = golden_file.with_block(SAMPLE, "//", "one\n\n  two\n")
    assert golden_file.read("t.csl", text).block == "one\n\n  two\n"
    assert text.startswith(SAMPLE.partition("//# expect")[0])
