"""What pages show for a reader to repeat in a checkout: commands print what the page shows, and scripts
run."""
import re

import pytest

import harness

DOCS = harness.ROOT / "docs"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n```output\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:csl|json) ([\w.]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["walk-through.md", "guide.md", "image.md", "cluster.md"])
def test_each_command_prints_what_the_page_shows(tmp_path, page):
    text = (DOCS / page).read_text()
    blocks = BLOCK.findall(text)
    assert blocks and text.count("```sh") == len(blocks)
    for name in ("samples", "stdlib"):
        (tmp_path / name).symlink_to(harness.ROOT / name)
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content)
    environment = {"PATH": f"{harness.bin_dir()}:/usr/bin:/bin"}
    for command, output in blocks:
        ran = harness.run(["bash", "-euc", command], cwd=tmp_path, env=environment)
        assert ran.out == output, command


# What the scripts of a page print first.
@pytest.mark.parametrize("page, first", [("cluster.md", ["[3. 3. 3."]),
                                         ("collectives.md", ["[[1. 0. 0."])])
def test_each_script_runs(tmp_path, page, first):
    scripts = SCRIPT.findall((DOCS / page).read_text())
    assert len(scripts) == len(first)
    for script, begin in zip(scripts, first):
        (tmp_path / "run.py").write_text(script)
        ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path)
        assert ran.out.startswith(begin) and ran.err == "", ran.out + ran.err


@pytest.mark.parametrize("hazard, first", [("two_senders", "error:"), ("blocked_task", "cause 1:")])
def test_reports_are_those_of_the_tests(hazard, first):
    """docs/emulator.md shows a fault and a deadlock, from the line on that begins so."""
    report = (harness.ROOT / "tests" / "hazards" / hazard / "report.txt").read_text()
    shown = report[report.index(first):]
    page = (DOCS / "emulator.md").read_text()
    assert "\n\n" + "".join(f"    {line}\n" for line in shown.splitlines()) + "\n" in page
