"""Every file under tests/golden is one test; golden_file.py says how they are written."""
import os

import pytest

import golden_file
import harness

SUFFIXES = (".csl", ".ir")
FILES = sorted(p for p in harness.GOLDEN.rglob("*") if p.suffix in SUFFIXES)
UPDATE = os.environ.get("WSE_UPDATE_GOLDEN") == "1"


def is_test(path):
    return not golden_file.is_helper(path.read_text(errors="surrogateescape"))


def imported_expectations(test, found):
    """Expectations written in other files that diagnostics point into."""
    expected = []
    for name in sorted({d["file"] for d in found if d["file"]} - {test.path.name}):
        other = (test.path.parent / name).resolve()
        if other.is_relative_to(harness.GOLDEN) and other.exists():
            text = other.read_text(errors="surrogateescape")
            expected += golden_file.expectations(text, golden_file.leader_of(text) or "//")
    return expected


def run_test(test, tmp_path):
    """Runs cslc and, for some kinds, wse-emu, in the test's folder, so that no output holds the
    path of this machine.  The last program's Ran, and the diagnostics.  IR text of kind ir is
    ir-opt's: the flags name passes or a level, and the result must read back as it was printed."""
    if test.kind == "ir" and test.path.suffix == ".ir":
        ran = harness.run([harness.tool("ir-opt"), "--round-trip", "--diag-format=json",
                           *test.cslc_flags, test.path.name], cwd=test.path.parent, expect=None)
        return ran, harness.diagnostics(ran.err)
    flags, runs_image, _ = golden_file.KINDS[test.kind]
    image = tmp_path / "prog.bin"
    output = ["-o", image] if runs_image else []
    ran = harness.cslc(*flags, "--diag-format=json", *test.cslc_flags, test.path.name, *output,
                       cwd=test.path.parent, expect=None)
    found = harness.diagnostics(ran.err)
    if runs_image and ran.code == 0:
        ran = harness.emu(image, *test.emu_flags, cwd=test.path.parent, expect=None)
    return ran, found


def check_stdout(test, ran, must_expect):
    wanted = test.block
    if wanted is None and test.golden_path.exists():
        wanted = test.golden_path.read_text()
    if wanted is None:
        silent_ok = not must_expect or test.expected or test.stderr
        assert silent_ok, f"nothing is expected: add '//# expect' or {test.golden_path.name}"
        return
    if UPDATE and wanted != ran.out:
        if test.block is None:
            test.golden_path.write_text(ran.out)
        else:
            text = test.path.read_text()
            leader = golden_file.leader_of(text)
            test.path.write_text(golden_file.with_block(text, leader, ran.out))
        return
    assert [line.rstrip() for line in ran.out.splitlines()] == \
        [line.rstrip() for line in wanted.splitlines()], "stdout (tests/update_golden.sh rewrites it)"


@pytest.mark.parametrize("name", [str(p.relative_to(harness.GOLDEN)) for p in FILES if is_test(p)])
def test_golden(name, tmp_path):
    test = golden_file.read(harness.GOLDEN / name)
    ran, found = run_test(test, tmp_path)
    missing, surplus = golden_file.differences(
        test.expected + imported_expectations(test, found), found)
    assert not missing and not surplus, "\n".join([*missing, *surplus])
    assert ran.code == test.wants_exit, f"exit code {ran.code}\n{ran.out[-2000:]}{ran.err[-4000:]}"
    for text in test.stderr:
        assert text in ran.err, f"'{text}' is not in stderr:\n{ran.err[-4000:]}"
    check_stdout(test, ran, golden_file.KINDS[test.kind][2])


def test_no_golden_file_is_orphaned():
    orphans = [p.name for p in harness.GOLDEN.rglob("*.golden")
               if not any(p.with_suffix(s).exists() for s in SUFFIXES)]
    assert not orphans
