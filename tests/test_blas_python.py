"""wse_blas.gemm: a product in one call."""
import os
import sys

import numpy
import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))
import wse_blas


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WSE_BLAS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WSE_BIN", str(harness.bin_dir()))
    return tmp_path / "cache"


def draw(M, N, K, dtype=numpy.float32):
    random = numpy.random.default_rng(M + 7 * N + 31 * K)
    return [random.integers(-3, 4, shape).astype(dtype) for shape in ((M, K), (K, N), (M, N))]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element, dtype", [(None, numpy.float16), (None, numpy.float32),
                                            ("f16_f32", numpy.float64)])
def test_product(arch, element, dtype):
    A, B, _ = draw(19, 23, 11, dtype)
    result = wse_blas.gemm(A, B, arch=arch, element=element)
    numpy.testing.assert_array_equal(result.C, A @ B)
    assert result.tiles == (2, 2) and result.pieces == 1 and result.cycles > 0


@pytest.mark.parametrize("algorithm, stationary, chosen", [
    ("summa", "any", "summa"), ("master", "A", "master"), ("master_block", "B", "master_block"),
    ("auto", "B", "master_block"), ("auto", "C", "summa_block")])
def test_algorithms(algorithm, stationary, chosen):
    A, B, C = draw(19, 23, 11)
    result = wse_blas.gemm(A, B, C, beta=2, tiles=(3, 2), algorithm=algorithm, stationary=stationary)
    numpy.testing.assert_array_equal(result.C, A @ B + 2 * C)
    assert result.algorithm == chosen


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element, sums", [("bf16", 2.0 ** -8), ("bf16_f32", 2.0 ** -24)])
def test_bf16(arch, element, sums):
    """Against numpy's products of the rounded elements, within the bounds of the sums' format."""
    random = numpy.random.default_rng(5)
    A, B, C = (random.uniform(-1, 1, shape).astype(numpy.float32) for shape in ((19, 30), (30, 23), (19, 23)))
    result = wse_blas.gemm(A, B, C, alpha=2, beta=-1, tiles=(3, 2), element=element, arch=arch)
    cut = lambda m: ((m.view(numpy.uint32).astype(numpy.int64) + 0x7fff + (m.view(numpy.uint32) >> 16 & 1))
                     .astype(numpy.uint32) & numpy.uint32(0xffff0000)).view(numpy.float32).astype(float)
    A, B, C = cut(A), cut(B), cut(C)
    assert (cut(result.C) == result.C).all()
    size = 2 * numpy.abs(A) @ numpy.abs(B) + numpy.abs(C)
    off = numpy.abs(result.C - (2 * A @ B - C))
    assert (off <= (32 * sums + 3 * 2.0 ** -8) * size).all()
    assert (off > 0.1 * sums * size).any()      # it is not computed in f32 and rounded


def test_scaled():
    A, B, C = draw(6, 9, 5)
    result = wse_blas.gemm(A, B, C, alpha=2, beta=-0.5, tiles=(2, 3))
    numpy.testing.assert_array_equal(result.C, 2 * (A @ B) - 0.5 * C)


def test_second_call_compiles_nothing(cache):
    A, B, _ = draw(5, 4, 3)
    wse_blas.gemm(A, B, tiles=(2, 1))
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*.bin")}
    assert len(before) == 1
    wse_blas.gemm(A, B, tiles=(2, 1))
    assert {file: file.stat().st_mtime_ns for file in cache.rglob("*.bin")} == before


@pytest.mark.parametrize("M, N, K", [(150, 70, 90), (40, 30, 500)])
def test_larger_than_the_tiles(capfd, M, N, K):
    """All three sides in pieces, the last ones smaller; sums carried from piece to piece."""
    A, B, C = draw(M, N, K)
    result = wse_blas.gemm(A, B, C, alpha=1, beta=2, tiles=(1, 1))
    numpy.testing.assert_array_equal(result.C, A @ B + 2 * C)
    assert result.pieces > 1 and f"{result.pieces}/{result.pieces}" in capfd.readouterr().err


@pytest.mark.parametrize("call, text", [
    (lambda: wse_blas.gemm(numpy.ones((2, 3)), numpy.ones((4, 2))), "3 columns and B has 4 rows"),
    (lambda: wse_blas.gemm(numpy.ones(3), numpy.ones((3, 2))), "A must be a matrix"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), numpy.ones((2, 3))), "C has shape"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), beta=1), "beta is given"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), element="f64"), "element is one of"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), tiles=(0, 1)), "tiles is"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), algorithm="fast"), "algorithm is one"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), stationary="D"), "stationary is one"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), algorithm="summa", stationary="A"),
     "its stationary matrix is C"),
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), algorithm="master", stationary="C"),
     "its stationary matrix is A or B")])
def test_mistakes(call, text):
    with pytest.raises(wse_blas.GemmError, match=text):
        call()
