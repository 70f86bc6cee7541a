#!/usr/bin/python3
"""The debugger's server for editors, by a public client: a session with breakpoints of each kind,
steps, scopes, conditions, evaluation and the way back, on our samples and, with CONFORMANCE_DIR (a
checkout of Cerebras/csl-examples or Cerebras/sdk-examples), on two benchmarks of the vendor with
their host scripts, at -O0 and -O1; and the way back to a planted bad write on 64 x 64 tiles.

Short form: test_dap.py::test_steps_there_and_back.
"""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from claims import Claims, harness
from dap_client import Dap

claims = Claims()
image = claims.scratch / "p.bin"
SCOPES = ["Parameters", "Locals", "Globals", "Constants", "Registers", "DSRs", "Queues", "FIFOs",
          "Tasks and threads", "Router"]


class Session:
    """The steps of a session; what went wrong is in `bad`."""

    def __init__(self, dap):
        self.dap, self.bad = dap, []

    def check(self, what, ok):
        if not ok:
            self.bad.append(what)

    def state(self):
        return self.dap.evaluate("hash", context="repl")

    def run(self):
        dap = self.dap
        dap.ask("setExceptionBreakpoints", filters=["fault", "deadlock", "end"])
        mark = dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "task"}])["breakpoints"][0]
        dap.go()
        stop = dap.stopped()
        self.check("a task starts", stop["reason"] == "function breakpoint" and mark["verified"])
        self.first = dap.frames()[0]
        self.region = "@{x},{y}".format(x=dap.evaluate("$x"), y=dap.evaluate("$y"))
        dap.ask("setFunctionBreakpoints", breakpoints=[])
        self.look_around()
        data = self.watch_data()
        self.step()
        self.go_there_and_back()
        self.go_back_to_places()
        self.find_ends(data)

    def look_around(self):
        """Every scope answers; `evaluate` and `variables` say the same."""
        dap, frame = self.dap, self.dap.frames()[0]
        scopes = dap.scopes(frame)
        shown = [v for name in SCOPES for v in dap.variables(scopes[name]) if "evaluateName" in v]
        self.check("scopes", list(scopes) == SCOPES and len(shown) > 0)
        self.check("evaluation", all(dap.evaluate(v["evaluateName"], frame) == v["value"]
                                     for v in shown))
        parents = [v for v in shown if v["variablesReference"]][:5]
        parts = [p for v in parents for p in dap.variables(v["variablesReference"], count=3)]
        self.check("parts", all(dap.evaluate(p["evaluateName"], frame) == p["value"]
                                for p in parts))

    def watch_data(self):
        """Watches the first variables that are small enough; how many."""
        dap, frame = self.dap, self.dap.frames()[0]
        infos = [dap.ask("dataBreakpointInfo", name=v["evaluateName"], frameId=frame["id"])
                 for v in dap.variables(dap.scopes(frame)["Globals"])]
        ids = [info["dataId"] for info in infos if info["dataId"]][:4]
        marks = dap.ask("setDataBreakpoints", breakpoints=[{"dataId": i} for i in ids])
        self.check("data breakpoints", all(m["verified"] for m in marks["breakpoints"]))
        dap.ask("setDataBreakpoints", breakpoints=[])
        return ids

    def step(self):
        for request in ("next", "stepIn", "next", "stepOut"):
            reason = self.dap.move(request)["reason"]
            self.check(request, reason in ("step", "end of the run"))
            if reason != "step":
                return

    def go_there_and_back(self):
        state, dap = self.state(), self.dap
        for _ in range(3):
            dap.move("stepBack", granularity="instruction")
        dap.ask("evaluate", expression=f"goto {state.split()[1].rstrip(',')}", context="repl")
        dap.stopped()
        self.check("there and back", self.state() == state)

    def go_back_to_places(self):
        """Back to the line and to the instruction of the first stop."""
        dap, first = self.dap, self.first
        here = first["instructionPointerReference"]
        rows = dap.ask("disassemble", memoryReference=here, instructionCount=3)["instructions"]
        self.check("disassembly", rows[0]["address"] == here)
        if first["line"]:
            never, always = dap.lines(first["source"]["path"], [
                {"line": first["line"], "condition": f"{self.region} $cycle < 0"},
                {"line": first["line"], "condition": f"{self.region} if $cycle >= 0"}])
            stop = dap.move("reverseContinue")
            self.check("back to a line", stop.get("hitBreakpointIds") == [always["id"]] and
                       never["verified"])
            dap.lines(first["source"]["path"], [])
            dap.ask("evaluate", expression="goto", context="repl")
            dap.stopped()
        dap.ask("setInstructionBreakpoints", breakpoints=[
            {"instructionReference": here, "condition": self.region}])
        self.check("back to an instruction",
                   dap.move("reverseContinue")["reason"] == "instruction breakpoint")
        self.check("the same instruction",
                   dap.frames()[0]["instructionPointerReference"] == here)
        dap.ask("setInstructionBreakpoints", breakpoints=[])

    def find_ends(self, data):
        dap = self.dap
        self.check("end", dap.move("continue")["reason"] == "end of the run")
        dap.ask("setDataBreakpoints", breakpoints=[{"dataId": i} for i in data])
        reason = dap.move("reverseContinue")["reason"]
        self.check("back to a write", reason in ("data breakpoint", "entry"))
        dap.ask("setDataBreakpoints", breakpoints=[])
        self.check("start", dap.move("reverseContinue")["reason"] == "entry" and
                   dap.evaluate("$cycle") == "0")
        self.check("end again", dap.move("continue")["reason"] == "end of the run")
        dap.ask("continue", threadId=dap.thread)
        dap.event("terminated")


