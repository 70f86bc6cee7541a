"""wse_blas: an operation per call, from numpy arrays."""
import concurrent.futures
import csv
import os
import pty
import re
import subprocess
import sys
import threading

import numpy
import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))
import wse_blas  # noqa: E402
from wse_blas import pieces  # noqa: E402
from wse_blas.arguments import ELEMENTS  # noqa: E402

ROOFLINE = harness.SAMPLES / "gemm" / "roofline.py"
CALLS = harness.SAMPLES / "gemm" / "calls.py"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WSE_BLAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WSE_BIN", str(harness.bin_dir()))
    monkeypatch.setenv("WSE_LIB", str(harness.bin_dir().parent / "lib" / "libwse.so"))
    return tmp_path / "cache"


def draw(M, N, K, dtype=numpy.float32):
    random = numpy.random.default_rng(M + 7 * N + 31 * K)
    return [random.integers(-3, 4, shape).astype(dtype) for shape in ((M, K), (K, N), (M, N))]


def vector(n, dtype=numpy.float32):
    return numpy.random.default_rng(n).integers(-3, 4, n).astype(dtype)


# ---- gemm -------------------------------------------------------------------------------------

@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element, dtype", [(None, numpy.float16), (None, numpy.float32),
                                            ("f16_f32", numpy.float64), ("bf16", numpy.int8)])
def test_product(arch, element, dtype):
    A, B, _ = draw(19, 23, 11, dtype)
    result = wse_blas.gemm(A, B, arch=arch, element=element)
    numpy.testing.assert_array_equal(result.C, A.astype(float) @ B)
    assert result.tiles == (2, 2) and result.pieces == 1 and result.cycles > 0


@pytest.mark.parametrize("algorithm, stationary, chosen", [
    ("summa", "any", "summa"), ("master", "A", "master"), ("master_block", "B", "master_block"),
    ("auto", "B", "master_block"), ("auto", "C", "summa_block")])
def test_algorithms(algorithm, stationary, chosen):
    A, B, C = draw(19, 23, 11)
    result = wse_blas.gemm(A, B, C, beta=2, tiles=(3, 2), algorithm=algorithm, stationary=stationary)
    numpy.testing.assert_array_equal(result.C, A @ B + 2 * C)
    assert result.algorithm == chosen


def as_bf16(m):
    """float32 numbers rounded to 8 significant bits, to nearest even, by hand."""
    words = m.view(numpy.uint32).astype(numpy.int64)
    near = (words + 0x7fff + (words >> 16 & 1)).astype(numpy.uint32) & numpy.uint32(0xffff0000)
    return near.view(numpy.float32).astype(float)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element, sums", [("bf16", 2.0 ** -8), ("bf16_f32", 2.0 ** -24)])
def test_bf16(arch, element, sums):
    """Against numpy's products of the rounded elements, within the bounds of the sums' format."""
    random = numpy.random.default_rng(5)
    A, B, C = (random.uniform(-1, 1, shape).astype(numpy.float32) for shape in ((19, 30), (30, 23), (19, 23)))
    result = wse_blas.gemm(A, B, C, alpha=2, beta=-1, tiles=(3, 2), element=element, arch=arch)
    A, B, C = as_bf16(A), as_bf16(B), as_bf16(C)
    assert (as_bf16(result.C) == result.C).all()
    size = 2 * numpy.abs(A) @ numpy.abs(B) + numpy.abs(C)
    off = numpy.abs(result.C - (2 * A @ B - C))
    assert (off <= (32 * sums + 3 * 2.0 ** -8) * size).all()
    assert (off > 0.1 * sums * size).any()      # it is not computed in f32 and rounded


def test_formats():
    """Elements go to words and come back; what is no number stays so; rounding is to nearest even."""
    for element in ELEMENTS.values():
        numbers = element.rounded(numpy.array([0.0, -0.0, 1.5, -3.25, numpy.inf, -numpy.inf, numpy.nan]))
        again = element.array(element.words(numbers))
        numpy.testing.assert_array_equal(again.view(numpy.uint16), numbers.view(numpy.uint16))
        assert numpy.isnan(again[-1]) and (element.words(numbers) < 2 ** element.bits).all()
    near = ELEMENTS["bf16"].rounded(numpy.array([1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -20]))
    assert list(near) == [1, 1 + 2 ** -6, 1 + 2 ** -7]


