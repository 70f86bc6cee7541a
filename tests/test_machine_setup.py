"""What top-level comptime blocks set up: seen from the run."""
import pytest

import harness

LAYOUT = """
const line: color = @get_color(4);
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "send.csl", .{ .line = line });
  @set_tile_code(1, 0, "listen.csl", .{ .line = line });
  @set_color_config(0, 0, line, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, line, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  @export_name("heard", u16, true);
}
"""

SEND = """
param line: color;
const queue = @get_output_queue(2);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = line, .extent = 1, .control = true,
                                    .output_queue = queue });
const main_id = @get_local_task_id(9);
const control = @import_module("<control>");
task main() void {
  @mov32(out, control.encode_single_payload(control.opcode.NOP, false,
                                            @get_control_task_id(41), 77));
}
comptime {
  if (@is_arch("wse3")) @initialize_queue(queue, .{ .color = line });
  @bind_local_task(main, main_id);
  @activate(main_id);
}
"""

LISTEN = """
param line: color;
const queue = @get_input_queue(2);
export var heard: u16 = 0;
task listen(data: u16) void {
  heard = data;
}
comptime {
  @bind_control_task(listen, @get_control_task_id(41));
  if (@is_arch("wse3")) {
    @initialize_queue(queue, .{ .color = line });
    @unblock(queue);
  } else {
    @unblock(line);
  }
  @export_symbol(heard, "heard");
}
"""


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_unblocked_color_without_data_task_serves_control_tasks(tmp_path, arch):
    for name, text in (("layout", LAYOUT), ("send", SEND), ("listen", LISTEN)):
        (tmp_path / f"{name}.csl").write_text(text)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", f"--arch={arch}")
    ran = harness.emu(tmp_path / "p.bin", "--print=heard")
    assert harness.values(ran.out, "heard") == {(1, 0): [77.0]}


def test_symbols_are_exported_in_any_order(tmp_path):
    (tmp_path / "layout.csl").write_text("""
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("first", u16, true);
  @export_name("second", u16, true);
}
""")
    (tmp_path / "pe.csl").write_text("""
export var one: u16 = 1;
export var two: u16 = 2;
comptime {
  @export_symbol(two, "second");
  @export_symbol(one, "first");
}
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    ran = harness.emu(tmp_path / "p.bin", "--print=first", "--print=second")
    assert harness.values(ran.out, "first") == {(0, 0): [1.0]}
    assert harness.values(ran.out, "second") == {(0, 0): [2.0]}
