"""The programs of tests/bench/families.py compute what they should, and both engines agree."""
import sys

import harness
import numpy as np
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
import families  # noqa: E402
import vendor  # noqa: E402

WIDTH, HEIGHT = 5, 4
OF_THE_RUN = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
              "active_tile_cycles_per_second")


def statistics_of(path):
    """Without what differs from one run to the next."""
    return {k: v for k, v in harness.stats(path).items() if k not in OF_THE_RUN}


def run(tmp_path, layout, params, engine="fast", d2h=None, threads=1):
    """Statistics, and the array that d2h names."""
    image, out = tmp_path / "p.bin", tmp_path / "out.npy"
    harness.compile(layout, image, params=params)
    copies = ["--run", f"--d2h={d2h}={out}"] if d2h else []
    harness.emu(image, *copies, f"--engine={engine}", f"--threads={threads}",
                f"--stats={tmp_path / 's.json'}", timeout=120)
    return statistics_of(tmp_path / "s.json"), np.load(out) if d2h else None


@pytest.mark.parametrize("name", families.FAMILIES)
def test_both_engines_agree(name, tmp_path):
    workload = families.FAMILIES[name](WIDTH, HEIGHT)
    for many, few in (("turns", 1), ("steps", 2), ("numbers", 7), ("B", 40)):
        if many in workload.params:
            workload.params[many] = few
    image, actions = workload.compile(harness.bin_dir(), tmp_path), workload.actions(tmp_path)
    found = {}
    for engine in ("fast", "reference"):
        harness.emu(image, *actions, f"--engine={engine}", f"--stats={tmp_path / 's.json'}",
                    timeout=120)
        found[engine] = statistics_of(tmp_path / "s.json")
    assert found["fast"] == found["reference"] and found["fast"]["active_tile_cycles"] > 100


def test_copies_come_back_doubled(tmp_path):
    workload = families.copies(WIDTH, HEIGHT)
    harness.emu(workload.compile(harness.bin_dir(), tmp_path), *workload.actions(tmp_path))
    out = np.load(tmp_path / "out.npy")
    assert out.size == WIDTH * HEIGHT * families.COPIED_WORDS and (out == 2).all()


