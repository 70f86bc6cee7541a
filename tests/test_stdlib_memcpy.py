"""<memcpy/...> as programs of SDK 2 use it: ids of colors are integers, descriptors of streams to the
host are made by the library."""
import pytest

import host_run

LAYOUT = """
param W: u16;
param H: u16;
param out_id: i16;
const memcpy = @import_module("<memcpy/get_params>", .{
  .width = W, .height = H, .MEMCPYD2H_1 = out_id });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
    }
  }
  @export_name("send", fn()void);
}
"""

# The second descriptor is made inside of a function.
PE = """
param memcpy_params;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const out_color = @get_color(@bitcast(u16, sys_mod.MEMCPYD2H_1));
const oq = @get_output_queue(3);
var data = [5]i16{ 1, -2, 3, -4, 5 };
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> data[i] });
const out = sys_mod.get_streaming_fabout_dsd(out_color, 5, oq);
fn again() void {
  const two = sys_mod.get_streaming_fabout_dsd(out_color, 2, oq);
  @add16(two, mem, 10);
}
fn send() void {
  @mov16(out, mem);
  again();
  sys_mod.unblock_cmd_stream();
}
comptime {
  @initialize_queue(oq, if (@is_arch("wse3")) .{ .color = out_color } else .{});
  @export_symbol(send);
}
"""


@pytest.mark.parametrize("dialect", ["--sdk=1.4", "--sdk=2"])
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_a_stream_to_the_host_carries_an_element_a_word(tmp_path, arch, dialect):
    """Where 16-bit elements are packed by default (SDK 2), too."""
    host_run.build(tmp_path, LAYOUT, PE, dialect, arch=arch, params={"W": 2, "H": 1, "out_id": 5})
    host_run.script(tmp_path, """
        out = np.zeros(2 * 7, np.uint32)
        r.launch("send", nonblock=False)
        r.memcpy_d2h(out, 5, 0, 0, 2, 1, 7, streaming=True, order=MemcpyOrder.ROW_MAJOR,
                     data_type=MemcpyDataType.MEMCPY_16BIT, nonblock=False)
        r.stop()
        assert (out.astype(np.uint16).view(np.int16).reshape(2, 7)
                == [1, -2, 3, -4, 5, 11, 8]).all(), out
        """)
