"""Short forms of the fuzz claims: each target of tests/fuzz, sanitized, over our own files and some
hundred changed ones.  The long forms are claims/fuzz_*.py."""
import json
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "claims"))
import fuzz_seeds

# Target: how many files, and how many changed inputs, for a few seconds each.
COUNTS = {"frontend": (60, 500), "host": (5, 15), "image": (2, 3000), "ir": (60, 1500),
          "npy": (60, 4000), "parse": (60, 600), "regions": (3, 600), "run": (6, 300)}


def test_every_target_has_a_short_form():
    assert {file.stem for file in (harness.ROOT / "tests" / "fuzz").glob("*.c")} == set(COUNTS)


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
