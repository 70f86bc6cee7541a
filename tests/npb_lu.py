"""LU of the NAS parallel benchmarks in numpy, from the specification, for npb_run.py: compressible
flow in a cube whose solution is known, by symmetric successive over-relaxation.

Arrays are [5, x, y, z]: density, momentum along x, y and z, energy.  The three axes may have
different numbers of points.
"""
import numpy

STEP, OMEGA = 0.5, 1.2                     # class S
INNER_POINTS = (10, 10, 10)
C1, C2, C34, C5 = 1.4, 0.4, 0.1, 1.4
C1345 = C1 * C34 * C5
SMOOTHING = (0.75, 0.75, 1.0)              # along x, y and z
DISSIPATION = max(SMOOTHING) / 4
INNER = slice(1, -1)

# Of 1, x, y, z, x^2, y^2, ... z^4.
EXACT = numpy.array([
    [2, 0, 0, 4, 5, 3, .5, .02, .01, .03, .5, .4, .3],
    [1, 0, 0, 0, 1, 2, 3, .01, .03, .02, .4, .3, .5],
    [2, 2, 0, 0, 0, 2, 3, .04, .03, .05, .3, .5, .4],
    [2, 2, 0, 0, 0, 2, 3, .03, .05, .04, .2, .1, .3],
    [5, 4, 3, 2, .1, .4, .3, .05, .04, .03, .1, .3, .2]])


def exact(x, y, z):
    terms = [1, *(v ** n for n in range(1, 5) for v in (x, y, z))]
    return sum(EXACT[:, k, None, None, None] * term for k, term in enumerate(terms))


def places(inner):
    """x, y and z of all points, those at the border, too."""
    return numpy.meshgrid(*(numpy.arange(n + 2) / (n + 1) for n in inner), indexing="ij")


def widths(u):
    """Between points along x, y and z."""
    return [1 / (n - 1) for n in u.shape[1:]]


def start(inner):
    """Exact at the border, and between interpolated from all six sides."""
    x, y, z = places(inner)
    u = exact(x, y, z)
    px = (1 - x) * exact(0 * x, y, z) + x * exact(0 * x + 1, y, z)
    py = (1 - y) * exact(x, 0 * y, z) + y * exact(x, 0 * y + 1, z)
    pz = (1 - z) * exact(x, y, 0 * z) + z * exact(x, y, 0 * z + 1)
    between = px + py + pz - px * py - py * pz - pz * px + px * py * pz
    u[:, INNER, INNER, INNER] = between[:, INNER, INNER, INNER]
    return u


def flow(u):
    """What changes u, at the inner points."""
    total = numpy.zeros_like(u)[:, INNER, INNER, INNER]
    for axis, width in enumerate(widths(u)):
        v = numpy.moveaxis(u, 1 + axis, 1)[:, :, INNER, INNER]
        side = v.shape[1]
        m = 1 + axis
        density = v[0]
        speed = v[m] / density
        q = .5 * (v[1] ** 2 + v[2] ** 2 + v[3] ** 2) / density
        flux = v * speed
        flux[0] = v[m]
        flux[m] += C2 * (v[4] - q)
        flux[4] = (C1 * v[4] - C2 * q) * speed
        part = -1 / (2 * width) * (flux[:, 2:] - flux[:, :-2])
        w = v[1:] / density
        rise = (w[:, 1:] - w[:, :-1]) / width
        squares = w[:3] ** 2
        rise_squares = (squares[:, 1:] - squares[:, :-1]) / width
        viscous = numpy.zeros_like(rise)
        viscous[:3] = rise[:3]
        viscous[axis] *= 4 / 3
        viscous[3] = (.5 * (1 - C1 * C5) * rise_squares.sum(axis=0) + rise_squares[axis] / 6
                      + C1 * C5 * rise[3])
        part[1:] += C34 / width * (viscous[:, 1:] - viscous[:, :-1])
        part += SMOOTHING[axis] / width ** 2 * (v[:, :-2] - 2 * v[:, 1:-1] + v[:, 2:])
        padded = numpy.pad(v[:, 1:-1], ((0, 0), (2, 2), (0, 0), (0, 0)))
        fourth = sum(c * padded[:, 2 + d:side + d] for d, c in zip(range(-2, 3), (1, -4, 6, -4, 1)))
        fourth[:, 0] -= v[:, 1]
        fourth[:, -1] -= v[:, -2]
        part -= DISSIPATION * fourth
        total += numpy.moveaxis(part, 1, 1 + axis)
    return total


