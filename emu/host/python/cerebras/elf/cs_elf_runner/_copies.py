"""Copies of CSELFRunner: tensors that memcpy streams to and from the tiles of a program, by color.

Port maps name tiles of the program's rectangle.  An array has a part for each tile row of the sides
west and east, or for each column of north and south; the tiles there share the part evenly.
"""

from dataclasses import dataclass

import numpy as np

from cerebras.sdk.runtime._arrays import whole
from cerebras.sdk.runtime._port_map import Placement
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder
from cerebras.sdk.sdk_utils import memcpy_view

__all__ = ["Copies"]

_FORM = {"streaming": True, "data_type": MemcpyDataType.MEMCPY_32BIT,
         "order": MemcpyOrder.ROW_MAJOR, "nonblock": True}


@dataclass
class _Copy:
    """What a color carries."""
    is_input: bool
    name: str = None
    side: str = None               # of an array
    placement: Placement = None    # of a reusable array, once it is prepared
    words: np.ndarray = None       # of an input, once it is prepared
    dtype: np.dtype = None         # of an output


class Copies:
    """The tensors of the colors `inputs` and `outputs`, on width x height tiles.  Those of inputs may
    be None until they are prepared."""

    def __init__(self, width, height, inputs, outputs):
        self._width, self._height = whole("width", width, 1), whole("height", height, 1)
        self._copies = {}
        for colors, is_input in ((inputs, True), (outputs, False)):
            for color in colors or ():
                if color in self._copies:
                    raise ValueError(f"color {color} stands twice in input_colors and output_colors")
                self._copies[whole("color", color)] = _Copy(is_input)

    def add_input(self, color, port_map, tensor):
        copy = self._copy(color, True)
        copy.placement = Placement.of_map(port_map)
        copy.name = copy.placement.name
        self._fill(copy, tensor)

    def add_input_array(self, color, name, side, offset, array):
        copy = self._copy(color, True)
        copy.name, copy.side = name, side
        self._fill_array(copy, offset, array)

    def prepare(self, color, port_map, tensor):
        copy = self._copy(color, True)
        copy.placement = Placement.of_map(port_map)
        self._fill(copy, tensor)

    def prepare_array(self, color, offset, array):
        copy = self._copy(color, True)
        if not copy.side:
            raise ValueError(f"color {color} has no array: add_input_array gives it a side first")
        self._fill_array(copy, offset, array)

    def add_output(self, color, port_map, dtype):
        copy = self._copy(color, False)
        copy.placement, copy.dtype = _whole_rectangle(Placement.of_map(port_map)), dtype
        self._name_output(copy, copy.placement.name)

    def add_output_array(self, color, name, side, offset, array):
        copy = self._copy(color, False)
        copy.dtype, copy.placement = array.dtype, self._placement_of_array(side, offset, array)
        self._name_output(copy, name)

    def _name_output(self, copy, name):
        if any(other.name == name for other in self._copies.values()
               if other is not copy and not other.is_input):
            raise ValueError(f"there is an output {name!r} already")
        copy.name = name

    def _fill_array(self, copy, offset, array):
        if array is not None:
            copy.placement = self._placement_of_array(copy.side, offset, array)
        self._fill(copy, array)

    @staticmethod
    def _fill(copy, tensor):
        if tensor is not None:
            copy.words = _whole_rectangle(copy.placement).words_of(tensor)

    def _placement_of_array(self, side, offset, array):
        """array[i] for the tiles of the row, or of the column, `offset` + i."""
        in_rows = side in ("WEST", "EAST")
        tiles, lines = (self._width, self._height) if in_rows else (self._height, self._width)
        parts, offset = len(array), whole("offset", offset)
        line = "row" if in_rows else "column"
        if not 0 < parts <= lines - offset:
            raise ValueError(f"an array of {parts} parts from {line} {offset} on: the program has "
                             f"{lines} {line}s of tiles")
        if not array.size or array.size % (parts * tiles):
            raise ValueError(f"the {tiles} tiles of a {line} cannot share {array.size // parts} "
                             "elements evenly")
        length = array.size // (parts * tiles)
        if in_rows:
            region, order = (0, offset, tiles, parts, length), np.arange(array.size)
        else:
            region = (offset, 0, parts, tiles, length)
            order = np.arange(array.size).reshape(tiles, parts, length).swapaxes(0, 1)
        return Placement(f"an array of {parts} parts", region, order.reshape(array.shape))

    def _copy(self, color, is_input):
        copy = self._copies.get(color)
        if copy is None or copy.is_input != is_input:
            kind = "input_colors" if is_input else "output_colors"
            raise ValueError(f"color {color} is none of CSELFRunner's {kind}")
        return copy

    def colors(self):
        """Those that have a tensor."""
        return [color for color, copy in self._copies.items() if copy.name]

    def run(self, program, colors):
        """Carries out the copies of these colors at once; returns the outputs by name."""
        tasks, outputs = [], {}
        for color in colors:
            copy = self._ready(color)
            words = copy.words if copy.is_input else np.zeros(copy.placement.count, np.uint32)
            if copy.is_input:
                tasks.append(program.memcpy_h2d(color, words, *copy.placement.region, **_FORM))
            else:
                tasks.append(program.memcpy_d2h(words, color, *copy.placement.region, **_FORM))
                outputs[copy.name] = words, copy
        for task in tasks:
            program.task_wait(task)
        return {name: memcpy_view(words, copy.dtype)[copy.placement.order]
                for name, (words, copy) in outputs.items()}

    def _ready(self, color):
        copy = self._copies.get(color)
        if copy is None or not copy.name:
            raise ValueError(f"color {color} has no tensor: add_input_tensor or add_output_tensor "
                             "says what it carries")
        if copy.is_input and copy.words is None:
            raise ValueError(f"the input {copy.name!r} of color {color} has no elements yet: "
                             "prepare_input_tensor or prepare_input_array gives them")
        return copy


def _whole_rectangle(placement):
    """A stream has as many words for each tile of its rectangle."""
    if placement.order.size != placement.count:
        x, y, width, height, length = placement.region
        raise ValueError(f"{placement.what} is of {placement.order.size} elements, but a stream to "
                         f"{width} x {height} tiles from {x},{y} on with {length} each has "
                         f"{placement.count}")
    return placement
