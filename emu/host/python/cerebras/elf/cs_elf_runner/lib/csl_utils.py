"""Helpers of scripts with CSELFRunner."""

from cerebras.sdk.debug.debug_util import read_trace_of

__all__ = ["read_trace"]


def read_trace(runner, x, y, key):
    """What the tile at x, y of the fabric has recorded with <debug>, in order.  Programs of these
    releases import it without a key; the script says the import's name, which is not in the program
    and does not matter if the tile has one import of <debug>.  ValueError if it has several."""
    return read_trace_of(runner.tiles, x, y, key, only_one=True)
