"""Matrix products on emulated tiles in one call.

    from wse_blas import gemm
    result = gemm(A, B)                       # numpy arrays; C = A B
    result = gemm(A, B, C, alpha=2, beta=-1, tiles=(16, 16), arch="wse3")
    print(result.C, result.cycles)

The call compiles <blas/program> for the sizes, once: images are kept in a cache.  It places the
matrices on the tiles, runs the emulator, and collects C.  A problem that is larger than the memory of
the tiles goes through them in pieces, one after the other.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy

__all__ = ["gemm", "GemmError", "Result"]

MOST_SIDE = 750              # tiles of a rectangle that any machine has, in x
BLOCK_ROWS, BLOCK_COLUMNS = 16, 16      # of C on a tile, where the caller does not say

# As <blas/program> and <blas/layout> number them.  numpy has no bf16: those matrices travel as float32.
ELEMENTS = {"f16": 0, "f16_f32": 1, "f32": 2, "bf16": 0, "bf16_f32": 1}
DTYPES = {"f16": numpy.float16, "f16_f32": numpy.float16, "f32": numpy.float32,
          "bf16": numpy.float32, "bf16_f32": numpy.float32}
ALGORITHMS = ["auto", "summa_block", "summa", "master_block", "master"]
STATIONARY = ["any", "A", "B", "C"]


class GemmError(RuntimeError):
    """The product cannot be computed as asked; the text says why."""


@dataclass
class Result:
    C: numpy.ndarray
    cycles: int              # of all pieces, each from the first tile's start to the last one's end
    tiles: tuple             # (width, height)
    pieces: int              # runs that the problem took
    algorithm: str           # the one that the library chose


@dataclass(frozen=True)
class _Asked:
    """What the program is compiled for besides the size."""
    tiles: tuple
    element: str
    arch: str
    algorithm: str
    stationary: str


@dataclass(frozen=True)
class _Program:
    """A compiled product of one size, and where its elements lie."""
    asked: _Asked
    image: Path
    M: int
    N: int
    K: int
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

    @property
    def is_transposed(self):
        return self.asked.stationary == "B"


# ---- tools ------------------------------------------------------------------------------------

def _root():
    return Path(__file__).resolve().parents[3]


def _tool(name):
    if "WSE_BIN" in os.environ:
        return Path(os.environ["WSE_BIN"]) / name
    built = _root() / "build" / "release" / "bin" / name
    found = shutil.which(name) or (str(built) if built.exists() else None)
    if not found:
        raise GemmError(f"{name} is not on the PATH: run the script with cs_python, or build the project")
    return Path(found).resolve()


def _source(cslc):
    for folder in (os.environ.get("CSL_STDLIB"), cslc.parent.parent / "share" / "wse" / "stdlib",
                   _root() / "stdlib"):
        if folder and (Path(folder) / "blas" / "program.csl").exists():
            return Path(folder) / "blas" / "program.csl"
    raise GemmError("the standard library has no blas/program.csl")


def _cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("WSE_BLAS_CACHE") or Path(base) / "wse-blas")


def _call(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


# ---- compiling --------------------------------------------------------------------------------

def _key(cslc, source, words):
    """The key of the image: the compiler, the library's files, and the parameters."""
    digest = hashlib.sha256(f"{cslc} {cslc.stat().st_mtime_ns}".encode())
    for file in sorted(source.parent.parent.rglob("*.csl")):
        digest.update(file.read_bytes())
    digest.update(" ".join(words).encode())
    return digest.hexdigest()[:32]


def _compile(size, asked, scaled):
    """The program, or None if it does not fit into the tiles' memory."""
    cslc, (M, N, K), (width, height) = _tool("cslc"), size, asked.tiles
    source = _source(cslc)
    params = {"M": M, "N": N, "K": K, "width": width, "height": height, "scaled": int(scaled),
              "element": ELEMENTS[asked.element], "algorithm": ALGORITHMS.index(asked.algorithm),
              "stationary": STATIONARY.index(asked.stationary)}
    words = [f"--arch={asked.arch}", "--params=" + ",".join(f"{k}:{v}" for k, v in params.items())]
    if asked.element.startswith("bf16"):
        words.append("--fp16-format=bf16")
    folder = _cache() / _key(cslc, source, words)
    image, shape = folder / "gemm.bin", folder / "shape.txt"
    if not shape.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"{os.getpid()}.bin"
        done = _call(cslc, source, "-o", made, *words)
        if done.returncode:
            if "bytes more than a tile has" in done.stderr:
                return None
            raise GemmError(f"the program does not compile:\n{done.stderr}")
        os.replace(made, image)
        shown = _call(_tool("wse-emu"), image, "--print=shape@0,0,1,1")
        if shown.returncode:
            raise GemmError(f"the program does not load:\n{shown.stderr}")
        shape.write_text(shown.stdout)
    numbers = [int(word) for word in re.findall(r"\d+", shape.read_text().split(":")[1])]
    return _Program(asked, image, M, N, K, width, height, *numbers)


