"""The small general modules of the library, each function run."""
import math
import re

import numpy
import pytest

import harness
import stdlib_run


# ---- <complex>, <data_utils>, <directions>, <types>, <control> --------------------------------


def test_complex(tmp_path):
    text = """
const c = @import_module("<complex>");
fn main() void {
  const a = c.get_complex_64(x[0], x[1]);
  const b = c.get_complex(x[2], x[3]);
  var r = c.add_complex_64(a, b);
  y[0] = r.real; y[1] = r.imag;
  r = c.subtract_complex(a, b);
  y[2] = r.real; y[3] = r.imag;
  r = c.multiply_complex_64(a, b);
  y[4] = r.real; y[5] = r.imag;
  const d = c.get_complex_32(@as(f16, x[0]), @as(f16, x[1]));
  const e = c.complex_32{ .real = @as(f16, x[2]), .imag = @as(f16, x[3]) };
  var s = c.add_complex_32(d, e);
  h[0] = s.real; h[1] = s.imag;
  s = c.subtract_complex_32(d, e);
  h[2] = s.real; h[3] = s.imag;
  s = c.multiply_complex(d, e);
  h[4] = s.real; h[5] = s.imag;
  s = c.multiply_complex_32(d, e);
  h[6] = s.real; h[7] = s.imag;
}
"""
    found = stdlib_run.run(tmp_path, text, {"x": ("f32", 4), "y": ("f32", 6), "h": ("f16", 8)},
                           {"x": [1.5, -2.0, 0.5, 4.0]})
    a, b = 1.5 - 2j, 0.5 + 4j
    parts = [v for z in (a + b, a - b, a * b) for v in (z.real, z.imag)]
    assert found["y"].tolist() == parts
    assert found["h"].tolist() == parts + parts[4:]


def test_data_utils(tmp_path):
    text = """
const d = @import_module("<data_utils>");
fn main() void {
  h[0] = d.lo16(x[0]); h[1] = d.hi16(x[0]);
  const wide = @as(u64, x[0]) << 32 | @as(u64, x[1]);
  y[0] = d.lo32(wide); y[1] = d.hi32(wide);
  var real: f32 = 1.5;
  var small: i16 = -2;
  var signed: i64 = -2;
  h[2] = d.hi16(real); h[3] = d.lo16(small); h[4] = d.lo16(0x12345); h[5] = d.lo16(d.hi32(signed));
}
"""
    found = stdlib_run.run(tmp_path, text, {"x": ("u32", 2), "y": ("u32", 2), "h": ("u16", 6)},
                           {"x": [0x12345678, 0x9abcdef0]})
    assert found["h"].tolist() == [0x5678, 0x1234, 0x3fc0, 0xfffe, 0x2345, 0xffff]
    assert found["y"].tolist() == [0x9abcdef0, 0x12345678]


def test_directions(tmp_path):
    """Turned at run time and at compile time."""
    ways = ("NORTH", "SOUTH", "EAST", "WEST", "RAMP")
    turns = {"rotate_clockwise": "EWSN", "rotate_counterclockwise": "WENS",
             "flip_vertical": "SNEW", "flip_horizontal": "NSWE", "flip": "SNWE"}
    checks = "\n".join(
        f"  if (d.{turn}({way}) == {to}) {{ n[0] += 1; }}\n"
        f"  if (comptime d.{turn}({way}) == {to}) {{ n[1] += 1; }}"
        for turn, result in turns.items()
        for way, to in zip(ways, [next(w for w in ways if w[0] == r) for r in result] + ["RAMP"]))
    text = f"""
const d = @import_module("<directions>");
fn main() void {{
{checks}
}}"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 2)})["n"]
    assert found.tolist() == [len(turns) * len(ways)] * 2


def test_directions_as_bits_of_routes(tmp_path):
    """For a direction that is known at compile time, or only at run time."""
    ways = ("WEST", "EAST", "SOUTH", "NORTH", "RAMP")
    checks = "\n".join(f"""
  @comptime_assert(d.RX_{way} == {1 << bit} and d.TX_{way} == {32 << bit});
  @comptime_assert(d.dirToRxBits({way}) == d.RX_{way} and d.dirToTxBits({way}) == d.TX_{way});
  way = {way};
  n[{2 * bit}] = d.dirToRxBits(way);
  n[{2 * bit + 1}] = d.dirToTxBits(way);""" for bit, way in enumerate(ways))
    text = f"""