def test_scaled():
    A, B, C = draw(6, 9, 5)
    result = wse_blas.gemm(A, B, C, alpha=2, beta=-0.5, tiles=(2, 3))
    numpy.testing.assert_array_equal(result.C, 2 * (A @ B) - 0.5 * C)


@pytest.mark.parametrize("K", [5, 4000])
def test_without_beta_c_is_not_read(K):
    """The tiles do not read C of the piece before, either: 0 times infinity is no number."""
    A, B, C = draw(60, 9, K)
    A[0, 0] = numpy.inf
    result = wse_blas.gemm(A, numpy.abs(B), numpy.full_like(C, numpy.nan), alpha=2, tiles=(1, 1))
    wanted = 2 * (A.astype(float) @ numpy.abs(B))
    numpy.testing.assert_array_equal(result.C[1:], wanted[1:])


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_without_beta_any_numbers_may_be_there(element):
    """numpy.empty has what the memory had before; f64 has numbers that no element format has."""
    A, B, C = draw(6, 9, 5)
    C = numpy.full(C.shape, -1e300)
    numpy.testing.assert_array_equal(wse_blas.gemm(A, B, C, element=element).C, A @ B)
    numpy.testing.assert_array_equal(wse_blas.gemv(A, B[:, 0], C[:, 0], element=element).value, A @ B[:, 0])


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_what_a_zero_alpha_multiplies_is_not_read(arch, element):
    """As in BLAS: 0 times infinity is no number, but it does not get into the result."""
    A, B, C = draw(6, 9, 5)
    x, y, long = vector(6), vector(9), vector(300)
    options = {"alpha": 0, "arch": arch, "element": element}
    nothing, none = numpy.full_like(A, numpy.nan), numpy.full_like(x, numpy.inf)
    numpy.testing.assert_array_equal(wse_blas.gemm(nothing, B, C, beta=2, **options).C, 2 * C)
    numpy.testing.assert_array_equal(wse_blas.gemv(nothing, B[:, 0], x, beta=1, **options).value, x)
    numpy.testing.assert_array_equal(wse_blas.ger(C, none, y, tiles=(2, 3), **options).value, C)
    del options["alpha"]
    numpy.testing.assert_array_equal(
        wse_blas.axpy(0, numpy.full_like(long, numpy.nan), long, **options).value, long)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("M, N, K, tiles", [(3, 2, 5, (4, 9)), (1, 7, 2, (3, 20)), (1, 1, 1, (5, 5))])
@pytest.mark.parametrize("stationary", ["A", "B", "C"])
def test_more_tiles_than_rows_and_columns(M, N, K, tiles, arch, stationary):
    """The last tiles have no part of A, B or C."""
    A, B, C = draw(M, N, K)
    result = wse_blas.gemm(A, B, C, beta=2, tiles=tiles, arch=arch, stationary=stationary)
    numpy.testing.assert_array_equal(result.C, A @ B + 2 * C)


@pytest.mark.parametrize("number, near", [
    (1 + 2 ** -8 + 2 ** -40, 1 + 2 ** -7), (1 + 3 * 2 ** -8 - 2 ** -40, 1 + 2 ** -7),
    (1 + 2 ** -8, 1), (1 + 3 * 2 ** -8, 1 + 2 ** -6), (-1 - 2 ** -8 - 2 ** -40, -1 - 2 ** -7),
    (2 ** 31 + 2 ** 23 + 1, 2 ** 31 + 2 ** 24), (2 ** 62 + 2 ** 54 + 1, 2 ** 62 + 2 ** 55),
    (1e-60, 0), (float("inf"), float("inf"))])
def test_rounded_to_bf16_once(number, near):
    """The bf16 nearest to the number itself, not to the f32 nearest to it."""
    assert wse_blas.scal(1, numpy.array([number]), element="bf16").value[0] == near


def test_second_call_compiles_nothing(cache):
    A, B, _ = draw(5, 4, 3)
    wse_blas.gemm(A, B, tiles=(2, 1))
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*.bin")}
    assert len(before) == 1
    wse_blas.gemm(A, B, tiles=(2, 1))
    assert {file: file.stat().st_mtime_ns for file in cache.rglob("*")} == before


