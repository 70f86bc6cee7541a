"""samples/npb: the kernels against the values of the benchmarks' specification."""
import npb_run
import pytest


@pytest.mark.parametrize("tiles, arch", [(16, "wse3"), (32, "wse2")])
def test_integer_sort(tmp_path, tiles, arch):
    """The short form of the claim npb."""
    assert npb_run.run_is(tmp_path, tiles, 2, arch) > 0