const d = @import_module("<directions>");
var way: direction = RAMP;
fn main() void {{ {checks} }}"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 10)})["n"]
    assert found.tolist() == [word << bit for bit in range(5) for word in (1, 32)]


DECLARATIONS = """
const five = struct { a: u32, b: u8 };
const bits13 = packed struct { a: u3, b: i10 };
const either = union { a: f32, b: [3]u16 };
const few = enum(u8) { A, B };
"""
# Type: (bits, bytes, alignment in bytes, type of its bits); docs/ir.md has the rules.
SIZES = {"u8": (8, 1, 1, "u8"), "i16": (16, 2, 2, "u16"), "f16": (16, 2, 2, "u16"),
         "f32": (32, 4, 4, "u32"), "u64": (64, 8, 4, "u64"), "color": (16, 2, 2, "u16"),
         "u3": (3, 1, 1, "u3"), "i24": (24, 4, 4, "u24"), "five": (64, 8, 4, "u64"),
         "bits13": (13, 2, 2, "u13"), "either": (64, 8, 4, "u64"), "few": (8, 1, 1, "u8"),
         "[5]i16": (80, 10, 2, "u80"), "*f32": (16, 2, 2, "u16")}


def test_facts_about_types(tmp_path):
    """Through <types>, which asks @__type_info."""
    answers = {
        "is_unsigned_int": ("u8 u16 u32 u64 u3 u1000", "i16 i4 f32 bool comptime_int few"),
        "is_signed_int": ("i8 i16 i32 i64 i4 comptime_int", "u16 f16 direction u5"),
        "is_float": ("f16 f32 bf16 cb16 comptime_float", "i32 u32 comptime_int"),
        "is_float16": ("f16 bf16 cb16", "f32 u16 comptime_float"),
        "is_enabled_float": ("f16 f32", "bf16 cb16 comptime_float u16"),
        "is_signed": ("i7 f16 f32 comptime_int comptime_float", "u16 bool few"),
        "is_numeric": ("u16 i64 f16 f32 bf16 u3 comptime_int", "bool color mem1d_dsd five few"),
        "is_dsd": ("mem1d_dsd mem4d_dsd fabin_dsd fabout_dsd circbuf_dsd", "dsr_dest u16"),
        "is_dsr": ("dsr_dest dsr_src0 dsr_src1", "mem1d_dsd u16"),
    }
    lines = [f"  @comptime_assert(t.{question}({name}));"
             for question, (yes, _) in answers.items() for name in yes.split()]
    lines += [f"  @comptime_assert(!t.{question}({name}));"
              for question, (_, no) in answers.items() for name in no.split()]
    for name, (bits, size, align, bits_type) in SIZES.items():
        lines += [f"  @comptime_assert(t.bit_size_of({name}) == {bits});",
                  f"  @comptime_assert(t.byte_size_of({name}) == {size});",
                  f"  @comptime_assert(t.word_size_of({name}) == {(size + 1) // 2});",
                  f"  @comptime_assert(t.min_byte_align_of({name}) == {align});",
                  f"  @comptime_assert(t.min_word_align_of({name}) == {(align + 1) // 2});",
                  f"  @comptime_assert(t.bits_type_of({name}) == {bits_type});"]
    text = ('const t = @import_module("<types>");\n'
            'const old = @import_module("<math/type_helpers>");\n' + DECLARATIONS +
            "const grid = [2]u16{ 1, 2 };\n"
            "const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> grid[i] });\n"
            "comptime {\n  @comptime_assert(old.word_size_of(f32) == 2);\n"
            "  @comptime_assert(t.has_dsd_type(d) and !t.has_dsr_type(d));\n"
            "  @comptime_assert(t.has_dsr_type(@get_dsr(dsr_dest, 1)) and !t.has_dsd_type(1));\n"
            + "\n".join(lines) + """
}
fn width(x: anytype) u16 {
  if (t.is_float(@type_of(x))) { return t.bit_size_of(@type_of(x)); } else { return not_checked; }
}
fn main() void { n[0] = width(@as(f32, 1.0)); }
""")
    assert stdlib_run.run(tmp_path, text, {"n": ("u16", 1)})["n"].tolist() == [32]


