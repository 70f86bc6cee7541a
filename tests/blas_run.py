"""Runs <blas/program> on emulated tiles and compares with numpy, for test_blas.py and the claims.

Where the elements lie is written down here once more, from docs/gemm.md, and not taken from the
library: a tile has panels of A by columns, panels of B by rows, its block of C by columns.
"""
import dataclasses

import numpy

import harness

PROGRAM = harness.ROOT / "stdlib" / "blas" / "program.csl"
F16, F16_F32, F32 = range(3)         # elements, and sums if they differ
NAMES = ["f16", "f16 with f32 sums", "f32"]
# Unit roundoff of the elements and of the sums.
ROUNDOFF = [(2.0 ** -11, 2.0 ** -11), (2.0 ** -11, 2.0 ** -24), (2.0 ** -24, 2.0 ** -24)]


@dataclasses.dataclass
class Case:
    M: int
    N: int
    K: int
    width: int
    height: int
    element: int = F16
    scaled: int = 0
    arch: str = "wse2"
    engine: str = "fast"
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def dtype(self):
        return numpy.float32 if self.element == F32 else numpy.float16


@dataclasses.dataclass
class Shape:
    """What the program's `shape` says: blocks, panels, and their padded sizes."""
    MB: int
    NB: int
    kb: int
    panels: int
    a_panel: int
    b_panel: int
    a_panels: int
    b_panels: int
    lead: int             # from column to column of a block


@dataclasses.dataclass
class Result:
    C: numpy.ndarray
    cycles: int           # from the first tile's start to the last one's end
    shape: Shape
    stats: dict


def matrices(case, seed):
    random = numpy.random.default_rng(seed)
    return [random.uniform(-1, 1, size).astype(case.dtype)
            for size in ((case.M, case.K), (case.K, case.N), (case.M, case.N))]


def padded(matrix, rows, columns):
    whole = numpy.zeros((rows, columns), matrix.dtype)
    whole[:matrix.shape[0], :matrix.shape[1]] = matrix
    return whole


def columns_padded(blocks, lead):
    """(height, MB, ...) with `lead` rows in each block."""
    whole = numpy.zeros((blocks.shape[0], lead, *blocks.shape[2:]), blocks.dtype)
    whole[:, :blocks.shape[1]] = blocks
    return whole


def panels(blocks, size):
    """(height, width, panels, elements) with each panel padded, as (height, width, elements)."""
    whole = numpy.zeros((*blocks.shape[:3], size), blocks.dtype)
    whole[..., :blocks.shape[3]] = blocks
    return whole.reshape(*whole.shape[:2], -1)


def place(case, s, A, B, C):
    """What each tile has of A, B and C: (height, width, elements) each."""
    h, w = case.height, case.width
    a = padded(A, h * s.MB, w * s.a_panels * s.kb).reshape(h, s.MB, w, s.a_panels, s.kb)
    b = padded(B, h * s.b_panels * s.kb, w * s.NB).reshape(h, s.b_panels, s.kb, w, s.NB)
    c = padded(C, h * s.MB, w * s.NB).reshape(h, s.MB, w, s.NB)
    a, c = columns_padded(a, s.lead), columns_padded(c, s.lead)
    return (panels(a.transpose(0, 2, 3, 4, 1).reshape(h, w, s.a_panels, -1), s.a_panel),
            panels(b.transpose(0, 3, 1, 2, 4).reshape(h, w, s.b_panels, -1), s.b_panel),
            c.transpose(0, 2, 3, 1).reshape(h, w, -1))


def collect(case, s, tiles):
    """C from the tiles' blocks."""
    blocks = tiles.reshape(case.height, case.width, s.NB, s.lead).transpose(0, 3, 1, 2)[:, :s.MB]
    return blocks.reshape(case.height * s.MB, case.width * s.NB)[:case.M, :case.N]


def cycles_of(stamps):
    words = stamps.astype(numpy.int64).reshape(-1, 2, 3)
    times = words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)
    return int(times[:, 1].max() - times[:, 0].min())


def compile_case(folder, case, program=PROGRAM, **params):
    image = folder / "gemm.bin"
    sizes = {name: getattr(case, name) for name in ("M", "N", "K", "width", "height")}
    harness.compile(program, image, f"--arch={case.arch}", timeout=600,
                    params={**sizes, "element": case.element, "scaled": case.scaled, **params})
    out = harness.emu(image, "--print=shape@0,0,1,1").out
    return image, Shape(*map(int, harness.values(out, "shape")[0, 0]))


def run(folder, case, A, B, C, program=PROGRAM, emu=(), **params):
    image, shape = compile_case(folder, case, program, **params)
    files = [f"--h2d={name}={harness.save_npy(folder / (name + '.npy'), data)}"
             for name, data in zip("ABC", place(case, shape, A, B, C))]
    launch = f"--launch=main({case.alpha},{case.beta})" if case.scaled else "--launch=main"
    harness.emu(image, f"--engine={case.engine}", *files, launch, f"--d2h=C={folder / 'out.npy'}",
                f"--d2h=stamps={folder / 'stamps.npy'}", f"--stats={folder / 'stats.json'}", *emu,
                timeout=600)
    found = collect(case, shape, harness.load_npy(folder / "out.npy"))
    return Result(found, cycles_of(harness.load_npy(folder / "stamps.npy")), shape,
                  harness.stats(folder / "stats.json"))


def bound(case, A, B, C):
    """Most that an element may be off: the standard bound of a sum of K products in the format of
    the sums, and one rounding of the result for each of its last operations."""
    element, sums = ROUNDOFF[case.element]
    steps = (case.K + 2) * sums
    product = numpy.abs(A.astype(float)) @ numpy.abs(B.astype(float))
    size = abs(case.alpha) * product + abs(case.beta) * numpy.abs(C.astype(float))
    smallest = numpy.finfo(case.dtype).smallest_subnormal
    return (steps / (1 - steps) + 3 * element) * size + (case.K + 2) * float(smallest)


def check(folder, case, seed, **options):
    A, B, C = matrices(case, seed)
    result = run(folder, case, A, B, C, **options)
    wanted = case.alpha * (A.astype(float) @ B.astype(float)) + case.beta * C.astype(float)
    off = numpy.abs(result.C.astype(float) - wanted)
    assert (off <= bound(case, A, B, C)).all(), f"{case}: off by {off.max()}"
    return result
