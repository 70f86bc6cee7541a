"""A layout as large as the machine is evaluated in seconds and compiled once."""
import sys
import time

import pytest

import harness

LAYOUT = """
const colors = [4]color { @get_color(0), @get_color(1), @get_color(2), @get_color(3) };
layout {
  @set_rectangle(750, 994);
  for (@range(u16, 994)) |y| {
    for (@range(u16, 750)) |x| {
      @set_tile_code(x, y, "pe.csl", .{ .px = x, .py = y });
      const from = if (x == 0) RAMP else WEST;
      @set_color_config(x, y, colors[0], .{ .routes = .{ .rx = .{ from }, .tx = .{ EAST } } });
      @set_color_config(x, y, colors[1], .{ .routes = .{ .rx = .{ EAST }, .tx = .{ WEST } } });
      @set_color_config(x, y, colors[2], .{ .routes = .{ .rx = .{ NORTH }, .tx = .{ SOUTH } } });
      @set_color_config(x, y, colors[3], .{ .routes = .{ .rx = .{ SOUTH }, .tx = .{ NORTH } } });
    }
  }
  @export_name("place", u32, true);
}
"""

PE = """
param px: u16;
param py: u16;
var place: u32 = @as(u32, px) * 1000 + @as(u32, py);
var corner: u16 = 0;
task main() void {
  if (px == 0 and py == 0) {
    corner = 1;
  }
  place += corner;
}
comptime {
  const id = @get_local_task_id(8);
  @bind_local_task(main, id);
  @activate(id);
  @export_symbol(place, "place");
}
"""

# About 3 s on the machine of 2026 that this was written on.
MOST_SECONDS = 30


