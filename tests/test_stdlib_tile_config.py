"""<tile_config> and <memcpy/memcpy_switches>: register words, and what they do to a router."""
import numpy
import pytest

import harness
import stdlib_run

ENGINES = ("fast", "reference")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_words_of_routes_and_switches(tmp_path, arch, engine):
    """The layout of the words: Cerebras/csl-examples, spmv-hypersparse."""
    words = stdlib_run.run(tmp_path, """
const tile = @import_module("<tile_config>");
const routes = tile.color_config;
const switches = tile.switch_config;
const c = @get_color(3);

fn routes_word() u32 { return @as(u32, @get_config(routes.get_color_config_addr(c))); }
fn switch_word() u32 { return @as(u32, @get_config(switches.get_switch_config_addr(c, u16))); }

fn main() void {
  words[0] = routes_word();
  words[1] = switch_word();
  routes.reset_routes(c, .{ .rx = WEST, .tx = [2]direction{ RAMP, EAST } });
  words[2] = routes_word();
  tile.teardown.exit(c);
  words[3] = routes_word();
  switches.set_pop_mode(c, switches.pop_mode.ALWAYS_POP);
  words[4] = routes_word();
  routes.set_io_direction(c, routes.fabric_io.TX_NORTH);
  words[5] = routes_word();
  routes.toggle_io_direction(c, routes.fabric_io.TX_EAST);
  words[6] = routes_word();
  routes.clear_io_direction(routes.get_color_config_addr(c), routes.fabric_io.RX_WEST);
  words[7] = routes_word();
  switches.set_rx_switch_pos1(c, NORTH);
  switches.set_tx_switch_pos3(c, RAMP);
  switches.set_current_switch_position(c, 1);
  words[8] = switch_word();
  switches.clear_current_position(c);
  switches.set_ring_mode(c, switches.ring_mode.STOP);
  words[9] = switch_word();
  switches.set_invalid_for_all_switch_positions(c);
  words[10] = switch_word();
}

comptime {
  @set_local_color_config(c, .{
    .routes = .{ .rx = RAMP, .tx = EAST },
    .switches = .{ .pos1 = .{ .tx = SOUTH }, .pos2 = .{ .rx = WEST }, .ring_mode = true,
                   .pop_mode = .{ .pop_on_advance = true } },
    .teardown = true
  });
}
""", {"words": ("u32", 11)}, arch=arch, engine=engine)["words"]
    torn, pop_on, pop_always = 0x4000, 0x2000, 0x1000
    assert [hex(w) for w in words] == [hex(w) for w in (
        torn | pop_on | 0x200 | 0x02, 0x1000 | 0x5 << 8 | 0x8 << 4 | 0x2,
        torn | pop_on | 0x20 | 0x12, pop_on | 0x20 | 0x12, pop_always | 0x20 | 0x12,
        pop_always | 0x20 | 0x1a, pop_always | 0x20 | 0x18, pop_always | 0x18,
        0x2000 | 0x1000 | 0x4 << 8 | 0x8 << 4 | 0xb, 0x4 << 8 | 0x8 << 4 | 0xb, 0x555)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_color_without_configuration_has_no_registers(tmp_path, engine):
    done = stdlib_run.run(tmp_path, """
const tile = @import_module("<tile_config>");
fn main() void { tile.teardown.exit(@get_color(5)); }
""", {}, engine=engine, expect=2)
    assert "has no configuration here (color 5)" in done.err      # COLOR_REGISTER
    assert "@set_color_config" in done.err


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_routes_that_only_the_running_program_sets(tmp_path, arch, engine):
    """Two colors without any configuration; one gets its routes bit by bit."""
    words = stdlib_run.run(tmp_path, """
const tile = @import_module("<tile_config>");
const routes = tile.color_config;
const a = @get_color(5);
const b = @get_color(6);
const from = [3]u32{ 7, 8, 9 };
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> from[i] });
const back = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} -> words[i] });
const out_a = @get_dsd(fabout_dsd, .{ .fabric_color = a, .extent = 3,
                                      .output_queue = @get_output_queue(2) });
const in_a = @get_dsd(fabin_dsd, .{ .fabric_color = a, .extent = 3,
                                    .input_queue = @get_input_queue(2) });
const out_b = @get_dsd(fabout_dsd, .{ .fabric_color = b, .extent = 3,
                                      .output_queue = @get_output_queue(3) });
const in_b = @get_dsd(fabin_dsd, .{ .fabric_color = b, .extent = 3,
                                    .input_queue = @get_input_queue(3) });
fn main() void {
  words[6] = @get_config(tile.switch_config.get_color_config_addr(a));
  routes.reset_routes(a, .{ .rx = RAMP, .tx = RAMP });
  words[7] = @get_config(@as(u16, tile.target.addresses.COLOR_ROUTES) + @get_int(a));
  routes.set_io_direction(b, tile.target.fabric_io.RX_RAMP);
  routes.set_io_direction(b, routes.fabric_io.TX_RAMP);
  @mov32(out_a, mem, .{ .async = true });
  @mov32(back, in_a);
  @mov32(out_b, mem, .{ .async = true });
  @mov32(@set_dsd_base_addr(back, &words[3]), in_b);
}
comptime {
  @comptime_assert(tile.target.reg_type == tile.reg_type and tile.target.word_size == 2);
  @comptime_assert(tile.target.tsc_size_words == 3);
  @initialize_queue(@get_input_queue(2), .{ .color = a });
  @initialize_queue(@get_input_queue(3), .{ .color = b });
  if (@is_arch("wse3")) {
    @initialize_queue(@get_output_queue(2), .{ .color = a });
    @initialize_queue(@get_output_queue(3), .{ .color = b });
  }
}
""", {"words": ("u32", 8)}, arch=arch, engine=engine)["words"]
    assert words.tolist() == [7, 8, 9, 7, 8, 9, 0, 0x210]


def test_payloads_of_memcpy_switches(tmp_path):
    words = stdlib_run.run(tmp_path, """
const switches = @import_module("<memcpy/memcpy_switches>");
const known = switches.ctrl(switches.teardown_cmd_1());
fn main() void {
  words[0] = known;
  words[1] = switches.ctrl(switches.teardown_cmd_1());
  words[2] = switches.ctrl(switches.switch_cmd_11());
}
""", {"words": ("u32", 3)})["words"]
    nops = 0x91f9249 & ~(0x1ff << 22)
    assert words[0] == words[1] == 0x09df9249
    assert words[2] == nops & ~1 | 0x1 | (5 << 22) | (5 << 25)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_routes_change_behind_a_teardown(tmp_path, arch, engine):
    """Tile 0 sends to tile 1, tears the color down, and sends to tile 2 over tile 1."""
    image = tmp_path / "o.bin"
    harness.compile(harness.ROOT / "tests" / "stdlib" / "tile_config" / "layout.csl", image,
                    f"--arch={arch}")
    harness.emu(image, f"--engine={engine}", "--launch=main", f"--d2h=got={tmp_path / 'got.npy'}")
    got = harness.load_npy(tmp_path / "got.npy").reshape(3, -1)
    numpy.testing.assert_array_equal(got, [[0] * 4, [1, 2, 3, 4], [5, 6, 7, 8]])


def test_coordinates_and_constants(tmp_path):
    words = stdlib_run.run(tmp_path, """
const tile = @import_module("<tile_config>");
fn main() void {
  words[0] = tile.get_fabric_coord(tile.fabric_coord.X);
  words[1] = tile.get_fabric_coord(tile.fabric_coord.Y);
  words[2] = @as(tile.reg_type, tile.addresses.COLOR_ROUTES);
  words[3] = tile.word_size;
}
""", {"words": ("u16", 4)}, None, "--fabric-dims=9,7", "--fabric-offsets=4,2")["words"]
    assert words.tolist() == [4, 2, 0x7f20, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_task_priority_decides_who_comes_first(tmp_path, engine):
    text = """
const tile = @import_module("<tile_config>");
const low_id = @get_local_task_id(10);
const high_id = @get_local_task_id(20);
var n: u16 = 0;
task low() void { order[n] = 10; n += 1; }
task high() void { order[n] = 20; n += 1; }
fn main() void {
  PRIORITY
  @activate(low_id);
  @activate(high_id);
}
comptime { @bind_local_task(low, low_id); @bind_local_task(high, high_id); AT_START }
"""
    orders = {}
    high = "tile.task_priority.set_task_priority(high_id);"
    for name, call, at_start in (("plain", "", ""), ("high", high, ""), ("start", "", high),
                       ("back", """tile.task_priority.update_task_priority(
                          high_id, tile.task_priority.level.HIGH);
                          tile.task_priority.clear_task_priority(high_id);""", "")):
        folder = tmp_path / name
        folder.mkdir()
        program = text.replace("PRIORITY", call).replace("AT_START", at_start)
        orders[name] = stdlib_run.run(folder, program, {"order": ("u16", 2)},
                                      engine=engine)["order"].tolist()
    assert orders == {"plain": [10, 20], "high": [20, 10], "start": [20, 10], "back": [10, 20]}


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_task_status(tmp_path, engine, arch):
    """Before and behind @activate, @block and a start, and when an operation ends; ids in all of the
    registers' words that a task may have."""
    text = """
const status = @import_module("<tasks/status>");
const first_id = @get_local_task_id(IDS_FROM);
const second_id = @get_local_task_id(20);
const after_id = @get_local_task_id(26);
const c = @get_color(2);
const oq = @get_output_queue(3);
const iq = @get_input_queue(4);
var word = @zeros([1]u32);
const memory = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> word[i] });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1, .output_queue = oq });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 1, .input_queue = iq });
var n: u16 = 0;
fn note(id: local_task_id) void {
  words[n] = 2 * @as(u16, status.is_active(id)) + @as(u16, status.is_blocked(id));
  n += 1;
}
var has_run: bool = false;
task first() void {
  if (has_run) return;
  has_run = true;
  note(first_id);                        // 6: it has started
  @unblock(second_id);
  note(second_id);                       // 7
  @activate(first_id);
  note(first_id);                        // 8
  @block(first_id);
  note(first_id);                        // 9
}
task second() void {
  note(first_id);                        // 10
  @unblock(first_id);
  @mov32(memory, in, .{ .async = true, .activate = after_id });
  note(after_id);                        // 11
  @mov32(out, 7);
  var turns: u16 = 0;
  while (!status.is_active(after_id) and turns < 100) : (turns += 1) {}
  note(after_id);                        // 12
  words[14] = @as(u16, turns > 0 and turns < 100);
}
task after() void { note(after_id); }    // 13
fn main() void {
  note(first_id);                        // 0
  note(second_id);                       // 1
  @activate(first_id);
  note(first_id);                        // 2
  @block(second_id);
  note(second_id);                       // 3
  @activate(second_id);
  note(second_id);                       // 4
  note(first_id);                        // 5
}
comptime {
  @bind_local_task(first, first_id);
  @bind_local_task(second, second_id);
  @bind_local_task(after, after_id);
  @initialize_queue(oq, if (@is_arch("wse3")) .{ .color = c } else .{});
  @initialize_queue(iq, .{ .color = c });
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
}
""".replace("IDS_FROM", "15" if arch == "wse2" else "8")
    words = stdlib_run.run(tmp_path, text, {"words": ("u16", 15)}, arch=arch, engine=engine)
    assert words["words"].tolist() == [0, 0, 2, 1, 3, 2, 0, 2, 2, 3, 3, 0, 2, 0, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_registers_lie_behind_memory(tmp_path, engine):
    """Two bytes per word, by 16-bit loads and stores (seen in a public program)."""
    text = """
const c = @get_color(3);
var register: u16 = 0x7f23;
fn main() void {
  words[0] = @bitcast(*u16, 2 * register).*;
  @bitcast(*u16, 2 * register).* = 0x4041;
  words[1] = @get_config(register);
  words[2] = @bitcast(*u16, 2 * register).*;
}
comptime {
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = EAST }, .teardown = true });
}
"""
    words = stdlib_run.run(tmp_path, text, {"words": ("u16", 3)}, engine=engine)["words"]
    assert words.tolist() == [0x4202, 0x4041, 0x4041]


@pytest.mark.parametrize("engine", ENGINES)
def test_behind_memory_where_no_register_is(tmp_path, engine):
    done = stdlib_run.run(tmp_path, """
var place: u16 = 0xfffe;
fn main() void { words[0] = @bitcast(*u16, place).*; }
""", {"words": ("u16", 1)}, engine=engine, expect=2)
    assert "memory access outside" in done.err and "0xfffe" in done.err


@pytest.mark.parametrize("engine", ENGINES)
def test_a_local_task_opens_the_color_of_its_number(tmp_path, engine):
    """wse2: a control wavelet on that color finds a queue and its task."""
    text = """
const c = @get_color(8);
const local_id = @get_local_task_id(8);
const control_id = @get_control_task_id(40);
const control = @import_module("<control>");
const out = @get_dsd(fabout_dsd, .{
  .fabric_color = c, .extent = 1, .output_queue = @get_output_queue(3), .control = true
});
task local() void { @mov32(out, control.encode_control_task_payload(control_id)); }
task controlled() void { words[0] += 1; }
fn main() void { @activate(local_id); }
comptime {
  @bind_local_task(local, local_id);
  @bind_control_task(controlled, control_id);
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
}
"""
    words = stdlib_run.run(tmp_path, text, {"words": ("u16", 1)}, arch="wse2", engine=engine)
    assert words["words"].tolist() == [1]


@pytest.mark.parametrize("sides, arch, code", [
    (".{ EAST, WEST }", "wse3", 1), ("[2]direction{ EAST, WEST }", "wse3", 1),
    (".{ EAST }", "wse3", 0), ("EAST", "wse3", 0), (".{ EAST, WEST }", "wse2", 0)])
def test_reset_routes_takes_one_input_on_wse3(tmp_path, sides, arch, code):
    (tmp_path / "p.csl").write_text(f"""
const tile = @import_module("<tile_config>");
const id = @get_local_task_id(9);
task main() void {{
  tile.color_config.reset_routes(@get_color(3), .{{ .rx = {sides}, .tx = RAMP }});
}}
comptime {{ @bind_local_task(main, id); @activate(id); }}
layout {{ @set_rectangle(1, 1); @set_tile_code(0, 0, "p.csl", .{{}}); }}
""")
    done = harness.cslc(tmp_path / "p.csl", f"--arch={arch}", "-o", tmp_path / "p.bin", expect=code)
    assert ("on wse3, .rx of reset_routes is one direction" in done.err) == bool(code)
    assert ("p.csl:5:" in done.err) == bool(code)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_quotients_that_no_turn_takes_end_no_run(tmp_path, level, engine):
    """The loop guards its quotient; in front of the loop it would divide by zero."""
    (tmp_path / "layout.csl").write_text("""
layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }
""")
    (tmp_path / "pe.csl").write_text("""
const exceptions = @import_module("<tile_config>").exceptions;
const main_id = @get_local_task_id(8);
var x: f32 = 3.0;
export var y: f32 = 0.0;
export var a = [4]f32{ 1.0, 2.0, 3.0, 4.0 };

task main() void {
  exceptions.set_exception_mask(exceptions.FP_DIV_BY_0 & exceptions.FP_INVALID);
  for (@range(u16, 4)) |i| {
    if (y > 0.5) { a[i] += x / y; }
  }
}
comptime { @bind_local_task(main, main_id); @activate(main_id); }
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", level)
    harness.emu(tmp_path / "p.bin", f"--engine={engine}")
