"""Every form of transfer and of launch, against numpy, on both machines: orders, broadcasts,
strides, widths, channels, arguments of all types, and what older programs write."""
import pytest

import harness
import host_run
from host_run import script

LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H,
  .MEMCPYH2D_1 = @get_color(4), .MEMCPYH2D_2 = @get_color(6), .MEMCPYD2H_1 = @get_color(5) });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
    }
  }
  @export_name("wide", [*]u32, true);
  @export_name("narrow", [*]u16, true);
  @export_name("seen", [*]u32, true);
  @export_name("aim", fn(u16)void);
  @export_name("listen", fn()void);
}
"""

# `listen` ends when 4 words have come on color 6; words of color 4 are stored and sent back on 5.
PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var wide = @zeros([8]u32);
var wide_ptr: [*]u32 = &wide;
var narrow = @zeros([9]u16);
var narrow_ptr: [*]u16 = &narrow;
var seen = @zeros([8]u32);
var seen_ptr: [*]u32 = &seen;
var count: u16 = 0;

const in_queue = @get_input_queue(2);
const in_id = if (@is_arch("wse3")) @get_data_task_id(in_queue)
              else @get_data_task_id(sys_mod.MEMCPYH2D_1);
const four_in = @get_dsd(fabin_dsd, .{ .fabric_color = sys_mod.MEMCPYH2D_2, .extent = 4,
                                       .input_queue = @get_input_queue(3) });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = sys_mod.MEMCPYD2H_1, .extent = 1,
                                    .output_queue = @get_output_queue(3) });
const seen_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> seen[i] });
const done_id = @get_local_task_id(9);

fn aim(first: u16) void {
  wide_ptr = @ptrcast([*]u32, &wide[first]);
  sys_mod.unblock_cmd_stream();
}
fn listen() void {
  @mov32(seen_dsd, four_in, .{ .async = true, .activate = done_id });
}
task done() void {
  sys_mod.unblock_cmd_stream();
}
task receive(value: u32) void {
  seen[count] = value;
  count += 1;
  @mov32(out, value + 1);
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(in_queue, .{ .color = sys_mod.MEMCPYH2D_1 });
    @initialize_queue(@get_input_queue(3), .{ .color = sys_mod.MEMCPYH2D_2 });
    @initialize_queue(@get_output_queue(3), .{ .color = sys_mod.MEMCPYD2H_1 });
  }
  @bind_data_task(receive, in_id);
  @bind_local_task(done, done_id);
  @export_symbol(wide_ptr, "wide");
  @export_symbol(narrow_ptr, "narrow");
  @export_symbol(seen_ptr, "seen");
  @export_symbol(aim);
  @export_symbol(listen);
}
"""

# What a script needs to try every order and width: `call` makes a copy, `back` reads all tiles.
MORE = host_run.PREAMBLE + """
ROW, COL = MemcpyOrder.ROW_MAJOR, MemcpyOrder.COL_MAJOR
W, H = {W}, {H}
rng = np.random.default_rng(5)

def host(tensor, order):
    return np.ascontiguousarray(tensor.ravel(order="C" if order == ROW else "F"), np.uint32)

def back(name, width, elements=8, order=ROW):
    flat = np.zeros(W * H * elements, np.uint32)
    r.memcpy_d2h(flat, r.get_id(name), 0, 0, W, H, elements, streaming=False, data_type=width,
                 order=order, nonblock=False)
    return flat.reshape((H, W, elements), order="C" if order == ROW else "F")

def numbers(*shape):
    return rng.integers(0, 1 << 16, shape, np.uint32)
"""


@pytest.fixture(scope="module", params=[("wse2", 1), ("wse3", 1), ("wse2", 3), ("wse3", 3)],
                ids=lambda p: f"{p[0]}-{p[1]}ch")
def program(request, tmp_path_factory):
    arch, channels = request.param
    return host_run.build(tmp_path_factory.mktemp("memcpy"), LAYOUT, PE, arch=arch,
                          channels=channels, params={"W": 5, "H": 4})


def run(folder, text, W=5, H=4, **options):
    return script(folder, text, preamble=MORE.replace("{W}", str(W)).replace("{H}", str(H)),
                  **options)


