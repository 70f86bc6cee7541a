"""Host scripts that speak to the wafers of a cluster: SdkRuntime by a keyword or by the environment."""
import json

import pytest

import harness
import page_data
import ranks_run

LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
const east = @get_color(1);
const west = @get_color(2);
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0), .east = east, .west = west });
  @set_color_config(0, 0, east, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(0, 0, west, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  @export_name("data", [*]u32, true);
  @export_name("turn", fn (u16) void);
}
"""
# `turn` sends the words to the east, takes those from the west, and adds a number.
TILE = """
param memcpy_params: comptime_struct;
param east: color;
param west: color;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const out = @get_output_queue(3);
const in = @get_input_queue(3);
var data = @zeros([5]u32);
var came = @zeros([5]u32);
var data_ptr: [*]u32 = &data;
var number: u16 = 0;
const data_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> data[i] });
const came_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> came[i] });
const done = @get_local_task_id(10);
fn turn(add: u16) void {
  number = add;
  @mov32(@get_dsd(fabout_dsd, .{ .fabric_color = east, .extent = 5, .output_queue = out }), data_dsd,
         .{ .async = true });
  @mov32(came_dsd, @get_dsd(fabin_dsd, .{ .fabric_color = west, .extent = 5, .input_queue = in }),
         .{ .async = true, .activate = done });
}
task end() void {
  for (@range(u16, 5)) |i| { data[i] = came[i] + @as(u32, number); }
  sys_mod.unblock_cmd_stream();
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(out, .{ .color = east });
    @initialize_queue(in, .{ .color = west });
  }
  @bind_local_task(end, done);
  @export_symbol(data_ptr, "data");
  @export_symbol(turn);
}
"""
HEAD = """
import os
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime, MemcpyDataType, MemcpyOrder
KINDS = dict(streaming=False, order=MemcpyOrder.ROW_MAJOR, data_type=MemcpyDataType.MEMCPY_32BIT,
             nonblock=False)
def put(r, words):
    r.memcpy_h2d(r.get_id("data"), np.array(words, np.uint32), 0, 0, 1, 1, 5, **KINDS)
def get(r):
    words = np.zeros(5, np.uint32)
    r.memcpy_d2h(words, r.get_id("data"), 0, 0, 1, 1, 5, **KINDS)
    return words.tolist()
"""
BY_KEYWORD = HEAD + """
from wse_cluster import Wafers
with Wafers("c.json") as wafers:
    print(list(wafers))
    runners = [SdkRuntime(wafer=wafers[name]) for name in wafers]
    for r in runners:
        r.load()
        r.run()
    for i, r in enumerate(runners):
        put(r, [10 * i + k for k in range(5)])
    for _ in range(2):
        tasks = [r.launch("turn", np.uint16(100 * i), nonblock=True) for i, r in enumerate(runners)]
        for r, task in zip(runners, tasks):
            r.task_wait(task)
    print([get(r) for r in runners])
    for r in runners:
        r.stop()
"""
BY_ENVIRONMENT = HEAD + """
with SdkRuntime("out") as r:
    put(r, [7, 8, 9, 10, 11])
    task = r.launch("turn", np.uint16(3), nonblock=False)
    print(get(r))
"""


def build(folder, script, links):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(TILE)
    (folder / "run.py").write_text(script)
    harness.cslc("layout.csl", "--fabric-dims=8,3", "--fabric-offsets=4,1", "--memcpy", "--channels=1",
                 "-o", "out", cwd=folder)
    (folder / "c.json").write_text(json.dumps(links))


RING = {"topology": {"kind": "ring", "size": 3, "image": "out", "rows": [0], "latency": 60,
                     "channels": [{"colors": [1, 2]}]}}
ONE = {"wafers": [{"name": "only", "image": "out"}],
       "links": [{"from": {"wafer": "only", "edge": "east", "at": 0},
                  "to": {"wafer": "only", "edge": "west", "at": 0}, "latency": 9,
                  "channels": [{"colors": [1, 2]}]}]}


@pytest.mark.parametrize("options", ["", "--engine=reference", "--threads=2"])
def test_a_script_with_a_runtime_for_each_wafer(options, tmp_path):
    """Words go round the ring; each wafer adds its number to them."""
    build(tmp_path, BY_KEYWORD, RING)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path,
                      env={"WSE_ARGS": f"--stats=s.json {options}"})
    data, size = [[10 * i + k for k in range(5)] for i in range(3)], 3
    for _ in range(2):
        data = [[word + 100 * i for word in data[(i - 1) % size]] for i in range(size)]
    assert ran.out == f"['w0', 'w1', 'w2']\n{data}\n"
    assert {harness.stats(tmp_path / f"s-w{i}.json")["tiles"] for i in range(3)} == {1}


STUCK = HEAD + """
from wse_cluster import Wafers
with Wafers("c.json") as wafers:
    runners = [SdkRuntime(wafer=wafers[name]) for name in wafers]
    for r in runners:
        r.load()
        r.run()
    try:
        runners[1].launch("turn", np.uint16(1), nonblock=False)
    except RuntimeError as e:
        print(str(e).splitlines()[0])
    runners[0].stop()
    runners[2].stop()
