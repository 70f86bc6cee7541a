"""wse-dbg: the guide's example, stops, steps, values, and the way back, on both engines."""
import os
import re

import pytest

import harness
from test_debug_info import LAYOUT, PE

GUIDE = harness.ROOT / "docs" / "debugger.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "(wse-dbg) "


def test_the_guide_does_what_it_says(tmp_path):
    text, ran, at = GUIDE.read_text(), None, 0
    env = {"PATH": f"{harness.bin_dir()}:/usr/bin:/bin"}
    commands = 0
    for match in BLOCK.finditer(text):
        kind, body = match.group(1), match.group(2)
        if kind in ("csl", "dbg"):
            name = re.search(r"`([\w.]+)`:\n\n$", text[at:match.start()]).group(1)
            (tmp_path / name).write_text(body)
            commands += body.count("\n") if kind == "dbg" else 0
        elif kind == "sh":
            ran = harness.run(["bash", "-euc", body], cwd=tmp_path, env=env)
        else:
            assert ran.out == body
        at = match.end()
    assert commands == 10


@pytest.fixture(params=("--engine=fast", "--engine=reference", "--threads=2"))
def engine(request):
    return request.param


class Session:
    """A program and the answers of a debugger that has run commands on it."""

    def __init__(self, folder):
        self.folder = folder

    def compile(self, layout, pe, *options):
        (self.folder / "layout.csl").write_text(layout)
        (self.folder / "pe.csl").write_text(pe)
        harness.compile(self.folder / "layout.csl", self.folder / "p.bin", *options)

    def answers(self, commands, *options, expect=0):
        script = self.folder / "script"
        script.write_text("\n".join(commands) + "\n")
        ran = harness.run([harness.tool("wse-dbg"), self.folder / "p.bin", "-x", script,
                           *options], expect=expect, cwd=self.folder)
        pieces = ran.out.split(PROMPT)
        return [piece.partition("\n")[2] for piece in pieces[1:1 + len(commands)]]


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path)


def line_of(text, source=PE):
    return source[:source.index(text)].count("\n") + 1


@pytest.mark.parametrize("level", ("-O0", "-O1"))
def test_breakpoints_steps_and_values(session, engine, level):
    session.compile(LAYOUT, PE, level)
    out = session.answers(["break scale @1,0", "continue", "print n", "print table", "backtrace",
                           "next", "print pending", "info locals", "delete", "continue",
                           "print mode", "print p", "print zeros[3] + 1"],
                          engine, "--launch=main(2)")
    line = int(re.fullmatch(r"breakpoint 1, cycle \d+, P1\.0: scale at \S*pe.csl:(\d+)\n",
                            out[1]).group(1))
    first = line_of("var twice")
    assert line == first or (level == "-O1" and first <= line <= first + 3)
    assert out[2] == "n = 2\n" or (level == "-O1" and "no place here" in out[2])
    assert out[3] == "table = { { 1, 2, 3 }, { 4, 5, 6 } }\n"
    frames = re.findall(r"^.\d+  (\S+)", out[4], re.M)
    assert frames[:2] == ["scale", "main"]
    assert out[6] == "pending = 4\n" or (level == "-O1" and out[6].startswith("pending = 4 in mem"))
    assert out[9].startswith("the run is over, ")
    assert out[10:] == ["mode = red\n", "p = { .x = 1.5, .y = -2, .m = blue }\n",
                        "zeros[3] + 1 = 31\n"]


def test_a_function_without_parameters_has_none(session, engine):
    pe = """
var sum: i16 = 0;
fn add(n: i16) void {
  var twice = n * 2;
  sum += twice + n;
}
fn work() void {
  var total: i16 = sum + 1;
  sum = total * 3;
  add(total);
  sum += 1;
}
task main() void { work(); }
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""
    session.compile('layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }', pe,
                    "-O0")
    out = session.answers([f"break pe.csl:{line_of('add(total);', pe)}", "continue", "info args",
                           "info locals", f"break pe.csl:{line_of('sum += twice', pe)}",
                           "continue", "info args", "info locals"], engine)
    assert out[2:4] == ["the function has none here\n", "total = 1\n"]
    assert out[6:] == ["n = 1\n", "n = 1\ntwice = 2\n"]


def test_a_stretch_of_an_array_is_printed(session, engine):
    """Also one that begins behind the elements that a whole array shows."""
    pe = """
