"""The kernels of samples/npb and what the specification of the benchmarks says of their results,
for test_npb.py and the claim npb."""
import itertools
import math

import numpy

import harness
import npb_lu

# EP, class S: the sums of both numbers and the pairs of each annulus.
EP_SUMS = (-3.247834652034740e3, -6.958407078382297e3)
EP_COUNTS = (6140517, 5865300, 1100361, 68546, 1648, 17, 0, 0, 0, 0)
EP_CLASS_S = 24

# CG, class S.
CG_ZETA = 8.5971775078648
CG_ITERATIONS = 15
CG_ROWS = 1400

# MG, class S: the norm of the residual after all iterations.
MG_NORM = 0.5307707005734e-4
MG_ITERATIONS = 4
MG_SIDE = 32

# FT, class S: the checksum of each iteration.
FT_SUMS = (554.6087004964 + 484.5363331978j, 554.6385409190 + 486.5304269511j,
           554.6148406171 + 488.3910722337j, 554.5423607415 + 490.1273169046j,
           554.4255039624 + 491.7475857993j, 554.2683411903 + 493.2597244941j)
FT_CLASS_S = 6

# LU, class S: norms of the residual and of the error, by number, and the integral.
LU_RESIDUALS = (1.6196343210976702e-2, 2.1976745164821318e-3, 1.5179927653399185e-3,
                1.5029584435994323e-3, 3.4264073155896461e-2)
LU_ERRORS = (6.4223319957960924e-4, 8.4144342047347926e-5, 5.8588269616485186e-5,
             5.8474222595157350e-5, 1.3103347914111294e-3)
LU_INTEGRAL = 7.8418928865937083
LU_ITERATIONS = 50
LU_BOUNDS = {"residual's norm": 2e-4, "error's norm": 1e-4, "integral": 1e-6}   # relative, class S

IS_CLASS_S, IS_MOST = 16, 1 << 11
IS_TESTED = (48427, 17148, 23627, 62548, 4431)      # places of the tested keys, class S
IS_RANKS = (0, 18, 346, 64917, 65463)               # their ranks before the first iteration


