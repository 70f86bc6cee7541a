"""<collectives/packets>: the short form of the claim packets."""
import numpy
import pytest

import harness
import packets_run as packets


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("kind", range(len(packets.PATTERNS)))
def test_patterns(tmp_path, kind, arch, engine):
    """Every pattern on a random rectangle, with packets of 0 to `longest` words."""
    random = harness.commit_random(f"packets {kind} {arch}")
    width, height = (int(random.integers(1, 6)) for _ in range(2))
    count, longest = int(random.integers(1, 30)), int(random.integers(1, 20))
    image = packets.build(tmp_path, width, height, count, longest, int(random.integers(1, 4)),
                          int(random.choice([0, 50])), arch)
    targets = packets.pattern(random, kind, width, height, count)
    packets.run(tmp_path, image, targets, random.integers(0, longest + 1, targets.shape), width,
                height, engine)


def test_full_links_both_ways(tmp_path):
    """All links are full in all directions: no packet may wait for one that waits for it."""
    random = harness.commit_random("full links")
    image = packets.build(tmp_path, 4, 4, 200, longest=3, window=8)
    targets = packets.pattern(random, 0, 4, 4, 200)
    packets.run(tmp_path, image, targets, numpy.full(targets.shape, 3), 4, 4)


@pytest.mark.parametrize("text, params", [
    ("a packet has 1 to 32766 words", {"longest": 0}),
    ("a sender has at least one credit for each receiver", {"window": 0}),
])
def test_mistakes_are_reported(tmp_path, text, params):
    done = harness.compile(packets.PROGRAM, tmp_path / "o.bin", expect=1, params={
        "width": 2, "height": 2, "count": 1, "longest": 1, "window": 1, "delay": 0, **params})
    assert text in done.err