def test_orders_widths_and_parts_of_the_rectangle(program):
    run(program, """
        for order in (ROW, COL):
            for name, width, most in (("wide", WIDE, 8), ("narrow", NARROW, 9)):
                expected = np.zeros((H, W, most), np.uint32)
                for x, y, w, h, n in ((0, 0, W, H, most), (1, 2, 3, 1, 5), (4, 0, 1, 4, 1),
                                      (0, 3, 5, 1, 2)):
                    part = numbers(h, w, n)
                    r.memcpy_h2d(r.get_id(name), host(part, order), x, y, w, h, n, order=order,
                                 streaming=False, data_type=width, nonblock=False)
                    expected[y:y + h, x:x + w, :n] = part
                    assert (back(name, width, most, COL) == expected).all()
                    flat = np.zeros(w * h * n, np.int32)
                    r.memcpy_d2h(flat, r.get_id(name), x, y, w, h, n, order=order, data_type=width,
                                 streaming=False, nonblock=False)
                    assert (flat == host(part, order).view(np.int32)).all()
                zeros = np.zeros(W * H * most, np.uint32)
                r.memcpy_h2d(r.get_id(name), zeros, 0, 0, W, H, most, data_type=width, **COPY)
        r.stop()
    """)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_narrow_copies_in_the_later_dialect(tmp_path, arch):
    """There a fabric descriptor packs 16-bit elements unless it says otherwise."""
    folder = host_run.build(tmp_path, LAYOUT, PE, "--sdk=2", arch=arch, params={"W": 2, "H": 1})
    run(folder, """
        part = numbers(H, W, 9)
        r.memcpy_h2d(r.get_id("narrow"), host(part, ROW), 0, 0, W, H, 9, data_type=NARROW, **COPY)
        assert (back("narrow", NARROW, 9) == part).all()
        r.stop()
    """, W=2, H=1)


def test_broadcasts_to_rows_and_columns(program):
    run(program, """
        for order in (ROW, COL):
            for name, width in (("wide", WIDE), ("narrow", NARROW)):
                named = dict(streaming=False, data_type=width, order=order, nonblock=False)
                expected = np.zeros((H, W, 8), np.uint32)
                r.memcpy_h2d(r.get_id(name), host(expected, ROW), 0, 0, W, H, 8, data_type=width,
                             **COPY)
                columns = numbers(3, 4)
                r.memcpy_h2d_colbcast(r.get_id(name), host(columns, order), 1, 1, 3, 3, 4, **named)
                expected[1:4, 1:4, :4] = columns[None]
                assert (back(name, width) == expected).all()
                rows = numbers(2, 6)
                r.memcpy_h2d_rowbcast(r.get_id(name), host(rows, order), 0, 2, 5, 2, 6, **named)
                expected[2:4, 0:5, :6] = rows[:, None]
                assert (back(name, width) == expected).all()
        r.stop()
    """)


def test_a_broadcast_is_paid_for_once_a_channel(program):
    run(program, """
        import json
        a, n = r.get_id("wide"), 8
        named = dict(streaming=False, data_type=WIDE, order=ROW, nonblock=False)
        r.memcpy_h2d(a, numbers(W * H * n), 0, 0, W, H, n, **named)
        r.memcpy_h2d_rowbcast(a, numbers(H * n), 0, 0, W, H, n, **named)
        r.memcpy_h2d_colbcast(a, numbers(W * n), 0, 0, W, H, n, **named)
        r.stop()
        statistics = json.loads(r._library.wse_statistics(r._handle))
        each, row, column = (p["host_cycles"] for p in statistics["phases"][1:])
        assert each > 3 * row and row < column + 100, (each, row, column)
    """)


def test_strides(program):
    run(program, """
        for order in (ROW, COL):
            for x, y, w, h, dx, dy in ((0, 0, 5, 4, 2, 3), (1, 1, 4, 3, 3, 1), (2, 0, 1, 4, 5, 2),
                                       (0, 0, 5, 4, 7, 9)):
                expected = back("wide", WIDE)
                columns, rows = 1 + (w - 1) // dx, 1 + (h - 1) // dy
                part = numbers(rows, columns, 3)
                r.memcpy_h2d_stride(r.get_id("wide"), host(part, order), x, y, w, h, 3, dx, dy,
                                    streaming=False, data_type=WIDE, order=order, nonblock=False)
                expected[y:y + h:dy, x:x + w:dx, :3] = part
                assert (back("wide", WIDE) == expected).all()
        r.stop()
    """)


def test_streams_in_both_directions(program):
    run(program, """
        stream = dict(streaming=True, data_type=NARROW)      # the width says nothing for streams
        for order in (ROW, COL):
            words = rng.integers(0, 1 << 31, (2, 3, 3), np.uint32)
            result = np.zeros(words.size, np.uint32)
            task = r.memcpy_d2h(result, 5, 1, 2, 3, 2, 3, order=order, nonblock=True, **stream)
            r.memcpy_h2d(4, host(words, order), 1, 2, 3, 2, 3, order=order, nonblock=True, **stream)
            r.task_wait(task)
            assert (result == host(words + 1, order)).all()
        r.stop()
    """)


def posted(folder, color=4):
    """What the host has put into tiles on a color, in the order of arrival: (cycle, x, y, word)."""
    found = []
    for line in (folder / "trace.txt").read_text().splitlines():
        words = line.split()
        if words[2:6] == ["host", "in", "color", str(color)]:
            x, y = words[1][1:].split(".")
            found.append((int(words[0][1:]), int(x), int(y), int(words[6], 16)))
    return sorted(found, key=lambda f: f[0])


