"""The Python layer apart from copies: constructors, life cycle, tasks, helpers, looking into tiles,
cs_python itself, and what it says about mistakes."""
import os
import re
import stat
import subprocess
import sys
import textwrap
import time

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


def test_launches_take_colors_and_other_ids_as_numbers(tmp_path):
    layout = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1 });
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("choose", fn(color, i8, local_task_id)void);
  @export_name("chosen", [*]i16, true);
}
"""
    pe = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var chosen = @zeros([3]i16);
var chosen_ptr: [*]i16 = &chosen;
fn choose(c: color, small: i8, task_id: local_task_id) void {
  chosen[0] = @as(i16, @get_int(c));
  chosen[1] = @as(i16, small);
  chosen[2] = @as(i16, @get_int(task_id));
  sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(choose);
  @export_symbol(chosen_ptr, "chosen");
}
"""
    host_run.build(tmp_path, layout, pe, params={"W": 1})
    ran = script(tmp_path, """
        r.launch("choose", np.uint16(9), np.int8(-3), 12, nonblock=False)
        chosen = np.zeros(3, np.uint32)
        r.memcpy_d2h(chosen, r.get_id("chosen"), 0, 0, 1, 1, 3, streaming=False, data_type=NARROW,
                     order=MemcpyOrder.ROW_MAJOR, nonblock=False)
        assert list(chosen.astype(np.uint16).view(np.int16)) == [9, -3, 12], chosen
        for wrong in -1, 64, 1.5:
            print(message(r.launch, "choose", wrong, 0, 12, nonblock=False))
        print(message(r.launch, "choose", 3, 0, 31, nonblock=False))
    """)
    told = [line for line in ran.out.splitlines() if "argument" in line]
    assert [line.split(": ", 1)[1] for line in told] == [
        "argument 1 of 'choose': -1 is outside 0 to 63 (color)",
        "argument 1 of 'choose': 64 is outside 0 to 63 (color)",
        "argument 1 of 'choose' is an integer (color), 1.5 given",
        "argument 3 of 'choose': 31 is outside 8 to 30 (local_task_id)"], ran
    for arguments, told in (("64,0,12", "'64' is no value of type color"),
                            ("3,0,-65524", "'-65524' is no value of type local_task_id")):
        ran = harness.emu(tmp_path / "out", f"--launch=choose({arguments})", expect=1)
        assert told in ran.err, ran.err


NARROW_LAYOUT = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1 });
layout {
  @set_rectangle(W, 1);
  for (@range(u16, W)) |x| @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
  @export_name("a", [*]i24, true);
  @export_name("b", [*]u12, true);
  @export_name("c", [*]i48, true);
  @export_name("d", [*]i32, true);
}
"""
NARROW_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var a = @zeros([2]i24);
var b = @zeros([2]u12);
var c = @zeros([2]i48);
var d = @zeros([2]i32);
var a_ptr: [*]i24 = &a;
var b_ptr: [*]u12 = &b;
var c_ptr: [*]i48 = &c;
var d_ptr: [*]i32 = &d;
comptime {
  @export_symbol(a_ptr, "a");
  @export_symbol(b_ptr, "b");
  @export_symbol(c_ptr, "c");
  @export_symbol(d_ptr, "d");
}
"""


