"""gemm: where the elements lie on the tiles (docs/gemm.md), and products in pieces."""
from dataclasses import dataclass, fields

import numpy

from wse_blas.arguments import (ARCHS, BlasError, array_of, check_choice, element_of, number_of,
                                rectangle_of)
from wse_blas.pieces import bar_of, fitting, padded, ranges
from wse_blas.program import Session, compile_program

__all__ = ["Product", "gemm"]

BLOCK = 16                   # rows and columns of C on a tile, where the caller does not say

# As <blas/layout> numbers them.
ALGORITHMS = ["auto", "summa_block", "summa", "master_block", "master"]
STATIONARY = ["any", "A", "B", "C"]


@dataclass
class Product:
    C: numpy.ndarray
    cycles: int              # of all pieces, each from the first tile's start to the last one's end
    tiles: tuple             # (width, height)
    pieces: int              # calls on the tiles that the problem took: none if A or B is empty
    algorithm: str           # the one that the library chose; if there are no calls, the caller's


@dataclass(frozen=True)
class _Plan:
    """<blas/program> for a piece, as its tiles describe it."""
    width: int
    height: int
    MB: int
    NB: int
    kb: int
    panels: int
    a_panel: int
    b_panel: int
    a_panels: int
    b_panels: int
    lead: int
    nb: int                  # columns of a panel of B if the algorithm is MASTER, else 0
    algorithm: int


SHAPE = len(fields(_Plan)) - 2      # numbers of `shape`: those of _Plan behind width and height


# ---- placing and collecting ---------------------------------------------------------------------

def _ring(P):
    """The order in which the sums of MASTER's row of tiles end: 0, 2, 4, ... 5, 3, 1."""
    return [*range(0, P, 2), *reversed(range(1, P, 2))]