"""


def test_the_page_of_a_wafer_says_that_another_one_is_stuck(tmp_path):
    """The script goes on without the wafer whose launch ends as a deadlock."""
    build(tmp_path, STUCK, RING)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path,
                      env={"WSE_ARGS": "--report=r.wseview"}, expect=None)
    assert "deadlock at cycle" in ran.out, ran
    for name in ("w0", "w2"):
        said = page_data.of_file(tmp_path / f"r-{name}.wseview").top["message"]
        assert said.startswith("The run of wafer w1 ended at cycle ") and "by a deadlock" in said


def test_a_topology_that_the_script_builds(tmp_path):
    build(tmp_path, BY_KEYWORD.replace('"c.json"', 'TOPOLOGY'), {})
    (tmp_path / "run.py").write_text(f"TOPOLOGY = {RING!r}\n" + (tmp_path / "run.py").read_text())
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path)
    assert ran.out.startswith("['w0', 'w1', 'w2']\n[[")
    (tmp_path / "run.py").write_text("from wse_cluster import Wafers\nWafers({'wafers': [3]})\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, expect=1)
    assert "wafers[0]: an object {...} has to stand here" in ran.err


@pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")
def test_a_script_with_wafers_on_several_processes(tmp_path):
    build(tmp_path, BY_KEYWORD, RING)
    alone = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path)
    apart = ranks_run.run(3, harness.tool("cs_python"), "run.py", cwd=tmp_path)
    assert apart.out == alone.out


def test_a_script_that_knows_nothing_of_clusters(tmp_path):
    build(tmp_path, BY_ENVIRONMENT, ONE)
    cluster = {"WSE_CLUSTER": "c.json", "WSE_WAFER": "only"}
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, env=cluster)
    assert ran.out == "[10, 11, 12, 13, 14]\n"


MISTAKES = [
    ("SdkRuntime()", {}, "needs the output directory of cslc, or a wafer of a cluster"),
    ("SdkRuntime('out')", {"WSE_CLUSTER": "c.json"}, "WSE_WAFER does not name the wafer"),
    ("SdkRuntime('out')", {"WSE_CLUSTER": "c.json", "WSE_WAFER": "x"},
     "no wafer is called 'x'; expected one of only"),
    ("SdkRuntime('other')", {"WSE_CLUSTER": "c.json", "WSE_WAFER": "only"},
     "the program of wafer 'only' is"),
    ("SdkRuntime('out')", {"WSE_CLUSTER": "none.json", "WSE_WAFER": "x"}, "cannot use cluster file"),
    ("SdkRuntime('out')", {"WSE_CLUSTER": "c.json", "WSE_WAFER": "only", "WSE_ARGS": "--stop=9"},
     "--stop and --cluster do not go together"),
    ("SdkRuntime('out', wse_args='--threads=1')", {"WSE_CLUSTER": "c.json", "WSE_WAFER": "only"},
     "WSE_ARGS has the options of a cluster"),
]


CLOSED = "RuntimeError: the cluster of wafer 'only' is closed"


@pytest.mark.parametrize("text, message", [
    ("with Wafers('c.json') as w:\n  r = SdkRuntime(wafer=w['only'])\nr.load()", CLOSED),
    ("with Wafers('c.json') as w:\n  pass\nSdkRuntime(wafer=w['only'])", CLOSED),
    ("with Wafers('c.json') as w:\n  r = SdkRuntime(wafer=w['only'])\n  r.load(); r.run(); r.stop()\n"
     "r.read_symbol(4, 1, 'data')", CLOSED),
    ("w = Wafers('c.json')\nwith SdkRuntime(wafer=w['only']):\n  w.close()", CLOSED),
    ("SdkRuntime(wafer='only')", "TypeError: wafer is what Wafers has by a name, wafers['a'], not 'only'"),
    ("Wafers(None)", "TypeError: a cluster is a file, or a dictionary with what such a file has, not None"),
    ("wse_cluster.Cluster('3')", "width, height, channels and latency are whole numbers, not '3'"),
    ("wse_cluster.Cluster(3, latency=0)", "the latency of a link is 1 cycle at least, not 0"),
    ("wse_cluster.Cluster(3, arch='wse9')", "arch is wse2 or wse3, not 'wse9'")])
def test_wafers_behind_the_end_of_their_cluster_and_other_mistakes(text, message, tmp_path):
    """What a closed cluster had is gone; a use of it ended the process by a signal."""
    build(tmp_path, HEAD + "import wse_cluster\nfrom wse_cluster import Wafers\n" + text + "\n", ONE)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, expect=1)
    assert message in ran.err


def test_a_runtime_keeps_its_cluster_open(tmp_path):
    text = "r = SdkRuntime(wafer=Wafers('c.json')['only'])\nr.load(); r.run(); r.stop(); print('ended')\n"
    build(tmp_path, HEAD + "from wse_cluster import Wafers\n" + text, ONE)
    assert harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path).out == "ended\n"


@pytest.mark.parametrize("call,environment,message", MISTAKES)
def test_mistakes(call, environment, message, tmp_path):
    build(tmp_path, HEAD + call + "\n", ONE)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, env=environment, expect=1)
    assert message in ran.err
