"""<math> where its implementation changes its ways, and in every 16-bit format: the short form of
tests/claims/math_accuracy.py.  What the functions are is in test_stdlib_math.py."""
import numpy
import pytest

import harness
import math_accuracy as accuracy
import stdlib_run


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
def test_f32(tmp_path, name):
    points = accuracy.points(name, "f32", 4000, seed=5)
    found = accuracy.evaluate(tmp_path, name, "f32", points)
    worst, where, value = accuracy.worst(name, "f32", found, points)
    assert worst <= accuracy.FUNCTIONS[name][2], f"{worst} ulp at {where}: {value}"


@pytest.mark.parametrize("form", ["f16", "bf16", "cb16"])
def test_every_value_of_a_16_bit_format(tmp_path, form):
    for name in accuracy.FUNCTIONS:
        points = accuracy.points(name, form, 16384)
        found = accuracy.evaluate(tmp_path, name, form, points)
        worst, where, value = accuracy.worst(name, form, found, points)
        bound = min(accuracy.FUNCTIONS[name][2], 1)
        assert worst <= bound, f"{name}: {worst} ulp at {where}: {value}"


def test_the_oracle_tells_wrong_from_right():
    """An error of three units, an infinity and a NaN in the wrong place are found."""
    x = numpy.linspace(-5, 5, 300).astype(numpy.float32)
    right = numpy.exp(x.astype(numpy.longdouble)).astype(numpy.float32)
    assert accuracy.worst("exp", "f32", right, (x,))[0] <= 0.5
    three_up = (right[7:8].view(numpy.int32) + 3).view(numpy.float32)[0]
    for wrong, least in ((three_up, 2.5), (numpy.inf, numpy.inf), (numpy.nan, numpy.inf)):
        damaged = right.copy()
        damaged[7] = wrong
        worst, where, _ = accuracy.worst("exp", "f32", damaged, (x,))
        assert worst >= least and where == [float(x[7])]


@pytest.mark.parametrize("form, one, infinity, nan, signaling", [
    ("f16", 0x3c00, 0x7c00, 0x7e00, 0x7c01), ("bf16", 0x3f80, 0x7f80, 0x7fc0, 0x7f81),
    ("cb16", 0x5400, 0x7e00, 0x7f00, 0x7e01)])
def test_special_values_of_a_format(tmp_path, form, one, infinity, nan, signaling):
    text = """
const math = @import_module("<math>");
const half = @fp16();
fn question(v: half) u16 {
  return @as(u16, math.isNaN(v)) | @as(u16, math.isInf(v)) << 1 | @as(u16, math.isFinite(v)) << 2
         | @as(u16, math.isSignaling(v)) << 3 | @as(u16, math.signbit(v)) << 4;
}
fn main() void {
  bits[0] = @bitcast(u16, math.POSITIVE_INF_f16);
  bits[1] = @bitcast(u16, math.NEGATIVE_INF_f16);
  bits[2] = @bitcast(u16, math.NaN_f16);
  bits[3] = @bitcast(u16, math.POSITIVE_INF(half));
  bits[4] = @bitcast(u16, math.NEGATIVE_INF(half));
  bits[5] = @bitcast(u16, math.NaN(half));
  bits[6] = @bitcast(u16, math.max(@as(half, 1.0), math.NaN_f16));
  bits[7] = @bitcast(u16, math.min(math.NaN_f16, @as(half, 1.0)));
  bits[8] = @bitcast(u16, math.max(@as(half, 1.0), math.NEGATIVE_INF_f16));
  bits[9] = @bitcast(u16, math.abs(@as(half, -1.0)));
  bits[10] = @bitcast(u16, math.fscale(@as(half, 4.0), -2));
  bits[11] = @bitcast(u16, math.sign(@as(half, 7.0)));
  for (@range(u16, 8)) |i| { answers[i] = question(@bitcast(half, asked[i])); }
}"""
    asked = [0, 0x8000, one, infinity, infinity | 0x8000, nan, signaling, 0x8001]
    found = stdlib_run.run(tmp_path, text, {"bits": ("u16", 12), "answers": ("u16", 8),
                                            "asked": ("u16", 8)}, {"asked": asked},
                           f"--fp16-format={form}")
    assert found["bits"].tolist() == [infinity, infinity | 0x8000, nan] * 2 + [nan, nan] + [one] * 4
    assert found["answers"].tolist() == [4, 4 | 16, 4, 2, 2 | 16, 1, 1 | 8, 4 | 16]


def test_every_function_at_compile_time(tmp_path):
    text = """
const math = @import_module("<math>");
fn near(a: f32, b: f32) bool { return math.abs(a - b) <= 2.4e-7 * math.abs(b); }
comptime {
  @comptime_assert(math.abs(-3) == 3 and math.max(1, 2) == 2 and math.sign(-2.5) == -1.0);
  @comptime_assert(math.isNaN(math.max(math.NaN_f32, 1.0)) and !math.isFinite(math.NaN_f16));
  @comptime_assert(near(math.exp_f32(1.0), 2.7182818));
  @comptime_assert(near(math.exp(@as(f32, -1.5)), 0.22313016));
  @comptime_assert(math.exp_f32(-100.0) == 3.78350585e-44 and math.isInf(math.exp_f32(89.0)));
  @comptime_assert(near(math.log_f32(10.0), 2.3025851) and near(math.log_f32(0.1), -2.3025851));
  @comptime_assert(near(math.sin_f32(-4.0), 0.7568025) and near(math.cos_f32(-2.0), -0.41614684));
  @comptime_assert(near(math.tanh_f32(-1.0), -0.76159416) and near(math.sig_f32(-1.0), 0.26894142));
  @comptime_assert(math.sqrt_f32(2.0) == 1.4142135381698608 and math.sqrt_f32(1.0e-40) > 0.0);
  @comptime_assert(near(math.invsqrt_f32(4.0), 0.5) and math.inv(@as(f32, 8.0)) == 0.125);
  @comptime_assert(near(math.pow_f32(2.0, -3.0), 0.125) and math.pow_f32(-2.0, 3.0) == -8.0);
  @comptime_assert(math.sqrt(@as(f16, 4.0)) == 2.0 and math.ceil(@as(f16, 1.5)) == 2.0);
  @comptime_assert(math.fscale(@as(f32, 3.0), -4) == 0.1875 and math.signbit(@as(f32, -0.0)));
  @comptime_assert(math.subsat(@as(u8, 3), 5) == 0 and math.subsat(@as(i8, -100), 100) == -128);
  @comptime_assert(math.subsat(@as(i32, 2147483647), -1) == 2147483647);
}
fn main() void {}"""
    stdlib_run.build(tmp_path, text, {})


def test_an_argument_that_is_no_float(tmp_path):
    (tmp_path / "pe.csl").write_text("""
const math = @import_module("<math>");
comptime { @comptime_assert(math.sqrt(@as(i16, 4)) == 2); }""")
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }')
    done = harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "o.bin", expect=1)
    assert "the argument is no f32 and no 16-bit float" in done.err
    assert "pe.csl:3:" in done.err
