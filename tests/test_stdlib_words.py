"""<string> and <dsd_ops>."""
import numpy
import pytest

import harness
import stdlib_run


def test_string(tmp_path):
    text = r"""
const s = @import_module("<string>");
comptime {
  @comptime_assert(s.comptime_int_to_string(0) == "0");
  @comptime_assert(s.comptime_int_to_string(1234567890123) == "1234567890123");
  @comptime_assert(s.comptime_int_to_string(-42) == "-42");
  @comptime_assert(s.fmt("", .{}) == "");
  @comptime_assert(s.fmt("a{d}b", .{ 7 }) == "a7b");
  @comptime_assert(s.fmt("{{{d}}} {X} {b} {s}!", .{ @as(i16, -3), 48879, 5, "end" })
                   == "{-3} BEEF 101 end!");
}
const name = s.fmt("tile {d}", .{ 12 });
const bytes = @get_array(name);
fn main() void { for (bytes) |b, i| { n[i] = @as(u16, b); } }
"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 7)})["n"]
    assert bytes(found.tolist()) == b"tile 12"


def test_string_refuses_an_unknown_specifier(tmp_path):
    with pytest.raises(AssertionError, match="a specifier is"):
        stdlib_run.build(tmp_path, """
const s = @import_module("<string>");
const text = s.fmt("{q}", .{ 1 });
fn main() void { @comptime_assert(@strlen(text) != 0); }
""", {})


N = 10
FLOATS = {"f16": numpy.float16, "f32": numpy.float32}


def run(tmp_path, call, a, b, result, **inputs):
    """One call over memory DSDs: `a` and `b` are element types of the sources x and z."""
    buffers = {"x": (a, N), "z": (b, N), "y": (result, N)}
    text = f"""
const ops = @import_module("<dsd_ops>");
const xs = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{N}}} -> x[i] }});
const zs = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{N}}} -> z[i] }});
const ys = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{N}}} -> y[i] }});
fn main() void {{ if (!{call}) {{ y[0] = y[0] - y[1]; }} }}
"""
    return stdlib_run.run(tmp_path, text, buffers, inputs)["y"]


@pytest.mark.parametrize("element", ["f16", "f32", "i16", "u16", "i32", "u32"])
def test_mov(tmp_path, element):
    x = numpy.arange(N) * 7 + 1
    numpy.testing.assert_array_equal(
        run(tmp_path, f"ops.mov({element}, ys, xs, .{{}})", element, element, element, x=x), x)


@pytest.mark.parametrize("element", ["f16", "f32", "i16", "u16"])
@pytest.mark.parametrize("name, oracle", [("add", "add"), ("sub", "subtract"), ("mul", "multiply"),
                                          ("max", "maximum")])
def test_two_sources(tmp_path, name, oracle, element):
    types = f"{element}, {element}" if name == "add" else element
    x, z = numpy.arange(N) + 20, numpy.arange(N)[::-1] * 3
    call = f"ops.{name}({types}, ys, xs, zs, .{{}})"
    if name in ("mul", "max") and element not in FLOATS:
        with pytest.raises(AssertionError, match=f"{name} takes floats"):
            run(tmp_path, call, element, element, element, x=x, z=z)
        return
    found = run(tmp_path, call, element, element, element, x=x, z=z)
    numpy.testing.assert_array_equal(
        found, getattr(numpy, oracle)(x, z).astype(stdlib_run.DTYPES[element]))


def test_mixed_sums(tmp_path):
    x, z = numpy.arange(N) / 4, numpy.arange(N) * 3.0
    for name, call, want in (("add", "ops.add(f32, f16, ys, xs, zs, .{})", x + z),
                             ("fmac", "ops.fmac(f32, f16, ys, ys, xs, @as(f16, 2.0), .{})", 2 * x)):
        (tmp_path / name).mkdir()
        numpy.testing.assert_array_equal(
            run(tmp_path / name, call, "f16", "f16", "f32", x=x, z=z), want)


@pytest.mark.parametrize("element", FLOATS)
def test_fmac_neg_abs(tmp_path, element):
    x, z = numpy.arange(N) - 4.0, numpy.arange(N) * 3.0
    cases = {"fmac": (f"ops.fmac({element}, {element}, ys, zs, xs, @as({element}, 0.5), .{{}})",
                      z + x / 2),
             "neg": (f"ops.neg({element}, ys, xs, .{{}})", -x),
             "abs": (f"ops.abs({element}, ys, xs, .{{}})", abs(x)),
             "fill": (f"ops.mov({element}, ys, @as({element}, 1.5), .{{}})", x * 0 + 1.5),
             "norm": (f"ops.norm({element}, &y[2], @as({element}, 12.0), .{{}})", [0, 0, 1.5]),
             "scale": (f"ops.scale({element}, &y[1], @as({element}, 3.0), 2, .{{}})", [0, 12, 0])}
    for name, (call, want) in cases.items():
        (tmp_path / name).mkdir()
        found = run(tmp_path / name, call, element, element, element, x=x, z=z)
        numpy.testing.assert_array_equal(found[:len(want)], want, err_msg=name)


@pytest.mark.parametrize("to, of", [("f16", "f32"), ("f32", "f16"), ("i16", "f16"), ("u16", "f32"),
                                    ("f16", "i16"), ("f32", "i16"), ("f32", "f32")])
def test_convert(tmp_path, to, of):
    x = numpy.arange(N) * 3
    numpy.testing.assert_array_equal(
        run(tmp_path, f"ops.convert({to}, {of}, ys, xs, .{{}})", of, of, to, x=x), x)


def test_settings_reach_the_operation(tmp_path):
    """An asynchronous wrapped operation activates its task."""
    text = """
const ops = @import_module("<dsd_ops>");
const c = @get_color(3);
const iq = @get_input_queue(4);    // on wse3 a microthread of its own
const oq = @get_output_queue(2);
const done_id = @get_local_task_id(9);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 4, .output_queue = oq });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 4, .input_queue = iq });
const xs = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> x[i] });
const ys = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> y[i] });
task done() void { y[4] = y[3] + 1; }
fn main() void {
  ops.mov(u32, out, xs, .{ .async = true });
  ops.mov(u32, ys, in, .{ .async = true, .activate = done_id });
}
comptime {
  @bind_local_task(done, done_id);
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
  @initialize_queue(iq, .{ .color = c });
  if (@is_arch("wse3")) { @initialize_queue(oq, .{ .color = c }); }
}
"""
    for arch in stdlib_run.ARCHS:
        (tmp_path / arch).mkdir()
        text_here = text if arch == "wse3" else text.replace("get_output_queue(2)",
                                                            "get_output_queue(3)")
        found = stdlib_run.run(tmp_path / arch, text_here, {"x": ("u32", 4), "y": ("u32", 5)},
                               {"x": [5, 6, 7, 8]}, arch=arch)["y"]
        assert found.tolist() == [5, 6, 7, 8, 9]


def test_wrong_types_are_refused(tmp_path):
    assert "convert goes between" in harness.cslc(
        write(tmp_path, "ops.convert(i16, i32, ys, xs, .{})"), "-o", tmp_path / "o.bin",
        "--arch=wse3", expect=1).err


def write(folder, call):
    (folder / "layout.csl").write_text(stdlib_run.LAYOUT.format(exports="", width=1, height=1))
    (folder / "pe.csl").write_text(f"""
const ops = @import_module("<dsd_ops>");
var x = @zeros([4]i32);
const xs = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{4}} -> x[i] }});
const ys = xs;
fn main() void {{ {call}; }}
comptime {{ @export_symbol(main); }}
""")
    return folder / "layout.csl"
