"""Clusters of wafers: links between them, and collectives along their rows and columns.

    cluster = Cluster(4, 3, wraps=True, channels=2)     # a torus of 4 x 3 wafers
    whole = cluster.all_gather(parts, axis="x")         # parts[y, x]: what each wafer has
    whole.values[y, x]                                  # the parts of all wafers of its row
    whole.cycles, whole.links                           # how long it took, what the links carried

A wafer's program has data movers at its edges and hubs between them (`<links/layout>`): one hub for
each channel and direction, along rows and, with more than one row of wafers, along columns.  The
slicer cuts every block of an operation into one slice per hub.  The tools are found on the PATH, as
for cs_python; each operation compiles a program, writes a cluster file and runs the emulator.
"""
import json
import numbers
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy

from wse_cluster.wafers import Wafers  # noqa: F401

_HERE = Path(__file__).resolve().parent
_NOTHING, _ALL_GATHER, _REDUCE_SCATTER, _ALL_REDUCE, _ALL_TO_ALL, _BROADCAST, _TRANSFER, \
    _LINE_ALL_REDUCE, _LINE_REDUCE_SCATTER = range(9)
EAST, WEST = 0, 1
_HUB_WORDS = 9000               # of arrays in the memory of a hub


class ClusterError(ValueError):
    """A mistake in a call."""


def _run(command, cwd):
    found = shutil.which(command[0])
    if not found:
        raise ClusterError(f"{command[0]} is not on the PATH: add the folder of the programs, "
                           f"build/release/bin")
    done = subprocess.run([found, *command[1:]], cwd=cwd, capture_output=True, text=True,
                          errors="replace")
    if done.returncode:
        raise ClusterError(f"{command[0]} failed with exit code {done.returncode}:\n{done.stderr}")
    return done


def _is_whole(number):
    return isinstance(number, numbers.Integral)


def axis_channels(channels, first_color=0, credits=None):
    """The channels of an axis of <links/layout> for a cluster file."""
    more = {} if credits is None else {"credits": credits}
    found = []
    for color in range(first_color, first_color + 4 * channels, 4):
        for offset, way in enumerate(("forward", "backward", "backward", "forward")):
            found.append({"colors": [color + offset] * 2, "direction": way, **more})
    return found


