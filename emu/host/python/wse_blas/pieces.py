"""Problems that are larger than the tiles' memory: how they are cut, and how far they are."""
import numpy

import wse_bar
from wse_blas.arguments import BlasError

__all__ = ["bar_of", "fitting", "padded", "ranges"]


def _up(size, count):
    return -(-size // count)


def fitting(size, tiles, compiled):
    """(sides of a piece, its image) for few pieces of about equal sides.

    `compiled(piece)` is the image for the piece, or None if it does not fit.  The longest side is
    halved, until a piece fits: that frees most memory.  Then the side that was cut last is cut into as
    few parts as can be.
    """
    counts = [1] * len(size)
    cut = None
    while True:
        piece = [_up(n, count) for n, count in zip(size, counts)]
        image = compiled(piece)
        if image:
            break
        cut = max(range(len(size)), key=lambda side: piece[side])
        if piece[cut] == 1:
            raise BlasError(f"one element per side does not fit on {tiles[0]} x {tiles[1]} tiles: take "
                            "more tiles")
        counts[cut] *= 2
    if cut is None:
        return piece, image
    too_few = counts[cut] // 2
    while counts[cut] - too_few > 1:
        middle = (counts[cut] + too_few) // 2
        other = [_up(n, middle if side == cut else count)
                 for side, (n, count) in enumerate(zip(size, counts))]
        found = compiled(other)
        if found:
            counts[cut], piece, image = middle, other, found
        else:
            too_few = middle
    return piece, image


def ranges(size, piece):
    """(begin, end) of each part of a side."""
    return [(begin, min(begin + piece, size)) for begin in range(0, size, piece)]


def padded(array, *shape):
    """The array with zeros behind it, of this shape."""
    whole = numpy.zeros(shape, array.dtype)
    whole[tuple(slice(n) for n in array.shape)] = array
    return whole


def bar_of(pieces, progress):
    """A bar for so many pieces, as wse_bar has it."""
    try:
        return wse_bar.bar_of(pieces, progress)
    except wse_bar.NoTqdm as missing:
        raise BlasError(str(missing)) from None