# ---- placing and collecting -------------------------------------------------------------------

def _padded(matrix, *shape):
    whole = numpy.zeros(shape, matrix.dtype)
    whole[tuple(slice(n) for n in matrix.shape)] = matrix
    return whole


def _ring(P):
    """The order in which the sums of MASTER's row of tiles end: 0, 2, 4, ... 5, 3, 1."""
    return [*range(0, P, 2), *reversed(range(1, P, 2))]


def _panels_of_B(p, B):
    """(width, panels, elements): the panels that come down each column of tiles."""
    if not p.nb:
        b = _padded(B, p.panels * p.kb, p.width * p.NB).reshape(p.panels, p.kb, p.width, p.NB)
        return b.transpose(2, 0, 1, 3).reshape(p.width, p.panels, -1)
    b = _padded(B, p.width * p.kb, p.width * p.NB)
    b = b.reshape(p.width, p.kb, p.width, p.NB // p.nb, p.nb)
    b = b[:, :, [x for x in _ring(p.width) if x * p.NB < B.shape[1]]]
    return b.transpose(0, 2, 3, 1, 4).reshape(p.width, p.panels, -1)


def _place(p, A, B, C):
    """(height, width, elements) of A, B and C: docs/gemm.md."""
    h, w, dtype = p.height, p.width, A.dtype
    a = _padded(A, h * p.MB, w * p.a_panels * p.kb).reshape(h, p.MB, w, p.a_panels, p.kb)
    a = _padded(a, h, p.lead, w, p.a_panels, p.kb).transpose(0, 2, 3, 4, 1)
    a = _padded(a.reshape(h, w, p.a_panels, -1), h, w, p.a_panels, p.a_panel)
    b = _padded(_panels_of_B(p, B), w, h * p.b_panels, p.b_panel)
    b = b.reshape(w, h, -1).transpose(1, 0, 2)
    c = numpy.zeros((h, p.lead, w, p.NB), dtype)
    if C is not None:
        c[:, :p.MB] = _padded(C, h * p.MB, w * p.NB).reshape(h, p.MB, w, p.NB)
    return a.reshape(h, w, -1), b, c.transpose(0, 2, 3, 1).reshape(h, w, -1)


def _collect(p, tiles, shape):
    blocks = tiles.reshape(p.height, p.width, p.NB, p.lead).transpose(0, 3, 1, 2)[:, :p.MB]
    return blocks.reshape(p.height * p.MB, p.width * p.NB)[:shape[0], :shape[1]]


def _cycles(stamps):
    words = stamps.astype(numpy.int64).reshape(-1, 2, 3)
    times = words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)
    return int(times[:, 1].max() - times[:, 0].min())


def _run(p, A, B, C, alpha, beta, scaled):
    """One product on the tiles: C and its cycles."""
    if p.is_transposed:
        A, B, C = B.T, A.T, C.T
    with tempfile.TemporaryDirectory(prefix="wse-blas-") as name:
        folder, files = Path(name), []
        for symbol, data in zip("BAC" if p.is_transposed else "ABC", _place(p, A, B, C)):
            numpy.save(folder / f"{symbol}.npy", numpy.ascontiguousarray(data))
            files.append(f"--h2d={symbol}={folder / symbol}.npy")
        launch = f"--launch=main({alpha!r},{beta!r})" if scaled else "--launch=main"
        done = _call(_tool("wse-emu"), p.image, *files, launch, f"--d2h=C={folder / 'out.npy'}",
                     f"--d2h=stamps={folder / 'stamps.npy'}")
        if done.returncode:
            raise GemmError(f"the run failed:\n{done.stderr}")
        found = _collect(p, numpy.load(folder / "out.npy"), C.shape)
        return found.T if p.is_transposed else found, _cycles(numpy.load(folder / "stamps.npy"))


# ---- the call ---------------------------------------------------------------------------------