var many = @zeros([200]u16);
var grid = @zeros([2, 3]u16);
var behind: [*]u16 = &many;
fn main() void { for (@range(u16, 200)) |i| { many[i] = i; } grid[1, 2] = many[3]; }
comptime { @export_symbol(main); @export_symbol(behind); }
"""
    session.compile(LAYOUT.replace(".id = 3", "").replace(".id = 4", "").replace(
        '@export_name("main", fn(i16)void);',
        '@export_name("main", fn()void); @export_name("behind", [*]u16, true);'), pe, "-O0")
    refused = {"many[4..4]": "no elements", "many[199..201]": "no elements", "many[-1..2]": "no elements",
               "grid[0..1]": "one dimension", "many[1][0..1]": "one dimension",
               "many[0..1, 2]": "']' is missing", "behind[0..100000]": "no elements",
               f"behind[-{2**63 - 1}..{2**63 - 1}]": "no elements",
               "many[1.5]": "whole number", "many[0..1.5]": "whole number", "many[1..": "missing"}
    shown = {"many[100..103]": "{ 100, 101, 102 }", "behind[7..9]": "{ 7, 8 }",
             "many[many[150]..many[151] + 1]": "{ 150, 151 }", "many[1..4][2]": "3",
             "many[0..2][1] + 5": "6"}
    texts = [*shown, *refused]
    out = session.answers(["tile 1,0", "continue", *[f"print {text}" for text in texts],
                           "print many[198..200]", "watch many[3..5]"], engine, "--launch=main")[2:]
    assert out[:len(shown)] == [f"{text} = {value}\n" for text, value in shown.items()]
    for text, answer in zip(refused, out[len(shown):]):
        assert refused[text] in answer, text
    assert out[-2:] == ["many[198..200] = { 198, 199 }\n", "watchpoint 1: many[3..5]\n"]


def test_a_watchpoint_shows_what_was_and_what_is(session, engine):
    session.compile(LAYOUT, PE, "-O0")
    out = session.answers(["tile 0,0", "watch pending if pending > 5", "continue", "continue",
                           "reverse-continue", "delete", "watch sign", "watch pair", "continue"],
                          engine, "--launch=main(2)")
    changes = [text.splitlines()[1].removeprefix("  pending was ").split(" and is ")
               for text in out[2:5]]
    assert int(changes[0][0]) < int(changes[0][1]) == int(changes[1][0]) < int(changes[1][1])
    assert changes[2] == changes[0]
    assert out[8].startswith("watchpoint ") and len(out[8].splitlines()) == 1    # it has parts


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_the_way_back_leads_to_the_same_states(session, engine, level):
    session.compile(LAYOUT, PE, level)
    forward = ["hash"] + ["cycle 7", "hash"] * 9
    back = ["reverse-cycle 7", "hash"] * 9
    out = session.answers(forward + back, engine, "--launch=main(2)")
    hashes = [text for text in out if text.startswith("cycle") and "state" in text]
    assert len(hashes) == 19 and len(set(hashes)) == 10
    assert hashes[9:] == hashes[9::-1]


def test_reverse_continue_and_last_write(session, engine):
    session.compile(LAYOUT, PE, "-O0")
    store = line_of("pending += ")
    out = session.answers(["tile 0,0", "break scale @0,0", "continue", "continue", "continue",
                           "reverse-continue", "reverse-continue", "reverse-continue", "goto",
                           "delete", "continue", "last-write pending", "print pending",
                           "last-write pending", "print pending", "last-write pending",
                           "last-write pending"], engine, "--launch=main(2)")
    cycles = [int(re.search(r"cycle (\d+)", text).group(1)) for text in out[2:8]]
    assert cycles[0] < cycles[1] < cycles[2]
    assert cycles[3] == cycles[1] and cycles[4] == cycles[0] and cycles[5] == 0
    assert out[12] == "pending = 31\n" and out[14] == "pending = 20\n"
    assert f"pe.csl:{store}" in out[13] or f"pe.csl:{store + 1}" in out[13]
    assert "nothing has written it before" in out[16]


def test_conditions_hit_counts_and_watches(session, engine):
    session.compile(LAYOUT, PE, "-O0")
    out = session.answers(["tile 0,0", f"break pe.csl:{line_of('table[1, i]')} @0,0 if i == 2",
                           "continue", "print i", "watch result", "continue", "print result",
                           "info breakpoints"], engine, "--launch=main(2)")
    assert out[3] == "i = 2\n"
    assert out[5].startswith("watchpoint 2, ") and out[6] == "result = 27\n"
    assert out[5].splitlines()[1] == "  result was 0 and is 27"
    assert "1 hits" in out[7]
    out = session.answers(["break scale @0,0", "ignore 1 2", "continue", "up", "print i"], engine,
                          "--launch=main(2)")
    assert out[4] == "i = 2\n"


def test_wavelets_tasks_and_switches(tmp_path, engine):
    harness.compile("samples/packets/layout.csl", tmp_path / "p.bin", params={"packets": 3})
    session = Session(tmp_path)
    out = session.answers(["break wavelet stream arrives @1,0", "continue", "delete",
                           "break task head", "continue", "delete", "task"], engine)
    assert "breakpoint 1" in out[1] and "P1.0" in out[1]
    assert "breakpoint 2" in out[4] and "P1.0: head" in out[4]


def test_writing_needs_the_present(session, engine):
    session.compile(LAYOUT, PE, "-O0")
    out = session.answers(["tile 0,0", "break scale @0,0", "continue", "set pending = 40",
                           "set bits.c = -4", "print bits", "reverse-cycle", "set pending = 3",
                           "goto", "delete", "continue", "print pending"], engine,
                          "--launch=main(2)")
    assert out[3] == "pending = 40\n" and out[5] == "bits = { .a = 5, .b = true, .c = -4 }\n"
    assert "the past cannot change" in out[7]
    assert out[11] == "pending = 67\n"


HELD = """
var small: i16 = 1;
var count: u32 = 1;
var half: f16 = 1.0;
var flag: bool = false;
var wide: u64 = 1;
fn main() void { small += 1; count += 1; half += 1.0; wide += 1; flag = small > 5; }
comptime { @export_symbol(main); }
"""


@pytest.mark.parametrize("text, answer", [
    ("small = -32768", "small = -32768"), ("small = 32768", "i16 does not hold 32768"),
    ("small = 0xffff", "i16 does not hold 65535"), ("small = 2.5", "i16 does not hold 2.5"),
    ("small = 2.0", "small = 2"), ("small = -32769", "i16 does not hold -32769"),
    ("count = 4294967295", "count = 4294967295"), ("count = -1", "u32 does not hold -1"),
    ("count = 99999999999", "u32 does not hold 99999999999"),
    ("half = 65504", "half = 65504"), ("half = 70000", "f16 does not hold 70000"),
    ("flag = 1", "flag = true"), ("flag = 2", "bool does not hold 2"),
    ("wide = 18446744073709551615", "wide = 18446744073709551615"), ("wide = -1", "u64 does not hold -1"),
])
def test_a_number_that_a_type_does_not_hold_is_refused(session, text, answer):
    session.compile("layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, \"pe.csl\");\n"
                    "  @export_name(\"main\", fn()void);\n}\n", HELD, "-O0")
    name = text.split()[0]
    told, after = session.answers([f"set {text}", f"print {name}"], "--engine=fast",
                                  "--launch=main")
    assert told == answer + "\n"
    assert after == (answer if "hold" not in answer else
                     {"small": "small = 1", "count": "count = 1", "half": "half = 1",
                      "flag": "flag = false", "wide": "wide = 1"}[name]) + "\n"


def test_lists_without_entries_say_so(session):
    """Where no main thread runs, nothing is in a function; the source has no place either."""
    session.compile(LAYOUT, PE)
    out = session.answers(["info locals", "info args", "info dsrs", "list", "quit"])
    assert out[0] == out[1] == "the tile's main thread is in no function\n"
    assert out[2] == "the tile has loaded no DSR\n"
    assert out[3].startswith("     1  ") and "->" not in out[3]


MISTAKES = {
    "frobnicate": "there is no command 'frobnicate'", "brek scale": "did you mean 'break'?",
    "run": "did you mean 'continue'?", "where": "did you mean 'backtrace'?", "break nowhere": "no tile has a function",
    "break pe.csl:9999": "no tile has code at line 9999", "break": "a place is missing",
    "break scale @7,7": "is no tile or region", "break wavelet 99": "no tile has a color '99'",
    "break task nowhere": "no tile has a task 'nowhere'",
    "break scale if": "a condition is missing behind 'if'",
    "enable": "the number of a breakpoint is missing", "print /x table": "is no number",
    "list 99999": "pe.csl' has ", "print *p": "what a pointer points to is 'p.*' in CSL",
    "print nope": "there is no 'nope' here; of constants and parameters, most numbers that the program",
    "print table[7, 0]": "index 7 is outside",
    "print (1 + ": "a value is missing", "print 1 / 0": "division by zero",
    "print p.nope": "has no field 'nope'", "print $r99": "there is no register",
    "watch 1 + 1": "is no variable in memory", "tile 9,9": "is no tile", "delete 4":
    "there is no breakpoint 4", "step x": "is no number", "set 1 = 2": "only numbers in memory",
    "memory 0 99999": "at most", "goto 99999999": "has not come farther", "frame 7":
    "there is no such frame", "print " + "(" * 80 + "1": "too deep", "print p": "p = {",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_have_answers(session, command):
    session.compile(LAYOUT, PE)
    assert MISTAKES[command] in session.answers([command, "quit"], "--launch=main(2)")[0]


def test_a_count_of_hits_is_a_number(session):
    session.compile(LAYOUT, PE)
    out = session.answers(["break scale", "ignore 1 -3", "ignore 1 2", "info breakpoints", "quit"],
                          "--launch=main(2)")
    assert out[1] == "'-3' is no number\n" and "stops after 2" in out[3]


PASSED_ON = """
var total: i16 = 0;
var wide: f32 = 0.0;
noinline fn add(x: i16, y: i16, z: f32) void { total += x * y; wide += z; }
noinline fn pass(n: i16, m: i16, z: f32) void {
  add(n, m, z);
}
noinline fn turned(n: i16, m: i16, z: f32) void {
  add(m, n, z);
}
fn main(k: i16) void {
  pass(k, 7, 1.5);
  turned(k, 8, 2.5);
}
comptime { @export_symbol(main); }
"""


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_a_parameter_that_is_only_passed_on_has_its_place_at_the_call(session, engine, level):
    """Not in the frame of a call that has begun: what is called may use its register."""
    session.compile(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{});\n'
        '  @export_name("main", fn(i16) void); }', PASSED_ON, level)
    out = session.answers([
        *(f"break pe.csl:{line_of(text, PASSED_ON)}" for text in ("add(n, m", "add(m, n", "total +=")),
        "continue", "info locals", "continue", "info locals", "print m", "up", "print m", "continue",
        "info locals", "continue", "info locals"], engine, "--launch=main(5)")
    assert out[4] == "n = 5\nm = 7\nz = 1.5\n"
    assert out[6] == "x = 5\ny = 7\nz = 1.5\n" and "pass" in out[8]
    assert out[9] == "'m' has no place here: the code does not need it any more, or not yet\n"
    assert out[11] == "n = 5\nm = 8\nz = 2.5\n" and out[13] == "x = 8\ny = 5\nz = 2.5\n"


# Commands with numbers, and what each says: as in CSL, 010 is ten.
NUMBERS_GIVEN = (
    ("goto 0010", "cycle 10"), ("goto 0x8", "cycle 8"), ("goto 0b11", "cycle 3"), ("goto 08", "cycle 8"),
    ("goto 18446744073709551616", "has more than 64 bits"), ("goto +1", "'+1' is no number"),
    ("goto -1", "'-1' is no number"), ("goto 1x", "'1x' is no number"), ("goto 0x", "'0x' is no number"),
    ("memory table 010", ": "), ("memory table 4 4", "memory ADDRESS [BYTES]"),
    ("memory table x", "memory ADDRESS [BYTES]"), ("memory table -4294967295", "memory ADDRESS [BYTES]"),
    ("memory table 4294967297", "memory ADDRESS [BYTES]"),
    ("memory 0x100000000", "0x100000000 lies outside the tile's memory"),
    ("memory -1", "lies outside the tile's memory"),
    ("memory read --address=table --length=010", "0x"),
    ("memory read --address=table --length=4294967297", "from 1 to"),
    ("memory read --address=table --length=3x", "from 1 to"),
    ("memory read --address=0x100000000", "0x100000000 lies outside"),
    ("memory write --address=table --value=65537", "a word of 16 bits"),
    ("memory write --address=table --value=+1", "a word of 16 bits"),
    ("break wavelet 027", "no tile has a color '027'"), ("break *0x100000000", "no instruction begins"),
    ("ignore 1 2 3", "ignore NUMBER COUNT"), ("tile +0,0", "'+0,0' is no tile X,Y"),
    ("tile -0,0", "'-0,0' is no tile X,Y"), ("tile 9,0", "go from 0,0 to "), ("break scale @+0,0", "is no tile or region"),
    ("disassemble 0x100000002", "no instruction begins at 0x100000002"),
)


def test_numbers_in_commands(session):
    session.compile(LAYOUT, PE)
    out = session.answers(["break scale", "continue", "memory write --address=table --value=010",
                           "print table[0, 0]", *(command for command, _ in NUMBERS_GIVEN)],
                          "--launch=main(2)")
    assert out[3] == "table[0, 0] = 10\n"
    told = dict(zip((command for command, _ in NUMBERS_GIVEN), out[4:]))
    for command, text in NUMBERS_GIVEN:
        assert text in told[command], (command, told[command])
    assert told["memory table 010"].count(" ") == 5            # 10 bytes are 5 words
    assert told["memory read --address=table --length=010"].count(" ") == 10


def test_a_variable_of_another_tile_is_found_there(tmp_path):
    harness.compile("samples/hello-wavelet/layout.csl", tmp_path / "p.bin")
    script = tmp_path / "script"
    script.write_text("print received\ntile 1,0\nprint received\nprint nope\n")
    out = harness.run([harness.tool("wse-dbg"), tmp_path / "p.bin", "-x", script]).out
    assert "tile 1,0 has 'received', and this tile has not; 'tile 1,0' selects it\n" in out
    assert "received = 0\n" in out and "there is no 'nope' here" in out


@pytest.mark.parametrize("option, message", [
    ("--core=none", "cannot use the state 'none'"), ("--print=nope", "exports no 'nope'"),
    ("--core", "--core needs a file, as in --core=STATE")])
def test_a_mistake_of_the_command_line_opens_nothing(tmp_path, option, message):
    harness.compile("samples/hello-wavelet/layout.csl", tmp_path / "p.bin")
    ran = harness.run([harness.tool("wse-dbg"), tmp_path / "p.bin", option], expect=1)
    assert message in ran.err and ran.out == ""


def test_a_fault_stops_and_leads_back(session, engine):
    bad = PE.replace("result = @as(f32, sum);", "ptr = @bitcast(*f32, @as(u16, 0xfff0));\n"
                     "  ptr.* = @as(f32, sum);")
    session.compile(LAYOUT, bad, "-O0")
    out = session.answers(["continue", "print ptr", "last-write ptr", "print table"], engine,
                          "--launch=main(2)")
    assert "error: cycle" in out[0] and "0xfff0" in out[1]
    assert f"pe.csl:{line_of('ptr.* = @as', bad)}" in out[2]
    assert out[3].startswith("table = { { 1, 2, 3 }, { 8, ")


LONG_LAYOUT = """
const out = @get_color(0);
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .x = x }); }
  @set_color_config(0, 0, out, .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } });
  @set_color_config(1, 0, out, .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } });
}
"""
LONG_PE = """
param x: u16;
const out = @get_color(0);
const to = @get_dsd(fabout_dsd, .{ .fabric_color = out, .extent = 1,
                                   .output_queue = @get_output_queue(2) });