def slices(length, parts):
    """The slicer: length and number of equal slices of a block, the last ones padded."""
    return -(-max(length, 1) // parts), parts


class Result:
    """values[y, x]: of each wafer; cycles: from the launch to the last hub's end; stats: as
    wse-emu --stats writes them."""

    def __init__(self, values, cycles, stats):
        self.values, self.cycles, self.stats = values, cycles, stats
        self.links = stats["links"]


class Cluster:
    """width x height wafers in lines, or with `wraps` in rings; a ring has two wafers at least.  A
    wafer has `tiles` x `rows` tiles, by default as few as the channels need."""

    def __init__(self, width, height=1, wraps=True, channels=1, latency=200, words_per_cycle=1,
                 credits=None, packet_words=256, buffers=2, pulls=False, tiles=None, rows=None, arch="wse3",
                 engine="fast"):
        if not all(map(_is_whole, (width, height, channels, latency))):
            raise ClusterError("width, height, channels and latency are whole numbers, not "
                               f"{width!r}, {height!r}, {channels!r}, {latency!r}")
        if not all(n is None or _is_whole(n) for n in (tiles, rows)):
            raise ClusterError(f"tiles and rows are whole numbers, or None, not {tiles!r}, {rows!r}")
        if width < 2 or height < 1:
            raise ClusterError(f"a cluster has 2 x 1 wafers at least, not {width} x {height}")
        if not 1 <= channels <= 4:
            raise ClusterError(f"a link has 1 to 4 channels in each direction, not {channels}")
        if latency < 1:
            raise ClusterError(f"the latency of a link is 1 cycle at least, not {latency}")
        if arch not in ("wse2", "wse3"):
            raise ClusterError(f"arch is wse2 or wse3, not {arch!r}")
        self.width, self.height, self.wraps, self.channels = width, height, wraps, channels
        self.latency, self.words_per_cycle, self.credits = latency, words_per_cycle, credits
        self.packet_words, self.buffers, self.pulls = packet_words, buffers, pulls
        self.arch, self.engine = arch, engine
        self.axes = 1 if height == 1 else 2
        self.tiles = max(tiles or 0, 4 * channels + 1)
        self.rows = max(rows or 0, self.axes * (2 * channels + 1))

    # ---- the cluster file -------------------------------------------------------------------

    def wafers(self):
        return [(x, y) for y in range(self.height) for x in range(self.width)]

    def _link(self, here, there, axis):
        row = axis * (2 * self.channels + 1)
        return {"name": f"{'xy'[axis]}{here[0]}.{here[1]}",
                "from": {"wafer": f"w{here[0]}.{here[1]}", "edge": "east", "at": row},
                "to": {"wafer": f"w{there[0]}.{there[1]}", "edge": "west", "at": row},
                "latency": self.latency, "words_per_cycle": self.words_per_cycle,
                "channels": axis_channels(self.channels, credits=self.credits)}

    def file(self, image):
        """The content of a cluster file; the axis of columns has links at east and west edges, too."""
        links = []
        for x, y in self.wafers():
            if x + 1 < self.width or self.wraps:
                links.append(self._link((x, y), ((x + 1) % self.width, y), 0))
            if self.axes == 2 and (y + 1 < self.height or self.wraps):
                links.append(self._link((x, y), (x, (y + 1) % self.height), 1))
        return {"wafers": [{"name": f"w{x}.{y}", "image": image} for x, y in self.wafers()],
                "links": links}

    def hubs(self, axis):
        """Tile, channel and direction of each hub of an axis."""
        top = axis * (2 * self.channels + 1)
        return [(self.tiles // 2, top + 1 + 2 * j + way, j, way)
                for j in range(self.channels) for way in (EAST, WEST)]

    def _axis(self, axis):
        if axis not in ("x", "y") or (axis == "y" and self.axes == 1):
            raise ClusterError(f"the axes of this cluster are {'x and y' if self.axes == 2 else 'x'}"
                               f"; not {axis!r}")
        return "xy".index(axis), self.height if axis == "y" else self.width

    # ---- a run ------------------------------------------------------------------------------

    def _compile(self, folder, words, kept, between):
        """The program, with room for an array of `words` words on a hub, its result, and what lies
        between two directions."""
        params = {"axes": self.axes, "k": self.channels, "width": self.tiles, "height": self.rows,
                  "packet_words": self.packet_words, "buffers": self.buffers,
                  "pulls": str(self.pulls).lower(), "elements": words, "results": kept,
                  "between": max(between, 1)}
        _run(["cslc", str(_HERE / "layout.csl"), f"--arch={self.arch}", "-o", "p.bin",
              "--params=" + ",".join(f"{k}:{v}" for k, v in params.items())], folder)
        (folder / "c.json").write_text(json.dumps(self.file("p.bin")))

    def _places(self, number):
        """(wafer, channel, way): the wafer's place on the axis, and its hub's tile."""
        return {((x, y), channel, way): ((x, y)[number], tile)
                for x, y in self.wafers() for *tile, channel, way in self.hubs(number)}

    def _carry_out(self, axis, call_of, array_of, blocks, n, results, between=1):
        """call_of(place, channel, way), array_of(wafer, place, channel, way): the words of `call` and
        the array of a hub, of `blocks` blocks of n words; results: names of what comes back, "array",
        "result".  Returns {(wafer, channel, way): {name: blocks x n}} and a Result without values."""
        number, size = self._axis(axis)
        words = blocks * n
        kept = words if "result" in results else 1
        if words + kept + between > _HUB_WORDS:
            raise ClusterError(f"a hub has no room for {words + kept + between} words, at most "
                               f"{_HUB_WORDS}: cut the array, or take more channels")
        send, fetch, names = [], [], {}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self._compile(folder, words, kept, between)
            for key, (place, tile) in self._places(number).items():
                (x, y), channel, way = key
                at, hub = f"@{tile[0]},{tile[1]},1,1", f"{x}.{y}.{channel}.{way}"
                names[key] = hub
                call = numpy.zeros(8, numpy.uint16)
                call[:7] = [*call_of(place, channel, way), size, place]
                numpy.save(folder / f"c{hub}.npy", call)
                numpy.save(folder / f"a{hub}.npy", numpy.ascontiguousarray(
                    array_of((x, y), place, channel, way), numpy.float32).reshape(words))
                send += [f"--h2d=w{x}.{y}:call{at}=c{hub}.npy",
                         f"--h2d=w{x}.{y}:array{at}=a{hub}.npy"]
                fetch += [f"--d2h=w{x}.{y}:{r}{at}={r}{hub}.npy" for r in results]
                fetch += [f"--d2h=w{x}.{y}:cycles{at}=t{hub}.npy"]
            _run(["wse-emu", "--cluster=c.json", "--stats=s.json", f"--engine={self.engine}", *send,
                  "--launch=go", *fetch], folder)
            got = {key: {r: numpy.load(folder / f"{r}{hub}.npy").reshape(blocks, n)
                         for r in results} for key, hub in names.items()}
            cycles = max(int(numpy.load(folder / f"t{hub}.npy").ravel()[0]) for hub in names.values())
            stats = json.loads((folder / "s.json").read_text())
        return got, Result(None, cycles, stats)

    def _arrays(self, arrays, ndim):
        """arrays[y, x, ...], of `ndim` dimensions, as the hubs have their elements."""
        try:
            arrays = numpy.asarray(arrays)
        except ValueError:
            raise ClusterError("the array has rows of different lengths: pass a numpy array") from None
        if arrays.dtype.kind not in "fiub":
            raise ClusterError(f"the array has elements of type {arrays.dtype}: pass real numbers, "
                               "floats or integers")
        if arrays.ndim != ndim or arrays.shape[:2] != (self.height, self.width):
            raise ClusterError(f"the array has {ndim} dimensions, the first {self.height} rows and "
                               f"{self.width} columns of wafers; this one is {arrays.shape}")
        return arrays.astype(numpy.float32)

    def _blocks(self, arrays, parts, ndim):
        """arrays[y, x]: blocks of a wafer, cut into slices; its length, and the slices' length."""
        arrays = self._arrays(arrays, ndim)
        length = arrays.shape[-1]
        n, parts = slices(length, parts)
        padded = numpy.zeros((*arrays.shape[:-1], parts * n), numpy.float32)
        padded[..., :length] = arrays
        return padded.reshape(*arrays.shape[:-1], parts, n), length, n

    def _lanes(self, both):
        """The number of a channel's and direction's slice, and how many slices there are."""
        if both:
            return (lambda channel, way: 2 * channel + way), 2 * self.channels
        return (lambda channel, way: channel), self.channels

    def _result(self, result, shape, length, fill):
        values = numpy.zeros((self.height, self.width, *shape), numpy.float32)
        for x, y in self.wafers():
            fill((x, y), values[y, x])
        result.values = values[..., :length]
        return result

    # ---- collectives ------------------------------------------------------------------------

    def all_gather(self, parts, axis="x", scheme="split"):
        """parts[y, x, :] of all wafers of a row (axis "x") or column in each of them, in order.
        Rings: with the scheme "split" each direction carries half of each part all the way round,
        with "half" each direction carries whole parts half-way.  Lines have the latter only."""
        if scheme not in ("split", "half"):
            raise ClusterError(f"the schemes are 'split' and 'half', not {scheme!r}")
        _, size = self._axis(axis)
        both = self.wraps and scheme == "split"
        lane, lanes = self._lanes(both)
        blocks, length, n = self._blocks(parts, lanes, 3)
        far = [size - 1, size - 1] if both else [size // 2, (size - 1) // 2]

        def call_of(place, channel, way):
            if self.wraps and far[way] == 0:
                return [_NOTHING, 0, 0, 0, 0]
            return [_ALL_GATHER, n, far[way] if self.wraps else 0, 0, 0]

        def array_of(wafer, place, channel, way):
            array = numpy.zeros((size, n))
            array[place] = blocks[wafer[1], wafer[0], lane(channel, way)]
            return array

        got, result = self._carry_out(axis, call_of, array_of, size, n, ["array"])

        def fill(wafer, values):
            place = wafer["xy".index(axis)]
            for channel in range(self.channels):
                for way in (EAST, WEST):
                    array, at = got[wafer, channel, way]["array"], lane(channel, way) * n
                    for block in range(size):
                        if both or self._came(place, block, way, size, far):
                            values[block, at:at + n] = array[block]

        return self._result(result, (size, lanes * n), length, fill)

    def _came(self, place, block, way, size, far):
        """Whether wafer `place` gets the block of wafer `block` by this direction (or has it)."""
        distance = place - block if way == EAST else block - place
        if self.wraps:
            return distance % size <= far[way]
        return distance >= 0

    def reduce_scatter(self, blocks, axis="x"):
        """Of blocks[y, x, i, :], one for each wafer i of the row or column, the sum of all blocks i
        in wafer i."""
        size, values, result = self._reduce(blocks, axis, _REDUCE_SCATTER)
        number = "xy".index(axis)
        result.values = numpy.stack([[values[y, x, (x, y)[number]] for x in range(self.width)]
                                     for y in range(self.height)])
        return result

    def all_reduce(self, arrays, axis="x"):
        """The sum of arrays[y, x, :] over each row or column, in each of its wafers."""
        _, size = self._axis(axis)
        arrays = self._arrays(arrays, 3)
        length = arrays.shape[-1]
        n = -(-max(length, 1) // size)
        padded = numpy.zeros((*arrays.shape[:-1], size * n), numpy.float32)
        padded[..., :length] = arrays
        _, values, result = self._reduce(padded.reshape(*arrays.shape[:-1], size, n), axis,
                                         _ALL_REDUCE)
        result.values = values.reshape(self.height, self.width, size * n)[..., :length]
        return result

    def _reduce(self, blocks, axis, operation):
        """What both reductions have in common: all blocks that a wafer has afterwards."""
        _, size = self._axis(axis)
        lane, lanes = self._lanes(self.wraps)
        cut, length, n = self._blocks(blocks, lanes, 4)
        if cut.shape[2] != size:
            raise ClusterError(f"each wafer has a block for each of {size} wafers, not {cut.shape[2]}")

        def call_of(place, channel, way):
            if self.wraps:
                return [operation, n, 0, 0, 0]
            if operation == _REDUCE_SCATTER:
                return [_LINE_REDUCE_SCATTER, n, 0, 0, 0]
            return [_LINE_ALL_REDUCE, size * n, 0, 0, 0]

        def array_of(wafer, place, channel, way):
            return cut[wafer[1], wafer[0], :, lane(channel, way)]

        got, result = self._carry_out(axis, call_of, array_of, size, n, ["array"])

        def fill(wafer, values):
            for channel in range(self.channels):
                for way in (EAST, WEST) if self.wraps else (WEST,):
                    at = lane(channel, way) * n
                    values[:, at:at + n] = got[wafer, channel, way]["array"]

        values = numpy.zeros((self.height, self.width, size, lanes * n), numpy.float32)
        for x, y in self.wafers():
            fill((x, y), values[y, x])
        return size, values[..., :length], result

    def all_to_all(self, blocks, axis="x"):
        """Block i of wafer j, blocks[y, x, i, :], becomes block j of wafer i."""
        _, size = self._axis(axis)
        lane, lanes = self._lanes(False)
        cut, length, n = self._blocks(blocks, lanes, 4)
        if cut.shape[2] != size:
            raise ClusterError(f"each wafer has a block for each of {size} wafers, not {cut.shape[2]}")
        far = [size // 2, (size - 1) // 2]
        between = (far[0] * (far[0] - 1) // 2 if self.wraps else size * size // 4) * n

        def call_of(place, channel, way):
            if self.wraps and far[way] == 0:
                return [_NOTHING, 0, 0, 0, 0]
            return [_ALL_TO_ALL, n, far[way] if self.wraps else 0, 0, 0]

        def array_of(wafer, place, channel, way):
            return cut[wafer[1], wafer[0], :, lane(channel, way)]

        got, result = self._carry_out(axis, call_of, array_of, size, n, ["result"], between)

        def fill(wafer, values):
            place = wafer["xy".index(axis)]
            for channel in range(self.channels):
                at = channel * n
                values[place, at:at + n] = cut[wafer[1], wafer[0], place, channel]
                for way in (EAST, WEST):
                    for block in range(size):
                        if block != place and self._came(place, block, way, size, far):
                            values[block, at:at + n] = got[wafer, channel, way]["result"][block]

        return self._result(result, (size, lanes * n), length, fill)

    def _hops_from(self, root, size, way):
        """How far a broadcast goes by each direction."""
        if self.wraps:
            return [size // 2, (size - 1) // 2][way]
        return size - 1 - root if way == EAST else root

    def broadcast(self, arrays, root, axis="x"):
        """arrays[y, x, :] of the wafer with number `root` of each row or column, in all of it."""
        _, size = self._axis(axis)
        self._check_place(root, size)
        lane, lanes = self._lanes(False)
        cut, length, n = self._blocks(arrays, lanes, 3)

        def call_of(place, channel, way):
            return [_BROADCAST, n, self._hops_from(root, size, way), root, 0]

        def array_of(wafer, place, channel, way):
            return cut[wafer[1], wafer[0], channel]

        got, result = self._carry_out(axis, call_of, array_of, 1, n, ["array"])

        def fill(wafer, values):
            place = wafer["xy".index(axis)]
            for channel in range(self.channels):
                for way in (EAST, WEST):
                    distance = place - root if way == EAST else root - place
                    distance = distance % size if self.wraps else distance
                    if 0 <= distance <= self._hops_from(root, size, way):
                        values[channel * n:(channel + 1) * n] = got[wafer, channel, way]["array"][0]

        return self._result(result, (lanes * n,), length, fill)

    def transfer(self, arrays, source, target, axis="x"):
        """arrays[y, x, :] of wafer `source` of each row or column in wafer `target` of it; other
        wafers have zeros."""
        _, size = self._axis(axis)
        self._check_place(source, size)
        self._check_place(target, size)
        lane, lanes = self._lanes(False)
        cut, length, n = self._blocks(arrays, lanes, 3)
        eastward = (target - source) % size if self.wraps else target - source
        way_taken = EAST if (2 * eastward <= size if self.wraps else eastward >= 0) else WEST

        def call_of(place, channel, way):
            if way != way_taken or source == target:
                return [_NOTHING, 0, 0, 0, 0]
            return [_TRANSFER, n, 0, source, target]

        def array_of(wafer, place, channel, way):
            return cut[wafer[1], wafer[0], channel]

        got, result = self._carry_out(axis, call_of, array_of, 1, n, ["array"])

        def fill(wafer, values):
            if wafer["xy".index(axis)] == target:
                for channel in range(self.channels):
                    values[channel * n:(channel + 1) * n] = \
                        got[wafer, channel, way_taken]["array"][0]

        return self._result(result, (lanes * n,), length, fill)

    def _check_place(self, place, size):
        if not _is_whole(place) or not 0 <= place < size:
            raise ClusterError(f"the wafers of this axis have the numbers 0 to {size - 1}; not {place!r}")
