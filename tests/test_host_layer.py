"""libwse and the Python layer over it: copies, launches, streams, symbols, and the reports of
mistakes in a host script. Scripts run under cs_python in a process of their own."""
import textwrap

import pytest

import harness
import host_run
from host_run import PREAMBLE, script


@pytest.fixture(scope="module", params=("wse2", "wse3"))
def program(request, tmp_path_factory):
    return host_run.build(tmp_path_factory.mktemp(f"host_{request.param}"), arch=request.param)


def test_copies_and_launches(program):
    script(program, """
        a, h = r.get_id("a"), r.get_id("h")
        there = np.arange(W * H * 6, dtype=np.float32)
        small = np.arange(W * H * 5, dtype=np.uint32) - 7 & 0xffff
        r.memcpy_h2d(a, there, 0, 0, W, H, 6, data_type=WIDE, **COPY)
        r.memcpy_h2d(h, small, 0, 0, W, H, 5, data_type=NARROW, **COPY)
        for turn in range(3):
            r.launch("scale", np.float32(2), np.int16(-1), nonblock=turn == 0)
        back = np.zeros(W * H * 6, np.float32)
        r.memcpy_d2h(back, a, 0, 0, W, H, 6, data_type=WIDE, **COPY)
        assert (back == 8 * there).all(), back
        small_back = np.zeros(W * H * 5, np.uint32)
        r.memcpy_d2h(small_back, h, 0, 0, W, H, 5, data_type=NARROW, **COPY)
        assert (small_back == (small - 3 & 0xffff)).all(), small_back
        part = np.zeros(2, np.float32)
        r.memcpy_d2h(part, a, 2, 0, 1, H, 1, data_type=WIDE, **COPY)
        assert part.tolist() == [8 * 12, 8 * 30], part
        count = np.zeros(W * H, np.int32)
        r.memcpy_d2h(count, r.get_id("n"), 0, 0, W, H, 1, data_type=WIDE, **COPY)
        assert (count == 3).all()
        r.stop()
        assert r.read_symbol(4, 1, "n", "int32").tolist() == [3]
    """)


def test_column_major_and_operations_that_are_not_waited_for(program):
    script(program, """
        a = r.get_id("a")
        there = np.random.default_rng(1).random((H, W, 6), np.float32)
        there_f = there.ravel(order="F").copy()
        back = np.zeros(W * H * 6, np.float32)
        later = dict(streaming=False, order=MemcpyOrder.COL_MAJOR, data_type=WIDE, nonblock=True)
        r.memcpy_h2d(a, there_f, 0, 0, W, H, 6, **later)
        r.launch("scale", np.float32(0.5), np.int16(0), nonblock=True)
        task = r.memcpy_d2h(back, a, 0, 0, W, H, 6, **later)
        r.task_wait(task)
        assert r.is_task_done(task)
        assert (back.reshape((H, W, 6), order="F") == there / 2).all()
        r.stop()
    """)


def test_streams(program):
    script(program, """
        words = np.arange(W * H * 9, dtype=np.uint32)
        back = np.zeros(W * H * 9, np.uint32)
        stream = dict(streaming=True, order=MemcpyOrder.ROW_MAJOR, data_type=WIDE)
        task = r.memcpy_d2h(back, 5, 0, 0, W, H, 9, nonblock=True, **stream)
        r.memcpy_h2d(4, words, 0, 0, W, H, 9, nonblock=False, **stream)
        r.task_wait(task)
        expected = words.reshape(H, W, 9) + np.arange(W).reshape(1, W, 1)
        assert (back.reshape(H, W, 9) == expected).all(), back
        more = np.zeros(2, np.uint32)
        r.memcpy_h2d(4, np.array([70, 80], np.uint32), 1, 1, 2, 1, 1, nonblock=True, **stream)
        r.memcpy_d2h(more, 5, 1, 1, 2, 1, 1, nonblock=False, **stream)
        assert more.tolist() == [71, 82], more
        r.stop()
    """)


def test_words_that_the_host_has_not_asked_for_are_told(program):
    script(program, """
        import warnings
        stream = dict(streaming=True, order=MemcpyOrder.ROW_MAJOR, data_type=WIDE, nonblock=False)
        back = np.zeros(2, np.uint32)
        r.memcpy_h2d(4, np.arange(6, dtype=np.uint32), 1, 1, 2, 1, 3, **stream)
        r.memcpy_d2h(back, 5, 1, 1, 2, 1, 1, **stream)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            r.stop()
        text = [str(t.message) for t in told]
        assert len(text) == 1 and "[stream_untaken]" in text[0], text
        assert "4 more word(s) to the host on color 5" in text[0] and "tile 1,1" in text[0], text
    """)


