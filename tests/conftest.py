"""Options and fixtures that every suite shares; the helpers themselves are in harness.py."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import cluster_random  # noqa: E402
import harness  # noqa: E402


@pytest.fixture(scope="module")
def cluster_images(tmp_path_factory):
    """The folder of the images that random clusters are made of."""
    folder = tmp_path_factory.mktemp("images")
    cluster_random.compile_images(folder)
    return folder


@pytest.fixture
def checks(tmp_path):
    """Stands for the Claims of a claim whose functions a test shares: what misses its bound fails."""
    class Failing(harness.claim("claims").Checks):
        def __init__(self):
            self.scratch = tmp_path

        def check(self, name, value, bound, holds, unit=""):
            assert holds, f"{name}: value {value} {unit}, bound {bound} {unit}"

    return Failing()


def pytest_addoption(parser):
    parser.addoption("--debug-build", action="store_true",
                     help="run the sanitized programs of build/debug instead of build/release")


def pytest_configure(config):
    if config.getoption("--debug-build"):
        harness.use_build("debug")


def pytest_collection_modifyitems(items):
    """Long tests first: with several workers, none of them has one left when the others are done."""
    def comes_later(item):
        return not any(item.get_closest_marker(name) for name in ("slow", "long"))
    items.sort(key=comes_later)
