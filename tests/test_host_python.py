"""The Python layer apart from copies: constructors, life cycle, tasks, helpers, looking into tiles,
and what it says about mistakes."""
import re
import textwrap

import pytest

import harness
import host_mistakes
import host_run
from host_run import script


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return host_run.build(tmp_path_factory.mktemp("python"))


@pytest.mark.parametrize("name", host_mistakes.CASES)
def test_a_mistake_is_explained(program, name):
    told, missing = host_mistakes.run(program, name)
    assert not missing, told


def test_constructor_forms(program):
    script(program, """
        from pathlib import Path
        from cerebras.sdk.runtime.sdkruntimepybind import (
            SdkCompileArtifacts, SdkTarget, SimfabConfig, get_platform, get_simulator, get_system)
        r.stop()
        platform = get_platform(None, SimfabConfig(num_threads=2, suppress_trace=True),
                                SdkTarget.WSE3)
        assert platform.is_simulation() and not platform.is_system()
        forms = [
            lambda: SdkRuntime(Path("out")),
            lambda: SdkRuntime("out/prog.bin", cmaddr=""),
            lambda: SdkRuntime("out", cmaddr=None, suppress_simfab_trace=True, simfab_numthreads=64,
                               msg_level="ERROR", memcpy_required=True),
            lambda: SdkRuntime("out", platform),
            lambda: SdkRuntime(SdkCompileArtifacts("out"), get_simulator(), memcpy_required=False),
            lambda: SdkRuntime("out", get_platform("")),
        ]
        for form in forms:
            runner = form()
            assert runner.get_id("a") >= 0        # before load()
            runner.load()
            runner.run()
            runner.launch("scale", np.float32(1), np.int16(1), nonblock=False)
            runner.stop()
            runner.stop()
            assert runner.read_symbol(4, 1, "n", np.int32)[0] == 1
        with SdkRuntime("out") as runner:
            task = runner.launch("scale", np.float32(1), np.int16(1), nonblock=True)
        assert runner.read_symbol(6, 2, "n", np.int32)[0] == 1    # stopped at the end
        assert runner.coord_logical_to_physical((2, 1)) == (6, 2)
        for outside in ((3, 0), (0, 2), (-1, 0)):
            assert "rectangle of 3 x 2 tiles" in message(runner.coord_logical_to_physical, outside)
        assert "must be a pair (A, B), not 2" in message(runner.coord_logical_to_physical, 2)
        old = get_platform(target=SdkTarget.WSE2)
        assert "compiled for wse3" in message(SdkRuntime, "out", old)
        assert "get_platform()" in message(SdkRuntime, "out", "simulator")
        assert "'TRACE'" in message(SdkRuntime, "out", msg_level="TRACE")
        assert "simfab_numthreads" in message(SdkRuntime, "out", simfab_numthreads=0)
        said = message(SdkRuntime, "out", simfab_numthreads="5")
        assert said == "simfab_numthreads must be an integer, not str", said    # no help on symbols
        assert message(SdkRuntime, 3) == "bindir is the output directory of cslc, not 3"
        assert "num_threads" in message(SimfabConfig, num_threads=0)
        assert "emulator only" in message(get_platform, "10.0.0.1:9000")
        assert "no machine here" in message(get_system)
        assert "SdkTarget" in message(get_platform, None, None, "wse3")
        assert "SimfabConfig" in message(get_platform, None, dict())
        try:
            SdkCompileArtifacts("nowhere")
        except FileNotFoundError as error:
            assert "cslc" in str(error)
        else:
            raise AssertionError
    """)


def test_an_exception_of_the_script_is_not_hidden_by_the_context(program):
    script(program, """
        r.stop()
        try:
            with SdkRuntime("out") as runner:
                runner.launch("hang", nonblock=True)
                raise KeyError("of the script")
        except KeyError as error:
            assert "of the script" in str(error)
    """)


def test_results_of_operations_nobody_waits_for(program):
    """They are there after a later blocking call, after task_wait, and after stop."""
    script(program, """
        a, later = r.get_id("a"), {**COPY, "data_type": WIDE, "nonblock": True}
        tasks, results = [], [np.zeros(W * H * 6, np.float32) for _ in range(6)]
        for i, result in enumerate(results):
            r.memcpy_h2d(a, np.full(W * H * 6, i + 1, np.float32), 0, 0, W, H, 6, **later)
            r.launch("scale", np.float32(10), np.int16(0), nonblock=True)
            tasks.append(r.memcpy_d2h(result, a, 0, 0, W, H, 6, **later))
            if i == 2:
                r.task_wait(tasks[1])
                assert (results[0] == 10).all() and (results[1] == 20).all()
                r.launch("scale", np.float32(1), np.int16(0), nonblock=False)
                assert (results[2] == 30).all() and r.is_task_done(tasks[0])
                assert len(r._pending) <= 1, r._pending
        r.stop()
        assert [int(x[0]) for x in results] == [10, 20, 30, 40, 50, 60]
    """)


def test_messages_of_each_operation_on_request(program):
    text = host_run.PREAMBLE.replace('SdkRuntime("out")', 'SdkRuntime("out", msg_level="INFO")')
    ran = script(program, """
        r.launch("scale", np.float32(1), np.int16(1), nonblock=False)
        r.memcpy_d2h(np.zeros(6, np.int32), r.get_id("n"), 0, 0, W, H, 1, data_type=WIDE, **COPY)
        r.stop()
    """, preamble=text)
    lines = ran.err.splitlines()
    assert [line.split(": ")[-1] for line in lines] == ["launch scale", "copy of 6 words", "stopped"]


