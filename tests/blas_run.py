"""Runs <blas/program> on emulated tiles and compares with numpy, for test_blas.py and the claims.

Where the elements lie is written down here once more, from docs/gemm.md, and not taken from the
library: a tile has panels of A by columns, panels of B by rows, its block of C by columns.
"""
import dataclasses
import os
import shutil

import numpy

import harness

LIBRARY = harness.ROOT / "stdlib"
PROGRAM = LIBRARY / "blas" / "program.csl"
OWN_PANELS_RULE = "saved > OWN_TURN * turns and "      # of <blas/layout>
F16, F16_F32, F32, BF16, BF16_F32 = range(5)       # elements, and sums if they differ
AUTO, SUMMA_BLOCK, SUMMA, MASTER_BLOCK, MASTER = range(5)
ANY, A_STAYS, B_STAYS, C_STAYS = range(4)
NAMES = ["f16", "f16 with f32 sums", "f32", "bf16", "bf16 with f32 sums"]
OF_PROGRAM = [0, 1, 2, 0, 1]         # its param `element`: the 16-bit type is the compiler's option
# Unit roundoff of the elements and of the sums.
ROUNDOFF = [(2.0 ** -11, 2.0 ** -11), (2.0 ** -11, 2.0 ** -24), (2.0 ** -24, 2.0 ** -24),
            (2.0 ** -8, 2.0 ** -8), (2.0 ** -8, 2.0 ** -24)]


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
    algorithm: int = AUTO
    stationary: int = ANY
    streamed: int = 0

    @property
    def dtype(self):
        """numpy has no bf16: those elements travel as float32."""
        return numpy.float16 if self.element in (F16, F16_F32) else numpy.float32

    @property
    def is_bf16(self):
        return self.element in (BF16, BF16_F32)


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
    nb: int               # columns of a panel of B, if the algorithm is MASTER; else 0
    algorithm: int        # the one that the plan chose


@dataclasses.dataclass
class Result:
    C: numpy.ndarray
    cycles: int           # from the first tile's start to the last one's end
    shape: Shape
    stats: dict


def cut_to_bf16(matrix):
    """float32 with the 8 bits of a bf16 fraction: what is below is cut off, as any bf16 will do."""
    return (matrix.view(numpy.uint32) & numpy.uint32(0xffff0000)).view(numpy.float32)


def matrices(case, seed):
    random = numpy.random.default_rng(seed)
    drawn = [random.uniform(-1, 1, size).astype(case.dtype)
             for size in ((case.M, case.K), (case.K, case.N), (case.M, case.N))]
    return [cut_to_bf16(matrix) for matrix in drawn] if case.is_bf16 else drawn


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


def ring(tiles):
    """The order in which MASTER's sums end on the tiles of a row."""
    return list(range(0, tiles, 2)) + list(range(tiles - 1 - tiles % 2, 0, -2))


def master_panels(case, s, B):
    """B by panels, (width, panels, elements): KB rows of nb columns for each tile in x."""
    whole = padded(B, case.width * s.kb, case.width * s.NB)
    places = [x * s.NB + j for x in ring(case.width) for j in range(0, s.NB, s.nb)
              if x * s.NB < B.shape[1]]
    assert len(places) == s.panels
    return numpy.array([[whole[x * s.kb:(x + 1) * s.kb, at:at + s.nb].ravel() for at in places]
                        for x in range(case.width)])


def summa_panels(case, s, B):
    b = padded(B, s.panels * s.kb, case.width * s.NB).reshape(s.panels, s.kb, case.width, s.NB)
    return b.transpose(2, 0, 1, 3).reshape(case.width, s.panels, -1)


def place_b(case, s, B):
    """Each tile's share of the panels, or all of them on one row of tiles that send them."""
    given = (master_panels if s.nb else summa_panels)(case, s, B)
    rows, share = (1, s.panels) if case.streamed else (case.height, s.b_panels)
    whole = numpy.zeros((case.width, rows * share, s.b_panel), B.dtype)
    whole[:, :given.shape[1], :given.shape[2]] = given
    return whole.reshape(case.width, rows, -1).transpose(1, 0, 2)


def place(case, s, A, B, C):
    """What each tile has of A, B and C: (height, width, elements) each."""
    h, w = case.height, case.width
    a = padded(A, h * s.MB, w * s.a_panels * s.kb).reshape(h, s.MB, w, s.a_panels, s.kb)
    c = padded(C, h * s.MB, w * s.NB).reshape(h, s.MB, w, s.NB)
    a, c = columns_padded(a, s.lead), columns_padded(c, s.lead)
    return (panels(a.transpose(0, 2, 3, 4, 1).reshape(h, w, s.a_panels, -1), s.a_panel),
            place_b(case, s, B), c.transpose(0, 2, 3, 1).reshape(h, w, -1))


