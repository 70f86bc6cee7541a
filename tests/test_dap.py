"""wse-dbg --dap, by a public client of the protocol: breakpoints of every kind, steps forward and
back, values, memory, faults, deadlocks, and what a client may do wrong."""
import base64
import json
import os
import random
import re
import socket
import subprocess

import pytest

import dap_client
import dap_host
import harness
import host_run
from dap_client import Dap, Refused
from test_debug_info import LAYOUT, PE
from test_debugger import line_of
from test_debugger_counts import CALL_LAYOUT, CALLS

pytestmark = pytest.mark.skipif(not dap_client.is_possible(),
                                reason="needs Node.js, and npm ci in tests/dap")

ALL = "--launch=main(2)"


@pytest.fixture(params=("-O0", "-O1"))
def folder(tmp_path, request):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", request.param)
    return tmp_path


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O0")
    return tmp_path


@pytest.fixture
def dap():
    with Dap() as session:
        yield session


def functions(dap, *names, **more):
    return dap.ask("setFunctionBreakpoints",
                   breakpoints=[{"name": name, **more} for name in names])["breakpoints"]


def ends(dap):
    """The run goes on to its end; the exit code."""
    dap.ask("continue", threadId=1)
    code = dap.event("exited")["exitCode"]
    dap.event("terminated")
    return code


def test_lines_conditions_and_the_end(folder, dap):
    dap.launch(folder / "p.bin", [ALL, "--stats"])
    line = line_of("pending += ")
    mark = dap.lines(folder / "pe.csl", [{"line": line, "condition": "@1,0 if $x == 1"}])[0]
    assert mark["verified"] and line <= mark["line"] <= line + 3
    dap.go()
    stop = dap.stopped()
    assert stop["reason"] == "breakpoint" and stop["hitBreakpointIds"] == [mark["id"]]
    assert stop["threadId"] == 2 and stop["allThreadsStopped"]
    frames = dap.frames()
    assert frames[0]["source"]["path"] == str(folder / "pe.csl")
    assert [f["name"].split()[0] for f in frames[:2]] == ["scale", "main"]
    assert dap.values(frames[0], "Globals")["table"] == "{ { 1, 2, 3 }, { 4, 5, 6 } }"
    assert dap.lines(folder / "pe.csl", []) == []
    assert ends(dap) == 0
    said = [dap.event("output") for _ in range(dap.count("output"))]
    assert any(part["category"] == "stdout" and '"cycles"' in part["output"] for part in said)
    last, = [part["output"] for part in said if part["category"] == "console"]
    assert re.fullmatch(r"the run is over at cycle \d+, exit code 0\n", last)


