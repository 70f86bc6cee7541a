"""For every program of tests/mistakes/ a few lines of the report show what is wrong, and where."""
import re
from dataclasses import replace

import pytest

import harness
import mistake_run

MISTAKES = mistake_run.all_mistakes()
LEVELS = ("-O0", "-O1", "-O2")


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m.name for m in MISTAKES])
def test_mistake(mistake, tmp_path):
    for arch in mistake.arches:
        for level in LEVELS:
            reports = [mistake_run.report(mistake, arch, level, engine, tmp_path)
                       for engine in mistake_run.ENGINES]
            assert reports[0] == reports[1]
            assert mistake.guilty and mistake.finds
            assert not mistake_run.wrong(mistake, reports[0]), f"{arch} {level}\n{reports[0]}"


def test_an_access_that_begins_in_a_variable_names_it_once(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "reads_past_the_end")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert re.search(r"the access begins in the variable: 'x', 0x\w+ to 0x\w+, and ends behind it", text)
        assert text.count("'x'") == 1, text


def test_what_differs_in_the_value_alone_is_one_cause(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "left_on_several_tiles")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert "likewise at P3.0" in text and "cause 2" not in text, text


def test_what_comes_from_another_side_is_the_same_cause(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "control_on_four_sides")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert "likewise at P0.1, P2.1, P1.2" in text and "cause 2" not in text, text


def test_the_same_line_in_other_code_is_one_finding(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "same_line_in_other_code")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert "likewise at P1.0, P2.0" in text and text.count("OUT_OF_BOUNDS") == 1, text


def test_a_tile_at_the_border_waits_for_no_neighbour(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "counter_at_the_border")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert "cause 2" not in text and "no wavelet of" not in text, text


def test_a_queue_with_another_color_by_now_may_have_sent(tmp_path):
    mistake = next(m for m in MISTAKES if m.name == "receiver_not_rebound")
    text = mistake_run.report(mistake, "wse3", "-O1", "fast", tmp_path)
    assert "nobody there ever has" not in text, text


def test_a_task_that_will_unblock_is_no_cause(tmp_path):
    """It starts when the operation that waits is over, so what holds that one up is to blame."""
    mistake = next(m for m in MISTAKES if m.name == "unblock_behind_a_send")
    for arch in mistake.arches:
        text = mistake_run.report(mistake, arch, "-O1", "fast", tmp_path)
        assert "cause 2" not in text and "nothing unblocks it" not in text, text


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if m.error],
                         ids=[m.name for m in MISTAKES if m.error])
def test_a_warning_is_an_error_on_request(mistake, tmp_path):
    asked, silent = mistake_run.as_error(mistake), replace(mistake, emu=["--check=off"])
    warning = "warning, not an error"
    for arch in mistake.arches:
        for engine in mistake_run.ENGINES:
            text = mistake_run.report(asked, arch, "-O1", engine, tmp_path)
            assert text.startswith("error") and not mistake_run.wrong(asked, text)
            assert warning not in mistake_run.report(silent, arch, "-O1", engine, tmp_path)
            assert warning in mistake_run.report(mistake, arch, "-O1", engine, tmp_path)


def test_a_run_that_ends_well_warns_of_lost_control_wavelets(tmp_path):
    """Without an option, once per place; nothing if findings are switched off."""
    mistake = next(m for m in MISTAKES if m.name == "control_dropped_in_silence")
    for arch in mistake.arches:
        for engine in mistake_run.ENGINES:
            asked = replace(mistake, emu=[], exit_code=0)
            text = mistake_run.report(asked, arch, "-O1", engine, tmp_path)
            assert text.startswith("warning, not an error") and not mistake_run.wrong(asked, text)
            silent = replace(asked, emu=["--check=off"])
            assert mistake_run.report(silent, arch, "-O1", engine, tmp_path) == ""


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_a_call_that_a_tile_leaves_out_is_no_matter_of_routes(arch, tmp_path):
    """The routes of a collective are the library's; what the user can mend is the call."""
    program = harness.ROOT / "tests" / "stdlib" / "skipped_call" / "layout.csl"
    image = tmp_path / "prog.bin"
    harness.cslc(program, f"--arch={arch}", "--memcpy", "--channels=1", "--params=width:4",
                 "-o", image)
    for engine in mistake_run.ENGINES:
        text = harness.emu(image, f"--engine={engine}", "--launch=go", expect=3).err
        helps = [line for line in text.splitlines() if line.startswith("  help: ")]
        assert helps and "P2.0" in text.splitlines()[1], text
        for line in helps:
            assert "call of <collectives_2d/pe>: let all tiles that take part make" in line, text


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_what_a_short_call_leaves_is_no_matter_of_extents(arch, tmp_path):
    """The extents of a collective are the library's; what the user can mend is the call."""
    image = tmp_path / "prog.bin"
    harness.compile(harness.ROOT / "tests" / "stdlib" / "short_call" / "layout.csl", image,
                    f"--arch={arch}")
    for engine in mistake_run.ENGINES:
        text = harness.emu(image, f"--engine={engine}", "--run").err
        assert "nobody reads P2.0 input queue 4" in text.splitlines()[1], text
        assert re.search(r", called at .*pe\.csl:11$", text.splitlines()[1]), text
        assert "call of <collectives/broadcast>: let all tiles that take part make" in text, text


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_a_collective_before_its_first_call(arch, tmp_path):
    """The program has a function that calls init(), so the compiler is silent; the host launches the other."""
    image = tmp_path / "prog.bin"
    harness.compile(harness.ROOT / "tests" / "stdlib" / "before_init" / "layout.csl", image,
                    f"--arch={arch}", "--memcpy", "--channels=1")
    harness.emu(image, "--launch=setup", "--launch=go")
    for engine in mistake_run.ENGINES:
        text = harness.emu(image, f"--engine={engine}", "--check=off", "--launch=go", expect=3).err
        helps = [line for line in text.splitlines() if line.startswith("  help: ")]
        assert helps, text
        for line in helps:
            assert ("call of <collectives_2d/pe>: let all tiles that take part make the same calls, in the "
                    "same order and with the same root and count, after init()") in line, text
