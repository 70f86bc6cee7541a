"""<math> against numpy in double precision: at most 1 ulp in f16, 2 in f32, 4 for pow; every f16
argument, random f32 arguments of all magnitudes; special values; the generic forms."""
import numpy
import pytest

import harness
import stdlib_run

GRID = (8, 8)
PER_TILE = 1024
POINTS = GRID[0] * GRID[1] * PER_TILE
CODE = """
const math = @import_module("<math>");
fn main() void {{ for (@range(u16, {n})) |i| {{ y[i] = {expression}; }} }}
"""


@pytest.fixture(autouse=True)
def quiet():
    with numpy.errstate(all="ignore"):
        yield


def evaluate(folder, expression, element="f32", result=None, grid=GRID, arch="wse3", **inputs):
    """The expression at every point of the inputs (x, z), which it calls x[i], z[i]."""
    n = len(next(iter(inputs.values()))) // (grid[0] * grid[1])
    buffers = {name: (element, n) for name in inputs} | {"y": (result or element, n)}
    return stdlib_run.run(folder, CODE.format(n=n, expression=expression), buffers, inputs,
                          arch=arch, grid=grid)["y"]


def ulps(found, exact):
    """Distance in units of the last place of the right result; NaN where only one is NaN."""
    right = exact.astype(found.dtype)
    unit = numpy.spacing(numpy.abs(right)).astype(numpy.float64)
    distance = numpy.abs(found.astype(numpy.float64) - exact) / unit
    distance[(numpy.isnan(found) & numpy.isnan(exact)) | (numpy.isinf(right) & (found == right))] = 0
    return distance


def check(found, exact, bound, *arguments):
    distance = ulps(found, exact)
    worst = numpy.argmax(numpy.where(numpy.isnan(distance), numpy.inf, distance))
    assert distance[worst] <= bound, (
        f"{distance[worst]} ulp at {[a[worst] for a in arguments]}: {found[worst]}, "
        f"right is {exact[worst]}")


def any_f32(rng):
    return rng.integers(0, 2**32, POINTS, dtype=numpy.uint32).view(numpy.float32)


def between(low, high):
    return lambda rng: rng.uniform(low, high, POINTS).astype(numpy.float32)


def sigmoid(x):
    e = numpy.exp(-numpy.abs(x))
    return numpy.where(x < 0, e, 1) / (1 + e)


def inverse(x):
    return 1 / x


def inverse_root(x):
    return 1 / numpy.sqrt(x)


LIMIT = 16384 * numpy.pi      # of sine and cosine
CASES = [
    ("sqrt", numpy.sqrt, 0.5001, any_f32), ("sqrt", numpy.sqrt, 0.5001, between(0, 10)),
    ("inv", inverse, 0.5, any_f32),
    ("invsqrt", inverse_root, 2, any_f32), ("invsqrt", inverse_root, 2, between(0, 4)),
    ("exp", numpy.exp, 2, between(-105, 90)), ("exp", numpy.exp, 2, between(-1, 1)),
    ("log", numpy.log, 2, any_f32), ("log", numpy.log, 2, between(0.5, 2)),
    ("sin", numpy.sin, 2, between(-10, 10)), ("sin", numpy.sin, 2, between(-LIMIT, LIMIT)),
    ("cos", numpy.cos, 2, between(-10, 10)), ("cos", numpy.cos, 2, between(-LIMIT, LIMIT)),
    ("tanh", numpy.tanh, 2, between(-1, 1)), ("tanh", numpy.tanh, 2, any_f32),
    ("sig", sigmoid, 2, between(-110, 30)), ("sig", sigmoid, 2, between(-2, 2)),
    ("floor", numpy.floor, 0, any_f32), ("floor", numpy.floor, 0, between(-9, 9)),
    ("ceil", numpy.ceil, 0, any_f32), ("ceil", numpy.ceil, 0, between(-9, 9)),
    ("abs", numpy.abs, 0, any_f32), ("sign", numpy.sign, 0, any_f32),
]


@pytest.mark.parametrize("name, oracle, bound, points", CASES)
def test_f32(tmp_path, name, oracle, bound, points):
    x = points(numpy.random.default_rng(7))
    check(evaluate(tmp_path, f"math.{name}_f32(x[i])", x=x), oracle(x.astype(numpy.float64)),
          bound, x)