var seen: u32 = 0;
var state: u32 = 1;
const start_id = @get_local_task_id(8);
task start() void {
  for (@range(u16, 30000)) |i| {
    state = state * 1664525 + 1013904223;
    if (i % 500 == 499) {
      @mov32(to, state);
    }
  }
}
task take(word: u32) void {
  seen += word;
}
comptime {
  @bind_local_task(start, start_id);
  if (x == 0) { @activate(start_id); }
  if (@is_arch("wse3")) {
    @initialize_queue(@get_output_queue(2), .{ .color = out });
    if (x == 1) {
      @initialize_queue(@get_input_queue(2), .{ .color = out });
      @bind_data_task(take, @get_data_task_id(@get_input_queue(2)));
    }
  } else if (x == 1) {
    @bind_data_task(take, @get_data_task_id(out));
  }
}
"""


def test_a_long_way_back_comes_to_the_same_states(session, engine):
    """The debugger goes on from the last state that it has kept before a cycle."""
    session.compile(LONG_LAYOUT, LONG_PE)
    cycles = [300000, 5, 299001, 123456, 77777, 250001, 4096, 4097, 200000, 12]
    there = [text for cycle in sorted(cycles) for text in (f"goto {cycle}", "hash")]
    back = [text for cycle in cycles for text in (f"goto {cycle}", "hash")]
    answers = session.answers(["break task", "continue", "delete", "continue", *there, *back], engine)
    found = [re.fullmatch(r"cycle (\d+), state (\w+)\n", text).groups()
             for text in answers[5::2]]
    states = dict(found[:len(cycles)])
    assert [int(cycle) for cycle, _ in found[:len(cycles)]] == sorted(cycles)
    assert len(set(states.values())) == len(cycles)
    assert found[len(cycles):] == [(str(cycle), states[str(cycle)]) for cycle in cycles]


def test_a_step_back_at_the_end_of_a_long_run_finds_the_line_before(session, engine):
    """The search goes back from state to state: it must stop where a search from the start does."""
    session.compile(LONG_LAYOUT, LONG_PE, "-O0")
    commands = ["tile 1,0", "continue", "last-write seen", "break take", "reverse-continue",
                "print word", "reverse-continue", "print word", "continue", "print word", "delete",
                "reverse-step", "reverse-step", "tile 0,0", "reverse-next", "reverse-next",
                "watch state", "reverse-continue", "reverse-continue", "delete", "reverse-continue"]
    answers = session.answers(commands, engine)
    lines = [re.sub(r"at .*/", "at ", text) for text in answers]
    assert re.fullmatch(r"cycle \d+, P1.0: take at pe.csl:19\n", lines[2])
    word = r"word = (\d+)\n"
    last, before, again = (re.fullmatch(word, lines[i]).group(1) for i in (5, 7, 9))
    assert last == again != before
    words, state = [], 1
    for i in range(30000):
        state = (state * 1664525 + 1013904223) % 2**32
        words += [state] if i % 500 == 499 else []
    assert [int(before), int(last)] == words[-2:]
    assert all(": take at pe.csl:" in lines[i] for i in (4, 6, 8, 11))
    assert all("P0.0: start at pe.csl:" in lines[i] for i in (14, 15, 17, 18))
    cycles = [int(re.search(r"cycle (\d+)", lines[i]).group(1)) for i in (14, 15, 17, 18)]
    assert cycles == sorted(cycles, reverse=True)
    assert "cycle 0, P0.0" in lines[20]


AROUND = """\
var n: i16 = 0;
const id = @get_local_task_id(8);
task go() void {
  for (@range(i16, 4)) |i| {
    if (i != 2) {
      n += 3;
    } else {
      n += 5;
      const same: i16 = i;
    }
  }
}
comptime { @bind_local_task(go, id); @activate(id); }
"""


def test_the_way_around_a_loop_is_no_line_of_its_body(tmp_path):
    """The last line of an arm may have no code; what follows belongs to the other arm, too."""
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }')
    (tmp_path / "pe.csl").write_text(AROUND)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O0")
    line = AROUND.splitlines().index("      const same: i16 = i;") + 1
    (tmp_path / "script").write_text(f"break pe.csl:{line}\n" + 5 * "continue\n")
    ran = harness.run([harness.tool("wse-dbg"), tmp_path / "p.bin", "-x", tmp_path / "script"])
    assert ran.out.count("breakpoint 1, ") <= 1, ran.out


INLINED = """
var table = @zeros([4]i16);
var total: i16 = 0;
const id: local_task_id = @get_local_task_id(8);
inline fn twice(v: i16) i16 {
  const two = v + v;
  return two;
}
inline fn square(v: i16) i16 {
  var sum: i16 = twice(v);
  sum = sum + v * v;
  return sum - v - v;
}
fn fill(base: i16) void {
  for (@range(i16, 4)) |i| {
    table[@as(u16, i)] = square(base + i);
    total += 1;
  }
}
task go() void {
  fill(total + 2);
  total += 100;
}
comptime { @bind_local_task(go, id); @activate(id); }
"""


def stands(session, commands, *options):
    """Where the debugger stands after each command: "FUNCTION LINE"."""
    out = session.answers(commands, *options)
    return [re.sub(r"(?s).*: (\w+) at .*pe\.csl:(\d+)\n", r"\1 \2", text) for text in out]


@pytest.fixture
def inlined(session):
    def compile(level):
        session.compile('layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }',
                        INLINED, level)
        return session
    return compile


LOOP, CALL, AFTER, TWO, SUM, SUM_2, RETURN, BEHIND = (
    line_of(text, INLINED) for text in ("for (@range", "square(base", "total += 1;", "const two",
                                        "var sum", "sum = sum", "return sum", "total += 100"))


def test_next_goes_over_inlined_calls(inlined, engine):
    way = stands(inlined("-O0"), [f"tbreak pe.csl:{CALL}", "continue", "next", "next", "next",
                                  "reverse-next", "reverse-next", "reverse-next"], engine)
    assert way[1:] == [f"fill {line}" for line in (CALL, AFTER, LOOP, CALL, LOOP, AFTER, CALL)]
    way = stands(inlined("-O0"), ["tbreak square", "continue", "next", "next"], engine)
    assert way[1:] == [f"square {line}" for line in (SUM, SUM_2, RETURN)]


@pytest.mark.parametrize("level", ("-O0", "-O1"))
def test_finish_leads_to_the_caller_of_an_inlined_call(inlined, engine, level):
    start = [f"tbreak pe.csl:{TWO}", "continue"]
    way = stands(inlined(level), [*start, "finish", "finish"], engine)
    assert way[1] == f"twice {TWO}" and way[2].startswith("square ") and way[3] == f"fill {CALL}"
    assert stands(inlined(level), [*start, "up", "finish"], engine)[3] == f"fill {CALL}"
    assert stands(inlined("-O0"), [*start, "up", "up", "finish"], engine)[4] == f"go {BEHIND}"


def test_a_condition_without_a_value_stops_and_says_why(inlined, engine):
    out = inlined("-O1").answers([f"tbreak pe.csl:{TWO} if nothing == 5", "continue",
                                  f"break pe.csl:{TWO} if 1", "continue"], engine)
    why = "its condition has no value (there is no 'nothing' here"
    assert out[1].startswith(f"breakpoint 1, {why}")
    assert out[3].startswith("breakpoint 2, cycle ")


NUMBERS = """
var done: i16 = 0;
var small: i16 = -4;
var byte: i8 = -5;
var mask: u16 = 0xff00;
var big: u64 = 0x8000000000000005;
var half: f16 = 0.1;
var single: f32 = 0.1;
fn main() void {
  small -= done;
  byte -= @as(i8, done);
  mask += @as(u16, done);
  big += @as(u64, @as(u16, done));
  half += @as(f16, done);
  single += @as(f32, done);
  done = 1;
}
comptime { @export_symbol(main); @export_symbol(done); }
"""
LAYOUT_OF_NUMBERS = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("main", fn()void);
  @export_name("done", i16, true);
}
"""
# As the language computes them; a number without a type takes that of the other side.
VALUES = {
    "small >> 1": "-2", "small >> 70": "-1", "mask >> 8": "255", "big >> 1": str(2 ** 62 + 2),
    "big > 5": "1", "big < 5": "0", "5 < big": "1", "big > -1": "1", "big == 9223372036854775813": "1",
    "big + 1": str(2 ** 63 + 6), "big / 2": str(2 ** 62 + 2), "big % 4": "1",
    "big - big - 1": str(2 ** 64 - 1), "~mask": "255", "~mask == 0xff": "1", "~small": "3",
    "half == 0.1": "1", "half < 0.1": "0", "0.1 != half": "0", "single == 0.1": "1",
    "single >= 0.1": "1", "/x byte": "0xfb", "/x small": "0xfffc", "/x half": "0x2e66",
    "/x single": "0x3dcccccd", "/x big": "0x8000000000000005", "/x small + 0": "0xfffffffffffffffc",
}


