"""Claims about the vendor's public examples say which folder is not one, and measure nothing; the
examples of the README of claims are claims."""
import re
import sys
import textwrap

import pytest

import harness


@pytest.mark.parametrize("claim", ["rename", "format"])
def test_a_folder_without_scripts_is_an_error(claim, tmp_path):
    (tmp_path / "commands.sh").write_text("")
    for folder in (tmp_path / "missing", harness.ROOT / "ir"):
        ran = harness.run([sys.executable, harness.ROOT / "tests" / "claims" / f"{claim}.py"],
                          expect=1, env={"WSE_BIN": str(harness.bin_dir()),
                                         "CONFORMANCE_DIRS": f"{tmp_path}:{folder}"})
        assert f"'{folder}' has no scripts" in ran.err and "Traceback" not in ran.out + ran.err


FOLDER = harness.ROOT / "tests" / "claims"


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
