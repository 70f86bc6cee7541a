"""Reductions over a row of 512 tiles by the author of the thesis: early programs, with their results.

The published number is the second of tile 0's two timestamps less 48, which is what the first one
was; so `between` is the difference of the two.  The layouts have the rectangle of the author's last
run; here they get the one of the measurements.  A second module that records nothing is left out,
because both have the same name.
"""
import re

from tools import ProgramFailed

TILES = 512
READ = """
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
from cerebras.sdk.debug.debug_util import debug_util
runtime = SdkRuntime("out", memcpy_required=False)
runtime.load()
runtime.run()
runtime.stop()
first, last = debug_util("out").read_trace(0, 0, "")
print("between:", last - first)
"""
FINAL = "src/mpi_collectives/final/reduce_2colors_"
TWO_PHASE = "src/mpi_collectives/reduce_0_pe/reduce_2colors_2phase"
FOLDERS = {"chain": FINAL + "static", "groups-of-32": FINAL + "dynamic", "two-phase": TWO_PHASE}


def files_of(kind):
    """The sources: a mirror may lack the traces that the author committed beside them."""
    names = ["layout.csl", "code.csl"] + (["modules/ctrl_module.csl"] if kind == "two-phase" else [])
    return tuple(f"{FOLDERS[kind]}/{name}" for name in names)


def replace_in(file, pattern, by):
    file.write_text(re.sub(pattern, by, file.read_text(), flags=re.M))


def run_reduce_line(kind):
    def run(tools, folder, case):
        here = folder / FOLDERS[kind]
        replace_in(here / "layout.csl", r"^const Pw: u16 = \d+;", f"const Pw: u16 = {TILES};")
        replace_in(here / "code.csl", r"^const trace = .*\n", "")
        (here / "read.py").write_text(READ)
        params = ",".join(f"{name}:{value}" for name, value in case.items())
        tools.run(here, f"cslc layout.csl --fabric-dims={TILES},1 --fabric-offsets=0,0 "
                        f"--params={params} -o out")
        out = tools.run(here, "cs_python read.py")
        found = re.search(r"^between: (\d+)", out, re.M)
        if not found:
            raise ProgramFailed(f"no timestamps:\n{out[-3000:]}")
        return {"between": int(found[1])}
    return run