def test_expressions_have_the_values_of_the_language(session):
    session.compile(LAYOUT_OF_NUMBERS, NUMBERS, "-O0")
    out = session.answers([f"print {text}" for text in VALUES], "--launch=main")
    assert [answer.rpartition(" = ")[2].strip() for answer in out] == list(VALUES.values())


KEPT = """
var done: i16 = 0;
var sum: i16 = 3;
var list = [4]i16{ 1, 2, 3, 4 };
fn main() void {
  for (@range(i16, 5)) |i| {
    sum += i * done + 2;
  }
  sum += list[@as(u16, sum) & 3];
  done = sum;
}
comptime { @export_symbol(main); @export_symbol(done); }
"""


def test_a_number_made_of_an_uncertain_value_says_so(session, engine):
    """In the loop the code keeps the sum in a register."""
    session.compile(LAYOUT_OF_NUMBERS, KEPT, "-O1")
    line = line_of("sum += i", KEPT)
    out = session.answers([f"break pe.csl:{line} if sum == 99", "continue", "print sum",
                           "print sum + 1", "print /x sum", "print -sum", "print !(sum > 9)",
                           "print list[sum & 3]"],
                          engine, "--launch=main")
    assert "its condition has no value (" in out[1]
    assert all("the code may hold a newer value elsewhere" in text for text in out[2:]), out


