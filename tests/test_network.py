"""samples/network-mpi against numpy, on squares and on lines of tiles, and slower than the
library."""
import network_run as network
import pytest


@pytest.mark.parametrize("arch, width, height", [("wse2", 3, 3), ("wse3", 4, 2), ("wse2", 1, 5),
                                                 ("wse3", 5, 1)])
@pytest.mark.parametrize("operation", range(7))
def test_result(tmp_path, arch, width, height, operation):
    for n in (1, 37):                 # more than a packet has
        assert network.network(tmp_path, width, height, operation, n, arch) > 0


@pytest.mark.parametrize("operation, n", [(network.STAGES, 16), (network.ROUNDS, 1),
                                          (network.BROADCAST, 100), (network.REDUCE, 100),
                                          (network.ALLREDUCE, 1), (network.BARRIER, 0)])
def test_the_library_is_faster(tmp_path, operation, n):
    """The short form of the claim collectives_baseline."""
    assert (network.network(tmp_path / "network", 3, 3, operation, n) >
            2 * network.own(tmp_path / "own", 3, operation, n))
