"""wse-dbg opens the state of a run that has ended, at a limit, by a fault or in a deadlock: its
variables, tasks and queues are there, and it goes on from there, but not back."""
import pytest

import harness
from test_debugger import LONG_LAYOUT, LONG_PE

ENGINES = pytest.mark.parametrize("engine", ["--engine=fast", "--engine=reference"])


def build(folder, layout, pe):
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(pe)
    harness.compile(folder / "layout.csl", folder / "p.bin", "-O0")
    return folder / "p.bin"


def look(image, state, commands, *options):
    script = state.parent / "script"
    script.write_text("\n".join(commands) + "\n")
    ran = harness.run([harness.tool("wse-dbg"), image, f"--core={state}", "-x", script, *options])
    pieces = ran.out.split("(wse-dbg) ")
    return [pieces[0], *(p.partition("\n")[2] for p in pieces[1:len(commands) + 1])]


@ENGINES
def test_the_state_at_a_limit_is_the_one_of_a_debugger_that_went_there(tmp_path, engine):
    image, state = build(tmp_path, LONG_LAYOUT, LONG_PE), tmp_path / "state"
    harness.emu(image, "--max-cycles=100000", f"--save-state={state}", engine, expect=4)
    script = tmp_path / "there"
    script.write_text("continue\ngoto 100000\nhash\nprint state\nbacktrace\n")
    ran = harness.run([harness.tool("wse-dbg"), image, "-x", script, engine])
    there = [p.partition("\n")[2] for p in ran.out.split("(wse-dbg) ")][3:6]
    answers = look(image, state, ["hash", "print state", "backtrace", "reverse-step", "goto 5",
                                  "hash"], engine)
    assert "cycle 100000, P0.0: start at" in answers[0]
    assert answers[1:4] == there
    assert answers[6] == there[0]


@ENGINES
def test_a_fault_and_its_place(tmp_path, engine):
    image = build(tmp_path, "layout { @set_rectangle(1, 1); @set_tile_code(0, 0, \"pe.csl\", .{}); }",
                  """
const assert_id = @get_local_task_id(8);
var n: i16 = 3;
task go() void {
  n += 4;
  @assert(n == 3);
}
comptime { @bind_local_task(go, assert_id); @activate(assert_id); }
""")
    state = tmp_path / "state"
    harness.emu(image, f"--save-state={state}", engine, expect=2)
    answers = look(image, state, ["print n"], engine)
    assert "ASSERT" in answers[0] and "pe.csl:6" in answers[0]
    assert answers[1] == "n = 7\n"
