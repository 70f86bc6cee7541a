#!/usr/bin/python3
"""How well data movers use a link: the share of its words per cycle, over packet size and channels,
as CSV and drawing in CLUSTER_OUT (the claim's own folder if that is not set); with two channels and
packets of 16 KB at least 95 %.  And the two shapes of clusters: a line reaches half of a ring's
bandwidth; on rings the two ways to gather, and the length from which the second one is slower.

Short form: test_links.py::test_two_channels_fill_a_link.
"""
import csv
import os
from pathlib import Path

import numpy

from claims import Claims
import cluster_collectives as collectives
import links_run
from cluster_collectives import wse_cluster

SIZES = [16, 64, 256, 1024, 2048, 4096]          # words of a packet; 4096 are 16 KB
CHANNELS = [1, 2, 3, 4]
WORDS = 600_000                                  # over a link in each direction


def utilisation(folder, channels, words, arch):
    traffic = links_run.Traffic(
        channels=channels, packet_words=words, fixed=words, buffers=2, counted=True, sessions=1,
        packets=max(WORDS // words // channels, 8), latency=200, arch=arch)
    _, seen, stats = links_run.emu(traffic, folder)
    assert not links_run.mistakes(traffic, seen), traffic
    return stats["links"]["w0-w1@0"]["forward"]["utilisation"]


def draw(out, rows):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "links", "svg.fonttype": "none"})
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for channels in CHANNELS:
        points = [(words * 4, share) for k, words, share in rows if k == channels]
        axes.plot(*zip(*points), marker="o", label=f"{channels} channel{'s' * (channels > 1)}")
    axes.set(xscale="log", xlabel="bytes of a packet", ylabel="share of the link", ylim=(0, 1.02))
    axes.set_xticks([4 * n for n in SIZES], [str(4 * n) for n in SIZES])
    axes.legend()
    figure.savefig(out / "links.svg", metadata={"Date": None}, bbox_inches="tight")


def measure_links(claims, out):
    rows = []
    for channels in CHANNELS:
        for words in SIZES:
            rows.append((channels, words, utilisation(claims.scratch, channels, words, "wse3")))
            print(f"  {channels} channels, {4 * words} bytes: {rows[-1][2]:.3f}", flush=True)
    with open(out / "links.csv", "w", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["channels", "packet_bytes", "utilisation"])
        table.writerows((k, 4 * words, f"{share:.4f}") for k, words, share in rows)
    draw(out, rows)
    share = {(k, words): found for k, words, found in rows}
    for arch in ("wse2", "wse3"):
        claims.at_least(f"{arch}: link utilisation, two channels, packets of 16 KB",
                        utilisation(claims.scratch, 2, 4096, arch), 0.95)
    claims.at_most("one channel", share[1, 4096], 0.5)
    claims.check("larger packets are never worse", "", "up to 1 %",
                 all(share[k, b] >= share[k, a] - 0.01 for k in CHANNELS
                     for a, b in zip(SIZES, SIZES[1:])))


def gather(wafers, length, wraps, scheme="split", channels=2):
    cluster = wse_cluster.Cluster(wafers, wraps=wraps, channels=channels, latency=200, packet_words=128)
    result, right = collectives.run("all_gather", cluster, numpy.random.default_rng(length),
                                    length=length, axis="x", scheme=scheme)
    assert right
    return result.cycles


def measure_shapes(claims):
    short, long = 1600, 3200
    ring, line = (gather(5, long, wraps) - gather(5, short, wraps) for wraps in (True, False))
    print(f"  5 wafers: {ring} and {line} cycles for {long - short} words more per wafer")
    claims.within("5 wafers: a line's peak bandwidth by a ring's", ring / line, 0.45, 0.55)
    for wafers, channels in ((4, 2), (8, 4)):
        lengths = [2 ** k for k in range(1, 13)]
        pairs = [(n, gather(wafers, n, True, "split", channels),
                  gather(wafers, n, True, "half", channels)) for n in lengths]
        for n, split, half in pairs:
            print(f"  ring of {wafers}, {channels} channels, {n} words: split {split}, half {half} "
                  f"cycles", flush=True)
        faster = [n for n, split, half in pairs if split <= half]
        print(f"  ring of {wafers}: split is faster from {faster[0] if faster else 'none'} words on")
        claims.check(f"ring of {wafers}: half-way is faster for short blocks", pairs[0][2],
                     f"< {pairs[0][1]}", pairs[0][2] < pairs[0][1], "cycles")
        claims.check(f"ring of {wafers}: one crossover", faster, "an end of the lengths",
                     faster == lengths[len(lengths) - len(faster):])


def main():
    claims = Claims()
    collectives.use_build()
    out = Path(os.environ.get("CLUSTER_OUT", claims.scratch))
    out.mkdir(exist_ok=True)
    measure_links(claims, out)
    measure_shapes(claims)
    claims.finish()


main()