@pytest.mark.parametrize("name", ["comptime_int", "comptime_string", "type"])
def test_what_has_no_size(tmp_path, name):
    stdlib_run.build(tmp_path, "fn main() void {}", {"n": ("u16", 1)})
    with (tmp_path / "pe.csl").open("a") as pe:
        pe.write('const t = @import_module("<types>");\n'
                 f"const n_bytes = t.byte_size_of({name});\n"
                 "comptime { @comptime_assert(n_bytes == 0); }\n")
    ran = harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "p.bin", expect=1)
    assert "values of this type exist at compile time only: no size" in ran.err


def payload(commands, entry=31, rest_ignored=True):
    """The bits of docs/isa.md: [(command, ignore)] from slot 0."""
    commands = commands + [(0, rest_ignored)] * (8 - len(commands))
    word = entry << 16
    for slot, (command, ignore) in enumerate(commands):
        shift = 22 + 3 * slot if slot <= 2 else 1 + 3 * (slot - 3)
        word |= command << shift | int(ignore) << ((shift + 2) % 30)
    return word


def test_control(tmp_path):
    text = """
const c = @import_module("<control>");
const op = c.opcode;
const entry = @get_control_task_id(40);
fn words() [6]u32 {
  return [6]u32{
    c.encode_control_task_payload(entry),
    c.encode_single_payload(op.SWITCH_ADV, true, entry, 0),
    c.encode_single_payload(op.SWITCH_RST, false, {}, 0x1234),
    c.encode_payload(2, [2]op{ op.SWITCH_ADV, op.TEARDOWN }, [2]bool{ true, false }, true, {}),
    c.encode_payload(8, [8]op{ op.NOP, op.SWITCH_ADV, op.SWITCH_RST, op.TEARDOWN, op.SWITCH_ADV,
                               op.NOP, op.TEARDOWN, op.SWITCH_RST },
                     [8]bool{ true, false, true, false, true, false, true, false }, false, entry),
    c.encode_payload(1, [1]op{ op.TEARDOWN }, [1]bool{ true }, true, {}),
  };
}
const known = words();
fn main() void {
  const now = words();
  for (now) |w, i| { y[i] = w; z[i] = known[i]; }
}
"""
    found = stdlib_run.run(tmp_path, text, {"y": ("u32", 6), "z": ("u32", 6)})
    single = (5 << 22) | (40 << 16)
    expected = [40 << 16, single, (2 << 22) | (31 << 16) | 0x1234,
                payload([(1, True), (3, False)]),
                payload([(0, True), (1, False), (2, True), (3, False), (1, True), (0, False),
                         (3, True), (2, False)], 40),
                0x09df9249]
    assert [hex(w) for w in found["y"]] == [hex(w) for w in expected]
    assert found["z"].tolist() == expected


@pytest.mark.parametrize("entry, text", [
    ("@get_local_task_id(12)", "the entry is a local task id"),
    ("@get_input_queue(3)", "the entry is a control_task_id, its number, or {} for none"),
    ("@get_dsr(dsr_dest, 3)", "the entry is a control_task_id, its number, or {} for none"),
    ("64", "the entry is no control task id, which lies in 0 to 63"),
    ("-1", "the entry is no control task id, which lies in 0 to 63")])
def test_entries_that_no_control_task_has(tmp_path, entry, text):
    source = tmp_path / "pe.csl"
    source.write_text(f"""
const c = @import_module("<control>");
export var word: u32 = 0;
task main() void {{
  word = c.encode_single_payload(c.opcode.NOP, false, {entry}, 0);
}}
layout {{ @set_rectangle(1, 1); @set_tile_code(0, 0); }}
comptime {{
  @bind_local_task(main, @get_local_task_id(12));
  @activate(@get_local_task_id(12));
}}
""")
    ran = harness.cslc(source, "-o", tmp_path / "o.bin", "--diag-format=json", expect=1)
    found = harness.diagnostics(ran.err)
    assert text in found[0]["message"]
    assert "pe.csl" in found[-1]["file"] and found[-1]["line"] == 5