ALL_F16 = numpy.arange(2**16, dtype=numpy.uint32).astype(numpy.uint16).view(numpy.float16)


@pytest.mark.parametrize("name, oracle, bound", [
    ("sqrt", numpy.sqrt, 0.5), ("inv", inverse, 0.5), ("invsqrt", inverse_root, 1),
    ("exp", numpy.exp, 1), ("log", numpy.log, 1), ("sin", numpy.sin, 1), ("cos", numpy.cos, 1),
    ("tanh", numpy.tanh, 1), ("sig", sigmoid, 1), ("floor", numpy.floor, 0),
    ("ceil", numpy.ceil, 0), ("abs", numpy.abs, 0), ("sign", numpy.sign, 0)])
def test_every_f16(tmp_path, name, oracle, bound):
    x = ALL_F16.copy()
    if name in ("sin", "cos"):
        x[~(numpy.abs(x.astype(numpy.float64)) < LIMIT)] = 1
    check(evaluate(tmp_path, f"math.{name}_f16(x[i])", "f16", x=x),
          oracle(x.astype(numpy.float64)), bound, x)


@pytest.mark.parametrize("base, power", [
    (between(0, 10), between(-10, 10)), (between(0.9, 1.1), between(-1000, 1000)),
    (any_f32, lambda rng: numpy.round(between(-6, 6)(rng))), (any_f32, any_f32)])
def test_pow_f32(tmp_path, base, power):
    rng = numpy.random.default_rng(11)
    x, z = base(rng), power(rng)
    check(evaluate(tmp_path, "math.pow_f32(x[i], z[i])", x=x, z=z),
          numpy.power(x.astype(numpy.float64), z.astype(numpy.float64)), 4, x, z)


SPECIAL = numpy.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, numpy.inf, -numpy.inf,
                       numpy.nan, 1e-45, -1e-45, 3e38, -3e38, 2.0**24, -(2.0**24) - 2, 2.5],
                      numpy.float32)


def test_pow_of_special_values(tmp_path):
    x, z = (a.ravel() for a in numpy.meshgrid(SPECIAL, SPECIAL))
    found = evaluate(tmp_path, "math.pow_f32(x[i], z[i])", grid=(1, 1), x=x, z=z)
    exact = numpy.power(x.astype(numpy.float64), z.astype(numpy.float64))
    check(found, exact, 1, x, z)
    right = exact.astype(numpy.float32)
    there = ~numpy.isnan(right)
    assert (numpy.signbit(found) == numpy.signbit(right))[there].all()


def test_pow_f16(tmp_path):
    rng = numpy.random.default_rng(5)
    x = rng.uniform(0, 8, POINTS).astype(numpy.float16)
    z = rng.uniform(-5, 5, POINTS).astype(numpy.float16)
    check(evaluate(tmp_path, "math.pow_f16(x[i], z[i])", "f16", x=x, z=z),
          numpy.power(x.astype(numpy.float64), z.astype(numpy.float64)), 1, x, z)


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_fscale(tmp_path, element):
    dtype = stdlib_run.DTYPES[element]
    x, n = (a.ravel() for a in numpy.meshgrid(
        SPECIAL.astype(dtype), numpy.array([0, 1, -1, 13, -13, 30, -30, 130, -150, 300, -300])))
    text = CODE.format(n=len(x), expression=f"math.fscale_{element}(x[i], n[i])")
    buffers = {"x": (element, len(x)), "n": ("i16", len(x)), "y": (element, len(x))}
    found = stdlib_run.run(tmp_path, text, buffers, {"x": x, "n": n})["y"]
    numpy.testing.assert_array_equal(found, numpy.ldexp(x.astype(numpy.float64), n).astype(dtype))


@pytest.mark.parametrize("element, quiet, infinity", [("f32", 0x400000, 0x7f800000),
                                                      ("f16", 0x200, 0x7c00)])
