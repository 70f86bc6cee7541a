"""Streams of host scripts that get too few words: the report names the tile that has to send."""
import pytest

import host_run
from host_run import script


# A tile that adds one to what a color brings, and sends it on.
SERVER = """
param memcpy_params: comptime_struct;
param from: color;
param to: color;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const in = @get_dsd(fabin_dsd, .{ .extent = 3, .fabric_color = from, .input_queue = in_queue });
const out = @get_dsd(fabout_dsd, .{ .extent = 3, .fabric_color = to, .output_queue = out_queue });
const id = @get_local_task_id(9);
task serve() void { @fadds(out, in, 1.0, .{ .async = true, .activate = id }); }
comptime {
  @bind_local_task(serve, id);
  @activate(id);
  @initialize_queue(in_queue, .{ .color = from });
  if (@is_arch("wse3")) { @initialize_queue(out_queue, .{ .color = to }); }
}
"""

STREAM = """
        stream = dict(streaming=True, data_type=WIDE, order=MemcpyOrder.ROW_MAJOR, nonblock=False)
"""


TWO_TILES = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1,
  .MEMCPYH2D_1 = @get_color(4), .MEMCPYD2H_1 = @get_color(5) });
const line = @get_color(6);
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "FIRST", .{ .memcpy_params = memcpy.get_params(0), REST });
  @set_tile_code(1, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(1), .from = line,
                                    .to = @get_color(5) });
  @set_color_config(0, 0, line, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, line, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
}
"""


def report_behind_two_tiles(folder, first, rest, added):
    """Words pass the first tile, of that program and params, then the second: `added` is what both
    add.  The report after a stream that ends too soon."""
    layout = TWO_TILES.replace("FIRST", first).replace("REST", rest)
    host_run.build(folder, layout, SERVER, params={"W": 2}, channels=1)
    ran = script(folder, STREAM + f"""
        x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
        r.memcpy_h2d(4, x, 0, 0, 1, 1, 6, **stream)
        r.memcpy_d2h(y, 5, 1, 0, 1, 1, 6, **stream)
        assert (y == x + {added}).all()
        r.stop()
    """)
    assert ran.err == ""
    return script(folder, STREAM + """
        r.memcpy_h2d(4, np.zeros(2, np.float32), 0, 0, 1, 1, 2, **stream)
        r.stop()
    """).err


def test_a_tile_that_awaits_the_next_stream_is_done(tmp_path):
    """An operation that has not begun may wait for the host for ever; one that has may not."""
    report = report_behind_two_tiles(tmp_path, "pe.csl", ".from = @get_color(4), .to = line", 2)
    assert "cause 1: no more words come from the host on color 4 'from', which P0.0 takes" in report
    assert "help: let the host stream as many words to the tile as it takes" in report


# A tile that sends on each word of the host.
FORWARDER = """
param memcpy_params: comptime_struct;
param to: color;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = to, .output_queue = out_queue });
const from = sys_mod.MEMCPYH2D_1;
task forward(value: f32) void { @fmovs(out, value); }
comptime {
  @bind_data_task(forward, @get_data_task_id(if (@is_arch("wse3")) in_queue else from));
  if (@is_arch("wse3")) {
    @initialize_queue(in_queue, .{ .color = from });
    @initialize_queue(out_queue, .{ .color = to });
  }
}
"""


def test_a_tile_that_awaits_the_next_stream_through_another_is_done(tmp_path):
    """The data task that forwards has started before, and words of the host start it again."""
    (tmp_path / "forward.csl").write_text(FORWARDER)
    report = report_behind_two_tiles(tmp_path, "forward.csl", ".to = line", 1)
    assert "cause 1: no more words come from the host on color 4 'from', which P0.0 takes" in report
    assert "nobody at P0.0 sends on color 6 'to': data task" in report
    assert "with another wavelet" in report


SUMS_LAYOUT = """
param reply_after: u16;
const memcpy = @import_module("<memcpy/get_params>", .{
  .width = 1, .height = 1, .MEMCPYH2D_1 = @get_color(4), .MEMCPYD2H_1 = @get_color(5) });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{
    .memcpy_params = memcpy.get_params(0), .from = @get_color(4), .to = @get_color(5),
    .reply_after = reply_after });
  @export_name("go", fn()void);
}
"""
SUMS_PE = """
param memcpy_params: comptime_struct;
param from: color;
param to: color;
param reply_after: u16;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = to, .output_queue = out_queue });
const take_id = @get_data_task_id(if (@is_arch("wse3")) in_queue else from);
const reply_id = @get_local_task_id(9);
var sum = @zeros([1]f32);
var words: u16 = 0;
const sum_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> sum[i] });
task take(word: f32) void {
  sum[0] += word;
  words += 1;
  if (words == reply_after) @activate(reply_id);
}
fn send() void { @fmovs(out, sum_dsd, .{ .async = true }); }
task reply() void { send(); }
fn go() void { START; sys_mod.unblock_cmd_stream(); }
comptime {
  @bind_data_task(take, take_id);
  @bind_local_task(reply, reply_id);
  @initialize_queue(in_queue, .{ .color = from });
  if (@is_arch("wse3")) @initialize_queue(out_queue, .{ .color = to });
  @export_symbol(go);
}
"""
SUMS = """
    stream = dict(streaming=True, data_type=WIDE, order=MemcpyOrder.ROW_MAJOR, nonblock=False)
    x, y = np.arange(3, dtype=np.float32), np.zeros(1, np.float32)
    SEND
    y_text = message(r.memcpy_d2h, y, 5, 0, 0, 1, 1, 1, **stream)
    print(y_text)