# ---- <layout>, <time>, <timer>, <random> ------------------------------------------------------


def test_layout(tmp_path):
    text = """
const p = @import_module("<layout>");
fn main() void { n[0] = p.get_x_coord(); n[1] = p.get_y_coord(); }
"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 2)}, grid=(4, 3))["n"].reshape(3, 4, 2)
    for y in range(3):
        for x in range(4):
            assert found[y, x].tolist() == [x, y]


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_time(tmp_path, engine):
    """A counter that runs, stands, starts again from zero; 48 bits, low word first."""
    text = """
const time = @import_module("<time>");
var stamp = @zeros([time.tsc_size_words]u16);
fn note(at: u16) void {
  time.get_timestamp(&stamp);
  for (@range(u16, 3)) |i| { words[3 * at + i] = stamp[i]; }
}
fn main() void {
  note(0);
  note(1);
  time.enable_tsc();
  note(2);
  note(3);
  time.disable_tsc();
  note(4);
  note(5);
  time.reset_tsc_counter();
  note(6);
  time.get_perf_cntr(&stamp, 0);
  for (@range(u16, 3)) |i| { words[21 + i] = stamp[i]; }
  time.get_perf_cntr(&stamp, 1);
  for (@range(u16, 3)) |i| { words[24 + i] = stamp[i]; }
}
"""
    words = stdlib_run.run(tmp_path, text, {"words": ("u16", 27)}, engine=engine)["words"]
    stamps = words.reshape(9, 3).astype(int) @ [1, 1 << 16, 1 << 32]
    assert stamps[0] == stamps[1] == 0
    assert 0 < stamps[2] < stamps[3] < 400
    assert stamps[3] < stamps[4] == stamps[5] < 800
    assert stamps[6] == 0
    assert 50 < stamps[7] < 2000       # instructions issued
    assert stamps[8] == 0              # wavelets received


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_reading_the_time_is_inlined(tmp_path, arch):
    """Two instructions per word, of which one reads the counter: no call, no loop."""
    text = """
const time = @import_module("<time>");
fn main() void {
  time.enable_tsc();
  time.get_timestamp(&a);
  time.get_timestamp(&b);
}
"""
    found = stdlib_run.run(tmp_path, text, {"a": ("u16", 3), "b": ("u16", 3)}, arch=arch)
    counter = harness.timing("counter", arch)
    assert 3 * counter <= found["b"][0] - found["a"][0] <= 3 * (counter + 1)
    assert found["a"][1:].tolist() == found["b"][1:].tolist() == [0, 0]


def test_timer(tmp_path):
    """Two stop watches: the sums of what lies between starts and stops, apart."""
    text = """
const timer = @import_module("<timer>", .{ .timerCount = 2 });
const time = @import_module("<time>");
var sum: timer.timerType = @zeros([3]u16);
fn work(turns: u16) void { for (@range(u16, turns)) |i| { n[0] += i; } }
fn main() void {
  timer.start(0); work(10); timer.stop(0);
  timer.start(1); work(1000); timer.stop(1);
  timer.start(0); work(10); timer.stop(0);
  timer.elapsed(0, &sum);
  n[1] = sum[0];
  timer.elapsed(1, &sum);
  n[2] = sum[0];
  n[3] = sum[1] | sum[2];
}
"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 4)})["n"].astype(int)
    assert found[3] == 0
    assert 40 <= found[1] < 500
    per_turn = (found[2] - found[1] / 2) / 990
    assert 3 <= per_turn <= 12 and abs(found[1] - 20 * per_turn) < 200


