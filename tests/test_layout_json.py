"""Layouts made by host scripts with SdkLayout: regions, ports, paths around other regions, colors,
streams, content of variables; and what is said of wrong ones."""
import json
import textwrap

import pytest

import harness
import host_run
from layout_programs import BLOCK, STEP

SCRIPT = """
from cerebras.geometry.geometry import IntRectangle, IntVector
from cerebras.sdk.runtime.sdkruntimepybind import (
    Color, Edge, Route, RoutingPosition, SdkLayout, SdkRuntime, SdkTarget, SimfabConfig,
    get_edge_routing, get_platform)
import numpy as np
target = SdkTarget.ARCH
platform = get_platform(None, SimfabConfig(), target)
layout = SdkLayout(platform)

def message(call, *args, **named):
    try:
        call(*args, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no exception")

def step(name, x, y, n, size=5, rx_edge=Edge.LEFT, tx_edge=Edge.RIGHT):
    region = layout.create_code_region("step.csl", name, 1, 1)
    region.place(x, y)
    rx, tx = region.color("rx"), region.color("tx")
    for value in (rx, tx):
        region.set_param_all(value)
    region.set_param_all("size", size)
    region.set_param_all("n", n)
    i = region.create_input_port(rx, rx_edge, [RoutingPosition().set_output([Route.RAMP])], size)
    o = region.create_output_port(tx, tx_edge, [RoutingPosition().set_input([Route.RAMP])], size)
    return i, o

def started(**named):
    runtime = SdkRuntime(layout.compile("out", **named), platform, memcpy_required=False)
    runtime.load()
    runtime.run()
    return runtime
"""


def script(folder, text, arch="wse3", step=STEP):
    """Runs a host script of SdkLayout in `folder`, beside the programs of this file."""
    (folder / "step.csl").write_text(step)
    (folder / "block.csl").write_text(BLOCK)
    return host_run.script(folder, text, SCRIPT.replace("ARCH", arch.upper()))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_words_go_from_the_host_through_regions_and_back(tmp_path, arch):
    ran = script(tmp_path, """
        # The second region's ports face away from the first: paths lead around all of them.
        a_in, a_out = step("a", 1, 1, 10)
        b_in, b_out = step("b", 5, 2, 100, rx_edge=Edge.RIGHT, tx_edge=Edge.BOTTOM)
        c_in, c_out = step("c", 3, 1, 1000, rx_edge=Edge.TOP, tx_edge=Edge.TOP)
        layout.connect(a_out, b_in)
        layout.connect(b_out, c_in)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(c_out)
        runtime = started(save_port_map=True)
        sent, received = np.arange(5, dtype=np.uint32), np.zeros(5, np.uint32)
        assert runtime.get_port_id(to) == 0 and runtime.get_port_id(back) == 1
        assert runtime.report_port_infos()[to]["size"] == 5
        runtime.send(to, sent, nonblock=True)
        runtime.receive(back, received, 5, nonblock=True)
        runtime.stop()
        assert (received == sent + 1110).all(), received
        assert (runtime.read_symbol(5, 2, "data", "uint32") == sent + 110).all()
        """, arch)
    assert "warning" not in ran.err
    streams = json.loads((tmp_path / "out" / "out.json").read_text())["layout"]["streams"]
    assert streams == json.loads((tmp_path / "out" / "port_map.json").read_text())
    assert streams["a.rx"]["input"] and not streams["c.tx"]["input"]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("type_", ["u16", "i16", "i32"])
def test_a_color_goes_to_an_integer_param_as_its_number(tmp_path, arch, type_):
    """The numbers are the compiler's choice; tiles of one program get different ones."""
    number = STEP.replace("param rx: color;", f"param from: {type_};")
    number = number.replace("param tx: color;", f"param to: {type_};").replace(
        "const in_q", "const rx = @get_color(@as(u16, from));\nconst tx = @get_color(@as(u16, to));\n"
        "const in_q", 1)
    (tmp_path / "number.csl").write_text(number)
    script(tmp_path, """
        a_in, a_out = step("a", 1, 1, 10)
        def number(name, x):
            region = layout.create_code_region("number.csl", name, 1, 1)
            region.place(x, 1)
            rx, tx = region.color("from"), region.color("to")
            for what in (rx, tx):
                region.set_param_all(what)
            region.set_param_all("size", 5)
            region.set_param_all("n", 1)
            i = region.create_input_port(rx, Edge.LEFT,
                                         [RoutingPosition().set_output([Route.RAMP])], 5)
            return i, region.create_output_port(
                tx, Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP])], 5)
        b_in, b_out = number("b", 3)
        c_in, c_out = number("c", 6)
        layout.connect(a_out, b_in)
        layout.connect(b_out, c_in)
        there, back = layout.create_input_stream(a_in), layout.create_output_stream(c_out)
        runtime = started()
        received = np.zeros(5, np.uint32)
        runtime.send(there, np.arange(5, dtype=np.uint32), nonblock=True)
        runtime.receive(back, received, 5, nonblock=True)
        runtime.stop()
        assert (received == np.arange(5) + 12).all(), received
        """, arch)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("arguments, words", [('', 6), ('cslc_prefix=""', 3), ('libs=[]', 3),
                                              ('f16_type=FP16TYPE.F16', 3)])
def test_arguments_of_compile_show_the_release(tmp_path, arch, arguments, words):
    """Nothing else in this program does: six elements of 16 bits come in three wavelets or in six."""
    (tmp_path / "halves.csl").write_text(
        STEP.replace("u32", "u16").replace("@mov32", "@mov16"))
    script(tmp_path, f"""
        from cerebras.sdk.runtime.sdkruntimepybind import FP16TYPE
        region = layout.create_code_region("halves.csl", "a", 1, 1)
        region.place(1, 1)
        rx, tx = region.color("rx"), region.color("tx")
        for what in (rx, tx):
            region.set_param_all(what)
        region.set_param_all("size", 6)
        region.set_param_all("n", 10)
        i = region.create_input_port(rx, Edge.LEFT,
                                     [RoutingPosition().set_output([Route.RAMP])], {words})
        o = region.create_output_port(tx, Edge.RIGHT,
                                      [RoutingPosition().set_input([Route.RAMP])], {words})
        there, back = layout.create_input_stream(i), layout.create_output_stream(o)
        runtime = started({arguments})
        halves = np.arange(6, dtype=np.uint16)
        sent = halves.view(np.uint32) if {words} == 3 else halves.astype(np.uint32)
        received = np.zeros({words}, np.uint32)
        runtime.send(there, sent, nonblock=True)
        runtime.receive(back, received, {words}, nonblock=True)
        runtime.stop()
        found = received.view(np.uint16) if {words} == 3 else received
        assert (found == halves + 10).all(), found
        """, arch)