FRAMED = """
param id: i16;
var kept = @zeros([4]i16);
fn sum_of(n: i16, from: *i16) i16 {
  var parts = @zeros([3]i16);
  for (@range(i16, 3)) |i| { parts[i] = n + i + from.*; }
  return parts[0] + parts[1] * parts[2];
}
fn main(n: i16) void {
  kept[0] = sum_of(n + id, &kept[1]);
}
comptime { @export_symbol(main); }
"""


def test_each_instruction_of_a_function_knows_its_caller(session, engine):
    """From the first one, before the stack frame is there, to the return, when it is gone."""
    session.compile(LAYOUT, FRAMED, "-O0")
    out = session.answers(["break sum_of @1,0", "continue", *["backtrace", "stepi"] * 100],
                          engine, "--launch=main(2)")[2:]
    frames = [re.findall(r"^[* ]\d  (\S+) at \S*pe.csl:(\d+)", shown, re.M) for shown in out[::2]]
    inside = [found[1:] for found in frames if found and found[0][0] == "sum_of"]
    first, last = line_of("kept[0] =", FRAMED), line_of("fn main", FRAMED)
    assert 20 < len(inside) < len(frames)
    assert all(found == [("main", str(first)), ("<launch>.main", str(last))] for found in inside)


def test_a_line_behind_the_end_of_the_file(session):
    session.compile(LAYOUT, PE, "-O0")
    lines = PE.count("\n")
    answers = session.answers([f"list {lines + 1}", "list 1000", f"list {2**31}", f"list {2**32 - 2}",
                               f"list {2**70}"], "--engine=fast")
    assert answers[0].endswith(f"{lines}  {PE.splitlines()[-1]}\n")
    assert answers[1:4] == [f"'{session.folder}/pe.csl' has {lines} lines\n"] * 3
    assert answers[4] == f"'{2**70}' has more than 64 bits\n"


def test_a_breakpoint_is_named_as_it_was_asked_for(session):
    session.compile(LAYOUT, PE, "-O0")
    asked = ["task", "task 8 @1,0", "wavelet 3", "switch 3", "scale if n == 2"]
    answers = session.answers([f"break {text}" for text in asked] + ["info breakpoints"],
                              "--engine=fast")
    for number, (text, answer) in enumerate(zip(asked, answers), 1):
        assert re.fullmatch(rf"breakpoint {number}: {text}( \(\d places\))?\n", answer)
    kinds = ["", "", "", "", "breakpoint "]
    assert answers[-1] == "".join(f"{number}  {kind}{text}, 0 hits\n" for number, (kind, text)
                                  in enumerate(zip(kinds, asked), 1))


@pytest.mark.parametrize("command, answer", [
    (f"break pe.csl:{2**32 + 1}", f"no tile has code at line {2**32 - 1} of 'pe.csl' or behind it"),
    ("break switch", "a color is missing: its number or its name"),
    ("break wavelet", "a color is missing: its number or its name"),
    ("break wavelet 99", "no tile has a color '99'"),
    (f"break switch {2**32}", f"no tile has a color '{2**32}'"),
    (f"break wavelet 0 {2**32}", f"'{2**32}' is no value, 'arrives' or 'departs'"),
    ("break scale @1,0,", "'@1,0,' is no tile or region X,Y,W,H of the 2 x 1 tiles"),
    ("break scale @1,0 5", "'@1,0 5' is no tile or region X,Y,W,H of the 2 x 1 tiles"),
    ("print 18446744073709551616", "this number has more than 64 bits: 18446744073709551616"),
    ("print 0b102", "this is no number: 0b102"),
])
def test_what_a_command_refuses(session, command, answer):
    session.compile(LAYOUT, PE, "-O0")
    assert session.answers([command], "--engine=fast") == [answer + "\n"]