def test_16_bit_copies_of_32_bit_elements_are_warned_of(program):
    ran = script(program, """
        r.memcpy_h2d(r.get_id("a"), np.zeros(6, np.uint32), 0, 0, 1, 1, 6, data_type=NARROW, **COPY)
        r.stop()
    """)
    assert "'a' ([*]f32) has elements of 32 bits" in ran.err and "[copy_narrow]" in ran.err
    assert "run.py" in ran.err


BYTES_LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("odd", [*]u8, true);
  @export_name("flags", [*]bool, true);
  @export_name("is_set", bool, true);
}
"""
BYTES_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var odd = [3]u8{ 1, 2, 3 };
var flags = [4]bool{ true, false, true, true };
var is_set: bool = true;
var odd_ptr: [*]u8 = &odd;
var flags_ptr: [*]bool = &flags;
comptime {
  @export_symbol(odd_ptr, "odd");
  @export_symbol(flags_ptr, "flags");
  @export_symbol(is_set);
}
"""


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_elements_of_8_bits_are_copied_by_words_and_warned_of(tmp_path, arch):
    """Wherever the variables stand: words lie at even addresses."""
    program = host_run.build(tmp_path, BYTES_LAYOUT, BYTES_PE, arch=arch, params={})
    ran = script(program, """
        def words(name, n):
            got = np.zeros(n, np.uint32)
            r.memcpy_d2h(got, r.get_id(name), 0, 0, 1, 1, n, data_type=NARROW, **COPY)
            return [hex(word) for word in got]
        print(words("odd", 1), words("flags", 2), words("is_set", 1))
        r.memcpy_h2d(r.get_id("flags"), np.array([0x0100, 0], np.uint32), 0, 0, 1, 1, 2,
                     data_type=NARROW, **COPY)
        print(words("flags", 2), words("is_set", 1), words("odd", 1))
        r.stop()
    """)
    assert ran.out.splitlines()[:2] == ["['0x201'] ['0x1', '0x101'] ['0x1']",
                                        "['0x100', '0x0'] ['0x1'] ['0x201']"]
    assert "'flags' ([*]bool) has elements of 8 bits; a copy moves words of the tile's memory, " \
           "with 2 of them in 16 bits [copy_bytes]" in ran.err


def test_floats_in_16_bit_copies_are_warned_of(program):
    """Their low halves mean nothing; 16-bit patterns in an array of float32 are fine."""
    ran = script(program, """
        h = r.get_id("h")
        patterns = np.full(5, 1.5, np.float16).view(np.uint16).astype(np.uint32)
        r.memcpy_h2d(h, patterns, 0, 0, 1, 1, 5, data_type=NARROW, **COPY)
        r.memcpy_h2d(h, patterns.view(np.float32), 0, 0, 1, 1, 5, data_type=NARROW, **COPY)
        r.memcpy_h2d(h, np.full(5, 1.5, np.float32), 0, 0, 1, 1, 5, data_type=NARROW, **COPY)
        r.stop()
    """)
    assert ran.err.count("RuntimeWarning") == 1, ran.err
    assert "memcpy_h2d: src has dtype float32" in ran.err
    assert "input_array_to_u32(src.astype(np.float16), None, 1)" in ran.err


def test_numbers_too_large_for_16_bit_copies_are_warned_of(program):
    """Indices in the high halves are none: they come in arrays without a sign."""
    ran = script(program, """
        h = r.get_id("h")
        named = dict(COPY, data_type=NARROW)
        r.memcpy_h2d(h, np.array([-32768, 65535, 0, 1, 2], np.int32), 0, 0, 1, 1, 5, **named)
        r.memcpy_h2d(h, np.arange(5, dtype=np.uint32) * 0x10001, 0, 0, 1, 1, 5, **named)
        r.memcpy_h2d(h, np.array([0, 0, 0, 0, 65536], np.int32), 0, 0, 1, 1, 5, **named)
        r.memcpy_h2d(h, np.array([-32769, 0, 0, 0, 0], np.int32), 0, 0, 1, 1, 5, **named)
        r.stop()
    """)
    told = "memcpy_h2d: src has numbers outside -32768 to 65535; a copy of 16-bit elements moves the"
    assert ran.err.count("RuntimeWarning") == ran.err.count(told) == 2, ran.err


def test_numbers_of_the_other_kind_are_warned_of(program):
    """A copy does not convert; arrays of uint32 hold bits, and zeros are zeros of each type."""
    ran = script(program, """
        a, n = r.get_id("a"), r.get_id("n")
        named = dict(COPY, data_type=WIDE)
        whole, floats = np.arange(6, dtype=np.int32), np.arange(6, dtype=np.float32)
        for fine in (floats, floats.view(np.uint32), whole * 0):
            r.memcpy_h2d(a, fine, 0, 0, 1, 1, 6, **named)
        r.memcpy_d2h(floats.view(np.uint32), a, 0, 0, 1, 1, 6, **named)
        r.memcpy_h2d(n, whole[:1] + 1, 0, 0, 1, 1, 1, **named)
        print("MISTAKES")
        r.memcpy_h2d(a, whole, 0, 0, 1, 1, 6, **named)
        r.memcpy_d2h(whole, a, 0, 0, 1, 1, 6, **named)
        r.memcpy_h2d_colbcast(n, floats[:1] + 1, 0, 0, 1, 2, 1, **named)
        r.memcpy_d2h(floats[:1], n, 0, 0, 1, 1, 1, **named)
        r.stop()
    """)
    told = [line.split("Warning: ")[1] for line in ran.err.splitlines() if "Warning: " in line]
    moved = "; a copy moves their bits, which stand for other numbers there: use an array of "
    bits = ", or .view(np.uint32) of this one if the bits are meant"
    in_a = f"'a' ([*]f32) has elements of f32{moved}float32{bits}"
    in_n = f"'n' (i32) has elements of i32{moved}int32{bits}"
    assert told == [f"memcpy_h2d: src has dtype int32, and {in_a}",
                    f"memcpy_d2h: dest has dtype int32, and {in_a}",
                    f"memcpy_h2d_colbcast: src has dtype float32, and {in_n}",
                    f"memcpy_d2h: dest has dtype float32, and {in_n}"], ran.err