@pytest.mark.parametrize("arch, stationary", [("wse2", "any"), ("wse3", "B"), ("wse2", "A")])
@pytest.mark.parametrize("M, N, K", [(150, 70, 90), (40, 30, 500), (20, 900, 40)])
def test_larger_than_the_tiles(M, N, K, arch, stationary):
    """All three sides in pieces, the last ones smaller; sums stay on the tiles from piece to piece."""
    A, B, C = draw(M, N, K)
    result = wse_blas.gemm(A, B, C, alpha=1, beta=2, tiles=(1, 1), arch=arch, stationary=stationary)
    numpy.testing.assert_array_equal(result.C, A @ B + 2 * C)
    assert result.pieces > 1


def test_pieces_leave_matrices_on_the_tiles(monkeypatch):
    """A goes to the tiles once where B is streamed in panels; C never comes back between sums."""
    moved = []
    put, get = wse_blas.matrices.Session.put, wse_blas.matrices.Session.get
    monkeypatch.setattr(wse_blas.matrices.Session, "put",
                        lambda self, name, *rest, **more: (moved.append(name), put(self, name, *rest, **more)))
    monkeypatch.setattr(wse_blas.matrices.Session, "get",
                        lambda self, name, *rest, **more: (moved.append("get"), get(self, name, *rest, **more))[1])
    A, B, _ = draw(16, 900, 40)
    result = wse_blas.gemm(A, B, tiles=(1, 1))
    numpy.testing.assert_array_equal(result.C, A @ B)
    assert result.pieces > 2 and moved == ["A"] + ["B", "get"] * result.pieces
    moved.clear()
    A, B, _ = draw(16, 16, 3000)
    result = wse_blas.gemm(A, B, tiles=(1, 1))
    numpy.testing.assert_array_equal(result.C, A @ B)
    assert result.pieces > 2 and moved == ["A", "B", "C"] + ["A", "B"] * (result.pieces - 1) + ["get"]


def test_fewest_pieces():
    """The longest side is cut; no piece is smaller than it must be."""
    piece, image = pieces.fitting((100, 10), (1, 1), lambda p: "fits" if p[0] * p[1] <= 210 else None)
    assert piece == [20, 10] and image == "fits"
    assert pieces.ranges(100, 30) == [(0, 30), (30, 60), (60, 90), (90, 100)]
    with pytest.raises(wse_blas.BlasError, match="one element per side"):
        pieces.fitting((7, 3), (1, 1), lambda p: None)


# ---- vectors ----------------------------------------------------------------------------------

@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", ["f16", "f16_f32", "f32", "bf16", "bf16_f32"])
@pytest.mark.parametrize("M, N, tiles", [(37, 23, (3, 4)), (1, 1, (2, 2)), (70, 129, None)])
def test_gemv(arch, element, M, N, tiles):
    A, x, y = draw(M, 1, N)[0] / 4, vector(N), vector(M)
    result = wse_blas.gemv(A, x, y, alpha=2, beta=-1, tiles=tiles, arch=arch, element=element)
    wanted = 2 * (A @ x) - y
    sums = 2.0 ** -8 if element == "bf16" else 2.0 ** -11
    numpy.testing.assert_allclose(result.value, wanted, rtol=0,
                                  atol=sums * (N + 3) * numpy.abs(A).max() * 8 * (element != "f32"))
    assert result.pieces == 1 and result.cycles > 0
    numpy.testing.assert_allclose(wse_blas.gemv(numpy.eye(5), vector(5), arch=arch, element=element).value,
                                  vector(5))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", ["f16", "f32", "bf16"])
def test_ger(arch, element):
    A, x, y = draw(37, 1, 23)[0], vector(37), vector(23)
    result = wse_blas.ger(A, x, y, alpha=2, tiles=(3, 4), arch=arch, element=element)
    numpy.testing.assert_array_equal(result.value, A + 2 * numpy.outer(x, y))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", ["f16", "f32", "bf16"])
@pytest.mark.parametrize("n, tiles", [(1, (2, 3)), (1000, None), (777, (3, 2))])
def test_vectors(arch, element, n, tiles):
    x, y = vector(n), vector(n)[::-1]
    options = {"tiles": tiles, "arch": arch, "element": element}
    numpy.testing.assert_array_equal(wse_blas.axpy(2, x, y, **options).value, 2 * x + y)
    numpy.testing.assert_array_equal(wse_blas.scal(-0.5, x, **options).value, -0.5 * x)
    assert wse_blas.dot(x, y, **options).value == x @ y
    assert wse_blas.nrm2(x, **options).value == pytest.approx(numpy.linalg.norm(x), rel=1e-6)


