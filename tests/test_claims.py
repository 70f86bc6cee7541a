"""What the claims promise is checked on every change, too: each names its short form among the tests,
or says why it has none, and those that take a second run here as they are."""
import os
import re
import sys
import textwrap

import pytest

import harness

TESTS = harness.ROOT / "tests"
FOLDER = TESTS / "claims"
REASONS = {
    "times": "it measures times, memory or instructions of the host",
    "two builds": "it compares two builds, which its caller names",
    "a build of its own": "it builds the tools first",
    "programs of others": "it needs programs that are not part of this repository"}


def is_claim(path):
    """Also those for two builds, which run.sh does not run."""
    return path.name != "run.sh" and path.suffix in (".py", ".sh") and (
        os.access(path, os.X_OK) or "__main__" in path.read_text())


CLAIMS = [path for path in sorted(FOLDER.iterdir()) if is_claim(path)]


def short_form(text):
    """What the one line says: names of tests, or a reason."""
    lines = re.findall(r"^(?:# )?(Short|No short) form: (.+)\.$", text, re.M)
    if len(lines) != 1:
        return [], None
    kind, said = lines[0]
    return (said.split(", "), None) if kind == "Short" else ([], said)


def exists(name):
    file, _, test = name.partition("::")
    path = TESTS / file
    if path.parent.name == "unit":
        return path.exists() and not test
    return path.exists() and f"\ndef {test}(" in path.read_text()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda path: path.name)
def test_a_claim_names_its_short_form(claim):
    tests, reason = short_form(claim.read_text())
    assert tests or reason in REASONS, "its first comment says neither, see tests/claims/README.md"
    assert [name for name in tests if not exists(name)] == []


def test_a_lost_test_or_reason_would_be_seen():
    assert not exists("test_claims.py::test_nothing") and not exists("unit/nothing.c")
    assert not exists("test_nothing.py::test_nothing") and not exists("test_claims.py")
    assert short_form("# No short form: laziness.\n")[1] not in REASONS
    assert short_form("A claim that says nothing.\n") == ([], None)


QUICK = [path for path in CLAIMS
         if "test_claims.py::test_a_quick_claim_holds" in short_form(path.read_text())[0]]


@pytest.mark.parametrize("claim", QUICK, ids=lambda path: path.name)
def test_a_quick_claim_holds(claim):
    if claim.name == "words.py" and not (harness.ROOT / ".git").exists():
        pytest.skip("it asks git for the files")
    ran = harness.run([claim], env={"WSE_BIN": str(harness.bin_dir())}, expect=None)
    assert ran.code == 0 and ran.out.endswith("\nPASS\n"), ran.out[-4000:] + ran.err[-4000:]


def test_the_tests_of_each_finding_exist(monkeypatch):
    """The claim findings runs them."""
    monkeypatch.delenv("WSE_UPDATE_GOLDEN", raising=False)
    findings = harness.claim("findings")
    listed = findings.listed_tests()
    assert [name for names in findings.FINDINGS.values() for name in names
            if not any(findings.is_of(test, name) for test in listed)] == []


@pytest.mark.parametrize("claim", ["rename", "format"])
def test_a_folder_without_scripts_is_an_error(claim, tmp_path):
    """Claims about the vendor's public examples say which folder is not one, and measure nothing."""
    (tmp_path / "commands.sh").write_text("")
    for folder in (tmp_path / "missing", harness.ROOT / "ir"):
        ran = harness.run([sys.executable, FOLDER / f"{claim}.py"],
                          expect=1, env={"WSE_BIN": str(harness.bin_dir()),
                                         "CONFORMANCE_DIRS": f"{tmp_path}:{folder}"})
        assert f"'{folder}' has no scripts" in ran.err and "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize("language, command", [
    ("Bash", ["bash", "-c", "{}", FOLDER / "example.sh"]),      # behind the text: its $0
    ("Python", [sys.executable, "-c", "{}"])])
def test_the_examples_of_the_readme_hold(language, command):
    page = (FOLDER / "README.md").read_text()
    text = textwrap.dedent(re.search(rf"^{language}:\n\n((?:    .*\n|\n)+)", page, re.M).group(1))
    ran = harness.run([text if part == "{}" else part for part in command],
                      env={"WSE_BIN": str(harness.bin_dir()), "PYTHONPATH": str(FOLDER)})
    assert re.fullmatch(r"size of the image( in bytes)?: value \d+( bytes)?, bound <= 200000( bytes)?\n"
                        r"PASS\n", ran.out), ran.out