def test_a_color_goes_to_no_other_param(tmp_path):
    ran = script(tmp_path, """
        region = layout.create_code_region("block.csl", "a", 1, 1)
        for name in ("columns", "rows"):
            region.set_param_all(name, 1)
        region.set_param_all("scale", 1.0)
        region.set_param_all("twice", Color("red", 1))
        print(message(layout.compile, "out"))
        """)
    assert "parameter 'twice' is of type 'bool' and cannot take" in ran.out


def test_who_gives_a_param_its_value_is_the_region(tmp_path):
    """The note param_given_by_script."""
    ran = script(tmp_path, """
        region = layout.create_code_region("block.csl", "a", 1, 1)
        region.set_param_all("rows", 1)
        print(message(layout.compile, "out"))
        """)
    assert "parameter 'columns' is used but has no value" in ran.out
    assert "set_param_all('columns', VALUE)" in ran.out and "@set_tile_code" not in ran.out


def test_a_port_at_the_edge_of_the_layout_has_a_way_to_the_host(tmp_path):
    """Where the layout begins at (0, 0) its rectangle grows to the west; places stay the same."""
    script(tmp_path, """
        i, o = step("only", 0, 0, 7)
        to, back = layout.create_input_stream(i), layout.create_output_stream(o)
        runtime = started()
        words = np.full(5, 2.0, np.float32)
        runtime.send(0, words, 5)
        got = np.zeros(8, np.int32)
        runtime.receive(1, got, 5)
        runtime.stop()
        assert (got == [*(words.view(np.int32) + 7), 0, 0, 0]).all(), got
        assert (runtime.read_symbol(0, 0, "data", "uint32") == got[:5]).all()
        assert runtime.tiles()[0] == (-1, 0)
        """)
    layout = json.loads((tmp_path / "out" / "out.json").read_text())["layout"]
    assert (layout["origin_x"], layout["origin_y"]) == (1, 0)


@pytest.mark.parametrize("no, yes", [(False, True), (0, 1)])
def test_tiles_get_blocks_of_a_matrix_and_share_a_program(tmp_path, no, yes):
    script(tmp_path, f"        no, yes = {no}, {yes}" + """
        region = layout.create_code_region("block.csl", "blocks", 3, 2)
        region.place(2, 1)
        matrix = np.arange(6 * 8, dtype=np.float32)
        region.set_symbol_all("A", matrix, 6, 8)
        region.set_param_all("columns", 2)
        region.set_param_all("rows", 4)
        region.set_param_all("scale", 0.5)
        region.set_param_all("twice", no)
        region.set_param_range(IntRectangle(IntVector(1, 0), IntVector(3, 1)), "twice", yes)
        runtime = started()
        runtime.stop()
        whole = matrix.reshape(8, 6)
        for y in range(2):
            for x in range(3):
                want = whole[4 * y:4 * y + 4, 2 * x:2 * x + 2].sum() * 0.5
                want *= 2 if y == 0 and x > 0 else 1
                got = runtime.read_symbol(2 + x, 1 + y, "total", "float32")[0]
                assert got == want, (x, y, got, want)
        """)
    # `twice` decides what is compiled; the content of A does not.
    assert json.loads((tmp_path / "out" / "out.json").read_text())["classes"] == 2


def test_a_variable_has_what_the_last_call_gave(tmp_path):
    """Whatever the script does to its array afterwards."""
    script(tmp_path, """
        part = np.zeros(1, np.float32)
        for k in range(3):
            region = layout.create_code_region("block.csl", f"r{k}", 1, 1)
            region.place(k, 0)
            for name, value in {"columns": 1, "rows": 1, "scale": 1.0, "twice": False}.items():
                region.set_param_all(name, value)
            region.set_symbol_all("A", np.array([9], np.float32), 1, 1)
            part[0] = k + 1
            region.set_symbol_all("A", part, 1, 1)
        runtime = started()
        runtime.stop()
        totals = [runtime.read_symbol(x, 0, "total", np.float32)[0] for x in range(3)]
        assert totals == [1, 2, 3], totals
        """)


def test_each_call_that_sets_a_variable_has_a_file(tmp_path):
    script(tmp_path, """
        region = layout.create_code_region("block.csl", "r", 1, 1)
        for name, value in {"columns": 1, "rows": 1, "scale": 1.0, "twice": False}.items():
            region.set_param_all(name, value)
        region.set_symbol_all("A", np.array([1, 2, 3], np.float32), 3, 1)
        region.set_symbol_all("A", np.array([5], np.float32), 1, 1)
        assert "the layout sets 'A' to 12 bytes per tile" in message(layout.compile, "out")
        """)


def test_a_call_that_fails_joins_no_port(tmp_path):
    """A script may catch the mistake and go on."""
    script(tmp_path, """
        a_in, a_out = step("a", 1, 1, 10)
        b_in, b_out = step("b", 5, 2, 100)
        c_in, c_out = step("c", 9, 2, 1000)
        layout.connect(a_out, b_in)
        assert "'b.rx' has a connection" in message(layout.connect, c_out, b_in)
        assert "must be an IntVector" in message(layout.create_input_stream, a_in, (3, 4))
        layout.create_input_stream(a_in), layout.create_output_stream(c_out)
        """)


def test_a_name_may_have_any_characters(tmp_path):
    script(tmp_path, """
        region = layout.create_code_region("block.csl", "../a/b\\u00e9 c", 2, 1)
        for name, value in {"columns": 1, "rows": 1, "scale": 0.5, "twice": True}.items():
            region.set_param_all(name, value)
        region.set_symbol_all("A", np.array([3, 4], np.float32), 2, 1)
        runtime = started()
        runtime.stop()
        assert [runtime.read_symbol(x, 0, "total", np.float32)[0] for x in (0, 1)] == [3, 4]
        """)


def test_a_core_holds_the_tiles_in_front_of_column_0(tmp_path):
    """The host's end of a stream to a region at 0, 0 stands outside of all regions."""
    script(tmp_path, """
        a_in, a_out = step("a", 0, 0, 10)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(a_out)
        runtime = started()
        received = np.zeros(5, np.uint32)
        runtime.send(to, np.arange(5, dtype=np.uint32), nonblock=True)
        runtime.receive(back, received, 5)
        runtime.stop()
        runtime.dump_core("corefile.cs1")
        assert (runtime.read_symbol(0, 0, "data", "uint32") == received).all()
        assert "x must be at least -1" in message(runtime.read_symbol, -2, 0, "data")
        assert "outside the program's rectangle" in message(runtime.read_symbol, 0, 9, "data")
        """)


def test_tiles_in_front_of_row_0_can_be_asked_for(tmp_path):
    script(tmp_path, """
        a_in, a_out = step("a", 0, 0, 10, rx_edge=Edge.TOP)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(a_out)
        runtime = started()
        runtime.stop()
        assert runtime.read_symbol(0, 0, "data", "uint32").tolist() == [0] * 5
        assert "y must be at least -1" in message(runtime.read_symbol, 0, -2, "data")
        assert "tile 0,0 has no" in message(runtime.read_symbol, 0, -1, "data")
        """)