def is_keys(log_keys):
    """The keys, by the generator in integers of any size."""
    x, factor, keys = 314159265, 5 ** 13, []
    for _ in range(1 << log_keys):
        total = 0
        for _ in range(4):
            x = x * factor % (1 << 46)
            total += x
        keys.append(total * (IS_MOST // 4) >> 46)
    return numpy.array(keys)


def is_wanted(iterations):
    """Ranks by the specification: the first three keys' grow by one each time, the others' fall."""
    return [[rank + i if k < 3 else rank - i for k, rank in enumerate(IS_RANKS)]
            for i in range(1, iterations + 1)]


def cycles_between(words):
    first, last = (sum(int(words[3 * i + k]) << 16 * k for k in range(3)) for i in (0, 1))
    return last - first


def is_ranks(keys, iterations):
    """Ranks of the tested keys in each iteration, which changes two of the keys."""
    ranks = []
    for i in range(1, iterations + 1):
        keys[i], keys[i + 10] = i, IS_MOST - i
        ranks.append([int((keys < keys[place % len(keys)]).sum()) for place in IS_TESTED])
    return ranks


def build_kernel(folder, kernel, tiles, network, arch, params):
    """On a row, or if `network`, on a rectangle with the collectives of samples/network-mpi."""
    image = folder / f"{kernel}.bin"
    width, height = network or (tiles, 1)
    assert width * height == tiles
    program, size = (("network_layout.csl", {"width": width, "height": height}) if network else
                     ("layout.csl", {"tiles": tiles}))
    harness.compile(f"samples/npb/{kernel}/{program}", image, f"--arch={arch}",
                    params={**size, **params})
    return image


def run_is(folder, tiles, iterations, arch="wse2", log_keys=IS_CLASS_S, network=None):
    """Runs and verifies IS; gives the cycles of the slowest tile."""
    image = build_kernel(folder, "is", tiles, network, arch,
                         {"iterations": iterations, "log_keys": log_keys})
    names = ("ranks", "range", "counts", "stamps")
    harness.emu(image, *(f"--d2h={name}={folder / name}.npy" for name in names), timeout=900)
    ranks, limits, counts, stamps = (
        harness.load_npy(folder / f"{name}.npy").reshape(tiles, -1) for name in names)
    got = ranks.max(axis=0).reshape(-1, len(IS_TESTED))[:iterations]
    keys = is_keys(log_keys)
    assert got.tolist() == is_ranks(keys, iterations)
    if log_keys == IS_CLASS_S:
        assert got.tolist() == is_wanted(iterations)
    want = numpy.bincount(keys, minlength=IS_MOST)
    found = numpy.zeros(IS_MOST, int)
    for tile in range(tiles):
        first, end = limits[tile]
        assert not counts[tile, :first].any() and not counts[tile, end:].any()
        found += counts[tile]
    numpy.testing.assert_array_equal(found, want)
    return max(cycles_between(words) for words in stamps)


def ep_wanted(log_pairs):
    """Sums and counts, by the specification for class S and in f64 for fewer pairs."""
    if log_pairs == EP_CLASS_S:
        return EP_SUMS, EP_COUNTS
    x, factor, sums, counts = 271828183, 5 ** 13, [0.0, 0.0], [0] * 10
    for _ in range(1 << log_pairs):
        pair = []
        for _ in range(2):
            x = x * factor % (1 << 46)
            pair.append(2 * x / (1 << 46) - 1)
        t = pair[0] ** 2 + pair[1] ** 2
        if t <= 1:
            normal = [v * math.sqrt(-2 * math.log(t) / t) for v in pair]
            counts[int(max(map(abs, normal)))] += 1
            sums = [a + b for a, b in zip(sums, normal)]
    return sums, counts


def run_ep(folder, tiles, log_pairs, arch="wse2"):
    """The largest error of a sum, relative to the larger of the two, and of a count, relative to
    all; and the cycles of the slowest tile."""
    image = folder / "ep.bin"
    harness.compile("samples/npb/ep/layout.csl", image, f"--arch={arch}",
                    params={"tiles": tiles, "log_pairs": log_pairs})
    names = ("sums", "counts", "stamps")
    harness.emu(image, "--threads=2", *(f"--d2h={name}={folder / name}.npy" for name in names),
                timeout=3600)
    sums, counts, stamps = (harness.load_npy(folder / f"{name}.npy").reshape(tiles, -1)
                            for name in names)
    assert (sums == sums[0]).all() and (counts == counts[0]).all()     # every tile has the results
    want_sums, want_counts = ep_wanted(log_pairs)
    found = sums[0].astype(float)
    scale = max(map(abs, want_sums))
    of_sums = max(abs(found[0] + found[1] - want_sums[0]), abs(found[2] + found[3] - want_sums[1]))
    of_counts = abs(counts[0].astype(int) - numpy.array(want_counts)).max()
    return (of_sums / scale, of_counts / sum(want_counts),
            max(cycles_between(words) for words in stamps))


def cg_matrix(n=CG_ROWS):
    """CG's matrix in f64, from the specification."""
    nonzero, shift, condition = 7, 10.0, 0.1
    x, factor = 314159265 * 5 ** 13 % (1 << 46), 5 ** 13
    matrix, size = numpy.zeros((n, n)), 1.0
    for i in range(n):
        vector = {}
        while len(vector) < nonzero:
            element = x = x * factor % (1 << 46)
            x = x * factor % (1 << 46)
            place = x >> (46 - (n - 1).bit_length())
            if place < n and place not in vector:
                vector[place] = element / (1 << 46)
        vector[i] = 0.5
        places = list(vector)
        values = numpy.array(list(vector.values()))
        matrix[numpy.ix_(places, places)] += size * numpy.outer(values, values)
        matrix[i, i] += condition - shift
        size *= condition ** (1 / n)
    return matrix, shift


def cg_wanted(iterations, n=CG_ROWS):
    """zeta of the specification after all iterations, and in f64 after fewer or of fewer rows."""
    if iterations == CG_ITERATIONS and n == CG_ROWS:
        return CG_ZETA
    matrix, shift = cg_matrix(n)
    x = numpy.ones(len(matrix))
    for _ in range(iterations):
        z = numpy.linalg.solve(matrix, x)
        zeta = shift + 1 / (x @ z)
        x = z / numpy.linalg.norm(z)
    return zeta


def run_solver(folder, kernel, result, wanted, tiles, iterations, arch, network=None, **params):
    """The relative error of the last of a kernel's results, and the cycles of the slowest tile."""
    image = build_kernel(folder, kernel, tiles, network, arch,
                         {"iterations": iterations, **params})
    names = (result, "stamps")
    harness.emu(image, "--threads=2", *(f"--d2h={name}={folder / name}.npy" for name in names),
                timeout=1800)
    found, stamps = (harness.load_npy(folder / f"{name}.npy").reshape(tiles, -1) for name in names)
    assert (found == found[0]).all()                   # every tile has the result
    return abs(float(found[0, -1]) - wanted) / wanted, max(map(cycles_between, stamps))


def run_cg(folder, tiles, iterations, arch="wse2", n=CG_ROWS, network=None):
    """run_solver for the eigenvalue zeta of a matrix of n rows."""
    return run_solver(folder, "cg", "zeta", cg_wanted(iterations, n), tiles, iterations, arch,
                      network, N=n, ratio=round(0.1 ** (1 / n) * 2 ** 31))


def sums_around(u, weights):
    """At each point of a periodic grid, the sum of the 27 points around it, weighted by how many of
    their coordinates differ."""
    total = numpy.zeros_like(u)
    for shift in itertools.product((-1, 0, 1), repeat=3):
        total += weights[sum(map(abs, shift))] * numpy.roll(u, shift, (0, 1, 2))
    return total


def mg_charges(side):
    x, numbers = 314159265, []
    for _ in range(side ** 3):
        x = x * 5 ** 13 % (1 << 46)
        numbers.append(x)
    order = numpy.argsort(numbers)
    v = numpy.zeros(side ** 3)
    v[order[:10]], v[order[-10:]] = -1, 1
    return v.reshape(side, side, side)


def mg_wanted(iterations, side=MG_SIDE):
    """The norm by the specification after all iterations, and in f64 after fewer or on a smaller
    grid."""
    if iterations == MG_ITERATIONS and side == MG_SIDE:
        return MG_NORM
    operator, smoother = (-8 / 3, 0, 1 / 6, 1 / 12), (-3 / 8, 1 / 32, -1 / 64, 0)
    halves = (1 / 2, 1 / 4, 1 / 8, 1 / 16)

    def refined(coarse):
        fine = numpy.zeros([2 * n for n in coarse.shape])
        fine[1::2, 1::2, 1::2] = coarse
        return sums_around(fine, [2 * w for w in halves])

    def corrections(r):
        if len(r) == 2:
            return sums_around(r, smoother)
        u = refined(corrections(sums_around(r, halves)[1::2, 1::2, 1::2]))
        return u + sums_around(r - sums_around(u, operator), smoother)

    v = mg_charges(side)
    u = numpy.zeros_like(v)
    for _ in range(iterations):
        u = u + corrections(v - sums_around(u, operator))
    return math.sqrt(((v - sums_around(u, operator)) ** 2).mean())


def run_mg(folder, tiles, iterations, arch="wse2", log_side=5, network=None):
    """run_solver for the norm of the residual."""
    return run_solver(folder, "mg", "norms", mg_wanted(iterations, 1 << log_side), tiles, iterations,
                      arch, network, log_side=log_side)


def ft_wanted(log_side, iterations):
    """The sums by the specification for class S, and in f64 for a smaller cube."""
    if log_side == FT_CLASS_S:
        return FT_SUMS[:iterations]
    side, x, numbers = 1 << log_side, 314159265, []
    for _ in range(2 * side ** 3):
        x = x * 5 ** 13 % (1 << 46)
        numbers.append(x / (1 << 46))
    cube = numpy.array(numbers).view(complex).reshape(side, side, side)
    squares = numpy.fft.fftfreq(side, 1 / side) ** 2
    decay = -4e-6 * math.pi ** 2 * (squares[:, None, None] + squares[:, None] + squares)
    spectrum, i = numpy.fft.fftn(cube), numpy.arange(1, 1025)
    return [numpy.fft.ifftn(spectrum * numpy.exp(decay * t))[5 * i % side, 3 * i % side,
                                                             i % side].sum()
            for t in range(1, iterations + 1)]


def run_ft(folder, size, log_side, iterations, arch="wse2", network=False):
    """On (width, height) tiles: the largest relative error of a checksum's part, and the cycles of
    the slowest tile."""
    image = folder / "ft.bin"
    program = "network_layout.csl" if network else "layout.csl"
    harness.compile(f"samples/npb/ft/{program}", image, f"--arch={arch}",
                    params={"width": size[0], "height": size[1], "log_side": log_side,
                            "iterations": iterations})
    names = ("checksums", "stamps")
    harness.emu(image, "--threads=2", *(f"--d2h={name}={folder / name}.npy" for name in names),
                timeout=1800)
    sums, stamps = (harness.load_npy(folder / f"{name}.npy").reshape(size[0] * size[1], -1)
                    for name in names)
    found = sums[0].astype(float).reshape(iterations, 2, 2).sum(axis=2)
    wanted = numpy.array([(z.real, z.imag) for z in ft_wanted(log_side, iterations)])
    return float(abs(found / wanted - 1).max()), max(map(cycles_between, stamps))


def run_lu(folder, size, iterations, arch="wse2", inner=npb_lu.INNER_POINTS, network=False):
    """On (width, height) tiles: the largest relative errors of a residual's, of an error's norm
    and of the integral, and the cycles of the slowest tile.  Wanted is what the specification says
    after all iterations, and what npb_lu finds in f64 after fewer or with other numbers of points
    within the cube along x, y and z."""
    wanted = ((LU_RESIDUALS, LU_ERRORS, LU_INTEGRAL)
              if (iterations, inner) == (LU_ITERATIONS, npb_lu.INNER_POINTS) else
              npb_lu.solve(iterations, inner))
    image = folder / "lu.bin"
    program = "network_layout.csl" if network else "layout.csl"
    harness.compile(f"samples/npb/lu/{program}", image, f"--arch={arch}",
                    params={"width": size[0], "height": size[1], "iterations": iterations,
                            **dict(zip(("inner_x", "inner_y", "inner_z"), inner))})
    names = ("residuals", "errors", "integral", "stamps")
    harness.emu(image, "--threads=2", *(f"--d2h={name}={folder / name}.npy" for name in names),
                timeout=1800)
    *found, stamps = (harness.load_npy(folder / f"{name}.npy").reshape(size[0] * size[1], -1)
                      for name in names)
    off = [float(abs(values[0].astype(float) / numpy.array(want) - 1).max())
           for values, want in zip(found, wanted)]
    return off, max(map(cycles_between, stamps))
