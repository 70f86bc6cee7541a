"""wse-dbg answers to the commands that public documents give for the vendor's debugger, alone and on
a rectangle of tiles; and it goes on with another core, in the same session."""
import re

import pytest

import harness
from test_debugger import Session
from test_stdlib_debug import LAYOUT as TRACED_LAYOUT, PE as TRACED_PE

LAYOUT = """
layout {
  @set_rectangle(3, 2);
  for (@range(u16, 3)) |x| {
    for (@range(u16, 2)) |y| { @set_tile_code(x, y, "pe.csl", .{ .x = x, .y = y }); }
  }
}
"""
PE = """
param x: u16;
param y: u16;
var spare = @zeros([3]u16);
var words: [3]u16 = [3]u16{ 0x1111, 0x2222, 0x3333 };
const id = @get_local_task_id(8);
task go() void { words[0] = 16 * x + y; words[1] = words[0]; @assert(x != 1 or y != 1); }
comptime { @bind_local_task(go, id); @activate(id); }
"""
NAME = re.compile(r"^P\d\.\d$", re.M)


@pytest.fixture
def session(tmp_path):
    made = Session(tmp_path)
    made.compile(LAYOUT, PE, "-O0")
    return made


@pytest.mark.parametrize("engine", ["--engine=fast", "--engine=reference"])
def test_memory_of_a_rectangle(session, engine):
    said = session.answers([
        "rectangle select 1,0,2,2", "memory read --address=words --length=3",
        "memory write --address=words --value=0xabcd", "memory read --address words",
        "rectangle show", "rectangle deselect", "memory read --address=&words", "print words[0]",
        "rectangle reset", "register", "wavelet", "image"], engine)
    tiles = ["P1.0", "P2.0", "P1.1", "P2.1"]
    assert said[0] == said[4] == "rectangle 1,0,2,2\n"
    assert NAME.findall(said[1]) == tiles and said[1].count(": 1111 2222 3333\n") == 4
    assert said[2] == "" and said[3].count(": abcd\n") == 4
    assert said[5] == "no rectangle: tile 1,0\n"
    assert NAME.findall(said[6]) == ["P1.0"] and said[7] == "words[0] = 43981\n"
    assert said[8] == "rectangle 0,0,3,2\n"
    assert all(len(NAME.findall(part)) == 6 for part in said[9:12])
    assert said[9].count("registers: r8") + said[9].count("has not run yet") == 6
    assert said[9].count("registers: r8") >= 4
    assert said[11].count("data words: [3]u16") == 6 and said[11].count("code go") == 6


def test_bad_words(session):
    said = session.answers([
        "memory read", "memory read --length=2", "memory read --address=nothing",
        "memory read --address=0 --length=0", "memory read --address=0xffff --length=2",
        "memory write --address=words", "memory write --address=words --value=65536",
        "rectangle select 2,2", "rectangle select 9", "trace", "target", "target create",
        "target create --cmaddr=1.2.3.4:9000", "target create --core-file=/nowhere/core",
        "context select 1", "workdir select /nowhere"])
    for text, part in zip(said, [
            "memory read --address", "memory read --address", "nothing", "from 1 to", "outside",
            "memory write --address", "a word of 16 bits", "is no tile or region",
            "is no tile or region", "trace list", "target create", "target create --core-file",
            "there is no wafer", "cannot read", "0 is the only one", "is no folder"]):
        assert part in text, (part, text)


def test_cores_in_one_session(session):
    """A core of a cycle of the past, then one of the end, which is a fault on one tile."""
    folder = session.folder
    said = session.answers([
        f"workdir select {folder}", "tile 1,1", "target save-core", "continue", "print words[0]",
        "target save-core --core-file=end", "goto 1", f"target create --core-file={folder}/end",
        "target list", "tile 1,1", "print words[0]", "memory write --address=words --value=1",
        f"target create --core-file={folder}/corefile.cs1", "context show", "tile 1,1",
        "print words[0]", "settings"])
    assert said[0] == f"cores go to '{folder}'\n"
    assert "ASSERT" in said[3] and said[4] == "words[0] = 17\n"
    assert said[5].endswith(f"is in '{folder}/end'\n")
    assert "ASSERT" in said[7] and said[8].startswith("*0  core, ")
    assert said[10] == "words[0] = 17\n"
    assert "core, " in said[13] and said[13].endswith("cycle 0\n")
    assert said[15] == "words[0] = 4369\n"
    assert said[16].endswith("trace ''\ncores go to '.'\n")


@pytest.mark.parametrize("option", ["--core={}/end", "--load-state={}/end", "--load-state {}/end"])
def test_another_core_than_that_of_the_command_line(session, option):
    folder = session.folder
    session.answers([f"workdir select {folder}", "target save-core", "continue",
                     "target save-core --core-file=end"])
    said = session.answers(["tile 1,0", "print words[0]", f"target create --core-file={folder}/corefile.cs1",
                            "tile 1,0", "print words[0]"], *option.format(folder).split())
    assert said[1] == "words[0] = 16\n" and said[4] == "words[0] = 4369\n"


def test_traces(tmp_path):
    session = Session(tmp_path)
    session.compile(TRACED_LAYOUT, TRACED_PE, "--memcpy", "--channels=1", "--fabric-dims=12,6",
                    "--fabric-offsets=5,2")
    said = session.answers([
        "continue", "rectangle reset", "trace list", "trace select values", "trace show",
        "trace select odd key", "rectangle select 1,0", "trace show"], "--launch=main")
    assert said[2].count("'values': ") == said[2].count("'odd key': ") == 2
    left, right = said[4].split("P1.0\n")
    values = [line.strip() for line in left.splitlines()[2:]]
    assert values[:6] == ["true", "200", "-100", "65535", "-32768", "1.5"]
    assert values[6:9] == ["4000000000", "-2000000000", "0.1"]
    assert values[9:13] == ["", "odd", "even", "\u00e9 {d}"]
    assert values[13:] == ["-1", "2.5", "false", "3", "-3", "1", "-1", "9", "0.25"]
    assert [line.strip() for line in right.splitlines()[1:]] == values[:6]
    first, second = (int(line) for line in said[7].splitlines()[2:])
    assert 0 <= first < second < 1000
