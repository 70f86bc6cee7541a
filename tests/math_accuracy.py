"""The functions of <math> at many points, against numpy's long double (64 bits of fraction).

    points = math_accuracy.points("exp", "f32", 100_000)
    found = math_accuracy.evaluate(folder, "exp", "f32", points)
    worst, where = math_accuracy.worst("exp", "f32", found, points)

Points of f32 are drawn log-uniformly (all bit patterns), uniformly over the range where the
function does something, and near the places where an implementation changes its ways; 16-bit
types take all patterns.  The oracle is right to about 2^-63: 2^-39 ulp of an f32.
"""
import re

import numpy

import harness
import stdlib_run

LONG = numpy.longdouble
PER_TILE = 4096                 # elements of each buffer on a tile
SIN_LIMIT = 16384 * numpy.pi


def long_pi():
    """pi to the precision of a long double: the nearest f64 and the rest."""
    return LONG(numpy.pi) + LONG(1.2246467991473531772e-16)


def sigmoid(x):
    e = numpy.exp(-numpy.abs(x))
    return numpy.where(x < 0, e, 1) / (1 + e)


# name: (oracle, range of uniform points, allowed ulp in f32)
FUNCTIONS = {
    "exp": (numpy.exp, (-105.0, 90.0), 2), "log": (numpy.log, (0.25, 4.0), 2),
    "sin": (numpy.sin, (-SIN_LIMIT, SIN_LIMIT), 2), "cos": (numpy.cos, (-SIN_LIMIT, SIN_LIMIT), 2),
    "tanh": (numpy.tanh, (-10.0, 10.0), 2), "sig": (sigmoid, (-105.0, 20.0), 2),
    "sqrt": (numpy.sqrt, (0.0, 16.0), 2), "invsqrt": (lambda x: 1 / numpy.sqrt(x), (0.0, 16.0), 2),
    "inv": (lambda x: 1 / x, (-4.0, 4.0), 2),
    "pow": (numpy.power, (0.0, 10.0), 4),
    "floor": (numpy.floor, (-9.0, 9.0), 0), "ceil": (numpy.ceil, (-9.0, 9.0), 0),
}

SPECIAL = numpy.array([0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, numpy.inf, numpy.nan, 1e-45, 5.9e-39,
                       1.1754942e-38, 1.17549435e-38, 3.4028235e38, 2.0**23, 2.0**24, 2.0**24 + 2,
                       2.0**31, 0.99999994, 1.0000001, 0.625, 9.1], numpy.float32)
SPECIAL = numpy.concatenate([SPECIAL, -SPECIAL])


def neighbours(centres, reach=2):
    """The f32 next to each centre, `reach` on either side."""
    bits = numpy.asarray(centres, numpy.float32).view(numpy.int32)
    return numpy.concatenate([(bits + d).astype(numpy.int32) for d in range(-reach, reach + 1)]
                             ).view(numpy.float32)


def edges(name):
    """Where the results round to zero, overflow, or the reduced argument is least."""
    if name in ("sin", "cos"):
        return neighbours((numpy.arange(1, 32768, dtype=LONG) * long_pi() / 2), 1)
    if name == "exp":
        k = numpy.arange(-151, 129, dtype=LONG)
        return neighbours(numpy.concatenate([k * numpy.log(LONG(2)),
                                             (k + 0.5) * numpy.log(LONG(2))]))
    if name == "log":
        return neighbours(numpy.concatenate([numpy.exp2(numpy.arange(-126, 127) + 0.5),
                                             1 + numpy.linspace(-1e-5, 1e-5, 400)]))
    if name in ("tanh", "sig"):
        return neighbours(numpy.concatenate([numpy.linspace(-0.7, 0.7, 400), [9.0, 9.01, 9.02],
                                             numpy.linspace(-104, -86, 400)]))
    return neighbours(numpy.exp2(numpy.arange(-126, 127)))


