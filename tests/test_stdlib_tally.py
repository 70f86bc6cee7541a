"""<kernels/tally>: one total, correct and delivered once, at one tile, for a kernel of any size."""
import pytest

import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "tally" / "layout.csl"


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("with_callback", [True, False], ids=["callback", "output"])
@pytest.mark.parametrize("width, height", [(1, 1), (4, 1), (1, 5), (2, 2), (5, 4), (7, 8)])
@pytest.mark.parametrize("whole", [False, True], ids=["joined", "whole"])
def test_total(tmp_path, arch, with_callback, width, height, whole):
    everything = sum(4 * (x + 1) + y for x in range(width) for y in range(height))
    totals, times = run(tmp_path, arch, with_callback, width, height, everything, whole=whole)
    place = (width - 1, 1 if with_callback else 0)
    assert totals == {place: everything}
    assert times == {place: 1}


def test_without_a_second_phase_what_was_counted_before_is_there(tmp_path):
    """Each tile's three turns before it signals count for sure."""
    totals, times = run(tmp_path, "wse3", True, 4, 3, 0)
    before = sum(3 * (x + 1) for x in range(4) for _ in range(3))
    after = sum(4 * (x + 1) + y for x in range(4) for y in range(3))
    (place, total), = totals.items()
    assert place == (3, 1) and before <= total <= after and times == {place: 1}


def test_an_unreachable_tally_is_never_told(tmp_path):
    assert run(tmp_path, "wse2", True, 3, 3, 10**6) == ({}, {})


def test_on_wse2_input_queues_need_not_be_named(tmp_path):
    """As in programs for SDK 1.0."""
    everything = sum(4 * (x + 1) + y for x in range(3) for y in range(3))
    assert run(tmp_path, "wse2", True, 3, 3, everything, with_queues=0)[0] == {(2, 1): everything}
    failed = harness.cslc("--arch=wse3", "--params=width:3,height:3,phase2:0,with_callback:1",
                          "--params=with_queues:0", PROGRAM, "-o", tmp_path / "o.bin", expect=1)
    assert "input_queues must be given on wse3" in failed.err


def run(tmp_path, arch, with_callback, width, height, phase2, with_queues=1, whole=False):
    """What is not zero of `total` and `times`, by tile."""
    image = tmp_path / "o.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}",
                    params={"width": width, "height": height, "phase2": phase2,
                            "with_callback": int(with_callback), "with_queues": with_queues,
                            "whole": int(whole)})
    out = harness.emu(image, "--launch=main", "--print=total:1", "--print=times:1").out
    return tuple({tile: int(v[0]) for tile, v in harness.values(out, symbol).items() if v[0]}
                 for symbol in ("total", "times"))
