"""CSELFRunner, the runtime of the SDK up to release 0.8.

    runner = CSELFRunner(glob("out/bin/out_[0-9]*.elf"))
    runner.add_input_tensor(0, "{x[i=0:9] -> [PE[-1, 0] -> index[i]]}", x)
    runner.add_output_tensor(1, "{y[i=0:9] -> [PE[4, 0] -> index[i]]}", np.float32)
    runner.connect_and_run()
    runner.out_tensor_dict["y"]

Tensors pass the border of the program's rectangle, element by element, one wavelet each.  A port map
names the tile beyond the border: PE[-1, 0] is the west side of the tile 0, 0.  A wavelet to the tiles
with an element of 16 bits has the element's index in its high half.  Coordinates of symbols are those
of the fabric.

With input_colors or output_colors, memcpy streams the tensors of these colors to and from the tiles that
the port maps name (_copies.py), all at once or in batches:

    runner.load()
    runner.start()
    runner.prepare_input_tensor(0, "{x[i=0:9] -> [PE[0, i] -> index[0]]}", x)
    runner.run_batch([0, 1])
    runner.stop()
"""

import ctypes
import os
from pathlib import Path

import numpy as np

import wse_lib
from cerebras.elf.cs_elf_runner._copies import Copies
from cerebras.sdk.runtime import _platform
from cerebras.sdk.runtime._arrays import whole
from cerebras.sdk.runtime._port_map import PortMap
from cerebras.sdk.runtime._tiles import LoadedTiles, symbol_name
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime

__all__ = ["CSELFRunner", "program_folder"]

_SIDES = {"NORTH": wse_lib.NORTH, "SOUTH": wse_lib.SOUTH, "EAST": wse_lib.EAST,
          "WEST": wse_lib.WEST}
_MOST_COLOR = 2 ** 8 - 1       # what a port of the library holds
_LAST_TASK = 63                # that a control wavelet can name
_HALF = 16                     # bits: there a control wavelet names its task
_SLICE_CYCLES = 10_000         # between two looks at the outputs
_MOST_COUNTED = 1 << 16        # wavelets beyond those of an output


def program_folder(elf_paths):
    """The output folder of cslc that these files are of: one program is in one file for all tiles."""
    paths = [Path(path) for path in elf_paths]
    if not paths:
        raise ValueError("CSELFRunner got no ELF files: the script looked for them where cslc has "
                         "written none; compile with -o and the folder that the script names")
    folder = paths[0].parent.parent if paths[0].parent.name == "bin" else paths[0].parent
    if not (folder / "prog.bin").exists():
        raise FileNotFoundError(f"{folder} is no output folder of cslc, where {paths[0]} would be: "
                                "it has no prog.bin")
    return folder


class _Program(SdkRuntime):
    """The running program, with ports at its border."""

    def __init__(self, folder, ports, needs_memcpy):
        self._ports = ports
        super().__init__(folder, memcpy_required=needs_memcpy)

    def _options(self, own_options):
        array = (wse_lib.Port * max(1, len(self._ports)))(*self._ports)
        return {**super()._options(own_options), "ports": array, "n_ports": len(self._ports)}

    def write_symbol(self, x, y, name, array):
        column, row = self._in_rectangle(x, y)
        data = np.ascontiguousarray(array).tobytes()
        self._check(self._library.wse_write_symbol(self._handle, column, row, symbol_name(name),
                                                   data, len(data)))

    def send(self, port, words, control=False):
        words = np.ascontiguousarray(words, np.uint32)
        self._check(self._library.wse_port_send(
            self._handle, port, words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)), words.size,
            control))

    def take(self, port, most):
        words, count = np.zeros(most, np.uint32), ctypes.c_size_t()
        self._check(self._library.wse_port_take(
            self._handle, port, words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)), most,
            ctypes.byref(count)))
        return words[:count.value]

    def left(self, port):
        count = ctypes.c_size_t()
        self._check(self._library.wse_port_left(self._handle, port, ctypes.byref(count)))
        return count.value

    def advance(self, collect, has_outputs):
        """Runs until it is quiet, or until collect() has found all outputs: tiles may wait for more
        then, or never rest."""
        done = False
        while not (has_outputs and done):
            before = self._library.wse_cycle(self._handle)
            status = self._heard(self._library.wse_run, _SLICE_CYCLES)
            done = collect()
            if not (status == wse_lib.DEADLOCK and done):
                self._check(status)
            if status != wse_lib.OK or \
                    self._library.wse_cycle(self._handle) - before < _SLICE_CYCLES:
                break
        self._end()


