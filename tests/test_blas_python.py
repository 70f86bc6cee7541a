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
    (lambda: wse_blas.gemm(numpy.ones((2, 2)), numpy.ones((2, 2)), tiles=(0, 1)), "tiles is")])
def test_mistakes(call, text):
    with pytest.raises(wse_blas.GemmError, match=text):
        call()