def test_an_address_is_a_whole_number(session):
    session.compile(LAYOUT, PE, "-O0")
    out = session.answers(["tbreak scale", "continue", "print $pc"], "--engine=fast",
                          "--launch=main(2)")
    pc = int(out[2].split(" = ")[1])
    places = [f"{pc}zz", f"{pc + 2**32}", f"{pc} {pc}"]
    assert session.answers([f"break *{pc}"] + [f"break *{place}" for place in places],
                           "--engine=fast") == [
        f"breakpoint 1: *{pc}\n"] + [f"no instruction begins at {place}\n" for place in places]


def test_numbers_are_those_of_csl(session):
    session.compile(LAYOUT, PE, "-O0")
    texts = {"010": 10, "0x10": 16, "0o17": 15, "0b101": 5, "0": 0, "1e2": 100, "0x1p3": 8}
    assert session.answers([f"print {text}" for text in texts], "--engine=fast") == [
        f"{text} = {value}\n" for text, value in texts.items()]


def test_a_word_that_cannot_be_written_says_why(session):
    session.compile(LAYOUT, PE, "-O0")
    out = session.answers(["memory write --address=0xfffe --value=7", "cycle 2", "reverse-cycle",
                           "memory write --address=0 --value=7"], "--engine=fast",
                          "--launch=main(2)")
    assert out[0] == "P0.0: cannot write 0xfffe: it lies outside the tile's memory\n"
    assert out[3] == "the past cannot change; 'goto' leads to the present\n"


MODULES_LAYOUT = """layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }
"""
COUNTER = """param start: u16;
var count: u16 = start;
var past = @zeros([3]u16);
fn bump() void { past[0] = count; count += 1; }
"""
MODULES_PE = """const left = @import_module("counter.csl", .{ .start = 10 });
const right = @import_module("counter.csl", .{ .start = 20 });
const many = .{ .up = @import_module("counter.csl", .{ .start = 30 }),
                .down = @import_module("counter.csl", .{ .start = 40 }) };
const other = @import_module("other.csl");
task main() void {
  right.past[2] = 7;
  left.bump(); right.bump(); many.up.bump(); many.down.bump(); other.touch();
}
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
"""
OTHER = """var count: u16 = 77;
fn touch() void { count += 1; }
"""


@pytest.fixture
def modules(session):
    """Four imports of one file, and one of another with a variable of the same name."""
    (session.folder / "counter.csl").write_text(COUNTER)
    (session.folder / "other.csl").write_text(OTHER)
    session.compile(MODULES_LAYOUT, MODULES_PE)
    return session


def test_each_import_of_a_file_has_its_own_names(modules, engine):
    """All variables of an import have the same name in front of their own: the file's, or the
    constant's if another import has the file's."""
    out = modules.answers(["continue", "info globals"], engine)[1]
    values = dict(re.findall(r"^(\S+) = (.*)$", out, re.M))
    imports = {}
    for name, value in values.items():
        imports.setdefault(name.rpartition(".")[0], {})[name.rpartition(".")[2]] = value
    assert imports.pop("other") == {"count": "78"}
    assert {"left", "right", "many"} & set(imports) and len(imports) == 4
    counts = {members["count"]: members["past"] for members in imports.values()}
    assert counts == {"11": "{ 10, 0, 0 }", "21": "{ 20, 0, 7 }", "31": "{ 30, 0, 0 }",
                      "41": "{ 40, 0, 0 }"}
    out = modules.answers(["continue"] + [f"print {name}" for name in values], engine)[1:]
    assert out == [f"{name} = {value}\n" for name, value in values.items()]


def test_a_name_of_several_modules_is_not_taken_for_the_first(modules, engine):
    out = modules.answers(["print count", "print past[0]", "break main if count == 3", "continue"],
                          engine)
    assert out[0].startswith("several variables have the name 'count': ")
    assert "other.count" in out[0] and "counter.count" in out[0]
    assert out[1].startswith("several variables have the name 'past': ")
    assert "other" not in out[1]
    assert "several variables have the name 'count'" in out[3]


def test_the_name_of_an_import_leads_to_that_of_its_variables(modules, engine):
    """A program calls an import by its constant, the debugger by its file."""
    names = {line.partition(" ")[0] for line in
             modules.answers(["info globals"], engine)[0].splitlines()}
    constant = next(name for name in ("left", "right") if f"{name}.count" not in names)
    out = modules.answers([f"print {constant}.count", f"print {constant}.counter"], engine)
    assert out[0].startswith(f"there is no '{constant}' here; variables of imports go by the name "
                             "of the file: ")
    assert "counter.count" in out[0]
    assert "most numbers that the program uses are known" in out[1]


def test_the_name_of_an_import_leads_to_that_of_its_functions(modules, engine):
    out = modules.answers(["break nothing.bump", "list nothing.touch", "break nothing.else"], engine)
    assert out[0].startswith("no tile has a function 'nothing.bump'; functions of imports go by the "
                             "name of the file: ")
    assert "counter.bump" in out[0]
    assert out[1] == ("no tile has a function 'nothing.touch'; functions of imports go by the name "
                      "of the file: other.touch\n")
    assert out[2] == "no tile has a function 'nothing.else'\n"


def test_a_parameter_of_the_layout_has_a_value(session, engine):
    """Programs mostly call it the same on the tiles."""
    session.compile("param size: u16;\n" + MODULES_LAYOUT, "param one: u16 = 1;\n"
                    + "task main() void {}\n" + MODULES_PE[MODULES_PE.index("comptime {"):],
                    "--params=size:12")
    out = session.answers(["print size", "print one"], engine)
    known = "here; of constants and parameters, most numbers that the program uses are known"
    assert out[0] == f"there is no 'size' {known}; the layout was compiled with size = 12\n"
    assert out[1] == f"there is no 'one' {known}\n"


CONSTANTS_LAYOUT = """
param width: u16 = 3;
layout {
  @set_rectangle(width, 1);
  for (@range(u16, width)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .x = x, .parity = x % 2, .width = width, .last = x == width - 1 });
  }
  @export_name("main", fn()void);
  @export_name("sum", [*]f32, true);
}
"""
CONSTANTS_PE = """
param x: u16;
param parity: u16;
param width: u16;
param last: bool;
param unused: u16 = 3;
const part = @import_module("part.csl", .{ .n = width });
const Mode = enum(u16) { SLOW, FAST = 4 };
const mode = Mode.FAST;
const step: f32 = 0.5;
const half: f16 = 1.5;
const below: i16 = -3;
const turns = 2 * width;
const big = 1 << 40;
const most: u64 = 0xffffffffffffffff;
const wide: u80 = 5;
const ratio = 0.25;
const way = @get_color(5);
var sum_data = @zeros([1]f32);
var sum: [*]f32 = &sum_data;
fn main() void {
  var i: i16 = 0;
  while (i < turns) : (i += 1) {
    sum[0] += step + half_of(i) + @as(f32, x) + ratio;
    if (parity == 1 or last) sum[0] += 1.0;
    if (mode == Mode.FAST and big > 1 and most > 1 and wide > 1) sum[0] += part.twice();
  }
  if (@get_int(way) != 5 or below > 0) sum[0] = 0.0;
}
fn half_of(i: i16) f32 { return @as(f32, half) * @as(f32, i); }
comptime { @export_symbol(main); @export_symbol(sum); }
"""
PART = "param n: u16;\nconst two = 2.0;\nfn twice() f32 { return two * @as(f32, n); }\n"