class _Stream:
    """A tensor on its way through the border: for each port the elements, in their order."""

    def __init__(self, name, color, is_input, dtype, places, sentinel=None):
        self.name, self.is_input, self.dtype = name, is_input, _element_type(dtype)
        self.color = whole("color", color, 0, _MOST_COLOR)
        self.places = places           # {(x, y) beyond the border: (elements, their indices there)}
        self.sentinel = None if sentinel is None else whole("sentinel", sentinel, 0, _LAST_TASK)
        self.shape = None              # of an output
        self.tensor = None             # an input's words, an output's values, flat

    def wavelets(self, elements, indices):
        """Those elements of an input, a wavelet each."""
        words = self.tensor[elements]
        return words | np.asarray(indices, np.uint32) << _HALF if self.dtype.itemsize == 2 else words


def _element_type(dtype):
    dtype = np.dtype(dtype)
    if dtype.itemsize not in (2, 4) or dtype.kind not in "iuf":
        raise TypeError(f"a tensor has elements of 16 or 32 bits, one wavelet each, not {dtype}")
    return dtype


def _words(tensor):
    """A word per element, 16-bit ones in the low half."""
    flat = np.ascontiguousarray(tensor).reshape(-1)
    bits = np.uint16 if _element_type(flat.dtype).itemsize == 2 else np.uint32
    return flat.view(bits).astype(np.uint32)


def _values(words, dtype):
    """Wavelets as elements."""
    if dtype.itemsize == 2:
        return words.astype(np.uint16).view(dtype)
    return words.view(dtype)


def _places_of_map(port_map):
    parsed = PortMap(port_map)
    order, places = parsed.places()[0].reshape(-1), {}
    xs, ys = parsed.x.reshape(-1).tolist(), parsed.y.reshape(-1).tolist()
    for element in np.argsort(order, kind="stable").tolist():
        elements, indices = places.setdefault((xs[element], ys[element]), ([], []))
        elements.append(element)
        indices.append(int(order[element]))
    return parsed, places


