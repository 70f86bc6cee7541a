"""The programs of samples/published: each runs on random data, its result is compared with numpy's, and
its cycles are counted.  For test_published.py and the claim published."""
import numpy

import harness

FOLDER = harness.SAMPLES / "published"
HEIGHT, WIDTH = 0, 1              # axes of a mesh of columns


class Wrong(Exception):
    """A result is not numpy's."""


def compiled(folder, program, arch, params):
    image = folder / "program.bin"
    harness.compile(FOLDER / program / "layout.csl", image, f"--arch={arch}", params=params,
                    timeout=1800)
    return image


def launch(folder, image, given, wanted, threads=1):
    """Runs main() with the arrays `given` by name; the arrays of the names `wanted`, as they came."""
    copies = [f"--h2d={name}={harness.save_npy(folder / f'{name}.npy', array)}"
              for name, array in given.items()]
    back = [f"--d2h={name}={folder / name}-out.npy" for name in wanted]
    harness.emu(image, f"--threads={threads}", *copies, "--launch=main", *back, timeout=3600)
    return [harness.load_npy(folder / f"{name}-out.npy") for name in wanted]


def stamped(stamps, count=2):
    """Cycle of each of `count` stamps, three words each, by tile."""
    words = stamps.reshape(-1, count, 3).astype(int)
    return words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)


def slowest(times):
    """Cycles from the first tile's first stamp to the last tile's last: all counters begin together."""
    return int(times[:, -1].max() - times[:, 0].min())


def relative_error(found, want):
    return float(abs(found - want).max() / abs(want).max())


# ---- allreduce -----------------------------------------------------------------------------------

def run_allreduce(folder, width, height, calls, arch="wse3"):
    """Cycles of a call with one element; every tile must have the largest of all."""
    image = compiled(folder, "allreduce", arch, {"width": width, "height": height, "calls": calls})
    value = numpy.random.default_rng(width).uniform(-1, 1, (height, width, 1)).astype(numpy.float32)
    found, stamps = launch(folder, image, {"value": value}, ["value", "stamps"])
    if not (found == value.max()).all():
        raise Wrong(f"allreduce on {width} x {height} tiles")
    return slowest(stamped(stamps)) / calls


# ---- BiCGSTAB ------------------------------------------------------------------------------------

def moved(x, way):
    """x of the column before each column, on its way east, west, north or south; zero outside."""
    axis, step = ((WIDTH, 1), (WIDTH, -1), (HEIGHT, -1), (HEIGHT, 1))[way]
    padded = numpy.pad(x, [(1, 1) if a == axis else (0, 0) for a in range(x.ndim)])
    return padded.take(range(1 - step, 1 - step + x.shape[axis]), axis)


def seven_points(coefficients, x):
    """The product: coefficients[height, width, 6, Z]."""
    low = numpy.pad(x, ((0, 0), (0, 0), (1, 0)))[..., :-1]
    high = numpy.pad(x, ((0, 0), (0, 0), (0, 1)))[..., 1:]
    around = [low, high] + [moved(x, way) for way in range(4)]
    return x + sum(coefficients[:, :, k] * around[k] for k in range(6))


def by_column(coefficients):
    """Each tile's as its program has them: by which the next tile on a way multiplies this column."""
    back = (1, 0, 3, 2)           # the way on which the next tile's column comes to this one
    return numpy.stack([coefficients[:, :, 0], coefficients[:, :, 1],
                        *(moved(coefficients[:, :, 2 + way], back[way]) for way in range(4))], 2)


def bicgstab(coefficients, b, iterations):
    """The solution and rho of each iteration, in f64."""
    x, r, p, rhos = numpy.zeros_like(b), b.copy(), b.copy(), [numpy.vdot(b, b)]
    for _ in range(iterations):
        v = seven_points(coefficients, p)
        alpha = rhos[-1] / numpy.vdot(b, v)
        s = r - alpha * v
        t = seven_points(coefficients, s)
        omega = numpy.vdot(t, s) / numpy.vdot(t, t)
        x += alpha * p + omega * s
        r = s - omega * t
        rhos.append(numpy.vdot(b, r))
        p = r + rhos[-1] / rhos[-2] * (alpha / omega) * (p - omega * v)
    return x, numpy.array(rhos)