def _checked(A, B, C, element):
    matrices = [numpy.asarray(m) for m in ((A, B) if C is None else (A, B, C))]
    for name, matrix in zip("ABC", matrices):
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise GemmError(f"{name} must be a matrix with rows and columns, not of shape {matrix.shape}")
    (M, K), (inner, N) = matrices[0].shape, matrices[1].shape
    if K != inner:
        raise GemmError(f"A has {K} columns and B has {inner} rows: they must be equal")
    if C is not None and matrices[2].shape != (M, N):
        raise GemmError(f"C has shape {matrices[2].shape}, the product has {(M, N)}")
    if element is None:
        element = "f16" if matrices[0].dtype == numpy.float16 else "f32"
    if element not in ELEMENTS:
        raise GemmError(f"element is one of {', '.join(ELEMENTS)}, not {element!r}")
    return [m.astype(DTYPES[element]) for m in matrices] + [None] * (C is None), element


def _rectangle(tiles, M, N):
    if tiles is None:
        return (min(-(-N // BLOCK_COLUMNS), MOST_SIDE), min(-(-M // BLOCK_ROWS), MOST_SIDE))
    width, height = tiles
    if not (1 <= width <= MOST_SIDE and 1 <= height <= MOST_SIDE):
        raise GemmError(f"tiles is (width, height) with 1 to {MOST_SIDE} each, not {tiles}")
    return int(width), int(height)


def _fitting(size, asked, scaled):
    """The largest program whose pieces cover the problem: sides are halved, the longest first."""
    piece = list(size)
    while True:
        program = _compile(piece, asked, scaled or piece[2] < size[2])
        if program:
            return program
        longest = max(range(3), key=lambda side: piece[side])
        if piece[longest] == 1:
            raise GemmError(f"not even one element per tile fits on {asked.tiles} tiles")
        piece[longest] = -(-piece[longest] // 2)


def _ranges(size, piece):
    return [(begin, min(begin + piece, size)) for begin in range(0, size, piece)]


def _bar(done, all_of_them):
    width = 40
    filled = width * done // all_of_them
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{all_of_them}", end="", file=sys.stderr)
    if done == all_of_them:
        print(file=sys.stderr)


def _checked_choice(value, name, known):
    if value not in known:
        raise GemmError(f"{name} is one of {', '.join(known)}, not {value!r}")
    return value


def _asked(tiles, element, arch, algorithm, stationary):
    _checked_choice(algorithm, "algorithm", ALGORITHMS)
    _checked_choice(stationary, "stationary", STATIONARY)
    if algorithm.startswith("summa") and stationary in "AB":
        raise GemmError("SUMMA moves A and B: its stationary matrix is C")
    if algorithm.startswith("master") and stationary == "C":
        raise GemmError("MASTER moves the sums of C: its stationary matrix is A or B")
    return _Asked(tiles, element, arch, algorithm, stationary)


def gemm(A, B, C=None, *, alpha=1.0, beta=0.0, tiles=None, arch="wse2", element=None,
         algorithm="auto", stationary="any", progress=None):
    """C = alpha A B + beta C on tiles.

    tiles       (width, height); the default gives a tile blocks of C of about 16 x 16
    arch        "wse2" or "wse3"
    element     "f16", "f16_f32" (f16 elements, f32 sums), "f32", "bf16" or "bf16_f32" (the result is
                then float32); the default goes by A's type
    algorithm   "summa_block", "summa", "master_block", "master", or "auto", the faster one by the
                library's model
    stationary  "A", "B" or "C": the matrix that the algorithm does not move; "any"
    progress    True shows a bar on stderr, False does not; the default does for several pieces
    """
    (A, B, C), element = _checked(A, B, C, element)
    if beta != 0 and C is None:
        raise GemmError("beta is given, C is not")
    (M, K), N = A.shape, B.shape[1]
    asked = _asked(_rectangle(tiles, M, N), element, arch, algorithm, stationary)
    scaled = alpha != 1 or beta != 0
    program = _fitting((M, N, K), asked, scaled)
    scaled = scaled or program.K < K
    result = numpy.zeros((M, N), A.dtype) if C is None else C.copy()
    pieces = [(rows, columns, inner) for rows in _ranges(M, program.M)
              for columns in _ranges(N, program.N) for inner in _ranges(K, program.K)]
    cycles = 0
    for count, ((m, m_end), (n, n_end), (k, k_end)) in enumerate(pieces, 1):
        part = result[m:m_end, n:n_end]
        # The last pieces of a side are smaller: zeros fill them up.
        found, took = _run(program, _padded(A[m:m_end, k:k_end], program.M, program.K),
                           _padded(B[k:k_end, n:n_end], program.K, program.N),
                           _padded(part, program.M, program.N), float(alpha),
                           float(beta) if k == 0 else 1.0, scaled)
        result[m:m_end, n:n_end] = found[:m_end - m, :n_end - n]
        cycles += took
        if progress or (progress is None and len(pieces) > 1):
            _bar(count, len(pieces))
    return Result(result, cycles, asked.tiles, len(pieces), ALGORITHMS[program.algorithm])
