"""Helpers of scripts with CSELFRunner."""

from cerebras.sdk.debug.debug_util import read_trace_of

__all__ = ["read_trace"]


def read_trace(runner, x, y, key):
    """What the tile at x, y of the fabric has recorded with <debug>, in order, under a key or the
    import's name."""
    return read_trace_of(runner.tiles, x, y, key)
