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

A third axis *interleaves* pages: the first page of a block, row by row, is on the first tile of the
axis, the second on the second tile, and so on, round and round.  A page of (n, None) is n whole
rows, in row-major order.

Every operation compiles a program and runs it on the emulator: `cycles` of the result says how long
it took.  The tools are found on the PATH, as for cs_python.
"""
import itertools
import json
import numbers
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy

ROWS = ("xy", None)
COLUMNS = (None, "xy")
BLOCKS = ("y", "x")
REPLICATED = (None, None)
INTERLEAVED = (None, None, "xy")
PAGES = 2                      # what the third axis of a layout divides

_TYPES = ["float32", "float16", "int16", "uint16", "int32", "uint32"]
_ARCHS = ["wse2", "wse3"]
_OPERATIONS = ["add", "max", "min", "mul"]
_ALL_GATHER, _REDUCE_SCATTER, _ALL_REDUCE, _EXCHANGE, _SLICE, _SEND = range(6)
_AXES = {"x": 0, "y": 1, "xy": 2}
_TILE_ELEMENTS = 32767         # what a descriptor can count
_SLICE_ELEMENTS = 512          # of a matrix that come while a tile multiplies those before


class MeshError(ValueError):
    """A mistake in a call."""


def _tool(name):
    found = shutil.which(name)
    if not found:
        raise MeshError(f"{name} is not on the PATH: add the folder of the programs, "
                        f"build/release/bin")
    return found


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise MeshError(f"{command[0]} failed with exit code {done.returncode}:\n{done.stderr}")
    return done


def _is_axis(axis):
    return isinstance(axis, str) and axis in _AXES


def _is_size(number):
    return isinstance(number, numbers.Integral) and number >= 1


def _checked(layout):
    """The three axes of a layout."""
    axes = tuple(layout) if isinstance(layout, (tuple, list)) else ()
    named = [axis for axis in axes if axis is not None]
    is_known = len(axes) in (2, 3) and all(map(_is_axis, named))
    used = "".join(named) if is_known else ""
    if not is_known or len(set(used)) != len(used):
        raise MeshError("a layout names for each of two dimensions 'x', 'y', 'xy' or None, and may "
                        f"name a third axis for pages; no axis twice; not {layout!r}")
    return (*axes, None)[:3]


def _array_of(value):
    """A numpy array that tiles can have, in the byte order of the machine."""
    try:
        array = numpy.asarray(value)
    except ValueError:
        raise MeshError("the array has rows of different lengths: pass a numpy array") from None
    if array.ndim != 2 or array.dtype.name not in _TYPES:
        raise MeshError(f"arrays have two dimensions and one of the types {', '.join(_TYPES)}; "
                        f"this one has {array.ndim} and {array.dtype}: convert it with .astype")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


class Mesh:
    """width x height tiles; arch is that of the machine."""

    def __init__(self, width, height, arch="wse3"):
        if not _is_size(width) or not _is_size(height):
            raise MeshError(f"a mesh has 1 x 1 tiles at least, not {width!r} x {height!r}")
        if arch not in _ARCHS:
            raise MeshError(f"the machine is one of {', '.join(_ARCHS)}, not {arch!r}")
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
        _checked(layout)
        array = _array_of(array)
        empty = ShardedTensor(self, array.shape, array.dtype, layout, page)
        rows, columns = empty.padded
        padded = numpy.zeros((rows, columns), array.dtype)
        padded[:array.shape[0], :array.shape[1]] = array
        return empty.with_shards({tile: padded[empty._places(*tile)] for tile in self.tiles()})

    def partial(self, arrays, page=(1, 1)):
        """An array of the same shape on each tile, {(x, y): array}: what is to be reduced."""
        if not isinstance(arrays, dict):
            raise MeshError("the arrays of the tiles are a dictionary {(x, y): array}, not "
                            f"{type(arrays).__name__}")
        for tile in self.tiles():
            if tile not in arrays:
                raise MeshError(f"every tile of the mesh needs an array, and tile {tile} has none")
        others = set(arrays) - set(self.tiles())
        if others:
            raise MeshError(f"{others.pop()!r} is not a tile of the mesh of {self.width} x "
                            f"{self.height}")
        first = _array_of(arrays[0, 0])
        empty = ShardedTensor(self, first.shape, first.dtype, REPLICATED, page)
        shards = {}
        for tile in self.tiles():
            shards[tile] = numpy.zeros(empty.local, first.dtype)
            part = _array_of(arrays[tile])
            if part.shape != first.shape:
                raise MeshError(f"the arrays of all tiles have one shape; that of tile {tile} is "
                                f"{part.shape}, that of tile (0, 0) {first.shape}")
            if part.dtype != first.dtype:
                raise MeshError(f"the arrays of all tiles have one type; that of tile {tile} is "
                                f"{part.dtype}, that of tile (0, 0) {first.dtype}")
            shards[tile][:first.shape[0], :first.shape[1]] = part
        return empty.with_shards(shards)


class ShardedTensor:
    """An array on a mesh.  shape: of the whole; padded: with what fills its parts up; local: what a
    tile has of it."""

    def __init__(self, mesh, shape, dtype, layout, page):
        if not isinstance(page, (tuple, list)) or len(page) != 2 or not _is_size(page[0]) \
                or page[1] is not None and not _is_size(page[1]):
            raise MeshError("a page has two sizes of 1 or more, the second may be None for whole "
                            f"rows; not {page!r}")
        self.mesh, self.shape, self.dtype = mesh, tuple(shape), numpy.dtype(dtype)
        self.axes, self.page, self.cycles = _checked(layout), tuple(page), 0
        self.layout = self.axes if self.axes[PAGES] else self.axes[:2]
        # So that any dimension can be divided over any axis later.
        units = [(page[d] or 1) * mesh.width * mesh.height for d in range(2)]
        self.padded = tuple(-(-max(n, 1) // unit) * unit for n, unit in zip(shape, units))
        self.local = self._local(self.axes)
        if self.local[0] * self.local[1] > _TILE_ELEMENTS:
            raise MeshError(f"a tile would have {self.local[0]} x {self.local[1]} elements: divide "
                            f"the array over more tiles")

    def _has_whole_rows(self):
        return self.page[1] is None

    def _dealt(self):
        """The dimension along which pages go round, for every row or column of pages alike."""
        return 0 if self._has_whole_rows() else 1

    def _in_memory(self):
        """The page of the order in memory."""
        return (1, 1) if self._has_whole_rows() else self.page

    def _local(self, axes):
        """Rows and columns that a tile has in a layout.  Every row of pages has a page for each tile
        of any axis, and so has every column: to interleave pages is to deal out columns of pages,
        or whole rows."""
        local = [n // self.mesh.size(axis) for n, axis in zip(self.padded, axes)]
        local[self._dealt()] //= self.mesh.size(axes[PAGES])
        return tuple(local)

    def _places(self, x, y):
        """Rows and columns of the whole array that a tile has, for an index."""
        turns, turn = self.mesh.size(self.axes[PAGES]), self.mesh.index(self.axes[PAGES], x, y)
        found = []
        for dim in range(2):
            size = self.padded[dim] // self.mesh.size(self.axes[dim])
            block = numpy.arange(size) + size * self.mesh.index(self.axes[dim], x, y)
            if dim == self._dealt():
                block = block.reshape(-1, turns, self.page[dim])[:, turn].ravel()
            found.append(block)
        return numpy.ix_(*found)

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
        for tile in self.mesh.tiles():
            whole[self._places(*tile)] = self.shards[tile]
        return whole[:self.shape[0], :self.shape[1]]

    def _paged(self, block):
        (rows, columns), (height, width) = block.shape, self._in_memory()
        pages = block.reshape(rows // height, height, columns // width, width)
        return pages.transpose(0, 2, 1, 3).ravel()

    def _unpaged(self, memory, shape):
        height, width = self._in_memory()
        pages = memory.reshape(shape[0] // height, shape[1] // width, height, width)
        return pages.transpose(0, 2, 1, 3).reshape(shape)

    # ---- operations -----------------------------------------------------------------------------

    def _runs(self, dim, part):
        """Pieces of a part, (rows, columns), in an array that is cut along `dim`."""
        height, width = self._in_memory()
        if dim == PAGES:
            return part[0] // self.page[0] * (1 if self._has_whole_rows() else part[1] // width)
        return 1 if dim == 0 else part[0] // height

    def _device(self, kind, axis, layout, part, runs=(1, 1), operation="add",
                ends=((0, 0), (0, 0))):
        """Runs an operation on all tiles; the result has another layout."""
        mesh = self.mesh
        result = ShardedTensor(mesh, self.shape, self.dtype, layout, self.page)
        if operation not in _OPERATIONS:
            raise MeshError(f"the operation is one of {', '.join(_OPERATIONS)}, not {operation!r}")
        (from_x, from_y), (to_x, to_y) = ends
        return result._after("layout.csl", {
            "axis": _AXES[axis], "kind": kind, "element": _TYPES.index(self.dtype.name),
            "operation": _OPERATIONS.index(operation), "words": self.local[0] * self.local[1],
            "part": part, "runs_apart": runs[0], "runs_joined": runs[1], "from_x": from_x,
            "from_y": from_y, "to_x": to_x, "to_y": to_y}, {"data": self._all_memory()})

    def _after(self, program, params, before):
        """This, with what the tiles have after a run of a program; `before` is what they had."""
        mesh = self.mesh
        params = {"width": mesh.width, "height": mesh.height, **params}
        with tempfile.TemporaryDirectory(prefix="wse_mesh-") as folder:
            folder = Path(folder)
            image, stats = folder / "mesh.bin", folder / "stats.json"
            _run([_tool("cslc"), str(Path(__file__).parent / program), "-o", str(image),
                  f"--arch={mesh.arch}",
                  "--params=" + ",".join(f"{k}:{v}" for k, v in params.items())])
            for name, words in before.items():
                numpy.save(folder / f"{name}.npy", words)
            _run([_tool("wse-emu"), str(image),
                  *(f"--h2d={name}={folder / name}.npy" for name in before), "--run",
                  f"--d2h=result={folder / 'result.npy'}", f"--stats={stats}"])
            after = numpy.load(folder / "result.npy").reshape(mesh.height, mesh.width, -1)
            self.cycles = json.loads(stats.read_text())["cycles"]
        return self.with_shards({
            (x, y): self._unpaged(after[y, x].astype(self.dtype), self.local)
            for x, y in mesh.tiles()})

    def _all_memory(self):
        words = numpy.zeros((self.mesh.height, self.mesh.width, self.local[0] * self.local[1]),
                            self.dtype)
        for x, y in self.mesh.tiles():
            words[y, x] = self.memory(x, y)
        return words

    def _divided(self, dim):
        if not isinstance(dim, numbers.Integral) or dim not in (0, 1, PAGES):
            raise MeshError(f"an array has dimensions 0 and 1, and PAGES, not {dim!r}")
        axis = self.axes[dim]
        if axis is None:
            raise MeshError(f"{self._name(dim)} not divided: nothing to gather or to exchange")
        return axis

    @staticmethod
    def _name(dim):
        return "pages are" if dim == PAGES else f"dimension {dim} is"

    def _with(self, dim, axis):
        axes = list(self.axes)
        axes[dim] = axis
        return tuple(axes)

    def all_gather(self, dim):
        """All parts of a dimension, or all pages, on every tile of their axis."""
        axis = self._divided(dim)
        return self._device(_ALL_GATHER, axis, self._with(dim, None),
                            self.local[0] * self.local[1], (1, self._runs(dim, self.local)))

    def _undivided(self, dim, axis):
        """The layout with dimension `dim` divided, and the part of a tile."""
        if not _is_axis(axis) or not isinstance(dim, numbers.Integral) or dim not in (0, 1, PAGES):
            raise MeshError("dimension 0 or 1, or PAGES, over axis 'x', 'y' or 'xy', "
                            f"not {dim!r} over {axis!r}")
        layout = self._with(dim, axis)
        if self.axes[dim] is not None:
            raise MeshError(f"{self._name(dim)} divided over {self.axes[dim]!r} already")
        return layout, self._local(_checked(layout))

    def reduce_scatter(self, dim, axis, operation="add"):
        """The tiles of an axis combine what they have, and each keeps its part of a dimension."""
        layout, part = self._undivided(dim, axis)
        return self._device(_REDUCE_SCATTER, axis, layout, part[0] * part[1],
                            (self._runs(dim, part), 1), operation)

    def all_reduce(self, axis, operation="add"):
        """The tiles of an axis combine what they have; all get the result."""
        if not _is_axis(axis):
            raise MeshError(f"the axis is 'x', 'y' or 'xy', not {axis!r}")
        return self._device(_ALL_REDUCE, axis, self.axes,
                            self.local[0] * self.local[1] // self.mesh.size(axis),
                            operation=operation)

    def _slice(self, dim, axis):
        layout, part = self._undivided(dim, axis)
        return self._device(_SLICE, axis, layout, part[0] * part[1], (self._runs(dim, part), 1))

    def _exchange(self, dim, other):
        """The axis of dimension `dim` goes over to dimension `other`."""
        axes = list(self.axes)
        axes[dim], axes[other] = None, axes[dim]
        both = list(self.axes)
        both[other] = both[dim]
        part = self._local(both)
        return self._device(_EXCHANGE, self._divided(dim), axes, part[0] * part[1],
                            (self._runs(other, part), self._runs(dim, part)))

    def reshard(self, layout):
        """The same array, divided in another way: by an exchange where an axis goes from one
        dimension, or from pages, to another, if both can be cut; by all-gathers and slices else."""
        wanted = _checked(layout)
        now, cycles = self, 0
        for dim, other in itertools.permutations(range(3), 2):
            axis = now.axes[dim]
            # A part of the dimension that is dealt out may have fewer pages than the axis has tiles.
            if axis and wanted[other] == axis and now.axes[other] is None and wanted[dim] is None \
                    and {dim, other} != {self._dealt(), PAGES}:
                now = now._exchange(dim, other)
                cycles += now.cycles
        for dim in (PAGES, 0, 1):
            if now.axes[dim] and now.axes[dim] != wanted[dim]:
                now = now.all_gather(dim)
                cycles += now.cycles
        for dim in range(3):
            if wanted[dim] and now.axes[dim] != wanted[dim]:
                now = now._slice(dim, wanted[dim])
                cycles += now.cycles
        if now is self:
            now = ShardedTensor(self.mesh, self.shape, self.dtype, self.axes, self.page)
            now.with_shards(dict(self.shards))
        now.cycles = cycles
        return now

    def gather(self):
        """The whole array on every tile."""
        return self.reshard(REPLICATED)

    def send(self, source, target):
        """What tile `source` has, also on tile `target`, instead of what that had."""
        for tile in (source, target):
            if not isinstance(tile, (tuple, list)) or tuple(tile) not in self.shards:
                raise MeshError(f"{tile!r} is not a tile of the mesh of {self.mesh.width} x "
                                f"{self.mesh.height}")
        return self._device(_SEND, "xy", self.axes, self.local[0] * self.local[1],
                            ends=(source, target))

    def product(self, other):
        """This matrix times another one, whose columns are divided over an axis, as those of the
        product are then.  If columns of this matrix are divided over that axis, an all-gather brings
        some rows of it to all tiles of the axis while these multiply the rows before."""
        axis = self._check_product(other)
        gathers = self.axes[1] is not None
        result = ShardedTensor(self.mesh, (self.shape[0], other.shape[1]), self.dtype,
                               (self.axes[0], axis), self.page)
        whole_row = self.padded[1]
        return result._after("product_layout.csl", {
            "axis": _AXES[axis], "gathers": int(gathers), "element": _TYPES.index(self.dtype.name),
            "rows": self.local[0], "inner": self.local[1], "columns": other.local[1],
            "rows_at_once": min(max(1, _SLICE_ELEMENTS // whole_row), self.local[0])},
            {"data": self._all_memory(),
             # Larger pages may have padded it with more rows.
             "other": other._all_memory()[..., :whole_row * other.local[1]]})

    def _check_product(self, other):
        """The axis over which the columns of the product are divided."""
        if not isinstance(other, ShardedTensor) or self.mesh is not other.mesh:
            raise MeshError("a product takes two matrices that are distributed over one mesh")
        if self.dtype != other.dtype or self.dtype.name not in ("float32", "float16"):
            raise MeshError("a product takes two matrices of float32 or of float16, not "
                            f"{self.dtype} and {other.dtype}")
        if self.shape[1] != other.shape[0]:
            raise MeshError("a matrix has as many columns as the one that it is multiplied by has "
                            f"rows; these are {self.shape} and {other.shape}")
        axis = other.axes[1]
        if axis is None or other.axes[0] or self.axes[1] not in (None, axis) \
                or self.axes[PAGES] or other.axes[PAGES]:
            raise MeshError("a product takes layouts (any, axis) or (any, None) and (None, axis), "
                            f"without interleaved pages, not {self.layout} and {other.layout}: "
                            "reshard")
        _checked((self.axes[0], axis))
        if self._in_memory() != (1, 1) or other._in_memory() != (1, 1):
            raise MeshError("a product takes matrices in row-major order, pages of (1, 1), not of "
                            f"{self.page} and {other.page}")
        return axis


# ---- slices --------------------------------------------------------------------------------------

def slices(shape, dim, ring_size, workers, buffer_elements, page=(1, 1)):
    """How a reduce-scatter of an array over a ring is cut so that no slice of a part is longer than
    a buffer: a list of (worker, first, last) for each worker's slices, in pages of dimension `dim`
    of a part.  Workers take slices in turn, and all parts are cut alike."""
    if None in page:
        raise MeshError(f"slices are cut from pages of two sizes, not of whole rows: {page!r}")
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
