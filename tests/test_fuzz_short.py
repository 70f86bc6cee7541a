"""Short forms of the fuzz claims: each target of tests/fuzz, sanitized, over our own files and some
hundred changed ones.  The long forms are claims/fuzz_*.py."""
import json
import sys

import pytest

import harness

fuzz_seeds = harness.claim("fuzz_seeds")

# Target: how many files, and how many changed inputs, for a few seconds each.
COUNTS = {"commands": (40, 200), "dap": (40, 200), "frontend": (60, 500), "host": (5, 15),
          "image": (2, 3000), "ir": (60, 1500), "npy": (60, 4000), "parse": (60, 600),
          "regions": (3, 600), "run": (6, 300)}


def test_every_target_has_a_short_form():
    assert {file.stem for file in (harness.ROOT / "tests" / "fuzz").glob("*.c")} == set(COUNTS)


def test_coverage_knows_files_by_relative_names():
    """As a compiler cache leaves them in the program."""
    names = [f"{harness.ROOT}/build/fuzz/../../emu/tile/mem.c", "/usr/include/stdio.h"]
    files = [{"filename": name, "summary": {"lines": {"count": 4, "covered": 3}}} for name in names]
    shown = harness.run([sys.executable, "-c", "import json, sys, fuzzing; print(json.dumps("
                         "fuzzing.lines_of_files(json.loads(sys.argv[1]))))", json.dumps(files)],
                        cwd=harness.ROOT / "tests" / "claims").out
    assert json.loads(shown) == {"emu/tile/mem.c": {"count": 4, "covered": 3}}


@pytest.mark.parametrize("target", COUNTS)
def test_changed_inputs_do_no_harm(tmp_path, target):
    program = harness.ROOT / "build" / "debug" / "bin" / f"short-{target}"
    if not program.exists():
        pytest.skip("the sanitized build is not there")
    most, changed = COUNTS[target]
    files = []
    for number, seed in enumerate(fuzz_seeds.SEEDS[target]()[:most]):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(seed)
    ran = harness.run([program, changed, 2026, *files], cwd=tmp_path)
    assert f"{changed + len(files)} inputs" in ran.out


def test_changed_out_json_is_read_or_refused(tmp_path):
    streams = {"s": {"x": 1, "y": 2, "color": 3, "input": True, "size": 4}}
    (tmp_path / "out.json").write_text(json.dumps(
        {"params": {}, "layout": {"origin_x": -1, "origin_y": 0, "streams": streams}}))
    ran = harness.run([harness.tool("cs_python"), harness.ROOT / "tests" / "out_json_calls.py",
                       tmp_path / "out.json", 2, 1])
    read, refused = map(int, ran.out.split())
    assert read > 10 and refused > 10


# In place of a target: the first run says that an input took too long, the next one ends; alone, the
# input takes the processor time that it says.
TARGET = """#!/usr/bin/python3
import pathlib, sys, time
file = pathlib.Path(sys.argv[-1])
if file.is_file():
    end = time.process_time() + float(file.read_text())
    while time.process_time() < end:
        pass
    sys.exit(0)
findings = pathlib.Path(next(a for a in sys.argv if a.startswith("-artifact_prefix=")).split("=")[1])
print("stat::number_of_executed_units: 5")
if (findings / "again").exists():
    sys.exit(0)
(findings / "again").write_text("")
(findings / "timeout-1").write_text("%s")
sys.exit(70)
"""
DRIVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import fuzzing
fuzzing.BUILD, fuzzing.MOST_SECONDS = Path(sys.argv[2]), 1
print(*fuzzing.run("it", 5, [])[:2])
"""


@pytest.mark.parametrize("seconds, said", [("0.01", "10 0"), ("30", "5 70")])
def test_a_hang_is_judged_by_processor_time(tmp_path, seconds, said):
    (tmp_path / "bin").mkdir()
    target = tmp_path / "bin" / "fuzz-it"
    target.write_text(TARGET % seconds)
    target.chmod(0o755)
    ran = harness.run(["/usr/bin/python3", "-c", DRIVE, harness.ROOT / "tests" / "claims", tmp_path])
    assert ran.out.strip() == said