def collect(case, s, tiles, rows, columns):
    """C from the tiles' blocks."""
    blocks = tiles.reshape(case.height, case.width, s.NB, s.lead).transpose(0, 3, 1, 2)[:, :s.MB]
    return blocks.reshape(case.height * s.MB, case.width * s.NB)[:rows, :columns]


def cycles_of(stamps):
    words = stamps.astype(numpy.int64).reshape(-1, 2, 3)
    times = words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)
    return int(times[:, 1].max() - times[:, 0].min())


def compile_case(folder, case, program=PROGRAM):
    image = folder / "gemm.bin"
    params = {name: getattr(case, name) for name in
              ("M", "N", "K", "width", "height", "scaled", "algorithm", "stationary", "streamed")}
    harness.compile(program, image, f"--arch={case.arch}",
                    f"--fp16-format={'bf16' if case.is_bf16 else 'f16'}", timeout=600,
                    params={**params, "element": OF_PROGRAM[case.element]})
    out = harness.emu(image, "--print=shape@0,0,1,1").out
    return image, Shape(*map(int, harness.values(out, "shape")[0, 0]))


def library_with_own_panels(folder, from_memory):
    """A copy of the library in which the paper's SUMMA takes own panels from memory, or from the fabric."""
    shutil.copytree(LIBRARY, folder)
    layout = folder / "blas" / "layout.csl"
    text = layout.read_text()
    assert text.count(OWN_PANELS_RULE) == 1, f"the rule in {layout.name} is not {OWN_PANELS_RULE!r}"
    layout.write_text(text.replace(OWN_PANELS_RULE, f"{'true' if from_memory else 'false'} and "))
    return folder


def cycles_with(library, folder, case):
    """The cycles of a product by a copy of the library; the result is compared with numpy."""
    os.environ["CSL_STDLIB"] = str(library)
    try:
        return check(folder, case, 1).cycles
    finally:
        del os.environ["CSL_STDLIB"]


def run(folder, case, A, B, C, program=PROGRAM, emu=(), timeout=600):
    image, shape = compile_case(folder, case, program)
    # The tiles then hold the transposed matrices, B's in A's place.
    is_transposed = case.stationary == B_STAYS
    if is_transposed:
        A, B, C = B.T, A.T, C.T
    feeders = case.streamed
    rest = f"0,{feeders},{case.width},{case.height}"
    areas = [rest, f"0,0,{case.width},1" if feeders else rest, rest]
    names = "BAC" if is_transposed else "ABC"
    files = [f"--h2d={name}@{area}={harness.save_npy(folder / (name + '.npy'), data)}"
             for name, area, data in zip(names, areas, place(case, shape, A, B, C))]
    launch = f"--launch=main({case.alpha},{case.beta})" if case.scaled else "--launch=main"
    harness.emu(image, f"--engine={case.engine}", *files, launch,
                f"--d2h=C@{rest}={folder / 'out.npy'}", f"--d2h=stamps={folder / 'stamps.npy'}",
                f"--stats={folder / 'stats.json'}", *emu, timeout=timeout)
    found = collect(case, shape, harness.load_npy(folder / "out.npy"), *C.shape)
    return Result(found.T if is_transposed else found,
                  cycles_of(harness.load_npy(folder / "stamps.npy")), shape,
                  harness.stats(folder / "stats.json"))


def bound(case, A, B, C):
    """Most that an element may be off: the standard bound of a sum of K products in the format of
    the sums, and one rounding of the result for each of its last operations."""
    element, sums = ROUNDOFF[case.element]
    off = numpy.expm1((case.K + 2) * sums)      # at least (1 + sums) ** (K + 2) - 1
    product = numpy.abs(A.astype(float)) @ numpy.abs(B.astype(float))
    size = abs(case.alpha) * product + abs(case.beta) * numpy.abs(C.astype(float))
    smallest = 2.0 ** -133 if case.is_bf16 else numpy.finfo(case.dtype).smallest_subnormal
    return (off + 3 * element) * size + (case.K + 2) * float(smallest)


def check(folder, case, seed, **options):
    A, B, C = matrices(case, seed)
    result = run(folder, case, A, B, C, **options)
    wanted = case.alpha * (A.astype(float) @ B.astype(float)) + case.beta * C.astype(float)
    off = numpy.abs(result.C.astype(float) - wanted)
    assert (off <= bound(case, A, B, C)).all(), f"{case}: off by {off.max()}"
    return result