def test_random_calls_with_vectors():
    """The short form of the claim blas_vectors."""
    vectors = harness.claim("blas_vectors")
    for i in range(8):
        call = vectors.Call(harness.commit_random(f"call with vectors {i}"))
        assert call.check(wse_blas) > 0, call


def test_vectors_larger_than_the_tiles():
    A, x, y = draw(260, 1, 90)[0], vector(90), vector(260)
    one = {"tiles": (1, 1), "element": "f32"}
    result = wse_blas.gemv(A, x, y, alpha=2, beta=-1, **one)
    numpy.testing.assert_array_equal(result.value, 2 * (A @ x) - y)
    assert result.pieces > 1
    result = wse_blas.gemv(numpy.ones((2, 30000)), vector(30000), **one)
    assert list(result.value) == [vector(30000).sum()] * 2 and result.pieces > 1
    result = wse_blas.ger(A, y, x, **one)
    numpy.testing.assert_array_equal(result.value, A + numpy.outer(y, x))
    assert result.pieces > 1
    x, y = vector(12345), vector(12345)[::-1]
    results = [wse_blas.axpy(2, x, y, **one), wse_blas.scal(3, x, **one), wse_blas.dot(x, y, **one),
               wse_blas.nrm2(x, **one)]
    assert [result.pieces for result in results] == [3, 3, 3, 3]
    numpy.testing.assert_array_equal(results[0].value, 2 * x + y)
    numpy.testing.assert_array_equal(results[1].value, 3 * x)
    assert results[2].value == x @ y and results[3].value == pytest.approx(numpy.linalg.norm(x), rel=1e-6)


# ---- nothing to compute ---------------------------------------------------------------------------

EMPTY = {"arch": "wse3", "tiles": (2, 3)}


@pytest.fixture
def no_program(monkeypatch):
    """Nothing is compiled, and nothing runs."""
    def refused(*words, **more):
        raise AssertionError("a program for nothing")
    for module in (wse_blas.matrices, wse_blas.vectors):
        monkeypatch.setattr(module, "compile_program", refused)
        monkeypatch.setattr(module, "Session", refused)


@pytest.mark.parametrize("element", ["f16", "f16_f32", "f32", "bf16", "bf16_f32"])
@pytest.mark.parametrize("M, N, K", [(0, 3, 2), (3, 0, 2), (0, 0, 2), (3, 2, 0), (0, 3, 0), (0, 0, 0)])
def test_empty_products(no_program, M, N, K, element):
    """As numpy's, with the shape and the type of a product that is not empty."""
    A, B, C = draw(M, N, K)
    for more in ({}, {"alpha": 2}, {"C": C, "alpha": 3, "beta": -2}, {"C": numpy.full_like(C, numpy.nan)}):
        with numpy.errstate(all="raise"):
            result = wse_blas.gemm(A, B, element=element, **EMPTY, **more)
        numpy.testing.assert_array_equal(result.C, A @ B + more.get("beta", 0) * C)
        assert result.C.shape == (M, N) and result.C.dtype == ELEMENTS[element].dtype
        assert (result.cycles, result.pieces, result.tiles) == (0, 0, (2, 3))


@pytest.mark.parametrize("M, N", [(0, 3), (3, 0), (0, 0)])
def test_empty_matrices_with_vectors(no_program, M, N):
    A, x, y = ones(M, N), vector(N), vector(M)
    for more in ({}, {"y": y, "alpha": 3, "beta": -2}, {"y": y}):
        result = wse_blas.gemv(A, x, **more)
        numpy.testing.assert_array_equal(result.value, A @ x + more.get("beta", 0) * y)
        assert result.value.shape == (M,) and (result.cycles, result.pieces) == (0, 0)
    result = wse_blas.ger(A, y, x, alpha=2, **EMPTY)
    assert result.value.shape == (M, N) and (result.cycles, result.pieces) == (0, 0)


