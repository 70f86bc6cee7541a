"""samples/study: a small form of the figures, results kept, interrupts, and the page."""
import random
import sys

import pytest

import harness

STUDY = harness.SAMPLES / "study"
PAGE = harness.ROOT / "docs" / "study.md"
POINTS = 3      # of each figure
sys.path.insert(0, str(STUDY))
import figures  # noqa: E402
import programs  # noqa: E402
import study  # noqa: E402
from wse_sweep import run as sweep_run  # noqa: E402


def command(*args):
    return [sys.executable, STUDY / "study.py", f"--bin={harness.bin_dir()}", *args]


def run(*args, **options):
    return harness.run(command(*args), **options)


def cycles(folder, number):
    figure = next(made for make in figures.ALL if (made := make(figures.SMALL)).number == number)
    return study.read_csv(folder / f"fig-{number}.csv", figure)


def test_figures_and_kept_results(tmp_path):
    args = ("--small", f"--out={tmp_path}", "--formats=svg", "--only=4.2,7.4", "--jobs=2")
    done = run(*args)
    found = cycles(tmp_path, "4.2")
    assert found["broadcast, model"] == {B: 4 + 16 + B for B in (1, 16, 128)}
    assert all(0 < found["broadcast"][B] - (4 + 16 + B) <= 64 for B in found["broadcast"])
    assert "| reproduced |" in done.out
    assert (tmp_path / "fig-7.4.svg").read_text().count("<svg") == 1
    kept = cycles(tmp_path, "7.4")
    again = run(*args, "--formats=")
    assert "30 measurements, 30 of them kept" in again.err and again.out == done.out
    assert cycles(tmp_path, "7.4") == kept


def test_points_of_the_page_take_these_cycles():
    """Of each figure, points drawn from the commit: a change that moves one has to renew the page."""
    draw, tools = random.Random(harness.commit_seed()), programs.Tools(harness.bin_dir())
    for make in figures.ALL:
        figure = make(figures.FULL)
        shown = study.read_csv(PAGE.parent / "study" / f"fig-{figure.number}.csv", figure)
        drawn = draw.sample([(curve, x) for curve in figure.curves for x in curve.points
                             if x in shown[curve.label]], POINTS)
        for curve, x in drawn:
            found = programs.measure(tools, curve.points[x])
            assert found == shown[curve.label][x], f"figure {figure.number}, {curve.label}, {x}"


@pytest.mark.slow
def test_every_program_of_the_small_study(tmp_path):
    run("--small", f"--out={tmp_path}", "--formats=", "--jobs=2")
    for make in figures.ALL:
        number = make(figures.SMALL).number
        for label, points in cycles(tmp_path, number).items():
            assert points and all(value >= 0 for value in points.values()), f"{number} {label}"


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(tmp_path, monkeypatch):
    """Interrupted after the first results, the study says so and goes on from there.

    The interrupt is raised where Ctrl-C reaches the main thread, not sent: a test run may have
    interrupts ignored or blocked.
    """
    kept, wait = tmp_path / "results", sweep_run.wait
    args = [str(arg) for arg in command("--small", f"--out={tmp_path}", "--formats=",
                                        "--only=5.9,6.7,7.5", "--jobs=1")]

    def interrupted(pending, **options):
        if len(list(kept.glob("*.json"))) >= 5:
            raise KeyboardInterrupt
        return wait(pending, **options)

    monkeypatch.setattr(sweep_run, "wait", interrupted)
    monkeypatch.setattr(sys, "argv", args[1:])
    with pytest.raises(SystemExit, match="the same command goes on from here"):
        study.main()
    before = len(list(kept.glob("*.json")))
    assert before >= 5
    again = harness.run(args).err
    assert f", {before} of them kept" in again and "78 measurements" in again


def test_mistakes(tmp_path):
    assert "there are 4.2" in run("--only=9.9", f"--out={tmp_path}", expect=1).err
    assert "no format gif; there are svg, png, pdf" in run("--formats=svg,gif", expect=1).err
    for wrong, said in (("--jobs=0", "at least 1 measurement"), ("--page=/nowhere", "'/nowhere': ")):
        ran = run("--small", "--only=5.7", "--formats=", f"--out={tmp_path}", wrong, expect=1)
        assert f"study.py: {said}" in ran.err and "Traceback" not in ran.err
    wrong = harness.run([sys.executable, STUDY / "study.py", f"--bin={tmp_path}",
                         f"--out={tmp_path}"], expect=1)
    assert "has no cslc" in wrong.err


def test_a_folder_that_cannot_be_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    ran = run("--small", f"--out={tmp_path}/file", expect=1)
    assert f"study.py: '{tmp_path}/file': File exists" in ran.err and "Traceback" not in ran.err


def test_a_wrong_result_is_noticed(monkeypatch):
    launch = programs.launch
    monkeypatch.setattr(programs, "launch", lambda *args: (launch(*args)[0], launch(*args)[1] + 1))
    with pytest.raises(programs.Wrong, match="not numpy's"):
        programs.measure(programs.Tools(harness.bin_dir()),
                         {"program": "line", "kind": "reduce", "P": 9, "B": 5})


def test_the_page_says_what_the_data_say():
    """Every figure has its data, its drawing and its table of claims on the page."""
    text = PAGE.read_text()
    for make in figures.ALL:
        figure = make(figures.FULL)
        found = study.read_csv(PAGE.with_name("study") / f"fig-{figure.number}.csv", figure)
        assert set(found) == {curve.label for curve in figure.curves}
        table = study.claims_table(figure, found)
        mark = study.BEGIN.format(figure.number)
        assert f"{mark}\n{table}\n{study.END}" in text, f"figure {figure.number}"
        assert f"](study/fig-{figure.number}.svg)" in text
        assert (PAGE.with_name("study") / f"fig-{figure.number}.svg").exists()
