"""Options and fixtures that every suite shares; the helpers themselves are in harness.py."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness  # noqa: E402


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
