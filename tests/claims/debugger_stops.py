#!/usr/bin/python3
"""At 200 random stops and more, every variable that the debugger prints equals what a copy of the
program with probes writes at this place; a variable without a certain value says so.  Random
programs, and with CONFORMANCE_DIR (a checkout of Cerebras/sdk-examples or Cerebras/csl-examples) two
benchmarks of the vendor with their host scripts, in the past of a finished run; at -O0, -O1, -O2.

Short form: test_debugger_stops.py::test_printed_variables_are_those_of_a_copy_with_probes.
"""
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy

from claims import Claims, commit_seed, harness
from dap_client import Dap, Refused
import probed_programs
import probed_run

claims = Claims()
draw = random.Random(commit_seed())
LEVELS = ("-O0", "-O1", "-O2")
STOPS = 200                   # of each level, at least
LINES = 10                    # of a program
CORNER = (4, 1)               # of the vendor's programs in the fabric
# Name, sources with probes, width and height of the rectangle of tiles that run them all.
BENCHMARKS = [("residual", ["residual.csl", "gemv.csl", "axpy.csl", "nrminf.csl"], (2, 2)),
              ("cholesky", ["pe.csl"], (1, 10))]
# Runs the host script, then saves the arrays of the tile.
READER = """
import runpy, sys
import numpy
place, names, script = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
sys.argv = sys.argv[3:]
try:
    runpy.run_path(script, run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
from cerebras.sdk.debug.debug_util import debug_util
x, y = map(int, place.split(","))
for name in names:
    numpy.save(name + ".npy", debug_util("out").get_symbol(x, y, name, numpy.int32))
"""


def generated(level):
    total, number = probed_run.Outcome(), 0
    while total.stops < STOPS:
        folder = claims.scratch / f"{level}{number}"
        total.add(probed_run.check_generated(folder, draw.randrange(1 << 30), level, draw, LINES))
        shutil.rmtree(folder)
        number += 1
    report(f"random programs, {level}", total)


def report(name, total):
    for line in total.wrong[:5]:
        print(f"  {line}"[:400])
    print(f"  {name}: {total.stops} stops at {total.lines} lines, of which {total.exact} were hit as "
          f"often as the text says; {total.without} variables had no certain value")
    claims.at_least(f"{name}: variables printed", total.printed, total.stops)
    claims.equals(f"{name}: wrong values", len(total.wrong), 0)


def with_tools(folder, level, cs_python):
    """The environment in which the vendor's commands get the level and the host script's frame."""
    tools = folder / "tools"
    tools.mkdir()
    for name, text in (("cslc", f'exec {harness.tool("cslc")} "$@" {level}'), *cs_python):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{harness.bin_dir()}:{os.environ['PATH']}"}


def probed_benchmark(origin, files, place):
    """[(file, source, hits)] of one tile of the benchmark."""
    folder = claims.scratch / "probed"
    shutil.copytree(origin, folder)
    sources = []
    for file in files:
        tag = Path(file).stem
        source = probed_programs.Source((folder / file).read_text(), tag, with_globals=file == files[0])
        if source.lines:
            (folder / file).write_text(source.text)
            sources.append((file, source))
    (folder / "reader.py").write_text(READER)
    names = ",".join(f"probe_log_{s.tag}" for _, s in sources)
    where = f"{CORNER[0] + place[0]},{CORNER[1] + place[1]}"
    real = harness.tool("cs_python")
    ran = subprocess.run(["bash", "commands_wse2.sh"], cwd=folder, capture_output=True, text=True,
                         env=with_tools(folder, "-O0", [
                             ("cs_python", f'exec {real} "$PWD/reader.py" {where} {names} "$@"')]),
                         check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    found = [(file, s, s.hits(numpy.load(folder / f"probe_log_{s.tag}.npy"))) for file, s in sources]
    shutil.rmtree(folder)
    return found


def stops_at(dap, outcome, path, place, source, line, most):
    """The values at the first stops of the tile at the line, from the start of the run; the run is
    at its end then."""
    marks = dap.lines(path, [{"line": line, "condition": f"@{place[0]},{place[1]}"}])
    if not marks[0]["verified"] or marks[0].get("line", line) != line:
        return []                 # optimised away
    dap.ask("evaluate", expression="goto 0", context="repl")
    dap.stopped()
    stops = []
    while len(stops) < most and dap.move("continue")["reason"] == "breakpoint":
        frame, shown = dap.frames()[0], {}
        for name in probed_run.names_at(source, line):
            try:
                shown[name] = f"{name} = " + dap.evaluate(name, frame)
            except Refused as refused:
                shown[name] = str(refused)
        stops.append(probed_run.read_stop(outcome, source, line, shown))
    if len(stops) == most:
        dap.lines(path, [])
        dap.move("continue")
    return stops


def debugged(origin, level, place, known):
    """The vendor's own commands, with a run that waits for the debugger."""
    total, folder = probed_run.Outcome(), claims.scratch / "plain"
    shutil.copytree(origin, folder)
    host = subprocess.Popen(["bash", "commands_wse2.sh"], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True,
                            env={**with_tools(folder, level, []), "WSE_ARGS": "--dap=0"})
    port = next(int(m[1]) for m in (re.search(r"waiting for a debugger at port (\d+)", line)
                                    for line in host.stderr) if m)
    with Dap(port, timeout=300) as dap:
        dap.ask("initialize", adapterID="csl")
        dap.ask("attach")
        dap.event("initialized")
        dap.ask("setExceptionBreakpoints", filters=["end"])
        dap.go()
        dap.stopped()
        for file, source, hits in known:
            for line in sorted(hits):
                stops = stops_at(dap, total, folder / file, place, source, line,
                                 2 * len(hits[line]) + 2)
                total.compare(f"{file} {level} line {line}", stops, hits[line])
            dap.lines(folder / file, [])
        dap.ask("continue", threadId=dap.thread)       # at its end, where each line has left it
        dap.event("terminated")
    host.stderr.read()
    host.wait(300)
    shutil.rmtree(folder)
    return total


for optimised in LEVELS:
    generated(optimised)
vendor = os.environ.get("CONFORMANCE_DIR")
for benchmark, with_probes, (width, height) in BENCHMARKS if vendor else ():
    vendors = Path(vendor) / "benchmarks" / benchmark
    tile = (draw.randrange(width), draw.randrange(height))
    written = probed_benchmark(vendors, with_probes, tile)
    for optimised in LEVELS:
        report(f"{benchmark} {optimised}, tile {tile[0]}, {tile[1]}",
               debugged(vendors, optimised, tile, written))
if not vendor:
    print("CONFORMANCE_DIR is not set: the vendor's benchmarks are left out")
claims.finish()