def test_colors_and_symbols_that_are_mixed_up(program):
    script(program, """
        def copy(target, streaming):
            return message(r.memcpy_h2d, target, np.zeros(W * H, np.uint32), 0, 0, W, H, 1,
                           streaming=streaming, order=MemcpyOrder.ROW_MAJOR, data_type=WIDE,
                           nonblock=False)
        told = copy(20, False)           # transfer_streams
        assert "[symbol_number]" in told and "if 20 is a color, the transfer needs streaming=True" in told
        assert "streaming" not in copy(77, False)
        n = r.get_id("n")                # transfer_copies
        assert f"{n} is also the number of the exported symbol 'n'" in copy(n, True)
        assert "also the number" not in copy(20, True)
    """)


CONST_LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H });
layout {
  @set_rectangle(W, H);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("table", [*]const f32, false);
  @export_name("limit", u32, false);
  @export_name("sums", [*]f32, false);
  @export_name("add", fn()void);
}
"""
CONST_PE = """
param memcpy_params;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const table = [2]f32{ 1.5, 2.5 };
const table_ptr: [*]const f32 = &table;
const limit: u32 = 7;
var sums = @zeros([2]f32);
const sums_ptr: [*]f32 = &sums;
fn add() void {
  sums[0] += table[0];
  sums[1] += table[1];
  sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(table_ptr, "table");
  @export_symbol(limit);
  @export_symbol(sums_ptr, "sums");
  @export_symbol(add);
}
"""


@pytest.mark.parametrize("ending, is_warned", [
    ("", True), ("r.stop()", False), ("del r", True), ("r.__exit__(ValueError, None, None)", False),
    ("SdkRuntime('out', msg_level='ERROR').load(); r.stop()", False),
    ("message(r.launch, 'scale', np.float32(1), np.int16(1))", False)])
def test_a_script_that_ends_without_stop(program, ending, is_warned):
    """But not one whose program has ended: the last of these reaches its limit of cycles."""
    limit = {"WSE_MAX_CYCLES": "30"} if "message" in ending else {}
    ran = script(program, ending, env=limit)
    assert ("warning: the script has ended without stop() for " in ran.err) == is_warned, ran.err
    assert ran.err.count("without stop()") == is_warned


def test_an_exception_is_no_end_without_stop(program):
    (program / "run.py").write_text(PREAMBLE + "1 / 0\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=program, expect=1)
    assert "ZeroDivisionError" in ran.err and "stop()" not in ran.err


@pytest.mark.parametrize("waits, is_told", [("pass", True), ("r.task_wait(task)", False)])
def test_an_array_that_is_read_too_early(program, waits, is_told):
    (program / "run.py").write_text(PREAMBLE + f"""