@pytest.mark.parametrize("order", ["ROW_MAJOR", "COL_MAJOR"])
def test_a_copy_of_numbers_that_a_type_does_not_have_warns(tmp_path, order):
    """Words of 24, of 12 and of 48 bits, in any place of the array; 48 bits are two words."""
    host_run.build(tmp_path, NARROW_LAYOUT, NARROW_PE, params={"W": 3})
    ran = script(tmp_path, f"""
        named = dict(streaming=False, order=MemcpyOrder.{order}, nonblock=False)
        def copy(name, values, words, data_type=WIDE):
            array = np.array(values, np.int64 if name == "c" else np.int32).view(np.uint32)
            if name == "c" and named["order"] == MemcpyOrder.COL_MAJOR:
                array = array.reshape(3, words).T.reshape(-1).copy()
            r.memcpy_h2d(r.get_id(name), array, 0, 0, 3, 1, words, data_type=data_type, **named)
        for value in -2**23, 2**23 - 1, -2**23 - 1, 2**23:
            print("a", value, flush=True)
            copy("a", [0, 1, 2, 3, value, 5], 2)
        for value in 0, 2**12 - 1, 2**12, -1:
            print("b", value, flush=True)
            copy("b", [0, value, 2, 3, 4, 5], 2, NARROW)
        for value in -2**47, 2**47 - 1, 2**47, -2**47 - 1:
            print("c", value, flush=True)
            copy("c", [0, 1, 2, 3, 4, value], 4)
        copy("d", [2**31 - 1, -2**31, 0, 1, 2, 3], 2)
        r.stop()
    """)
    assert [line.split("warning: ", 1)[1] for line in ran.err.splitlines() if "warning" in line] == [
        "a copy to 'a' ([*]i24) has the word -8388609, which i24 (-8388608 to 8388607) does not have; "
        "the copy moves its bits [copy_beyond]",
        "a copy to 'a' ([*]i24) has the word 8388608, which i24 (-8388608 to 8388607) does not have; "
        "the copy moves its bits [copy_beyond]",
        "a copy to 'b' ([*]u12) has the word 4096, which u12 (0 to 4095) does not have; the copy "
        "moves its bits [copy_beyond]",
        "a copy to 'b' ([*]u12) has the word 65535, which u12 (0 to 4095) does not have; the copy "
        "moves its bits [copy_beyond]",
        f"a copy to 'c' ([*]i48) has the word {2**15}, which the upper half of i48 ({-2**47} to "
        f"{2**47 - 1}) does not have; the copy moves its bits [copy_beyond]",
        f"a copy to 'c' ([*]i48) has the word {-2**15 - 1}, which the upper half of i48 ({-2**47} to "
        f"{2**47 - 1}) does not have; the copy moves its bits [copy_beyond]"], ran.err


WIDE_LAYOUT = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1 });
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("keep", fn(i64, f32, u64, i16, i48, i24)void);
  @export_name("wide", [*]i64, true);
  @export_name("real", [*]f32, true);
}
"""
WIDE_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var wide = @zeros([5]i64);
var real = @zeros([1]f32);
var wide_ptr: [*]i64 = &wide;
var real_ptr: [*]f32 = &real;
fn keep(a: i64, b: f32, c: u64, d: i16, e: i48, f: i24) void {
  wide = [5]i64{ a, @as(i64, c / 2), d, e, f };
  real[0] = b;
  sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(keep);
  @export_symbol(wide_ptr, "wide");
  @export_symbol(real_ptr, "real");
}
"""
WIDE_VALUES = (-(2**63) + 5, 1.5, 2**64 - 2, -7, -(2**47), -3)
WIDE_KEPT = [WIDE_VALUES[0], WIDE_VALUES[2] // 2, *WIDE_VALUES[3:]]


def wide_values_are_kept(folder):
    ran = harness.emu(folder / "out", f"--launch=keep({', '.join(map(str, WIDE_VALUES))})",
                      "--print=wide:5", "--print=real:1")
    assert harness.values(ran.out, "real")[0, 0] == [1.5]
    return [int(word) for word in re.search(r"wide@0,0: (.*)", ran.out)[1].split()] == WIDE_KEPT


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_launches_take_numbers_of_64_bits(tmp_path, arch, level):
    """Two words each, in a script and on the command line; other widths keep their signs."""
    host_run.build(tmp_path, WIDE_LAYOUT, WIDE_PE, level, arch=arch, params={"W": 1})
    assert wide_values_are_kept(tmp_path)
    ran = script(tmp_path, f"""
        r.launch("keep", np.int64({WIDE_VALUES[0]}), 1.5, np.uint64({WIDE_VALUES[2]}), np.int16(-7),
                 {WIDE_VALUES[4]}, -3, nonblock=False)
        words = np.zeros(10, np.uint32)
        r.memcpy_d2h(words, r.get_id("wide"), 0, 0, 1, 1, 10, data_type=WIDE, **COPY)
        assert list(words.view(np.int64)) == {WIDE_KEPT}, words
        for wrong in -2**63 - 1, 2**63, 1.5:
            print(message(r.launch, "keep", wrong, 1.5, 0, 0, 0, 0, nonblock=False))
        one_each = (ctypes.c_uint32 * 6)()
        print(message(lambda: r._check(r._library.wse_launch(r._handle, r._symbol("keep").id, one_each,
                                                             6, None))))
    """)
    assert "'keep' takes 9 words as arguments, two for each of 64 bits, 6 given" in ran.out
    assert "[argument_words]" in ran.out
    told = [line.split(": ", 1)[1] for line in ran.out.splitlines() if "argument 1" in line]
    assert told == [
        f"argument 1 of 'keep': {-2**63 - 1} is outside {-2**63} to {2**63 - 1} (i64)",
        f"argument 1 of 'keep': {2**63} is outside {-2**63} to {2**63 - 1} (i64)",
        "argument 1 of 'keep' is an integer (i64), 1.5 given"]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_launches_without_memcpy_take_numbers_of_64_bits(tmp_path, arch):
    (tmp_path / "pe.csl").write_text(WIDE_PE.replace("sys_mod.unblock_cmd_stream();", "").replace(
        'const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);', ""))
    (tmp_path / "layout.csl").write_text(WIDE_LAYOUT)
    harness.compile(tmp_path / "layout.csl", tmp_path / "out", f"--arch={arch}", params={"W": 1})
    assert wide_values_are_kept(tmp_path)


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
        assert "simulator=True" in message(client.SdkRuntime, artifact)
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


# ---- cs_python ------------------------------------------------------------------------------------

def fake_python(folder, name, numpy_works, version_works=True):
    """A program that stands for a Python with or without numpy."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    answer = "old" if not version_works else path if numpy_works else "none"
    path.write_text(f"""#!/bin/sh
case "$2" in
  *version_info*numpy*) echo {answer}; exit ;;
