"""<collectives/neighbours>: a wave that each tile takes from one neighbour and gives to the other, up
the line and down again.  The shifts are tested by test_streams.py."""
import numpy
import pytest

import harness

LAYOUT = """
param tiles: u16;
const streams = @import_module("<collectives/streams>");
fn colors() [6]color {
  var list: [6]color;
  for (@range(u16, 6)) |i| { list[i] = @get_color(i); }
  return list;
}
layout {
  @set_rectangle(tiles, 1);
  for (@range(u16, tiles)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{
      .role = streams.neighbours_tile(x, 0, tiles, x, WEST, EAST, colors()) });
  }
  @export_name("wave", [*]f32, true);
}
"""
TILE = """
param role: comptime_struct;
const line = @import_module("<collectives/neighbours>", .{ .role = role });
const LENGTH: u16 = 5;
var wave = @zeros([LENGTH]f32);
var wave_ptr: [*]f32 = &wave;
fn change() void {
  for (@range(u16, LENGTH)) |i| { wave[i] = 2.0 * wave[i] + @as(f32, line.p + i); }
}
task main() void {
  if (line.p != 0) { line.receive_up(LENGTH, &wave); }
  change();
  if (line.p + 1 != line.P) {
    line.send_up(LENGTH, &wave);
    line.receive_down(LENGTH, &wave);
    change();
  }
  if (line.p != 0) { line.send_down(LENGTH, &wave); }
}
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
  @export_symbol(wave_ptr, "wave");
}
"""


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("tiles", [1, 2, 3, 8])
def test_a_wave_up_and_down(tmp_path, tiles, arch):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(TILE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", f"--arch={arch}",
                    params={"tiles": tiles})
    got = harness.values(harness.emu(tmp_path / "o.bin", "--print=wave").out, "wave")
    wave, order = numpy.zeros(5), [*range(tiles), *reversed(range(tiles - 1))]
    for step, p in enumerate(order):
        wave = 2 * wave + p + numpy.arange(5)
        if step >= tiles - 1:
            assert got[p, 0] == list(wave)
