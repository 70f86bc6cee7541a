"""samples/npb: the kernels against the values of the benchmarks' specification."""
import harness
import npb_lu
import npb_run
import pytest


@pytest.mark.parametrize("tiles, arch", [(16, "wse3"), (32, "wse2")])
def test_integer_sort(tmp_path, tiles, arch):
    """The short form of the claim npb."""
    assert npb_run.run_is(tmp_path, tiles, 2, arch) > 0


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_integer_sort_of_fewer_keys(tmp_path, arch):
    assert npb_run.run_is(tmp_path, 8, 2, arch, log_keys=13) > 0


@pytest.mark.parametrize("tiles, arch", [(4, "wse3"), (16, "wse2")])
def test_embarrassingly_parallel(tmp_path, tiles, arch):
    of_sums, of_counts, _ = npb_run.run_ep(tmp_path, tiles, 12, arch)
    assert of_sums <= 1e-6 and of_counts <= 1e-5


@pytest.mark.long
@pytest.mark.parametrize("tiles, arch", [(32, "wse3"), (56, "wse2")])
def test_conjugate_gradient(tmp_path, tiles, arch):
    error, _ = npb_run.run_cg(tmp_path, tiles, 1, arch)
    assert error <= 1e-6


@pytest.mark.parametrize("tiles, arch", [(16, "wse3"), (32, "wse2")])
def test_multigrid(tmp_path, tiles, arch):
    for iterations in (1, npb_run.MG_ITERATIONS):
        error, _ = npb_run.run_mg(tmp_path, tiles, iterations, arch)
        assert error <= 1e-5


@pytest.mark.parametrize("size, log_side, arch", [((4, 4), 4, "wse3"), ((8, 2), 4, "wse2"),
                                                  ((1, 8), 4, "wse2"), ((8, 8), 5, "wse2")])
def test_fourier_transform(tmp_path, size, log_side, arch):
    error, _ = npb_run.run_ft(tmp_path, size, log_side, 2, arch)
    assert error <= 1e-6


@pytest.mark.parametrize("arch, size", [("wse2", (4, 2)), ("wse3", (2, 2))])
def test_the_same_over_a_network(tmp_path, arch, size):
    """Collectives of samples/network-mpi behind the same work give the same results, later."""
    tiles = size[0] * size[1]
    log_keys = 10 + tiles.bit_length() - 1
    ours, network = (npb_run.run_is(tmp_path, tiles, 2, arch, log_keys, of) for of in (None, size))
    assert network > 1.05 * ours
    error, ours = npb_run.run_cg(tmp_path, tiles, 1, arch, n=20 * tiles + 3)
    error_of_network, network = npb_run.run_cg(tmp_path, tiles, 1, arch, 20 * tiles + 3, size)
    assert max(error, error_of_network) <= 1e-6 and network > 1.05 * ours
    (error, ours), (error_of_network, network) = (
        npb_run.run_ft(tmp_path, size, 4, 1, arch, of) for of in (False, True))
    assert max(error, error_of_network) <= 1e-6 and network > 1.05 * ours
    (error, ours), (error_of_network, network) = (
        npb_run.run_mg(tmp_path, tiles, 1, arch, 4, of) for of in (None, size))
    assert max(error, error_of_network) <= 1e-5 and network > 1.05 * ours


@pytest.mark.parametrize("size, arch", [((5, 5), "wse3"), ((10, 5), "wse2"), ((2, 10), "wse2")])
def test_flow_in_a_cube(tmp_path, size, arch):
    off, _ = npb_run.run_lu(tmp_path, size, 2, arch)
    assert max(off) <= 1e-6


@pytest.mark.parametrize("size, inner, arch", [((2, 2), (6, 6, 6), "wse2"),
                                               ((5, 5), (10, 10, 10), "wse3"),
                                               ((10, 5), (10, 10, 10), "wse2"),
                                               ((2, 6), (4, 6, 5), "wse3"),
                                               ((1, 3), (4, 6, 5), "wse2")])
def test_flow_over_a_network(tmp_path, size, inner, arch):
    """With a column or row per tile, what is two points away comes over another tile."""
    _, ours = npb_run.run_lu(tmp_path, size, 2, arch, inner)
    off, network = npb_run.run_lu(tmp_path, size, 2, arch, inner, True)
    assert max(off) <= 1e-6 and network > 1.03 * ours


@pytest.mark.parametrize("size, inner, arch", [((2, 3), (8, 6, 5), "wse2"),
                                               ((4, 2), (4, 8, 13), "wse3")])
def test_flow_with_other_numbers_of_points(tmp_path, size, inner, arch):
    """Each axis has its own distance between points."""
    off, _ = npb_run.run_lu(tmp_path, size, 2, arch, inner)
    assert max(off) <= 1e-6


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_a_flow_on_four_tiles_fits_their_memory(tmp_path, arch, level):
    """As the claim runs it, for 50 iterations; a quarter of the points leaves little room."""
    harness.compile("samples/npb/lu/layout.csl", tmp_path / "lu.bin", level, f"--arch={arch}",
                    params={"width": 2, "height": 2, "iterations": npb_run.LU_ITERATIONS})


def test_numpy_has_the_results_of_the_specification():
    """What the flow in a cube is compared with after few iterations."""
    for found, want in zip(npb_lu.solve(npb_run.LU_ITERATIONS),
                           (npb_run.LU_RESIDUALS, npb_run.LU_ERRORS, npb_run.LU_INTEGRAL)):
        assert found == pytest.approx(want, rel=1e-9)
