"""Helpers of host scripts of SDK 0.7 to 0.9.

A port map says on which tile and where in the tile's array each element of a tensor lies:

    { A[j=0:5][i=0:3] -> [PE[i//2, j//3] -> index[i%2, j%3]] }

Ranges contain both ends; the last index of the tile's array is the fastest.  The data that go with
it are for copies in row-major order.
"""

import ast
import operator
import re

import numpy as np

from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.sdk_utils import input_array_to_u32, memcpy_view

__all__ = ["convert_input_tensor", "debug_util", "format_output_tensor", "input_array_to_u32",
           "output_array_from_u32", "prepare_output_tensor"]

_PORT_MAP = re.compile(r"\{\s*\w+\s*((?:\[[^\]]*\]\s*)+)->\s*\[\s*PE\s*\[([^\]]*)\]\s*->"
                       r"\s*index\s*\[([^\]]*)\]\s*\]\s*\}")
_DIMENSION = re.compile(r"\[\s*(?:(\w+)\s*=)?\s*(\d+)\s*(?::\s*(\d+)\s*)?\]")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg}


def _evaluate(node, names, port_map):
    """An integer expression over the indices, for all elements at once."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left, names, port_map),
                                         _evaluate(node.right, names, port_map))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.operand, names, port_map))
    raise ValueError(f"port map {port_map}: '{ast.unparse(node)}' is none of its indices, a "
                     "number, or a sum, product, quotient or remainder of these")


def _expressions(text, names, shape, port_map):
    try:
        tree = ast.parse(f"({text.strip()},)", mode="eval").body
    except SyntaxError:
        raise ValueError(f"port map {port_map}: cannot read '{text}'") from None
    return [np.broadcast_to(np.asarray(_evaluate(e, names, port_map), np.int64), shape)
            for e in tree.elts]


class _Placement:
    """What a port map says: the tensor's shape, the rectangle of tiles, and for each element its
    place in the words of a row-major copy to or from that rectangle."""

    def __init__(self, port_map):
        match = _PORT_MAP.fullmatch(port_map.strip())
        if not match:
            raise ValueError(f"port map {port_map}: expected the form "
                             "{ T[i=0:N] -> [PE[x, y] -> index[k]] }")
        bounds = _DIMENSION.findall(match.group(1))
        if len(bounds) != match.group(1).count("["):
            raise ValueError(f"port map {port_map}: a dimension is [NAME=FIRST:LAST]")
        ranges = [range(int(first), int(last or first) + 1) for _, first, last in bounds]
        self.shape = tuple(len(r) for r in ranges)
        grids = np.meshgrid(*ranges, indexing="ij")
        names = {name: grid for (name, _, _), grid in zip(bounds, grids) if name}
        tile = _expressions(match.group(2), names, self.shape, port_map)
        if len(tile) != 2:
            raise ValueError(f"port map {port_map}: PE has two coordinates")
        index = _expressions(match.group(3), names, self.shape, port_map)
        for what, values in (("PE", tile), ("index", index)):
            if any((v < 0).any() for v in values):
                raise ValueError(f"port map {port_map}: some of '{what}' is below 0")
        self._x, self._y = int(tile[0].min()), int(tile[1].min())
        self._width = int(tile[0].max()) - self._x + 1
        self._height = int(tile[1].max()) - self._y + 1
        extents = [int(i.max()) + 1 for i in index]
        self._length = int(np.prod(extents))
        place = (tile[1] - self._y) * self._width + tile[0] - self._x
        for i, extent in zip(index, extents):
            place = place * extent + i
        self.words = place
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