SCRIPT = """
import sys
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime
runner = SdkRuntime("out")
runner.load()
runner.run()
x, y, z = (runner.get_id(name) for name in "xyz")
whole = dict(streaming=False, nonblock=False, data_type=MemcpyDataType.MEMCPY_32BIT)
half = dict(whole, data_type=MemcpyDataType.MEMCPY_16BIT, order=MemcpyOrder.ROW_MAJOR)
words = np.arange(3 * 2 * 4, dtype=np.int32)
runner.memcpy_h2d(x, words, 0, 0, 3, 2, 4, order=MemcpyOrder.COL_MAJOR, **whole)
runner.memcpy_h2d(y, words[:16].astype(np.uint32), 1, 0, 2, 2, 4, **half)
runner.launch("add", np.int16(-3), nonblock=False)
found = np.zeros(24, np.int32)
runner.memcpy_d2h(found, z, 0, 0, 3, 2, 4, order=MemcpyOrder.ROW_MAJOR, **whole)
runner.stop()
np.save("found.npy", found.reshape(2, 3, 4))
sys.exit(len(sys.argv) - 2)         # a script's own exit code and arguments stay
"""
LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 3, .height = 2 });
layout {
  @set_rectangle(3, 2);
  for (@range(u16, 3)) |px| {
    for (@range(u16, 2)) |py| {
      @set_tile_code(px, py, "pe.csl", .{ .memcpy_params = memcpy.get_params(px) });
    }
  }
  @export_name("x", [*]i32, true);
  @export_name("y", [*]i16, true);
  @export_name("z", [*]i32, true);
  @export_name("add", fn (i16) void);
}
"""
PROGRAM = """
param memcpy_params: comptime_struct;
const memcpy = @import_module("<memcpy/memcpy>", memcpy_params);
var xs = @zeros([4]i32);
var ys = @zeros([4]i16);
var zs = @zeros([4]i32);
var x: [*]i32 = &xs;
var y: [*]i16 = &ys;
var z: [*]i32 = &zs;
fn add(n: i16) void {
  for (@range(u16, 4)) |i| {
    zs[i] = xs[i] + @as(i32, ys[i]) + @as(i32, n);
  }
  memcpy.unblock_cmd_stream();
}
comptime {
  @export_symbol(x, "x");
  @export_symbol(y, "y");
  @export_symbol(z, "z");
  @export_symbol(add);
}
"""


def test_actions_that_were_recorded_do_what_the_script_does(tmp_path):
    for name, text in (("layout.csl", LAYOUT), ("pe.csl", PROGRAM), ("run.py", SCRIPT)):
        (tmp_path / name).write_text(text)
    harness.compile(tmp_path / "layout.csl", tmp_path / "out", "--memcpy", "--channels=1",
                    "--fabric-dims=10,4", "--fabric-offsets=4,1")
    harness.run([harness.tool("cs_python"), vendor.RECORDER, tmp_path, "run.py", "--name"],
                cwd=tmp_path, env={"WSE_ARGS": f"--stats={tmp_path / 'script.json'}"})
    actions = (tmp_path / "actions").read_text().split("\n")[:-1]
    assert actions[2] == "--launch=add(-3)"
    harness.emu(tmp_path / "out", *actions, f"--stats={tmp_path / 's.json'}")
    assert np.array_equal(np.load(tmp_path / "3.npy"), np.load(tmp_path / "found.npy"))
    ours, script = statistics_of(tmp_path / "s.json"), statistics_of(tmp_path / "script.json")
    for name in ("cycles", "host_cycles", "active_tile_cycles", "instructions", "tasks", "wavelets"):
        assert ours[name] == script[name]


@pytest.mark.parametrize("threads", (1, 2))
def test_engines_agree_on_wide_rows(threads, tmp_path):
    """More than eight words of the map of awake tiles per row share the bits that say which have
    any."""
    params = {"width": 577 + 64 * threads, "height": 3, "B": 4}
    fast, sums = run(tmp_path, "tests/bench/wafer/layout.csl", params, d2h="sum@0,0,1,1",
                     threads=threads)
    reference, others = run(tmp_path, "tests/bench/wafer/layout.csl", params, "reference",
                            d2h="sum@0,0,1,1")
    assert fast == reference and np.array_equal(sums, others)
    tiles = params["width"] * params["height"]
    assert sums.ravel().tolist() == [tiles * i for i in range(params["B"])]


def test_trials_of_threads_change_nothing(tmp_path):
    """The cycles have so many visits that the engine tries whether threads are faster."""
    width, height, nz = (int(n) for n in harness.commit_random("crew").integers(20, 26, 3))
    params = {"width": width, "height": height, "nz": nz, "steps": 4}
    alone, values = run(tmp_path, "tests/bench/stencil/layout.csl", params,
                        d2h=f"u@0,0,{width},{height}")
    for threads in (2, 3, 5):
        found, others = run(tmp_path, "tests/bench/stencil/layout.csl", params,
                            d2h=f"u@0,0,{width},{height}", threads=threads)
        assert found == alone and np.array_equal(values, others)


def test_tasks_pass_every_number_on(tmp_path):
    params = {"width": WIDTH, "height": HEIGHT, "numbers": 11}
    statistics, sums = run(tmp_path, "tests/bench/tasks/layout.csl", params, d2h="sum")
    want = [sum(range(11)) + 11 * max(x - 1, 0) for x in range(WIDTH)]
    assert (sums.reshape(HEIGHT, WIDTH) == want).all()
    assert statistics["tasks"] == HEIGHT * (1 + 11 * (WIDTH - 1))


def test_gemm_adds_every_panel(tmp_path):
    params = {"width": WIDTH, "height": HEIGHT, "size": 6, "panels": 3}
    _, c = run(tmp_path, "tests/bench/gemm/layout.csl", params, d2h="C:36")
    assert c.size == WIDTH * HEIGHT * 36 and (c == 6 * 3).all()


def next_step(u):
    """One step of the stencil, by numpy: u[y, x, z]; what lies outside is zero."""
    following = 0.25 * u
    following[:, :, 1:-1] += 0.125 * (u[:, :, :-2] + u[:, :, 2:])
    following[:, 1:] += 0.125 * u[:, :-1]
    following[:, :-1] += 0.125 * u[:, 1:]
    following[1:] += 0.125 * u[:-1]
    following[:-1] += 0.125 * u[1:]
    return following


def test_stencil_steps_as_numpy_does(tmp_path):
    nz, steps = 9, 3
    params = {"width": WIDTH, "height": HEIGHT, "nz": nz, "steps": steps}
    _, found = run(tmp_path, "tests/bench/stencil/layout.csl", params, d2h=f"u:{nz}")
    want = np.broadcast_to(np.arange(nz) % 4, (HEIGHT, WIDTH, nz)).astype(np.float64)
    for _ in range(steps):
        want = next_step(want)
    assert np.allclose(found.reshape(HEIGHT, WIDTH, nz), want, rtol=1e-6, atol=0)


@pytest.mark.parametrize("stop, code", [("runner.stop()", 0), ("", 1)])
def test_a_script_may_miss_its_tolerance_when_it_is_over(tmp_path, stop, code):
    for name, text in (("layout.csl", LAYOUT), ("pe.csl", PROGRAM)):
        (tmp_path / name).write_text(text)
    script = SCRIPT.replace("runner.stop()", f"{stop}\nassert False, 'too far off'")
    (tmp_path / "run.py").write_text(script)
    harness.compile(tmp_path / "layout.csl", tmp_path / "out", "--memcpy", "--channels=1",
                    "--fabric-dims=10,4", "--fabric-offsets=4,1")
    ran = harness.run([harness.tool("cs_python"), vendor.RECORDER, tmp_path, "run.py"], cwd=tmp_path,
                      expect=code)
    assert "too far off" in ran.err and (tmp_path / "actions").exists() == (code == 0)


def test_a_function_belongs_to_the_stage_of_its_file():
    assert families.stage_of("scalar_run") == "scalar rows"
    assert families.stage_of("step_whole.constprop.0") == "main thread ahead"
    assert families.stage_of("vec_begin") == "vector operations"
    assert families.stage_of("visit_row") == "visits, routers, streams"
    assert families.stage_of("no_such_function") == "other"