"""
SEND = "r.memcpy_h2d(4, x, 0, 0, 1, 1, 3, **stream)"


def sums_place(folder, text):
    """Where the text begins in the program of the tile."""
    return f"{folder / 'pe.csl'}:{SUMS_PE.partition(text)[0].count(chr(10)) + 1}"


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("start, reply_after, send, parts", [
    ("sum[0] = 0.0", 4, SEND, [
        "cause 1: P0.0 local task 9 'reply' has never started, nothing has activated it (the @activate "
        "at {activate} has not run)\n  P0.0 has sent the host too few words on color 5 'to'",
        "nobody at P0.0 sends on color 5 'to': local task 9 'reply' would at {send}",
        "help: see why that @activate has not run: a condition before it may not hold"]),
    ("sum[0] = 0.0", 3, "", [
        "cause 1: no more words come from the host on color 4 'from', which P0.0 takes\n",
        "nobody at P0.0 activates local task 9 'reply': data task",
        "help: let the host stream as many words to the tile as it takes"]),
    ("send()", 4, SEND, [
        "cause 1: P0.0 local task 9 'reply' has never started"]),
])
def test_a_short_stream_names_what_would_send(tmp_path, arch, start, reply_after, send, parts):
    host_run.build(tmp_path, SUMS_LAYOUT, SUMS_PE.replace("START", start), arch=arch,
                   params={"reply_after": reply_after}, channels=1)
    ran = script(tmp_path, SUMS.replace("SEND", send))
    places = {"activate": sums_place(tmp_path, "if (words == reply_after)"),
              "send": sums_place(tmp_path, "task reply()")}
    for part in parts:
        assert part.format(**places) in ran.out, ran.out


def test_a_short_stream_of_a_program_that_never_sends(tmp_path):
    pe = SUMS_PE.replace("START", "sum[0] = 0.0").replace("task reply() void { send(); }",
                                                          "task reply() void {}")
    host_run.build(tmp_path, SUMS_LAYOUT, pe, params={"reply_after": 3}, channels=1)
    ran = script(tmp_path, SUMS.replace("SEND", SEND))
    assert ("cause 1: nobody at P0.0 sends on color 5 'to' any more; its program has no operation that "
            "does") in ran.out, ran.out
    assert "help: compare what the program sends" in ran.out


def test_a_short_stream_names_what_the_host_has_not_launched(tmp_path):
    pe = SUMS_PE.replace("START", "send()").replace("task reply() void { send(); }",
                                                    "task reply() void {}")
    host_run.build(tmp_path, SUMS_LAYOUT, pe, params={"reply_after": 4}, channels=1)
    ran = script(tmp_path, SUMS.replace("SEND", ""))
    where = f"'go' would at {sums_place(tmp_path, 'fn go()')}, but the host has launched nothing yet"
    assert f"cause 1: nobody at P0.0 sends on color 5 'to': {where}" in ran.out, ran.out
    assert "help: launch() a function that sets the tiles to work" in ran.out


def test_a_tile_that_awaits_what_a_data_task_passes_on_is_done(tmp_path):
    """The words of the next stream start that data task; one that has sent nothing is a mistake."""
    layout = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1,
  .MEMCPYH2D_1 = @get_color(4), .MEMCPYD2H_1 = @get_color(5) });
const line = [2]color{ @get_color(6), @get_color(7) };
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "relay.csl", .{ .memcpy_params = memcpy.get_params(0),
                                       .from = @get_color(4), .to = line[0] });
  @set_tile_code(1, 0, "relay.csl", .{ .memcpy_params = memcpy.get_params(1), .from = line[0],
                                       .to = line[1] });
  @set_tile_code(2, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(2), .from = line[1],
                                    .to = @get_color(5) });
  for (@range(u16, 2)) |x| {
    @set_color_config(x, 0, line[x], .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
    @set_color_config(x + 1, 0, line[x], .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  }
}
"""
    relay = """
param memcpy_params: comptime_struct;
param from: color;
param to: color;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = to, .output_queue = out_queue });
const id = if (@is_arch("wse3")) @get_data_task_id(in_queue) else @get_data_task_id(from);
task pass_on(value: f32) void { if (value >= 0.0) { @fmovs(out, value); } }
comptime {
  @bind_data_task(pass_on, id);
  if (@is_arch("wse3")) {
    @initialize_queue(in_queue, .{ .color = from });
    @initialize_queue(out_queue, .{ .color = to });
  }
}
"""
    (tmp_path / "relay.csl").write_text(relay)
    host_run.build(tmp_path, layout, SERVER, params={"W": 3}, channels=1)
    ran = script(tmp_path, STREAM + """
        x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
        r.memcpy_h2d(4, x, 0, 0, 1, 1, 6, **stream)
        r.memcpy_d2h(y, 5, 2, 0, 1, 1, 6, **stream)
        assert (y == x + 1).all()
        r.stop()
    """)
    assert ran.err == ""
    for words, told in (("np.ones(2)", "1 of 3 elements to go"),
                        ("-np.ones(3)", "nobody at P1.0 sends on color 7")):
        ran = script(tmp_path, STREAM + f"""
        x = ({words}).astype(np.float32)
        r.memcpy_h2d(4, x, 0, 0, 1, 1, len(x), **stream)
        r.stop()
        """)
        assert told in ran.err, ran.err


# ---- helpers ------------------------------------------------------------------------------------
