"""Arrays that are distributed over a mesh of tiles, and operations that move them.

    mesh = Mesh(4, 3)                                   # columns and rows of tiles
    a = mesh.distribute(array, BLOCKS, page=(2, 2))     # a block of the array on each tile
    b = a.all_gather(1)                                 # all columns of it on every tile of a row
    b.numpy(), b.shard(0, 0), b.cycles

A *layout* says for each of the two dimensions of an array over which axis of the mesh it is
divided: "x", over the tiles of each row; "y", over those of each column; "xy", over all tiles,
along the snake through the mesh; None, not at all.  Tiles that differ only along other axes have
copies.  What a tile has lies in its memory page by page, pages row by row; a page of (1, 1) is
row-major order.  Arrays that do not divide evenly are padded with zeros.

Every operation compiles a program and runs it on the emulator: `cycles` of the result says how long
it took.  The tools are found on the PATH, as for cs_python.
"""
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy

ROWS = ("xy", None)
COLUMNS = (None, "xy")
BLOCKS = ("y", "x")
REPLICATED = (None, None)

_TYPES = ["float32", "float16", "int16", "uint16", "int32", "uint32"]
_OPERATIONS = ["add", "max", "min", "mul"]
_ALL_GATHER, _REDUCE_SCATTER, _ALL_REDUCE, _EXCHANGE, _SLICE, _SEND = range(6)
_AXES = {"x": 0, "y": 1, "xy": 2}
_TILE_ELEMENTS = 32767         # what a descriptor can count


class MeshError(ValueError):
    """A mistake in a call."""


def _tool(name):
    found = shutil.which(name)
    if not found:
        raise MeshError(f"{name} is not on the PATH: add the folder of the programs, "
                        f"build/release/bin")
    return found


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise MeshError(f"{command[0]} failed with exit code {done.returncode}:\n{done.stderr}")
    return done


def _check_layout(layout):
    used = "".join(axis or "" for axis in layout)
    if len(layout) != 2 or any(axis not in (None, *_AXES) for axis in layout) \
            or len(set(used)) != len(used):
        raise MeshError("a layout names for each of two dimensions 'x', 'y', 'xy' or None, "
                        f"no axis twice; not {layout!r}")


class Mesh:
    """width x height tiles; arch is that of the machine."""

    def __init__(self, width, height, arch="wse3"):
        if width < 1 or height < 1:
            raise MeshError(f"a mesh has 1 x 1 tiles at least, not {width} x {height}")
        self.width, self.height, self.arch = width, height, arch

    def tiles(self):
        return [(x, y) for y in range(self.height) for x in range(self.width)]

    def size(self, axis):
        return {"x": self.width, "y": self.height, "xy": self.width * self.height, None: 1}[axis]

    def index(self, axis, x, y):
        """Number of tile (x, y) along an axis."""
        along_snake = y * self.width + (self.width - 1 - x if y % 2 else x)
        return {"x": x, "y": y, "xy": along_snake, None: 0}[axis]

    def distribute(self, array, layout, page=(1, 1)):
        """A numpy array of two dimensions, divided."""
        array = numpy.asarray(array)
        _check_layout(layout)
        if array.ndim != 2 or array.dtype.name not in _TYPES:
            raise MeshError(f"arrays have two dimensions and one of the types {', '.join(_TYPES)}; "
                            f"this one has {array.ndim} and {array.dtype}")
        empty = ShardedTensor(self, array.shape, array.dtype, layout, page)
        rows, columns = empty.padded
        padded = numpy.zeros((rows, columns), array.dtype)
        padded[:array.shape[0], :array.shape[1]] = array
        height, width = empty.local
        shards = {}
        for tile in self.tiles():
            i, j = (self.index(axis, *tile) for axis in layout)
            shards[tile] = padded[i * height:(i + 1) * height, j * width:(j + 1) * width]
        return empty.with_shards(shards)

    def partial(self, arrays, page=(1, 1)):
        """An array of the same shape on each tile, {(x, y): array}: what is to be reduced."""
        for tile in self.tiles():
            if tile not in arrays:
                raise MeshError(f"every tile of the mesh needs an array, and tile {tile} has none")
        first = numpy.asarray(arrays[0, 0])
        empty = ShardedTensor(self, first.shape, first.dtype, REPLICATED, page)
        shards = {}
        for tile in self.tiles():
            shards[tile] = numpy.zeros(empty.local, first.dtype)
            part = numpy.asarray(arrays[tile])
            if part.shape != first.shape:
                raise MeshError(f"the arrays of all tiles have one shape; that of tile {tile} is "
                                f"{part.shape}, that of tile (0, 0) {first.shape}")
            shards[tile][:first.shape[0], :first.shape[1]] = part
        return empty.with_shards(shards)