def test_hits_and_messages(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    line = line_of("table[1, i]")
    dap.lines(plain / "pe.csl", [{"line": line, "condition": "@0,0", "hitCondition": "==2"},
                                 {"line": line, "condition": "@1,0",
                                  "logMessage": "i is {i}, sum {1 + i}"}])
    dap.go()
    assert dap.stopped()["threadId"] == 1
    assert dap.evaluate("i") == "1"
    assert ends(dap) == 0
    said = [dap.event("output")["output"] for _ in range(3)]
    assert [text for text in said if text.startswith("i is")] == [
        f"i is {i}, sum {i + 1}\n" for i in range(len(said))]


def test_a_condition_close_behind_a_tile_is_not_lost(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    mark = dap.lines(plain / "pe.csl", [{"line": line_of("pending += "),
                                         "condition": "@1,0if $x == 7"}])[0]
    assert not mark["verified"] and "'@1,0if' is no tile or region" in mark["message"]


@pytest.mark.parametrize("text", ("0", ">", "x", "%0", "== 1 2", "-1"))
def test_wrong_counts_of_hits(plain, dap, text):
    dap.launch(plain / "p.bin", [ALL])
    mark = dap.lines(plain / "pe.csl", [{"line": line_of("pending += "), "hitCondition": text}])[0]
    assert not mark["verified"] and "no count of hits" in mark["message"]


def test_functions_tasks_and_wavelets(tmp_path, dap):
    harness.compile("samples/packets/layout.csl", tmp_path / "p.bin", params={"packets": 3})
    dap.launch(tmp_path / "p.bin")
    marks = functions(dap, "task head", "wavelet stream arrives", "nowhere", "switch 99")
    assert [mark["verified"] for mark in marks] == [True, True, False, False]
    assert "no tile has a function 'nowhere'" in marks[2]["message"]
    dap.go()
    seen = set()
    for _ in range(8):
        stop = dap.stopped()
        assert stop["reason"] == "function breakpoint"
        seen.update(stop["hitBreakpointIds"])
        dap.ask("continue", threadId=stop["threadId"])
    assert seen == {mark["id"] for mark in marks[:2]}


def test_steps_there_and_back(plain, dap):
    dap.launch(plain / "p.bin", [ALL], stopOnEntry=True)
    dap.go()
    assert dap.stopped()["reason"] == "entry"
    functions(dap, "main", condition="@0,0")
    dap.move("continue")
    states = []
    for request in ("next", "stepIn", "stepIn", "next"):
        assert dap.move(request)["reason"] == "step"
        states.append((dap.place(), dap.evaluate("hash", context="repl")))
    back = []
    for _ in range(3):
        dap.move("stepBack", granularity="instruction")
        back.append(dap.evaluate("$cycle"))
    assert [int(cycle) for cycle in back] == sorted(map(int, back), reverse=True)
    dap.ask("evaluate", expression="goto", context="repl")
    assert dap.stopped()["reason"] == "goto"
    assert (dap.place(), dap.evaluate("hash", context="repl")) == states[-1]
    name = dap.place()[0]
    dap.move("stepOut")
    assert dap.place()[0] != name


def test_data_breakpoints_lead_back_to_the_write(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    dap.ask("setExceptionBreakpoints", filters=["end"])
    dap.go()
    assert dap.stopped()["reason"] == "end of the run"
    idle = dap.frames()[0]
    assert idle["name"] == "idle"
    globals_ = dap.scopes(idle)["Globals"]
    info = dap.ask("dataBreakpointInfo", variablesReference=globals_, name="pending")
    assert info["accessTypes"] == ["write"]
    assert dap.ask("dataBreakpointInfo", variablesReference=globals_, name="nothing")["dataId"] is None
    assert dap.ask("dataBreakpointInfo", variablesReference=globals_, name="zeros")["dataId"] is None
    dap.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
    value = dap.evaluate("pending")
    stop = dap.move("reverseContinue")
    assert stop["reason"] == "data breakpoint"
    assert dap.evaluate("pending") == value
    assert line_of("pending += ") <= dap.place()[1] <= line_of("pending += ") + 2
    dap.move("reverseContinue")
    assert dap.evaluate("pending") != value
    for _ in range(8):
        stop = dap.move("reverseContinue")
    assert stop["reason"] == "entry" and "this is the start" in stop["text"]


def test_values_their_parts_and_paging(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    functions(dap, "scale", condition="@0,0")
    dap.go()
    dap.stopped()
    frame = dap.frames()[0]
    assert dap.values(frame, "Parameters") == {"n": "2"}
    found = {v["name"]: v for v in dap.variables(dap.scopes(frame)["Globals"])}
    zeros, table, p, ptr = (found[name] for name in ("zeros", "table", "p", "ptr"))
    assert zeros["indexedVariables"] == 20 and zeros["type"] == "[20]f32"
    page = dap.variables(zeros["variablesReference"], filter="indexed", start=3, count=2)
    assert [v["name"] for v in page] == ["[3]", "[4]"]
    assert dap.variables(zeros["variablesReference"], filter="named") == []
    parts = dap.variables(table["variablesReference"])
    assert [(v["name"], v["value"]) for v in parts][3:5] == [("[1, 0]", "4"), ("[1, 1]", "5")]
    assert dap.evaluate(parts[4]["evaluateName"]) == "5"
    stretch = dap.ask("evaluate", expression="zeros[2..4]", frameId=frame["id"])
    assert stretch["type"] == "[2]f32"
    parts = dap.variables(stretch["variablesReference"])
    assert [v["evaluateName"] for v in parts] == ["zeros[2..4][0]", "zeros[2..4][1]"]
    assert dap.evaluate(parts[1]["evaluateName"]) == parts[1]["value"]
    fields = {v["name"]: v["value"] for v in dap.variables(p["variablesReference"])}
    assert fields == {"x": "1.5", "y": "-2", "m": "blue"}
    target = dap.variables(ptr["variablesReference"])[0]
    assert target["name"] == ".*" and dap.evaluate(target["evaluateName"]) == target["value"]
    assert dap.values(frame, "Constants") == {"id": "3"}
    for scope in ("Registers", "DSRs", "Queues", "FIFOs", "Tasks and threads", "Router"):
        dap.values(frame, scope)
    assert re.fullmatch(r"0x[0-9a-f]{4} \(-?\d+\)", dap.values(frame, "Registers")["r0"])


def test_writing(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    functions(dap, "scale", condition="@0,0")
    dap.go()
    dap.stopped()
    frame = dap.frames()[0]
    reference = dap.scopes(frame)["Globals"]
    assert dap.ask("setVariable", variablesReference=reference, name="pending",
                   value="40 + 2")["value"] == "42"
    assert dap.ask("setExpression", expression="table[1, 2]", value="-7",
                   frameId=frame["id"])["value"] == "-7"
    assert dap.evaluate("bits.c = -4", context="repl") == "-4"
    assert dap.evaluate("table") == "{ { 1, 2, 3 }, { 4, 5, -7 } }"
    place = dap.ask("evaluate", expression="table", frameId=frame["id"])["memoryReference"]
    data = dap.ask("readMemory", memoryReference=place, offset=2, count=4)
    assert base64.b64decode(data["data"]) == b"\2\0\3\0"
    dap.ask("writeMemory", memoryReference=place, offset=2,
            data=base64.b64encode(b"\x10\0").decode())
    assert dap.evaluate("table[0, 1]") == "16"
    assert dap.ask("writeMemory", memoryReference=place, data="")["bytesWritten"] == 0
    end = dap.ask("readMemory", memoryReference="0,0:0xbffe", count=10)
    assert end["unreadableBytes"] == 8
    dap.move("stepBack", granularity="instruction")
    with pytest.raises(Refused, match="the past cannot change"):
        dap.ask("setExpression", expression="pending", value="1")


def test_registers_can_be_written(tmp_path, dap):
    """Where `main` calls `scale`, the code of -O1 keeps n in a register."""
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE.replace("pending += ", "pending = 1 + "))
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O1")
    dap.launch(tmp_path / "p.bin", [ALL])
    dap.lines(tmp_path / "pe.csl", [{"line": line_of("sum += scale"), "condition": "@0,0"}])
    dap.go()
    dap.stopped()
    assert dap.values(dap.frames()[0], "Parameters")["n"] == "2"
    assert dap.ask("setExpression", expression="n", value="9")["value"] == "9"
    assert dap.evaluate("n") == "9"
    dap.move("stepIn", granularity="instruction")
    dap.move("stepBack", granularity="instruction")
    assert dap.evaluate("n") == "9"


def test_instructions(plain, dap):
    dap.launch(plain / "p.bin", [ALL])
    functions(dap, "scale", condition="@0,0")
    dap.go()
    dap.stopped()
    here = dap.frames()[0]["instructionPointerReference"]
    rows = dap.ask("disassemble", memoryReference=here, instructionOffset=-3,
                   instructionCount=6)["instructions"]
    assert rows[3]["address"] == here and len(rows) == 6
    far = dap.ask("disassemble", memoryReference=here, instructionOffset=-9000,
                  instructionCount=2)["instructions"]
    assert all(row["instruction"] == "(no code)" for row in far)
    functions(dap)
    mark, wrong = dap.ask("setInstructionBreakpoints", breakpoints=[
        {"instructionReference": rows[4]["address"]},
        {"instructionReference": "nowhere"}])["breakpoints"]
    assert mark["verified"] and not wrong["verified"]
    stop = dap.move("continue")
    assert stop["reason"] == "instruction breakpoint"
    assert dap.frames()[0]["instructionPointerReference"].endswith(rows[4]["address"][3:])


HAZARD = """
const start_id = @get_local_task_id(8);
var a: [4]i16;
fn take_wrong(i: i16) void {
  a[i] = 1;
}
task start() void {
  take_wrong(30000);
}
comptime {
  @bind_local_task(start, start_id);
  @activate(start_id);
}
"""
ONE_TILE = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
}
"""


def one_tile(folder, source):
    (folder / "layout.csl").write_text(ONE_TILE)
    (folder / "pe.csl").write_text(source)
    harness.compile(folder / "layout.csl", folder / "p.bin", "-O0")
    return folder / "p.bin"


def test_faults(tmp_path, dap):
    dap.launch(one_tile(tmp_path, HAZARD))
    dap.go()
    stop = dap.stopped()
    assert stop["reason"] == "exception" and "outside" in stop["text"]
    assert dap.ask("exceptionInfo", threadId=stop["threadId"])["exceptionId"] == "fault"
    assert "take_wrong" in dap.frames()[0]["name"]
    assert dap.evaluate("a[0]") == "0"
    assert ends(dap) == 2


def test_faults_that_nobody_wants(tmp_path, dap):
    dap.launch(one_tile(tmp_path, HAZARD))
    dap.ask("setExceptionBreakpoints", filters=[])
    dap.go()
    assert dap.event("exited")["exitCode"] == 2
    assert dap.count("stopped") == 0


WAITS = """
const start_id = @get_local_task_id(8);
const c = @get_color(3);
var a: [4]i16;
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 4,
                                  .input_queue = @get_input_queue(2) });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> a[i] });