def test_timer_carries_between_words(tmp_path):
    text = """
const timer = @import_module("<timer>", .{ .timerCount = 1 });
var sum = @zeros([3]u16);
fn main() void {
  timer.start(0);
  for (@range(u16, 3000)) |i| { for (@range(u16, 10)) |j| { n[3] += i ^ j; } }
  timer.stop(0);
  timer.start(0);
  for (@range(u16, 3000)) |i| { for (@range(u16, 10)) |j| { n[3] += i ^ j; } }
  timer.stop(0);
  timer.elapsed(0, &sum);
  for (sum) |w, i| { n[i] = w; }
}
"""
    image = stdlib_run.build(tmp_path, text, {"n": ("u16", 4)})
    done = harness.emu(image, "--launch=main", f"--stats={tmp_path / 's.json'}",
                       f"--d2h=n={tmp_path / 'n.npy'}")
    assert done.code == 0
    words = harness.load_npy(tmp_path / "n.npy").ravel().astype(int)
    cycles = harness.stats(tmp_path / "s.json")["cycles"]
    assert 1 << 17 < words[0] + (words[1] << 16) <= cycles < words[0] + (words[1] << 16) + 1000


def test_random(tmp_path):
    """Ranges and moments of each distribution; the same seed, the same numbers."""
    n = 2000
    text = f"""
const r = @import_module("<random>");
fn main() void {{
  r.set_global_prng_seed(12345);
  for (@range(u16, {n})) |i| {{ a[i] = r.random_f32(-1.0, 3.0); }}
  for (@range(u16, {n})) |i| {{ h[i] = r.random_f16(2.0, 4.0); }}
  for (@range(u16, {n})) |i| {{ p[i] = r.random_pow_u32(i & 31); }}
  for (@range(u16, {n})) |i| {{ g[i] = r.random_normal_f32(); }}
  r.set_global_prng_seed(12345);
  for (@range(u16, 10)) |i| {{ again[i] = r.random_f32(-1.0, 3.0); }}
  r.set_global_prng_seed(54321);
  for (@range(u16, 10)) |i| {{ other[i] = r.random_f32(-1.0, 3.0); }}
  r.set_global_prng_seed(0);
  other[9] = r.random_f32(0.0, 1.0);
}}
"""
    found = stdlib_run.run(tmp_path, text, {"a": ("f32", n), "h": ("f16", n), "p": ("u32", n),
                                            "g": ("f32", n), "again": ("f32", 10),
                                            "other": ("f32", 10)})
    a, h, p, g = (found[k].astype(float) for k in "ahpg")
    assert a.min() >= -1 and a.max() < 3 and abs(a.mean() - 1) < 0.1
    assert abs(a.std() - 4 / math.sqrt(12)) < 0.05 and len(set(a)) > n - 3
    assert h.min() >= 2 and h.max() < 4 and abs(h.mean() - 3) < 0.05
    k = numpy.arange(n) & 31
    assert (p < 2.0**k).all() and (p[k == 31] > 2**29).any() and (p[k == 0] == 0).all()
    assert abs(g.mean()) < 0.1 and abs(g.std() - 1) < 0.06 and abs(g).max() < 6
    numpy.testing.assert_array_equal(found["again"], found["a"][:10])
    assert not (found["other"][:9] == found["again"][:9]).any()
    assert 0 < found["other"][9] < 1       # seed 0 does not stop the generator


@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
@pytest.mark.parametrize("half", ["f16", "bf16", "cb16"])
def test_random_leaves_the_upper_bound_out(tmp_path, arch, half):
    """Between neighbours, too, where most sums would round to the bound; of ranges wider than the
    largest number; of bounds in the other order."""
    n = 400
    text = f"""
const r = @import_module("<random>");
const T = @fp16();
fn main() void {{
  for (@range(u16, {n})) |i| {{ a[i] = @as(f32, r.random_f16(@as(T, 100.0), @as(T, 101.0))); }}
  for (@range(u16, {n})) |i| {{ b[i] = r.random_f32(1.0, 1.0 + 1.0 / 4194304.0); }}
  for (@range(u16, {n})) |i| {{ c[i] = @as(f32, r.random_f16(-@as(T, 60000.0), @as(T, 60000.0))); }}
  for (@range(u16, {n})) |i| {{ d[i] = r.random_f32(-3.0e38, 3.0e38); }}
  for (@range(u16, {n})) |i| {{ e[i] = r.random_f32(4.0, 1.0); }}
  for (@range(u16, {n})) |i| {{ f[i] = r.random_f32(5.0, 5.0); }}
}}
"""
    found = stdlib_run.run(tmp_path, text, {k: ("f32", n) for k in "abcdef"}, None,
                           f"--fp16-format={half}", arch=arch)
    a, b, c, d, e, f = (found[k].astype(float) for k in "abcdef")
    assert a.min() == 100 and a.max() < 101
    values, shares = numpy.unique(b, return_counts=True)
    assert (values == 1 + numpy.arange(2) / 2**23).all() and shares.min() > n / 4
    assert -60000 <= c.min() < -50000 and 50000 < c.max() < 60000
    assert -3e38 <= d.min() < -2.5e38 and 2.5e38 < d.max() < 3e38 and abs(d.mean()) < 0.3e38
    assert e.max() <= 4 and e.min() > 1 and abs(e.mean() - 2.5) < 0.2 and (f == 5).all()