def test_a_tile_between_regions_has_no_program(tmp_path):
    script(tmp_path, """
        a_in, a_out = step("a", 1, 1, 10)
        b_in, b_out = step("b", 3, 1, 100)
        layout.connect(a_out, b_in)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(b_out)
        runtime = started()
        received = np.zeros(5, np.uint32)
        runtime.send(to, np.arange(5, dtype=np.uint32), nonblock=True)
        runtime.receive(back, received, 5)
        runtime.stop()
        said = message(runtime.read_symbol, 2, 1, "data")
        assert "tile 2,1 has no program" in said and "[tile_without_program]" in said, said
        said = message(runtime.read_symbol, 1, 1, "nothing")
        assert "tile 1,1 has no symbol 'nothing'" in said, said
        """)


LANE = """
param size: u16;
param sends: u16;
param row: u16;
param c: color;
const queue = @get_input_queue(2);
const out_queue = @get_output_queue(2);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = size, .input_queue = queue });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = size, .output_queue = out_queue });
export var data = @zeros([size]u32);
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{size} -> data[i] });
const start_id = @get_local_task_id(8);
task start() void {
  if (sends == 1) {
    for (@range(u16, size)) |i| { data[i] = 100 * row + i; }
    @mov32(out, mem, .{ .async = true });
  } else {
    @mov32(mem, in, .{ .async = true });
  }
}
comptime {
  @bind_local_task(start, start_id);
  @activate(start_id);
  if (sends == 0) {
    @initialize_queue(queue, .{ .color = c });
  } else if (@is_arch("wse3")) {
    @initialize_queue(out_queue, .{ .color = c });
  }
}
"""


@pytest.mark.parametrize("edges, x, y, at", [
    (("RIGHT", "LEFT"), 12, 10, (6, 5)), (("RIGHT", "LEFT"), 12, 0, (6, 5)),
    (("LEFT", "RIGHT"), 0, 11, (6, 5)), (("LEFT", "RIGHT"), 0, 0, (6, 5)),
    (("BOTTOM", "TOP"), 12, 12, (6, 5)), (("BOTTOM", "TOP"), 0, 12, (6, 5)),
    (("TOP", "BOTTOM"), 12, 0, (6, 5)),
    # around the regions, at the edges of the layout, and past one of them on both sides
    (("RIGHT", "LEFT"), 6, 14, (6, 5)), (("RIGHT", "LEFT"), 0, 12, (20, 5)),
    (("RIGHT", "LEFT"), 0, 9, (0, 0)), (("LEFT", "RIGHT"), 9, 0, (0, 0)),
    (("BOTTOM", "TOP"), 9, 0, (0, 0)), (("TOP", "BOTTOM"), 0, 9, (9, 0)),
    (("TOP", "LEFT"), 9, 9, (0, 0)), (("LEFT", "TOP"), 9, 9, (0, 0)),
    # next to each other: room for one path between them, and none
    (("RIGHT", "LEFT"), 7, 10, (6, 5)), (("RIGHT", "LEFT"), 1, 4, (0, 0))])
def test_lanes_of_one_color_keep_out_of_each_others_way(tmp_path, edges, x, y, at):
    """They cannot cross, and the first that goes the nearest way may lock the others in."""
    (tmp_path / "lane.csl").write_text(LANE)
    script(tmp_path, """
        def lanes(name, x, y, edge, sends):
            wide = edge in (Edge.TOP, Edge.BOTTOM)
            region = layout.create_code_region("lane.csl", name, *((4, 1) if wide else (1, 4)))
            region.place(x, y)
            c = region.color("c")
            region.set_param_all(c)
            region.set_param_all("size", 5)
            region.set_param_all("sends", sends)
            for i in range(4):
                region.set_param(IntVector(i, 0) if wide else IntVector(0, i), "row", i)
            routing, make = RoutingPosition(), region.create_input_port
            if sends:
                routing, make = routing.set_input([Route.RAMP]), region.create_output_port
            else:
                routing = routing.set_output([Route.RAMP])
            return make(c, edge, [routing], 5)
        layout.connect(lanes("from", FROM_X, FROM_Y, Edge.FROM, 1),
                       lanes("to", TO_X, TO_Y, Edge.TO, 0))
        runtime = started()
        runtime.stop()
        for i in range(4):
            at = (TO_X + i, TO_Y) if Edge.TO in (Edge.TOP, Edge.BOTTOM) else (TO_X, TO_Y + i)
            assert (runtime.read_symbol(*at, "data", "uint32") == 100 * i + np.arange(5)).all(), i
        """.replace("FROM_X", str(at[0])).replace("FROM_Y", str(at[1]))
        .replace("FROM", edges[0]).replace("Edge.TO,", f"Edge.{edges[1]},")
        .replace("Edge.TO ", f"Edge.{edges[1]} ").replace("TO_X", str(x)).replace("TO_Y", str(y)))


def test_painted_routes_carry_a_stream_to_its_own_place(tmp_path):
    """A stream that enters at a tile whose routes are painted, and one whose host tile is given."""
    script(tmp_path, """
        region = layout.create_code_region("step.csl", "chain", 2, 1)
        region.place(1, 1)
        rx, mid, tx = Color("rx", 3), Color("mid", 4), Color("tx")
        inner, outer = Route.RAMP, Route.WEST
        def position(i, o):
            return RoutingPosition().add_input(i).add_output(o)
        region.paint(IntVector(0, 0), rx, [position(outer, inner)])
        region.paint(IntVector(0, 0), mid, [position(inner, Route.EAST)])
        region.paint(IntVector(1, 0), mid, [position(outer, inner)])
        region.set_param_all("size", 3)
        for x, n, source, target in ((0, 1, rx, mid), (1, 10, mid, tx)):
            at = IntVector(x, 0)
            region.set_param(at, "n", n)
            region.set_param(at, "rx", source)
            region.set_param(at, "tx", target)
        out = region.create_output_port(tx, Edge.RIGHT,
                                        [RoutingPosition().set_input([inner])], 3)
        to = layout.create_input_stream_from_loc(IntVector(1, 1), rx, "entry ")
        assert to == "entry chain.rx"
        back = layout.create_output_stream(out, io_loc=IntVector(3, 3))
        runtime = started()
        words = np.array([1, 2, 3], np.uint32)
        got = np.zeros(3, np.uint32)
        runtime.send(to, words)
        runtime.receive_tofile(back, "words", 3)
        runtime.stop()
        assert (np.fromfile("words", np.uint32) == words + 11).all()
        """)
    streams = json.loads((tmp_path / "out" / "out.json").read_text())["layout"]["streams"]
    assert (streams["chain.tx"]["x"], streams["chain.tx"]["y"]) == (3, 3)


