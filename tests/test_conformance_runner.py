"""tests/conformance/run.py distinguishes programs that work from programs that only seem to
work."""
import json
import re
import shutil
import sys

import pytest

import harness
import host_run

RUNNER = harness.ROOT / "tests" / "conformance" / "run.py"
RUN = """
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
import numpy as np
r = SdkRuntime("out")
r.load()
r.run()
r.launch("scale", np.float32(1), np.int16(1), nonblock=False)
r.stop()
"""
# Script: (what it does beside the run, outcome, reason)
SCRIPTS = {
    "checks/commands_wse2.sh": ("cs_python run.py && echo SUCCESS", "passed", ""),
    "checks/commands_wse3.sh": ("cs_python run.py && echo PASSED", "passed", ""),
    "macro/commands_wse3.sh": ("%python_sdk_paint --arch=wse3 && echo SUCCESS", "passed", ""),
    "silent/commands_wse3.sh": ("cs_python run.py", "passed", ""),
    "prints/commands.sh": ("cs_python run.py; echo 'test: FAIL'", "failed", "printed: FAIL"),
    "traceback/commands.sh": ("cs_python run.py; cs_python -c 'None.x' || true", "failed",
                              "printed: Traceback (most recent call last)"),
    "nothing/commands.sh": ("echo SUCCESS", "failed", "the device executed nothing"),
    "code/commands.sh": ("cs_python run.py; echo 'an Error here'; exit 7", "failed",
                         "exit 7: an Error here"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    program = host_run.build(folder / "program")
    for script, (text, _, _) in SCRIPTS.items():
        path = folder / script
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
        (path.parent / "run.py").write_text(RUN)
        shutil.copytree(program / "out", path.parent / "out", dirs_exist_ok=True)
    return folder


def run(folder, *args, expect):
    return harness.run([sys.executable, RUNNER, folder, "--jobs=2", "--timeout=10",
                        f"--tools={harness.bin_dir()}", *args], expect=expect)


def test_outcomes_and_tables(programs, tmp_path):
    page = tmp_path / "page.md"
    other = "before\n<!-- conformance 1.4 -->\nof 1.4\n<!-- end -->\n"
    page.write_text(f"{other}<!-- conformance 2.10 -->\nstale\n<!-- end -->\nafter\n")
    ran = run(programs, f"--json={tmp_path}/r.json", f"--markdown={tmp_path}/r.md",
              f"--status={page}", "--release=2.10", expect=1)
    results = {r["script"]: r for r in json.loads((tmp_path / "r.json").read_text())}
    assert {s: (r["outcome"], r["reason"]) for s, r in results.items()} == {
        s: (outcome, reason) for s, (_, outcome, reason) in SCRIPTS.items()}
    lines = ran.out.splitlines()
    assert lines[-1] == "4 passed, 4 failed, 0 skipped"
    assert lines[-3:-1] == ["these ran to their end, but check nothing themselves:",
                            "  silent/commands_wse3.sh"]
    assert all(r["cycles"] > 0 for s, r in results.items() if "nothing" not in s)
    table = (tmp_path / "r.md").read_text()
    assert "| - | code/commands.sh | failed |" in table
    assert table.endswith("check nothing themselves:\n\n- silent/commands_wse3.sh\n")
    text = page.read_text()
    cycles = results["checks/commands_wse2.sh"]["cycles"]
    assert f"| - | checks | {cycles} cycles, " in text and "| - | code | fails | fails |" in text
    assert "stale" not in text and text.startswith(f"{other}<!-- conformance 2.10 -->\n\n| level")
    assert "4 of 8 scripts pass" in text and text.endswith("<!-- end -->\nafter\n")


def test_choosing(programs):
    assert run(programs, "--only=checks", expect=0).out.endswith("2 passed, 0 failed, 6 skipped\n")
    assert run(programs, "--only=checks", "--arch=wse3", expect=0).out.endswith(
        "1 passed, 0 failed, 7 skipped\n")
    assert run(programs, "--level=1", expect=1).out.endswith(
        "no commands*.sh to run\n0 passed, 0 failed, 8 skipped\n")


def test_a_status_page_has_a_table_for_the_release(programs, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- conformance 1.4 -->\n<!-- end -->\n")
    ran = run(programs, f"--status={page}", "--release=2.10", expect=1)
    assert "there is no line <!-- conformance 2.10 -->" in ran.err
    assert "--status needs --release" in run(programs, f"--status={page}", expect=2).err


def test_a_script_that_does_not_end(tmp_path):
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "commands.sh").write_text("exec sleep 100\n")
    ran = run(tmp_path, "--timeout=1", expect=1)
    assert re.search(r"failed  -- slow/commands\.sh  0 cycles \d+\.\d s  time limit\n", ran.out)