# ---- <malloc> ---------------------------------------------------------------------------------


def test_malloc(tmp_path):
    """Pieces do not overlap, 32-bit ones are aligned, all comes back."""
    text = """
const m = @import_module("<malloc>", .{ .buffer_num_words = 20 });
fn main() void {
  const a = m.malloc_i16(3);
  const b = m.malloc_f32(4);          // one word of padding, then 8
  const c = m.malloc(u16, 2);
  for (@range(i16, 3)) |i| { a[i] = i + 1; }
  for (@range(u16, 4)) |i| { b[i] = @as(f32, i) + 0.5; }
  for (@range(u16, 2)) |i| { c[i] = 100 + i; }
  for (@range(u16, 3)) |i| { n[i] = @bitcast(u16, a[i]); }
  for (@range(u16, 4)) |i| { n[3 + i] = @as(u16, b[i] * 2.0); }
  for (@range(u16, 2)) |i| { n[7 + i] = c[i]; }
  // 14 words are used
  n[9] = @as(u16, m.has_enough_words(6)); n[10] = @as(u16, m.has_enough_words(7));
  n[11] = @as(u16, m.has_enough_double_words(3)); n[12] = @as(u16, m.has_enough_double_words(4));
  n[13] = @as(u16, m.has_enough_space(i16, 6)); n[14] = @as(u16, m.has_enough_space(f32, 0x8001));
  m.free();
  n[15] = @as(u16, m.has_enough_words(20));
  const d = m.malloc_u32(10);
  d[9] = 7;
  n[16] = @as(u16, d[9]);
  m.free();
  const e = m.malloc_u16(1);
  const f = m.malloc_f16(1);
  const g = m.malloc_i32(1);
  e[0] = 9; f[0] = 2.0; g[0] = -1;
  n[17] = e[0] + @as(u16, f[0]) + @as(u16, g[0] + 1);
}
"""
    found = stdlib_run.run(tmp_path, text, {"n": ("u16", 18)})["n"].tolist()
    assert found == [1, 2, 3, 1, 3, 5, 7, 100, 101, 1, 0, 1, 0, 1, 0, 1, 7, 11]


def test_malloc_asserts_if_asked(tmp_path):
    text = """
const m = @import_module("<malloc>", .{ .buffer_num_words = 5, .asserts_enabled = ENABLED });
fn main() void { const a = m.malloc_u32(3); n[0] = 1; }
"""
    (tmp_path / "on").mkdir()
    done = stdlib_run.run(tmp_path / "on", text.replace("ENABLED", "true"), {"n": ("u16", 1)},
                          expect=2)
    assert "assertion failed: " in done.err
    (tmp_path / "off").mkdir()
    stdlib_run.run(tmp_path / "off", text.replace("ENABLED", "false"), {"n": ("u16", 1)})


# ---- <simprint> -------------------------------------------------------------------------------


