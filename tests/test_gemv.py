"""samples/gemv-collectives: both versions compute what numpy computes; ours is the faster one."""
import sys

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
