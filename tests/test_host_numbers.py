"""Numbers of host scripts: arguments of launches, and copies to arrays of uncommon types."""
import re

import pytest

import harness
import host_run
from host_run import script


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