class ShardedTensor:
    """An array on a mesh.  shape: of the whole; padded: with what fills its parts up; local: what a
    tile has of it."""

    def __init__(self, mesh, shape, dtype, layout, page):
        if len(page) != 2 or min(page) < 1:
            raise MeshError(f"a page has two sizes of 1 or more, not {page!r}")
        self.mesh, self.shape, self.dtype = mesh, tuple(shape), numpy.dtype(dtype)
        self.layout, self.page, self.cycles = tuple(layout), tuple(page), 0
        # So that any dimension can be divided over any axis later.
        units = [page[d] * mesh.width * mesh.height for d in range(2)]
        self.padded = tuple(-(-max(n, 1) // unit) * unit for n, unit in zip(shape, units))
        self.local = tuple(n // mesh.size(axis) for n, axis in zip(self.padded, layout))
        if self.local[0] * self.local[1] > _TILE_ELEMENTS:
            raise MeshError(f"a tile would have {self.local[0]} x {self.local[1]} elements: divide "
                            f"the array over more tiles")

    def with_shards(self, shards):
        self.shards = shards
        return self

    def shard(self, x, y):
        """What tile (x, y) has, with its padding."""
        return self._on_tile(x, y)

    def memory(self, x, y):
        """The same in the order in which it lies in the tile's memory."""
        return self._paged(self._on_tile(x, y))

    def _on_tile(self, x, y):
        if (x, y) not in self.shards:
            raise MeshError(f"{(x, y)} is not a tile of the mesh, which has {self.mesh.width} "
                            f"columns and {self.mesh.height} rows")
        return self.shards[x, y]

    def numpy(self):
        """The whole array, from the tiles that have it."""
        whole = numpy.zeros(self.padded, self.dtype)
        height, width = self.local
        for tile in self.mesh.tiles():
            i, j = (self.mesh.index(axis, *tile) for axis in self.layout)
            whole[i * height:(i + 1) * height, j * width:(j + 1) * width] = self.shards[tile]
        return whole[:self.shape[0], :self.shape[1]]

    def _paged(self, block):
        (rows, columns), (height, width) = block.shape, self.page
        pages = block.reshape(rows // height, height, columns // width, width)
        return pages.transpose(0, 2, 1, 3).ravel()

    def _unpaged(self, memory, shape):
        height, width = self.page
        pages = memory.reshape(shape[0] // height, shape[1] // width, height, width)
        return pages.transpose(0, 2, 1, 3).reshape(shape)

    # ---- operations -----------------------------------------------------------------------------

    def _runs(self, dim, rows):
        """Pieces of a part, in an array of so many rows whose dimension `dim` is cut."""
        return 1 if dim == 0 else rows // self.page[0]

    def _device(self, kind, axis, layout, part, runs=(1, 1), operation="add",
                ends=((0, 0), (0, 0))):
        """Runs an operation on all tiles; the result has another layout."""
        mesh = self.mesh
        result = ShardedTensor(mesh, self.shape, self.dtype, layout, self.page)
        if operation not in _OPERATIONS:
            raise MeshError(f"the operation is one of {', '.join(_OPERATIONS)}, not {operation!r}")
        (from_x, from_y), (to_x, to_y) = ends
        params = {
            "width": mesh.width, "height": mesh.height, "axis": _AXES[axis], "kind": kind,
            "element": _TYPES.index(self.dtype.name), "operation": _OPERATIONS.index(operation),
            "words": self.local[0] * self.local[1], "part": part, "runs_apart": runs[0],
            "runs_joined": runs[1], "from_x": from_x, "from_y": from_y, "to_x": to_x, "to_y": to_y}
        with tempfile.TemporaryDirectory(prefix="wse_mesh-") as folder:
            folder = Path(folder)
            image, stats = folder / "mesh.bin", folder / "stats.json"
            _run([_tool("cslc"), str(Path(__file__).parent / "layout.csl"), "-o", str(image),
                  f"--arch={mesh.arch}",
                  "--params=" + ",".join(f"{k}:{v}" for k, v in params.items())])
            words = numpy.zeros((mesh.height, mesh.width, params["words"]), self.dtype)
            for x, y in mesh.tiles():
                words[y, x] = self.memory(x, y)
            numpy.save(folder / "data.npy", words)
            _run([_tool("wse-emu"), str(image), f"--h2d=data={folder / 'data.npy'}", "--run",
                  f"--d2h=result={folder / 'result.npy'}", f"--stats={stats}"])
            after = numpy.load(folder / "result.npy").reshape(mesh.height, mesh.width, -1)
            result.cycles = json.loads(stats.read_text())["cycles"]
        return result.with_shards({
            (x, y): result._unpaged(after[y, x].astype(self.dtype), result.local)
            for x, y in mesh.tiles()})

    def _divided(self, dim):
        if dim not in (0, 1):
            raise MeshError(f"an array has dimensions 0 and 1, not {dim!r}")
        axis = self.layout[dim]
        if axis is None:
            raise MeshError(f"dimension {dim} is not divided: nothing to gather or to exchange")
        return axis

    def _with(self, dim, axis):
        layout = list(self.layout)
        layout[dim] = axis
        return tuple(layout)

    def all_gather(self, dim):
        """All parts of a dimension on every tile of its axis."""
        axis = self._divided(dim)
        return self._device(_ALL_GATHER, axis, self._with(dim, None),
                            self.local[0] * self.local[1], (1, self._runs(dim, self.local[0])))

    def _undivided(self, dim, axis):
        if axis not in _AXES or dim not in (0, 1):
            raise MeshError("dimension 0 or 1 over axis 'x', 'y' or 'xy', "
                            f"not {dim!r} over {axis!r}")
        layout = self._with(dim, axis)
        if self.layout[dim] is not None:
            raise MeshError(f"dimension {dim} is divided over {self.layout[dim]!r} already")
        _check_layout(layout)
        return layout

    def reduce_scatter(self, dim, axis, operation="add"):
        """The tiles of an axis combine what they have, and each keeps its part of a dimension."""
        layout = self._undivided(dim, axis)
        part = self.local[0] * self.local[1] // self.mesh.size(axis)
        return self._device(_REDUCE_SCATTER, axis, layout, part,
                            (self._runs(dim, self.local[0]), 1), operation)

    def all_reduce(self, axis, operation="add"):
        """The tiles of an axis combine what they have; all get the result."""
        if axis not in _AXES:
            raise MeshError(f"the axis is 'x', 'y' or 'xy', not {axis!r}")
        return self._device(_ALL_REDUCE, axis, self.layout,
                            self.local[0] * self.local[1] // self.mesh.size(axis),
                            operation=operation)

    def _slice(self, dim, axis):
        layout = self._undivided(dim, axis)
        part = self.local[0] * self.local[1] // self.mesh.size(axis)
        return self._device(_SLICE, axis, layout, part, (self._runs(dim, self.local[0]), 1))

    def _exchange(self, dim):
        """The axis of dimension `dim` goes over to the other dimension."""
        axis, other = self._divided(dim), 1 - dim
        layout = (None, axis) if other == 1 else (axis, None)
        count = self.mesh.size(axis)
        part = self.local[0] * self.local[1] // count
        rows_of_part = self.local[0] // (count if other == 0 else 1)
        return self._device(_EXCHANGE, axis, layout, part,
                            (self._runs(other, self.local[0]), self._runs(dim, rows_of_part)))

    def reshard(self, layout):
        """The same array, divided in another way: by an exchange where an axis goes from one
        dimension to the other, by all-gathers and slices else."""
        _check_layout(layout)
        now, cycles = self, 0
        for dim in range(2):
            axis = now.layout[dim]
            if axis and layout[1 - dim] == axis and now.layout[1 - dim] is None \
                    and layout[dim] is None:
                now = now._exchange(dim)
                cycles += now.cycles
        for dim in range(2):
            if now.layout[dim] and now.layout[dim] != layout[dim]:
                now = now.all_gather(dim)
                cycles += now.cycles
        for dim in range(2):
            if layout[dim] and now.layout[dim] != layout[dim]:
                now = now._slice(dim, layout[dim])
                cycles += now.cycles
        if now is self:
            now = ShardedTensor(self.mesh, self.shape, self.dtype, self.layout, self.page)
            now.with_shards(dict(self.shards))
        now.cycles = cycles
        return now

    def gather(self):
        """The whole array on every tile."""
        return self.reshard(REPLICATED)

    def send(self, source, target):
        """What tile `source` has, also on tile `target`, instead of what that had."""
        for tile in (source, target):
            if tuple(tile) not in self.shards:
                raise MeshError(f"{tile!r} is not a tile of the mesh of {self.mesh.width} x "
                                f"{self.mesh.height}")
        return self._device(_SEND, "xy", self.layout, self.local[0] * self.local[1],
                            ends=(source, target))


# ---- slices --------------------------------------------------------------------------------------

def slices(shape, dim, ring_size, workers, buffer_elements, page=(1, 1)):
    """How a reduce-scatter of an array over a ring is cut so that no slice of a part is longer than
    a buffer: a list of (worker, first, last) for each worker's slices, in pages of dimension `dim`
    of a part.  Workers take slices in turn, and all parts are cut alike."""
    pages = -(-shape[dim] // (page[dim] * ring_size))
    across = -(-shape[1 - dim] // page[1 - dim])
    elements = page[0] * page[1] * across
    if elements > buffer_elements:
        raise MeshError(f"a row of pages has {elements} elements, a buffer {buffer_elements}")
    if workers < 1 or ring_size < 1:
        raise MeshError("there is a worker and a tile at least")
    longest = buffer_elements // elements
    found = []
    for number, first in enumerate(range(0, pages, longest)):
        found.append((number % workers, first, min(first + longest, pages)))
    return found
