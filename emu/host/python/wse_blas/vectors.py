"""gemv, ger, axpy, scal, dot and nrm2: vectors and matrices in blocks on the tiles."""
import math
from dataclasses import dataclass

import numpy

from wse_blas.arguments import (ARCHS, WITHOUT_SUMS, BlasError, array_of, check_choice, check_length,
                                element_of, number_of, rectangle_of)
from wse_blas.pieces import bar_of, fitting, padded, ranges
from wse_blas.program import Session, compile_program

__all__ = ["Result", "axpy", "dot", "gemv", "ger", "nrm2", "scal"]

BLOCK = 64                   # rows and columns of a matrix on a tile, where the caller does not say
ELEMENTS = 256               # of a vector on a tile


@dataclass
class Result:
    value: object            # an array; of dot and nrm2 a number
    cycles: int              # of all pieces, each from the first tile's start to the last one's end
    tiles: tuple             # (width, height)
    pieces: int              # calls on the tiles that the problem took: none if A or x is empty


# ---- matrices with vectors ----------------------------------------------------------------------

class _Blocks:
    """A program with a matrix in blocks of MB x NB elements, by columns, one on each tile."""

    def __init__(self, session, tiles):
        self.session, (self.width, self.height) = session, tiles
        self.MB, self.NB = session.shape(2)

    def put_matrix(self, matrix):
        blocks = padded(matrix, self.height * self.MB, self.width * self.NB)
        blocks = blocks.reshape(self.height, self.MB, self.width, self.NB).transpose(0, 2, 3, 1)
        self.session.put("A", blocks.reshape(self.height, self.width, -1))

    def get_matrix(self, rows, columns):
        blocks = self.session.get("A", self.MB * self.NB)
        blocks = blocks.reshape(self.height, self.width, self.NB, self.MB).transpose(0, 3, 1, 2)
        return blocks.reshape(self.height * self.MB, self.width * self.NB)[:rows, :columns]

    def put_row(self, name, vector):
        """A vector as long as a row, along the first row of tiles."""
        self.session.put(name, padded(vector, self.width * self.NB).reshape(1, self.width, self.NB))

    def put_column(self, name, vector, x):
        """A vector as long as a column, along column x of tiles."""
        parts = padded(vector, self.height * self.MB).reshape(self.height, 1, self.MB)
        self.session.put(name, parts, x=x)

    def get_column(self, name, x, size):
        found = self.session.get(name, self.MB, x=x, width=1, height=self.height)
        return found.ravel()[:size]


