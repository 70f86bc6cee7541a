#!/usr/bin/python3
"""Collectives whose tiles come at random times: 50 calls of each; the cycles from the last tile's
coming to the last one's leaving.  Their variance should be 0; and no call should take longer than
when all tiles come together.

The variance is not 0, because another tile comes last in each call, and its distance to the others
is another one.  So the claim has a second run, in which only one tile is late, by a random time: all
calls with the same tile late take the same cycles.
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
KINDS = (streams.BARRIER, streams.ALLGATHER, streams.REDUCE_SCATTER, streams.SCAN, streams.ALLTOALL,
         streams.BROADCAST_ANY, streams.SHIFT_UP)


def calls_of(claims, config, **more):
    stamps = streams.run(claims.scratch / "run", {**config, **more}, (ELEMENTS,) * CALLS)
    return [streams.cycles_of(stamps, i) for i in range(CALLS)]


def main():
    claims = Claims()
    for kind in KINDS:
        of_rectangle = kind in streams.OF_RECTANGLES
        config = {"kind": kind, "width": SIDE, "height": SIDE if of_rectangle else 1,
                  "shape": lines.RECTANGLE if of_rectangle else lines.ROW}
        together, apart = calls_of(claims, config), calls_of(claims, config, skew=SKEW)
        one_late = calls_of(claims, config, skew=SKEW, late=LATE)
        name = streams.KINDS[kind]
        claims.at_most(f"{name}: variance of {min(apart)} to {max(apart)} cycles",
                       round(float(numpy.var(apart)), 1), 0)
        claims.at_most(f"{name}: the most cycles, against those of tiles that come together",
                       max(apart), max(together))
        claims.at_most(f"{name}: the largest variance of calls with the same tile late, "
                       f"{min(one_late)} to {max(one_late)} cycles",
                       max(float(numpy.var(one_late[i::LATE])) for i in range(LATE)), 0)
    claims.finish()


main()
