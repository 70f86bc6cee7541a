"""One measurement: a program compiled, its result compared with numpy's, its cycles counted; or
the performance model asked.

A measurement is a dictionary: `program` is "line", "grid", "gemv" or "model", the rest its
parameters.
"""
import json
import subprocess
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Kinds of line.csl and grid.csl, patterns of <collectives/trees>, sums of gemv-collectives.
LINE = {"reduce": 0, "broadcast": 1, "ring reduce": 2, "jump reduce": 3, "allreduce": 4,
        "ring allreduce": 5, "butterfly allreduce": 6}
GRID = {"reduce": 0, "broadcast": 1, "allreduce": 2}
PATTERNS = {"star": 0, "chain": 1, "tree": 2, "two-phase": 3, "optimal": 4}
SUMS = {"library": 0, "chain": 1, "two-phase": 2}
GEMV_PHASES = ("scatter x", "scatter b", "broadcast x", "multiply", "reduce", "gather y")


class Wrong(Exception):
    """A program failed, or its result is not numpy's."""


class Tools:
    """The programs of the toolchain in one folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("cslc", "wse-emu", "wse-model"):
            if not (self.folder / name).exists():
                raise Wrong(f"{self.folder} has no {name}: build the toolchain, or say --bin=DIR")

    def run(self, name, *args):
        done = subprocess.run([self.folder / name, *map(str, args)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode:
            raise Wrong(f"{name} {' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def compile(self, layout, image, arch, params):
        text = ",".join(f"{name}:{value}" for name, value in params.items())
        self.run("cslc", ROOT / layout, f"--arch={arch}", f"--params={text}", "-o", image)


def save(folder, name, array, dtype=numpy.float32):
    path = folder / f"{name}.npy"
    numpy.save(path, numpy.ascontiguousarray(array, dtype=dtype))
    return path


# ---- collectives -------------------------------------------------------------------------------

def start_values(tiles, length):
    """Whole numbers, so that no order of additions rounds; no two tiles and elements alike."""
    return (numpy.arange(tiles)[:, None] % 13 + numpy.arange(length) % 97).astype(numpy.float32)


def launch(tools, folder, image, v, where):
    """Cycles of main(), and v of the tiles `where` at the end."""
    tools.run("wse-emu", image, f"--h2d=v={save(folder, 'v', v)}", "--launch=main",
              f"--stats={folder}/s.json", f"--d2h=v@{where}={folder}/result.npy")
    cycles = json.loads((folder / "s.json").read_text())["cycles"]
    return cycles, numpy.load(folder / "result.npy", allow_pickle=False)


def collective(tools, folder, layout, params, shape, root, op, arch):
    """`shape` and `root`: height and width, y and x."""
    height, width = shape
    image = folder / "program.bin"
    tools.compile(layout, image, arch, params)
    v = start_values(height * width, params["B"]).reshape(height, width, -1)
    everywhere = op != "reduce"
    where = f"0,0,{width},{height}" if everywhere else f"{root[1]},{root[0]},1,1"
    cycles, got = launch(tools, folder, image, v, where)
    expected = v[root] if op == "broadcast" else v.sum(axis=(0, 1))
    if not (got.reshape(-1, params["B"]) == expected).all():
        raise Wrong(f"{layout} {params}: the result is not numpy's")
    return cycles


def line(tools, folder, kind, P, B, pattern="chain", step=0, root=0, arch="wse2"):
    params = {"kind": LINE[kind], "P": P, "B": B, "which": PATTERNS[pattern], "step": step,
              "root": root}
    return collective(tools, folder, "samples/study/line.csl", params, (1, P), (0, root),
                      kind.split()[-1], arch)


def grid(tools, folder, kind, M, B, arch="wse2"):
    params = {"kind": GRID[kind], "M": M, "B": B}
    return collective(tools, folder, "samples/study/grid.csl", params, (M, M), (0, 0), kind, arch)


# ---- y = A x + b -------------------------------------------------------------------------------

def gemv_phases(tools, folder, width, height, rows, columns, with_2d=False, sum_by="library",
                arch="wse2", engine="fast", dtype=numpy.float32):
    """Cycles of each phase of samples/gemv-collectives, {name: cycles}, and of all.

    A phase ends when the slowest tile has finished it.  Whole numbers: no order of additions
    rounds in f32."""
    rng = numpy.random.default_rng(width * 1000 + rows)
    matrix = rng.integers(-3, 4, (height * rows, width * columns)).astype(numpy.float32)
    x = rng.integers(-3, 4, width * columns).astype(numpy.float32)
    b = rng.integers(-9, 10, height * rows).astype(numpy.float32)
    # Blocks, each by columns.
    blocks = matrix.reshape(height, rows, width, columns).transpose(0, 2, 3, 1)
    copies = [f"--h2d=A={save(folder, 'A', blocks.reshape(height, width, -1), dtype)}",
              f"--h2d=x@0,0,1,1={save(folder, 'x', x.reshape(1, 1, -1), dtype)}",
              f"--h2d=b@0,0,1,1={save(folder, 'b', b.reshape(1, 1, -1), dtype)}"]
    image = folder / "program.bin"
    tools.compile("samples/gemv-collectives/layout.csl", image, arch,
                  {"width": width, "height": height, "rows": rows, "columns": columns,
                   "is_f16": str(dtype == numpy.float16).lower(),
                   "with_2d": str(with_2d).lower(), "sum_by": SUMS[sum_by]})
    last = f"{width - 1},{height - 1}"
    out = tools.run("wse-emu", image, f"--engine={engine}", *copies, "--launch=main",
                    f"--print=y:{height * rows}@{last},1,1", "--print=stamps:21")
    words, y = [], None
    for printed in out.splitlines():
        name, _, values = printed.partition(":")
        if name == f"y@{last}":
            y = [float(value) for value in values.split()]
        elif name.startswith("stamps@"):
            words.append([int(value) for value in values.split()])
    if not numpy.array_equal(y, (matrix @ x + b).astype(dtype)):
        raise Wrong(f"gemv {width} x {height} tiles, {rows} x {columns}: y is not numpy's")
    stamps = numpy.array(words).reshape(-1, 7, 3) << numpy.array([0, 16, 32])
    ends = stamps.sum(axis=2).max(axis=0)
    return dict(zip(GEMV_PHASES, numpy.diff(ends).tolist())), int(ends[-1] - ends[0])


def gemv(tools, folder, **params):
    return gemv_phases(tools, folder, **params)[1]


# ---- the model ---------------------------------------------------------------------------------

def model(tools, folder, op, pattern, B, P=0, M=0, step=0, root=None):
    """`root` of a line; a grid's is its corner."""
    where = f"--pes={P}" if P else f"--grid={M}x{M}"
    more = [f"--root={root}"] if root is not None else []
    return int(tools.run("wse-model", "predict", f"--op={op}", f"--pattern={pattern}", where,
                         f"--len={B}", *([f"--step={step}"] if step else []), *more))


PROGRAMS = {"line": line, "grid": grid, "gemv": gemv, "model": model}


def measure(tools, what):
    """Cycles of a measurement."""
    params = dict(what)
    program = PROGRAMS[params.pop("program")]
    with tempfile.TemporaryDirectory(prefix="study-") as folder:
        return program(tools, Path(folder), **params)