def test_a_stream_goes_to_a_file_later(tmp_path):
    """The words are there when the operation is done: after task_wait, a true is_task_done or stop.
    Without a number they are all those of the port."""
    script(tmp_path, """
        import os
        a_in, a_out = step("a", 1, 1, 5, size=3)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(a_out)
        words = np.array([1, 2, 3], np.uint32)
        for wait in ("task_wait", "is_task_done", "stop"):
            runtime = started()
            task = runtime.receive_tofile(back, wait, nonblock=True)
            assert np.fromfile(wait, np.uint32).size == 0
            runtime.send(to, words)
            os.makedirs("elsewhere", exist_ok=True)
            os.chdir("elsewhere")
            if wait == "task_wait":
                runtime.task_wait(task)
            while wait == "is_task_done" and not runtime.is_task_done(task):
                pass
            os.chdir("..")
            if wait == "stop":
                runtime.stop()
            assert (np.fromfile(wait, np.uint32) == words + 5).all()
            if wait != "stop":
                runtime.stop()
        runtime = started()
        runtime.send(to, words, nonblock=True)
        runtime.receive_tofile(back, open("open", "wb"), 2)
        assert (np.fromfile("open", np.uint32) == words[:2] + 5).all()
        try:
            runtime.receive_tofile(back, "nowhere/words", 1)
        except FileNotFoundError:
            runtime.receive_tofile(back, "last", 1)
        runtime.stop()
        assert np.fromfile("last", np.uint32) == 8
        """)


def test_a_stream_carries_no_words_at_all(tmp_path):
    """As copies of no elements do; a script may deal out words in parts of which some are empty."""
    script(tmp_path, """
        i, o = step("only", 1, 1, 7, size=3)
        to, back = layout.create_input_stream(i), layout.create_output_stream(o)
        runtime = started()
        words, got = np.array([1, 2, 3], np.uint32), np.zeros(3, np.uint32)
        for n in (0, 3, 0):
            runtime.send(to, words, n)
            runtime.receive(back, got, n)
        runtime.receive_tofile(back, "none", 0)
        runtime.stop()
        assert (got == words + 7).all() and np.fromfile("none", np.uint32).size == 0
        assert "n_wavelets must be at least 0" in message(started().send, to, words, -1)
        """)


def test_regions_are_stacked(tmp_path):
    script(tmp_path, """
        regions = [layout.create_code_region("block.csl", str(k), k + 1, 2) for k in range(3)]
        assert layout.hstack(regions, IntVector(1, 4)) == 6
        assert [r._place for r in regions] == [(1, 4), (2, 4), (4, 4)]
        assert layout.vstack(regions) == 6
        assert [r._place for r in regions] == [(1, 4), (1, 6), (1, 8)]
        assert layout.hstack(reversed(regions)) == 6
        assert [r._place for r in regions] == [(6, 8), (4, 8), (1, 8)]
        assert layout.vstack([]) == 0
        """)


def test_a_color_of_a_region_has_a_name_of_its_own(tmp_path):
    script(tmp_path, """
        region = layout.create_code_region("block.csl", "left", 1, 1)
        color = region.color("red", 3)
        assert color.get_global_name() == "left_red" and color.get_local_param_name() == "red"
        assert Color("red").get_global_name() == "red"
        # Joined names may be equal; the colors are two.
        other = Color("left_red", 4)
        for at in (color, other):
            region.paint_all(at, [RoutingPosition().set_input([Route.RAMP])
                                  .set_output([Route.EAST])])
        for name in ("columns", "rows"):
            region.set_param_all(name, 1)
        region.set_param_all("scale", 1.0)
        region.set_param_all("twice", False)
        layout.compile("out")
        """)
    colors = json.loads((tmp_path / "out" / "out.json").read_text())["colors"]
    assert colors == {"left.red": 3, "left_red": 4}


def test_equal_names_are_one_color_and_names_of_regions_are_not(tmp_path):
    # The tutorial sdklayout-03 of the SDK says that colors must be unique by their global names for
    # the compiler to give them different values, and that Region.color() makes them so.
    script(tmp_path, """
        for name, x in (("left", 1), ("right", 3)):
            region = layout.create_code_region("block.csl", name, 1, 1)
            region.place(x, 1)
            for color in (Color("tx"), region.color("tx")):
                region.paint_all(color, [RoutingPosition().set_input([Route.RAMP])
                                         .set_output([Route.EAST])])
            for param, value in (("columns", 1), ("rows", 1), ("scale", 1.0), ("twice", False)):
                region.set_param_all(param, value)
        layout.compile("out")
        """)
    colors = json.loads((tmp_path / "out" / "out.json").read_text())["colors"]
    assert set(colors) == {"tx", "left.tx", "right.tx"}
    assert colors["tx"] not in (colors["left.tx"], colors["right.tx"])


def test_a_fabric_file_names_the_machine(tmp_path):
    (tmp_path / "wse2.json").write_text('{"fabric": {"type": "WSE-2", "dims": [10, 10]}}')
    (tmp_path / "none.json").write_text('{"dims": [10, 10]}')
    (tmp_path / "bad.json").write_text("{")
    script(tmp_path, """
        assert SdkLayout("wse2.json")._target == SdkTarget.WSE2
        assert "names none: pass an SdkTarget" in message(SdkLayout, "none.json")
        assert "bad.json: a fabric's description is JSON" in message(SdkLayout, "bad.json")
        assert "FileNotFoundError" in message(SdkLayout, "no.json")
        """)


def test_warnings_of_the_compiler_are_shown(tmp_path):
    ran = script(tmp_path, """
        region = layout.create_code_region("block.csl", "blocks", 1, 1)
        for name, value in {"columns": 1, "rows": 1, "scale": 0.5, "twice": False, "thrice": 1}.items():
            region.set_param_all(name, value)
        layout.compile("out")
        """)
    assert "warning: 'block.csl' has no parameter 'thrice' [unknown_param]" in ran.err