def jacobians(u, axis):
    """The derivatives of the flux and of the viscous terms at points [5, n], each [n, 5, 5]."""
    m = 1 + axis
    r = 1 / u[0]
    w = u[1:4] * r
    squares = (w ** 2).sum(axis=0)
    energy = u[4] * r
    a = numpy.zeros((u.shape[1], 5, 5))
    a[:, 0, m] = 1
    for k in range(3):
        a[:, 1 + k, 0] = -w[k] * w[axis]
        a[:, 1 + k, 1 + k] += w[axis]
        a[:, 1 + k, m] += w[k]
        a[:, m, 1 + k] -= C2 * w[k]
        a[:, 4, 1 + k] = -C2 * w[k] * w[axis]
    a[:, m, 0] += .5 * C2 * squares
    a[:, m, 4] = C2
    a[:, 4, 0] = (C2 * squares - C1 * energy) * w[axis]
    a[:, 4, m] += C1 * energy - .5 * C2 * squares
    a[:, 4, 4] = C1 * w[axis]
    n = numpy.zeros_like(a)
    n[:, 4, 0] = -C1345 * energy * r
    for k in range(3):
        c = C34 * (4 / 3 if k == axis else 1)
        n[:, 1 + k, 0] = -c * r * w[k]
        n[:, 1 + k, 1 + k] = c * r
        n[:, 4, 0] -= (c - C1345) * r * w[k] ** 2
        n[:, 4, 1 + k] = (c - C1345) * r * w[k]
    n[:, 4, 4] = C1345 * r
    return a, n


def relax(u, change):
    """One sweep forth and one back over the inner points, by planes x + y + z."""
    v = numpy.zeros_like(u)
    v[:, INNER, INNER, INNER] = STEP * change
    inner = numpy.array(numpy.meshgrid(*(range(1, n - 1) for n in u.shape[1:]),
                                       indexing="ij")).reshape(3, -1)
    one = numpy.eye(5)
    sums = range(3, sum(u.shape[1:]) - 5)
    for sign, order in ((-1, sums), (1, reversed(sums))):
        for s in order:
            at = inner[:, inner.sum(axis=0) == s]
            here = v[:, *at].T
            diagonal = numpy.tile(one, (at.shape[1], 1, 1))
            beside = numpy.zeros_like(here)
            for axis, width in enumerate(widths(u)):
                second = 1 / width ** 2
                shift = numpy.zeros((3, 1), int)
                shift[axis] = sign
                there = at + shift
                a, n = jacobians(u[:, *there], axis)
                block = STEP * (sign / (2 * width) * a - second * (n + SMOOTHING[axis] * one))
                beside += OMEGA * numpy.einsum("nij,jn->ni", block, v[:, *there])
                diagonal += 2 * STEP * second * (jacobians(u[:, *at], axis)[1]
                                                 + SMOOTHING[axis] * one)
            if sign < 0:
                v[:, *at] = numpy.linalg.solve(diagonal, (here - beside)[..., None])[..., 0].T
            else:
                v[:, *at] -= numpy.linalg.solve(diagonal, beside[..., None])[..., 0].T
    return v


def norms(v):
    return numpy.sqrt((v.reshape(5, -1) ** 2).mean(axis=1))


def surface_integral(u):
    """The integral of the pressure on the sides of a box within the cube."""
    pressure = C2 * (u[4] - .5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0])
    nx, ny, nz = u.shape[1:]
    ranges = (1, nx - 2), (1, ny - 3), (2, nz - 2)
    total = 0
    for axis, ends in enumerate(ranges):
        area = numpy.prod([width for i, width in enumerate(widths(u)) if i != axis])
        for end in ends:
            side = numpy.take(pressure, end, axis)
            first, second = (slice(r[0], r[1] + 1) for i, r in enumerate(ranges) if i != axis)
            side = side[first, second]
            total += area * (side[1:, 1:] + side[:-1, 1:] + side[1:, :-1] + side[:-1, :-1]).sum()
    return .25 * total


def solve(iterations, inner=INNER_POINTS):
    """Norms of the residual and of the error, and the integral, after some iterations on a grid with
    so many points within the cube along x, y and z."""
    solution = exact(*places(inner))
    forcing = flow(solution)
    u = start(inner)
    for _ in range(iterations):
        u += relax(u, flow(u) - forcing) / (OMEGA * (2 - OMEGA))
    error = (u - solution)[:, INNER, INNER, INNER]
    return norms(flow(u) - forcing), norms(error), surface_integral(u)
