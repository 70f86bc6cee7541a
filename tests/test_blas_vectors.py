"""<blas/gemv>, <blas/ger> and <blas/vector> on emulated tiles against numpy."""
import dataclasses

import numpy
import pytest

import harness

TYPES = {"f16": numpy.float16, "f32": numpy.float32}
ROUNDOFF = {"f16": 2.0 ** -11, "f32": 2.0 ** -24}


def up(a, b):
    return -(-a // b)


def blocks(matrix, width, height, rows, columns):
    """(height, width, elements): each tile's block by columns, padded with zeros."""
    whole = numpy.zeros((height * rows, width * columns), matrix.dtype)
    whole[:matrix.shape[0], :matrix.shape[1]] = matrix
    whole = whole.reshape(height, rows, width, columns)
    return whole.transpose(0, 2, 3, 1).reshape(height, width, -1)


def parts(vector, count, size):
    whole = numpy.zeros(count * size, vector.dtype)
    whole[:len(vector)] = vector
    return whole.reshape(count, size)


@dataclasses.dataclass
class Gemv:
    M: int
    N: int
    width: int
    height: int
    x: str = "blas.along(0)"
    y: str = "blas.along(width - 1)"
    T: str = "f32"
    S: str = "f32"
    alpha: float = 1.0
    beta: float = 0.0
    arch: str = "wse2"
    engine: str = "fast"

    @property
    def is_scaled(self):
        return self.alpha != 1 or self.beta != 0

    @property
    def rows(self):
        return up(up(self.M, self.height), 2) * 2 if self.T == "f16" else up(self.M, self.height)

    @property
    def columns(self):
        return up(up(self.N, self.width), 2) * 2 if self.T == "f16" else up(self.N, self.width)


GEMV_LAYOUT = """
const width: u16 = {width};
const height: u16 = {height};
const blas = @import_module("<blas/vector_layout>");
const plan = blas.gemv(.{{
  .M = {M}, .N = {N}, .width = width, .height = height, .T = {T}, .S = {S}, .scaled = {scaled},
  .x = {x}, .y = {y}
}});
layout {{
  @set_rectangle(width + 2, height + 1);
  for (@range(u16, width + 2)) |x| {{
    for (@range(u16, height + 1)) |y| {{
      if (x < 1 or x > width or y < 1) {{
        @set_tile_code(x, y, "other.csl", .{{}});
      }} else {{
        @set_tile_code(x, y, "pe.csl", .{{ .role = blas.gemv_tile(
          x, y, plan, x - 1, y - 1,
          [6]color{{ @get_color(1), @get_color(2), @get_color(3), @get_color(4), @get_color(5),
                     @get_color(6) }}) }});
      }}
    }}
  }}
  @export_name("A", [*]{T}, true);
  @export_name("x", [*]{T}, true);
  @export_name("y", [*]{T}, true);
  @export_name("main", fn({arguments})void);
}}
"""

GEMV_TILE = """
param role: comptime_struct;
const T = role.plan.T;
const gemv = @import_module("<blas/gemv>", .{{ .role = role }});
fn main({parameters}) void {{ gemv.{call}; }}
comptime {{
  @export_symbol(gemv.A, "A");
  @export_symbol(gemv.x, "x");
  @export_symbol(gemv.y, "y");
  @export_symbol(main);
}}
"""


def compile_program(folder, layout, tile, arch, expect=0):
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(tile)
    (folder / "other.csl").write_text("comptime {}\n")
    return harness.compile(folder / "layout.csl", folder / "o.bin", f"--arch={arch}", expect=expect)


def compile_gemv(folder, case, expect=0):
    scaled = case.is_scaled
    layout = GEMV_LAYOUT.format(scaled=str(scaled).lower(), **vars(case),
                                arguments=f"{case.T}, {case.T}" if scaled else "")
    tile = GEMV_TILE.format(parameters="alpha: T, beta: T" if scaled else "",
                            call="run_scaled(alpha, beta)" if scaled else "run()")
    return compile_program(folder, layout, tile, case.arch, expect)


def place_of(text, is_x, case):
    """(x, y, width, height) of the tiles that have the vector, in the program's rectangle."""
    kind, numbers = text.removeprefix("blas.").rstrip(")").split("(")
    numbers = [eval(n, {"width": case.width, "height": case.height}) for n in numbers.split(",")]
    if kind == "along":
        return (1, 1 + numbers[0], case.width, 1) if is_x else (1 + numbers[0], 1, 1, case.height)
    return 1 + numbers[0], 1 + numbers[1], 1, 1


def run_gemv(folder, case, calls=1):
    compile_gemv(folder, case)
    random, dtype = numpy.random.default_rng(case.M * 100 + case.N), TYPES[case.T]
    A, x, y = (random.uniform(-1, 1, size).astype(dtype) for size in ((case.M, case.N), case.N, case.M))
    of_x, of_y = place_of(case.x, True, case), place_of(case.y, False, case)
    x_parts = parts(x, case.width, case.columns).reshape(1, of_x[2], -1)
    y_parts = parts(y, case.height, case.rows).reshape(of_y[3], 1, -1)
    region = lambda place: ",".join(map(str, place))
    data = {f"A@1,1,{case.width},{case.height}":
            blocks(A, case.width, case.height, case.rows, case.columns),
            f"x@{region(of_x)}": x_parts, f"y@{region(of_y)}": y_parts}
    files = [f"--h2d={name}={harness.save_npy(folder / (name[0] + '.npy'), array)}"
             for name, array in data.items()]
    launch = f"--launch=main({case.alpha},{case.beta})" if case.is_scaled else "--launch=main"
    harness.emu(folder / "o.bin", f"--engine={case.engine}", *files, *[launch] * calls,
                f"--d2h=y:{y_parts.shape[2]}@{region(of_y)}={folder / 'out.npy'}")
    found = harness.load_npy(folder / "out.npy").ravel()[:case.M].astype(float)
    wanted = y.astype(float)
    for _ in range(calls):
        wanted = case.alpha * (A.astype(float) @ x.astype(float)) + case.beta * wanted
    size = abs(case.alpha) * numpy.abs(A).astype(float) @ numpy.abs(x) + abs(case.beta) * numpy.abs(y)
    bound = ((case.N + 2) * ROUNDOFF[case.S] + 3 * ROUNDOFF[case.T]) * (size + numpy.abs(wanted)) + 1e-6
    assert (numpy.abs(found - wanted) <= bound).all(), numpy.abs(found - wanted).max()


GEMV = [
    Gemv(1, 1, 1, 1), Gemv(17, 23, 3, 4), Gemv(17, 23, 4, 3, "blas.along(2)", "blas.along(1)", arch="wse3"),
    Gemv(30, 9, 5, 2, "blas.x_on(2, 1)", "blas.along(4)", "f16", "f32"),
    Gemv(30, 9, 5, 3, "blas.x_on(0, 0)", "blas.y_on(4, 2)", "f16", "f16", arch="wse3"),
    Gemv(13, 50, 3, 5, "blas.x_on(2, 4)", "blas.y_on(0, 0)", alpha=0.5, beta=-2.0),
    Gemv(40, 33, 2, 4, "blas.along(3)", "blas.y_on(1, 2)", "f16", "f32", 2.0, 0.5, "wse3"),
    Gemv(9, 300, 1, 3, "blas.x_on(0, 1)", "blas.along(0)", "f16", "f32", -1.0, 1.0),
    Gemv(3, 2, 4, 5, "blas.along(1)", "blas.y_on(3, 4)"),
]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", GEMV, ids=lambda c: f"{c.M}x{c.N} on {c.width}x{c.height}")
def test_gemv(tmp_path, case, engine):
    """blas.gemv and <blas/gemv>: gemv.run, gemv.run_scaled; x and y in parts and as a whole, anywhere."""
    run_gemv(tmp_path, dataclasses.replace(case, engine=engine))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_gemv_three_times(tmp_path, arch):
    run_gemv(tmp_path, Gemv(14, 22, 4, 3, "blas.x_on(1, 2)", "blas.y_on(2, 1)", alpha=0.5, beta=1.0,
                            arch=arch), calls=3)


@pytest.mark.parametrize("change, text", [
    ({"M": 300, "N": 300, "width": 1, "height": 1}, "bytes more than a tile has"),
    ({"x": "blas.along(4)"}, "x and y lie on tiles of the rectangle"),
    ({"y": "blas.y_on(0, 7)"}, "x and y lie on tiles of the rectangle")])
def test_gemv_mistakes(tmp_path, change, text):
    case = dataclasses.replace(Gemv(10, 10, 3, 4), **change)
    assert text in compile_gemv(tmp_path, case, expect=1).err


@pytest.mark.parametrize("scaled, call, text", [
    ("true", "run()", "the plan has .scaled = true: call run_scaled(alpha, beta)"),
    ("false", "run_scaled(2, 3)", "the plan has .scaled = false: call run()")])
def test_gemv_by_a_plan_for_the_other_call(tmp_path, scaled, call, text):
    """Without an error, factors would count for nothing."""
    layout = GEMV_LAYOUT.format(**vars(Gemv(10, 10, 3, 4)), scaled=scaled, arguments="")
    tile = GEMV_TILE.format(parameters="", call=call)
    assert text in compile_program(tmp_path, layout, tile, "wse2", expect=1).err


GER_LAYOUT = """
const blas = @import_module("<blas/vector_layout>");
const plan = blas.ger(.{{
  .M = {M}, .N = {N}, .width = {width}, .height = {height}, .T = {T}, .x = blas.along({x}),
  .y = blas.along({y})
}});
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{
    for (@range(u16, {height})) |y| {{
      @set_tile_code(x, y, "pe.csl", .{{ .role = blas.ger_tile(
        x, y, plan, x, y, [2]color{{ @get_color(1), @get_color(2) }}) }});
    }}
  }}
  @export_name("A", [*]{T}, true);
  @export_name("x", [*]{T}, true);
  @export_name("y", [*]{T}, true);
  @export_name("main", fn({T})void);
}}
"""

GER_TILE = """
param role: comptime_struct;
const ger = @import_module("<blas/ger>", .{ .role = role });
fn main(alpha: role.plan.T) void { ger.run(alpha); }
comptime {
  @export_symbol(ger.A, "A");
  @export_symbol(ger.x, "x");
  @export_symbol(ger.y, "y");
  @export_symbol(main);
}
"""


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("M, N, width, height, x, y, T", [
    (1, 1, 1, 1, 0, 0, "f32"), (17, 23, 3, 4, 1, 2, "f32"), (20, 9, 4, 3, 3, 0, "f16"),
    (3, 700, 2, 2, 0, 1, "f16"), (7, 5, 4, 6, 2, 5, "f32")])
def test_ger(tmp_path, arch, M, N, width, height, x, y, T):
    """Two calls of <blas/ger> by blas.ger and blas.ger_tile; x along a column, y along a row."""
    compile_program(tmp_path, GER_LAYOUT.format(**locals()), GER_TILE, arch)
    random, dtype = numpy.random.default_rng(M + N), TYPES[T]
    matrix, down, across = (random.uniform(-1, 1, size).astype(dtype) for size in ((M, N), M, N))
    even = 2 if T == "f16" else 1
    rows, columns = up(up(M, height), even) * even, up(up(N, width), even) * even
    data = {"A": blocks(matrix, width, height, rows, columns),
            f"x@{x},0,1,{height}": parts(down, height, rows).reshape(height, 1, rows),
            f"y@0,{y},{width},1": parts(across, width, columns).reshape(1, width, columns)}
    files = [f"--h2d={name}={harness.save_npy(tmp_path / (name[0] + '.npy'), array)}"
             for name, array in data.items()]
    harness.emu(tmp_path / "o.bin", *files, "--launch=main(0.5)", "--launch=main(-2)",
                f"--d2h=A={tmp_path / 'out.npy'}")
    wanted = matrix - 1.5 * numpy.outer(down.astype(float), across.astype(float))
    found = harness.load_npy(tmp_path / "out.npy")
    numpy.testing.assert_allclose(found, blocks(wanted, width, height, rows, columns), rtol=0,
                                  atol=8 * ROUNDOFF[T] * 3)


VECTOR_LAYOUT = """
const blas = @import_module("<blas/vector_layout>");
layout {{
  @set_rectangle({width} + 1, {height} + 1);
  for (@range(u16, {width} + 1)) |x| {{
    for (@range(u16, {height} + 1)) |y| {{
      if (x == 0 or y == 0) {{
        @set_tile_code(x, y, "other.csl", .{{}});
      }} else {{
        @set_tile_code(x, y, "pe.csl", .{{ .n = {n}, .T = {T}, .role = blas.vector_tile(
          x, y, {width}, {height}, x - 1, y - 1,
          [5]color{{ @get_color(1), @get_color(2), @get_color(3), @get_color(4), @get_color(5) }}) }});
      }}
    }}
  }}
  @export_name("x", [*]{T}, true);
  @export_name("y", [*]{T}, true);
  @export_name("results", [*]f32, true);
  @export_name("axpy", fn({T})void);
  @export_name("scal", fn({T})void);
  @export_name("sums", fn()void);
}}
"""

VECTOR_TILE = """
param role: comptime_struct;
param n: u16;
param T: type;
const blas = @import_module("<blas/vector>", .{ .role = role, .T = T });
var x = @zeros([n]T);
var y = @zeros([n]T);
var results = @zeros([2]f32);
var x_ptr: [*]T = &x;
var y_ptr: [*]T = &y;
var results_ptr: [*]f32 = &results;
fn axpy(alpha: T) void { blas.axpy(n, alpha, &x, &y); }
fn scal(alpha: T) void { blas.scal(n, alpha, &x); }
fn sums() void {
  results[0] = blas.dot(n, &x, &y);
  results[1] = blas.nrm2(n, &x);
}
comptime {
  @export_symbol(x_ptr, "x");
  @export_symbol(y_ptr, "y");
  @export_symbol(results_ptr, "results");
  @export_symbol(axpy);
  @export_symbol(scal);
  @export_symbol(sums);
}
"""


def run_vectors(folder, arch, width, height, T, x, y, *launches):
    """x and y on the tiles, each (height, width, n); the results and y afterwards."""
    n = x.shape[2]
    compile_program(folder, VECTOR_LAYOUT.format(width=width, height=height, n=n, T=T), VECTOR_TILE,
                    arch)
    region = f"1,1,{width},{height}"
    done = harness.emu(folder / "o.bin", f"--h2d=x@{region}={harness.save_npy(folder / 'x.npy', x)}",
                       f"--h2d=y@{region}={harness.save_npy(folder / 'y.npy', y)}",
                       *(f"--launch={launch}" for launch in launches),
                       f"--d2h=x@{region}={folder / 'x2.npy'}", f"--d2h=y@{region}={folder / 'y2.npy'}",
                       f"--d2h=results@{region}={folder / 'r.npy'}")
    assert not done.err
    return (harness.load_npy(folder / "x2.npy"), harness.load_npy(folder / "y2.npy"),
            harness.load_npy(folder / "r.npy"))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("width, height, n, T", [
    (1, 1, 1, "f32"), (4, 3, 100, "f32"), (1, 5, 64, "f16"), (6, 1, 130, "f16"), (2, 7, 3, "f32")])
def test_vectors(tmp_path, arch, width, height, n, T):
    """axpy, scal, dot and nrm2 of <blas/vector>, twice each; every tile gets the sums."""
    random = numpy.random.default_rng(n)
    x, y = (random.uniform(-1, 1, (height, width, n)).astype(TYPES[T]) for _ in range(2))
    new_x, new_y, results = run_vectors(tmp_path, arch, width, height, T, x, y, "axpy(2)", "scal(-0.5)",
                                        "sums", "axpy(1)", "sums")
    # x times powers of two is exact.
    assert (new_x == (-0.5 * x.astype(float)).astype(x.dtype)).all()
    wanted = y.astype(float) + 1.5 * x
    numpy.testing.assert_allclose(new_y, wanted, rtol=0, atol=8 * ROUNDOFF[T])
    count = width * height * n
    exact = new_x.astype(float).ravel()
    bound = (n + 10) * ROUNDOFF["f32"] * count
    assert (abs(results[..., 0] - exact @ new_y.astype(float).ravel()) <= bound).all()
    numpy.testing.assert_allclose(results[..., 1], numpy.linalg.norm(exact), rtol=1e-5)


@pytest.mark.parametrize("size", [1e-42, 1e-30, 1e30, 0.0])
def test_norm_of_extreme_numbers(tmp_path, size):
    """Squares that f32 does not have."""
    x = (size * numpy.ones((2, 3, 70))).astype(numpy.float32)
    _, _, results = run_vectors(tmp_path, "wse2", 3, 2, "f32", x, numpy.zeros_like(x), "sums")
    numpy.testing.assert_allclose(results[..., 1], x[0, 0, 0].astype(float) * numpy.sqrt(420),
                                  rtol=1e-5, atol=2e-44)


def test_norm_of_what_is_no_number(tmp_path):
    x = numpy.ones((2, 3, 5), numpy.float32)
    x[1, 2, 3] = numpy.nan
    _, _, results = run_vectors(tmp_path, "wse3", 3, 2, "f32", x, x, "sums")
    assert numpy.isnan(results[..., 1]).all()