@pytest.mark.parametrize("order", ("ROW", "COL"))
def test_words_leave_the_host_in_the_order_of_its_buffer(tmp_path, order):
    host_run.build(tmp_path, LAYOUT, PE, params={"W": 3, "H": 2}, channels=1)
    run(tmp_path, f"""
        r.memcpy_h2d(4, np.arange(12, dtype=np.uint32), 0, 0, W, H, 2, streaming=True,
                     data_type=WIDE, order={order}, nonblock=False)
        r.stop()
        words = r.read_symbol(4, 1, "seen", np.uint32)
    """, W=3, H=2, env={"WSE_TRACE": "host", "WSE_TRACE_FILE": "trace.txt"})
    found = posted(tmp_path)
    assert [word for *_, word in found] == list(range(12))
    cycles = [cycle for cycle, *_ in found]
    assert all(b - a in (3, 4) for a, b in zip(cycles, cycles[1:])), cycles   # 0.257 per cycle
    if order == "ROW":
        tiles = [(x, y) for y in range(2) for x in range(3) for _ in range(2)]
    else:
        tiles = [(x, y) for _ in range(2) for x in range(3) for y in range(2)]
    assert [(x, y) for _, x, y, _ in found] == tiles


def test_channels_share_the_rows(tmp_path):
    """Twice the channels move as many words in half the time; the tiles start as late."""
    seconds = {}
    for channels in (1, 2):
        host_run.build(tmp_path, LAYOUT, PE, params={"W": 3, "H": 2}, channels=channels)
        run(tmp_path, """
            r.memcpy_h2d(4, np.arange(48, dtype=np.uint32), 0, 0, W, H, 8, streaming=True,
                         data_type=WIDE, order=ROW, nonblock=False)
            r.stop()
        """, W=3, H=2, env={"WSE_TRACE": "host", "WSE_TRACE_FILE": "trace.txt"})
        seconds[channels] = posted(tmp_path)[-1][0]
    assert 180 < seconds[1] < 225 and 90 < seconds[1] - seconds[2] < 95, seconds


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
@pytest.mark.parametrize("channels", (1, 2, 3))
def test_a_command_comes_from_the_south_west_corner_of_its_band(tmp_path, arch, channels):
    """A cycle later per tile to the east and to the north.  Bands are rows of one channel."""
    W, H = 5, 7
    host_run.build(tmp_path, LAYOUT, PE, params={"W": W, "H": H}, channels=channels, arch=arch)
    run(tmp_path, "r.launch('aim', np.uint16(3), nonblock=False); r.stop()", W=W, H=H,
        env={"WSE_TRACE": "host", "WSE_TRACE_FILE": "trace.txt"})
    first = {}
    for cycle, x, y, _ in posted(tmp_path, color=22):
        first.setdefault((x, y), cycle)
    bands = {}
    for y in range(H):
        bands.setdefault(y * channels // H, []).append(y)
    for rows in bands.values():
        corner = first[0, rows[-1]]
        assert {(x, y): first[x, y] - corner for x in range(W) for y in rows} == {
            (x, y): x + rows[-1] - y for x in range(W) for y in rows}


def test_exported_bytes_are_words_for_the_host(tmp_path):
    layout = host_run.LAYOUT
    at = layout.index("@export_name")
    kinds = ("bool", "u8", "i8")
    layout = layout[:at] + "".join(f'@export_name("{k}{n}", {k}, true); ' for k in kinds
                                   for n in range(2)) + layout[at:]
    pe = host_run.PE + "".join(
        f"var {k}{n}: {k} = {'true' if k == 'bool' else n + 3};"
        f" comptime {{ @export_symbol({k}{n}); }}\n"
        for k in kinds for n in range(2))
    script(host_run.build(tmp_path, layout, pe), """
        def value(name):
            words = np.full(1, 0xffff, np.uint32)
            r.memcpy_d2h(words, r.get_id(name), 1, 1, 1, 1, 1, data_type=NARROW, **COPY)
            return words[0]
        names = [kind + number for kind in ("bool", "u8", "i8") for number in "01"]
        assert [value(name) for name in names] == [1, 1, 3, 4, 3, 4]
        for new, name in enumerate(names[2:], 250):
            r.memcpy_h2d(r.get_id(name), np.full(6, new, np.uint32), 0, 0, W, H, 1,
                         data_type=NARROW, **COPY)
        assert [value(name) for name in names] == [1, 1, 250, 251, 252, 253]
        assert r._library.wse_warnings(r._handle) is None
        r.stop()
    """)


def test_pointers_are_followed_when_the_command_is_carried_out(program):
    run(program, """
        a, later = r.get_id("wide"), dict(streaming=False, order=ROW, data_type=WIDE, nonblock=True)
        r.memcpy_h2d(a, np.zeros(W * H * 8, np.uint32), 0, 0, W, H, 8, **later)
        r.launch("aim", np.uint16(5), nonblock=True)
        r.memcpy_h2d(a, numbers(W * H * 3) | 1, 0, 0, W, H, 3, **later)
        r.launch("aim", np.uint16(0), nonblock=True)
        got = back("wide", WIDE)
        assert (got[:, :, :5] == 0).all() and (got[:, :, 5:] & 1).all()
        r.launch("aim", np.uint16(5), nonblock=False)
        text = message(r.memcpy_h2d, a, numbers(W * H * 4), 0, 0, W, H, 4, **later)
        assert "[copy_too_long]" in text and "16 bytes" in text and "12 bytes" in text, text
        r.stop()
    """)


def test_a_launch_that_waits_for_a_stream_of_the_host(program):
    """Delivered, not done: the stream that follows sets it going, commands wait for its end."""
    run(program, """
        r.launch("listen", nonblock=False)
        words = numbers(H, W, 4)
        r.memcpy_h2d(6, host(words, ROW), 0, 0, W, H, 4, streaming=True, data_type=WIDE, order=ROW,
                     nonblock=False)
        assert (back("seen", WIDE, 4) == words).all()
        task = r.launch("listen", nonblock=True)
        while not r.is_task_done(task):
            pass
        r.memcpy_h2d(6, host(words + 1, ROW), 0, 0, W, H, 4, streaming=True, data_type=WIDE,
                     order=ROW, nonblock=True)
        assert (back("seen", WIDE, 4) == words + 1).all()
        r.launch("listen", nonblock=False)
        text = message(r.stop)
        assert "deadlock" in text and "'listen' was launched and 20 of 20 tiles" in text, text
    """)


def test_words_that_wait_hold_up_only_those_of_their_color(program):
    """More words than the queue holds; other streams and the launches that take them get past."""
    run(program, """
        words, others = numbers(H, W, 8), numbers(H, W, 2)
        stream = dict(streaming=True, data_type=WIDE, order=ROW)
        r.memcpy_h2d(6, host(words, ROW), 0, 0, W, H, 8, nonblock=True, **stream)
        r.memcpy_h2d(4, host(others, ROW), 0, 0, W, H, 2, nonblock=True, **stream)
        answers = np.zeros(W * H * 2, np.uint32)
        r.memcpy_d2h(answers, 5, 0, 0, W, H, 2, nonblock=False, **stream)
        assert (answers == others.ravel() + 1).all()
        for part in (words[..., :4], words[..., 4:]):
            r.launch("listen", nonblock=False)
            assert (back("seen", WIDE)[..., :4] == part).all()
        r.stop()
    """)


SLOW_LAYOUT = """
param W: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = 1,
                                                        .MEMCPYH2D_1 = @get_color(4) });
layout {
  @set_rectangle(W, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("sum", [*]u32, true);
  @export_name("twice", fn()void);
}
"""

# A word takes the tile longer than the host.
SLOW_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const in_queue = @get_input_queue(2);
const in_id = if (@is_arch("wse3")) @get_data_task_id(in_queue)
              else @get_data_task_id(sys_mod.MEMCPYH2D_1);
var sum = @zeros([1]u32);
var sum_ptr: [*]u32 = &sum;
task receive(value: u32) void {
  for (@range(u16, 40)) |_| { sum[0] += value; }
}
fn twice() void {
  sum[0] *= 2;
  sys_mod.unblock_cmd_stream();
}
comptime {
  if (@is_arch("wse3")) { @initialize_queue(in_queue, .{ .color = sys_mod.MEMCPYH2D_1 }); }
  @bind_data_task(receive, in_id);
  @export_symbol(sum_ptr, "sum");
  @export_symbol(twice);
}
"""


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_a_command_after_a_stream_that_the_host_has_waited_for(tmp_path, arch):
    """The tiles have done what the words set going; a copy and a launch come after that."""
    host_run.build(tmp_path, SLOW_LAYOUT, SLOW_PE, arch=arch, params={"W": 1})
    script(tmp_path, """
        stream = dict(streaming=True, data_type=WIDE, order=MemcpyOrder.ROW_MAJOR)
        words, got = np.arange(20, dtype=np.uint32), np.zeros(1, np.uint32)
        def total():
            r.memcpy_d2h(got, r.get_id("sum"), 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
            return got[0]
        r.memcpy_h2d(4, words, 0, 0, 1, 1, 20, nonblock=False, **stream)
        r.launch("twice", nonblock=False)
        assert total() == 80 * words.sum(), got
        r.task_wait(r.memcpy_h2d(4, words, 0, 0, 1, 1, 20, nonblock=True, **stream))
        r.memcpy_h2d(r.get_id("sum"), np.array([5], np.uint32), 0, 0, 1, 1, 1, data_type=WIDE,
                     **COPY)
        assert total() == 5, got
        r.stop()
    """)


def test_a_stream_that_the_layout_does_not_name_is_warned_of(tmp_path):
    """stream_unnamed and stream_other_way: the vendor's link routes a color only as it is given."""
    text = """
        words = np.arange(3, dtype=np.uint32)
        for _ in range(2):
            r.memcpy_h2d(4, words, 0, 0, 1, 1, 3, streaming=True, data_type=WIDE,
                         order=MemcpyOrder.ROW_MAJOR, nonblock=False)
        r.stop()
    """
    pe = SLOW_PE.replace("sys_mod.MEMCPYH2D_1", "@get_color(4)")
    given = ".MEMCPYH2D_1 = @get_color(4)"
    for layout, warns, other_way in (
            (SLOW_LAYOUT, False, False),
            (SLOW_LAYOUT.replace(given, ".MEMCPYH2D_1 = @get_color(6)"), True, False),
            (SLOW_LAYOUT.replace(given, ".MEMCPYD2H_2 = @get_color(4)"), True, True)):
        host_run.build(tmp_path, layout, pe, params={"W": 1})
        told = script(tmp_path, text).err
        assert told.count("color 4 is streamed from the host, but <memcpy/get_params> does not get it "
                          "as MEMCPYH2D_1 to MEMCPYH2D_4") == warns, told
        assert ("[stream_unnamed]" in told) == warns, told
        assert ("note: it gets color 4 as a stream to the host" in told) == other_way, told


def test_a_stream_that_never_comes_is_told(program):
    text = """
        result = np.zeros(2, np.uint32)
        stream = dict(streaming=True, data_type=WIDE, order=ROW)
        task = r.memcpy_d2h(result, 5, 0, 0, 1, 1, 2, nonblock=True, **stream)
        r.memcpy_h2d(4, np.array([7], np.uint32), 0, 0, 1, 1, 1, nonblock=True, **stream)
    """
    run(program, text + """
        text = message(r.task_wait, task)
        assert "a stream to the host on color 5 has got only 1 of its 2 words" in text, text
        assert "cause 1: nobody at P0.0 sends on color 5" in text, text
        assert "any more; the last sent: 1 element at " in text, text
        assert "help: compare what the program sends, and what sets it off, with what the " in text
    """)
    run(program, text.replace("result, 5,", "result, 6,") + """
        text = message(r.task_wait, task)
        assert "color 6 has got only 0 of its 2 words" in text, text
        assert "words for which no transfer asks: 1 on color 5, the first by P0.0" in text, text
        assert "help: the transfer has to name the color and the tiles that send" in text, text
    """)
    run(program, text + """
        def poll():
            while not r.is_task_done(task):
                pass
        assert "has got only 1 of its 2 words" in message(poll)
        r.stop()                                  # the failure has been told
    """)
    run(program, text + """
        polls = 0
        while not r.is_task_done(task):
            polls += 1
            if polls == 500:          # the poll that never ends is told apart from this one
                r.memcpy_h2d(4, np.array([8], np.uint32), 0, 0, 1, 1, 1, nonblock=True, **stream)
        assert polls >= 500 and result.tolist() == [8, 9]
        r.stop()
    """)


# ---- arguments of launches ----------------------------------------------------------------------

TYPES = ["bool", "u16", "i16", "u32", "i32", "f16", "f32"]
ARGUMENTS = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
  }
"""
TAKE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
"""


def arguments_program(folder, types, arch, *options):
    """A function of each type alone, one of all types, and what they were called with."""
    layout, pe = ARGUMENTS, TAKE
    for kind in types:
        layout += f'  @export_name("got_{kind}", {kind}, true);\n'
        layout += f'  @export_name("take_{kind}", fn({kind})void);\n'
        pe += (f"var got_{kind}: {kind} = {'false' if kind == 'bool' else 0};\n"
               f"fn take_{kind}(value: {kind}) void {{\n  got_{kind} = value;\n"
               "  sys_mod.unblock_cmd_stream();\n}\n"
               f"comptime {{ @export_symbol(got_{kind}); @export_symbol(take_{kind}); }}\n")
    layout += f'  @export_name("all", fn({", ".join(types)})void);\n'
    layout += '  @export_name("never", fn()void);\n}\n'
    pe += "fn all(" + ", ".join(f"_{kind}: {kind}" for kind in types) + ") void {\n"
    pe += "".join(f"  got_{kind} = _{kind};\n" for kind in types)
    pe += "  sys_mod.unblock_cmd_stream();\n}\ncomptime { @export_symbol(all); }\n"
    return host_run.build(folder, layout, pe, *options, arch=arch, params={"W": 2, "H": 1})


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_arguments_of_every_type(tmp_path, arch):
    arguments_program(tmp_path, TYPES, arch)
    script(tmp_path, """
        def got(kind, dtype):
            return [r.read_symbol(4 + x, 1, "got_" + kind, dtype)[0] for x in range(2)]
        cases = {"bool": ("u1", [True, np.bool_(False), 1]),
                 "u16": ("u2", [np.uint16(65535), 7, np.int64(3), np.array([9])]),
                 "i16": ("i2", [np.int16(-32768), -1, np.uint16(4)]),
                 "u32": ("u4", [np.uint32(0xffffffff), 70000]),
                 "i32": ("i4", [np.int32(-(1 << 31)), np.int16(-5)]),
                 "f16": ("f2", [np.float16(0.1), np.float32(65504), -2.5, float("inf")]),
                 "f32": ("f4", [np.float32(0.1), 1e-40, np.float64(3.25), float("-inf")])}
        for kind, (dtype, values) in cases.items():
            for value in values:
                r.launch("take_" + kind, value)
                expected = np.array(value).astype(dtype).reshape(-1)[0]
                assert got(kind, dtype) == [expected] * 2, (kind, value, got(kind, dtype))
        r.call("all", [True, 1, -2, 3, -4, np.float16(5), np.float32(-6)], nonblock=False)
        assert [got(k, d)[1] for k, (d, _) in cases.items()] == [1, 1, -2, 3, -4, 5, -6]

        def refused(name, *args):
            text = message(r.launch, name, *args)
            assert "launch" in text, text
            return text
        assert "takes 1 argument(s) (fn(u16)void), 2 given" in refused("take_u16", 1, 2)
        assert "0 given" in refused("take_f32")
        assert "65536 is outside 0 to 65535 (u16)" in refused("take_u16", 65536)
        assert "-32769 is outside" in refused("take_i16", -32769)
        assert "is an integer (u16), 1.0 given" in refused("take_u16", 1.0)
        assert "argument 1 of 'take_f32' is a float (f32), 1 given; float(...) makes" in \
            refused("take_f32", 1)
        assert "is an integer (i32), 'x' given" in refused("take_i32", "x")
        assert "an array of 2 given" in refused("take_u16", np.arange(2))
        assert "is exported as data (u16)" in refused("got_u16", 1)
        assert "did you mean 'take_u16'" in message(r.launch, "take_u61", 1)
        assert "no tile has 'never'" in message(r.launch, "never")
        r.stop()
    """)


@pytest.mark.parametrize("fmt, words, large", [
    ("bf16", {1.0: 0x3f80, -2.5: 0xc020, 0.1: 0x3dcd, 1e-40: 0x0001, 3.39e38: 0x7f7f}, 3.4e38),
    ("cb16", {1.0: 0x5400, 6.0: 0x5900, -0.75: 0xd300, 2095104.0: 0x7dff}, -1e9)])
def test_arguments_of_other_16_bit_floats(tmp_path, fmt, words, large):
    """A number that the format does not have is refused; an infinity is one of its values."""
    infinity = list(words.values())[-1] + 1        # the word behind that of the largest number
    arguments_program(tmp_path, [fmt], "wse3", f"--fp16-format={fmt}")
    script(tmp_path, f"""
        for value, word in {words}.items():
            r.launch("take_{fmt}", value)
            assert r.read_symbol(5, 1, "got_{fmt}", "u2")[0] == word, (
                value, hex(r.read_symbol(5, 1, "got_{fmt}", "u2")[0]))
        assert "is too large for {fmt}" in message(r.launch, "take_{fmt}", {large})
        r.launch("take_{fmt}", np.inf)
        assert r.read_symbol(5, 1, "got_{fmt}", "u2")[0] == {infinity}
        r.stop()
    """.replace("\n    ", "\n"))


# ---- older programs -----------------------------------------------------------------------------

OLD_LAYOUT = """
param LAUNCH_ID: i16;
const LAUNCH: color = @get_color(LAUNCH_ID);
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1,
                                                        .LAUNCH = LAUNCH });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("n", [*]u32, true);
  @export_name("bump", fn(u16)void);
}
"""

OLD_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", @concat_structs(memcpy_params, .{
  .data_type = u32 }));