def run_bicgstab(folder, width, height, Z, iterations, half=True, arch="wse2", threads=1):
    """Cycles of an iteration; the residual relative to b; the error of the solution relative to that
    of as many iterations in f64; and that of the first two rho."""
    dtype = numpy.float16 if half else numpy.float32
    rng = numpy.random.default_rng(width * 1000 + Z)
    coefficients = rng.uniform(-0.12, -0.04, (height, width, 6, Z)).astype(dtype)
    b = rng.uniform(-0.5, 0.5, (height, width, Z)).astype(dtype)
    image = compiled(folder, "bicgstab", arch, {
        "width": width, "height": height, "Z": Z, "iterations": iterations,
        "half": str(half).lower()})
    x, rho, stamps = launch(folder, image, {
        "coefficients": by_column(coefficients).reshape(height, width, -1), "b": b},
        ["solution", "rho", "stamps"], threads)
    x = x.reshape(b.shape).astype(float)
    exact, b = coefficients.astype(float), b.astype(float)
    want_x, want_rho = bicgstab(exact, b, iterations)
    residual = b - seven_points(exact, x)
    rho = rho.reshape(height * width, -1)
    if not (rho == rho[0]).all():
        raise Wrong("tiles have different sums")
    return {"cycles": slowest(stamped(stamps)) / iterations,
            "residual": float(numpy.linalg.norm(residual) / numpy.linalg.norm(b)),
            "error": relative_error(x, want_x),
            "rho": float(max(abs(rho[0, :2] / want_rho[:2] - 1)))}


# ---- the stencil of 25 points --------------------------------------------------------------------

WEIGHTS = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
CENTRE = -3 * 205 / 72


def star_of_25(field):
    """The sum around each point, with zeros outside the mesh."""
    padded = numpy.pad(field, 4)
    inner = [slice(4, 4 + n) for n in field.shape]
    total = CENTRE * field
    for axis, n in enumerate(field.shape):
        for distance, weight in enumerate(WEIGHTS, 1):
            for way in (-distance, distance):
                place = list(inner)
                place[axis] = slice(4 + way, 4 + way + n)
                total = total + weight * padded[tuple(place)]
    return total


def run_stencil(folder, width, height, Z, steps, arch="wse2", threads=1):
    """Cycles of a step, and the error of the field after the steps."""
    rng = numpy.random.default_rng(width + Z)
    now, before = rng.uniform(-1, 1, (2, height, width, Z)).astype(numpy.float32)
    speed = rng.uniform(0.01, 0.05, (height, width, Z)).astype(numpy.float32)
    image = compiled(folder, "stencil", arch, {"width": width, "height": height, "Z": Z,
                                               "steps": steps})
    last = "now" if steps % 2 == 0 else "before"
    ends = ((0, 0), (0, 0), (4, 4))
    found, stamps = launch(folder, image, {
        "now": numpy.pad(now, ends), "before": numpy.pad(before, ends), "speed": speed},
        [last, "stamps"], threads)
    now, before, speed = (a.astype(float) for a in (now, before, speed))
    for _ in range(steps):
        now, before = 2 * now - before + speed * star_of_25(now), now
    return {"cycles": slowest(stamped(stamps)) / steps,
            "error": relative_error(found.reshape(height, width, -1)[..., 4:-4], now)}


# ---- the Fourier transform of a cube -------------------------------------------------------------

FFT_STAMPS = 6                    # each step ends with one: steps of one kind take equally long


def run_fft(folder, side, arch="wse2", threads=1):
    """Cycles of the transform, and its error.  The cube is [x, y, z]; the tile in column x and row y
    has a line along z, and at the end, in column z and row x, the line along y."""
    rng = numpy.random.default_rng(side)
    cube = rng.uniform(-1, 1, (side, side, side, 2)).astype(numpy.float32)
    image = compiled(folder, "fft", arch, {"log_side": side.bit_length() - 1})
    found, stamps = launch(folder, image,
                           {"line": cube.transpose(1, 0, 2, 3).reshape(side, side, -1)},
                           ["line", "stamps"], threads)
    times = stamped(stamps, FFT_STAMPS)
    want = numpy.fft.fftn(cube[..., 0] + 1j * cube[..., 1])
    found = complex_of(found.reshape(side, side, side, 2)).transpose(0, 2, 1)
    return {"cycles": slowest(times), "error": relative_error(found, want)}


def complex_of(pairs):
    return pairs[..., 0] + 1j * pairs[..., 1].astype(float)


def run_fft_row(folder, side, arch="wse2", threads=1):
    """One row of the side x side tiles: lines along z, the exchange, lines along x.  The rows do not
    meet before the exchange in the columns, which are as long; so the whole takes once more what
    follows the first transform.  Cycles of the whole, of a transform, of an exchange; the error."""
    rng = numpy.random.default_rng(side)
    plane = rng.uniform(-1, 1, (side, side, 2)).astype(numpy.float32)         # [x, z]
    image = compiled(folder, "fft", arch, {"log_side": side.bit_length() - 1, "rows": 1})
    found, stamps = launch(folder, image, {"line": plane.reshape(1, side, -1)},
                           ["line", "stamps"], threads)
    want = numpy.fft.fft2(complex_of(plane)).T                               # [z, x]
    times = stamped(stamps, FFT_STAMPS)[:, :4]
    transform = int((times[:, 1] - times[:, 0]).max())
    row = slowest(times)
    return {"cycles": 2 * row - transform, "transform": transform,
            "exchange": row - 2 * transform,
            "error": relative_error(complex_of(found.reshape(side, side, 2)), want)}