def test_simprint_numbers(tmp_path):
    text = r"""
const p = @import_module("<simprint>");
fn line() void { p.print_string("\n"); }
fn main() void {
  p.print_string("text {d} stays"); line();
  p.print_u16_decimal(0); p.print_string(" "); p.print_u16_decimal(65535); line();
  p.print_u32_decimal(4294967295); p.print_string(" "); p.print_u32_decimal(1000000000); line();
  p.print_u16_hex(0xbeef); p.print_string(" "); p.print_u32_hex(0xdeadbeef); line();
  p.print_u16_binary(10); p.print_string(" "); p.print_u32_binary(0x80000001); line();
  p.print_f32(1.5); p.print_string(" "); p.print_f32(-0.125); p.print_string(" ");
  p.print_f32(1.0e20); p.print_string(" "); p.print_f32(1.0e-20); line();
  p.print_f16(0.5); p.print_string(" "); p.print_f32(0.0); p.print_string(" ");
  p.print_f32(@bitcast(f32, @as(u32, 0x7f800000))); p.print_string(" ");
  p.print_f32(@bitcast(f32, @as(u32, 0x7fc00000))); line();
}
"""
    assert stdlib_run.prints(tmp_path, text) == [
        "text {d} stays", "0 65535", "4294967295 1000000000", "BEEF DEADBEEF",
        "1010 10000000000000000000000000000001", "1.500000 -0.125000 1.000000e20 1.000000e-20",
        "0.500000 0.000000 inf nan"]


def test_simprint_of_a_number_takes_few_cycles(tmp_path):
    """The simulator makes the digits, not the tile: a public program prints twelve bytes and four
    numbers in 63 cycles."""
    text = """
const p = @import_module("<simprint>");
const time = @import_module("<time>");
var start = @zeros([3]u16);
var end = @zeros([3]u16);
var n: u32 = 4294967295;
fn main() void {
  time.enable_tsc();
  time.get_timestamp(&start);
  p.print_u32_decimal(n);
  p.print_u16_hex(@as(u16, n));
  time.get_timestamp(&end);
  p.fmt("\\n{d}", .{ end[0] - start[0] });
}
"""
    shown, cycles = stdlib_run.prints(tmp_path, text)
    assert shown == "4294967295FFFF" and 4 < int(cycles) < 30


def test_simprint_of_wide_and_other_arguments(tmp_path):
    text = """
const p = @import_module("<simprint>");
const E = enum(u16) { a = 3 };
var w: u64 = 12;
var i: i64 = 12;
var b: bool = true;
var e: E = E.a;
var s: i8 = -7;
fn main() void {
  p.fmt("{d} {X} {d} {b} {d} {d} {X} {d}", .{ w, w, b, e, @as(u16, 77), s, s, i });
  p.fmt("{d} {X} {d} {d}", .{ -7, -1, -2147483648, 4294967295 });
}
"""
    assert stdlib_run.prints(tmp_path, text) == [
        "12 C 1 11 77 -7 F9 12", "-7 FFFFFFFF -2147483648 4294967295"]


def test_simprint_of_floats_is_near(tmp_path):
    values = [3.1415927, 123456.79, 9999999.0, 0.001, 0.0009999, 1.0e7, 2.5e38, 9.99999e-39, 0.1]
    calls = "\n".join(f"  p.print_f32({v!r}); p.print_string(\"\\n\");" for v in values)
    lines = stdlib_run.prints(tmp_path, f"""
const p = @import_module("<simprint>");
fn main() void {{
{calls}
}}""")
    for line, value in zip(lines, values, strict=True):
        assert float(line) == pytest.approx(value, rel=1e-5, abs=6e-7)


def test_simprint_fmt(tmp_path):
    text = """
const p = @import_module("<simprint>");
fn main() void {
  p.fmt("a {d} b {X} c {b} d {f}{{}}",
        .{ @as(u16, 7), @as(u32, 0xabc), @as(u16, 5), @as(f32, 2.0) });
  p.fmt_no_nl("no ", .{});
  p.fmt_no_nl("line", .{});
  p.fmt("", .{});
  p.fmt_with_coords("at {d}", .{ @as(u32, 1) });
}
"""
    assert stdlib_run.prints(tmp_path, text, grid=(2, 1)) == [
        "a 7 b ABC c 101 d 2.000000{}", "no line", "PE(0,0): at 1",
        "a 7 b ABC c 101 d 2.000000{}", "no line", "PE(1,0): at 1"]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("ending, expect, said", [
    ("", 0, ""),
    ("@assert(n == 0);", 2, "ASSERT"),
    ("@mov16(&n, never);", 3, "deadlock"),
])
def test_simprint_of_a_line_without_an_end(tmp_path, engine, ending, expect, said):
    """What a tile printed last before it stopped is there, however it stopped."""
    image = stdlib_run.build(tmp_path, f"""
const p = @import_module("<simprint>");
const queue = @get_input_queue(2);
const never = @get_dsd(fabin_dsd, .{{ .extent = 1, .input_queue = queue }});
var n: u16 = 0;
comptime {{ @initialize_queue(queue, .{{ .color = @get_color(3) }}); }}
fn main() void {{
  n += 1;
  p.print_string("whole\\n");
  p.fmt_no_nl("step {{d}}", .{{ n }});
  {ending}
}}
""", {}, grid=(2, 1))
    ran = harness.emu(image, f"--engine={engine}", "--launch=main", expect=expect)
    assert said in ran.err
    lines = [line.split(" ", 1)[1] for line in ran.out.splitlines() if line.startswith("@")]
    assert lines == ["P0.0: whole", "P1.0: whole", "P0.0: step 1", "P1.0: step 1"], ran.out


