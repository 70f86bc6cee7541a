#!/usr/bin/python3
"""Collectives whose tiles come at random times, 50 calls of each, on both machines.

* Behind a steady barrier, all calls take the same cycles from the latest coming to the end: variance
  0, whichever tile comes last, whether the tiles come far apart or within a few cycles, so that
  words for one tile come together.  A barrier of its own is the steady one.  Broadcasts whose roots
  differ take other cycles, so those with the same root count.
* Without one the cycles vary with the tile that comes last, as its words may have a longer way.  The
  line says by how much; which variance the way alone has, if a word of the latest tile goes straight
  to each tile that waits for it and nothing takes time but ramps and hops; and by how much ours
  exceeds it.
* The same as a published library for a network of tiles measures it: calls in a row, without delays,
  and the time of each call on each tile, from coming to leaving.  Its variances are in microseconds
  squared (NoCMsg, 49 tasks, table 4.1); those of ours count all calls, also the first ones.
* A call ends with the latest of what its tiles cause: the coming of each, and the cycles that the
  call takes when that tile alone is late.  Words of two tiles that want one link in the same cycle,
  or that came early, move the end by a few cycles: by 4 at most as measured if tiles come far apart,
  by 8 if many words meet because tiles come within a few cycles.
* All calls with the same tile late take the same cycles: variance 0.
* No call takes longer than when all tiles come together, but for those few cycles.
* All tiles leave a barrier within 20 cycles, whenever they come.

In a broadcast the way depends on its root, which is another one in each call, so the check of the
latest coming leaves it out.

Short form: test_streams.py::test_tiles_that_come_at_random_times.
"""
import numpy

from claims import Claims, harness
import collectives_run as lines
import streams_run as streams

CALLS = 50
SKEW = 300               # turns of a waiting loop, at most
CLOSE = 5                # the same for tiles that come within a few cycles
SIDE = 7
ROOTS = 7                # of broadcasts on SIDE x SIDE tiles, in turn: streams.chosen_root
ELEMENTS = 4
LATE = 7                 # tiles that are late in turn
CROSSING = 4             # cycles by which words of others move the end
CROSSING_CLOSE = 8       # the same where tiles come close together, by CLOSE_SKEWS
CLOSE_SKEWS = (3, CLOSE, 8, 12)
SKEW_OF_LEAVING = 20
CLOCK_MHZ = 850          # emu/machine/timing.def, host_wavelets
KINDS = (streams.BARRIER, streams.ALLGATHER, streams.REDUCE_SCATTER, streams.SCAN, streams.ALLTOALL,
         streams.BROADCAST_ANY, streams.SHIFT_UP)
PUBLISHED = {streams.BARRIER: 5.6, streams.PLANNED_ALLTOALL: 1.6, streams.BROADCAST_ANY: 0.12}
IN_A_ROW = 25            # calls of one element in each of PUBLISHED, which fit a tile


def stamps_of(claims, arch, config, calls, elements=ELEMENTS, **more):
    """The coming of each tile to each call, and its leaving."""
    stamps = streams.run(claims.scratch / "run", {**config, **more}, (elements,) * calls, arch=arch)
    return stamps[..., 0], stamps[..., 1]


def cycles_of(times):
    coming, leaving = times
    return leaving.max(axis=1) - coming.max(axis=1)


def ways_of(claims, arch, config):
    """The cycles from each tile's coming to the end of a call for which it alone is late."""
    tiles = config["width"] * config["height"]
    coming, leaving = stamps_of(claims, arch, config, tiles, skew=SKEW, late=tiles)
    return leaving.max(axis=1) - coming.diagonal()


def moved_by(ways, coming, leaving):
    """Cycles from the latest coming with its way to the end of each call."""
    return leaving.max(axis=1) - (coming + ways).max(axis=1)


def waiting(kind, tile, tiles, call):
    """The tiles that wait for words of this one."""
    if kind == streams.SCAN:
        return range(tile, tiles)
    if kind == streams.SHIFT_UP:
        return [(tile + 1) % tiles]
    if kind == streams.BROADCAST_ANY and tile != (7 * call + 3) % tiles:
        return []
    return range(tiles)


