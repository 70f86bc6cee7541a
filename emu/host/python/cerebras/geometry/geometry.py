"""Places in the fabric: x is the column, y the row."""

import operator

__all__ = ["IntRectangle", "IntVector", "vector_of"]


class IntVector:
    """A place, or a distance."""

    def __init__(self, x, y):
        self.x, self.y = operator.index(x), operator.index(y)

    def __eq__(self, other):
        return isinstance(other, IntVector) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __repr__(self):
        return f"IntVector({self.x}, {self.y})"


def vector_of(what, at):
    """The place as it is; messages call it `what`."""
    if isinstance(at, (tuple, list)) and len(at) == 2:
        raise TypeError(f"{what} must be an IntVector, not {at!r}: IntVector({at[0]!r}, {at[1]!r}) "
                        "from cerebras.geometry.geometry")
    if not isinstance(at, IntVector):
        raise TypeError(f"{what} must be an IntVector, not {at!r}")
    return at


class IntRectangle:
    """From its upper left corner to its lower right one, which lies outside."""

    def __init__(self, upper_left, lower_right):
        vector_of("the upper left corner", upper_left)
        vector_of("the lower right corner", lower_right)
        if lower_right.x < upper_left.x or lower_right.y < upper_left.y:
            raise ValueError(f"{lower_right} is not to the lower right of {upper_left}")
        self.upper_left, self.lower_right = upper_left, lower_right

    @property
    def width(self):
        return self.lower_right.x - self.upper_left.x

    @property
    def height(self):
        return self.lower_right.y - self.upper_left.y

    def __eq__(self, other):
        return (isinstance(other, IntRectangle) and self.upper_left == other.upper_left
                and self.lower_right == other.lower_right)

    def __repr__(self):
        return f"IntRectangle({self.upper_left}, {self.lower_right})"