def points(name, element, count, seed=1):
    """Arguments as a tuple of one array (two for pow)."""
    rng = numpy.random.default_rng(seed)
    if element != "f32":
        bits = numpy.arange(65536, dtype=numpy.uint32).astype(numpy.uint16)
        if name != "pow":
            return (bits,)
        return rng.choice(bits, count), rng.choice(bits, count)
    if name == "pow":
        return pow_points(rng, count)
    low, high = FUNCTIONS[name][1]
    third = count // 3
    some = [SPECIAL, edges(name),
            rng.integers(0, 2**32, third, dtype=numpy.uint32).view(numpy.float32),
            rng.uniform(low, high, third).astype(numpy.float32),
            # subnormals and the binades around 1
            rng.integers(0, 0x800000, third // 4, dtype=numpy.uint32).view(numpy.float32),
            rng.uniform(-2, 2, third * 3 // 4).astype(numpy.float32)]
    x = numpy.concatenate(some)
    return (x,)


def pow_points(rng, count):
    quarter = count // 4
    x = numpy.concatenate([
        rng.integers(0, 0x7f800000, quarter, dtype=numpy.uint32).view(numpy.float32),
        rng.uniform(0.4, 2.5, quarter).astype(numpy.float32),
        (1 + rng.uniform(-1, 1, quarter) * numpy.exp2(-rng.uniform(0, 23, quarter))
         ).astype(numpy.float32),
        numpy.abs(rng.uniform(-10, 10, quarter)).astype(numpy.float32)])
    # Results of all magnitudes: y = target / log2 x.
    with numpy.errstate(all="ignore"):
        y = (rng.uniform(-150, 128.5, len(x)) / numpy.log2(x.astype(float))).astype(numpy.float32)
    whole = rng.integers(0, 2, len(x)) == 1
    whole[:3 * quarter] = False
    y[whole] = numpy.round(rng.uniform(-40, 40, whole.sum()))
    x[whole] *= rng.choice([1, -1], whole.sum()).astype(numpy.float32)
    special = numpy.meshgrid(SPECIAL, SPECIAL)
    return (numpy.concatenate([x, special[0].ravel()]), numpy.concatenate([y, special[1].ravel()]))


def widen(element, array):
    """The values of an element's bit patterns as long doubles."""
    if element in ("f32", "f16"):
        with numpy.errstate(invalid="ignore"):      # a signaling NaN
            return array.view({"f32": numpy.float32, "f16": numpy.float16}[element]).astype(LONG)
    bits = array.astype(numpy.int64)
    exponent_bits, bias = {"bf16": (8, 127), "cb16": (6, 42)}[element]
    fraction_bits = 15 - exponent_bits
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    normal = exponent > 0
    value = numpy.ldexp((fraction + (normal << fraction_bits)).astype(LONG),
                        (numpy.maximum(exponent, 1) - bias - fraction_bits).astype(numpy.int32))
    top = exponent == (1 << exponent_bits) - 1
    value[top] = numpy.where(fraction[top] == 0, numpy.inf, numpy.nan)
    return numpy.where(bits >> 15 == 1, -value, value)


def format_of(element):
    """Bits of the fraction, least exponent, largest finite value."""
    return {"f32": (23, -126, LONG(2) ** 128 - LONG(2) ** 104),
            "f16": (10, -14, LONG(65504)),
            "bf16": (7, -126, LONG(2) ** 128 - LONG(2) ** 120),
            "cb16": (9, -41, LONG(2) ** 21 - LONG(2) ** 11)}[element]


def ulps(element, found, exact):
    """Errors in units of the last place at the exact value.  A result that should be infinite or
    NaN and is not, or the reverse, is infinitely wrong; an exact value that rounds to infinity
    counts as infinity, or as finite if the found value is the largest one."""
    fraction, least, largest = format_of(element)
    size = numpy.abs(exact)
    half_unit = numpy.exp2(LONG(numpy.floor(numpy.log2(largest)) - fraction - 1))
    with numpy.errstate(all="ignore"):
        exponent = numpy.floor(numpy.log2(numpy.where(size > 0, size, 1)))
        exponent = numpy.maximum(numpy.where(size > 0, exponent, least), least)
        error = numpy.abs(found - exact) / numpy.exp2(exponent - fraction)
    infinite = numpy.isinf(found)
    same_sign = numpy.signbit(found) == numpy.signbit(exact)
    error[infinite] = numpy.where((size >= largest - 2 * half_unit) & same_sign, 0, numpy.inf
                                  )[infinite]
    error[numpy.isnan(found) != numpy.isnan(exact)] = numpy.inf
    error[numpy.isnan(found) & numpy.isnan(exact)] = 0
    error[numpy.isinf(exact) & (found != exact)] = numpy.inf
    error[(found == 0) & (exact == 0) & ~same_sign] = numpy.inf
    return error.astype(float)


CODE = """
const math = @import_module("<math>");
fn main() void {{ for (@range(u16, {n})) |i| {{ x[i] = {call}; }} }}
"""


def call_of(name, element):
    form = "f32" if element == "f32" else "f16"
    return f"math.{name}_{form}(x[i]{', z[i]' if name == 'pow' else ''})"


def evaluate(folder, name, element, arguments, *args):
    """The function at all points, spread over a grid of tiles."""
    count = len(arguments[0])
    rows = max(1, -(-count // (16 * PER_TILE)))
    columns = min(16, -(-count // PER_TILE))
    n = PER_TILE
    padded = []
    for a in arguments:
        full = numpy.ones(rows * columns * n, a.dtype)
        full[:count] = a
        padded.append(full)
    kind = "f32" if element == "f32" else "u16"
    text = CODE.format(n=n, call=call_of(name, element)) if kind == "f32" else bits_code(n, name)
    buffers = {k: (kind, n) for k in "xz"[:len(arguments)]}
    flags = [] if element == "f32" else [f"--fp16-format={element}"]
    ran = stdlib_run.run(folder, text, buffers, dict(zip("xz", padded)), *flags, *args,
                         grid=(columns, rows))
    return ran["x"][:count]


def bits_code(n, name):
    """A 16-bit program works on bit patterns: not every format has a numpy type."""
    call = call_of(name, "f16").replace("x[i]", "@bitcast(@fp16(), x[i])").replace(
        "z[i]", "@bitcast(@fp16(), z[i])")
    return CODE.format(n=n, call=f"@bitcast(u16, {call})")


def worst(name, element, found, arguments):
    """The largest error in ulp and the arguments where it is."""
    wide = [widen(element, a) for a in arguments]
    with numpy.errstate(all="ignore"):
        exact = FUNCTIONS[name][0](*wide)
    error = ulps(element, widen(element, found), exact)
    if name in ("sin", "cos"):
        error[~(numpy.abs(wide[0]) < SIN_LIMIT) & ~numpy.isinf(wide[0])
              & ~numpy.isnan(wide[0])] = 0
    at = int(numpy.argmax(error))
    return float(error[at]), [float(a[at]) for a in wide], float(widen(element, found)[at])


def cost(folder, name, element, arguments, *args):
    """Cycles of a call, the mean over the arguments, and bytes of code: what a program that calls
    the function in a loop takes more than one that copies."""
    n = len(arguments[0])
    buffers = {key: (element, n) for key in ("y", *"xz"[:len(arguments)])}
    taken = []
    for call in (call_of(name, element), "x[i]"):
        text = CODE.format(n=n, call=call).replace("x[i] =", "y[i] =")
        image = stdlib_run.build(folder, text, buffers, *args)
        copies = [f"--h2d={key}={harness.save_npy(folder / f'{key}.npy', a.reshape(1, 1, n))}"
                  for key, a in zip("xz", arguments)]
        harness.emu(image, *copies, "--launch=main", f"--stats={folder / 's.json'}")
        listing = harness.cslc(folder / "layout.csl", "--emit=map", "--arch=wse3", *args).out
        code = int(re.search(r"^code +0x[0-9a-f]+ +([0-9]+) bytes", listing, re.M).group(1))
        taken.append((harness.stats(folder / "s.json")["cycles"], code))
    return (taken[0][0] - taken[1][0]) / n, taken[0][1] - taken[1][1]


def typical(name, element):
    """Arguments for `cost`."""
    dtype = numpy.float32 if element == "f32" else numpy.float16
    rng = numpy.random.default_rng(3)
    return [rng.uniform(0.1, 8, 256).astype(dtype) for _ in range(2 if name == "pow" else 1)]