def test_mistakes_of_a_script(tmp_path):
    script(tmp_path, """
        region = layout.create_code_region("step.csl", "r", 2, 3)
        ramp = RoutingPosition().set_input([Route.RAMP])
        c = Color("c", 3)
        for text, call in {
            "there is a region 'r' already":
                lambda: layout.create_code_region("step.csl", "r", 1, 1),
            "width must be at least 1, not 0":
                lambda: layout.create_code_region("step.csl", "s", 0, 1),
            "are outside": lambda: region.set_param(IntVector(2, 0), "n", 1),
            "must be an IntVector, not (0, 1): IntVector(0, 1) from":
                lambda: region.set_param((0, 1), "n", 1),
            "must be an IntVector, not two numbers: IntVector(1, 2) from":
                lambda: region.set_param(1, 2, "n", 1),
            "not two numbers: IntVector(0, 2) from": lambda: region.set_param(0, 2, c),
            "not two numbers: IntVector(1, 0) from": lambda: region.paint(1, 0, c, [ramp]),
            "the place of a stream must be an IntVector, not two numbers: IntVector(0, 0) from":
                lambda: layout.create_output_stream_from_loc(0, 0, c),
            "place() takes x and y as two numbers, not IntVector(1, 2)":
                lambda: region.place(IntVector(1, 2)),
            "the upper left corner must be an IntVector, not (0, 0): IntVector(0, 0) from":
                lambda: IntRectangle((0, 0), (1, 1)),
            "the lower right corner must be an IntVector, not 2":
                lambda: IntRectangle(IntVector(0, 0), 2),
            "a color alone is the value of the parameter 'c'; 4 has no parameter":
                lambda: region.set_param_all(c, 4),
            "the prefix of a name must be a str, not 3":
                lambda: region.create_output_port(c, Edge.TOP, [ramp], 1, 3),
            "the prefix of a name must be a str, not 4":
                lambda: layout.create_input_stream_from_loc(IntVector(0, 0), c, 4),
            "the place of a stream must be an IntVector, not (0, 0)":
                lambda: layout.create_input_stream_from_loc((0, 0), c),
            "must be a number or a Color, not 'x'": lambda: region.set_param_all("n", "x"),
            "names a route twice": lambda: ramp.add_input(Route.RAMP),
            "needs inputs and outputs": lambda: region.paint_all(c, [ramp]),
            "inputs and no outputs": lambda: region.create_output_port(
                c, Edge.TOP, [RoutingPosition().set_output([Route.RAMP])], 1),
            "must be an Edge": lambda: region.create_output_port(c, "TOP", [ramp], 1),
            "the positions must be a list of RoutingPosition": lambda: region.create_output_port(
                c, Edge.TOP, ramp, 1),
            "the output must be a list of Route": lambda: RoutingPosition().set_output(Route.RAMP),
            "the edges' routing must be a list": lambda: region.paint_all(
                c, [RoutingPosition().set_input([Route.EAST]).set_output([Route.RAMP])],
                get_edge_routing(Edge.TOP, [ramp])),
            "no switch position": lambda: region.paint_all(c, []),
            "the regions must be a list of CodeRegion, not one": lambda: layout.hstack(region),
            "the positions must be a list of RoutingPosition, not None":
                lambda: region.create_output_port(c, Edge.TOP, None, 1),
            "a color must be a Color, not 3":
                lambda: region.create_output_port(3, Edge.TOP, [ramp], 1),
            "a color must be a Color, not 'c'": lambda: region.paint_all("c", [ramp]),
            "a region needs a name": lambda: layout.create_code_region("step.csl", "", 1, 1),
            "libs must be a list of str, not one": lambda: layout.compile("out", libs="lib"),
            "libs must be a list of folders, which 3 is not":
                lambda: layout.compile("out", libs=["lib", 3]),
            "a region stands twice in the list": lambda: layout.vstack([region, region]),
            "f16_type must be a FP16TYPE, not 'bf16'":
                lambda: layout.compile("out", f16_type="bf16"),
            "there is no program '/nowhere/cslc': cslc_prefix is the folder":
                lambda: layout.compile("out", cslc_prefix="/nowhere"),
            "has the value 3, and now 4":
                lambda: region.set_param_all(Color("c", 4)) or region.set_param_all(c),
            "do not divide": lambda: region.set_symbol_all("A", np.zeros(9, int), 3, 3),
            "are no 2 x 2 matrix": lambda: region.set_symbol_all("A", np.zeros(9, int), 2, 2),
            "width and height are those of the whole matrix, 6 and 6 here, not of a tile's block":
                lambda: region.set_symbol_all("A", np.zeros(36, int), 3, 2),
            "no variable has elements of float64; .astype(np.float32)":
                lambda: region.set_symbol_all("A", np.zeros(12), 4, 3),
            "'A': elements of dtype >i2 are no numbers":
                lambda: region.set_symbol_all("A", np.zeros(12, ">i2"), 4, 3),
            "'A': its content must be a numpy array, not list":
                lambda: region.set_symbol_all("A", [0] * 12, 4, 3),
            "the array has 2 rows of 6 elements, and width is 2, height 6: are they swapped":
                lambda: region.set_symbol_all("A", np.zeros((2, 6), np.int16), 2, 6),
            "width must be an integer, not float":
                lambda: region.set_symbol_all("A", np.zeros(12, np.int16), 8 / 2, 3),
            "parameter 'n' must fit 64 bits with a sign":
                lambda: region.set_param_all("n", 2 ** 63),
            "parameter 'n' must be a finite number, not nan":
                lambda: region.set_param_all("n", float("nan")),
            "IntRectangle(IntVector(1, 1), IntVector(1, 2)) has no tiles: its second corner":
                lambda: region.set_param_range(
                    IntRectangle(IntVector(1, 1), IntVector(1, 2)), "n", 1),
            "the value of a color must be an integer, not float": lambda: Color("d", 1.5),
            "x must be an integer, not float": lambda: region.place(3 / 2, 0),
            "size must be an integer, not float": lambda: region.create_output_port(
                c, Edge.TOP, [ramp], 1.5),
            "'float' object cannot be interpreted as an integer": lambda: IntVector(0.5, 1),
            "get_platform()": lambda: SdkLayout("wse2"),
            "no region is at": lambda: layout.create_input_stream_from_loc(IntVector(9, 9), c),
            "paint the tile's route": lambda: layout.create_input_stream_from_loc(
                IntVector(0, 0), c),
            "a port must be a PortHandle": lambda: layout.connect("a", "b"),
        }.items():
            region.set_param_all(c)
            assert text in message(call), (text, message(call))
        port = region.create_output_port(c, Edge.TOP, [ramp], 1)
        assert "is an output port" in message(layout.create_input_stream, port)
        assert "'r.c' has 2 tiles; a stream passes through one" in message(
            layout.create_output_stream, port)
        alone = layout.create_code_region("step.csl", "alone", 1, 3)
        narrow = alone.create_output_port(c, Edge.TOP, [ramp], 1)
        layout.create_output_stream(narrow)
        assert "'alone.c' has a connection or a stream already" in message(
            layout.create_output_stream, narrow)
        (i, o), (to, _) = step("a", 9, 1, 7), step("b", 9, 4, 7)
        assert "'a.rx' is an input port; the first one is an output port" in message(
            layout.connect, i, o)
        assert "'a.tx' is an output port; the second one is an input port" in message(
            layout.connect, o, o)
        other = SdkLayout(platform)
        assert "'a.tx' is of a region of another SdkLayout" in message(other.connect, o, to)
        assert "another SdkLayout" in message(other.create_output_stream, o)
        layout.connect(o, to)
        assert "'b.rx' has a connection" in message(layout.create_input_stream, to)
        """)


# `mark` at the end of a line names it.
MARKS = """
def place(mark):
    lines = open(__file__).read().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if line.endswith("# " + mark))
    return f"{os.path.basename(__file__)}:{number}:{len(lines[number - 1]) - len(lines[number - 1].lstrip()) + 1}: "
"""


