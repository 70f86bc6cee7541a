"""The tiles of a program, to be looked at: those of a run, or of a core."""

import ctypes
import os
import weakref
from pathlib import Path

import numpy as np

import wse_lib
from cerebras.sdk.runtime._arrays import pair, whole
from cerebras.sdk.runtime._artifact import layout_of

__all__ = ["CoreTiles", "LoadedTiles", "Tiles", "symbol_name"]


def symbol_name(name):
    """As the library takes it."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a symbol is a text, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError(f"the name of a symbol has no character 0: {name!r}")
    return name.encode()


class Tiles:
    """How the tiles of a program are read, whose `_library` and `_handle` a subclass has, and
    `_check` for the status of a call.  Coordinates are those of the fabric: the program's rectangle
    starts at its fabric offsets."""

    _origin = (0, 0)       # of a layout made in Python, in the rectangle; known after opening

    def _look_at(self, bindir):
        """After the handle has been opened."""
        self._geometry = wse_lib.Geometry()
        self._check(self._library.wse_geometry(self._handle, ctypes.byref(self._geometry)))
        self._origin, self._streams = layout_of(bindir)

    def read_symbol(self, x, y, name, dtype="uint8"):
        """Raw content of any symbol of a tile, x and y in the fabric."""
        size, dtype = ctypes.c_size_t(), np.dtype(dtype)
        if dtype.itemsize == 0 or dtype.hasobject:
            raise TypeError(f"the elements of a symbol are no {dtype}; pass a type of numbers, such "
                            "as np.float32")
        column, row = self._in_rectangle(x, y)
        name, read = symbol_name(name), self._library.wse_read_symbol
        status = read(self._handle, column, row, name, None, 0, ctypes.byref(size))
        self._check_tile(status, (x, y), (column, row))
        raw = (ctypes.c_uint8 * size.value)()
        self._check(read(self._handle, column, row, name, raw, size.value, ctypes.byref(size)))
        if size.value % dtype.itemsize:
            raise ValueError(f"{name.decode()!r} has {size.value} bytes, no whole elements of "
                             f"{dtype}")
        return np.frombuffer(bytes(raw), dtype=dtype)

    def read_symbol_rect(self, rectangle, name, dtype):
        """The same for ((x, y), (width, height)): an array [width][height][...]."""
        corner, size = pair("a rectangle", rectangle)
        (left, top), (width, height) = pair("the corner", corner), pair("the size", size)
        width, height = whole("width", width, 1), whole("height", height, 1)
        return np.array([[self.read_symbol(left + x, top + y, name, dtype) for y in range(height)]
                         for x in range(width)])

    def _check_tile(self, status, fabric, rectangle):
        """As _check; the library names tiles by their place in the rectangle."""
        try:
            self._check(status)
        except ValueError as error:
            if fabric == rectangle:
                raise
            raise ValueError(f"{error}\ntile {rectangle[0]},{rectangle[1]} of the program is tile "
                             f"({fabric[0]}, {fabric[1]}) of the fabric") from None

    def symbols(self, x, y):
        """Names of all symbols of a tile, x and y in the fabric."""
        column, row = self._in_rectangle(x, y)
        names = []
        while True:
            name = self._library.wse_symbol_name(self._handle, column, row, len(names))
            if name is None:
                return names
            names.append(name.decode())

    def tiles(self):
        """Places of the program's tiles in the fabric."""
        g, (left, top) = self._geometry, self._corner()
        return [(left + x, top + y) for y in range(g.height) for x in range(g.width)]

    def coord_logical_to_physical(self, coord):
        """A place in the program's rectangle as one in the fabric."""
        g, (left, top) = self._geometry, self._corner()
        x, y = pair("a place", coord)
        if not (0 <= x < g.width and 0 <= y < g.height):
            raise ValueError(f"({x}, {y}) is outside the program's rectangle of {g.width} x "
                             f"{g.height} tiles")
        return x + left, y + top

    def _corner(self):
        """Place of the rectangle's first tile in the fabric; a layout made in Python has a
        coordinate system of its own."""
        g = self._geometry
        return g.offset_x - self._origin[0], g.offset_y - self._origin[1]

    def _in_rectangle(self, x, y):
        """Fabric coordinates as those of the rectangle."""
        g, (left, top) = self._geometry, self._corner()
        column = whole("x", x, min(left, 0)) - left      # streams of a layout made in Python end
        row = whole("y", y, min(top, 0)) - top           # at tiles beside the regions
        if not (0 <= column < g.width and 0 <= row < g.height):
            raise ValueError(f"({x}, {y}) is outside the program's rectangle: columns {left} to "
                             f"{left + g.width - 1}, rows {top} to {top + g.height - 1} of the "
                             "fabric")
        return column, row


class LoadedTiles(Tiles):
    """The tiles of the program in `bindir` before it runs."""

    def __init__(self, bindir):
        self._library, self._handle = wse_lib.load(), ctypes.c_void_p()
        status = self._open(os.fsencode(bindir))
        weakref.finalize(self, self._library.wse_close, self._handle)
        self._check(status)
        self._look_at(Path(bindir).resolve())

    def _open(self, bindir):
        """Without the options of runs, which would write their files."""
        return self._library.wse_open(bindir, ctypes.byref(wse_lib.Options(args=b"")),
                                      ctypes.byref(self._handle))

    def _check(self, status):
        if status == wse_lib.OK:
            return
        message = self._library.wse_error(self._handle).contents.message.decode(errors="replace")
        raise (MemoryError if status == wse_lib.NO_MEMORY else ValueError)(message.rstrip("\n"))


class CoreTiles(LoadedTiles):
    """The same as a core has them: a file of SdkRuntime.dump_core or of --save-state."""

    def __init__(self, bindir, core):
        self._core = os.fsencode(core)
        super().__init__(bindir)

    def _open(self, bindir):
        return self._library.wse_open_core(bindir, self._core, ctypes.byref(self._handle))