def _panels_of_B(p, B):
    """(width, panels, elements): the panels that come down each column of tiles."""
    if not p.nb:
        b = padded(B, p.panels * p.kb, p.width * p.NB).reshape(p.panels, p.kb, p.width, p.NB)
        return b.transpose(2, 0, 1, 3).reshape(p.width, p.panels, -1)
    b = padded(B, p.width * p.kb, p.width * p.NB)
    b = b.reshape(p.width, p.kb, p.width, p.NB // p.nb, p.nb)
    b = b[:, :, [x for x in _ring(p.width) if x * p.NB < B.shape[1]]]
    return b.transpose(0, 2, 3, 1, 4).reshape(p.width, p.panels, -1)


def _place_A(p, A):
    """(height, width, elements of a tile), as for B and C."""
    h, w = p.height, p.width
    a = padded(A, h * p.MB, w * p.a_panels * p.kb).reshape(h, p.MB, w, p.a_panels, p.kb)
    a = padded(a, h, p.lead, w, p.a_panels, p.kb).transpose(0, 2, 3, 4, 1)
    a = padded(a.reshape(h, w, p.a_panels, -1), h, w, p.a_panels, p.a_panel)
    return a.reshape(h, w, -1)


def _place_B(p, B):
    b = padded(_panels_of_B(p, B), p.width, p.height * p.b_panels, p.b_panel)
    return b.reshape(p.width, p.height, -1).transpose(1, 0, 2)


def _place_C(p, C):
    c = padded(C, p.height * p.MB, p.width * p.NB).reshape(p.height, p.MB, p.width, p.NB)
    c = padded(c, p.height, p.lead, p.width, p.NB)
    return c.transpose(0, 2, 3, 1).reshape(p.height, p.width, -1)


def _collect(p, tiles, shape):
    blocks = tiles.reshape(p.height, p.width, p.NB, p.lead).transpose(0, 3, 1, 2)[:, :p.MB]
    return blocks.reshape(p.height * p.MB, p.width * p.NB)[:shape[0], :shape[1]]


# ---- the tiles ----------------------------------------------------------------------------------

class _Tiles:
    """A piece's program, and which blocks of A and B the tiles hold."""

    def __init__(self, session, tiles, is_transposed):
        self.session, self.is_transposed = session, is_transposed
        self.plan = _Plan(*tiles, *session.shape(SHAPE))
        self._held = {}

    def put(self, name, block, matrix, piece):
        """The block of A or B, filled up with zeros, unless it is there already."""
        if self._held.get(name) == block:
            return
        self._held[name] = block
        whole = padded(matrix, *piece)
        # Transposed tiles hold B's transpose in A's place.
        placed = self._placed("AB".index(name) != self.is_transposed, whole)
        self.session.put(name, placed)

    def _placed(self, is_second, whole):
        if self.is_transposed:
            whole = whole.T
        return (_place_B if is_second else _place_A)(self.plan, whole)

    def put_C(self, matrix, piece):
        whole = padded(matrix, *piece)
        self.session.put("C", _place_C(self.plan, whole.T if self.is_transposed else whole))

    def get_C(self, piece):
        found = self.session.get("C", self.plan.lead * self.plan.NB)
        shape = piece[::-1] if self.is_transposed else piece
        found = _collect(self.plan, found, shape)
        return found.T if self.is_transposed else found


def _multiply(tiles, piece, A, B, C, alpha, beta, scaled, progress):
    """(C, cycles, pieces).  Along the inner dimension the sums stay on the tiles; where a piece has
    all of it, A stays, and B's columns go through in panels."""
    (M, K), N = A.shape, B.shape[1]
    result = numpy.zeros((M, N), A.dtype)
    jobs = [(rows, columns, inner) for rows in ranges(M, piece[0]) for columns in ranges(N, piece[1])
            for inner in ranges(K, piece[2])]
    cycles = 0
    with bar_of(len(jobs), progress) as bar:
        for rows, columns, inner in jobs:
            m, n, k = slice(*rows), slice(*columns), slice(*inner)
            tiles.put("A", (rows, inner), A[m, k], (piece[0], piece[2]))
            tiles.put("B", (inner, columns), B[k, n], (piece[2], piece[1]))
            if scaled and k.start == 0:
                tiles.put_C(result[m, n] if C is None else C[m, n], (piece[0], piece[1]))
            factors = (alpha, beta if k.start == 0 else numpy.ones_like(beta)) if scaled else ()
            cycles += tiles.session.call("main", *factors)
            if k.stop == K:
                found = tiles.get_C((piece[0], piece[1]))
                result[m, n] = found[:m.stop - m.start, :n.stop - n.start]
            bar.update(1)
    return result, cycles, len(jobs)


# ---- the call -----------------------------------------------------------------------------------

def _check_sizes(A, B, C):
    if A.shape[1] != B.shape[0]:
        raise BlasError(f"A has {A.shape[1]} columns and B has {B.shape[0]} rows: they must be equal")
    wanted = A.shape[0], B.shape[1]
    if C is not None and C.shape != wanted:
        raise BlasError(f"C has shape {C.shape}, the product has {wanted}: they must be equal")


def _check_algorithm(algorithm, stationary):
    check_choice(algorithm, "algorithm", ALGORITHMS)
    check_choice(stationary, "stationary", STATIONARY)
    if algorithm.startswith("summa") and stationary in ("A", "B"):
        raise BlasError("SUMMA moves A and B, its stationary matrix is C: take another algorithm, or "
                        "stationary='C'")
    if algorithm.startswith("master") and stationary == "C":
        raise BlasError("MASTER moves the sums of C, its stationary matrix is A or B: take another "
                        "algorithm, or stationary='A'")


def gemm(A, B, C=None, *, alpha=1.0, beta=0.0, tiles=None, arch="wse2", element=None,
         algorithm="auto", stationary="any", progress=None):
    """C = alpha A B + beta C; without beta, C is not read.  A Product.

    algorithm   "summa_block", "summa", "master_block", "master", or "auto", the faster one by the
                library's model
    stationary  "A", "B" or "C": the matrix that the algorithm does not move; "any"
    """
    element = element_of(element, A)
    check_choice(arch, "arch", ARCHS)
    _check_algorithm(algorithm, stationary)
    A, B = array_of(A, "A", 2, element), array_of(B, "B", 2, element)
    alpha, beta = number_of(alpha, "alpha", element), number_of(beta, "beta", element)
    if beta != 0 and C is None:
        raise BlasError("beta is given and C is not: pass the matrix C that beta multiplies")
    C = None if C is None else array_of(C, "C", 2, element, is_read=beta != 0)
    _check_sizes(A, B, C)
    (M, K), N = A.shape, B.shape[1]
    rectangle = rectangle_of(tiles, (-(-N // BLOCK), -(-M // BLOCK)))
    C = C if beta != 0 else None
    if not A.size or not B.size:
        result = numpy.zeros((M, N), A.dtype) if C is None else element.scaled(beta, C)
        return Product(result, 0, rectangle, 0, algorithm)
    is_scaled = bool(alpha != 1 or beta != 0)

    def compiled(piece):
        return compile_program(
            "program", arch, element, M=piece[0], N=piece[1], K=piece[2], width=rectangle[0],
            height=rectangle[1], scaled=int(is_scaled or piece[2] < K),
            algorithm=ALGORITHMS.index(algorithm), stationary=STATIONARY.index(stationary))

    piece, image = fitting((M, N, K), rectangle, compiled)
    with Session(image, element) as session:
        on = _Tiles(session, rectangle, stationary == "B")
        result, cycles, pieces = _multiply(on, piece, A, B, C, alpha, beta,
                                           is_scaled or piece[2] < K, progress)
    return Product(result, cycles, rectangle, pieces, ALGORITHMS[on.plan.algorithm])
