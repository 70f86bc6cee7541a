"""samples/published at small sizes; the claim published has the sizes of the page."""
import gemm_table
import harness
import published_rows
import published_run as published
import pytest

ARCHS = ("wse2", "wse3")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("width, height", [(1, 1), (3, 4), (8, 2)])
def test_allreduce(tmp_path, arch, width, height):
    assert published.run_allreduce(tmp_path, width, height, 3, arch) > 0


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("width, height, Z", [(1, 1, 16), (3, 4, 32), (6, 1, 48), (2, 5, 16)])
def test_bicgstab(tmp_path, arch, width, height, Z):
    found = published.run_bicgstab(tmp_path, width, height, Z, 3, half=False, arch=arch)
    assert found["error"] < 1e-5 and found["rho"] < 1e-5 and found["residual"] < 0.01


@pytest.mark.parametrize("arch", ARCHS)
def test_bicgstab_with_16_bits(tmp_path, arch):
    found = published.run_bicgstab(tmp_path, 4, 3, 64, 2, arch=arch)
    assert found["error"] < 0.01 and found["rho"] < 0.005 and found["residual"] < 0.02


def test_bicgstab_sends_while_it_adds(tmp_path):
    """On wse2, a point takes as many cycles as its groups of operations do one after the other."""
    quarter, half = 1 / 4, 1 / 2  # operations on 16-bit elements; with sums in f32
    local = 4 * quarter           # two products and two sums
    exchange = 4 * (quarter + quarter)        # on each way, what a tile sends and what it adds
    dot = quarter + half + half / 4           # every fourth group on the lanes waits for a bank
    square = quarter              # both sources of t * t are in one bank
    sums = 6 * quarter
    short, long = (published.run_bicgstab(tmp_path, 4, 3, Z, 1)["cycles"] for Z in (256, 512))
    assert (long - short) / 256 == 2 * (local + exchange) + 4 * dot + square + sums


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("width, height, Z, steps", [(1, 1, 5, 2), (3, 7, 12, 3), (10, 2, 9, 2)])
def test_stencil(tmp_path, arch, width, height, Z, steps):
    assert published.run_stencil(tmp_path, width, height, Z, steps, arch)["error"] < 1e-5


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("side", [2, 4, 8])
def test_fft(tmp_path, arch, side):
    assert published.run_fft(tmp_path, side, arch)["error"] < 1e-6


def test_fft_of_one_row_with_long_runs(tmp_path):
    """64 places: the stages of both kinds."""
    assert published.run_fft_row(tmp_path, 64)["error"] < 1e-6


def test_quick_rows_of_the_page_are_current(tmp_path):
    """The short form of the claim published."""
    page = gemm_table.on_the_page("published", harness.ROOT / "docs" / "published.md").splitlines()
    for row in harness.claim("published").allreduces(None, tmp_path):
        assert gemm_table.table_of([row]).splitlines()[0] in page


def test_the_rows_of_other_pages_are_those_of_these_pages():
    """The claim published writes them with its own, which take minutes."""
    page = gemm_table.on_the_page("published", harness.ROOT / "docs" / "published.md").splitlines()
    for row in [*published_rows.gemm(), *published_rows.collectives()]:
        assert "| " + " | ".join(row) + " |" in page