def test_wide_copies_of_narrow_elements_are_warned_of(program):
    """An array of uint32 may hold pairs of them."""
    ran = script(program, """
        h = r.get_id("h")
        named = dict(COPY, data_type=WIDE)
        pairs = np.arange(2, dtype=np.uint32) + 0x10001
        r.memcpy_h2d(h, pairs, 0, 0, 1, 1, 2, **named)
        r.memcpy_d2h(pairs, h, 0, 0, 1, 1, 2, **named)
        r.memcpy_h2d(h, np.arange(2, dtype=np.int32), 0, 0, 1, 1, 2, **dict(COPY, data_type=NARROW))
        print("MISTAKES")
        r.memcpy_h2d(h, np.arange(2, dtype=np.float32), 0, 0, 1, 1, 2, **named)
        r.memcpy_d2h(np.zeros(2, np.int32), h, 0, 0, 1, 1, 2, **named)
        r.stop()
    """)
    told = [line.split("Warning: ")[1] for line in ran.err.splitlines() if "Warning: " in line]
    assert len(told) == 2, ran.err
    assert told[0].startswith("memcpy_h2d: src has dtype float32, and 'h' (")
    assert told[1].startswith("memcpy_d2h: dest has dtype int32, and 'h' (")
    assert all("lays each of them over two of those: use data_type=MemcpyDataType.MEMCPY_16BIT"
               in line for line in told)


def test_axes_in_another_order_are_warned_of(program):
    ran = script(program, """
        a, h = r.get_id("a"), r.get_id("h")
        column = dict(COPY, order=MemcpyOrder.COL_MAJOR)
        def array(*shape):
            return np.zeros(shape, np.float32)
        for fine in (array(36), array(2, 3, 6), array(6, 6), array(2, 3, 1, 6)):
            r.memcpy_h2d(a, fine, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
            r.memcpy_d2h(fine, a, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d(a, array(6, 3, 2), 0, 0, 3, 2, 6, data_type=WIDE, **column)
        r.memcpy_h2d(a, array(2, 3, 6).T, 0, 0, 3, 2, 6, data_type=WIDE, **column)
        r.memcpy_h2d_colbcast(a, array(3, 6), 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_rowbcast(a, array(6, 2), 0, 0, 3, 2, 6, data_type=WIDE, **column)
        r.memcpy_h2d_stride(a, array(2, 2, 5), 0, 0, 3, 2, 5, 2, 1, data_type=WIDE, **COPY)
        print("MISTAKES")
        r.memcpy_h2d(a, array(3, 2, 6), 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_d2h(array(2, 3, 6), a, 0, 0, 3, 2, 6, data_type=WIDE, **column)
        r.memcpy_h2d(a, array(6, 1, 3), 0, 0, 3, 1, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_colbcast(a, array(6, 3), 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_stride(a, array(2, 2, 5), 0, 0, 3, 2, 5, 2, 1, data_type=WIDE, **column)
        r.stop()
    """)
    told = [line.split("Warning: ")[1] for line in ran.err.splitlines() if "Warning: " in line]
    end = ": if its axes mean something else, np.transpose changes their order"
    assert told == [
        "memcpy_h2d: src has the shape (3, 2, 6); in ROW_MAJOR order the transfer takes it as "
        "A[h][w][l] of (2, 3, 6)" + end,
        "memcpy_d2h: dest has the shape (2, 3, 6); in COL_MAJOR order the transfer takes it as "
        "A[l][w][h] of (6, 3, 2)" + end,
        "memcpy_h2d: src has the shape (6, 1, 3); in ROW_MAJOR order the transfer takes it as "
        "A[w][l] of (3, 6)" + end,
        "memcpy_h2d_colbcast: src has the shape (6, 3); in ROW_MAJOR order the transfer takes it as "
        "A[w][l] of (3, 6)" + end,
        "memcpy_h2d_stride: src has the shape (2, 2, 5); in COL_MAJOR order the transfer takes it as "
        "A[l][w][h] of (5, 2, 2)" + end], ran.err


def test_a_failure_is_raised_again_without_the_lines_of_earlier_calls(program):
    script(program, """
        import traceback
        def crash():
            try:
                r.launch("crash", nonblock=False)
            except DeviceError as error:
                return len(traceback.format_exception(type(error), error, error.__traceback__))
        crash()
        assert crash() == crash()
    """)