esac
echo "RAN $0 $PYTHONPATH $*"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def cs_python(*args, expect=0, **env):
    return harness.run([harness.tool("cs_python"), *args], expect=expect, env=env)


def test_cs_python_takes_the_python_that_is_named(tmp_path):
    fake = fake_python(tmp_path, "mine", True)
    ran = cs_python("script.py", "--name", "a b", CS_PYTHON=str(fake), PYTHONPATH="/elsewhere")
    words = ran.out.split()
    assert words[:2] == ["RAN", str(fake)] and words[3:] == ["script.py", "--name", "a", "b"]
    assert words[2].endswith(":/elsewhere") and "python" in words[2]


def test_cs_python_does_not_start_itself(tmp_path):
    """Neither by its name nor through a program that starts it."""
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(harness.tool("cs_python")))
    assert "cs_python: is this program, not a Python" in ran.err
    around = tmp_path / "around"
    around.write_text(f'#!/bin/sh\nexec {harness.tool("cs_python")} "$@"\n')
    around.chmod(0o755)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(around))
    assert f"{around}: not Python 3.8 or newer" in ran.err


def test_a_script_may_start_cs_python(tmp_path):
    ran = cs_python("-c", "import subprocess, sys; sys.exit(subprocess.call("
                    "['cs_python', '-c', 'import numpy; print(numpy.__name__)']))")
    assert ran.out == "numpy\n"


def test_packages_of_the_container_are_found(tmp_path):
    (tmp_path / "mine.py").write_text("print('found')\n")
    ran = cs_python("-c", "import mine, wse_lib", SINGULARITYENV_PYTHONPATH=str(tmp_path),
                    PYTHONPATH="/elsewhere")
    assert ran.out == "found\n"


def test_cs_python_without_numpy_says_how_to_get_it(tmp_path):
    fake = fake_python(tmp_path, "mine", False)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(fake))
    assert f"{fake}: has no numpy" in ran.err and "apt-get install python3-numpy" in ran.err
    assert "CS_PYTHON" in ran.err and ran.out == ""
    old = fake_python(tmp_path, "old", True, version_works=False)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(old))
    assert f"{old}: not Python 3.8 or newer" in ran.err
    ran = cs_python("script.py", expect=1, CS_PYTHON="/nowhere/python")
    assert "/nowhere/python: not found" in ran.err


