"""Helpers of host scripts of SDK 0.7 to 0.9.

A port map (_port_map.py) says on which tile and where in the tile's array each element of a tensor
lies.  The data that go with it are for copies in row-major order.
"""

import numpy as np

from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime._port_map import Placement
from cerebras.sdk.sdk_utils import input_array_to_u32, memcpy_view

__all__ = ["convert_input_tensor", "debug_util", "format_output_tensor", "input_array_to_u32",
           "output_array_from_u32", "prepare_output_tensor"]


def convert_input_tensor(port_map, tensor):
    """(px, py, w, h, l, data) for SdkRuntime.memcpy_h2d in row-major order."""
    placement = Placement.of_map(port_map)
    return (*placement.region, placement.words_of(np.asarray(tensor)))


def prepare_output_tensor(port_map, dtype):
    """(px, py, w, h, l, data) for SdkRuntime.memcpy_d2h in row-major order."""
    placement = Placement.of_map(port_map)
    container = np.uint32 if np.dtype(dtype).itemsize == 2 else dtype
    return (*placement.region, np.zeros(placement.count, container))


def format_output_tensor(port_map, dtype, data):
    """The tensor, of what a copy has put into the array of prepare_output_tensor."""
    placement = Placement.of_map(port_map)
    return memcpy_view(np.asarray(data).reshape(-1), dtype)[placement.order]


def output_array_from_u32(np_arr, dtype):
    """The low bytes of each 32-bit word, as an array of `dtype`."""
    return memcpy_view(np_arr, dtype).copy()