MEMBERS_PE = """
const Kind = enum(u4) { visit, level = 3, stop };
const Item = packed struct { local: u12, kind: Kind, owner: u16 };
export var seen: u16 = 0;
fn visit(item: Item) void {
  seen += item.owner;
}
fn main() void {
  for (@range(u16, 6)) |i| {
    visit(Item{ .local = 1, .kind = if (i == 4) Kind.level else Kind.visit, .owner = i });
  }
}
comptime { @export_symbol(main); }
"""


def test_members_of_enums_are_written_as_in_the_language(session, engine):
    session.compile("""
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @export_name("main", fn()void);
}
""", MEMBERS_PE, "-O0")
    commands = ["break visit if item.kind == Kind.level", "continue", "print item.owner",
                "print Kind.stop", "print item.kind == Kind.visit", "print Kind.none"]
    out = session.answers(commands, engine, "--launch=main")
    assert out[1].startswith("breakpoint 1, cycle") and out[2] == "item.owner = 4\n"
    assert out[3:5] == ["Kind.stop = stop\n", "item.kind == Kind.visit = 0\n"]
    assert out[5] == "the enum 'Kind' has no member 'none'\n"


def test_constants_and_parameters_have_values(session, engine):
    (session.folder / "part.csl").write_text(PART)
    session.compile(CONSTANTS_LAYOUT, CONSTANTS_PE)
    names = ["width", "mode", "step", "half", "below", "turns", "big", "most", "ratio", "way", "part.n",
             "part.two", "turns - 1"]
    commands = ["break main @0,0 if turns == 2 * width", "continue",
                *[f"print {name}" for name in names], "print wide", "print x", "set width = 4"]
    out = session.answers(commands, engine, "--launch=main")
    assert "breakpoint 1, " in out[1]
    values = dict(line.strip().split(" = ") for line in out[2:2 + len(names)])
    assert values == {
        "width": "3", "mode": "FAST", "step": "0.5", "half": "1.5", "below": "-3", "turns": "6",
        "big": str(1 << 40), "most": str((1 << 64) - 1), "ratio": "0.25", "way": "5", "part.n": "3", "part.two": "2",
        "turns - 1": "5"}
    assert out[-3].startswith("there is no 'wide' here; ")   # it has more than 64 bits
    assert out[-2] == "x = 0\n"
    assert "can be written" in out[-1]


TILES_PE = """
param place: i16;
param number: u32;
param seed: u16;
param loose: u16;
param weight: f32;
param flag: bool;
const part = @import_module("part.csl", .{ .n = number });
const wide: i32 = place;
const next = seed + 1;
const behind = loose + 1;
const big = 3 * number;
var sum: f32 = 0.0;
var mix: u16 = 0;
task main() void {
  mix ^= seed;
  mix ^= next;
  mix ^= behind;
  sum += weight;
  sum += @as(f32, place) + @as(f32, number + part.n) + @as(f32, wide) + @as(f32, big);
  if (flag) sum *= 2.0;
}
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""


def tiles_layout(values, idle=()):
    """Tiles of `idle` have another program."""
    calls = "".join(
        f'@set_tile_code({x}, {y}, "pe.csl", .{{ .place = {v["place"]}, .number = {v["number"]}, '
        f'.seed = {v["seed"]}, .loose = {v["loose"]}, .weight = {v["weight"]}, '
        f'.flag = {str(v["flag"]).lower()} }});\n' for (x, y), v in values.items())
    calls += "".join(f'@set_tile_code({x}, {y}, "idle.csl", .{{}});\n' for x, y in idle)
    width, height = (1 + max(place[axis] for place in (*values, *idle)) for axis in (0, 1))
    return f"layout {{\n@set_rectangle({width}, {height});\n{calls}}}\n"


def random_tiles():
    """What parameters are on each tile of a random rectangle."""
    rng = harness.commit_random("constants of tiles")
    width, height = (int(n) for n in rng.integers(2, 6, size=2))
    first, per_x, per_y = (int(n) for n in rng.integers(-99, 100, size=3))
    return {(x, y): {"place": first + per_x * x + per_y * y, "number": y * width + x,
                     "seed": int(rng.integers(0, 60000)), "loose": int(rng.integers(0, 60000)),
                     "weight": float(rng.integers(0, 1000)) / 8, "flag": bool(rng.integers(0, 2))}
            for x in range(width) for y in range(height)}


def test_what_differs_from_tile_to_tile_has_values(session, engine):
    """By the tile's place, where the program relies on it, or where its code has it as a word."""
    values = random_tiles()
    (session.folder / "part.csl").write_text("param n: u32;\n")
    session.compile(tiles_layout(values), TILES_PE)
    names = ["place", "number", "seed", "weight", "flag", "wide", "next", "behind", "part.n", "big"]
    tiles = {tile: [f"tile {tile[0]},{tile[1]}", *[f"print {name}" for name in names]]
             for tile in values}
    out = session.answers(sum(tiles.values(), []), engine)
    for tile, v in values.items():
        answers = [out.pop(0) for _ in tiles[tile]][1:]
        expected = {**v, "wide": v["place"], "next": v["seed"] + 1, "behind": v["loose"] + 1,
                    "part.n": v["number"], "big": 3 * v["number"], "flag": str(v["flag"]).lower(),
                    "weight": f'{v["weight"]:g}'}
        assert answers == [f"{name} = {expected[name]}\n" for name in names], tile


def test_constants_are_listed(session, engine):
    (session.folder / "part.csl").write_text(PART)
    session.compile(CONSTANTS_LAYOUT, CONSTANTS_PE)
    (session.folder / "none.csl").write_text('layout { @set_rectangle(1, 1); '
                                             '@set_tile_code(0, 0, "idle.csl", .{}); }\n')
    (session.folder / "idle.csl").write_text("")
    out = session.answers(["tile 2,0", "info constants"], engine)
    listed = dict(line.split(" = ") for line in out[1].splitlines())
    assert listed["x"] == "2" and listed["mode"] == "FAST"
    assert listed["part.n"] == "3" and "wide" not in listed and "unused" not in listed
    assert not any(name.startswith("memcpy") for name in listed)
    harness.compile(session.folder / "none.csl", session.folder / "p.bin")
    assert session.answers(["info constants"], engine) == [
        "the tile's program has no constants whose numbers are known\n"]


