"""The public programs of the calibration suite: where each comes from, how it runs, what it says.

A program is run as its authors run it: with its own scripts, in a scratch copy of the commit that
the measurement belongs to.  What a program's harness needs beyond that is done to the copy, and the
function that does it says so.  `run` returns the quantities that the program reports.
"""
import csv
import re
from dataclasses import dataclass

import own_programs
from reduce_lines import FOLDERS, files_of, run_reduce_line
from spmm import run_spmm
from tools import ProgramFailed

def numbers(pattern, text):
    """The groups of the one place where the pattern stands, as numbers."""
    found = re.findall(pattern, text)
    if not found:
        raise ProgramFailed(f"the output has no {pattern}:\n{text[-3000:]}")
    last = found[-1] if isinstance(found[-1], tuple) else (found[-1],)
    return [float(value) for value in last]


def run_course_gemm(tools, folder, case):
    out = tools.run(folder, "bash run.sh {x} {y} {M} {H} {N}".format(**case))
    names = ("min", "max", "mean")
    return dict(zip(names, numbers(r"Min:\s+(\d+)\s+Max:\s+(\d+)\s+Mean:\s+([\d.]+)", out)))


def run_stencil(tools, folder, case):
    """`folder` is relative to the checkout; the csv file has the seconds at 875 MHz."""
    here = folder / "src" / "wse" / case["variant"]
    out = tools.run(here, "bash commands.sh", kernel_dim_x=case["kernel"],
                    kernel_dim_y=case["kernel"], inp_rows=case["rows"], inp_cols=case["rows"],
                    iterations=case["iterations"], radius=case.get("radius", 1), arch="wse3")
    return {"max": round(numbers(r"Time \(device\): (\S+) s", out)[0] * 875e6)}


def run_first_stencil(tools, folder, case):
    """The authors' checkout has the folder in which run.py writes both results."""
    here = folder / "Stencil2D"
    (here / "out" / "output").mkdir(parents=True, exist_ok=True)
    tools.run(here, "bash commands.sh", kernel_dim_x=case["kernel"], kernel_dim_y=case["kernel"],
              inp_rows=case["rows"], inp_cols=case["rows"])
    with open(here / "run_test_log.csv") as log:
        last = list(csv.reader(log))[-1]
    return {"min": int(last[5]), "max": int(last[6])}


def use_tools_on_path(folder):
    """The scripts name the programs in their author's home folder."""
    for script in folder.glob("spikes/**/commands.sh"):
        script.write_text(re.sub(r"/home/\w+/tools/", "", script.read_text()))


def run_spike(tools, folder, spike, environment):
    use_tools_on_path(folder)
    here = folder / "spikes" / "experiments" / spike
    return tools.run(here, "bash commands.sh", **environment)


def run_lww(tools, folder, case):
    """A table of one line per tile: the fifth or sixth number is the time from start to the end."""
    out = run_spike(tools, folder, case["spike"], {"WIDTH": case["width"]})
    found = {}
    for line in out.splitlines():
        row = re.match(r"\s*(\d+)\s.*0x[0-9a-f]{8}\s+(?:\d+\s+)*?(\d+)\s+(?:yes|no)\b", line)
        if row:
            found[f"tile {row[1]}"] = int(row[2])
    if not found:
        raise ProgramFailed(f"no line of a tile:\n{out[-3000:]}")
    return found


def run_broadcast(tools, folder, case):
    out = run_spike(tools, folder, "rotating_root_spike", {"WIDTH": case["width"]})
    return {"end to end": numbers(r"(?i)end[- ]to[- ]end.*?(\d+)\s*cyc", out)[0]}


def run_broadcast_2d(tools, folder, case):
    """The names are those of the authors' grid, in which x and y are exchanged."""
    size = {"WIDTH": case["width"], "HEIGHT": case["width"]}
    out = run_spike(tools, folder, "rotating_root_2d_spike", size)
    found = {}
    for row in re.finditer(r"^y=\s*(\d+)((?:\s+-?\d+)+)\s*$", out, re.M):
        for x, cycles in enumerate(row[2].split()):
            found[f"tile {x} {row[1]}"] = int(cycles)
    if not found:
        raise ProgramFailed(f"no arrival grid:\n{out[-3000:]}")
    return found


def run_allreduce(tools, folder, case):
    out = run_spike(tools, folder, "allreduce_spike", {
        "WIDTH": case["width"], "HEIGHT": case["width"], "CALLS": case["calls"]})
    return {"max": numbers(r"slowest-PE total cycles : +(\d+)", out)[0]}


def run_coloring(tools, folder, case):
    """Thirteen graphs; the cycles of each are summed over the launches that color it.  The authors'
    Python needs numpy, as cs_python has it."""
    rounds = f"--max-rounds {case['rounds']}" if "rounds" in case else ""
    out = tools.run(folder, f"cs_python picasso/run_csl_tests.py --num-pes 4 --grid-rows 1 "
                            f"--routing {case['routing']} --test-range 1-13 --skip-h2 {rounds} "
                            f"--output-dir {folder}/results")
    found = re.findall(r"--- (test\d+)_\w+ ---.*?across \d+ levels?\): ([\d,]+) cycles", out, re.S)
    if not found:
        raise ProgramFailed(f"no line with cycles:\n{out[-3000:]}")
    return {test: int(cycles.replace(",", "")) for test, cycles in found}


@dataclass
class Program:
    """A public program at one commit; run(tools, folder, case) gives its quantities.  `files`: only these
    of the commit.  A program of our own has no repository."""
    repository: str
    commit: str
    run: object
    files: tuple = ()

    @property
    def is_own(self):
        return not self.repository


GEMM = "da-luce/cs5220_hw4"
STENCIL = "Elia-Belli/stencil-cerebras"
SPIKES = "siddharthbc/CSR-graph-coloring"
SPMM = "pr0f3ss/SpMM_Cerebras"

PROGRAMS = {
    "course-gemm": Program(GEMM, "0592bc8", run_course_gemm),
    "course-gemm-first": Program(GEMM, "c5e6a3e", run_course_gemm),
    "stencil": Program(STENCIL, "248fe47", run_stencil),
    "stencil-november": Program(STENCIL, "27cdc09", run_stencil),
    "stencil-june": Program(STENCIL, "cd54d0e", run_first_stencil),
    "lww": Program(SPIKES, "b31ce88", run_lww),
    "broadcast": Program(SPIKES, "b31ce88", run_broadcast),
    "broadcast-2d": Program(SPIKES, "b31ce88", run_broadcast_2d),
    "coloring": Program(SPIKES, "b50c598", run_coloring),
    "coloring-last": Program(SPIKES, "b31ce88", run_coloring),
    "spmm-june": Program(SPMM, "3d6b4ca", run_spmm),
    "spmm-hardware": Program(SPMM, "d886fbe", run_spmm),
    "spmm-may": Program(SPMM, "0ce1d5d", run_spmm),
    "allreduce": Program(SPIKES, "b31ce88", run_allreduce),
}
PROGRAMS |= {f"reduce-{kind}": Program(SPMM, "3d6b4ca" if kind == "two-phase" else "2892da6",
                                       run_reduce_line(kind), files_of(kind)) for kind in FOLDERS}
PROGRAMS |= {name: Program("", "", run) for name, run in own_programs.RUNS.items()}