def test_questions(tmp_path, element, quiet, infinity):
    integer = {"f32": "u32", "f16": "u16"}[element]
    bits = numpy.array([0, 1, infinity - 1, infinity, infinity | 1, infinity | quiet,
                        infinity | quiet | 1], numpy.uint32)
    sign_bit = 0x8000 if element == "f16" else 0x80000000
    bits = numpy.concatenate([bits, bits | sign_bit])
    n = len(bits)
    questions = ("isNaN", "isInf", "isFinite", "isSignaling", "signbit")
    lines = "\n".join(
        f"if (math.{q}(v)) {{ y[i] |= {1 << k}; }}\n"
        f"if (math.{q}_{element}(v)) {{ y[i] |= {256 << k}; }}" for k, q in enumerate(questions))
    text = f"""
const math = @import_module("<math>");
fn main() void {{
  for (@range(u16, {n})) |i| {{
    const v = @bitcast({element}, x[i]);
    {lines}
  }}
}}"""
    found = stdlib_run.run(tmp_path, text, {"x": (integer, n), "y": ("u16", n)}, {"x": bits})["y"]
    size = bits & (sign_bit - 1)
    nan = size > infinity
    expected = (nan * 1 | (size == infinity) * 2 | (size < infinity) * 4
                | (nan & (size & quiet == 0)) * 8 | (bits != size) * 16)
    numpy.testing.assert_array_equal(found, expected | expected << 8)


def test_generic_forms_go_by_the_type(tmp_path):
    names = ("sqrt", "inv", "invsqrt", "exp", "log", "sin", "cos", "tanh", "sig", "floor", "ceil")
    n = 2 * len(names)
    lines = "\n".join(
        f"y[{2 * k}] = math.{name}(x[0]) - math.{name}_f32(x[0]);\n"
        f"h[{k}] = math.{name}(half) - math.{name}_f16(half);" for k, name in enumerate(names))
    text = f"""
const math = @import_module("<math>");
fn main() void {{
  const half = @as(f16, x[0]);
  {lines}
  y[1] = math.pow(x[0], x[0]) - math.pow_f32(x[0], x[0]);
  y[3] = math.max(x[0], 3.0) + math.min(x[0], 3.0);
  y[5] = math.fscale(x[0], 1);
  y[7] = math.POSITIVE_INF(f32) + math.POSITIVE_INF_f32;
  y[9] = math.NEGATIVE_INF(f32) + math.NEGATIVE_INF_f32;
  y[11] = math.NaN(f32);
  h[{len(names)}] = math.POSITIVE_INF(f16);
  h[{len(names) + 1}] = math.NaN(f16);
  h[{len(names) + 2}] = math.max_f16(half, half) - math.min_f16(half, half);
  h[{len(names) + 3}] = math.NEGATIVE_INF(f16);
}}"""
    found = stdlib_run.run(tmp_path, text, {"x": ("f32", 1), "y": ("f32", n),
                                            "h": ("f16", len(names) + 4)}, {"x": [1.25]})
    assert not found["y"][0::2].any() and not found["h"][:len(names)].any()
    numpy.testing.assert_array_equal(found["y"][1:12:2], [0, 4.25, 2.5, numpy.inf, -numpy.inf,
                                                          numpy.nan])
    numpy.testing.assert_array_equal(found["h"][len(names):], [numpy.inf, numpy.nan, 0,
                                                               -numpy.inf])


@pytest.mark.parametrize("element, dtype", [("i16", numpy.int16), ("u16", numpy.uint16),
                                            ("i32", numpy.int32), ("u32", numpy.uint32)])
def test_integers(tmp_path, element, dtype):
    info = numpy.iinfo(dtype)
    values = numpy.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 77,
                          info.max // 2], dtype)
    if info.min < 0:
        values = numpy.concatenate([values, numpy.array([-1, -2, -78], dtype)])
    x, z = (a.ravel() for a in numpy.meshgrid(values, values))
    n = len(x)
    text = f"""
const math = @import_module("<math>");
fn main() void {{
  for (@range(u16, {n})) |i| {{
    y[i] = math.subsat(x[i], z[i]);
    a[i] = math.abs(x[i]);
    s[i] = math.sign(x[i]);
    m[i] = math.max(x[i], z[i]) - math.min(x[i], z[i]);
  }}
}}"""
    found = stdlib_run.run(tmp_path, text, {k: (element, n) for k in "xzyasm"}, {"x": x, "z": z})
    wide = x.astype(numpy.int64), z.astype(numpy.int64)
    numpy.testing.assert_array_equal(found["y"], numpy.clip(wide[0] - wide[1], info.min, info.max))
    numpy.testing.assert_array_equal(found["a"], numpy.abs(wide[0]).astype(dtype))
    numpy.testing.assert_array_equal(found["s"], numpy.sign(wide[0]))
    numpy.testing.assert_array_equal(found["m"], numpy.abs(wide[0] - wide[1]).astype(dtype))