def test_what_a_copy_does_not_take_is_warned_of(program):
    """Such as the array of all tiles for a broadcast, which takes one row or column of it."""
    ran = script(program, """
        a, all_tiles = r.get_id("a"), np.zeros(36, np.float32)
        r.memcpy_h2d(a, all_tiles, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_stride(a, all_tiles[:24], 0, 0, 3, 2, 6, 2, 1, data_type=WIDE, **COPY)
        r.memcpy_h2d(a, all_tiles, 0, 0, 3, 1, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_colbcast(a, all_tiles, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d_rowbcast(a, all_tiles, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_d2h(all_tiles, a, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        r.memcpy_d2h(all_tiles, a, 0, 0, 3, 2, 5, data_type=WIDE, **COPY)
        text = message(r.memcpy_h2d_rowbcast, a, all_tiles[:9], 0, 0, 3, 2, 6, data_type=WIDE,
                       **COPY)
        assert text.endswith("fewer than the 12 for 2 rows with 6 elements each"), text
        text = message(r.memcpy_h2d_stride, a, all_tiles[:9], 0, 0, 3, 2, 6, 2, 1, data_type=WIDE,
                       **COPY)
        assert text.endswith("fewer than the 24 for one of 2 columns and one of 1 rows of a region "
                             "of 3 x 2 tiles, with 6 elements each"), text
        r.stop()
    """)
    told = [line.split("Warning: ")[1] for line in ran.err.splitlines() if "Warning: " in line]
    assert told == [
        "memcpy_h2d: src holds 36 elements; the copy takes the first 18, for a region of 3 x 1 "
        "tiles with 6 elements each",
        "memcpy_h2d_colbcast: src holds 36 elements; the copy takes the first 18, for 3 columns "
        "with 6 elements each",
        "memcpy_h2d_rowbcast: src holds 36 elements; the copy takes the first 12, for 2 rows "
        "with 6 elements each",
        "memcpy_d2h: dest holds 36 elements; the copy writes the first 30, for a region of 3 x 2 "
        "tiles with 5 elements each"], ran.err


def test_reading_past_a_variable_is_warned_of(program):
    """Existing programs do it; writing there is an error."""
    ran = script(program, """
        words = np.zeros(W * H * 7, np.float32)
        r.memcpy_h2d(r.get_id("a"), np.full(W * H * 6, 5, np.float32), 0, 0, W, H, 6,
                     data_type=WIDE, **COPY)
        r.memcpy_d2h(words, r.get_id("a"), 0, 0, W, H, 7, data_type=WIDE, **COPY)
        assert (words.reshape(W * H, 7)[:, :6] == 5).all()
        assert r._library.wse_warnings(r._handle) is None       # each comes once
        far = np.zeros(12288, np.float32)
        text = message(r.memcpy_d2h, far, r.get_id("h"), 0, 0, 1, 1, 12288, data_type=WIDE, **COPY)
        assert "outside the tile's memory" in text, text
        r.stop()
    """)
    assert "28 bytes are read from 'a' of tile 0,0, whose variable has 24 bytes" in ran.err
    assert "[read_too_long]" in ran.err and ran.err.count("warning: 28 bytes") == 1
    assert "run.py:" in ran.err.splitlines()[0] and "memcpy_d2h(words" in ran.err


def test_findings_are_told_before_the_script_stops(tmp_path):
    """A script may fail before its stop(), because what it has read is wrong."""
    layout = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1 });
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("fill", fn(u16)void);
}
"""
    pe = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var out = @zeros([4]u16);
var behind = @zeros([4]u16);
fn fill(n: u16) void {
  for (@range(u16, n)) |i| { out[i] += 1; }
  behind[3] += 1;
  sys_mod.unblock_cmd_stream();
}
comptime { @export_symbol(fill); }
"""
    host_run.build(tmp_path, layout, pe, params={"W": 1})
    ran = script(tmp_path, """
        r.launch("fill", np.uint16(6), nonblock=False)
        r.launch("fill", np.uint16(6), nonblock=False)
    """)
    first = ran.err.splitlines()[0]
    assert "run.py:" in first and "[OUT_OF_BOUNDS]" in first, ran.err
    assert "meant for the variable: 'out'" in ran.err
    assert ran.err.count("OUT_OF_BOUNDS") == 1       # each comes once


def test_what_is_left_undone_is_warned_of(tmp_path):
    pe = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(3);
task take(value: u32) void { }
const id = if (@is_arch("wse3")) @get_data_task_id(in_queue) else @get_data_task_id(@get_color(4));
comptime {
  if (@is_arch("wse3")) { @initialize_queue(in_queue, .{ .color = @get_color(4) }); }
  @bind_data_task(take, id);
  @block(id);
}
"""
    layout = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H,
  .MEMCPYH2D_1 = @get_color(4) });
layout {
  @set_rectangle(W, H);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
}
"""
    host_run.build(tmp_path, layout, pe, params={"W": 1, "H": 1})
    text = """
        r.memcpy_h2d(4, np.array([7], np.uint32), 0, 0, 1, 1, 1, streaming=True, data_type=WIDE,
                     order=MemcpyOrder.ROW_MAJOR, nonblock=False)
        r.stop()
    """
    ran = script(tmp_path, text)
    assert "the fabric is quiet with work left undone" in ran.err and "run.py:" in ran.err
    quiet = host_run.PREAMBLE.replace('SdkRuntime("out")', 'SdkRuntime("out", msg_level="ERROR")')
    assert script(tmp_path, text, preamble=quiet).err == ""


def test_a_tile_without_the_library_is_named(tmp_path):
    layout = """
param W: u16;
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "pe.csl");
  @export_name("go", fn()void);
}
"""
    host_run.build(tmp_path, layout, "fn go() void { } comptime { @export_symbol(go); }",
                   params={"W": 1}, channels=1)
    ran = script(tmp_path, """
        try:
            r.launch("go", nonblock=False)
        except RuntimeError as e:
            print(e)
    """)
    assert "cannot enter: its program does not import <memcpy/memcpy>" in ran.out, ran.out