def test_empty_vectors(no_program):
    for result in (wse_blas.axpy(2, [], []), wse_blas.scal(2, [], **EMPTY)):
        assert result.value.shape == (0,) and (result.cycles, result.pieces) == (0, 0)
    for result in (wse_blas.dot([], [], **EMPTY), wse_blas.nrm2([])):
        assert result.value == 0 and isinstance(result.value, float)
        assert (result.cycles, result.pieces) == (0, 0)


@pytest.mark.parametrize("element, factor, wanted", [
    ("f16", 3, numpy.inf), ("bf16", 1 + 2 ** -7, 1.5 + 3 * 2 ** -7), ("f32", -0.5, None)])
def test_a_scaled_matrix_is_in_the_elements_format(element, factor, wanted):
    """beta C without a product is what the tiles make of it with a product of zeros."""
    C = numpy.array([[4e4 if element == "f16" else 1.5 + 2 ** -7, -0.75, 0]])
    with numpy.errstate(all="raise"):
        empty = wse_blas.gemm(ones(1, 0), ones(0, 3), C, beta=factor, element=element)
    whole = wse_blas.gemm(numpy.zeros((1, 1)), numpy.zeros((1, 3)), C, beta=factor, element=element)
    numpy.testing.assert_array_equal(empty.C, whole.C)
    assert wanted is None or empty.C[0, 0] == wanted


# ---- progress ---------------------------------------------------------------------------------

def test_bar(capfd):
    """With progress=True for each piece, without it not where stderr is no terminal."""
    pytest.importorskip("tqdm")
    A, B, _ = draw(150, 70, 90)
    pieces_of_all = wse_blas.gemm(A, B, tiles=(1, 1)).pieces
    assert not capfd.readouterr().err
    wse_blas.gemm(A, B, tiles=(1, 1), progress=True)
    assert f"{pieces_of_all}/{pieces_of_all}" in capfd.readouterr().err


def test_bar_on_a_terminal(monkeypatch):
    """A short problem shows none, either: the bar waits for a second."""
    pytest.importorskip("tqdm")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", 0) as screen, os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with pieces.bar_of(2, None) as bar:
            bar.update(1)
            monkeypatch.setattr(bar, "delay", 0)
            bar.start_t -= 2
            bar.last_print_t -= 2
            bar.update(1)
        terminal.flush()
        shown = os.read(screen.fileno(), 10000).decode()
    assert "2/2" in shown and "1/2" not in shown


def test_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(wse_blas.BlasError, match="apt-get install python3-tqdm"):
        pieces.bar_of(3, True)
    with pieces.bar_of(3, None) as bar:
        bar.update(1)


# ---- mistakes ---------------------------------------------------------------------------------

def ones(*shape):
    return numpy.ones(shape, numpy.float32)


def scipy_sparse(matrix):
    """Such as those of scipy, which need not be there."""
    class Sparse:
        shape = matrix.shape

        def toarray(self):
            return matrix
    return Sparse()