a = np.zeros(6, np.float32)
r.memcpy_h2d(r.get_id("a"), a, 0, 0, 1, 1, 6, data_type=WIDE, **{{**COPY, "nonblock": True}})
task = r.memcpy_d2h(a, r.get_id("a"), 0, 0, 1, 1, 6, data_type=WIDE, **{{**COPY, "nonblock": True}})
{waits}
assert a[0] == 1
""")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=program, expect=1)
    told = "it had not waited for 1 transfer(s) to the host with nonblock=True" in ran.err
    assert told == is_told and "AssertionError" in ran.err, ran.err


def test_constants_cannot_be_copied_to(tmp_path):
    """The code has their values, too.  A constant pointer to variables is none of them: `mutable`
    is about the pointer."""
    host_run.build(tmp_path, CONST_LAYOUT, CONST_PE, params={"W": 1, "H": 1})
    script(tmp_path, """
        copy = dict(COPY, data_type=WIDE)
        two, one = np.array([4, 5], np.float32), np.array([9], np.uint32)
        for name, given in (("table", two), ("limit", one)):
            told = message(r.memcpy_h2d, r.get_id(name), given, 0, 0, 1, 1, len(given), **copy)
            assert "[symbol_is_const]" in told, told
            assert f"note: for input the tile needs a variable: 'var {name} = " in told, told      # export_variable
        r.memcpy_h2d(r.get_id("sums"), two, 0, 0, 1, 1, 2, **copy)
        r.launch("add", nonblock=False)
        for name, holds in (("sums", [5.5, 7.5]), ("table", [1.5, 2.5]), ("limit", [7])):
            back = np.zeros(len(holds), np.uint32 if name == "limit" else np.float32)
            r.memcpy_d2h(back, r.get_id(name), 0, 0, 1, 1, len(holds), **copy)
            assert list(back) == holds, (name, back)
        r.stop()
    """)


def test_mistakes_are_explained(program):
    script(program, """
        import json
        a, one = r.get_id("a"), np.zeros(6, np.float32)
        def copy(*args, **named):
            return message(r.memcpy_h2d, *args, **{**COPY, "data_type": WIDE, **named})
        import warnings
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert r.get_id("aa") is None
        assert "[symbol_unknown]" in str(told[0].message) and "'a'" in str(told[0].message)
        assert told[0].filename.endswith("run.py")
        assert "[symbol_unknown]" in message(r.launch, "aa")
        assert "[region_outside]" in copy(a, one, 3, 0, 1, 1, 6)
        assert "1,0,0,1 has no tiles: its width and its height are 1 or more [region_empty]" in (
            copy(a, one[:0], 1, 0, 0, 1, 6))
        assert "[symbol_number]" in copy(77, one, 0, 0, 1, 1, 6)
        assert "[symbol_is_function]" in copy(r.get_id("scale"), one, 0, 0, 1, 1, 6)
        big = np.zeros(20000, np.float32)
        assert "[elements_too_many]" in copy(a, big, 0, 0, 1, 1, 20000)
        assert "[stream_color]" in copy(22 + 7, one, 0, 0, 1, 1, 6, streaming=True)
        assert "[stream_no_queue]" in copy(7, one, 0, 0, 1, 1, 6, streaming=True)
        assert "[task_number]" in message(r.task_wait, Task(r, 99, True))
        lib, handle = r._library, r._handle
        assert lib.wse_launch(handle, r.get_id("scale"), None, 0, None) == wse_lib.USAGE
        assert b"[argument_count]" in lib.wse_error(handle).contents.message
        assert lib.wse_launch(handle, a, None, 0, None) == wse_lib.USAGE
        assert b"[symbol_is_data]" in lib.wse_error(handle).contents.message
        assert "[symbol_not_in_tile]" in message(r.read_symbol, 4, 1, "elsewhere")
        assert "no code names" in message(r.read_symbol, 4, 1, "elsewhere")
        assert "outside the program's rectangle" in message(r.read_symbol, 0, 0, "n")
        again = ctypes.c_void_p()
        assert lib.wse_open(b"nothing.bin", None, ctypes.byref(again)) == wse_lib.USAGE
        assert b"[image_unreadable]" in lib.wse_error(again).contents.message
        def refused(status):
            assert status == wse_lib.USAGE
            return lib.wse_error(handle).contents.message
        word = (ctypes.c_uint32 * 7)()
        tr = wse_lib.Transfer(target=a, width=1, height=1, elements=1)
        assert b"[pointer_missing]" in refused(lib.wse_h2d(handle, None, word, None))
        assert b"'words' is NULL" in refused(lib.wse_d2h(handle, tr, None, None))
        assert b"'args' is NULL" in refused(
            lib.wse_launch(handle, r.get_id("scale"), None, 2, None))
        tr.broadcast = wse_lib.SAME_IN_ROW
        assert b"[broadcast_to_host]" in refused(lib.wse_d2h(handle, tr, word, None))
        tr.broadcast = 9
        assert b"[choice_unknown]" in refused(lib.wse_h2d(handle, tr, word, None))
        tr.broadcast, tr.elements = 0, 7
        assert b"[copy_too_long]" in refused(lib.wse_h2d(handle, tr, word, None))
        assert lib.wse_finish(again) == wse_lib.USAGE
        assert b"[handle_unusable]" in lib.wse_error(again).contents.message
        lib.wse_close(again)
        r.memcpy_h2d(a, one, 0, 0, 1, 1, 6, data_type=WIDE, **COPY)   # still usable
        r.stop()
        statistics = json.loads(lib.wse_statistics(handle))
        assert statistics["host_cycles"] > 0 and statistics["cycles"] >= 0
    """)


def test_a_program_that_never_unblocks_is_no_hang(program):
    """It takes streams, which might set it going: the launch is delivered, the next command is
    what waits."""
    script(program, """
        r.launch("hang", nonblock=False)
        n = np.zeros(W * H, np.int32)
        text = message(r.memcpy_d2h, n, r.get_id("n"), 0, 0, W, H, 1, data_type=WIDE, **COPY)
        assert "deadlock" in text and "unblock_cmd_stream" in text, text
        assert "'hang' was launched and 6 of 6 tiles, the first at P0.0" in text, text
        assert message(r.launch, "scale", np.float32(1), np.int16(1)) == text
        assert r.read_symbol(4, 1, "n", "int32") == [-1]
    """)
    script(program, """
        r.launch("hang", nonblock=False)
        text = message(r.stop)
        assert "deadlock" in text and "unblock_cmd_stream" in text, text
    """)


def test_a_fault_is_an_exception_with_its_place(program):
    script(program, """
        text = message(r.launch, "crash", nonblock=False)
        assert "ASSERT" in text and "P1.0" in text and "pe.csl:" in text, text
        error = r._library.wse_error(r._handle).contents
        assert (error.status, error.x, error.y) == (wse_lib.FAULT, 1, 0)
    """)


def test_streams_need_memcpy(tmp_path):
    (tmp_path / "layout.csl").write_text(
        'layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, "pe.csl");\n'
        '  @export_name("n", u16, true);\n}\n')
    (tmp_path / "pe.csl").write_text(
        "export var n: u16 = 5;\ncomptime {\n  @export_symbol(n);\n}\n")
    harness.compile(tmp_path / "layout.csl", tmp_path / "out")
    text = PREAMBLE.replace('SdkRuntime("out")', 'SdkRuntime("out", memcpy_required=False)')
    (tmp_path / "run.py").write_text(text + textwrap.dedent("""
        assert "[stream_needs_memcpy]" in message(
            r.memcpy_h2d, 4, np.zeros(1, np.uint32), 0, 0, 1, 1, 1, data_type=WIDE, streaming=True,
            order=MemcpyOrder.ROW_MAJOR, nonblock=False)
        print(r.read_symbol(0, 0, "n", "uint16"))
    """))
    assert harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path).out == "[5]\n"


def test_command_line_with_memcpy(program, tmp_path):
    ran = harness.emu(program / "out", "--h2d=a@0,0,2,1=1,2,3,4,5,6,7,8,9,10,11,12",
                      "--launch=scale(3, 1)", f"--d2h=a@0,0,2,1={tmp_path}/a.npy", "--print=n",
                      "--print=h@0,0,1,1", f"--stats={tmp_path}/s.json")
    assert harness.load_npy(tmp_path / "a.npy").ravel().tolist() == [3.0 * i for i in range(1, 13)]
    assert ran.out.splitlines() == [f"n@{x},{y}: 1" for y in range(2) for x in range(3)] + [
        "h@0,0: 1 1 1 1 1"]
    stats = harness.stats(tmp_path / "s.json")
    actions = [p["action"] for p in stats["phases"]]
    assert actions[:3] == ["start", "h2d a", "launch scale"] and "d2h a" in actions
    by_action = {p["action"]: p for p in stats["phases"]}
    assert by_action["h2d a"]["cycles"] == 0 and by_action["h2d a"]["host_cycles"] >= 14 / 0.257 / 2
    assert stats["cycles"] == by_action["launch scale"]["cycles"] + by_action["start"]["cycles"]
    said = harness.emu(program / "out", "--h2d=flag=1,1,1,1,1,1", expect=1).err
    assert "[element_width]" in said and "16, 32 or 64 bits" in said
    refused = harness.emu(program / "out", "--launch=hang", expect=3)
    assert "unblock_cmd_stream" in refused.err


def test_a_script_loads_only_what_it_needs(program):
    """Most scripts start no compiler and speak to no cluster."""
    script(program, """
        import sys
        assert not {"wse_cluster", "subprocess", "shutil", "tempfile"} & set(sys.modules)
        r.stop()
    """)


def test_a_command_stream_that_is_unblocked_twice_is_reported(tmp_path):
    """Once for each of three launches is right; the second call of one of them is one too many."""
    (tmp_path / "layout.csl").write_text("""
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0), .calls = 1 });
  @set_tile_code(1, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(1), .calls = 2 });
  @export_name("once", fn()void);
  @export_name("often", fn()void);
}
""")
    (tmp_path / "pe.csl").write_text("""
param memcpy_params: comptime_struct;
param calls: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
fn once() void { sys.unblock_cmd_stream(); }
fn often() void { for (@range(u16, calls)) |_| { sys.unblock_cmd_stream(); } }
comptime { @export_symbol(once); @export_symbol(often); }
""")
    harness.cslc("--memcpy", "--channels=1", tmp_path / "layout.csl", "-o", tmp_path / "p.bin")
    for engine in ("fast", "reference"):
        run = [tmp_path / "p.bin", f"--engine={engine}", "--launch=once", "--launch=once"]
        assert harness.emu(*run).err == ""
        said = harness.emu(*run, "--launch=often").err
        assert ("tile 1,0 has unblocked the command stream more often than it was launched, "
                "4 times for 3:" in said)
        assert "[unblocked_more]" in said