class CSELFRunner:
    """Runs the program of these ELF files on the emulator, with tensors that pass its border."""

    def __init__(self, elf_paths, cmaddr=None, *, debug_mode=False, height=None, width=None,
                 input_colors=None, output_colors=None):
        del debug_mode
        _platform.refuse_address(cmaddr)
        self._folder = program_folder([elf_paths] if isinstance(elf_paths, str) else elf_paths)
        self._streams = []
        self._copies = None            # in place of streams, with colors of memcpy
        if input_colors or output_colors:
            columns, rows = _size_of(self._folder)
            self._copies = Copies(width or columns, height or rows, input_colors, output_colors)
        self._symbols = []             # (x, y, name, array), in the fabric
        self._program = None
        self.out_tensor_dict = {}

    # ---- before the run

    def add_input_tensor(self, color, port_map, tensor, sentinel=None, *, reusable=False):
        """Sends the elements of a tensor to where the port map says, then to each of these tiles a
        control wavelet that activates the task `sentinel`.  In place of a port map, (SIDE, I) sends
        all of them to the I-th tile at that side.  The tensor of a color of memcpy may be None until
        prepare_input_tensor if it is reusable."""
        tensor = self._given(tensor, sentinel, reusable)
        if self._copies:
            self._copies.add_input(color, port_map, tensor)
            return
        if isinstance(port_map, tuple):
            side, at = port_map
            every = list(range(tensor.size))
            name, places = None, {(_side(side), whole("tile", at)): (every, every)}
        else:
            parsed, places = _places_of_map(port_map)
            name = parsed.name
            if parsed.x.size != tensor.size:
                raise ValueError(f"port map {port_map} is of {parsed.x.size} elements, the tensor "
                                 f"has {tensor.size}")
        self._add_input(name, color, tensor, places, sentinel)

    def add_input_array(self, name, color, side, array, sentinel=None, *, offset=0, reusable=False):
        """Sends array[i] to the i-th tile at a side: "N", "S", "E" or "W".  On a color of memcpy, the
        tiles of the i-th row or column behind `offset` share it."""
        array = self._given(array, sentinel, reusable)
        if self._copies:
            self._copies.add_input_array(color, name, _side(side), offset, array)
        else:
            self._add_input(name, color, array, _places_of_rows(side, array), sentinel)

    def add_output_tensor(self, color, port_map, dtype, *, reusable=False):
        """Takes the wavelets of the color where the port map says, in order.  The tensor is
        out_tensor_dict[NAME] after the run, NAME being the port map's."""
        del reusable
        if self._copies:
            self._copies.add_output(color, port_map, _element_type(dtype))
            return
        parsed, places = _places_of_map(port_map)
        self._add_output(parsed.name, color, dtype, parsed.shape, places)

    def add_output_array(self, name, color, side, array, *, offset=0, reusable=False):
        """Takes array[i] from the i-th tile at a side: "N", "S", "E" or "W".  On a color of memcpy,
        the tiles of the i-th row or column behind `offset` send it."""
        del reusable
        _element_type(array.dtype)
        if self._copies:
            self._copies.add_output_array(color, name, _side(side), offset, array)
        else:
            self._add_output(name, color, array.dtype, array.shape, _places_of_rows(side, array))

    def _given(self, tensor, sentinel, reusable):
        """An input's tensor; None for one that comes later."""
        if self._copies and sentinel is not None:
            raise NotImplementedError("a sentinel behind a tensor that memcpy copies is not available: "
                                      "let the tiles count the elements")
        if tensor is None and self._copies and reusable:
            return None
        if tensor is None:
            raise ValueError("an input without a tensor is for input_colors, with reusable=True: "
                             "prepare_input_tensor gives it later")
        tensor = np.asarray(tensor)
        _element_type(tensor.dtype)
        return tensor

    def set_symbol(self, x, y, name, array):
        """The value of a variable of a tile before the run."""
        if self._program:
            raise RuntimeError("the program has been run: set symbols before connect_and_run()")
        self._symbols.append((x, y, name, np.array(array)))

    def set_symbol_rect(self, name, array, offset=(0, 0)):
        """array[x][y] for the tiles of a rectangle that begins at `offset` in the fabric."""
        array = np.array(array)
        for x, column in enumerate(array):
            for y, value in enumerate(column):
                self.set_symbol(offset[0] + x, offset[1] + y, name, value)

    def _add_input(self, name, color, tensor, places, sentinel):
        stream = _Stream(name, color, True, tensor.dtype, places, sentinel)
        stream.tensor = _words(tensor)
        self._add(stream)

    def _add_output(self, name, color, dtype, shape, places):
        if any(other.name == name and not other.is_input for other in self._streams):
            raise ValueError(f"there is an output {name!r} already")
        stream = _Stream(name, color, False, dtype, places)
        stream.shape = shape
        stream.tensor = np.zeros(int(np.prod(shape)), stream.dtype)
        self._add(stream)

    def _add(self, stream):
        if self._program:
            raise RuntimeError("the program has been run: add tensors before connect_and_run()")
        self._streams.append(stream)

    # ---- the run

    def connect_and_run(self, sim_out_path=None):
        """Runs the program until all outputs are there; RuntimeError says which are not.  Writes what
        the tiles hold then to the file, which ELFLoader reads."""
        if self._program:
            raise RuntimeError("connect_and_run() again: a program runs once; make a new CSELFRunner")
        if self._copies:
            self.load()
            self.start()
            self.run_batch(self._copies.colors())
            self.stop()
        else:
            self._run_with_ports()
        if sim_out_path:
            self._program.dump_core(sim_out_path)

    def _run_with_ports(self):
        size = _size_of(self._folder)
        ports, numbers = [], []
        for stream in self._streams:
            for at, (elements, indices) in stream.places.items():
                x, y, side = _border(at, size, stream.name)
                numbers.append((stream, elements, indices, len(ports), (x, y)))
                ports.append(wse_lib.Port(x, y, side, stream.color, stream.is_input))
        self._load(ports, needs_memcpy=False)
        self._send(numbers)
        outputs = [_Output(self._program, *row) for row in numbers if not row[0].is_input]
        self._program.advance(lambda: all([output.collect() for output in outputs]), bool(outputs))
        self._report(numbers, outputs)
        for output in outputs:
            output.warn_of_more()
        self.out_tensor_dict = {stream.name: stream.tensor.reshape(stream.shape)
                                for stream in self._streams if not stream.is_input}

    def _load(self, ports, needs_memcpy):
        self._program = _Program(self._folder, ports, needs_memcpy)
        self._program.load()
        for symbol in self._symbols:
            self._program.write_symbol(*symbol)

    def _send(self, numbers):
        for stream, elements, indices, port, _ in numbers:
            if stream.is_input:
                self._program.send(port, stream.wavelets(elements, indices))
                if stream.sentinel is not None:
                    self._program.send(port, [stream.sentinel << _HALF], control=True)

    def _report(self, numbers, outputs):
        missing = [output.missing() for output in outputs if not output.is_complete()]
        if not missing:
            return
        for stream, _, _, port, (x, y) in numbers:
            left = self._program.left(port) if stream.is_input else 0
            if left:
                missing.append(f"{left} wavelets for color {stream.color} still wait at the border "
                               f"of tile {x},{y}, which does not take them")
        raise RuntimeError("the program has ended without all of its outputs: " + "; ".join(missing))

    # ---- copies by memcpy, in batches

    def load(self):
        """Loads the program on the tiles."""
        self._for_copies("load")
        self._load([], needs_memcpy=True)

    def start(self):
        """Starts the program: run_batch may follow."""
        self._for_copies("start").run()

    def prepare_input_tensor(self, color, port_map, tensor):
        """The elements that the next batches with this color send."""
        self._for_copies("prepare_input_tensor")
        self._copies.prepare(color, port_map, self._given(tensor, None, False))

    def prepare_input_array(self, color, offset, array):
        """The same of an array: array[i] for the tiles of the row or column `offset` + i."""
        self._for_copies("prepare_input_array")
        self._copies.prepare_array(color, offset, self._given(array, None, False))

    def run_batch(self, colors):
        """Carries out the copies of these colors and waits until they are done.  Their outputs are in
        out_tensor_dict."""
        program = self._for_copies("run_batch")
        self.out_tensor_dict.update(self._copies.run(program, colors))

    def stop(self):
        """Ends the program; its symbols remain."""
        self._for_copies("stop").stop()

    def _for_copies(self, call):
        if not self._copies:
            raise RuntimeError(f"{call}() is for copies by memcpy: give CSELFRunner input_colors or "
                               "output_colors, or call connect_and_run()")
        if call not in ("load", "prepare_input_tensor", "prepare_input_array") and not self._program:
            raise RuntimeError(f"{call}() before load(): load the program first")
        return self._program

    # ---- after the run

    @property
    def tiles(self):
        """The tiles of the program, which has run."""
        if not self._program:
            raise RuntimeError("the program has not been run: call connect_and_run() first")
        return self._program

    def get_symbol(self, x, y, name, dtype):
        """The value of a variable of a tile after the run, as an array of `dtype`."""
        return self.tiles.read_symbol(x, y, name, dtype)

    def get_symbol_rect(self, rectangle, name, dtype):
        """The same for ((x, y), (width, height)): an array [width][height][...]."""
        return self.tiles.read_symbol_rect(rectangle, name, dtype)


