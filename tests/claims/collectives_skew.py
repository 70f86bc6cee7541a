#!/usr/bin/python3
"""Collectives whose tiles come at random times, 50 calls of each, on both machines.

* All calls take the same cycles from the latest coming to the end: variance 0.  They do not, because
  another tile comes last in each call, and its words may have a longer way.
* A call ends with the latest of what its tiles cause: the coming of each, and the cycles that the
  call takes when that tile alone is late.  Words of two tiles that want one link in the same cycle,
  or that came early, move the end by a few cycles, by 4 at most as measured.
* All calls with the same tile late take the same cycles: variance 0.
* No call takes longer than when all tiles come together.
* All tiles leave a barrier within 20 cycles, whenever they come.

In a broadcast the way depends on its root, which is another one in each call, so the second check
leaves it out.
"""
import numpy

from claims import Claims
import collectives_run as lines
import streams_run as streams

CALLS = 50
SKEW = 300               # cycles of a waiting loop, at most
SIDE = 7
ELEMENTS = 4
LATE = 7                 # tiles that are late in turn
CROSSING = 4             # cycles by which words of others move the end
SKEW_OF_LEAVING = 20
KINDS = (streams.BARRIER, streams.ALLGATHER, streams.REDUCE_SCATTER, streams.SCAN, streams.ALLTOALL,
         streams.BROADCAST_ANY, streams.SHIFT_UP)


def stamps_of(claims, arch, config, calls, **more):
    """The coming of each tile to each call, and its leaving."""
    stamps = streams.run(claims.scratch / "run", {**config, **more}, (ELEMENTS,) * calls, arch=arch)
    return stamps[..., 0], stamps[..., 1]


def cycles_of(times):
    coming, leaving = times
    return leaving.max(axis=1) - coming.max(axis=1)


def ways_of(claims, arch, config):
    """The cycles from each tile's coming to the end of a call for which it alone is late."""
    tiles = config["width"] * config["height"]
    coming, leaving = stamps_of(claims, arch, config, tiles, skew=SKEW, late=tiles)
    return leaving.max(axis=1) - coming.diagonal()


def check_kind(claims, arch, kind):
    of_rectangle = kind in streams.OF_RECTANGLES
    config = {"kind": kind, "width": SIDE, "height": SIDE if of_rectangle else 1,
              "shape": lines.RECTANGLE if of_rectangle else lines.ROW}
    name = f"{streams.KINDS[kind]}, {arch}"
    coming, leaving = stamps_of(claims, arch, config, CALLS, skew=SKEW)
    apart = cycles_of((coming, leaving))
    claims.at_most(f"{name}: variance of {apart.min()} to {apart.max()} cycles after the latest "
                   "coming", round(float(numpy.var(apart)), 1), 0)
    if kind != streams.BROADCAST_ANY:
        moved = leaving.max(axis=1) - (coming + ways_of(claims, arch, config)).max(axis=1)
        claims.at_most(f"{name}: cycles between the end of a call and the latest coming with its "
                       f"way, variance {numpy.var(moved):.2f}", int(abs(moved).max()), CROSSING)
    one_late = cycles_of(stamps_of(claims, arch, config, CALLS, skew=SKEW, late=LATE))
    claims.at_most(f"{name}: the largest variance of calls with the same tile late, "
                   f"{one_late.min()} to {one_late.max()} cycles",
                   max(float(numpy.var(one_late[i::LATE])) for i in range(LATE)), 0)
    claims.at_most(f"{name}: the most cycles, against those of tiles that come together",
                   int(apart.max()), int(cycles_of(stamps_of(claims, arch, config, CALLS)).max()))
    if kind == streams.BARRIER:
        claims.at_most(f"{name}: from the first to leave to the last",
                       int((leaving.max(axis=1) - leaving.min(axis=1)).max()), SKEW_OF_LEAVING)


def main():
    claims = Claims()
    for arch in ("wse2", "wse3"):
        for kind in KINDS:
            check_kind(claims, arch, kind)
    claims.finish()


main()
