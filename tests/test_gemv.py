"""samples/gemv-collectives: both versions compute what numpy computes; ours is the faster one."""
import sys

import numpy
import pytest

import harness

sys.path.insert(0, str(harness.SAMPLES / "study"))
import programs  # noqa: E402


def phases(folder, width, height, rows, columns, **options):
    """Raises programs.Wrong if y is not numpy's."""
    tools = programs.Tools(harness.bin_dir())
    return programs.gemv_phases(tools, folder, width, height, rows, columns, **options)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("grid", [(2, 2, 1, 1), (4, 3, 5, 2), (3, 7, 2, 9)])
def test_result(tmp_path, arch, grid):
    phases(tmp_path, *grid, arch=arch)
    for sums in programs.SUMS:
        phases(tmp_path, *grid, with_2d=True, sum_by=sums, arch=arch)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("grid", [(2, 2, 1, 1), (4, 3, 5, 2), (3, 7, 2, 9), (5, 4, 16, 31)])
def test_result_of_f16(tmp_path, arch, grid):
    phases(tmp_path, *grid, arch=arch, dtype=numpy.float16)


def test_f16_is_added_up_in_f32(tmp_path):
    """The left tiles' sums are 299 * 9 + 3, one by one; f16 has no odd numbers above 2048."""
    image, blocks = tmp_path / "o.bin", numpy.zeros((2, 2, 300), numpy.float16)
    blocks[:, 0], blocks[:, 0, 0], blocks[:, 1, 0] = 3, 1, -896
    harness.compile("samples/gemv-collectives/layout.csl", image, params={
        "width": 2, "height": 2, "rows": 1, "columns": 300, "is_f16": "true"})
    x = harness.save_npy(tmp_path / "x.npy", numpy.full((1, 1, 600), 3, numpy.float16))
    b = harness.save_npy(tmp_path / "b.npy", numpy.full((1, 1, 2), 2, numpy.float16))
    out = harness.emu(image, f"--h2d=A={harness.save_npy(tmp_path / 'A.npy', blocks)}",
                      f"--h2d=x@0,0,1,1={x}", f"--h2d=b@0,0,1,1={b}", "--launch=main",
                      "--print=y:2@1,1,1,1").out
    assert harness.values(out, "y")[1, 1] == [299 * 9 + 3 - 896 * 3 + 2] * 2


def test_f16_is_rounded_once(tmp_path):
    """Any numbers: y is what f32 gives, rounded to f16."""
    image, random = tmp_path / "o.bin", numpy.random.default_rng(4)
    matrix, x, b = (random.standard_normal(shape).astype(numpy.float16)
                    for shape in ((12, 32), 32, 12))
    harness.compile("samples/gemv-collectives/layout.csl", image, params={
        "width": 4, "height": 3, "rows": 4, "columns": 8, "is_f16": "true"})
    blocks = matrix.reshape(3, 4, 4, 8).transpose(0, 2, 3, 1).reshape(3, 4, -1)
    files = {name: harness.save_npy(tmp_path / f"{name}.npy", array) for name, array in
             (("A", blocks), ("x@0,0,1,1", x.reshape(1, 1, -1)), ("b@0,0,1,1", b.reshape(1, 1, -1)))}
    out = harness.emu(image, *(f"--h2d={name}={file}" for name, file in files.items()),
                      "--launch=main", "--print=y:12@3,2,1,1").out
    exact = matrix.astype(float) @ x.astype(float) + b
    numpy.testing.assert_allclose(harness.values(out, "y")[3, 2], exact, rtol=2**-11, atol=1e-5)


def test_f16_does_not_go_over_collectives_2d(tmp_path):
    done = harness.compile("samples/gemv-collectives/layout.csl", tmp_path / "o.bin", expect=1,
                           params={"width": 2, "height": 2, "rows": 1, "columns": 1,
                                   "is_f16": "true", "with_2d": "true"})
    assert "<collectives_2d> moves and adds 32-bit elements only" in done.err


def test_the_reference_engine_agrees(tmp_path):
    assert phases(tmp_path, 4, 4, 3, 2, engine="reference") == phases(tmp_path, 4, 4, 3, 2)


def test_faster_than_over_collectives_2d(tmp_path):
    ours, library = (phases(tmp_path, 16, 16, 4, 4, with_2d=with_2d)[1]
                     for with_2d in (False, True))
    assert 2 * ours <= library


def test_a_wrong_result_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(programs.numpy, "array_equal", lambda a, b: False)
    with pytest.raises(programs.Wrong, match="y is not numpy's"):
        phases(tmp_path, 2, 2, 1, 1)
