"""Matrices and vectors on emulated tiles, an operation per call.

    from wse_blas import gemm, gemv
    result = gemm(A, B)                       # numpy arrays; C = A B
    result = gemm(A, B, C, alpha=2, beta=-1, tiles=(16, 16), arch="wse3")
    print(result.C, result.cycles)
    print(gemv(A, x).value)

A call compiles a program of <blas/...> for the sizes, once: images are kept in a cache.  It places
matrices and vectors on the tiles, runs the emulator, and collects the result.  What does not fit into
the tiles' memory at once goes through them in pieces; docs/gemm.md says how.

All calls take these options:

    tiles       (width, height) of the rectangle; without it, tiles have parts of some fixed size
    arch        "wse2" or "wse3"
    element     "f16", "f32" or "bf16"; for gemm and gemv "f16_f32" or "bf16_f32", too, with f32 sums.
                Results of bf16 are float32 arrays.  Without it, "f16" if the first array is float16,
                else "f32"
    progress    True shows a bar on stderr, False does not; without it, there is one on a terminal for
                several pieces that take longer than a second
"""
from wse_blas.arguments import BlasError
from wse_blas.matrices import Product, gemm
from wse_blas.vectors import Result, axpy, dot, gemv, ger, nrm2, scal

__all__ = ["BlasError", "Product", "Result", "axpy", "dot", "gemm", "gemv", "ger", "nrm2", "scal"]