def test_the_whole_wafer(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    start = time.monotonic()
    harness.compile(tmp_path / "layout.csl", tmp_path / "out")
    assert time.monotonic() - start < MOST_SECONDS
    assert harness.stats(tmp_path / "out/out.json")["classes"] == 2   # the corner, the rest


STRUCTS = """
layout {
  @set_rectangle(6, 5);
  for (@range(u16, 6)) |x| {
    for (@range(u16, 5)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .px = x, .py = y, .place = .{ .x = x, .y = y } });
    }
  }
  @export_name("sum", u16, true);
}
"""
OF_STRUCTS = """
param px: u16;
param py: u16;
param place: comptime_struct;
var ten: u16 = 10;
var sum: u16 = 0;
fn known(p: anytype) u16 { return p.x * 10 + p.y; }
fn given(p: comptime_struct) u16 { return p.x * 10 + p.y; }
fn mixed(p: anytype) u16 { return p.x * p.factor + p.y; }
task main() void {
  const local = .{ .x = px, .y = py, .factor = ten };
  sum = known(.{ .x = px, .y = py }) + given(place) + mixed(local);
}
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
  @export_symbol(sum);
}
"""


def test_fields_that_differ_from_tile_to_tile_split_no_class(tmp_path):
    """A function takes them as known, but its code does not depend on them."""
    (tmp_path / "layout.csl").write_text(STRUCTS)
    (tmp_path / "pe.csl").write_text(OF_STRUCTS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "out")
    assert harness.stats(tmp_path / "out/out.json")["classes"] == 1
    out = harness.emu(tmp_path / "out", "--run", "--print=sum").out
    assert harness.values(out, "sum") == {(x, y): [3 * (10 * x + y)] for x in range(6)
                                          for y in range(5)}


def test_memory_of_a_tile_at_work(tmp_path):
    """Every tile of a large fabric works: descriptors, queues and colors take what they need."""
    side, image, stats = 300, tmp_path / "p.bin", tmp_path / "s.json"
    harness.compile("tests/bench/wafer/layout.csl", image,
                    params={"width": side, "height": side, "B": 64})
    harness.emu(image, f"--stats={stats}")
    assert harness.stats(stats)["peak_rss_bytes"] < 2600 * side ** 2


PLACES = """
const c: color = @get_color(0);
layout {
  @set_rectangle(60, 30);
  for (@range(i32, 60)) |x| {
    for (@range(u16, 30)) |y| {
      const v = (x - 20) * 37 * (1 - 2 * (x % 2));
      @set_tile_code(@as(u16, x), y, if (y % 7 == 0) "b.csl" else "a.csl",
                     .{ .v = v, .w = y, .kind = x % 3 == 0 });
      if (y % 2 == 0) {
        @set_color_config(@as(u16, x), y, c,
                          .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
      } else {
        @set_color_config(@as(u16, x), y, c,
                          .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
      }
    }
  }
  @export_name("r", [*]i32, true);
}
"""

# Decisions about one parameter, about its sign, about two, and about one that is no number.
OF_A_PLACE = """
param v: i32;
param w: u16;
param kind: bool;
var r = [1]i32{ %d };
var r_ptr: [*]i32 = &r;
task main() void {
  if (v == 407) { r[0] += 1; }
  if (v < 0) { r[0] += 10; }
  if (v == 37 or w == 29) { r[0] += 100; }
  if (kind) { r[0] += 1000; }
  if (v + w == 0) { r[0] += 10000; }
}
comptime {
  const id = @get_local_task_id(8);
  @bind_local_task(main, id);
  @activate(id);
  @export_symbol(r_ptr, "r");
}
"""


def of_a_place(x, y):
    v = (x - 20) * 37 * (1 - 2 * (x % 2))
    start = 500000 if y % 7 == 0 else 0
    return (start + (v == 407) + 10 * (v < 0) + 100 * (v == 37 or y == 29) +
            1000 * (x % 3 == 0) + 10000 * (v + y == 0))


def test_every_tile_has_the_class_of_its_parameters(tmp_path):
    """Small, large and negative values, many tiles of each decision, two files."""
    (tmp_path / "layout.csl").write_text(PLACES)
    (tmp_path / "a.csl").write_text(OF_A_PLACE % 0)
    (tmp_path / "b.csl").write_text(OF_A_PLACE % 500000)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    harness.emu(tmp_path / "p.bin", f"--d2h=r@0,0,60,30={tmp_path}/r.npy")
    r = harness.load_npy(tmp_path / "r.npy").reshape(30, 60)
    assert [[int(r[y][x]) for x in range(60)] for y in range(30)] == \
        [[of_a_place(x, y) for x in range(60)] for y in range(30)]


ARRAYS = """
param length: u16;
param width: u16;
layout {
  @set_rectangle(width, 70);
  for (@range(u16, width)) |x| {
    for (@range(u16, 70)) |y| {
      var last = @zeros([length]i16);
      last[length - 1] = @as(i16, x) - @as(i16, y);
      @set_tile_code(x, y, "pe.csl", .{
        .length = length, .last = last,
        .factors = [3]f32 { @as(f32, x), @as(f32, y) * 0.25, 2.0 },
        .place = .{ .at = [2]u16 { x, y }, .turned = [2, 2]i32 { @as(i32, y), 1, 2, @as(i32, x) } },
        .is_edge = [2]bool { x == 0, y == 0 }, .size = [1]u16 { 1 + x / 35 },
      });
    }
  }
  @export_name("r", [*]i32, true);
}
"""

# Elements known at compile time and at run time, copies, initial data, pointers, a size.
OF_ARRAYS = """
param length: u16;
param last: [length]i16;
param factors: [3]f32;
param place: comptime_struct;
param is_edge: [2]bool;
param size: [1]u16;
var r = @zeros([8]i32);
var r_ptr: [*]i32 = &r;
var own = factors;
const turned = place.turned;
var one: u16 = 1;
var buffer = @zeros([size[0] * 10]i32);
fn add_up(values: [3]f32) f32 {
  var sum: f32 = 0.0;
  for (values) |v| { sum += v; }
  return sum;
}
task main() void {
  own[0] += factors[one];
  r[0] = @as(i32, add_up(own) * 100.0);
  r[1] = turned[one, one] * 1000 + turned[one - 1, 0];
  for (place.at) |v, i| { r[2 + i] = @as(i32, v); }
  if (is_edge[0]) { r[4] = 1; }
  if (is_edge[one]) { r[4] += 10; }
  const at = &last;
  r[5] = @as(i32, last[length - 1]) * 100 + @as(i32, at.*[one]);
  r[6] = @as(i32, @element_count(@type_of(buffer)));
}
comptime {
  const id = @get_local_task_id(8);
  @bind_local_task(main, id);
  @activate(id);
  @export_symbol(r_ptr, "r");
}
"""


def of_arrays(x, y):
    return [int((x + 0.5 * y + 2) * 100), x * 1000 + y, x, y, (x == 0) + 10 * (y == 0),
            (x - y) * 100, 10 * (1 + x // 35), 0]


@pytest.mark.parametrize("arch, level", [("wse2", 0), ("wse2", 1), ("wse3", 1), ("wse2", 2)])
@pytest.mark.parametrize("width, length", [(5, 3), (60, 3), (60, 33)])
def test_elements_of_arrays_are_words_of_many_tiles(width, length, arch, level, tmp_path):
    """The arrays of up to 4,096 groups and those of more than 32 elements split classes as they are;
    of other arrays, only the elements do that force something: the first column and the sizes."""
    (tmp_path / "layout.csl").write_text(ARRAYS)
    (tmp_path / "pe.csl").write_text(OF_ARRAYS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "out", f"-O{level}", f"--arch={arch}",
                    params={"width": width, "length": length})
    harness.emu(tmp_path / "out", f"--d2h=r@0,0,{width},70={tmp_path}/r.npy")
    r = harness.load_npy(tmp_path / "r.npy").reshape(70, width, 8)
    places = [(x, y) for y in range(70) for x in range(width)]
    assert r.reshape(len(places), 8).tolist() == [of_arrays(x, y) for x, y in places]
    forced = {(x == 0, x // 35, length > 32 and x - y) for x, y in places}
    assert harness.stats(tmp_path / "out/out.json")["classes"] == \
        (len(forced) if len(places) > 4096 else len(places))


def test_the_library_plans_for_all_tiles_of_a_large_rectangle(tmp_path):
    """The search for the best tree of n tiles takes about n log n steps."""
    params = {"width": 25, "height": 37, "shape": 2, "what": 2, "pattern_a": 5, "pattern_b": 4,
              "step": 0, "root_a": 176, "root_b": 364, "shared": 1, "in_place": 1, "with_task": 0,
              "element": 4, "operation": 2, "skew": 0, "first": 19, "second": 28, "third": 16}
    layout = harness.ROOT / "tests/stdlib/lines/layout.csl"
    harness.compile(layout, tmp_path / "plan.bin", "--comptime-step-limit=1000000", params=params)


COUNTS = """
fn count(n: u32) u32 {
  var counted = @zeros([8000]u32);
  for (@range(u32, n)) |i| {
    counted[i % 8000] += 1;
    const copy = counted;
  }
  return counted[0];
}
"""


def test_the_library_may_compute_longer_than_a_program(tmp_path):
    """A program that computes for ten million steps is taken for one that has no end."""
    library = tmp_path / "library"
    library.mkdir()
    for folder in (library, tmp_path):
        (folder / "counts.csl").write_text(COUNTS)
    (tmp_path / "pe.csl").write_text("")
    layout = tmp_path / "layout.csl"
    for name, turns, code in (("counts.csl", 100, 0), ("counts.csl", 3000, 1),
                              ("<counts>", 3000, 0)):
        layout.write_text(f"""layout {{
  @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{{}});
  const n = @import_module("{name}").count({turns});
}}""")
        ran = harness.cslc(layout, "-o", tmp_path / "p.bin", expect=code,
                           env={"CSL_STDLIB": str(library)})
        assert ("[too_many_steps]" in ran.err) == bool(code), ran.err


def test_memory_is_that_of_the_emulator_alone(tmp_path):
    """A large process that starts it is none of its memory."""
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }')
    (tmp_path / "pe.csl").write_text("")
    image, stats = tmp_path / "p.bin", tmp_path / "s.json"
    harness.compile(tmp_path / "layout.csl", image)
    large = "import subprocess, sys; memory = b'1' * (300 << 20); subprocess.check_call(sys.argv[1:])"
    harness.run([sys.executable, "-c", large, harness.tool("wse-emu"), image, f"--stats={stats}"])
    assert harness.stats(stats)["peak_rss_bytes"] < 100 << 20