def test_a_rectangle_with_holes_has_no_wrong_values(session, engine):
    rng = harness.commit_random("holes")
    whole = random_tiles()
    values = {tile: v for tile, v in whole.items() if rng.random() < 0.5} or whole
    (session.folder / "idle.csl").write_text("")
    (session.folder / "part.csl").write_text("param n: u32;\n")
    session.compile(tiles_layout(values, whole.keys() - values), TILES_PE)
    commands = sum(([f"tile {x},{y}", "print place", "print number"] for x, y in values), [])
    out = session.answers(commands, engine)
    for v in values.values():
        _, place, number = (out.pop(0) for _ in range(3))
        assert place == f"place = {v['place']}\n" or place.startswith("there is no 'place' here; ")
        assert number == f"number = {v['number']}\n" or number.startswith("there is no 'number'")


def test_what_has_no_value_on_a_tile_is_not_made_up(session, engine):
    """The code has what is computed from it alone, and no law of columns and rows gives it."""
    numbers = (3, 1, 4, 1, 5)
    tile = {"place": 1, "number": 2, "seed": 3, "weight": 0.5, "flag": True}
    values = {(x, 0): {**tile, "loose": loose} for x, loose in enumerate(numbers)}
    (session.folder / "part.csl").write_text("param n: u32;\n")
    session.compile(tiles_layout(values), TILES_PE)
    out = session.answers(["tile 2,0", "print loose", "print behind"], engine)
    assert out[1].startswith("there is no 'loose' here; ") and out[2] == "behind = 5\n"


def test_a_constant_that_differs_within_a_class_has_no_value(session, engine):
    """The tiles' code is the same, so they are one class, and what is theirs alone is not shown."""
    layout = CONSTANTS_LAYOUT.replace(".parity = x % 2, .width = width, .last = x == width - 1",
                                      '.name = if (x == 1) "long name" else "name"')
    pe = """param x: u16;
param name: comptime_string;
const length = @strlen(name);
const seven: u16 = 7;
comptime { @comptime_assert(length > 1); }
var sum_data = @zeros([1]f32);
var sum: [*]f32 = &sum_data;
fn main() void { sum[0] += @as(f32, seven); }
comptime { @export_symbol(main); @export_symbol(sum); }
"""
    session.compile(layout, pe)
    out = session.answers(["print seven", "print length"], engine)
    assert out[0] == "seven = 7\n" and out[1].startswith("there is no 'length' here; ")
    session.compile(layout.replace("long name", "NAME"), pe)
    assert session.answers(["print length"], engine)[0] == "length = 4\n"
    session.compile(layout, pe, "-g0")
    assert session.answers(["print seven"], engine)[0].startswith("there is no 'seven' here; ")


def test_a_name_inside_another_one_is_a_function_of_its_own(session, engine):
    """Each spelling names a file: 'a.recv' is a part of 'aa.recv' and 'ba.recv', and none of them."""
    files = ("aa", "ba", "a")
    for name in files:
        (session.folder / f"{name}.csl").write_text("var n: u16;\nfn recv() void { n += 1; }\n")
    session.compile(MODULES_LAYOUT, "".join(
        f'const {name}_ = @import_module("{name}.csl");\n' for name in files) +
        "task main() void { " + "".join(f"{name}_.recv(); " for name in files) + "}\n" +
        MODULES_PE[MODULES_PE.index("comptime {"):])
    out = session.answers(["break a_.recv"], engine)[0]
    named = out.rstrip("\n").partition("the name of the file: ")[2]
    assert sorted(named.split(", ")) == sorted(f"{name}.recv" for name in files)


def test_list_shows_other_files_and_functions(modules, engine):
    """FILE:LINE and FUNCTION name places as they do for `break`; without code, too."""
    out = modules.answers(["list counter.csl:1", "list other.csl:2", "list touch", "list bump",
                           "list nothing.csl:3", "list nowhere", "list counter.csl:x",
                           f"list counter.csl:{2 ** 70}"], engine)
    first = COUNTER.splitlines()[0]
    assert out[0].startswith(f"->   1  {first}\n")
    assert f"->   2  {OTHER.splitlines()[1]}\n" in out[1]
    assert f"->   2  {OTHER.splitlines()[1]}\n" in out[2]
    assert f"->   4  {COUNTER.splitlines()[3]}\n" in out[3]
    assert out[4] == "no code of the program comes from 'nothing.csl'\n"
    assert out[5] == "no tile has a function 'nowhere'\n"
    assert out[6] == "no tile has a function 'counter.csl:x'\n"
    assert out[7] == f"'{2 ** 70}' has more than 64 bits\n"


@pytest.fixture
def called_elsewhere(session):
    """A program that the compiler has named by paths relative to its folder; the debugger runs in
    another one."""
    home = session.folder / "home"
    (home / "code" / "one").mkdir(parents=True)
    (home / "code" / "layout.csl").write_text(LAYOUT.replace("pe.csl", "one/pe.csl"))
    (home / "code" / "one" / "pe.csl").write_text(PE)
    harness.run([harness.tool("cslc"), "code/layout.csl", "-o", "built/here"], cwd=home)
    (session.folder / "away").mkdir()
    return session.folder


def list_elsewhere(folder):
    (folder / "script").write_text("list pe.csl:2\n")
    return harness.run([harness.tool("wse-dbg"), folder / "home/built/here", "-x",
                        folder / "script"], cwd=folder / "away")


def test_source_is_found_from_where_the_program_lies(called_elsewhere):
    """Below one of the folders above the image, but first in the folder where the debugger runs."""
    assert f"->   2  {PE.splitlines()[1]}\n" in list_elsewhere(called_elsewhere).out
    near = called_elsewhere / "away" / "code" / "one"
    near.mkdir(parents=True)
    (near / "pe.csl").write_text("\nanother one\n")
    assert "->   2  another one\n" in list_elsewhere(called_elsewhere).out


def test_source_that_is_nowhere(called_elsewhere):
    (called_elsewhere / "home" / "code" / "one" / "pe.csl").unlink()
    assert ("cannot read 'code/one/pe.csl'; the compiler was called in another folder: start the "
            "debugger there\n") in list_elsewhere(called_elsewhere).out


def test_source_that_is_newer_than_the_program(called_elsewhere):
    source, image = (called_elsewhere / "home" / name for name in ("code/one/pe.csl",
                                                                   "built/here/prog.bin"))
    built = image.stat().st_mtime
    warning = f"warning: '{source}' is newer than the program, so its lines may differ\n"
    os.utime(source, (built + 1, built + 1))
    assert list_elsewhere(called_elsewhere).out.count(warning) == 1
    os.utime(source, (built - 1, built - 1))
    assert warning not in list_elsewhere(called_elsewhere).out
