"""Long copies to tiles and streams to them cost the same cycles on both engines and on any number
of threads, whole and cut short: few visits in a cycle need no end of a block."""
import json

import pytest

import harness
import host_run

W, H, MOST = 5, 8, 4000

LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H,
  .MEMCPYH2D_1 = @get_color(6) });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = memcpy.get_params(x), .place = x * y });
    }
  }
  @export_name("wide", [*]u32, true);
  @export_name("narrow", [*]u16, true);
  @export_name("listen", fn(u16, u16)void);
}
"""

# `listen` takes words of the stream while the main thread computes, on each tile another time.
PE = """
param memcpy_params: comptime_struct;
param place: u16;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var wide = @zeros([4000]u32);
var wide_ptr: [*]u32 = &wide;
var narrow = @zeros([4000]u16);
var narrow_ptr: [*]u16 = &narrow;
var sum: u16 = 0;
const queue = @get_input_queue(3);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = sys_mod.MEMCPYH2D_1, .extent = 1,
                                  .input_queue = queue });
const memory = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> wide[i] });
const done_id = @get_local_task_id(9);

fn listen(n: u16, spins: u16) void {
  @mov32(@set_dsd_length(memory, n), @set_dsd_length(in, n),
         .{ .async = true, .activate = done_id });
  for (@range(u16, spins * place)) |i| {
    sum += i;
  }
}
task done() void {
  sys_mod.unblock_cmd_stream();
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(queue, .{ .color = sys_mod.MEMCPYH2D_1 });
  }
  @bind_local_task(done, done_id);
  @export_symbol(wide_ptr, "wide");
  @export_symbol(narrow_ptr, "narrow");
  @export_symbol(listen);
}
"""

# The limit of cycles may end the run in any of the calls.
SCRIPT = """
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

def words(*part, name=None, color=None, order, bits=32):
    numbers = np.arange(part[2] * part[3] * part[4], dtype=np.uint32)
    r.memcpy_h2d(color or r.get_id(name), numbers, *part, streaming=color is not None,
                 order=MemcpyOrder[order], nonblock=False,
                 data_type=MemcpyDataType[f"MEMCPY_{bits}BIT"])

r = SdkRuntime("out")
try:
    r.load()
    r.run()
    CALLS
    r.stop()
except RuntimeError as error:
    assert "limit" in str(error), error
"""


def random_calls(random):
    """Copies to random parts of the rectangle, many words to one tile, or a stream that all tiles
    listen to."""
    calls = []
    for kind in random.permutation(["part", "part", "part", "one", "one", "stream", "stream"]):
        order = random.choice(("ROW_MAJOR", "COL_MAJOR"))
        n = random.choice((1, 2, random.integers(3, 60)))
        if kind == "stream":
            calls.append(f"r.launch('listen', np.uint16({n}), np.uint16({random.integers(90)}))")
            calls.append(f"words(0, 0, {W}, {H}, {n}, color=6, order='{order}')")
            continue
        x, y = random.integers(W), random.integers(H)
        part = x, y, random.integers(1, W - x + 1), random.integers(1, H - y + 1), n
        if kind == "one":
            part = x, y, 1, 1, random.integers(MOST // 2, MOST)
        name, bits = (("wide", 32), ("narrow", 16))[random.integers(2)]
        part = tuple(map(int, part))
        calls.append(f"words(*{part}, name='{name}', order='{order}', bits={bits})")
    return calls


def statistics(folder, log, options):
    log.unlink(missing_ok=True)
    harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, timeout=300,
                env={"WSE_RUN_LOG": str(log), "WSE_ARGS": options})
    line, = log.read_text().splitlines()
    differ = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
              "active_tile_cycles_per_second")
    return {key: value for key, value in json.loads(line).items() if key not in differ}


@pytest.mark.parametrize("arch, channels", [("wse2", 1), ("wse3", 1), ("wse2", 3), ("wse3", 3)])
def test_words_of_the_host_cost_the_same_on_both_engines(tmp_path, arch, channels):
    random = harness.commit_random(f"host words {arch} {channels}")
    host_run.build(tmp_path, LAYOUT, PE, arch=arch, channels=channels, params={"W": W, "H": H})
    calls = random_calls(random)
    (tmp_path / "run.py").write_text(SCRIPT.replace("CALLS", "\n    ".join(calls)))
    whole = statistics(tmp_path, tmp_path / "log", "--engine=reference")
    end = whole["phases"][-1]["end"]
    for limit in (10 * end, random.integers(end), random.integers(end)):
        runs = [statistics(tmp_path, tmp_path / "log", f"--max-cycles={limit} {engine}")
                for engine in ("--engine=reference", "--engine=fast", "--engine=fast --threads=2")]
        assert runs[0] == runs[1] == runs[2], (calls, limit)
        assert limit < end or runs[0] == whole
