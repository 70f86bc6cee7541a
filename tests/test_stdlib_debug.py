"""<debug> and debug_util: what tiles record, and their symbols, read after the run."""
import textwrap

import harness

LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0), .size = 200 });
  @set_tile_code(1, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(1), .size = 12 });
  @export_name("main", fn()void);
}
"""
PE = """
param memcpy_params;
param size: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const values = @import_module("<debug>", .{ .key = "values", .buffer_size = size });
const odd = @import_module("<debug>", .{ .key = "odd key", .buffer_size = 20 });
const plain = @import_module("<debug>", .{ .buffer_size = 4 });
export var state = [3]i16{ 1, -2, 3 };
fn main() void {
  values.trace_bool(true); values.trace_u8(200); values.trace_i8(-100);
  values.trace_u16(65535); values.trace_i16(-32768);
  values.trace_f16(1.5); values.trace_u32(4000000000); values.trace_i32(-2000000000);
  values.trace_f32(0.1);
  values.trace_string("");
  values.trace_string("odd");
  values.trace_string("even");
  values.trace_string("\\xc3\\xa9 {d}");
  values.trace(@as(i16, -1)); values.trace(@as(f32, 2.5)); values.trace(false);
  values.trace(@as(u8, 3)); values.trace(@as(i8, -3)); values.trace(@as(u32, 1));
  values.trace(@as(i32, -1)); values.trace(@as(u16, 9)); values.trace(@as(f16, 0.25));
  odd.trace_timestamp();
  plain.trace_u16(5);
  odd.trace_timestamp();
  state[0] = @as(i16, size);
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(main); }
"""
HOST = """
import numpy as np
from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime

def fails(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError("no error: " + text)

early = debug_util("out")         # made before the run, asked after it
fails(RuntimeError, "call stop()", lambda: early.read_trace(5, 2, "values"))
runner = SdkRuntime("out")
runner.load()
runner.run()
runner.launch("main", nonblock=False)
runner.stop()
debug = debug_util("out")
assert early.read_trace(6, 2, "values") == debug.read_trace(6, 2, "values")

full = debug.read_trace(5, 2, "values")
assert full[:6] == [True, 200, -100, 65535, -32768, 1.5], full
assert full[6:9] == [4000000000, -2000000000, np.float32(0.1)], full
assert full[9:13] == ["", "odd", "even", "\\u00e9 {d}"], full
assert full[13:] == [-1, 2.5, False, 3, -3, 1, -1, 9, 0.25], full
assert [type(v).__name__ for v in full[1:9]] == [
    "uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32"]
# 12 words: six values of one word each.
assert debug.read_trace(6, 2, "values") == full[:6]
assert debug.read_trace(5, 2, "") == debug.read_trace(5, 2, "plain") == [5]
first, second = debug.read_trace(5, 2, "odd key")
assert 0 <= first < second < 1000

assert debug.get_symbol(5, 2, "state", np.int16).tolist() == [200, -2, 3]
both = debug.get_symbol_rect(((5, 2), (2, 1)), "state", np.int16)
assert both.shape == (2, 1, 3) and both[1, 0, 0] == 12

fails(ValueError, "records no trace 'none'; it has 'values', 'odd key', 'plain'",
      lambda: debug.read_trace(5, 2, "none"))
fails(ValueError, "columns 5 to 6, rows 2 to 2", lambda: debug.read_trace(4, 2, "values"))
fails(ValueError, "nothing", lambda: debug.get_symbol(5, 2, "nothing", np.int16))
fails(RuntimeError, "call stop()", lambda: debug_util("elsewhere").read_trace(5, 2, "values"))
fails(RuntimeError, "cmaddr", lambda: debug_util("out", cmaddr="1.2.3.4:9000"))
print("traces read")
"""


def test_traces_and_symbols(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    (tmp_path / "run.py").write_text(textwrap.dedent(HOST))
    harness.compile(tmp_path / "layout.csl", tmp_path / "out", "--memcpy", "--channels=1",
                    "--fabric-dims=10,4", "--fabric-offsets=5,2")
    done = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path)
    assert done.out.endswith("traces read\n")


def test_other_16_bit_formats(tmp_path):
    for form in ("bf16", "cb16"):
        folder = tmp_path / form
        folder.mkdir()
        (folder / "layout.csl").write_text(LAYOUT)
        (folder / "pe.csl").write_text("""
param memcpy_params;
param size: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const values = @import_module("<debug>", .{ .key = "v", .buffer_size = size });
fn main() void {
  values.trace_f16(6.0);
  values.trace(@as(@fp16(), -0.75));
  sys.unblock_cmd_stream();
}
comptime { @export_symbol(main); }
""")
        (folder / "run.py").write_text(textwrap.dedent("""
            from cerebras.sdk.debug.debug_util import debug_util
            from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
            with SdkRuntime("out") as runner:
                runner.launch("main", nonblock=False)
            print([float(v) for v in debug_util("out").read_trace(4, 1, "v")])
        """))
        harness.compile(folder / "layout.csl", folder / "out", "--memcpy", f"--fp16-format={form}",
                        "--fabric-dims=9,3", "--fabric-offsets=4,1")
        assert harness.run([harness.tool("cs_python"), "run.py"],
                           cwd=folder).out == "[6.0, -0.75]\n"


DAMAGED = """
import numpy as np
from cerebras.sdk.debug.debug_util import read_trace_of

class Memory:
    \"\"\"Tiles that hold these words of a record without a key.\"\"\"

    def __init__(self, *words):
        self.words = np.array([len(words) + 2, 0, *words], np.uint16)

    def symbols(self, col, row):
        return ["debug_trace_buffer"]

    def read_symbol(self, col, row, name, dtype):
        return self.words

def records(*words, used=None):
    memory = Memory(*words)
    memory.words[0] = len(memory.words) if used is None else used
    return read_trace_of(memory, 0, 0, "")

assert records(4, 7, 1, 1) == [7, True]
assert records(4, 7, 1, 1, used=4) == [7]
assert records(4, 7, used=60000) == [7]          # what counts the words was overwritten
assert records(4, 7, 99, 4, 8) == [7]            # a kind that there is not
for cut in ([4], [7, 1], [10], [10, 3, 0x6f6e], [11, 1, 2]):
    assert records(4, 7, *cut) == [7], cut       # a record that ends behind the buffer
# The smallest and the largest number of each 16-bit format, infinity, and what is none.
assert [float(v) for v in records(13, 1, 13, 0x7dff, 13, 0xfe00, 13, 0x200)] == [
    2.0 ** -50, 2.0 ** 21 - 2.0 ** 11, -np.inf, 2.0 ** -41]
assert np.isnan(records(13, 0x7e01)[0])
assert [float(v) for v in records(12, 1, 12, 0xff80)] == [2.0 ** -133, -np.inf]
print("records read")
"""


def test_records_of_any_memory(tmp_path):
    (tmp_path / "run.py").write_text(DAMAGED)
    assert harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path).out == "records read\n"