def _rectangle_of_blocks(tiles, A):
    return rectangle_of(tiles, (-(-A.shape[1] // BLOCK), -(-A.shape[0] // BLOCK)))


def gemv(A, x, y=None, *, alpha=1.0, beta=0.0, tiles=None, arch="wse2", element=None, progress=None):
    """y = alpha A x + beta y; without beta, y is not read.  A Result with y's value."""
    element = element_of(element, A)
    check_choice(arch, "arch", ARCHS)
    A, x = array_of(A, "A", 2, element), array_of(x, "x", 1, element)
    (M, N) = A.shape
    check_length("x", len(x), "a row of A", N)
    alpha, beta = number_of(alpha, "alpha", element), number_of(beta, "beta", element)
    if y is None and beta != 0:
        raise BlasError("beta is given and y is not: pass the vector y that beta multiplies")
    if y is not None:
        y = array_of(y, "y", 1, element, is_read=beta != 0)
        check_length("y", len(y), "a column of A", M)
    rectangle = _rectangle_of_blocks(tiles, A)
    result = numpy.zeros(M, A.dtype) if y is None or beta == 0 else y.copy()
    if not A.size:
        return Result(element.scaled(beta, result), 0, rectangle, 0)
    is_scaled = bool(alpha != 1 or beta != 0)

    def compiled(piece):
        return compile_program("program_gemv", arch, element, M=piece[0], N=piece[1], width=rectangle[0],
                               height=rectangle[1], scaled=int(is_scaled or piece[1] < N))

    piece, image = fitting((M, N), rectangle, compiled)
    is_scaled = is_scaled or piece[1] < N
    jobs = [(rows, columns) for rows in ranges(M, piece[0]) for columns in ranges(N, piece[1])]
    cycles = 0
    with Session(image, element) as session, bar_of(len(jobs), progress) as bar:
        on, last = _Blocks(session, rectangle), rectangle[0] - 1
        for rows, columns in jobs:
            m, n = slice(*rows), slice(*columns)
            on.put_matrix(A[m, n])
            on.put_row("x", x[n])
            if is_scaled and n.start == 0:
                on.put_column("y", result[m], last)
            factors = (alpha, beta if n.start == 0 else numpy.ones_like(beta)) if is_scaled else ()
            cycles += session.call("main", *factors)
            if n.stop == N:
                result[m] = on.get_column("y", last, m.stop - m.start)
            bar.update(1)
    return Result(result, cycles, rectangle, len(jobs))


def ger(A, x, y, *, alpha=1.0, tiles=None, arch="wse2", element=None, progress=None):
    """A = A + alpha x yT.  A Result with A's value."""
    element = element_of(element, A, WITHOUT_SUMS)
    check_choice(arch, "arch", ARCHS)
    A, x, y = array_of(A, "A", 2, element), array_of(x, "x", 1, element), array_of(y, "y", 1, element)
    (M, N) = A.shape
    check_length("x", len(x), "a column of A", M)
    check_length("y", len(y), "a row of A", N)
    alpha = number_of(alpha, "alpha", element)
    rectangle = _rectangle_of_blocks(tiles, A)
    if not A.size:
        return Result(A.copy(), 0, rectangle, 0)

    def compiled(piece):
        return compile_program("program_ger", arch, element, M=piece[0], N=piece[1], width=rectangle[0],
                               height=rectangle[1])

    piece, image = fitting((M, N), rectangle, compiled)
    result = numpy.empty_like(A)
    jobs = [(rows, columns) for rows in ranges(M, piece[0]) for columns in ranges(N, piece[1])]
    cycles = 0
    with Session(image, element) as session, bar_of(len(jobs), progress) as bar:
        on = _Blocks(session, rectangle)
        for rows, columns in jobs:
            m, n = slice(*rows), slice(*columns)
            on.put_matrix(A[m, n])
            on.put_column("x", x[m], 0)
            on.put_row("y", y[n])
            cycles += session.call("main", alpha)
            result[m, n] = on.get_matrix(m.stop - m.start, n.stop - n.start)
            bar.update(1)
    return Result(result, cycles, rectangle, len(jobs))


# ---- vectors ------------------------------------------------------------------------------------

def _rectangle_of_parts(tiles, length):
    count = max(1, -(-length // ELEMENTS))
    width = math.isqrt(count - 1) + 1
    return rectangle_of(tiles, (width, -(-count // width)))


class _Parts:
    """Vectors in equal parts on all tiles, and <blas/program_vector> on them, piece by piece."""

    def __init__(self, vectors, tiles, arch, element, progress):
        self.vectors, self.element, self.progress = vectors, element, progress
        self.length = len(next(iter(vectors.values())))
        self.tiles = _rectangle_of_parts(tiles, self.length)
        self.pieces, self.cycles = [], 0
        if not self.length:
            return
        count = self.tiles[0] * self.tiles[1]

        def compiled(piece):
            return compile_program("program_vector", arch, element, n=piece[0], width=self.tiles[0],
                                   height=self.tiles[1])

        (self.n,), self.image = fitting((-(-self.length // count),), self.tiles, compiled)
        self.pieces = ranges(self.length, self.n * count)

    def each(self, operation, *factors):
        """Calls the operation for each piece; the session and the piece's place, one after the other."""
        if not self.pieces:
            return
        width, height = self.tiles
        with Session(self.image, self.element) as session, \
                bar_of(len(self.pieces), self.progress) as bar:
            for begin, end in self.pieces:
                for name, vector in self.vectors.items():
                    part = padded(vector[begin:end], height * width * self.n)
                    session.put(name, part.reshape(height, width, self.n))
                self.cycles += session.call(operation, *factors)
                yield session, begin, end
                bar.update(1)

    def new_vector(self, name, operation, *factors):
        """What the operation makes of a vector."""
        value = numpy.empty_like(self.vectors[name])
        for session, begin, end in self.each(operation, *factors):
            value[begin:end] = session.get(name, self.n).ravel()[:end - begin]
        return self.result(value)

    def numbers(self, operation):
        """The operation's result for each piece."""
        return [float(session.get_words("result", 1, width=1, height=1).view(numpy.float32)[0, 0, 0])
                for session, _, _ in self.each(operation)]

    def result(self, value):
        return Result(value, self.cycles, self.tiles, len(self.pieces))


def _parts(tiles, arch, element, progress, **vectors):
    element = element_of(element, next(iter(vectors.values())), WITHOUT_SUMS)
    check_choice(arch, "arch", ARCHS)
    vectors = {name: array_of(value, name, 1, element) for name, value in vectors.items()}
    if len(vectors) == 2:
        check_length("y", len(vectors["y"]), "x", len(vectors["x"]))
    return _Parts(vectors, tiles, arch, element, progress)


def axpy(alpha, x, y, *, tiles=None, arch="wse2", element=None, progress=None):
    """y = alpha x + y.  A Result with y's value."""
    parts = _parts(tiles, arch, element, progress, x=x, y=y)
    return parts.new_vector("y", "axpy", number_of(alpha, "alpha", parts.element))


def scal(alpha, x, *, tiles=None, arch="wse2", element=None, progress=None):
    """x = alpha x.  A Result with x's value."""
    parts = _parts(tiles, arch, element, progress, x=x)
    return parts.new_vector("x", "scal", number_of(alpha, "alpha", parts.element))


def dot(x, y, *, tiles=None, arch="wse2", element=None, progress=None):
    """The sum of x[i] y[i], added up in f32.  A Result with a float."""
    parts = _parts(tiles, arch, element, progress, x=x, y=y)
    return parts.result(sum(parts.numbers("dot"), 0.0))


def nrm2(x, *, tiles=None, arch="wse2", element=None, progress=None):
    """The square root of the sum of x[i]^2, added up in f32; squares do not overflow.  A Result with a
    float."""
    parts = _parts(tiles, arch, element, progress, x=x)
    return parts.result(math.hypot(*parts.numbers("nrm2")))