def least_cycles(arch, kind, tile, tiles, call):
    """From when the tile comes to when its words can be everywhere."""
    hops = max((abs(tile % SIDE - q % SIDE) + abs(tile // SIDE - q // SIDE)
                for q in waiting(kind, tile, tiles, call)), default=0)
    ramps = sum(harness.timing(row, arch) for row in ("element_to_queue", "ramp_up", "ramp_down"))
    return ramps + hops * harness.timing("hop", arch) if hops else 0


def check_in_a_row(claims, arch, kind):
    coming, leaving = stamps_of(claims, arch, config_of(kind), IN_A_ROW, elements=1)
    times = leaving - coming
    variance = float(times.var(axis=0).max())
    claims.at_most(f"{streams.KINDS[kind]}, {arch}, calls in a row: the largest variance of a tile, "
                   f"{variance:.1f} cycles squared, on tile 0 {times[:, 0].var():.1f} and from the "
                   f"third call on {times[2:, 0].var():.1f}; microseconds squared",
                   round(variance / CLOCK_MHZ ** 2, 6), PUBLISHED[kind])


def config_of(kind):
    of_rectangle = kind in streams.OF_RECTANGLES
    return {"kind": kind, "width": SIDE, "height": SIDE if of_rectangle else 1,
            "shape": lines.RECTANGLE if of_rectangle else lines.ROW}


def check_behind_a_barrier(claims, arch, kind):
    is_barrier = kind == streams.BARRIER
    config = config_of(streams.STEADY_BARRIER if is_barrier else kind)
    apart = [cycles_of(stamps_of(claims, arch, config, CALLS, skew=skew, steady=int(not is_barrier)))
             for skew in (SKEW, CLOSE)]
    roots = ROOTS if kind == streams.BROADCAST_ANY else 1
    claims.equals(f"{streams.KINDS[config['kind']]}{' behind a steady barrier' * (not is_barrier)}, "
                  f"{arch}: variance of the cycles after the latest coming, "
                  f"{numpy.min(apart)} to {numpy.max(apart)}",
                  max(float(numpy.var([times[i::roots] for times in apart])) for i in range(roots)), 0)


def check_kind(claims, arch, kind):
    config = config_of(kind)
    name = f"{streams.KINDS[kind]}, {arch}"
    coming, leaving = stamps_of(claims, arch, config, CALLS, skew=SKEW)
    apart = cycles_of((coming, leaving))
    least = [least_cycles(arch, kind, int(tile), coming.shape[1], call)
             for call, tile in enumerate(coming.argmax(axis=1))]
    close = [stamps_of(claims, arch, config, CALLS, skew=skew) for skew in CLOSE_SKEWS]
    check_behind_a_barrier(claims, arch, kind)
    print(f"{name}: variance {numpy.var(apart):.1f} of {apart.min()} to {apart.max()} cycles after the "
          f"latest coming; the way alone, {min(least)} to {max(least)} cycles, has "
          f"{numpy.var(least):.1f}, ours {numpy.var(apart) - numpy.var(least):.1f} more")
    if kind != streams.BROADCAST_ANY:
        ways = ways_of(claims, arch, config)
        moved = moved_by(ways, coming, leaving)
        claims.at_most(f"{name}: cycles between the end of a call and the latest coming with its "
                       f"way, variance {numpy.var(moved):.2f}", int(abs(moved).max()), CROSSING)
        claims.at_most(f"{name}: the same of tiles that come close together",
                       max(int(abs(moved_by(ways, *times)).max()) for times in close), CROSSING_CLOSE)
    one_late = cycles_of(stamps_of(claims, arch, config, CALLS, skew=SKEW, late=LATE))
    claims.at_most(f"{name}: the largest variance of calls with the same tile late, "
                   f"{one_late.min()} to {one_late.max()} cycles",
                   max(float(numpy.var(one_late[i::LATE])) for i in range(LATE)), 0)
    together = int(cycles_of(stamps_of(claims, arch, config, CALLS)).max())
    claims.at_most(f"{name}: the most cycles, against those of tiles that come together",
                   int(apart.max()), together + CROSSING)
    claims.at_most(f"{name}: the same of tiles that come close together",
                   max(int(cycles_of(times).max()) for times in close), together + CROSSING_CLOSE)
    if kind == streams.BARRIER:
        claims.at_most(f"{name}: from the first to leave to the last",
                       int((leaving.max(axis=1) - leaving.min(axis=1)).max()), SKEW_OF_LEAVING)


def main():
    claims = Claims()
    for arch in ("wse2", "wse3"):
        for kind in KINDS:
            check_kind(claims, arch, kind)
        for kind in PUBLISHED:
            check_in_a_row(claims, arch, kind)
    claims.finish()


if __name__ == "__main__":
    main()
