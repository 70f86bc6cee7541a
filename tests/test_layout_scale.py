"""A layout as large as the machine is evaluated in seconds and compiled once."""
import time

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


def test_memory_of_a_tile_at_work(tmp_path):
    """Every tile of a large fabric works: descriptors, queues and colors take what they need."""
    side, image, stats = 300, tmp_path / "p.bin", tmp_path / "s.json"
    harness.compile("tests/bench/wafer/layout.csl", image,
                    params={"width": side, "height": side, "B": 64})
    harness.emu(image, f"--stats={stats}")
    assert harness.stats(stats)["peak_rss_bytes"] < 2600 * side ** 2