def report(name, session):
    claims.equals(f"{name}: steps that failed", ", ".join(session.bad) or "none", "none")


def debug_sample(sample, level, params):
    harness.compile(f"samples/{sample}/layout.csl", image, level, params=params)
    with Dap(timeout=300) as dap:
        dap.launch(image)
        session = Session(dap)
        session.run()
    report(f"{sample} {level}", session)


def debug_host_script(name, level, script):
    """The vendor's own commands, with a compiler that gets the level, and a run that waits."""
    folder = claims.scratch / f"{name}{level}"
    shutil.copytree(script.parent, folder)
    tools = folder / "tools"
    tools.mkdir()
    compiler = tools / "cslc"
    compiler.write_text(f'#!/bin/sh\nexec {harness.tool("cslc")} "$@" {level}\n')
    compiler.chmod(0o755)
    path = f"{tools}:{harness.bin_dir()}:{os.environ['PATH']}"
    host = subprocess.Popen(["bash", script.name], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PATH": path, "WSE_ARGS": "--dap=0"})
    port = None
    for line in host.stderr:
        if found := re.search(r"waiting for a debugger at port (\d+)", line):
            port = int(found.group(1))
            break
    with Dap(port, timeout=300) as dap:
        dap.ask("initialize", adapterID="csl")
        dap.ask("attach")
        dap.event("initialized")
        session = Session(dap)
        session.run()
    host.stderr.read()
    session.check("exit code of the host script", host.wait(300) == 0)
    report(f"{name} {level}", session)


for sample, params in (("reduce-chain", {"P": 6, "B": 9}), ("packets", {"packets": 3}),
                       ("gemv", {"width": 4, "height": 4, "M": 16, "N": 16})):
    for level in ("-O0", "-O1"):
        debug_sample(sample, level, params)

vendor = os.environ.get("CONFORMANCE_DIR")
for name in ("residual", "single-tile-matvec") if vendor else ():
    folder = Path(vendor) / "benchmarks" / name
    for level in ("-O0", "-O1"):
        debug_host_script(name, level, folder / "commands_wse2.sh")
if not vendor:
    print("CONFORMANCE_DIR is not set: the vendor's benchmarks are left out")

# One of 4,096 tiles writes an element too far, once, and so loses what its neighbour in memory had.
LAYOUT = """
layout {
  @set_rectangle(64, 64);
  for (@range(u16, 64)) |y| {
    for (@range(u16, 64)) |x| {
      @set_tile_code(x, y, "bad.csl", .{ .x = x, .y = y });
    }
  }
}
"""
BAD = """
param x: u16;
param y: u16;
const step_id = @get_local_task_id(8);
var values: [4]i16;
var total: i16 = 0;
var steps: u16 = 0;
fn clear(i: u16) void {
  values[i] = 0;
}
task step() void {
  steps += 1;
  total += 1;
  if (steps == 40 and x == 63 and y == 5) {
    clear(4);
  }
  if (steps < 200) {
    @activate(step_id);
  }
}
comptime {
  @bind_local_task(step, step_id);
  @activate(step_id);
}
"""


def child_of(pid):
    """The folder of /proc for the debugger, which the client has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"\nPPid:\t{pid}\n" in (folder / "status").read_text():
                return folder
        except OSError:
            continue
    raise AssertionError("the debugger is gone")


def peak_gigabytes(process):
    return int(re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text()).group(1)) / 1e6


def processor_seconds(process):
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


(claims.scratch / "layout.csl").write_text(LAYOUT)
(claims.scratch / "bad.csl").write_text(BAD)
harness.compile(claims.scratch / "layout.csl", image, "-O0")
with Dap(timeout=300) as dap:
    dap.launch(image)
    dap.ask("setExceptionBreakpoints", filters=["end"])
    dap.go()
    dap.stopped()
    dap.ask("evaluate", expression="tile 63,5", context="repl")
    dap.stopped()
    claims.equals("64 x 64 tiles: the spoiled total", dap.evaluate("total"), "160")
    info = dap.ask("dataBreakpointInfo", name="total", frameId=dap.frames()[0]["id"])
    dap.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"],
                                                "condition": "total == 0"}])
    process = child_of(dap.process.pid)
    before, start = processor_seconds(process), time.monotonic()
    stop = dap.move("reverseContinue")
    seconds = processor_seconds(process) - before
    print(f"the way back took {time.monotonic() - start:.2f} s on this machine")
    claims.equals("64 x 64 tiles: the way back stops at the bad write",
                  (stop["reason"], dap.frames()[0]["name"], dap.evaluate("steps")),
                  ("data breakpoint", "clear", "40"))
    claims.at_most("64 x 64 tiles: reverse-continue to the bad write, processor time", seconds, 2.0,
                   "s")
    start = time.monotonic()
    threads = dap.ask("threads")["threads"]
    claims.at_most("64 x 64 tiles: threads in the list", len(threads), 130)
    claims.at_most("64 x 64 tiles: time of the list", time.monotonic() - start, 0.5, "s")
    claims.at_most("64 x 64 tiles: peak memory of the debugger", peak_gigabytes(process), 1.0, "GB")
claims.finish()