@pytest.mark.parametrize("call, text", [
    (lambda: wse_blas.gemm(ones(2, 3), ones(4, 2)), "3 columns and B has 4 rows"),
    (lambda: wse_blas.gemm(ones(3), ones(3, 2)), "A must be a matrix"),
    (lambda: wse_blas.gemm(ones(2, 0), ones(1, 2)), "0 columns and B has 1 rows"),
    (lambda: wse_blas.gemm(ones(0, 2), ones(2, 0), tiles=(0, 0)), "tiles is"),
    (lambda: wse_blas.gemm(ones(2, 0), ones(0, 2), beta=1), "beta is given and C is not"),
    (lambda: wse_blas.gemm([], ones(0, 2)), "A must be a matrix"),
    (lambda: wse_blas.gemm(ones(2, 2), [[1, 2], [3]]), "B has rows of different lengths"),
    (lambda: wse_blas.gemm(ones(2, 2), None), "B has elements of type object"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2) * 1j), "B has elements of type complex"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), ones(2, 3), beta=1), "C has shape"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), beta=1), "beta is given and C is not"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), alpha="1"), "alpha must be a real number, not '1'"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), alpha=1e6, element="f16"), "alpha has 1e\\+06.*65504"),
    (lambda: wse_blas.gemm(7e4 * ones(2, 2), ones(2, 2), element="f16"), "A has 70000, .* 65504: scale A"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2) * 1e39, element="bf16"), "B has inf|B has 1e"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), alpha=10 ** 400),
     "alpha is larger than any float, .* 3.40282e\\+38: scale alpha"),
    (lambda: wse_blas.dot(numpy.ma.masked_equal(ones(3), 1), ones(3)),
     "x has masked elements, .*: pass x.filled\\(0\\)"),
    (lambda: wse_blas.gemm(ones(2, 2), scipy_sparse(ones(2, 2))), "B is a sparse matrix: pass B.toarray"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), element="f64"), "element is one of f16, f16_f32"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), arch="wse1"), "arch is one of wse2, wse3"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), tiles=(0, 1)), "tiles is"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), tiles=4), "tiles is"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), tiles=(1, 751)), "1 to 750"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), algorithm="fast"), "algorithm is one"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), stationary="D"), "stationary is one"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), algorithm="summa", stationary="A"),
     "its stationary matrix is C"),
    (lambda: wse_blas.gemm(ones(2, 2), ones(2, 2), algorithm="master", stationary="C"),
     "its stationary matrix is A or B"),
    (lambda: wse_blas.gemv(ones(2, 3), ones(2)), "x has 2 elements, a row of A has 3"),
    (lambda: wse_blas.gemv(ones(2, 3), ones(3), ones(3), beta=1), "y has 3 elements, a column of A has 2"),
    (lambda: wse_blas.gemv(ones(2, 3), ones(3), beta=1), "beta is given and y is not"),
    (lambda: wse_blas.gemv(ones(2, 3), ones(3, 1)), "x must be a vector"),
    (lambda: wse_blas.ger(ones(2, 3), ones(3), ones(3)), "x has 3 elements, a column of A has 2"),
    (lambda: wse_blas.ger(ones(2, 3), ones(2), ones(2)), "y has 2 elements, a row of A has 3"),
    (lambda: wse_blas.ger(ones(2, 3), ones(2), ones(3), element="f16_f32"), "element is one of f16, f32, bf16"),
    (lambda: wse_blas.axpy(1, ones(3), ones(4)), "y has 4 elements, x has 3"),
    (lambda: wse_blas.axpy(True, ones(3), ones(3)), "alpha must be a real number"),
    (lambda: wse_blas.scal(1, ones(0, 1)), "x must be a vector"),
    (lambda: wse_blas.dot(ones(0), ones(1)), "y has 1 elements, x has 0"),
    (lambda: wse_blas.nrm2(7), "x must be a vector"),
    (lambda: wse_blas.dot(ones(3), ones(3), arch=2), "arch is one of"),
    (lambda: wse_blas.nrm2(ones(3), tiles="23"), "tiles is")])
def test_mistakes(call, text):
    with pytest.raises(wse_blas.BlasError, match=text):
        call()


def test_no_compiler(monkeypatch):
    monkeypatch.delenv("WSE_BIN")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(wse_blas.program, "_root", lambda: harness.ROOT / "nowhere")
    with pytest.raises(wse_blas.BlasError, match="cslc is not on the PATH"):
        wse_blas.dot(ones(3), ones(3))


@pytest.mark.parametrize("variable, text", [
    ("WSE_BIN", "WSE_BIN names .*nowhere, which has no cslc: .* unset WSE_BIN"),
    ("CSL_STDLIB", "has no blas/program.csl: .* name the library's folder in CSL_STDLIB")])
def test_variable_that_names_nothing(monkeypatch, tmp_path, variable, text):
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    with pytest.raises(wse_blas.BlasError, match=text):
        wse_blas.dot(ones(3), ones(3))