var n = @zeros([1]u32);
var n_ptr: [*]u32 = &n;
fn bump(by: u16) void {
  n[0] += @as(u32, by);
  sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(n_ptr, "n");
  @export_symbol(bump);
  @rpc(@get_data_task_id(sys_mod.LAUNCH));
}
"""


# The oldest give the colors on the tiles.
OLDEST_LAYOUT = OLD_LAYOUT.replace(".height = 1,", ".height = 1 });").replace(
    " .LAUNCH = LAUNCH });", "").replace("memcpy.get_params(0)", """memcpy.get_params(0),
    .LAUNCH = LAUNCH, .MEMCPYH2D_1 = @get_color(4)""").replace("memcpy/", "memcpy_multi/")
OLDEST_PE = """
param LAUNCH: color;
param MEMCPYH2D_1: color;
const switches = @import_module("<memcpy_multi/memcpy_switches>");
comptime { @comptime_assert(switches.MAX_CMDS == 8); }
""" + OLD_PE.replace(
    ".data_type = u32", ".LAUNCH = LAUNCH, .MEMCPYH2D_1 = MEMCPYH2D_1, .data_type = u32").replace(
        "@get_data_task_id(sys_mod.LAUNCH)", "LAUNCH").replace("memcpy/", "memcpy_multi/")


@pytest.mark.parametrize("layout, pe", ((OLD_LAYOUT, OLD_PE), (OLDEST_LAYOUT, OLDEST_PE)),
                         ids=("memcpy", "memcpy_multi"))
def test_launch_color_and_rpc_of_older_programs(tmp_path, layout, pe):
    host_run.build(tmp_path, layout, pe, arch="wse2", params={"LAUNCH_ID": 8})
    script(tmp_path, """
        r.call("bump", [np.uint16(3)], nonblock=False)
        r.call("bump", [4], nonblock=True)
        n = np.zeros(1, np.uint32)
        r.memcpy_d2h(n, r.get_symbol("n"), 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
        assert n[0] == 7
        r.stop()
    """)


# The program itself takes the words of a launch: their number, parameters, the function.
TASK_LAYOUT = "param W: u16; param H: u16;" + OLDEST_LAYOUT.replace('  @export_name("bump", fn(u16)void);\n', "").replace(
    "width = 1,", "width = 2,").replace("(1, 1)", "(2, 1)").replace("@set_tile_code(0, 0", """for (
    @range(u16, 2)) |x| @set_tile_code(x, 0""").replace("get_params(0)", "get_params(x)")
TASK_PE = """
param memcpy_params: comptime_struct;
param LAUNCH: color;
param MEMCPYH2D_1: color;
const sys_mod = @import_module("<memcpy_multi/memcpy>", @concat_structs(memcpy_params, .{
  .LAUNCH = LAUNCH, .data_type = u32 }));
var n = @zeros([3]u32);
var n_ptr: [*]u32 = &n;
var index: u16 = 0;
task f_launch(word: u32) void {
  n[index] += word;
  index = if (index == 2) 0 else index + 1;
  if (index == 0) sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(n_ptr, "n");
  @bind_task(f_launch, LAUNCH);
}
"""


def test_copies_and_launches_of_release_0_6(tmp_path):
    host_run.build(tmp_path, TASK_LAYOUT, TASK_PE, arch="wse2",
                   params={"LAUNCH_ID": 8, "W": 2, "H": 1})
    script(tmp_path, """
        n, id = np.zeros(6, np.uint32), r.get_id("n")
        r.memcpy_h2d(id, np.arange(6, dtype=np.uint32), False, 0, 0, 2, 1, 3, 0, False)
        r.memcpy_launch(8, np.array([1, 70000, 5], np.uint32), False)
        r.memcpy_launch(8, np.array([10, 0, 0], np.int32), True)
        r.memcpy_d2h(n, id, False, 0, 0, 2, 1, 3, 0, False)
        assert n.tolist() == [11, 70001, 7, 14, 70004, 10], n
        for wrong in ((False, 0, 0, 2, 1, 3, 1, False), (0, 0, 2, 1, 3, False)):
            assert "all else has a name: streaming=" in message(r.memcpy_h2d, id, n, *wrong)
        assert "all else has a name" in message(r.memcpy_d2h, n, id, 0, 0, 2, 1, 3, False)
        assert "must be a numpy array" in message(r.memcpy_launch, 8, [1, 2])
        assert "color" in message(r.memcpy_launch, 30, n)
        r.stop()
    """)


POLL_PE = """
param memcpy_params: comptime_struct;
param at_once: bool;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const poll_id = @get_local_task_id(10);
var n = @zeros([2]u32);
var n_ptr: [*]u32 = &n;
task poll() void {
  n[0] += 1;
  if (n[1] == 0) { @activate(poll_id); }
}
fn start() void {
  @activate(poll_id);
  sys_mod.unblock_cmd_stream();
}
comptime {
  @bind_local_task(poll, poll_id);
  if (at_once) { @activate(poll_id); }
  @export_symbol(n_ptr, "n");
  @export_symbol(start);
}
"""

POLL_LAYOUT = """
param at_once: bool;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{
    .memcpy_params = memcpy.get_params(0), .at_once = at_once });
  @export_name("n", [*]u32, true);
  @export_name("start", fn()void);
}
"""


@pytest.mark.parametrize("at_once", (0, 1))
def test_tiles_that_never_rest_do_not_hold_the_host_up(tmp_path, at_once):
    host_run.build(tmp_path, POLL_LAYOUT, POLL_PE, params={"at_once": at_once})
    launch = "" if at_once else 'r.launch("start", nonblock=False)'
    script(tmp_path, f"""
        {launch}
        n = np.zeros(2, np.uint32)
        r.memcpy_d2h(n, r.get_id("n"), 0, 0, 1, 1, 2, data_type=WIDE, **COPY)
        assert n[0] > 1000 and n[1] == 0
        n[1] = 1                                  # the program's own way to end it
        r.memcpy_h2d(r.get_id("n"), n, 0, 0, 1, 1, 2, data_type=WIDE, **COPY)
        r.memcpy_d2h(n, r.get_id("n"), 0, 0, 1, 1, 2, data_type=WIDE, **COPY)
        assert n[1] == 1
        r.memcpy_h2d(r.get_id("n"), n * 0, 0, 0, 1, 1, 2, data_type=WIDE, **COPY)
        r.launch("start", nonblock=False)
        r.stop()
    """)


AWAITED_PE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const stream = @get_color(4);
const queue = @get_input_queue(2);
const receive_id = if (@is_arch("wse3")) @get_data_task_id(queue) else @get_data_task_id(stream);
const poll_id = @get_local_task_id(10);
var n = @zeros([1]u32);
var n_ptr: [*]u32 = &n;
task receive(value: u32) void { n[0] = value; }
task poll() void {
  if (n[0] == 0) { @activate(poll_id); } else { sys_mod.unblock_cmd_stream(); }
}
fn start() void { @activate(poll_id); }
comptime {
  @bind_local_task(poll, poll_id);
  @bind_data_task(receive, receive_id);
  @initialize_queue(queue, .{ .color = stream });
  @export_symbol(n_ptr, "n");
  @export_symbol(start);
}
"""

