"""Data movers (<links/mover>) between two wafers: order, contents, sessions, both modes of ending,
push and pull, back-pressure; and reports on wrong programs."""
import pytest

import cluster_run
import harness
import links_run


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("round_", range(4))
def test_nothing_is_lost_or_out_of_order(tmp_path, arch, round_):
    random = harness.commit_random(f"links {arch} {round_}")
    traffic = links_run.random_traffic(random, arch)
    _, seen, _ = links_run.emu(traffic, tmp_path)
    assert not links_run.mistakes(traffic, seen), traffic


def test_both_engines_agree(tmp_path):
    traffic = links_run.Traffic(channels=2, packet_words=16, packets=6, pauses=15, latency=20)
    runs = [links_run.emu(traffic, tmp_path, f"--engine={e}") for e in ("fast", "reference")]
    assert runs[0][1] == runs[1][1]
    assert cluster_run.stable(runs[0][2]) == cluster_run.stable(runs[1][2])


def test_a_sender_waits_for_the_receivers_start(tmp_path):
    """The eastward receiver of w1 is never started: the greeting crosses the link, no packet does."""
    traffic = links_run.Traffic(packets=5, sessions=1)
    file = links_run.build(traffic, tmp_path)
    args = [a for a in links_run.plans(traffic) if not a.startswith("--h2d=w1:plan@1,")]
    ran, stats = cluster_run.emu(file, *args, "--launch=go", expect=3)
    assert "w1: cause 1: P1.0 data task" in ran.err and "nothing unblocks it" in ran.err
    # The greeting, and the credits for the five packets that come from w1.
    assert stats["links"]["w0-w1@0"]["forward"]["words"] == 1 + 1 + 5


@pytest.mark.parametrize("told", ["more", "fewer"])
def test_two_ends_that_count_differently(tmp_path, told):
    """A sender that counts on more packets than its worker sends does not end."""
    traffic = links_run.Traffic(packets=4, sessions=1, counted=True)
    file = links_run.build(traffic, tmp_path)
    count = 6 if told == "more" else 2
    args = [a.replace("=4,1,1,0", f"={count},1,1,0") if a.startswith("--h2d=w0:plan@4,") else a
            for a in links_run.plans(traffic)]
    ran, _ = cluster_run.emu(file, *args, "--launch=go", "--print=w0:seen:2@4,0,1,1", expect=None)
    if told == "more":
        assert "w0: seen@4,0: 0 0" in ran.out
    else:
        assert "w0: " in ran.err and "P4.0" in ran.err


def test_a_packet_that_is_too_long(tmp_path):
    traffic = links_run.Traffic(packet_words=16, fixed=16, packets=2)
    file = links_run.build(traffic, tmp_path)
    text = [a.replace(",15,0,0,16", ",15,0,0,20") for a in links_run.plans(traffic)]
    assert text != links_run.plans(traffic)
    ran, _ = cluster_run.emu(file, *text, "--launch=go", expect=2)
    assert "assert" in ran.err


def utilisation(folder, **changes):
    traffic = links_run.Traffic(pauses=0, sessions=1, counted=True, **changes)
    _, seen, stats = links_run.emu(traffic, folder)
    assert not links_run.mistakes(traffic, seen)
    return stats["links"]["w0-w1@0"]["forward"]["utilisation"]


def test_two_channels_fill_a_link(tmp_path):
    """A mover's words go through its memory, in and out: one channel has at most half of a link."""
    size = {"packet_words": 1024, "fixed": 1024, "packets": 30, "arch": "wse3"}
    one = utilisation(tmp_path, channels=1, **size)
    two = utilisation(tmp_path, channels=2, **size)
    assert 0.42 < one <= 0.5 and two >= 0.85


def test_larger_packets_use_a_link_better(tmp_path):
    shares = [utilisation(tmp_path, channels=2, packet_words=n, fixed=n, packets=8192 // n)
              for n in (16, 64, 256)]
    assert shares == sorted(shares) and shares[2] > 2 * shares[0]
