"""Reads what cslc has written beside the image, out.json, and trusts none of it."""

import json

__all__ = ["layout_of"]

_MOST_BYTES = 1 << 26          # far more than a layout with a stream for each tile of a wafer has
_MOST_PLACE = 1 << 16          # fabrics are smaller
_MOST_WAVELETS = 1 << 32


def layout_of(bindir):
    """Origin and streams, by name, of a layout made in Python; ValueError if the file is damaged."""
    path = bindir / "out.json"
    try:
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError:                    # an image alone
        return (0, 0), {}
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        layout = _table(_table(json.loads(text), "the file").get("layout", {}), "'layout'")
        origin = (_number(layout, "origin_x", -_MOST_PLACE, 0),
                  _number(layout, "origin_y", -_MOST_PLACE, 0))
        streams = _table(layout.get("streams", {}), "'streams'")
        return origin, {name: _stream(stream, name) for name, stream in streams.items()}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cannot read {path}: {error}; compile the program again") from None


def _table(value, what):
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no table of names")
    return value


def _number(table, name, least, default=None, most=_MOST_PLACE):
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < most:
        raise ValueError(f"{name!r} is no number from {least} to {most - 1}")
    return value


def _stream(value, name):
    stream = _table(value, f"stream {name!r}")
    if not isinstance(stream.get("input"), bool):
        raise ValueError(f"stream {name!r} does not say whether it is an input")
    return {"x": _number(stream, "x", 0), "y": _number(stream, "y", 0),
            "color": _number(stream, "color", 0), "input": stream["input"],
            "size": _number(stream, "size", 0, most=_MOST_WAVELETS)}
