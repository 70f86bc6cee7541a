#!/usr/bin/python3
"""Collectives whose tiles come at random times: 50 calls of each; the cycles from the last tile's
coming to the last one's leaving.  Their variance should be 0; and no call should take longer than
when all tiles come together.

Which tile comes last differs from call to call, and so does its distance to the others: that is the
variance that remains.
"""
import numpy

from claims import Claims
import collectives_run as lines
import streams_run as streams

CALLS = 50
SKEW = 300               # cycles of a waiting loop, at most
SIDE = 7
ELEMENTS = 4
KINDS = (streams.BARRIER, streams.ALLGATHER, streams.REDUCE_SCATTER, streams.SCAN, streams.ALLTOALL,
         streams.BROADCAST_ANY, streams.SHIFT_UP)


def main():
    claims = Claims()
    for kind in KINDS:
        of_rectangle = kind in streams.OF_RECTANGLES
        config = {"kind": kind, "width": SIDE, "height": SIDE if of_rectangle else 1,
                  "shape": lines.RECTANGLE if of_rectangle else lines.ROW}
        together, apart = (
            [streams.cycles_of(stamps, i) for i in range(CALLS)]
            for stamps in (streams.run(claims.scratch / "run", {**config, "skew": skew},
                                       (ELEMENTS,) * CALLS) for skew in (0, SKEW)))
        name = streams.KINDS[kind]
        claims.at_most(f"{name}: variance of {min(apart)} to {max(apart)} cycles",
                       round(float(numpy.var(apart)), 1), 0)
        claims.at_most(f"{name}: the most cycles, against those of tiles that come together",
                       max(apart), max(together))
    claims.finish()


main()
