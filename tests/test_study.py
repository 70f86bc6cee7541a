"""samples/study: a small form of the figures, results kept, interrupts, and the page."""
import os
import signal
import subprocess
import sys
import time

import pytest

import harness

STUDY = harness.SAMPLES / "study"
PAGE = harness.ROOT / "docs" / "study.md"
sys.path.insert(0, str(STUDY))
import figures  # noqa: E402
import programs  # noqa: E402
import study  # noqa: E402


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


@pytest.mark.slow
def test_every_program_of_the_small_study(tmp_path):
    run("--small", f"--out={tmp_path}", "--formats=", "--jobs=2")
    for make in figures.ALL:
        number = make(figures.SMALL).number
        for label, points in cycles(tmp_path, number).items():
            assert points and all(value >= 0 for value in points.values()), f"{number} {label}"


def tools_that_wait(folder, kept):
    """A folder of the tools in which, as soon as there are some results, wse-emu waits while the
    file `wait` is there; `waits` says that it does."""
    folder.mkdir()
    for name in ("cslc", "wse-model"):
        (folder / name).symlink_to(harness.bin_dir() / name)
    emu = folder / "wse-emu"
    emu.write_text(f"""#!/bin/sh
if [ -e {folder}/wait ] && [ "$(ls {kept} | wc -l)" -ge 5 ]; then touch {folder}/waits; sleep 60; fi
exec {harness.bin_dir()}/wse-emu "$@"
""")
    emu.chmod(0o755)
    (folder / "wait").touch()
    return folder


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(tmp_path):
    """Interrupted after the first results, the study says so and goes on from there."""
    kept, tools = tmp_path / "results", tools_that_wait(tmp_path / "tools", tmp_path / "results")
    args = [sys.executable, STUDY / "study.py", f"--bin={tools}", "--small", f"--out={tmp_path}",
            "--formats=", "--only=5.9,6.7,7.5", "--jobs=1"]
    # Whoever runs the tests in the background may have had interrupts ignored.
    first = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while first.poll() is None and not (tools / "waits").exists():
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 1 and "the same command goes on from here" in err
    (tools / "wait").unlink()
    before = len(list(kept.glob("*.json")))
    assert before >= 5 and f", {before} of them kept" in harness.run(args).err


def test_mistakes(tmp_path):
    assert "there are 4.2" in run("--only=9.9", f"--out={tmp_path}", expect=1).err
    wrong = harness.run([sys.executable, STUDY / "study.py", f"--bin={tmp_path}",
                         f"--out={tmp_path}"], expect=1)
    assert "has no cslc" in wrong.err


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
