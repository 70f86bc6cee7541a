"""Runs host scripts under cs_python, each in a process of its own, for the tests.

    folder = host_run.build(tmp_path)              # the program below, or texts of the test's own
    host_run.script(folder, "r.launch('scale', np.float32(2), np.int16(-1)); r.stop()")

A script begins with PREAMBLE: a runtime `r` that is running, COPY, WIDE and NARROW for the calls,
and message(call, ...), the text of the exception that the call must raise.
"""
import textwrap

import harness

LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H,
  .MEMCPYH2D_1 = @get_color(4), .MEMCPYD2H_1 = @get_color(5) });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .x = x, .y = y, .memcpy_params = memcpy.get_params(x) });
    }
  }
  @export_name("a", [*]f32, true);
  @export_name("h", [*]i16, true);
  @export_name("n", i32, true);
  @export_name("flag", bool, true);
  @export_name("scale", fn(f32, i16)void);
  @export_name("hang", fn()void);
  @export_name("crash", fn()void);
}
"""

PE = """
param x: u16;
param y: u16;
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(3);
const out_queue = @get_output_queue(3);
const in_color = @get_color(4);
const in_id = if (@is_arch("wse3")) @get_data_task_id(in_queue) else @get_data_task_id(in_color);
var a = @zeros([6]f32);
var a_ptr: [*]f32 = &a;
var h = @zeros([5]i16);
var h_ptr: [*]i16 = &h;
var n: i32 = 0;
var flag: bool = false;
const out = @get_dsd(fabout_dsd, .{ .fabric_color = @get_color(5), .extent = 1,
                                    .output_queue = out_queue });
fn scale(factor: f32, add: i16) void {
  for (@range(u16, 6)) |i| { a[i] = a[i] * factor; }
  for (@range(u16, 5)) |i| { h[i] = h[i] + add; }
  n = n + 1;
  sys_mod.unblock_cmd_stream();
}
fn hang() void {
  n = -1;
}
fn crash() void {
  @assert(x != 1);
  sys_mod.unblock_cmd_stream();
}
task receive(value: u32) void {
  @mov32(out, value + x);
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(in_queue, .{ .color = in_color });
    @initialize_queue(out_queue, .{ .color = @get_color(5) });
  }
  @bind_data_task(receive, in_id);
  @export_symbol(a_ptr, "a");
  @export_symbol(h_ptr, "h");
  @export_symbol(n);
  @export_symbol(flag);
  @export_symbol(scale);
  @export_symbol(hang);
  @export_symbol(crash);
}
"""

PREAMBLE = """
import ctypes
import numpy as np
import wse_lib
from cerebras.sdk.runtime.sdkruntimepybind import (
    DeviceError, MemcpyDataType, MemcpyOrder, SdkRuntime, Task)
W, H = 3, 2
COPY = dict(streaming=False, order=MemcpyOrder.ROW_MAJOR, nonblock=False)
WIDE, NARROW = MemcpyDataType.MEMCPY_32BIT, MemcpyDataType.MEMCPY_16BIT

def message(call, *args, **named):
    try:
        call(*args, **named)
    except (ValueError, RuntimeError, TypeError) as error:
        return str(error)
    raise AssertionError("no error")

r = SdkRuntime("out")
r.load()
r.run()
"""


def build(folder, layout=LAYOUT, pe=PE, *args, arch="wse3", params={"W": 3, "H": 2}, channels=2,
          offsets=(4, 1), **options):
    """Compiles a layout and its tile program with --memcpy; the folder, with the result in out/."""
    folder.mkdir(exist_ok=True)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(pe)
    width, height = params.get("W", 1), params.get("H", 1)
    dims = f"{offsets[0] + width + 3},{offsets[1] + height + 1}"
    harness.compile(folder / "layout.csl", folder / "out", f"--arch={arch}", "--memcpy",
                    f"--channels={channels}", f"--fabric-dims={dims}",
                    f"--fabric-offsets={offsets[0]},{offsets[1]}", *args, params=params, **options)
    return folder


def script(folder, text, preamble=PREAMBLE, env=None):
    """Runs a script that must reach its end; what it printed."""
    (folder / "run.py").write_text(preamble + textwrap.dedent(text) + "\nprint('DONE')\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, env=env)
    assert ran.out.endswith("DONE\n")
    return ran
