"""<collectives/packets>: the short form of the claim packets."""
import re

import numpy
import pytest

import harness
import packets_run as packets

PAGE = harness.ROOT / "docs" / "collectives.md"


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


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_model(tmp_path, arch):
    """The latency, the interval of a stream, and the bound for a hot spot, at a point of each."""
    image = packets.build(tmp_path, 4, 3, 1, 9, arch=arch)
    latency = packets.between(tmp_path, image, 4, 3, 0, 11, 9)
    assert latency == pytest.approx(packets.predicted(arch, "latency", 9, (3, 2)), rel=0.05, abs=16)
    for window in (1, 2):
        interval = packets.interval(tmp_path, arch, window, 6, 1, 1, 4, 5)
        predicted = packets.predicted(arch, "interval", 5, (3, 0), window)
        assert interval == pytest.approx(predicted, rel=0.05, abs=16)
    image = packets.build(tmp_path, 4, 3, 10, 4, 2, arch=arch, checks=False)
    targets, lengths = numpy.full((12, 10), 5), numpy.full((12, 10), 4)
    cycles, _ = packets.run(tmp_path, image, targets, lengths, 4, 3)
    least = packets.least_cycles(arch, targets, lengths, 4)
    assert least <= cycles <= 1.25 * least


def test_model_is_for_two_tiles():
    done = harness.run([harness.tool("wse-model"), "predict", "--op=packets", "--pattern=latency",
                        "--pes=1", "--len=1"], expect=2)
    assert "the pattern needs another shape or root" in done.err


def page_formulas(pattern, case=""):
    """What the page's row says on wse2 and on wse3."""
    row = re.search(rf"^\| `{pattern}`{case}[^|]*\| (.*) \| (.*) \|$", PAGE.read_text(), re.M)
    return dict(zip(("wse2", "wse3"), (f.replace("d (", "d * (").replace("/", "//")
                                       for f in row.groups())))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("pattern", ["latency", "sends", "takes", "passes", "passes-credit"])
def test_page_has_the_formulas_of_the_model(pattern, arch):
    said = eval(page_formulas(pattern)[arch], {"n": 13, "d": 5})
    assert packets.predicted(arch, pattern, 13, (3, 2)) == said


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("n, width", [(1, 2), (13, 2), (250, 2), (1, 5), (13, 5), (250, 5)])
def test_page_has_the_interval_of_the_model(arch, n, width):
    """With a window of one, on a line: the largest of the limits that the page's rows name."""
    case = ", to a neighbour" if width == 2 else ", farther"
    limits = " and ".join(page_formulas("interval", c)[arch] for c in (case, ", window of one"))
    said = [eval(limit, {"n": n, "d": width - 1})
            for limit in limits.replace("at least ", "").replace("2 n", "2 * n").split(" and ")]
    assert packets.predicted(arch, "interval", n, (width - 1, 0)) == max(said)
