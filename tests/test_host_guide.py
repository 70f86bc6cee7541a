"""The host guide is true: the files it shows are written, its command blocks are run one after the
other in a folder that was empty, against an installation, and what they print is what it says."""
import re

import pytest

import harness

GUIDE = harness.ROOT / "docs" / "host.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {"csl", "python", "c", "bash"}


def blocks():
    """(kind, text, the text before it) of each fenced block of the guide."""
    text, at = GUIDE.read_text(), 0
    for match in BLOCK.finditer(text):
        yield match.group(1), match.group(2), text[at:match.start()]
        at = match.end()


def file_name(before):
    """The name that stands last before a file's block."""
    return re.search(r"`([\w.]+)`:\n\n$", before).group(1)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    harness.run(["cmake", "--install", harness.bin_dir().parent, "--prefix", prefix])
    package = next(prefix.rglob("wse.pc")).parent
    return {"PATH": f"{prefix}/bin:/usr/bin:/bin", "PKG_CONFIG_PATH": str(package),
            "LD_LIBRARY_PATH": str(package.parent)}


def test_every_block_is_of_a_known_kind():
    kinds = [kind for kind, *_ in blocks()]
    assert set(kinds) == FILES | {"sh", "output"}
    assert all(kinds[i - 1] == "sh" for i, kind in enumerate(kinds) if kind == "output")
    assert kinds.count("sh") == kinds.count("output")      # no command without what it prints


def test_the_guide_does_what_it_says(environment, tmp_path):
    ran = None
    for kind, text, before in blocks():
        if kind in FILES:
            (tmp_path / file_name(before)).write_text(text)
        elif kind == "sh":
            ran = harness.run(["bash", "-euc", text], cwd=tmp_path, env=environment)
        else:
            assert ran.out == text, ran.err