def test_simprint_fmt_of_signed_numbers(tmp_path):
    text = """
const p = @import_module("<simprint>");
var n: i16 = -32768;
var m: i32 = -5;
fn main() void {
  p.fmt("{d} {X} {d} {X} {d}", .{ n, n, m, m, @as(u32, 70000) });
}
"""
    assert stdlib_run.prints(tmp_path, text) == ["-32768 8000 -5 FFFFFFFB 70000"]


@pytest.mark.parametrize("args, why", [
    ('"{d} {d}", .{ n[0] }', "more specifiers than arguments"),
    ('"{d}", n[0]', "the arguments stand in a tuple"),
    ('"{d}", .{ n[0], n[0] }', "more arguments than specifiers"),
    ('"{d", .{ n[0] }', "a specifier is {d}, {X}, {b} or {f}"),
    ('"{", .{}', "a specifier is {d}, {X}, {b} or {f}"),
    ('"{s}", .{ n[0] }', "a specifier is {d}, {X}, {b} or {f}"),
    ('"{f}", .{ n[0] }', "{f} prints floats"),
    ('"{d}", .{ 1.5 }', "{f} prints floats"),
])
def test_simprint_fmt_refuses(tmp_path, args, why):
    (tmp_path / "pe.csl").write_text(f"""
const p = @import_module("<simprint>");
var n = @zeros([1]u16);
fn main() void {{ p.fmt({args}); }}
comptime {{ @export_symbol(main); }}
""")
    assert why in harness.cslc("pe.csl", "-o", "p.bin", cwd=tmp_path, expect=1).err


def test_simprint_off_leaves_nothing(tmp_path):
    text = """
const p = @import_module("<simprint>", .{ .enable = ENABLED });
fn main() void { p.fmt("x {d}", .{ n[0] }); p.print_f32(1.0); n[0] = 1; }
"""
    sizes = {}
    for enabled in ("true", "false"):
        (tmp_path / enabled).mkdir()
        image = stdlib_run.build(tmp_path / enabled, text.replace("ENABLED", enabled),
                                 {"n": ("u16", 1)})
        listing = harness.cslc(tmp_path / enabled / "layout.csl", "--arch=wse3", "--emit=map").out
        sizes[enabled] = int(re.search(r"^code +\S+ +(\d+) bytes", listing, re.M).group(1))
        out = harness.emu(image, "--launch=main").out
        assert bool(out) == (enabled == "true")
    assert sizes["false"] < 48 < sizes["true"]


# ---- <debug> ----------------------------------------------------------------------------------


def test_debug_traces(tmp_path):
    """The host side is tested with the Python layer: tests/test_stdlib_debug.py."""
    text = """
const t = @import_module("<debug>", .{ .key = "abc", .buffer_size = 3 });
fn main() void {
  t.trace_u16(7);
  t.trace_u16(8);       // does not fit
  t.trace_bool(true);   // nor anything behind it
  for (@range(u16, 7)) |i| { words[i] = t.debug_trace_buffer[i]; }
}
"""
    words = stdlib_run.run(tmp_path, text, {"words": ("u16", 7)})["words"].tolist()
    head = [7, 3, ord("a") | ord("b") << 8, ord("c")]
    assert words == head + [4, 7, 0]
