"""Helpers of host scripts of SDK 0.7 to 0.9.

A port map (_port_map.py) says on which tile and where in the tile's array each element of a tensor
lies.  The data that go with it are for copies in row-major order.
"""

import numpy as np

from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime._port_map import PortMap
from cerebras.sdk.sdk_utils import input_array_to_u32, memcpy_view

__all__ = ["convert_input_tensor", "debug_util", "format_output_tensor", "input_array_to_u32",
           "output_array_from_u32", "prepare_output_tensor"]


class _Placement:
    """The rectangle of tiles of a port map, and for each element its place in the words of a
    row-major copy to or from that rectangle."""

    def __init__(self, port_map):
        parsed = PortMap(port_map)
        if any((values < 0).any() for values in (parsed.x, parsed.y)):
            raise ValueError(f"port map {port_map}: some of 'PE' is below 0")
        self._x, self._y = int(parsed.x.min()), int(parsed.y.min())
        self._width = int(parsed.x.max()) - self._x + 1
        self._height = int(parsed.y.max()) - self._y + 1
        place, self._length = parsed.places()
        tile = (parsed.y - self._y) * self._width + parsed.x - self._x
        self.words = tile * self._length + place
        self.count = self._width * self._height * self._length

    def arguments(self):
        return self._x, self._y, self._width, self._height, self._length


def convert_input_tensor(port_map, tensor):
    """(px, py, w, h, l, data) for SdkRuntime.memcpy_h2d in row-major order."""
    placement = _Placement(port_map)
    tensor = np.asarray(tensor)
    if tensor.size != placement.words.size:
        raise ValueError(f"port map {port_map} is of {placement.words.size} elements, the tensor "
                         f"has {tensor.size}")
    data = np.zeros(placement.count, np.uint32)
    flat = np.ascontiguousarray(tensor).reshape(-1)
    bits = flat.view(np.uint16 if flat.dtype.itemsize == 2 else np.uint32)
    data[placement.words.reshape(-1)] = bits
    return (*placement.arguments(), data)


def prepare_output_tensor(port_map, dtype):
    """(px, py, w, h, l, data) for SdkRuntime.memcpy_d2h in row-major order."""
    placement = _Placement(port_map)
    container = np.uint32 if np.dtype(dtype).itemsize == 2 else dtype
    return (*placement.arguments(), np.zeros(placement.count, container))


def format_output_tensor(port_map, dtype, data):
    """The tensor, of what a copy has put into the array of prepare_output_tensor."""
    placement = _Placement(port_map)
    return memcpy_view(np.asarray(data).reshape(-1), dtype)[placement.words]


def output_array_from_u32(np_arr, dtype):
    """The low bytes of each 32-bit word, as an array of `dtype`."""
    return memcpy_view(np_arr, dtype).copy()