def test_cs_python_looks_further_than_the_first(tmp_path):
    """A python3 on the PATH without numpy is passed over for another that has it."""
    fake_python(tmp_path, "python3", False)
    ran = cs_python("-c", "import numpy, wse_lib; print(numpy.__name__)",
                    PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ran.out == "numpy\n"


def test_cs_python_remembers_the_python_that_it_found(tmp_path):
    """As long as it is the same program, with its numpy."""
    here = tmp_path / "bin"
    here.mkdir()
    python = here / "python3"
    python.symlink_to("/usr/bin/python3")
    known = tmp_path / "cache" / "wse" / "python"

    def run():
        return cs_python("-c", "import numpy, sys; print(sys.executable)", PYTHONPATH="",
                         XDG_CACHE_HOME=str(tmp_path / "cache"),
                         PATH=f"{here}:{os.environ['PATH']}").out
    assert run() == f"{python}\n"
    path, program, numpy = known.read_text().splitlines()
    assert path == str(python) and program == os.path.realpath(python)
    assert numpy.endswith("numpy/__init__.py")
    known.write_text(f"{path}\n{program}\n/nowhere/numpy.py\n")
    assert run() == f"{python}\n"
    assert known.read_text() == f"{path}\n{program}\n{numpy}\n"
    python.unlink()
    fake_python(here, "python3", False)
    assert run() == "/usr/bin/python3\n"
    assert known.read_text().splitlines()[0] == "/usr/bin/python3"


def test_cs_python_remembers_nothing_about_shell_scripts(tmp_path):
    """A shim with the same name may start another Python tomorrow; nor what PYTHONPATH has."""
    fake = fake_python(tmp_path, "mine", True)
    env = {"CS_PYTHON": str(fake), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": ""}
    assert cs_python("a.py", **env).out.startswith("RAN")
    fake_python(tmp_path, "mine", False)
    assert "has no numpy" in cs_python("a.py", expect=1, **env).err
    cs_python("-c", "pass", XDG_CACHE_HOME=str(tmp_path / "other"), PYTHONPATH=str(tmp_path))
    assert not (tmp_path / "other").exists()


def python_without_numpy(tmp_path):
    """A virtual environment, which logs each start."""
    root = tmp_path / "own"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", root], check=True)
    packages, = root.glob("lib/python3*/site-packages")
    (packages / "log.pth").write_text(
        f"import os; open({str(tmp_path / 'asked')!r}, 'a').write('x')\n")
    return root / "bin", packages


def test_cs_python_remembers_a_python_without_numpy(tmp_path):
    """It does not ask that one again, before one of the folders changes where numpy could be."""
    here, packages = python_without_numpy(tmp_path)
    asked, caches = tmp_path / "asked", tmp_path / "cache"

    def run(**env):
        asked.unlink(missing_ok=True)
        env = {"PYTHONPATH": "", "XDG_CACHE_HOME": str(caches), "PATH": f"{here}:/usr/bin:/bin", **env}
        return cs_python("-c", "import sys; print(sys.executable)", **env).out, asked.exists()
    assert run() == ("/usr/bin/python3\n", True)
    assert str(packages) in (caches / "wse" / "python-without-numpy").read_text().splitlines()
    assert run() == ("/usr/bin/python3\n", False)
    assert run(PYTHONPATH=str(packages)) == ("/usr/bin/python3\n", True)
    (packages / "numpy").mkdir()
    (packages / "numpy" / "__init__.py").touch()
    later = time.time() + 60
    os.utime(packages, (later, later))
    assert run()[0] == f"{here}/python3\n"


def test_cs_python_asks_all_again_before_it_gives_up(tmp_path):
    """Numpy may have come into a folder whose time did not change."""
    here, packages = python_without_numpy(tmp_path)
    env = {"PYTHONPATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "CS_PYTHON": f"{here}/python3"}
    assert f"{here}/python3: has no numpy" in cs_python("a.py", expect=1, **env).err
    before = packages.stat()
    (packages / "numpy").mkdir()
    (packages / "numpy" / "__init__.py").touch()
    os.utime(packages, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cs_python("-c", "print(1)", **env).out == "1\n"


def pyenv_root(tmp_path):
    """A root of pyenv with two versions, and a shim that logs each start."""
    root = tmp_path / "pyenv"
    for name in ("3.11.7", "mine"):
        (root / "versions" / name / "bin").mkdir(parents=True)
        (root / "versions" / name / "bin" / "python3").symlink_to("/usr/bin/python3")
    (root / "shims").mkdir()
    shim = root / "shims" / "python3"
    shim.write_text('#!/usr/bin/env bash\necho x >>"$0.asked"\nexec /usr/bin/python3 "$@"\n')
    shim.chmod(0o755)
    return root


@pytest.mark.parametrize("of_variable,of_folder,of_root,taken", (
    ("mine", "3.11.7\n", "3.11.7\n", "mine"),
    ("", "mine", "3.11.7\n", "mine"),
    ("", None, "3.11.7\n", "3.11.7"),
    ("", None, None, None),
    ("", None, "system\n", None),
    ("", None, "3.11.7\nmine\n", None),
    ("", "# chosen by hand\nmine\n", "mine\n", None),
    ("3.11.7:mine", None, "mine\n", None),
    ("removed", None, "mine\n", None),
))
def test_cs_python_chooses_as_pyenv_does_without_its_shim(tmp_path, of_variable, of_folder, of_root,
                                                          taken):
    """Where pyenv's choice is no single installed version, the shim has to say it."""
    root = pyenv_root(tmp_path)
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    if of_folder is not None:
        (tmp_path / "a" / ".python-version").write_text(of_folder)
    if of_root is not None:
        (root / "version").write_text(of_root)
    out = harness.run(
        [harness.tool("cs_python"), "-c", "import numpy, sys; print(sys.executable)"], cwd=work,
        env={"PYENV_ROOT": str(root), "PYENV_VERSION": of_variable, "PYENV_DIR": "",
             "PYTHONPATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache"),
             "PATH": f"{root}/shims:/usr/bin:/bin"}).out
    expected = f"{root}/versions/{taken}/bin/python3" if taken else "/usr/bin/python3"
    assert out == f"{expected}\n"
    assert (root / "shims" / "python3.asked").exists() == (taken is None)


def test_cs_python_makes_no_folder_for_who_has_no_home(tmp_path):
    log = tmp_path / "made"
    (tmp_path / "mkdir").write_text(f'#!/bin/sh\necho "$@" >>{log}\n')
    (tmp_path / "mkdir").chmod(0o755)
    env = {"PYTHONPATH": "", "PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_CACHE_HOME": ""}
    assert cs_python("-c", "print(1)", HOME="", **env).out == "1\n"
    assert not log.exists(), log.read_text()
    assert cs_python("-c", "print(1)", HOME=str(tmp_path), **env).out == "1\n"
    # Once for each Python that it remembers: one without numpy may come first.
    assert set(log.read_text().splitlines()) == {f"-p {tmp_path}/.cache/wse"}


def test_cs_python_does_not_import_numpy_to_find_it(tmp_path):
    """The import takes longer than everything else that happens before the script starts."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(
        f"open({str(tmp_path / 'imports')!r}, 'a').write('x')\n")
    env = {"PYTHONPATH": str(tmp_path), "CS_PYTHON": sys.executable}
    cs_python("-c", "pass", **env)
    assert not (tmp_path / "imports").exists()
    cs_python("-c", "import numpy", **env)
    assert (tmp_path / "imports").read_text() == "x"


def test_cs_python_hands_on_the_exit_code():
    assert cs_python("-c", "import sys; sys.exit(7)", expect=7).code == 7


def test_the_missing_library_is_named(tmp_path):
    ran = cs_python("-c", "import wse_lib; wse_lib.load()", expect=1, WSE_LIB=str(tmp_path / "no.so"))
    assert "no.so" in ran.err


# ---- sdk_debug_shell ------------------------------------------------------------------------------

def shell(*args, expect=0):
    return harness.run([harness.tool("sdk_debug_shell"), *args], expect=expect)


def test_smoke_runs_the_scripts_where_they_lie(tmp_path):
    for name, text in {"a/commands.sh": "command -v cslc && touch ran",
                       "b c/commands_wse3.sh": "echo what was wrong; exit 3",
                       "d/other.sh": "touch ran"}.items():
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text + "\n")
    ran = shell("smoke", tmp_path, expect=1)
    assert ran.out.splitlines() == [
        f"passed  {tmp_path}/a/commands.sh", f"failed  {tmp_path}/b c/commands_wse3.sh",
        "    what was wrong", "1 passed, 1 failed"]
    assert (tmp_path / "a" / "ran").exists() and not (tmp_path / "d" / "ran").exists()
    assert shell("smoke", tmp_path / "a").out.endswith("1 passed, 0 failed\n")
    empty = shell("smoke", tmp_path / "d", expect=1)
    assert empty.out == "0 passed, 0 failed\n"
    assert empty.err == f"sdk_debug_shell: no commands*.sh below {tmp_path}/d\n"
    assert "no such folder" in shell("smoke", tmp_path / "e", expect=2).err
    assert "--report" in shell("visualize", expect=2).err
    assert shell("--help").out == shell(expect=2).err != ""


# ---- random calls -------------------------------------------------------------------------------

def test_random_calls_are_understood(program):
    """The short form of claims/fuzz_host_python.py."""
    calls = harness.ROOT / "tests" / "host_python_calls.py"
    ran = harness.run([harness.tool("cs_python"), calls, "7", "3"], cwd=program,
                      env={"WSE_MAX_CYCLES": "5000"})
    opened, returned, raised = (int(n) for n in re.findall(r"\d+", ran.out))
    assert opened > 10 and returned > 30 and raised > 30, ran.out