task start() void { @mov16(to, in); }
comptime {
  @bind_local_task(start, start_id);
  @activate(start_id);
  @set_local_color_config(c, .{ .routes = .{ .rx = .{EAST}, .tx = .{RAMP} } });
  if (@is_arch("wse3")) { @initialize_queue(@get_input_queue(2), .{ .color = c }); }
}
"""


def test_deadlocks(tmp_path, dap):
    dap.launch(one_tile(tmp_path, WAITS))
    dap.go()
    stop = dap.stopped()
    assert stop["reason"] == "exception" and "deadlock" in stop["text"]
    assert dap.ask("exceptionInfo", threadId=1)["exceptionId"] == "deadlock"
    stop = dap.move("stepBack", granularity="instruction")
    assert dap.place()[0] == "start"
    assert ends_after_stop(dap) == 3


ONE_WAITS = """
param sends: bool;
const queue = @get_input_queue(2);
var n: u16 = 9;
var taken = @zeros([9]u32);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(3), .extent = 9, .input_queue = queue });
const taken_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{9} -> taken[i] });
task main() void {
  if (!sends) {
    @mov32(@set_dsd_length(taken_dsd, n), @set_dsd_length(in, n));
  }
}
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""


def test_a_deadlock_shows_a_tile_that_waits(tmp_path):
    """And its text, also in the console; the first tile has nothing to say."""
    (tmp_path / "layout.csl").write_text(
        "layout { @set_rectangle(3, 1); for (@range(u16, 3)) |x| { "
        '@set_tile_code(x, 0, "pe.csl", .{ .sends = x != 2 }); '
        "@set_color_config(x, 0, @get_color(3), .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } }); } }")
    (tmp_path / "pe.csl").write_text(ONE_WAITS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    ran = subprocess.Popen([harness.tool("wse-emu"), str(tmp_path / "p.bin"), "--dap=0"],
                           stderr=subprocess.PIPE, text=True)
    port = int(re.search(r"port (\d+)", ran.stderr.readline()).group(1))
    with Dap(port) as dap:
        dap.ask("initialize", adapterID="csl")
        dap.ask("launch")
        dap.event("initialized")
        dap.go()
        assert "deadlock" in dap.stopped()["text"] and dap.thread == 3
        assert dap.place()[0].startswith("main")
        assert "deadlock" in dap.event("output")["output"]
        dap.ask("disconnect")
    assert ran.communicate(timeout=60)[1].startswith("error: deadlock") and ran.returncode == 3


def ends_after_stop(dap):
    """The program stands once more where nothing moves any more."""
    dap.ask("continue", threadId=1)
    dap.stopped()
    return ends(dap)


LOOPS = """
const start_id = @get_local_task_id(8);
var n: u32 = 0;
task start() void { n += 1; @activate(start_id); }
comptime { @bind_local_task(start, start_id); @activate(start_id); }
"""


def test_a_run_can_be_paused_and_changed(tmp_path, dap):
    dap.launch(one_tile(tmp_path, LOOPS))
    dap.go()
    assert dap.ask("threads")["threads"][0]["name"].startswith("P0.0")
    dap.ask("pause", threadId=1)
    assert dap.stopped()["reason"] == "pause"
    first = int(dap.evaluate("$cycle"))
    dap.ask("continue", threadId=1)
    dap.lines(tmp_path / "pe.csl", [line_of("n += 1", LOOPS)])      # while it runs
    assert dap.stopped()["reason"] == "breakpoint"
    assert int(dap.evaluate("$cycle")) > first
    dap.lines(tmp_path / "pe.csl", [])
    dap.ask("continue", threadId=1)
    dap.ask("terminate")
    dap.event("terminated")


def test_many_tiles_stay_usable(tmp_path, dap):
    harness.compile("samples/gemv/layout.csl", tmp_path / "p.bin",
                    params={"width": 32, "height": 16, "M": 64, "N": 64})
    dap.launch(tmp_path / "p.bin", maxThreads=20, stopOnEntry=True)
    dap.go()
    dap.stopped()
    threads = dap.ask("threads")["threads"]
    assert len(threads) < 21
    counts = [int(m.group(1)) for t in threads if (m := re.search(r"and (\d+) more", t["name"]))]
    assert sum(counts) + len(threads) == 32 * 16
    dap.ask("evaluate", expression="tile 7,3", context="repl")
    assert dap.stopped()["threadId"] == 3 * 32 + 7 + 1
    names = [t["name"] for t in dap.ask("threads")["threads"]]
    assert any(name.startswith("P7.3: ") for name in names)


def test_completions_sources_and_lines(plain, dap):
    dap.launch(plain / "p.bin", [ALL], stopOnEntry=True)
    dap.go()
    dap.stopped()
    labels = lambda text: {t["label"] for t in dap.ask(
        "completions", text=text, column=len(text) + 1)["targets"]}
    assert "pending" in labels("pen") and "print" in labels("pr")
    assert labels("1 + p.") == {"x", "y", "m"}
    paths = [s["path"] for s in dap.ask("loadedSources")["sources"]]
    assert str(plain / "pe.csl") in paths
    assert dap.ask("source", source={"path": str(plain / "pe.csl")},
                   sourceReference=0)["content"] == PE
    lines = [b["line"] for b in dap.ask("breakpointLocations", source={
        "path": str(plain / "pe.csl")}, line=1, endLine=500)["breakpoints"]]
    assert line_of("pending += ") in lines and lines == sorted(set(lines))


def test_source_is_found_from_where_the_program_lies(tmp_path, dap):
    """The compiler was called there; an editor starts the debugger anywhere.  The breakpoint is in
    the right one of two files of one name."""
    home = tmp_path / "home"
    for name in ("one", "two"):
        (home / name).mkdir(parents=True)
        (home / name / "pe.csl").write_text("fn f() void {}\ntask t() void { f(); }\n"
                                            "comptime { @bind_local_task(t, @get_local_task_id(8)); "
                                            "@activate(@get_local_task_id(8)); }\n")
    (home / "layout.csl").write_text(
        'layout { @set_rectangle(2, 1); @set_tile_code(0, 0, "one/pe.csl", .{}); '
        '@set_tile_code(1, 0, "two/pe.csl", .{}); }\n')
    harness.run([harness.tool("cslc"), "layout.csl", "-O0", "-o", "out"], cwd=home)
    dap.launch(home / "out")
    place, = dap.lines(home / "two" / "pe.csl", [2])
    assert place["source"]["path"] == str(home / "two" / "pe.csl")
    dap.go()
    dap.stopped()
    top = dap.frames()[0]
    assert dap.thread == 2 and top["source"]["path"] == str(home / "two" / "pe.csl")
    assert "task t()" in dap.ask("source", source=top["source"], sourceReference=0)["content"]


def test_source_that_is_nowhere(tmp_path, dap):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    harness.run([harness.tool("cslc"), "layout.csl", "-o", "p.bin"], cwd=tmp_path)
    (tmp_path / "pe.csl").unlink()
    dap.launch(tmp_path / "p.bin")
    with pytest.raises(Refused, match="cannot read 'pe.csl': .*start the debugger there, by 'cwd'"):
        dap.ask("source", source={"path": "pe.csl"}, sourceReference=0)


def test_a_line_whose_calls_are_inlined_has_code(tmp_path, dap):
    (tmp_path / "layout.csl").write_text(CALL_LAYOUT)
    (tmp_path / "pe.csl").write_text(CALLS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O2")
    dap.launch(tmp_path / "p.bin")
    line = line_of("bump(x + 1)", CALLS)
    places = dap.ask("breakpointLocations", source={"path": str(tmp_path / "pe.csl")}, line=line,
                     endLine=line)["breakpoints"]
    assert [place["line"] for place in places] == [line]
    mark, = dap.lines(tmp_path / "pe.csl", [{"line": line, "condition": "@1,0"}])
    assert mark["line"] == line
    dap.go()
    stop = dap.stopped()
    frames = dap.frames(stop["threadId"])
    assert [(f["name"].split()[0], f["line"]) for f in frames] == [("main", line)]
    for move, name in (("next", "main"), ("next", "main"), ("next", "main"), ("stepIn", "bump"),
                       ("stepOut", "main")):
        dap.ask(move, threadId=stop["threadId"])
        dap.stopped()
        assert dap.frames(stop["threadId"])[0]["name"].split()[0] == name


REFUSED = [
    ("nonsense", {}, "there is no request 'nonsense'"),
    ("scopes", {"frameId": 99}, "there is no frame 99"),
    ("variables", {"variablesReference": -3}, "no variables with the reference"),
    ("next", {"threadId": 700}, "there is no tile for thread 700"),
    ("readMemory", {"memoryReference": "9,9:0x0", "count": 1}, "is no address"),
    ("writeMemory", {"memoryReference": "0,0:0x0000", "data": "?"}, "no base64"),
    ("evaluate", {"expression": "1 +"}, "a value is missing"),
    ("source", {"source": {"path": "/nowhere.csl"}}, "no file of the program"),
    ("exceptionInfo", {"threadId": 1}, "does not stand at a fault"),
]


@pytest.mark.parametrize("request_, args, why", REFUSED)
def test_mistakes_have_reasons(plain, dap, request_, args, why):
    dap.launch(plain / "p.bin", [ALL], stopOnEntry=True)
    dap.go()
    dap.stopped()
    with pytest.raises(Refused, match=why):
        dap.ask(request_, **args)


@pytest.mark.parametrize("launch, why", [
    ({"program": "/nowhere/p.bin"}, "cannot read program image"), ({}, "no program given"),
    ({"program": "/tmp", "args": ["--frob"]}, "has no option"),
    ({"program": "x", "args": "--run"}, "'args' is a list of texts"),
    ({"program": "x", "args": [3]}, "'args' is a list of texts"),
    ({"program": ["x"]}, "'program' is the name of an image"),
    ({"program": "x", "cwd": 3}, "'cwd' is the name of a folder"),
    ({"program": "x", "cwd": "/nowhere"}, "cannot be entered")])
def test_launches_that_fail(dap, launch, why):
    dap.ask("initialize", adapterID="csl")
    with pytest.raises(Refused, match="needs a program that has started"):
        dap.ask("threads")
    with pytest.raises(Refused, match=why):
        dap.ask("launch", **launch)


def frame(text):
    body = text.encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("data", [
    b"", b"Content-Length: x\r\n\r\n", b"Content-Length: 99999999999\r\n\r\n", b"\r\n\r\n",
    b"x" * 5000, frame("{"), frame("[1]"), frame('{"command":3}'),
    frame(json.dumps({"type": "request", "seq": 1, "command": "initialize", "arguments": 5})),
    frame(json.dumps({"type": "request", "seq": 1, "command": "launch",
                      "arguments": {"program": 7, "args": {"a": 1}}})),
    frame('{"seq":1,"type":"request","command":"disconnect"}') + b"rest"])
def test_bad_input_ends_in_order(data):
    done = subprocess.run([harness.tool("wse-dbg"), "--dap"], input=data, capture_output=True,
                          timeout=20)
    assert done.returncode in (0, 1)


HOST = """
import sys
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime, MemcpyDataType, MemcpyOrder
runner = SdkRuntime(sys.argv[1], memcpy_required=False)
runner.load()
runner.run()
runner.launch("main", np.int16(2), nonblock=False)
runner.stop()
print("host done")
"""


def test_a_client_may_launch_what_waits_for_it(plain):
    """As an editor does that has started the program: when it ends its session, the run ends, too."""
    ran = subprocess.Popen([harness.tool("wse-emu"), str(plain / "p.bin"), "--dap=0", ALL, "--stats"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(re.search(r"port (\d+)", ran.stderr.readline()).group(1))
    with Dap(port) as dap:
        dap.ask("initialize", adapterID="csl")
        dap.ask("launch")
        dap.event("initialized")
        functions(dap, "scale")
        dap.go()
        dap.stopped()
        dap.ask("disconnect", terminateDebuggee=True)
    out, err = ran.communicate(timeout=60)
    assert ran.returncode == 0 and json.loads(out)["partial"], err


def test_a_host_script_waits_for_the_client(plain):
    (plain / "run.py").write_text(HOST)
    host = subprocess.Popen([harness.tool("cs_python"), str(plain / "run.py"),
                             str(plain / "p.bin")],
                            env={**os.environ, "WSE_ARGS": "--dap=0"}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    port = int(re.search(r"waiting for a debugger at port (\d+)", host.stderr.readline()).group(1))
    with Dap(port) as dap:
        dap.ask("initialize", adapterID="csl")
        dap.ask("attach")
        dap.event("initialized")
        functions(dap, "scale", condition="@1,0")
        dap.go()
        assert dap.stopped()["reason"] == "function breakpoint"
        assert dap.evaluate("$x") == "1"
        functions(dap)
        dap.ask("continue", threadId=2)
        dap.event("terminated")
    out, err = host.communicate(timeout=60)
    assert host.returncode == 0 and "host done" in out, err


@pytest.mark.parametrize("options", (["--engine=fast"], ["--engine=reference"], ["--threads=2"]))
def test_a_walk_in_the_run_of_a_host_script(tmp_path, options):
    """Forward and back: a cycle has one state, and the host does not notice."""
    folder = host_run.build(tmp_path / "host", params={"W": 3, "H": 5})
    (folder / "run.py").write_text(dap_host.SCRIPT)
    walk, states = dap_host.Walk(folder, *options), {}
    draw = random.Random(int(harness.commit_random("walk").integers(1 << 30)))
    assert walk.there_and_back(draw, 40, states) == 0
    assert len(states) > 10
    assert walk.end() == dap_host.ANSWER


def test_a_port_that_is_taken(plain):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = harness.run([harness.tool("wse-emu"), plain / "p.bin",
                           f"--dap={taken.getsockname()[1]}"], expect=1)
    assert "[port_unusable]" in ran.err


def test_a_core(plain, dap):
    """Its run is over: the client looks at where it has ended."""
    state = plain / "state"
    harness.emu(plain / "p.bin", ALL, f"--save-state={state}")
    dap.launch(plain / "p.bin", [f"--core={state}"], stopOnEntry=True)
    dap.go()
    dap.stopped()
    whole = harness.emu(plain / "p.bin", ALL, "--dump=0,0,1,1").out
    value = dap.evaluate("pending", context="repl")
    assert re.search(rf"^  pending: u16 = {value}$", whole, re.M), (value, whole)