@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
@pytest.mark.parametrize("suffix, element, dtype", [("_f32", "f32", numpy.float32),
                                                    ("", "f32", numpy.float32),
                                                    ("_f16", "f16", numpy.float16)])
def test_a_difference_of_floats_stays_finite(tmp_path, arch, suffix, element, dtype):
    most = numpy.finfo(dtype).max
    values = numpy.array([most, -most, most / 2, 0, 1.5, -2.25, numpy.inf, -numpy.inf, numpy.nan],
                         dtype)
    x, z = (a.ravel() for a in numpy.meshgrid(values, values))
    found = stdlib_run.run(tmp_path, f"""
const math = @import_module("<math>");
fn main() void {{
  for (@range(u16, {len(x)})) |i| {{ y[i] = math.subsat{suffix}(x[i], z[i]); }}
}}""", {k: (element, len(x)) for k in "xzy"}, {"x": x, "z": z}, arch=arch)["y"]
    with numpy.errstate(over="ignore", invalid="ignore"):
        wanted = x - z
    finite = numpy.isfinite(x) & numpy.isfinite(z)
    wanted[finite] = numpy.clip(wanted[finite], -most, most)
    assert numpy.isinf(x - z).sum() > 20
    numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form, infinity, nan", [("bf16", 0x7f80, 0x7fc0), ("cb16", 0x7e00, 0x7f00)])
def test_other_16_bit_formats(tmp_path, form, infinity, nan):
    text = """
const math = @import_module("<math>");
fn main() void {
  y[0] = @bitcast(u16, math.POSITIVE_INF(@fp16()));
  y[1] = @bitcast(u16, math.NaN_f16);
  y[2] = @bitcast(u16, math.inv_f16(@as(@fp16(), 0.0)));
  z[0] = @as(f32, math.sqrt(@as(@fp16(), 2.25)));
  z[1] = @as(f32, math.exp_f16(@as(@fp16(), 0.0)));
}"""
    found = stdlib_run.run(tmp_path, text, {"y": ("u16", 3), "z": ("f32", 2)}, None,
                           f"--fp16-format={form}")
    assert found["y"].tolist() == [infinity, nan, infinity]
    assert found["z"].tolist() == [1.5, 1.0]


@pytest.mark.parametrize("argument, said", [
    ("1.0", "the argument is a literal without a width: write @as(f32, ...)"),
    ("2", "the argument is a literal without a width"),
    ("@as(i16, 2)", "the argument is no f32 and no 16-bit float: convert it with @as(f32, ...)")])
def test_arguments_that_are_no_floats(tmp_path, argument, said):
    (tmp_path / "pe.csl").write_text(f"""const math = @import_module("<math>");
var y: f32 = 0.0;
task main() void {{ y = @as(f32, math.sin({argument})); }}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); }}
""")
    ran = harness.cslc("pe.csl", "-o", "o.bin", cwd=tmp_path, expect=1)
    assert said in ran.err and "pe.csl:3:33: note: 'sin' " in ran.err, ran.err


def test_constants_at_compile_time(tmp_path):
    text = """
const math = @import_module("<math>");
comptime {
  @comptime_assert(math.abs(@as(i16, -3)) == 3);
  @comptime_assert(math.max(@as(f32, 1.0), 2.0) == 2.0);
  @comptime_assert(math.min(@as(u16, 1), 2) == 1);
  @comptime_assert(math.sign(@as(i32, -9)) == -1);
  @comptime_assert(math.floor(@as(f32, -1.5)) == -2.0);
}
fn main() void {
  y[0] = math.PI_f32; y[1] = math.E_f32; y[2] = math.PI; y[3] = math.E;
}"""
    found = stdlib_run.run(tmp_path, text, {"y": ("f32", 4)})["y"]
    numpy.testing.assert_array_equal(found, numpy.array([numpy.pi, numpy.e] * 2, numpy.float32))