def test_cache_that_cannot_be(monkeypatch, tmp_path):
    """A file is where the folder would be; a user without a home."""
    (tmp_path / "file").touch()
    for place in ("file", "file/folder"):
        monkeypatch.setenv("WSE_BLAS_CACHE", str(tmp_path / place))
        with pytest.raises(wse_blas.BlasError, match="cannot keep a program in .*file.* WSE_BLAS_CACHE"):
            wse_blas.dot(ones(3), ones(3))
    monkeypatch.delenv("WSE_BLAS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def home():
        raise RuntimeError("Could not determine home directory.")
    monkeypatch.setattr(wse_blas.program.Path, "home", home)
    with pytest.raises(wse_blas.BlasError, match="no home folder .* WSE_BLAS_CACHE"):
        wse_blas.dot(ones(3), ones(3))


def test_damaged_image(cache):
    """The message names the file; without it, the call compiles again."""
    wse_blas.dot(ones(3), ones(3))
    image, = cache.rglob("*.bin")
    image.write_bytes(b"")
    with pytest.raises(wse_blas.BlasError, match=f"the file is empty .*\nremove {image}: the next call"):
        wse_blas.dot(ones(3), ones(3))
    image.unlink()
    assert wse_blas.dot(ones(3), ones(3)).value == 3


@pytest.mark.parametrize("variable, value, text", [
    ("WSE_MAX_CYCLES", "9", r"limit of 9 cycles"), ("WSE_MAX_CYCLES", "many", "WSE_MAX_CYCLES=many"),
    ("WSE_ENGINE", "slow", "WSE_ENGINE=slow: it is fast or reference"),
    ("WSE_ARGS", "--frob", "has no option '--frob'")])
def test_the_environment_sets_the_run(monkeypatch, variable, value, text):
    monkeypatch.setenv(variable, value)
    with pytest.raises(wse_blas.BlasError, match=text) as caught:
        wse_blas.dot(ones(3), ones(3))
    assert "compiles it again" not in str(caught.value)


def test_interrupted_compile_leaves_nothing(cache, monkeypatch):
    def interrupted(*words, **more):
        raise KeyboardInterrupt
    monkeypatch.setattr(wse_blas.program.subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wse_blas.dot(ones(3), ones(3))
    assert not [*cache.rglob("*.bin")]


def test_threads_compile_the_same_program_at_once(cache, monkeypatch):
    """None takes the file away into which another one compiles."""
    compile_, everybody = subprocess.run, threading.Barrier(3)

    def together(*words, **more):
        everybody.wait(timeout=60)
        done = compile_(*words, **more)
        everybody.wait(timeout=60)
        return done

    monkeypatch.setattr(wse_blas.program.subprocess, "run", together)
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        results = [*threads.map(lambda n: wse_blas.dot(ones(3), ones(3)).value, range(3))]
    assert results == [3.0] * 3 and len([*cache.rglob("*.bin")]) == 1


def test_no_library(monkeypatch):
    wse_blas.dot(ones(3), ones(3))
    monkeypatch.setenv("WSE_LIB", "/nowhere/libwse.so")
    with pytest.raises(wse_blas.BlasError, match="libwse.so not found"):
        wse_blas.dot(ones(3), ones(3))


# ---- samples ----------------------------------------------------------------------------------

def script(*command):
    return harness.run([harness.tool("cs_python"), *command], env={**os.environ})


def test_sample_of_the_calls():
    out = script(CALLS).out
    assert out.count("as numpy's") == 7 and "streamed" in out


@pytest.mark.slow
def test_figures(tmp_path):
    """The small form of figures 12 to 14: equations as in the paper's text, products as numpy's."""
    script(ROOFLINE, "--small", f"--out={tmp_path}")
    for name in ("fig-12", "fig-13", "fig-14", "roofline"):
        assert {path.suffix for path in tmp_path.glob(f"{name}.*")} == {".csv", ".svg", ".png"}
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").open()))
        assert all(0 < float(row["share of the peak"]) <= 1.001 for row in rows)
    rows = csv.DictReader((tmp_path / "fig-12.csv").open())
    found = {(row["panel"], row["curve"], row["tiles per side"]): float(row["share of the peak"])
             for row in rows}
    # Equation 5 with MB = 70, NB = 10 on 10 x 10 tiles: 700 / max(700, 40 + 140, 40 + 20).
    assert found["MB = 70, NB = 10, KB = 70", "SUMMA_VECTOR_OPT", "10"] == pytest.approx(1, abs=1e-4)
    # Equation 4 there: 700 / (700 + 180).
    assert found["MB = 70, NB = 10, KB = 70", "SUMMA_VECTOR2", "10"] == pytest.approx(700 / 880, abs=1e-4)


def test_the_page_has_the_figures():
    text = (harness.ROOT / "docs" / "gemm.md").read_text()
    names = re.findall(r"\]\(gemm/([\w.-]+)\.svg\)", text)
    assert names == ["fig-12", "fig-13", "fig-14", "roofline"]
    for name in names:
        for suffix in ("csv", "svg"):
            assert (harness.ROOT / "docs" / "gemm" / f"{name}.{suffix}").exists()