def test_a_source_that_is_changed_before_the_copy_is_done(program):
    """The emulator has taken the values by then; the machine may not have."""
    changes = """
        x = np.arange(36, dtype=np.float32)
        task = r.memcpy_h2d(r.get_id("a"), x, 0, 0, 3, 2, 6, streaming=False, data_type=WIDE,
                            order=MemcpyOrder.ROW_MAJOR, nonblock=True)
        WAIT
        x[3] = 7
        y = np.zeros(36, np.float32)
        r.memcpy_d2h(y, r.get_id("a"), 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        x[4] = 7
        r.stop()
    """
    told = script(program, changes.replace("WAIT", "")).err
    assert told.count("memcpy_h2d: src has been changed before the transfer was done") == 1, told
    assert "with nonblock=True, wait for the task first, or pass a copy" in told
    assert script(program, changes.replace("WAIT", "r.task_wait(task)")).err == ""
    assert script(program, changes.replace("nonblock=True", "nonblock=False")
                  .replace("WAIT", "")).err == ""


def test_sdk_utils(program):
    script(program, """
        from cerebras.sdk import sdk_utils
        r.stop()
        times = np.array([5, 1, 0, 0xfffe, 2, 3], np.uint16).view(np.float32)
        assert sdk_utils.calculate_cycles(times) == (0xfffe + (2 << 16) + (3 << 32)) - 65541
        words = np.array([[0x11223344, 0xffff0001]], np.uint32)
        view = sdk_utils.memcpy_view(words, np.int16)
        assert view.shape == (1, 2) and view.tolist() == [[0x3344, 1]]
        view[0, 1] = -2
        assert words[0, 1] == 0xfffffffe
        assert sdk_utils.memcpy_view(words, np.uint8).tolist() == [[0x44, 0xfe]]
        assert sdk_utils.memcpy_view(words, np.float32).dtype == np.float32
        half = np.array([1, -1, 0.5], np.float16)
        assert sdk_utils.input_array_to_u32(half, None, 3).tolist() == [0x3c00, 0xbc00, 0x3800]
        assert sdk_utils.input_array_to_u32(np.arange(4, dtype=np.int16), 1, 2).tolist() == [
            0, 0x10001, 2, 0x10003]
        assert "32-bit" in message(sdk_utils.memcpy_view, np.zeros(2), np.int16)
        assert "1, 2 or 4 bytes" in message(sdk_utils.memcpy_view, words, np.float64)
        assert "16-bit" in message(sdk_utils.input_array_to_u32, words, None, 1)
        assert "three" in message(sdk_utils.calculate_cycles, words[0])
    """)


def test_sdk_utils_take_arrays_of_any_shape_and_nothing_else(program):
    script(program, """
        from cerebras.sdk.sdk_utils import calculate_cycles, input_array_to_u32, memcpy_view
        r.stop()
        words = np.arange(12, dtype=np.uint32).reshape(3, 4) + 0x10000
        for part in (words.T, words[::2], words[:, 1::2], words[::-1], words[1, 1:2].reshape(())):
            view = memcpy_view(part, np.int16)
            assert view.shape == part.shape and (view == (part & 0xffff)).all()
        memcpy_view(words.T, np.int16)[1, 2] = -1
        assert words[2, 1] == 0x1ffff

        assert calculate_cycles(np.array([1, 0, 0, 4, 0, 0], np.uint16)) == 3
        assert "not elements of dtype int64" in message(calculate_cycles, [1, 2, 3])
        assert "not elements of dtype float64" in message(calculate_cycles, np.zeros(3))
        for call in (lambda a: memcpy_view(a, np.int16), lambda a: input_array_to_u32(a, None, 1)):
            assert "needs a numpy array, not list" in message(call, [1, 2])
        half = np.zeros(70000, np.int16)
        assert input_array_to_u32(half[:65536], 0, 70000)[-1] == 0xffff0000
        assert input_array_to_u32(half, None, 70000).size == 70000
        assert "index up to 65535" in message(input_array_to_u32, half, 0, 70000)
        assert "fast_dim_sz must be at least 1, not 0" in message(input_array_to_u32, half, 0, 0)
        assert "must be an integer, not float" in message(input_array_to_u32, half, 0, 4 / 2)
    """)


