"""Short forms of the fuzz claims: each target of tests/fuzz, sanitized, over our own files and some
hundred changed ones.  The long forms are claims/fuzz_*.py."""
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "claims"))
import fuzz_seeds

# Target: how many changed inputs.  A program takes some 10 ms, the others much less.
COUNTS = {"frontend": 500, "host": 100, "image": 3000, "ir": 1500, "parse": 600, "regions": 600}


def test_every_target_has_a_short_form():
    assert {file.stem for file in (harness.ROOT / "tests" / "fuzz").glob("*.c")} == set(COUNTS)


@pytest.mark.parametrize("target", COUNTS)
def test_changed_inputs_do_no_harm(tmp_path, target):
    program = harness.ROOT / "build" / "debug" / "bin" / f"short-{target}"
    if not program.exists():
        pytest.skip("the sanitized build is not there")
    files = []
    for number, seed in enumerate(fuzz_seeds.SEEDS[target]()):
        files.append(tmp_path / str(number))
        files[-1].write_bytes(seed)
    ran = harness.run([program, COUNTS[target], 2026, *files[:60]], cwd=tmp_path)
    assert f"{COUNTS[target] + min(60, len(files))} inputs" in ran.out
