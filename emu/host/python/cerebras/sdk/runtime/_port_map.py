"""Port maps: on which tile, and where there, each element of a tensor lies.

    { A[j=0:5][i=0:3] -> [PE[i//2, j//3] -> index[i%2, j%3]] }

Ranges contain both ends, and may stand in one bracket: [j=0:5, i=0:3].  `i mod 2` is `i%2`.  The last
index of a tile's elements is the fastest.
"""

import ast
import operator
import re

import numpy as np

__all__ = ["Placement", "PortMap"]

_PORT_MAP = re.compile(r"\{\s*(\w+)\s*((?:\[[^\]]*\]\s*)+)->\s*\[\s*PE\s*\[([^\]]*)\]\s*->"
                       r"\s*index\s*\[([^\]]*)\]\s*\]\s*\}+")    # some scripts end with two
_DIMENSION = re.compile(r"\s*(?:(\w+)\s*=)?([^:=]+)(?::([^:=]+))?")
_MOD = re.compile(r"\bmod\b")


def _by_a_number(divide):
    """The operator; for numpy, a quotient by 0 is 0."""
    def checked(left, right):
        if not np.all(right):
            raise ZeroDivisionError
        return divide(left, right)
    return checked


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.FloorDiv: _by_a_number(operator.floordiv), ast.Mod: _by_a_number(operator.mod),
              ast.USub: operator.neg}


def _evaluate(node, names, port_map):
    """An integer expression over the indices, for all elements at once."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(np.int64(node.value))       # OverflowError, where numpy would make a float of it
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
        tree = ast.parse(f"({_MOD.sub('%', text.strip())},)", mode="eval").body
        return [np.broadcast_to(np.asarray(_evaluate(e, names, port_map), np.int64), shape)
                for e in tree.elts]
    except SyntaxError:
        raise ValueError(f"port map {port_map}: cannot read '{text}'") from None
    except ZeroDivisionError:
        raise ValueError(f"port map {port_map}: '{text}' divides by 0") from None
    except OverflowError:
        raise ValueError(f"port map {port_map}: '{text}' has a number of more than 64 bits") from None


def _bound(text, port_map):
    """A number, or an expression of numbers."""
    try:
        value, *others = _expressions(text, {}, (), port_map)
    except ValueError:
        value, others = -1, []
    if others or value < 0:
        raise ValueError(f"port map {port_map}: a dimension is [NAME=FIRST:LAST], and "
                         f"'{text.strip()}' is no number from 0 on")
    return int(value)


class PortMap:
    """What a port map says: the tensor's name and shape, and for each of its elements the tile (x, y)
    and the indices there."""

    def __init__(self, port_map):
        if not isinstance(port_map, str):
            raise TypeError("a port map is a text of the form { T[i=0:N] -> [PE[x, y] -> index[k]] }, "
                            f"not {port_map!r}")
        match = _PORT_MAP.fullmatch(port_map.strip())
        if not match:
            raise ValueError(f"port map {port_map}: expected the form "
                             "{ T[i=0:N] -> [PE[x, y] -> index[k]] }")
        self.name, dimensions = match.group(1), re.split(r"[\[\],]+", match.group(2).strip())
        bounds = [_DIMENSION.fullmatch(text) for text in dimensions if text.strip()]
        if not all(bounds):
            raise ValueError(f"port map {port_map}: a dimension is [NAME=FIRST:LAST]")
        bounds = [bound.groups() for bound in bounds]
        ranges = [range(_bound(first, port_map), _bound(last or first, port_map) + 1)
                  for _, first, last in bounds]
        named = [name for name, _, _ in bounds if name]
        if not all(ranges):
            raise ValueError(f"port map {port_map}: a dimension ends before it begins")
        if len(set(named)) != len(named):
            raise ValueError(f"port map {port_map}: two dimensions have one name")
        self.shape = tuple(len(r) for r in ranges)
        grids = np.meshgrid(*ranges, indexing="ij")
        names = {name: grid for (name, _, _), grid in zip(bounds, grids) if name}
        tile = _expressions(match.group(3), names, self.shape, port_map)
        if len(tile) != 2:
            raise ValueError(f"port map {port_map}: PE has two coordinates")
        self.x, self.y = tile
        self.index = _expressions(match.group(4), names, self.shape, port_map)
        if any((values < 0).any() for values in self.index):
            raise ValueError(f"port map {port_map}: some of 'index' is below 0")

    def places(self):
        """The indices as one number for each element, the extents of all tiles in mind; and how many
        such numbers there are."""
        place, count = np.zeros(self.shape, np.int64), 1
        for values in self.index:
            extent = int(values.max()) + 1
            place, count = place * extent + values, count * extent
        return place, count


class Placement:
    """Where the elements of a tensor lie on a rectangle of tiles: its `region` (x, y, width, height,
    elements per tile), the `order` of the elements in a row-major copy to or from it, an index for
    each, and the `count` of words of such a copy.  Messages call it `what`; a port map gives the
    tensor a `name`, too."""

    def __init__(self, what, region, order, name=None):
        self.what, self.region, self.order, self.name = what, region, order, name
        self.count = region[2] * region[3] * region[4]

    @classmethod
    def of_map(cls, port_map):
        parsed = PortMap(port_map)
        if any((values < 0).any() for values in (parsed.x, parsed.y)):
            raise ValueError(f"port map {port_map}: some of 'PE' is below 0")
        x, y = int(parsed.x.min()), int(parsed.y.min())
        width, height = int(parsed.x.max()) - x + 1, int(parsed.y.max()) - y + 1
        place, length = parsed.places()
        tile = (parsed.y - y) * width + parsed.x - x
        return cls(f"port map {port_map}", (x, y, width, height, length), tile * length + place,
                   parsed.name)

    def words_of(self, tensor):
        """The words of a copy to the tiles; an element of 16 bits is in the low half of its word."""
        if tensor.size != self.order.size:
            raise ValueError(f"{self.what} is of {self.order.size} elements, the tensor has "
                             f"{tensor.size}")
        taken = np.zeros(self.count, bool)
        taken[self.order.reshape(-1)] = True
        if np.count_nonzero(taken) != self.order.size:
            raise ValueError(f"{self.what} lays two elements of the tensor over each other")
        flat = np.ascontiguousarray(tensor).reshape(-1)
        words = np.zeros(self.count, np.uint32)
        words[self.order.reshape(-1)] = flat.view(np.uint16 if flat.dtype.itemsize == 2
                                                  else np.uint32)
        return words
