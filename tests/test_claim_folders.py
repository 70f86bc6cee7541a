"""Claims about the vendor's public examples say which folder is not one, and measure nothing."""
import sys

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
