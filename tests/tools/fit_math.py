#!/usr/bin/python3
"""Fits the polynomials of stdlib/math.csl and prints their coefficients as f32.

Each is a minimax fit of the relative or absolute error over the reduced range: iteratively
reweighted least squares (Lawson) on Chebyshev nodes in extended precision, coefficients rounded
to f32 from the lowest degree up, the later ones refitted after each rounding.
"""
import math
from fractions import Fraction

import numpy

L = numpy.longdouble
LN2 = numpy.log(L(2))
HALF_PI = Fraction("1.57079632679489661923132169163975144209858469968755291")
LOG_2 = Fraction("0.69314718055994530941723212145817656807550013436025525")


def nodes(low, high, count=2000):
    t = numpy.cos((numpy.arange(count, dtype=L) + L(0.5)) * L(numpy.pi) / count)
    return (L(low) + L(high)) / 2 + (L(high) - L(low)) / 2 * t


def minimax(basis, target, weight, rounds=60):
    """Coefficients that level the weighted error of basis @ c - target."""
    lawson = numpy.ones(len(target))
    best, best_error = None, numpy.inf
    scale = numpy.abs(basis).max(axis=0)
    for _ in range(rounds):
        w = (numpy.sqrt(lawson) * weight).astype(L)
        a = (basis / scale * w[:, None]).astype(float)
        q, r = numpy.linalg.qr(a)
        c = numpy.linalg.solve(r, q.T @ (target * w).astype(float)).astype(L)
        rest = (target - basis / scale @ c) * w    # one refinement keeps the digits
        c = c + numpy.linalg.solve(r, q.T @ rest.astype(float))
        error = numpy.abs((basis / scale @ c - target) * weight).astype(float)
        if error.max() < best_error:
            best, best_error = c / scale, error.max()
        lawson *= error / error.max() + 1e-12
        lawson /= lawson.sum()
    return best, best_error


def fit(name, x, function, powers, weight):
    """Prints function(x) ~ sum of c * x^power, |weight * error| levelled."""
    target, weight = function(x), weight(x)
    basis = numpy.stack([x ** p for p in powers], axis=1)
    fixed = []
    for i in range(len(powers)):
        c, _ = minimax(basis[:, i:], target, weight)
        fixed.append(numpy.float32(c[0]))
        target = target - L(fixed[-1]) * basis[:, i]
    worst = float(numpy.abs(target * weight).max())
    print(f"{name}: error 2^{numpy.log2(worst):.1f}")
    print("  " + ", ".join(str(c) for c in fixed))


def exp_tail(r):
    """(e^r - 1 - r) / r^2 without cancellation."""
    total, term = L(0) * r, L(1) / 2 + 0 * r
    for n in range(3, 25):
        total, term = total + term, term * r / n
    return total


def log_tail(f):
    """(log(1 + f) - f + f^2 / 2) / f^3 without cancellation."""
    s = f / (2 + f)                     # log(1 + f) = 2 atanh(s), f = 2 s / (1 - s)
    z = s * s
    tail = sum(z ** n / L(2 * n + 3) for n in range(25))
    # log(1+f) - f + f^2/2 = 2 s + 2 s^3 tail - f + f^2/2, and 2 s - f + f^2/2 = f^2 s / 2
    return (s / f) / 2 + 2 * (s / f) ** 3 * tail


def sine_tail(z):
    """(sin(r) - r) / r^3 for z = r^2."""
    total, term = L(0) * z, -L(1) / 6 + 0 * z
    for n in range(2, 14):
        total, term = total + term, -term * z / ((2 * n) * (2 * n + 1))
    return total


def cosine_tail(z):
    """(cos(r) - 1 + r^2 / 2) / r^4 for z = r^2."""
    total, term = L(0) * z, L(1) / 24 + 0 * z
    for n in range(3, 15):
        total, term = total + term, -term * z / ((2 * n - 1) * (2 * n))
    return total


def exp2_part(r):
    """(2^r - 1) / r."""
    u = r * LN2
    return LN2 * (1 + u * exp_tail(u))