CHANGES = ["region.set_param_all('n', 2)", "region.place(7, 7)",
           "region.set_symbol_all('data', np.zeros(5, np.uint32), 5, 1)",
           "region.paint_all(region.color('c'), [ways])",
           "layout.create_code_region('bare.csl', 'b', 1, 1)",
           "region.create_input_port(region.color('c'), Edge.TOP, [ways.set_input([])], 1)"]


@pytest.mark.parametrize("change, then", [
    *((change, "SdkRuntime('out', memcpy_required=False)") for change in CHANGES),
    (CHANGES[0], ""), (CHANGES[-1], "layout.compile('out')")])
def test_changes_after_compile_are_not_silent(tmp_path, change, then):
    """The program does not have them: the next runtime says so, or the end of the script, and once.
    A script that compiles again is right."""
    (tmp_path / "bare.csl").write_text("export var nothing: u16 = 0;\n")
    ran = script(tmp_path, f"""
        ways = RoutingPosition().set_input([Route.WEST]).set_output([Route.EAST])
        i, o = step("a", 1, 1, 1)
        layout.create_input_stream(i), layout.create_output_stream(o)
        region = layout._regions[0]
        layout.compile("out")
        {change}    # here
        {then}
        """)
    here = next(n for n, line in enumerate((tmp_path / "run.py").read_text().splitlines(), 1)
                if line.endswith("# here"))
    said = f"run.py:{here}: this call came after compile(), and the program in {tmp_path / 'out'} "
    assert ran.err.count(said) == ("compile" not in then)
    assert ("RuntimeWarning" in ran.err) == ("SdkRuntime" in then)


def test_a_script_that_fails_hears_nothing_of_changes(tmp_path):
    (tmp_path / "bare.csl").write_text("export var nothing: u16 = 0;\n")
    (tmp_path / "run.py").write_text(SCRIPT.replace("ARCH", "WSE3") + textwrap.dedent("""
        layout.create_code_region("bare.csl", "b", 1, 1)
        layout.compile("out")
        step("a", 1, 1, 1)
        raise KeyError("mine")
        """))
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, expect=1)
    assert "KeyError" in ran.err and "after compile()" not in ran.err


@pytest.mark.parametrize("wrong, said", [
    ("region.place(1, 1)  # mark", "error: regions 'late' and 'a' both have tile 1,1"),
    ("region.set_symbol_all('A', np.zeros(1, int), 1, 1)\n"
     "layout.create_code_region('none.csl', 'none', 1, 1).place(9, 9)  # mark",
     "error: cannot find 'none.csl'"),
    ("region.set_param_all(Color('own', 30))  # mark",
     "error: 'colors[2].value' of the layout must be a whole number from 0 to 23"),
    ("region.place(2000, 4)  # mark",
     "error: 'regions[1].x' of the layout must be a whole number from 0 to"),
    ("i, o = step('b', 7, 1, 1, size=6)\nlayout.connect(first[1], i)  # mark",
     "error: 'connections[0]' of the layout must be ports of one size"),
    ("layout.create_output_stream(first[1], io_loc=IntVector(  # mark\n    1, 1))",
     "error: stream 'a.tx' cannot end at tile 1,1"),
    ("region.paint_all(Color('x', 2), [out] * 5)  # mark",
     "error: 'regions[1].paint[0].positions' of the layout must be 1 to 4 switch positions"),
    ("region.paint_all(Color('x', 2), [out])\n"
     "region.create_input_port(Color('x'), Edge.LEFT, [to_ramp], 1)\n"
     "region.create_input_port(Color('x'), Edge.TOP, [to_ramp], 1)  # mark",
     "error: tile 4,4 has two routes of one color"),
    ("region.create_input_port(Color('x'), Edge.LEFT, [to_ramp], 1)  # mark",
     "warning: port 'late.x' is joined to nothing"),
])
def test_messages_show_the_line_of_the_script(tmp_path, wrong, said):
    lines = "\n        ".join(wrong.splitlines())
    script(tmp_path, f"""
        import os
        {MARKS.strip().replace(chr(10), chr(10) + "        ")}
        first = step("a", 1, 1, 1)
        region = layout.create_code_region("block.csl", "late", 1, 1)
        region.place(4, 4)
        to_ramp = RoutingPosition().set_output([Route.RAMP])
        out = RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])
        {lines}
        shown = message(started)
        assert place("mark") + {said!r} in shown, (place("mark"), shown)
        """)


def test_the_call_behind_a_tile_is_where_its_region_is_made(tmp_path):
    script(tmp_path, f"""
        import os
        {MARKS.strip().replace(chr(10), chr(10) + "        ")}
        region = layout.create_code_region("block.csl", "blocks", 1, 1)  # made
        for name, value in {{"columns": 70000, "rows": 1, "scale": 0.5, "twice": False}}.items():
            region.set_param_all(name, value)  # set
        shown = message(started)
        assert place("set") + "error: parameter 'columns' is of type 'u16'" in shown, shown
        assert place("made") + "note: in the program of tile (0, 0)" in shown, shown
        """)


@pytest.mark.parametrize("wrong, said", [
    ("region.set_param_all('columns', -1)  # mark",
     "error: parameter 'columns' is of type 'u16' and cannot take -1"),
    ("region.set_param(IntVector(1, 0), 'twice', 7)  # mark\nregion.set_param_all('scale', 2.5)",
     "error: parameter 'twice' is of type 'bool' and cannot take 7"),
    ("region.set_symbol_all('B', np.zeros(2, np.float32), 2, 1)  # mark",
     "error: the layout sets 'B', but block.csl declares no such variable"),
    ("region.set_symbol_all('A', np.zeros(4, np.float32), 4, 1)  # mark",
     "error: the layout sets 'A' to 8 bytes per tile; the variable has 4"),
    ("region.set_param(IntVector(1, 0), 'colums', 5)\nregion.set_param(  # mark\n"
     "    IntVector(0, 0), 'colums', 4)\nregion.set_param_all('rows', -1)",
     "warning: 'block.csl' has no parameter 'colums'"),
    ("region.set_param_all('colums', 4)  # mark\nregion.set_param_all('rows', -1)",
     "warning: 'block.csl' has no parameter 'colums'"),
    ("region.set_param_all('twice', Color('red', 1))  # mark",
     "error: parameter 'twice' is of type 'bool' and cannot take"),
    ("region.set_param(IntVector(1, 0), 'scale', 1e39)  # mark",
     "error: 1e+39 is too large for f32, the type of 'scale', and would become infinite"),
    ("region.set_symbol_all('A', np.ones(2, np.int32), 2, 1)  # mark\n"
     "region.set_param_all('rows', 1)\nregion.set_symbol_all('B', np.ones(2, np.int32), 2, 1)",
     "warning: 'A' has elements of type 'f32', and the layout sets it to integers of 32 bits"),
])
def test_what_a_tile_gets_wrong_is_shown_where_it_is_set(tmp_path, wrong, said):
    """Where several lines set it, the message shows the one whose value the tile has."""
    lines = "\n        ".join(wrong.splitlines())
    script(tmp_path, f"""
        import os
        {MARKS.strip().replace(chr(10), chr(10) + "        ")}
        region = layout.create_code_region("block.csl", "blocks", 2, 1)
        for name, value in {{"columns": 1, "rows": 1, "scale": 0.5, "twice": False}}.items():
            region.set_param_all(name, value)
        {lines}
        shown = message(started)
        assert place("mark") + {said!r} in shown, (place("mark"), shown)
        """)


