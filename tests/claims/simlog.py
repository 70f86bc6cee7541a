#!/usr/bin/python3
"""The parser of the public visualiser wse-viz reads our logs: of five programs its counts are those of
our text trace.

    simlog.py WSE_VIZ       a checkout of davidz-cerebras/wse-viz; or WSE_VIZ in the environment

Short form: test_simlog.py::test_landings_are_the_moves_of_the_trace.
"""
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from claims import Claims, harness

PROGRAMS = (
    ("reduce-chain", {"P": 16, "B": 120}), ("broadcast-1d", {"P": 9, "B": 50}),
    ("reduce-tree", {"P": 8, "B": 40}), ("packets", {"packets": 6}),
    ("gemv", {"width": 8, "height": 6, "M": 48, "N": 32}),
)

COUNT = """
import { TraceParser } from %s;
import { NodeFile } from %s;
const trace = await TraceParser.index(new NodeFile(process.argv[2]));
const hops = {}, executed = {}, busy = {};
for (const [ident, wavelet] of trace.waveletIndex) hops[ident] = wavelet.hops.length;
for (const [tile, pcs] of trace.pcIndex)
  executed[tile] = [...(pcs.values ? pcs.values() : pcs)].reduce((sum, row) =>
    sum + (row.count ?? row[3] ?? 0), 0);
for (const [tile, states] of trace.peStateIndex) busy[tile] = states.length;
console.log(JSON.stringify({ width: trace.dimX, height: trace.dimY, first: trace.minCycle,
  last: trace.maxCycle, landings: trace.landingIndex?.totalLandings ?? 0, hops, executed,
  tiles: Object.keys(busy).length }));
"""


def parsed(viz, log, scratch):
    script = scratch / "count.mjs"
    script.write_text(COUNT % tuple(json.dumps((viz / name).as_uri())
                                    for name in ("trace-parser.js", "node-file.js")))
    done = subprocess.run(["node", script, log], capture_output=True, text=True, check=True)
    assert "Trace parse failure" not in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def counted(trace):
    """The same of our text trace."""
    moves = re.findall(r"^@\d+ P\d+\.\d+ wavelet move color \d+(?: '[^']*')? (\w+) ->", trace, re.M)
    executed = Counter(f"{x},{y}" for x, y in re.findall(
        r"^@\d+ P(\d+)\.(\d+) inst (?:issue|group) ", trace, re.M))
    cycles = [int(c) for c in re.findall(r"^@(\d+) P\d+\.\d+ (?:wavelet|inst (?:issue|group))", trace,
                                         re.M)]
    return moves, executed, cycles


def compare(claims, viz, sample, params):
    image = claims.scratch / f"{sample}.bin"
    harness.compile(f"samples/{sample}/layout.csl", image, params=params)
    for form in ("text", "simlog"):
        harness.emu(image, f"--trace-format={form}", "--trace=all",
                    f"--trace-file={claims.scratch}/{form}")
    moves, executed, cycles = counted((claims.scratch / "text").read_text())
    found = parsed(viz, claims.scratch / "simlog", claims.scratch)
    claims.equals(f"{sample}: landings", found["landings"], len(moves))
    claims.equals(f"{sample}: wavelets", len(found["hops"]), moves.count("RAMP"))
    claims.equals(f"{sample}: steps of all wavelets", sum(found["hops"].values()), len(moves))
    claims.equals(f"{sample}: instructions and groups of every tile",
                  {tile: n for tile, n in found["executed"].items() if n} == executed, True)
    claims.equals(f"{sample}: first cycle", found["first"], 0)
    claims.at_least(f"{sample}: last cycle", found["last"], max(cycles))


def main():
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("WSE_VIZ")
    if not named:
        sys.exit("usage: simlog.py WSE_VIZ")
    claims, viz = Claims(), Path(named).resolve()
    assert (viz / "trace-parser.js").is_file(), f"{viz} has no trace-parser.js"
    for sample, params in PROGRAMS:
        compare(claims, viz, sample, params)
    claims.finish()


main()