def test_runtime_utils(program):
    script(program, """
        from cerebras.sdk.debug.debug_util import debug_util
        from cerebras.sdk.runtime import runtime_utils as ru
        from cerebras.sdk import sdk_utils
        r.stop()
        assert ru.debug_util is debug_util
        assert ru.input_array_to_u32 is sdk_utils.input_array_to_u32
        words = np.array([0x1ffff, 2], np.uint32)
        assert ru.output_array_from_u32(words, np.int16).tolist() == [-1, 2]

        # 4 rows, 6 columns; 2 by 2 tiles from (1, 3), each with its columns one after the other.
        a = np.arange(24, dtype=np.float32).reshape(4, 6)
        port = "{ A[j=0:3][i=0:5] -> [PE[1 + i//3, 3 + j//2] -> index[i%3, j%2]] }"
        *region, data = ru.convert_input_tensor(port, a)
        assert region == [1, 3, 2, 2, 6]
        tile = data.view(np.float32).reshape(2, 2, 6)[1, 0]
        assert tile.tolist() == [12, 18, 13, 19, 14, 20]
        *region, out = ru.prepare_output_tensor(port, np.float32)
        assert region == [1, 3, 2, 2, 6] and out.dtype == np.float32
        out[:] = data.view(np.float32)
        assert (ru.format_output_tensor(port, np.float32, out) == a).all()

        # One element; 16-bit elements in 32-bit words.
        port = "{ n[i=0:0][j=0] -> [PE[1, 0] -> index[i]] }"
        *region, out = ru.prepare_output_tensor(port, np.int16)
        assert region == [1, 0, 1, 1, 1] and out.dtype == np.uint32
        out[0] = 0xfffe
        assert ru.format_output_tensor(port, np.int16, out).tolist() == [[-2]]

        assert "the form" in message(ru.convert_input_tensor, "{ A[i=0:1] }", a)
        assert "a dimension is" in message(
            ru.convert_input_tensor, "{ A[i] -> [PE[0, 0] -> index[i]] }", a)
        assert "two coordinates" in message(
            ru.convert_input_tensor, "{ A[i=0:1] -> [PE[0] -> index[i]] }", a)
        assert "cannot read" in message(
            ru.convert_input_tensor, "{ A[i=0:1] -> [PE[0, 0] -> index[i+]] }", a)
        assert "'k' is none of its indices" in message(
            ru.convert_input_tensor, "{ A[i=0:1] -> [PE[0, 0] -> index[k]] }", a)
        for where, what in ("[i - 1, 0] -> index[i]", "PE"), ("[0, 0] -> index[i, -1]", "index"):
            assert f"some of '{what}' is below 0" in message(
                ru.convert_input_tensor, "{ A[i=0:1] -> [PE" + where + "] }", a)
        assert "of 2 elements, the tensor has 24" in message(
            ru.convert_input_tensor, "{ A[i=0:1] -> [PE[0, 0] -> index[i]] }", a)
        for ranges, index, told in (("[i=0:23]", "i%0", "'i%0' divides by 0"),
                                    ("[i=0:23]", "1//0", "'1//0' divides by 0"),
                                    ("[i=0:1//0]", "i", "'1//0' is no number from 0 on"),
                                    ("[i=1:0]", "i", "a dimension ends before it begins"),
                                    ("[i=0:1][i=0:11]", "i", "two dimensions have one name"),
                                    ("[i=0:23]", "i*10000000000000000000", "of more than 64 bits"),
                                    ("[i=0:23]", "i//2*2", "lays two elements of the tensor over")):
            assert told in message(
                ru.convert_input_tensor, "{ A" + ranges + " -> [PE[0, 0] -> index[" + index + "]] }", a)
    """)


def test_a_folder_of_traces_for_scripts_that_move_it(program):
    script(program, """
        import shutil
        r.stop()
        shutil.move("simfab_traces", "out/simfab_traces")
    """)
    script(program, "r.stop()", preamble=host_run.PREAMBLE.replace(
        'SdkRuntime("out")', 'SdkRuntime("out", suppress_simfab_trace=True)'))
    assert not (program / "simfab_traces").exists()


def test_geometry(program):
    script(program, """
        from cerebras.geometry.geometry import IntRectangle, IntVector
        r.stop()
        box = IntRectangle(IntVector(2, 3), IntVector(5, 4))
        assert (box.width, box.height) == (3, 1)
        assert IntVector(1, 2) == IntVector(1, 2) and len({IntVector(1, 2), IntVector(1, 2)}) == 1
        assert "lower right" in message(IntRectangle, IntVector(1, 1), IntVector(0, 5))
    """)


FILL = """
r.memcpy_h2d(r.get_id("a"), np.full(6, 3, np.float32), 0, 0, 1, 1, 6, data_type=WIDE, **COPY)
"""
LOOK = """
from cerebras.sdk.debug.debug_util import debug_util
debug = debug_util("out")
assert debug.get_symbol(4, 1, "a", np.float32).tolist() == [3.0] * 6
rectangle = debug.get_symbol_rect(((5, 1), (2, 2)), "a", np.float32)
assert rectangle.shape == (2, 2, 6) and rectangle[1][0].tolist() == [0.0] * 6
assert "outside the program's rectangle" in message(debug.get_symbol, 0, 0, "a", "u1")
assert "height must be at least 1" in message(debug.get_symbol_rect, ((5, 1), (2, 0)), "a", "f4")
assert "a rectangle must be a pair (A, B), not (5, 1, 2, 2)" in message(
    debug.get_symbol_rect, (5, 1, 2, 2), "a", "f4")
assert "width must be an integer, not float" in message(
    debug.get_symbol_rect, ((5, 1), (4 / 2, 2)), "a", "f4")
assert "no symbol 'z'" in message(debug.get_symbol, 4, 1, "z", "u1")
assert "imports no <debug>" in message(debug.read_trace, 4, 1, "key")
assert "emulator only" in message(debug_util, "out", cmaddr="1.2.3.4:9")
"""


def test_looking_into_tiles_after_the_end(program):
    script(program, FILL + "r.stop()" + LOOK +
           'assert "has not been run and stopped" in message(debug_util("elsewhere").get_symbol, 4, 1, "a", "u1")')
    # A program that has failed can be looked at too.
    script(program, FILL + 'message(r.launch, "crash")' + LOOK)


