"""The programs of tests/bench/families.py compute what they should, and both engines agree."""
import sys

import harness
import numpy as np
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "bench"))
import families  # noqa: E402

WIDTH, HEIGHT = 5, 4
OF_THE_RUN = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
              "active_tile_cycles_per_second")


def run(tmp_path, layout, params, engine="fast", d2h=None, threads=1):
    """Statistics, and the array that d2h names."""
    image, out = tmp_path / "p.bin", tmp_path / "out.npy"
    harness.compile(layout, image, params=params)
    copies = ["--run", f"--d2h={d2h}={out}"] if d2h else []
    harness.emu(image, *copies, f"--engine={engine}", f"--threads={threads}",
                f"--stats={tmp_path / 's.json'}", timeout=120)
    found = harness.stats(tmp_path / "s.json")
    return ({k: v for k, v in found.items() if k not in OF_THE_RUN},
            np.load(out) if d2h else None)


@pytest.mark.parametrize("name", families.FAMILIES)
def test_both_engines_agree(name, tmp_path):
    workload = families.FAMILIES[name](WIDTH, HEIGHT)
    params = dict(workload.params)
    for many, few in (("turns", 1), ("steps", 2), ("numbers", 7), ("B", 40)):
        if many in params:
            params[many] = few
    fast, _ = run(tmp_path, workload.layout, params)
    reference, _ = run(tmp_path, workload.layout, params, "reference")
    assert fast == reference and fast["active_tile_cycles"] > 100


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


def test_stages_sum_to_one():
    assert families.stage_of("scalar_run") == "scalar rows"
    assert families.stage_of("vec_begin") == "vector start"
    assert families.stage_of("visit_row") == "visits, routers, streams"
    assert families.stage_of("no_such_function") == "other"