AWAITED_LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1, .MEMCPYH2D_1 = 4 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("n", [*]u32, true);
  @export_name("start", fn()void);
}
"""


def test_rounds_without_an_end_leave_a_launch_delivered(tmp_path):
    """A later stream may set it going again, as if the tile stood still; without one the read that
    follows says what does not end."""
    host_run.build(tmp_path, AWAITED_LAYOUT, AWAITED_PE)
    script(tmp_path, """
        n, id = np.zeros(1, np.uint32), r.get_id("n")
        r.launch("start", nonblock=False)
        r.memcpy_h2d(4, np.array([5], np.uint32), 0, 0, 1, 1, 1, streaming=True, data_type=WIDE,
                     order=COPY["order"], nonblock=False)
        r.memcpy_d2h(n, id, 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
        assert n[0] == 5
        r.memcpy_h2d(id, n * 0, 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
        r.launch("start", nonblock=False)
        said = message(r.memcpy_d2h, n, id, 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
        assert "local task 10 'poll' starts again and again" in said, said
        assert "have not unblocked the command stream" in said, said
    """)


SWITCH_LAYOUT = """
param W: u16;
param H: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 3, .height = 1 });
const line = @get_color(3);
const routes = [3]comptime_struct{
  .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } },
  .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } },
     .switches = .{ .pos1 = .{ .tx = EAST }, .ring_mode = true } },
  .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } }
};
layout {
  @set_rectangle(3, 1);
  for (@range(u16, 3)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .x = x, .memcpy_params = memcpy.get_params(x) });
    @set_color_config(x, 0, line, routes[x]);
  }
  @export_name("got", [*]u32, true);
  @export_name("send", fn()void);
}
"""

SWITCH_PE = """
param x: u16;
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const switches = @import_module("<memcpy/memcpy_switches>");
const line = @get_color(3);
const out_queue = @get_output_queue(2);
const in_queue = @get_input_queue(2);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = line, .extent = 1, .output_queue = out_queue });
const command = @get_dsd(fabout_dsd, .{ .fabric_color = line, .extent = 1, .control = true,
                                        .output_queue = out_queue });
