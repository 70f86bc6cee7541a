"""Programs of the tiles of layouts that host scripts make."""
# Adds `n` to each of `size` words that come in on `rx`, and sends them on `tx`.
STEP = """
param size: u16;
param n: u32;
param rx: color;
param tx: color;
const in_q = @get_input_queue(2);
const out_q = @get_output_queue(2);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = rx, .extent = size, .input_queue = in_q });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = tx, .extent = size, .output_queue = out_q });
export var data = @zeros([size]u32);
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{size} -> data[i] });
const start_id = @get_local_task_id(8);
const sent_id = @get_local_task_id(9);
task start() void {
  @mov32(mem, in, .{ .async = true, .activate = sent_id });
}
task sent() void {
  for (@range(u16, size)) |i| {
    data[i] += n;
  }
  @mov32(out, mem, .{ .async = true });
}
comptime {
  @bind_local_task(start, start_id);
  @bind_local_task(sent, sent_id);
  @activate(start_id);
  @initialize_queue(in_q, .{ .color = rx });
  if (@is_arch("wse3")) {
    @initialize_queue(out_q, .{ .color = tx });
  }
}
"""

# Sums its block of A into `total`.
BLOCK = """
param columns: u16;
param rows: u16;
param scale: f32;
param twice: bool;
var A: [rows, columns]f32;
export var total: f32 = 0.0;
const start_id = @get_local_task_id(8);
task start() void {
  for (@range(u16, rows)) |i| {
    for (@range(u16, columns)) |j| {
      total += A[i, j] * scale;
    }
  }
  if (twice) {
    total *= 2.0;
  }
}
comptime {
  @bind_local_task(start, start_id);
  @activate(start_id);
}
"""