def test_looking_into_a_core_of_another_process(program):
    script(program, FILL + 'r.stop()\nr.dump_core("corefile.cs1")')
    without_run = "\n".join(line for line in host_run.PREAMBLE.splitlines()
                            if not line.startswith("r"))
    script(program, LOOK + 'assert "elsewhere" in message(debug_util("elsewhere").get_symbol, 4, 1, "a", "u1")',
           preamble=without_run)
    (program / "look.dbg").write_text("print a[5]\n")
    ran = harness.run([harness.tool("wse-dbg"), program / "out", f"--core={program}/corefile.cs1",
                       "-x", program / "look.dbg"])
    assert "a[5] = 3\n" in ran.out, ran.out
    (program / "corefile.cs1").write_bytes(b"x" + (program / "corefile.cs1").read_bytes()[1:])
    script(program, """
        from cerebras.sdk.debug.debug_util import debug_util
        said = message(debug_util("out").get_symbol, 4, 1, "a", "u1")
        assert "corefile.cs1" in said and "it is no state of a run" in said, said
    """, preamble=without_run)
    (program / "corefile.cs1").unlink()
    # A run that has failed leaves a core of the same kind, with the times of its run.
    script(program, FILL + 'message(r.launch, "crash")',
           env={"WSE_ARGS": "--save-state=corefile.cs1 --timing=fp:9 --check-reads"})
    script(program, LOOK, preamble=without_run)
    (program / "corefile.cs1").unlink()
    script(program, """
        try:
            r.dump_elf_core("x")
        except NotImplementedError as error:
            assert "dump_core()" in str(error)
        else:
            raise AssertionError
        r.stop()
    """)


def test_a_platform_with_a_core(program):
    script(program, """
        from pathlib import Path
        from cerebras.sdk.runtime.sdkruntimepybind import SimfabConfig, get_platform
        r.stop()
        for config, path in ((SimfabConfig(dump_core=True), "out.core"),
                             (SimfabConfig(dump_core=True, core_path="my.core"), "my.core")):
            with SdkRuntime("out", get_platform(config=config)):
                pass
            assert Path(path).stat().st_size > 0
            Path(path).unlink()
    """)


PRINT_LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
  }
  @export_name("main", fn(u16)void);
}
"""
PRINT_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const prt = @import_module("<simprint>");
const trace = @import_module("<debug>", .{ .key = "mine", .buffer_size = 100 });
fn main(n: u16) void {
  prt.fmt_with_coords("got {d}", .{ n });
  trace.trace(n);
  trace.trace_string("text");
  @assert(n != 13);
  sys_mod.unblock_cmd_stream();
}
comptime { @export_symbol(main); }
"""


def test_device_prints_are_in_sim_log(tmp_path):
    """In the folder where the script runs, each line behind its cycle; a line that a tile printed
    before it failed is there too."""
    host_run.build(tmp_path, PRINT_LAYOUT, PRINT_PE, params={"W": 2, "H": 1})
    script(tmp_path, """
        from cerebras.sdk.debug.debug_util import debug_util
        r.launch("main", np.uint16(7), nonblock=False)
        text = message(r.launch, "main", np.uint16(13))
        assert "ASSERT" in text, text
        lines = open("sim.log").read().splitlines()
        words = [line.split(" ", 1) for line in lines]
        assert sorted(w[1] for w in words) == ["PE(0,0): got 13", "PE(0,0): got 7",
                                               "PE(1,0): got 13", "PE(1,0): got 7"], lines
        assert all(w[0][0] == "@" and int(w[0][1:]) > 0 for w in words)
        assert debug_util("out").read_trace(5, 1, "mine") == [7, "text", 13, "text"]
    """)


def test_a_sim_log_that_cannot_be_written_has_its_reason(tmp_path):
    host_run.build(tmp_path, PRINT_LAYOUT, PRINT_PE, params={"W": 2, "H": 1})
    (tmp_path / "sim.log").mkdir()
    ran = harness.run([harness.tool("cs_python"), "-c", host_run.PREAMBLE], cwd=tmp_path, expect=1)
    assert "cannot write 'sim.log': Is a directory" in ran.err


def test_environment_chooses_engine_limit_and_trace(program):
    script(program, """
        import json
        r.launch("scale", np.float32(1), np.int16(1), nonblock=False)
        r.stop()
        assert json.loads(r._library.wse_statistics(r._handle))["engine"] == "reference"
        lines = open("my.trace").read().splitlines()
        assert lines and all(" task " in line for line in lines)
    """, env={"WSE_ENGINE": "reference", "WSE_TRACE": "task", "WSE_TRACE_FILE": "my.trace"})
    script(program, """
        text = message(r.launch, "scale", np.float32(1), np.int16(1))
        assert "limit of 30 cycles" in text, text
    """, env={"WSE_MAX_CYCLES": "30"})
    ran = harness.run([harness.tool("cs_python"), "-c", host_run.PREAMBLE], cwd=program, expect=1,
                      env={"WSE_ENGINE": "slow"})
    assert "WSE_ENGINE=slow: it is fast or reference" in ran.err
    for text in ("many", "-1", str(2 ** 64)):
        ran = harness.run([harness.tool("cs_python"), "-c", host_run.PREAMBLE], cwd=program,
                          expect=1, env={"WSE_MAX_CYCLES": text})
        assert f"WSE_MAX_CYCLES={text}: it is a number of cycles" in ran.err


# ---- scripts for the appliance --------------------------------------------------------------------

