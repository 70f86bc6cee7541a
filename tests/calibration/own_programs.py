"""Published numbers whose programs are not public: programs of our own stand in for them.

The points come from the tables where the numbers are: emu/machine/calibration.def has the timestamps
around one operation (fmacs) and the laws of the thesis, tests/gemm_table.py has Table I of "General
Matrix Multiply on CS-2".  All are for judging.  They say nothing about programs of others, so they are
not among the residuals of report.py.
"""
import json
import re
import sys
from pathlib import Path

from tools import ProgramFailed

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import blas_run  # noqa: E402
import gemm_table  # noqa: E402

CLAIM = ROOT / "tests" / "claims" / "calibration"
TABLE = ROOT / "emu" / "machine" / "calibration.def"
ALGORITHMS = {"MASTER": blas_run.MASTER, "SUMMA": blas_run.SUMMA}


def rows(kind):
    found = re.findall(rf"^{kind}\(([^)]*)\)$", TABLE.read_text(), re.M)
    return [[cell.strip() for cell in row.split(",")] for row in found]


# ---- points --------------------------------------------------------------------------------------

def point(set_name, program, release, case, quantity, published, source):
    return {"set": set_name, "program": program, "arch": "wse2", "release": release, "role": "judge",
            "case": case, "quantity": quantity, "published": float(published), "source": source}


def vector_points():
    return [point("fmacs", "fmacs", "0.7/0.8", f"n={n} op={op} conflict={conflict} loads={loads}",
                  "between", (int(least) + int(most)) / 2, "src/fmacs_test/COO_benchmark.csv")
            for n, op, conflict, loads, least, most, _ in rows("VECTOR")]


def law_points():
    """A law holds but for a constant, so a point is what a program takes more than the smallest one."""
    points = []
    for kind in ("LAW", "LAW2D"):
        by_program = {}
        for program, tiles, length, model, _ in rows(kind):
            by_program.setdefault(program, []).append((int(model), tiles, length))
        for program, sizes in by_program.items():
            (least, tiles, length), *others = sorted(sizes)
            points += [point("laws", "laws", "thesis",
                             f"program={program} tiles={t} length={n} from={tiles}x{length}",
                             "growth", model - least, "the thesis, laws of chain and broadcast")
                       for model, t, n in others]
    return points


def table_points():
    return [point("GEMM, Table I", "table-one", "CS-2",
                  f"algorithm={name} M={row.M} N={row.N} K={row.K} tiles={row.tiles}", "cycles",
                  getattr(row, name.lower()), "General Matrix Multiply on CS-2, Table I")
            for row in gemm_table.ROWS for name in ALGORITHMS]


def points():
    return vector_points() + law_points() + table_points()


# ---- programs ------------------------------------------------------------------------------------

def run_vector(tools, folder, case):
    params = {"n": case["n"], "shift": 1 - int(case["conflict"]), "is_sum": int(case["op"] == "fadds"),
              "loaded": int(case["loads"] == "0")}
    compile_own(tools, folder, CLAIM / "vector_layout.csl", params)
    out = tools.run(folder, "wse-emu own.bin --launch=main --print=stamps:6")
    words = [int(word) for word in out.split(":", 1)[1].split()[:6]]
    return {"between": sum((words[3 + i] - words[i]) << 16 * i for i in range(3))}


def compile_own(tools, folder, layout, params):
    text = ",".join(f"{name}:{value}" for name, value in params.items())
    tools.run(folder, f"cslc --arch=wse2 {layout} --params={text} -o own.bin")


def cycles_of(tools, folder, layout, params):
    compile_own(tools, folder, layout, params)
    tools.run(folder, "wse-emu own.bin")
    (folder / "own.bin").unlink()
    return json.loads((folder.parent / "stats.json").read_text())["cycles"]


def run_law(tools, folder, case):
    name = case["program"]
    is_2d = (CLAIM / f"{name}_layout.csl").exists()
    layout = CLAIM / f"{name}_layout.csl" if is_2d else ROOT / "samples" / name / "layout.csl"

    def cycles(tiles, length):
        return cycles_of(tools, folder, layout, {"M" if is_2d else "P": tiles, "B": length})
    return {"growth": cycles(case["tiles"], case["length"]) - cycles(*case["from"].split("x"))}


def run_table_one(tools, folder, case):
    """Our version of the paper's algorithm, its product compared with numpy's."""
    if "--timing" in tools.options:
        raise ProgramFailed("this program runs with the usual times only")
    size = [int(case[name]) for name in ("M", "N", "K", "tiles", "tiles")]
    (folder / "blas").mkdir(exist_ok=True)
    found = blas_run.check(folder / "blas", blas_run.Case(
        *size, algorithm=ALGORITHMS[case["algorithm"]]), seed=int(case["K"]))
    return {"cycles": found.cycles}


RUNS = {"fmacs": run_vector, "laws": run_law, "table-one": run_table_one}