const in_id = if (@is_arch("wse3")) @get_data_task_id(in_queue) else @get_data_task_id(line);
var got = @zeros([2]u32);
var got_ptr: [*]u32 = &got;
var count: u16 = 0;
fn send() void {
  if (x == 0) {
    @mov32(out, @as(u32, 11));
    @mov32(command, switches.ctrl(switches.switch_cmd_11()));
    @mov32(out, @as(u32, 22));
    @mov32(command, switches.ctrl(switches.switch_cmd_11()));
    @mov32(out, @as(u32, 33));
  }
  sys_mod.unblock_cmd_stream();
}
task receive(value: u32) void {
  got[count] = value;
  count += 1;
}
comptime {
  if (@is_arch("wse3")) {
    if (x == 0) {
      @initialize_queue(out_queue, .{ .color = line });
    } else {
      @initialize_queue(in_queue, .{ .color = line });
    }
  }
  if (x != 0) {
    @bind_data_task(receive, in_id);
  }
  @export_symbol(got_ptr, "got");
  @export_symbol(send);
}
"""


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_memcpy_switches_turn_a_line_from_tile_to_tile(tmp_path, arch):
    turn_a_line(tmp_path, SWITCH_PE, arch)


def test_input_queue_0_is_the_programs_on_wse2(tmp_path):
    """As in programs for SDK 1.0; the library takes another one."""
    bind = "    @bind_data_task(receive, in_id);\n"
    taken = "    @initialize_queue(@get_input_queue(0), .{ .color = line });\n"
    turn_a_line(tmp_path, SWITCH_PE.replace(bind, taken + bind), "wse2")


def turn_a_line(tmp_path, pe, arch):
    host_run.build(tmp_path, SWITCH_LAYOUT, pe, arch=arch, params={"W": 3, "H": 1})
    script(tmp_path, """
        r.launch("send")
        got = np.zeros(6, np.uint32)
        r.memcpy_d2h(got, r.get_id("got"), 0, 0, 3, 1, 2, data_type=WIDE, **COPY)
        assert got.tolist() == [0, 0, 11, 33, 22, 0], got
        r.stop()
    """)


def test_command_line_launches_wait_for_the_stream(tmp_path):
    """wse-emu has no streams: a launch that waits for one is a deadlock at the end."""
    host_run.build(tmp_path, LAYOUT, PE, params={"W": 2, "H": 1})
    ran = harness.emu(tmp_path / "out", "--launch=listen", expect=3)
    assert "'listen' was launched and 2 of 2 tiles" in ran.err