def atanh_tail(z):
    """(atanh(s) - s) / s^3 for z = s^2."""
    return sum(z ** n / L(2 * n + 3) for n in range(30))


def tanh_tail(z):
    """(tanh(x) - x) / x^3 for z = x^2."""
    x = numpy.sqrt(z)
    e = 2 * x
    m = e + e * e * exp_tail(e)                       # e^(2x) - 1
    # tanh = m / (m + 2); m - x m - 2 x = e^2 tail - x m
    return (e * e * exp_tail(e) - x * m) / ((m + 2) * x * z)


def parts(name, value, bits, count):
    """Prints value as `count` addends of `bits` bits and a last one of 24; they hold what follows
    the leading ones exactly."""
    rest, shown = value, []
    for _ in range(count):
        step = Fraction(2) ** (math.frexp(rest)[1] - bits)
        part = rest // step * step
        shown.append(repr(float(part)))
        rest -= part
    print(f"{name}: " + ", ".join([*shown, repr(float(numpy.float32(float(rest))))]))


def root_line():
    """The constant of the bit trick 1/sqrt(x) ~ line(c - bits/2) and the factors a, b of the step
    line (a - b x line^2) that leave the least relative error, over constants in steps of 2^16."""
    x = numpy.arange(0x3f800000, 0x40800000, 64, dtype=numpy.uint32)
    best = None
    for c in range(0x5f000000, 0x5f500000, 0x10000):
        line = (numpy.uint32(c) - (x >> 1)).view(numpy.float32).astype(float)
        v = line * numpy.sqrt(x.view(numpy.float32).astype(float))
        low, high = v.min(), v.max()
        # v (a - b v^2) has equal values at both ends if a = b (low^2 + low high + high^2).
        ends = low * low + low * high + high * high
        top = math.sqrt(ends / 3) * ends * 2 / 3
        end = low * (ends - low * low)
        b = 2 / (top + end)
        if best is None or (top - end) / (top + end) < best[0]:
            best = (top - end) / (top + end), c, b * ends, b
    print(f"root: error {best[0]:.2e}\n  {best[1]:#x}, {best[2]:.8g}, {best[3]:.8g}")


def logarithms():
    """log2 of the centres of pow: 14 bits after the point, and the rest."""
    for c in (1, 1.125, 1.25, 1.375, 0.75, 0.8125, 0.875, 0.9375):
        exact = numpy.log2(L(c))
        high = numpy.round(exact * 2 ** 14) / 2 ** 14
        print(f"log2 {c}: {float(high)!r}, {float(numpy.float32(exact - high)):.8g}")


def main():
    half = float(LN2) / 2 * 1.001
    fit("exp", nodes(-half, half), exp_tail, range(5), lambda r: r * r / numpy.exp(r))
    fit("log", nodes(2 ** -0.5 - 1, 2 ** 0.5 - 1), log_tail, range(8),
        lambda f: f ** 3 / numpy.log1p(f))
    z = nodes(1e-12, (numpy.pi / 4 * 1.0001) ** 2)
    fit("sine", z, sine_tail, range(3), lambda z: z * numpy.sqrt(z) / numpy.sin(numpy.sqrt(z)))
    fit("cosine", z, cosine_tail, range(3), lambda z: z * z / numpy.cos(numpy.sqrt(z)))
    fit("tanh", nodes(1e-12, 0.5625 ** 2), tanh_tail, range(5),
        lambda z: z * numpy.sqrt(z) / numpy.tanh(numpy.sqrt(z)))
    fit("2^r", nodes(-0.5001, 0.5001), exp2_part, range(6), lambda r: r / numpy.exp2(r))
    fit("atanh", nodes(1e-14, 0.0325 ** 2), atanh_tail, range(3), lambda z: z)
    root_line()
    logarithms()
    parts("pi/2", HALF_PI, 9, 4)
    parts("ln 2", LOG_2, 15, 1)
    parts("2 / ln 2", 2 / LOG_2, 12, 1)


main()
