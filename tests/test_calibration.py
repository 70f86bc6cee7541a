"""The calibration suite: its table is whole, and it says what it could not run."""
import sys

import harness

HERE = harness.ROOT / "tests" / "calibration"
sys.path.insert(0, str(HERE))

import programs  # noqa: E402
import suite  # noqa: E402


def test_points_name_known_programs_and_stand_once():
    points = suite.read_points()
    assert len(points) > 100
    assert {p.program for p in points} == set(programs.PROGRAMS)
    assert {p.role for p in points} == {"fit", "judge"}
    assert len({(p.program, p.case, p.quantity) for p in points}) == len(points)
    assert all(p.published > 0 and p.source and p.arch in ("wse2", "wse3") for p in points)


def test_absent_checkouts_are_skipped_with_a_message(tmp_path):
    done = harness.run([sys.executable, HERE / "suite.py", tmp_path, "--set=allreduce"])
    assert "skipped" in done.out and "siddharthbc/CSR-graph-coloring" in done.out


def test_a_run_that_fails_is_an_error(tmp_path):
    repository = tmp_path / "cs5220_hw4"
    repository.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "nothing"]):
        harness.run(["git", "-c", "user.name=n", "-c", "user.email=e", *command], cwd=repository)
    done = harness.run([sys.executable, HERE / "suite.py", tmp_path, "--only=M=2 H=2 N=2: max"],
                       expect=1)
    assert "has no commit" in done.out
