#!/usr/bin/env python3
"""Each operation of wse_blas in one call, compared with numpy's.

    cs_python samples/gemm/calls.py
"""
import numpy
from wse_blas import axpy, dot, gemm, gemv, ger, nrm2, scal

random = numpy.random.default_rng(1)


def show(name, found, wanted, result):
    """Elements and results are rounded to f16, sums are f32."""
    numpy.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-2)
    width, height = result.tiles
    print(f"{name}: as numpy's; {result.cycles} cycles on {width} x {height} tiles, {result.pieces} "
          f"{'piece' if result.pieces == 1 else 'pieces, streamed'}")


def numbers(*shape):
    return random.uniform(-1, 1, shape).astype(numpy.float16)


def main():
    A, B, x, y, z = numbers(60, 40), numbers(40, 50), numbers(40), numbers(60), numbers(60)
    product = gemm(A, B, element="f16_f32")
    show("A B", product.C, A.astype(float) @ B, product)
    # A stays in the memory of two tiles; B goes through in panels, with a bar on a terminal.
    wide = numbers(40, 3000)
    product = gemm(A, wide, tiles=(2, 1), element="f16_f32")
    show("A B, B is larger than the tiles", product.C, A.astype(float) @ wide, product)
    result = gemv(A, x, y, alpha=2, beta=-1, element="f16_f32")
    show("2 A x - y", result.value, 2 * (A.astype(float) @ x) - y, result)
    result = ger(A, y, x)
    show("A + y xT", result.value, A + numpy.outer(y, x), result)
    result = axpy(2, y, z)
    show("2 y + z", result.value, 2 * y + z, result)
    show("y / 2", (half := scal(0.5, y)).value, y / 2, half)
    product, norm = dot(y, z), nrm2(y)
    assert abs(norm.value - numpy.linalg.norm(y.astype(float))) < 1e-3
    show("y z", product.value, y.astype(float) @ z, product)


if __name__ == "__main__":
    main()