# Variables of each kind, and what the compiler says of an array for one of them:
# layout_symbol_elements with layout_symbol_help or layout_symbol_bits.
CONTENT = """
param half: @fp16();
var words = @zeros([4]u32);
var shorts = @zeros([4]i16);
var floats = @zeros([2, 2]f32);
var halves = @zeros([4]@fp16());
var flags = @zeros([4]bool);
"""
OTHER_NUMBERS = "whose bits stand for other numbers there"


@pytest.mark.parametrize("name, dtype, fp16, said", [
    ("words", "int32", "F16", None), ("words", "uint32", "F16", None),
    ("words", "float32", "F16", ("type 'u32', and the layout sets it to floats of 32 bits",
                                 ".astype(np.uint32) makes")),
    ("shorts", "uint16", "F16", None),
    ("shorts", "float16", "F16", ("type 'i16', and the layout sets it to floats of 16 bits",
                                  ".astype(np.int16) makes")),
    ("floats", "float32", "F16", None),
    ("floats", "int32", "F16", ("integers of 32 bits", ".astype(np.float32) makes")),
    ("floats", "uint32", "F16", ("integers of 32 bits", ".astype(np.float32) makes")),
    ("halves", "float16", "F16", None), ("halves", "uint16", "CB16", None),
    ("halves", "int16", "F16", None),
    ("halves", "float16", "BF16", ("type 'bf16'", "numpy has no 'bf16': pass the bits as")),
    ("flags", "bool_", "F16", None)])
def test_content_of_another_type_is_told(tmp_path, name, dtype, fp16, said):
    (tmp_path / "content.csl").write_text(CONTENT)
    ran = script(tmp_path, f"""
        from cerebras.sdk.runtime.sdkruntimepybind import FP16TYPE
        region = layout.create_code_region("content.csl", "r", 1, 1)
        region.set_param_all("half", 1)
        region.set_symbol_all("{name}", np.ones(4, np.{dtype}), 2, 2)
        layout.compile("out", f16_type=FP16TYPE.{fp16})
        """)
    assert all(text in ran.err for text in said or ()), ran.err
    assert (OTHER_NUMBERS in ran.err) == bool(said), ran.err


@pytest.mark.parametrize("value, fp16, fits", [(65519, "F16", True), (65520, "F16", False),
                                               (65520, "BF16", True), (1e39, "BF16", False)])
def test_a_parameter_does_not_become_infinite(tmp_path, value, fp16, fits):
    (tmp_path / "content.csl").write_text(CONTENT)
    script(tmp_path, f"""
        from cerebras.sdk.runtime.sdkruntimepybind import FP16TYPE
        region = layout.create_code_region("content.csl", "r", 2, 1)
        region.set_param_all("half", 1)
        region.set_param(IntVector(1, 0), "half", {value})
        compiled = lambda: layout.compile("out", f16_type=FP16TYPE.{fp16})
        said = compiled() and "" if {fits!r} else message(compiled)
        assert {fits!r} or "for {fp16.lower()}, the type of 'half', and would become" in said, said
        """)


@pytest.mark.parametrize("value, positions, said", [
    (24, 1, "'colors[0].value' of the layout must be a whole number from 0 to 23"),
    (-1, 1, "'colors[0].value' of the layout must be a whole number from 0 to 23"),
    (2, 5, "'regions[0].paint[0].positions' of the layout must be 1 to 4 switch positions")])
def test_the_compiler_says_what_the_machine_has(tmp_path, value, positions, said):
    script(tmp_path, f"""
        region = layout.create_code_region("block.csl", "r", 1, 1)
        position = RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])
        region.paint_all(Color("c", {value}), [position] * {positions})
        said = message(started)
        assert {said!r} in said, said
        """)


@pytest.mark.parametrize("arch, changes, said", [
    ("wse3", "set_input([Route.WEST]).set_output([Route.RAMP])", ""),
    ("wse2", "set_input([Route.WEST]).set_output([Route.RAMP])",
     "'regions[0].paint[0].positions' of the layout must be positions of which each changes the "
     "inputs or the outputs of the one before, as wse2 has them; position 1 changes both"),
    ("wse2", "set_input([Route.WEST]).set_output([Route.EAST])", "")])
def test_a_position_changes_as_many_sides_as_the_machine_can(tmp_path, arch, changes, said):
    script(tmp_path, f"""
        region = layout.create_code_region("block.csl", "r", 1, 1)
        first = RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])
        region.paint_all(Color("c", 2), [first, RoutingPosition().{changes}])
        told = message(started)
        assert {said!r} in told and (bool({said!r}) == ("positions of which" in told)), told
        """, arch=arch)


def test_mistakes_with_streams(tmp_path):
    script(tmp_path, """
        i, o = step("only", 1, 1, 7)
        to, back = layout.create_input_stream(i), layout.create_output_stream(o)
        runtime = started()
        words = np.zeros(5, np.uint32)
        assert "no stream 'x'" in message(runtime.send, "x", words)
        assert "is an output stream" in message(runtime.send, back, words)
        assert "is an input stream" in message(runtime.receive, to, words)
        assert ".view(np.uint32) puts two" in message(runtime.send, to, words.astype(np.uint16))
        assert ".astype(np.float32) makes" in message(runtime.send, to, words.astype(float))
        assert "float32, not list" in message(runtime.send, to, [1, 2])
        assert "port 'only.rx' is no stream: create_input_stream" in message(runtime.send, i, words)
        assert "the array has 5" in message(runtime.send, to, words, 6)
        assert "outside" in message(runtime.read_symbol, 9, 9, "data")
        assert "deadlock" in message(runtime.receive, back, words, 5)
        """)


TURNS = """
param rx: color;
param tx: color;
const control = @import_module("<control>");
const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
var words: [1]u32;
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> words[i] });
const in = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = rx, .input_queue = in_queue });
const out = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = tx, .output_queue = out_queue });
const turn = @get_dsd(fabout_dsd, .{ .extent = 1, .fabric_color = tx, .output_queue = out_queue,
                                     .control = true });
const start_id = @get_local_task_id(10);
const send_id = @get_local_task_id(11);
task start() void { @mov32(mem, in, .{ .async = true, .activate = send }); }
task send() void {
  @mov32(out, mem);
  @mov32(turn, control.encode_single_payload(control.opcode.SWITCH_ADV, true, {}, 0));
  @activate(start_id);
}
comptime {
  @bind_local_task(start, start_id);
  @bind_local_task(send, send_id);
  @activate(start_id);
  @initialize_queue(in_queue, .{ .color = rx });
  if (@is_arch("wse3")) { @initialize_queue(out_queue, .{ .color = tx }); }
}
"""