def test_client_of_the_appliance(program):
    (program / "child.py").write_text(textwrap.dedent("""
        import argparse
        from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
        parser = argparse.ArgumentParser()
        parser.add_argument("--cmaddr")
        runner = SdkRuntime("latest", cmaddr=parser.parse_args().cmaddr)
        runner.load()
        runner.run()
        runner.stop()
        open("result.txt", "w").write("ran")
        print("CHILD")
    """))
    (program / "loose.csl").write_text(
        "layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, \"empty.csl\", .{ .n = 1 });\n}\n")
    (program / "empty.csl").write_text("var v: i16 = 0;\n")
    ran = script(program, """
        from pathlib import Path
        from cerebras.appliance.pb.sdk import sdk_common_pb2
        from cerebras.appliance import logger
        from cerebras.sdk import client
        from cerebras.sdk.client.debug_util import debug_util
        from cerebras.sdk.client.sdk_utils import calculate_cycles
        import logging
        import tarfile
        import warnings
        r.stop()
        assert sdk_common_pb2.MemcpyOrder is MemcpyOrder
        options = "--arch=wse3 --fabric-dims=10,4 --fabric-offsets=4,1 --params=W:3,H:2 --memcpy"
        job = dict(mgmt_namespace="a", resource_cpu=1000, disable_version_check=True)
        assert "takes no 'cpus'" in message(client.SdkCompiler, cpus=2)
        with client.SdkCompiler(**job) as compiler:
            artifact = compiler.compile(".", "layout.csl", options + " --channels=1 -o latest")
            assert Path(artifact) == Path("latest").resolve()
            assert compiler.compile(".", "layout.csl", options + " -o=l2", ".").endswith("/l2")
            text = message(compiler.compile, ".", "layout.csl", "--params=W:3,Q:1 -o latest3")
            assert "cslc layout.csl" in text and "error" in text, text
            compiler.compile(".", "loose.csl", "-o loose")
            compiler.compile(codedir=".", layout="loose.csl", args="-o loose", outdir=".")
            assert "one text, as on a command line" in message(
                compiler.compile, ".", "loose.csl", ["-o", "loose"])
            assert "the folder with the program is a path, not None" in message(
                compiler.compile, None, "loose.csl", "")
            assert "artifact is a path, not None" in message(client.SdkLauncher, None, True)
            for missing in (lambda: compiler.compile("nowhere", "loose.csl", ""),
                            lambda: client.SdkLauncher("nowhere", simulator=True)):
                try:
                    missing()
                    raise AssertionError("no error")
                except FileNotFoundError as error:
                    assert "there is no" in str(error) and "'nowhere'" in str(error), error
        with client.SdkRuntime(artifact, simulator=True, **job) as runner:
            task = runner.launch("scale", np.float32(1), np.int16(1), nonblock=True)
            assert isinstance(task, client.Task)
            runner.task_wait(task)
        assert runner.read_symbol(4, 1, "n", np.int32)[0] == 1
        assert debug_util(artifact).get_symbol(4, 1, "n", np.int32)[0] == 1
        assert calculate_cycles(np.array([5, 0, 0], np.uint32)) == -5
        older = client.SdkRuntime(artifact, simulator=True).start()
        older.stop()
        logger.setLevel(logging.INFO)
        assert logger.getEffectiveLevel() == logger.INFO == logging.INFO
        assert logging.getLogger("cerebras.appliance").level == logging.INFO
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            older = client.SdkRuntime(artifact).start()         # for a machine: the emulator runs it
            older.stop()
            with client.SdkLauncher(artifact, simulator=False) as launcher:
                launcher.stage("child.py")
                assert launcher.run("cs_python child.py --cmaddr %CMADDR%") == "CHILD\\n"
        assert len(told) == 2 and all("simulator=True" in str(t.message) for t in told), told
        assert all(t.filename == "run.py" or t.filename.endswith("/run.py") for t in told), told
        with client.SdkLauncher(artifact, simulator=True, **job) as launcher:
            launcher.stage("child.py")
            for argument in ("--cmaddr %CMADDR%", "--cmaddr=%CMADDR%", "--cmaddr '%CMADDR%'",
                             '--cmaddr "%CMADDR%"', ""):
                assert launcher.run("cs_python child.py " + argument) == "CHILD\\n"
            assert launcher.download_artifact("result.txt", ".") == "result.txt"
            launcher.run("mkdir made; echo 7 > made/seven")
            with tarfile.open(launcher.download_artifact("made", "renamed.tar.gz")) as archive:
                assert archive.extractfile("made/seven").read() == b"7\\n"
            assert launcher.download_artifact("made", ".") == "made.tar.gz"
            assert launcher.download_artifact("result.txt", "./kept/run.txt") == "kept/run.txt"
            assert launcher.download_artifact("made", "kept/all/") == "kept/all/made.tar.gz"
            assert "exit code 3" in message(launcher.run, "exit 3")
            assert "one text, as in a shell" in message(launcher.run, ["ls", "-l"])
            Path("stage_me").mkdir()
            for text in ("first", "second"):        # a folder again, as a file
                Path("stage_me/data").write_text(text)
                launcher.stage("stage_me")
                assert launcher.run("cat stage_me/data") == text
            assert launcher.run("printf 'a\\\\377b'") == "a\\ufffdb"     # no UTF-8
            try:
                launcher.download_artifact("resulted.txt", ".")
                raise AssertionError("no error")
            except FileNotFoundError as error:
                assert str(error).startswith("there is no 'resulted.txt' where the commands have run")
                assert "child.py, latest, made, result.txt" in str(error), error
        assert Path("result.txt").read_text() == Path("kept/run.txt").read_text() == "ran"
        assert "with SdkLauncher" in message(client.SdkLauncher(artifact, True).run, "true")
    """)
    assert "has no parameter 'n' [unknown_param]" in ran.err     # a warning is not swallowed


# ---- random calls -------------------------------------------------------------------------------

def test_random_calls_are_understood(program):
    """The short form of claims/fuzz_host_python.py."""
    calls = harness.ROOT / "tests" / "host_python_calls.py"
    ran = harness.run([harness.tool("cs_python"), calls, "7", "3"], cwd=program,
                      env={"WSE_MAX_CYCLES": "5000"})
    opened, returned, raised = (int(n) for n in re.findall(r"\d+", ran.out))
    assert opened > 10 and returned > 30 and raised > 30, ran.out
