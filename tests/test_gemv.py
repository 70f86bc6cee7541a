"""samples/gemv-collectives: both versions compute what numpy computes; ours is the faster one."""
import pytest

import gemv_run


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("width, height, rows, columns", [(2, 2, 1, 1), (4, 3, 5, 2), (3, 7, 2, 9)])
def test_result(tmp_path, arch, width, height, rows, columns):
    grid = (width, height, rows, columns)
    assert gemv_run.run(tmp_path, *grid, arch=arch)[0]
    for sums in (gemv_run.LIBRARY, gemv_run.CHAIN, gemv_run.TWO_PHASE):
        assert gemv_run.run(tmp_path, *grid, with_2d=True, sum_by=sums, arch=arch)[0]


def test_the_reference_engine_agrees(tmp_path):
    assert (gemv_run.run(tmp_path, 4, 4, 3, 2, engine="reference")
            == gemv_run.run(tmp_path, 4, 4, 3, 2))


def test_faster_than_over_collectives_2d(tmp_path):
    ours = gemv_run.run(tmp_path, 16, 16, 4, 4)[2]
    library = gemv_run.run(tmp_path, 16, 16, 4, 4, with_2d=True)[2]
    assert 2 * ours <= library