def test_tiles_that_serve_the_host_are_no_first_cause(tmp_path):
    """The switch does not turn back, so the second word stays; that the tile waits for a third one is
    no mistake."""
    (tmp_path / "turns.csl").write_text(TURNS)
    script(tmp_path, """
        region = layout.create_code_region("turns.csl", "r", 1, 1)
        rx, tx = region.color("rx"), region.color("tx")
        region.set_param_all(rx)
        region.set_param_all(tx)
        region.place(2, 2)
        i = region.create_input_port(rx, Edge.LEFT, [RoutingPosition().set_output([Route.RAMP])], 1)
        o = region.create_output_port(tx, Edge.RIGHT, [RoutingPosition().set_input([Route.RAMP]),
                                                       RoutingPosition().set_input([Route.NORTH])], 1)
        to, back = layout.create_input_stream(i), layout.create_output_stream(o)
        runtime, word = started(), np.ones(1, np.uint32)
        runtime.send(to, word, nonblock=True)
        runtime.receive(back, word, 1)
        runtime.send(to, word, nonblock=True)
        said = message(runtime.receive, back, word, 1)
        causes = [line for line in said.splitlines() if line.startswith("cause ")]
        assert "from NORTH only" in causes[0] and "no more words come from the host" in causes[1], said
        """)


# ---- what reports say ---------------------------------------------------------------------------

# A step that begins anew: how many words it takes is not known before the run.
LOOP = STEP.replace("@mov32(out, mem, .{ .async = true });",
                    "@mov32(out, mem, .{ .async = true, .activate = start_id });")


def report(folder, text, program=STEP):
    """What the run reports of two steps beside each other, a and b, and what the compiler has
    said."""
    ran = script(folder, f"""
        (a_in, a_out), (b_in, b_out) = step("a", 1, 1, 1), step("b", 2, 1, 1)
        words, filled = np.arange(5, dtype=np.uint32), np.zeros(5, np.uint32)
        {text}
        """, step=program)
    return ran.out, ran.err


RUN = """
        runtime = started()
        runtime.send(to, words[:4], nonblock=True)
        print(message(runtime.receive, back, filled, 5))
"""
NO_CSL = ("set_color_config", " .tx", " .rx", "on color 22 has")


def test_a_stream_that_gets_too_little_has_its_name(tmp_path):
    out, err = report(tmp_path, """
        layout.connect(a_out, b_in)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(b_out)""" + RUN)
    assert "the stream 'b.tx' to the host has got only 0 of its 5 words\ncause 1: no more words " \
           "come from the host on the stream 'a.rx', which P0.1 takes" in out
    # Both regions have the same number for 'rx', and are named by the param of their program.
    assert "the same holds up P2.1" in out and "color 0 'rx', input queue 2" in out
    assert "let the host send as many words" in out and not any(w in out for w in NO_CSL), out
    assert not err


def test_a_receive_in_front_of_its_send_is_explained(tmp_path):
    out, _ = report(tmp_path, """
        layout.connect(a_out, b_in)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(b_out)
        runtime = started()
        print(message(runtime.receive, back, filled, 5))
""")
    assert "no more words come from the host on the stream 'a.rx'" in out
    assert "send() first, or receive() with nonblock=True" in out, out


def test_tiles_before_the_layout_are_told(tmp_path):
    out, _ = report(tmp_path, """
        first_in, first_out = step("first", 0, 0, 1)
        to, back = layout.create_input_stream(first_in), layout.create_output_stream(first_out)
        layout.connect(a_out, b_in)
        layout.create_input_stream(a_in), layout.create_output_stream(b_out)""" + RUN)
    assert "P1.0 microthread 2 waits" in out and "note: the layout's (0, 0) is P1.0 in" in out, out


def test_words_that_no_call_receives(tmp_path):
    _, err = report(tmp_path, """
        layout.connect(a_out, b_in)
        to, back = layout.create_input_stream(a_in), layout.create_output_stream(b_out)
        runtime = started()
        runtime.send(to, words)
        runtime.receive(back, filled[:3], 3)
        runtime.stop()""")
    assert ("tiles have sent 2 more word(s) to the host on the stream 'b.tx' than receive has asked "
            "for; compare the numbers of elements [stream_unreceived]") in err


APART = "layout._regions[1].place(9, 1)\n        "
ENDS = "to, back = layout.create_input_stream(a_in), layout.create_output_stream(b_out)"


@pytest.mark.parametrize("joined, said", [
    (ENDS, "help: connect() the port through which the words come, or"),
    (APART + ENDS, "help: a port of this color is joined to nothing, or")])
def test_ports_that_nothing_is_joined_to_are_the_help(tmp_path, joined, said):
    out, err = report(tmp_path, joined + RUN.replace(":4", ":5"), LOOP)
    assert err.count("[port_unjoined]") == 2
    assert said in out and not any(w in out for w in NO_CSL), out


# script_route_taken, script_nothing_sent: tiles are counted as the layout counts them.
@pytest.mark.parametrize("place, taken", [("1, 0", "takes it from RAMP only"),
                                          ("9, 3", "has no route for it")])
def test_the_compiler_finds_ports_that_nothing_is_joined_to(tmp_path, place, taken):
    out, _ = report(tmp_path, f"""
        layout._regions[0].place(0, 0), layout._regions[1].place({place})
        {ENDS}
        print(message(started))
        """)
    assert f"error: color 1 leaves tile (0, 0) to the EAST, but tile (1, 0) {taken}" in out, out
    assert "a painted route needs one for the color on tile (1, 0), too" in out
    assert f"error: tile ({place}) receives color 0 here, but no tile sends it there" in out
    assert "for words to come, connect() the port or give it a stream" in out
    assert out.count("[port_unjoined]") == 2 and out.index("[port_unjoined]") < out.index("error: ")
    assert not any(w in out for w in NO_CSL), out


def test_a_program_that_sends_beside_its_routes(tmp_path):   # script_route_missing
    out, _ = report(tmp_path, """
        lone = layout.create_code_region("step.csl", "lone", 1, 1)
        lone.place(5, 5)
        for name, value in {"size": 5, "n": 1, "rx": Color("x", 3), "tx": Color("y", 4)}.items():
            lone.set_param_all(name, value)
        other = layout.create_code_region("block.csl", "other", 1, 1)
        other.place(0, 0)
        routes = RoutingPosition().set_input([Route.RAMP]).set_output([Route.EAST])
        for color in (Color("x", 3), Color("y", 4)):
            other.paint_all(color, [routes])
        for name, value in {"columns": 1, "rows": 1, "scale": 0.5, "twice": False}.items():
            other.set_param_all(name, value)
        print(message(started))
        """)
    assert "color 4 is sent here, but tile (5, 5) has no route for it" in out, out
    assert "a port of it leads the color in or out" in out and not any(w in out for w in NO_CSL)