class _Output:
    """What one port of an output has to give."""

    def __init__(self, program, stream, elements, _, port, place):
        self._program, self._stream, self._port, self._place = program, stream, port, place
        self._elements, self._taken = np.array(elements), 0

    def collect(self):
        words = self._program.take(self._port, self._elements.size - self._taken)
        to = self._elements[self._taken:self._taken + words.size]
        self._stream.tensor[to] = _values(words, self._stream.dtype)
        self._taken += words.size
        return self.is_complete()

    def is_complete(self):
        return self._taken == self._elements.size

    def warn_of_more(self):
        """Wavelets beyond those of the output."""
        more, (x, y) = self._program.take(self._port, _MOST_COUNTED).size, self._place
        if more:
            self._program._warn(f"tile {x},{y} has sent {more} more wavelets on color "
                                f"{self._stream.color} than {self._stream.name!r} has elements there")

    def missing(self):
        x, y = self._place
        return (f"{self._taken} of {self._elements.size} elements of {self._stream.name!r} have come "
                f"from tile {x},{y} on color {self._stream.color}")


def _side(text):
    names = [name for name in _SIDES if isinstance(text, str) and text and
             name.startswith(text.upper())]
    if len(names) != 1:
        raise ValueError(f"a side is one of {', '.join(_SIDES)}, or its first letter, not {text!r}")
    return names[0]


def _places_of_rows(side, array):
    """array[i] for the i-th tile at the side."""
    length = array.size // len(array) if len(array) else 0
    indices = list(range(length))
    return {(_side(side), i): ([i * length + index for index in indices], indices)
            for i in range(len(array))}


def _size_of(folder):
    """Columns and rows of a program."""
    tiles = LoadedTiles(folder).tiles()
    return len({x for x, _ in tiles}), len({y for _, y in tiles})


def _border(at, size, name):
    """(x, y, side) of the tile before a place beyond the border."""
    width, height = size
    x, y = at
    if isinstance(x, str):             # the y-th tile at a side
        ways = {"NORTH": (y, -1), "SOUTH": (y, height), "WEST": (-1, y), "EAST": (width, y)}
        x, y = ways[x]
    if 0 <= y < height and x in (-1, width):
        return (0, y, wse_lib.WEST) if x < 0 else (width - 1, y, wse_lib.EAST)
    if 0 <= x < width and y in (-1, height):
        return (x, 0, wse_lib.NORTH) if y < 0 else (x, height - 1, wse_lib.SOUTH)
    raise ValueError(f"{name!r}: PE[{x}, {y}] is not beside the border of the program's {width} x "
                     f"{height} tiles: columns -1 and {width}, or rows -1 and {height}")
