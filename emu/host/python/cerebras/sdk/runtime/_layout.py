"""Layouts put together in Python: regions of tiles that run one program each, joined by ports.

The objects here only collect what a script says.  SdkLayout.compile() writes it as a JSON file and
lets cslc place it: choosing paths and colors is the compiler's work (docs/layout-json.md).
"""

import atexit
import enum
import functools
import json
import os
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cerebras.geometry.geometry import IntRectangle, IntVector, vector_of
from cerebras.sdk.runtime import _compiler, _platform
from cerebras.sdk.runtime._arrays import whole

__all__ = ["CodeRegion", "Color", "Edge", "EdgeRouteInfo", "PortHandle", "Route",
           "RoutingPosition", "SdkLayout", "get_edge_routing"]


class Edge(enum.Enum):
    """A side of a region."""
    TOP = "TOP"
    BOTTOM = "BOTTOM"
    LEFT = "LEFT"
    RIGHT = "RIGHT"


class Route(enum.Enum):
    """A side of a router, or its own tile's ramp."""
    RAMP = "RAMP"
    EAST = "EAST"
    WEST = "WEST"
    NORTH = "NORTH"
    SOUTH = "SOUTH"


_EDGE_OF_ROUTE = {Route.NORTH: Edge.TOP, Route.SOUTH: Edge.BOTTOM, Route.WEST: Edge.LEFT,
                  Route.EAST: Edge.RIGHT}


_TILE, _STREAM = "the place of a tile", "the place of a stream"
_PREFIX = "the prefix of a name"
_PACKAGE = __name__.partition(".")[0]


def _here():
    """The script's line that has called, as cslc shows it in messages."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    file, folder = frame.f_code.co_filename, os.path.join(os.getcwd(), "")
    return f"{file.removeprefix(folder)}:{frame.f_lineno}"


def _of_type(what, value, kind):
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{what} must be {article} {kind.__name__}, not {value!r}")
    return value


def _begins_with_place(what):
    """For a method whose first argument is a place: x and y as two numbers are the usual mistake."""
    def checked(method):
        @functools.wraps(method)
        def call(self, *arguments, **named):
            numbers = arguments[:2]
            if len(numbers) == 2 and all(isinstance(n, (int, np.integer)) for n in numbers):
                raise TypeError(f"{what} must be an IntVector, not two numbers: IntVector({numbers[0]}, "
                                f"{numbers[1]}) from cerebras.geometry.geometry")
            return method(self, *arguments, **named)
        return call
    return checked


def _listed(what, values, kind):
    """The one that a script forgot to put into a list is the usual mistake."""
    if isinstance(values, kind):
        raise TypeError(f"{what} must be a list of {kind.__name__}, not one: put it in brackets")
    if not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a list of {kind.__name__}, not {values!r}")
    return values


def _file_part(name):
    """A name as part of a file's name."""
    return "".join(c if c.isalnum() or c in "._-" else f"%{ord(c):02x}" for c in name)


def _routes(what, routes):
    _listed(what, routes, Route)
    found = [_of_type(what, route, Route) for route in routes]
    if len(set(found)) != len(found):
        raise ValueError(f"{what} names a route twice: {', '.join(r.name for r in found)}")
    return found


class RoutingPosition:
    """One position of a router's switch; the setters can be chained."""

    def __init__(self):
        self._input, self._output = [], []

    def set_input(self, routes):
        self._input = _routes("the input", routes)
        return self

    def set_output(self, routes):
        self._output = _routes("the output", routes)
        return self

    def add_input(self, route):
        return self.set_input([*self._input, route])

    def add_output(self, route):
        return self.set_output([*self._output, route])

    def get_input(self):
        return list(self._input)

    def get_output(self):
        return list(self._output)

    def _json(self):
        return {"rx": [r.name for r in self._input], "tx": [r.name for r in self._output]}


def _positions(positions):
    _listed("the positions", positions, RoutingPosition)
    positions = [_of_type("a routing position", p, RoutingPosition) for p in positions]
    if not positions:
        raise ValueError("there is no switch position")
    return positions


class EdgeRouteInfo:
    """Positions that replace those of a whole region along one edge."""

    def __init__(self, edge, positions):
        self.edge = _of_type("the edge", edge, Edge)
        self.positions = _positions(positions)


def get_edge_routing(edge, positions):
    return EdgeRouteInfo(edge, positions)


_LEAST = -2 ** 31       # the compiler says what the machine has


class Color:
    """A color by name; colors of the same name are the same.  Without a value the compiler chooses
    one."""

    def __init__(self, name, value=None, region=None):
        self._local = _of_type("the name of a color", name, str)
        self._at = _here()
        self._region = region      # the name of the region that the color is of
        self._value = None if value is None else whole("the value of a color", value, _LEAST)

    def get_value(self):
        """The number; None if it is still to be chosen."""
        return self._value

    def get_global_name(self):
        return f"{self._region}_{self._local}" if self._region else self._local

    def _key(self):
        """The name in the layout's file: no other color has it."""
        return f"{self._region}.{self._local}" if self._region else self._local

    def get_local_param_name(self):
        return self._local


_PORT_KINDS = ("an input", "an output")     # by whether it is one for output


class PortHandle:
    """A port of a region, for SdkLayout.connect and the streams."""

    def __init__(self, layout, description):
        self._layout = layout
        self._description = description

    @property
    def name(self):
        return self._description["name"]


class CodeRegion:
    """A rectangle of tiles that run one program."""

    def __init__(self, layout, source, name, width, height):
        self._layout = layout
        self._source = os.fspath(source)
        self.name = _of_type("the name of a region", name, str)
        if not name:
            raise ValueError("a region needs a name: messages, ports and streams are named by it")
        self.width, self.height = (whole("width", width, 1), whole("height", height, 1))
        self._place = (0, 0)
        self._at = self._placed_at = _here()
        self._params, self._paint, self._symbols = [], [], []

    # ---- where it is

    def place(self, x, y=None):
        """Puts the upper left tile there; (0, 0) without this."""
        if isinstance(x, IntVector):
            raise TypeError(f"place() takes x and y as two numbers, not {x}")
        x, y = whole("x", x, _LEAST), whole("y", y, _LEAST)
        if x < 0 or y < 0:
            raise ValueError(f"region {self.name!r} cannot be placed at ({x}, {y})")
        self._place = (x, y)
        self._placed_at = _here()

    def _all(self):
        return [0, 0, self.width, self.height]

    def _tile(self, at):
        vector_of(_TILE, at)
        return self._rect([at.x, at.y, 1, 1])

    def _range(self, rectangle):
        _of_type("the range", rectangle, IntRectangle)
        corner = rectangle.upper_left
        if not rectangle.width or not rectangle.height:
            raise ValueError(f"{rectangle} has no tiles: its second corner is the one to the lower "
                             "right of the last tile, not the numbers of columns and rows")
        return self._rect([corner.x, corner.y, rectangle.width, rectangle.height])

    def _rect(self, rect):
        x, y, width, height = rect
        if min(x, y) < 0 or x + width > self.width or y + height > self.height:
            raise ValueError(f"region {self.name!r} has {self.width} x {self.height} tiles; "
                             f"{width} x {height} at ({x}, {y}) are outside")
        return rect

    def _edge(self, edge):
        return {Edge.TOP: [0, 0, self.width, 1], Edge.BOTTOM: [0, self.height - 1, self.width, 1],
                Edge.LEFT: [0, 0, 1, self.height],
                Edge.RIGHT: [self.width - 1, 0, 1, self.height]}[edge]

    # ---- colors and routes

    def color(self, name, value=None):
        """A color of this region only: others may have one of the same name."""
        return Color(name, value, self.name)

    @_begins_with_place(_TILE)
    def paint(self, at, color, positions):
        """Routes of one tile, relative to the region."""
        self._add_paint(self._tile(at), color, positions)

    def paint_range(self, rectangle, color, positions):
        self._add_paint(self._range(rectangle), color, positions)

    def paint_all(self, color, positions, edge_routes=()):
        """Routes of all tiles, other ones along the edges that edge_routes name."""
        infos = [_of_type("an edge's routing", info, EdgeRouteInfo)
                 for info in _listed("the edges' routing", edge_routes, EdgeRouteInfo)]
        self._add_paint(self._all(), color, positions)
        for info in infos:
            self._add_paint(self._edge(info.edge), color, info.positions)

    def _add_paint(self, rect, color, positions):
        _of_type("a color", color, Color)
        positions = _positions(positions)
        for position in positions:
            if not position.get_input() or not position.get_output():
                raise ValueError(f"color {color.get_global_name()!r} of region {self.name!r}: a "
                                 "painted position needs inputs and outputs")
        self._paint.append({"at": _here(), "rect": rect, "color": self._layout._color(color),
                            "positions": [p._json() for p in positions]})

    # ---- parameters and data

    @_begins_with_place(_TILE)
    def set_param(self, at, name, value=None):
        """A parameter of one tile's program: a name and a value, or a color alone."""
        self._add_param(self._tile(at), name, value)

    def set_param_all(self, name, value=None):
        self._add_param(self._all(), name, value)

    def set_param_range(self, rectangle, name, value=None):
        self._add_param(self._range(rectangle), name, value)

    def _add_param(self, rect, name, value):
        if isinstance(name, Color):
            if value is not None:
                raise TypeError(f"a color alone is the value of the parameter "
                                f"{name.get_local_param_name()!r}; {value!r} has no parameter")
            name, value = name.get_local_param_name(), name
        _of_type("the name of a parameter", name, str)
        param = {"at": _here(), "rect": rect, "name": name}
        if isinstance(value, Color):
            param["color"] = self._layout._color(value)
        elif isinstance(value, (bool, np.bool_)):
            param["value"] = bool(value)
        elif isinstance(value, (int, np.integer)):
            if not -2 ** 63 <= value < 2 ** 63:
                raise ValueError(f"parameter {name!r} must fit 64 bits with a sign, unlike {value}")
            param["value"] = int(value)
        elif isinstance(value, (float, np.floating)):
            if not np.isfinite(value):
                raise ValueError(f"parameter {name!r} must be a finite number, not {value!r}")
            param["value"] = float(value)
        else:
            raise TypeError(f"parameter {name!r} must be a number or a Color, not {value!r}")
        self._params.append(param)

    def set_symbol_all(self, name, data, width, height):
        """Initial content of a variable: a row-major matrix of width x height elements, of which
        each tile gets its block."""
        width, height = whole("width", width, 1), whole("height", height, 1)
        if not isinstance(data, np.ndarray):
            raise TypeError(f"symbol {name!r}: its content must be a numpy array, not "
                            f"{type(data).__name__}; the elements of the array are as wide as those "
                            "of the variable")
        if data.dtype == np.float64:
            raise TypeError(f"symbol {name!r}: no variable has elements of float64; "
                            ".astype(np.float32) converts")
        if not data.dtype.isnative or data.dtype.kind not in "biuf":
            raise TypeError(f"symbol {name!r}: elements of dtype {data.dtype} are no numbers as this "
                            "machine has them; .astype(...) converts")
        if 1 not in data.shape and data.shape == (width, height) != (height, width):
            raise ValueError(f"symbol {name!r}: the array has {width} rows of {height} elements, and "
                             f"width is {width}, height {height}: are they swapped?")
        data = np.array(data, order="C").ravel()       # the script may use its array again
        if data.size != width * height:
            whole_width, whole_height = width * self.width, height * self.height
            help_ = ("" if data.size != whole_width * whole_height else
                     f"; width and height are those of the whole matrix, {whole_width} and "
                     f"{whole_height} here, not of a tile's block")
            raise ValueError(f"symbol {name!r}: {data.size} elements are no {width} x {height} "
                             f"matrix{help_}")
        if width % self.width or height % self.height:
            raise ValueError(f"symbol {name!r}: {width} x {height} elements do not divide into "
                             f"{self.width} x {self.height} equal blocks")
        self._symbols.append((_of_type("the name of a symbol", name, str), data, width, height,
                              _here()))

    # ---- ports

    def create_input_port(self, color, edge, positions, size, prefix=""):
        """A port through which `size` wavelets come in; its positions have outputs only."""
        return self._port(color, edge, positions, size, prefix, False)

    def create_output_port(self, color, edge, positions, size, prefix=""):
        """A port through which `size` wavelets leave; its positions have inputs only."""
        return self._port(color, edge, positions, size, prefix, True)

    def _port(self, color, edge, positions, size, prefix, output):
        _of_type("a color", color, Color)
        _of_type(_PREFIX, prefix, str)
        positions = _positions(positions)
        for position in positions:
            given, free = position.get_output(), position.get_input()
            if output:
                given, free = free, given
            if not given or free:
                side = ("inputs and no outputs", "outputs and no inputs")[not output]
                raise ValueError(f"color {color.get_global_name()!r} of region {self.name!r}: the "
                                 f"positions of {'an output' if output else 'an input'} port have "
                                 f"{side}; its edge is the other side")
        return self._layout._add_port({
            "at": _here(), "name": f"{self.name}.{prefix}{color.get_local_param_name()}",
            "region": self.name, "color": self._layout._color(color),
            "edge": _of_type("the edge", edge, Edge).name, "output": output,
            "size": whole("size", size), "positions": [p._json() for p in positions]})

    def _entry_port(self, at, color, output):
        """The port of one tile whose painted routes lead out of the region or into it."""
        x, y = at.x - self._place[0], at.y - self._place[1]
        name, side = self._layout._color(color), "tx" if output else "rx"
        painted = None
        for paint in self._paint:
            px, py, width, height = paint["rect"]
            if paint["color"] == name and 0 <= x - px < width and 0 <= y - py < height:
                painted = paint["positions"]
        outward = {route for position in painted or () for route in position[side]
                   if route != Route.RAMP.name}
        if len(outward) != 1:
            raise ValueError(f"a stream of color {name!r} at {at}: paint the tile's route of this "
                             "color first, to or from one direction")
        edge = _EDGE_OF_ROUTE[Route[outward.pop()]]
        inside = {"rx": []} if not output else {"tx": []}
        ex, ey, width, height = self._edge(edge)
        if not (0 <= x - ex < width and 0 <= y - ey < height):
            raise ValueError(f"a stream of color {name!r} at {at}: its route does not cross an "
                             f"edge of region {self.name!r}")
        return self._layout._add_port({
            "at": _here(), "name": f"{self.name}.{color.get_local_param_name()}",
            "region": self.name, "color": name, "edge": edge.name, "output": output, "size": 0,
            "count": 1,
            "first": x if edge in (Edge.TOP, Edge.BOTTOM) else y,
            "positions": [{**position, **inside} for position in painted]})

    def _contains(self, at):
        return (0 <= at.x - self._place[0] < self.width
                and 0 <= at.y - self._place[1] < self.height)

    def _symbol_file(self, folder, number):
        """Each call has a file of its own: a script may set a variable twice."""
        name = _file_part(self._symbols[number][0])
        return Path(folder) / f"{_file_part(self.name)}.{name}.{number}.data"

    def _write_symbols(self, folder):
        for number, (_, data, *_) in enumerate(self._symbols):
            self._symbol_file(folder, number).write_bytes(data.tobytes())

    def _json(self, folder):
        symbols = [{"at": at, "name": name, "file": os.fspath(self._symbol_file(folder, number)),
                    "columns": width, "rows": height, "element_bytes": data.itemsize,
                    "elements": "floats" if data.dtype.kind == "f" else "integers"}
                   for number, (name, data, width, height, at) in enumerate(self._symbols)]
        return {"at": self._at, "placed": self._placed_at, "name": self.name,
                "source": self._source, "x": self._place[0],
                "y": self._place[1], "width": self.width, "height": self.height,
                "params": list(self._params), "paint": list(self._paint), "symbols": symbols}


def _texts(value):
    """Every text in what a JSON file holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _target_of_fabric(path):
    """The machine that a fabric's JSON file names, anywhere in it: what such a file looks like is
    not published.  The emulated fabric has the size that the layout needs."""
    try:
        fabric = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: a fabric's description is JSON: {error}") from None
    named = {target for text in _texts(fabric) for target in _platform.SdkTarget
             if target.value == text.lower().replace("-", "")}
    if len(named) != 1:
        raise ValueError(f"{path}: a fabric's description names one machine, wse2 or wse3; this "
                         f"one names {'both' if named else 'none'}: pass an SdkTarget instead")
    return named.pop()


# Layouts that have been compiled: calls after compile() are not in their programs.
_compiled = weakref.WeakSet()


def changes_after_compile(bindir=None):
    """What to say of calls after compile(), of layouts in the folder or of all; each once."""
    for layout in list(_compiled):
        folder, description = layout._made
        if bindir is not None and folder != bindir:
            continue
        line = _first_change(description, layout._description(folder))
        if line is not None and line != layout._told:
            layout._told = line
            yield (f"{line}: this call came after compile(), and the program in {folder} does not "
                   "have what it says; call compile() again after it")


@atexit.register
def _warn_of_changes():
    if getattr(sys, "last_type", None) is None:
        for text in changes_after_compile():
            print(f"warning: {text}", file=sys.stderr)


def _first_change(old, new):
    """The script's line of what only the new description has; None if they are equal."""
    for kind in ("regions", "ports", "connections", "streams", "colors"):
        for n, item in enumerate(new[kind]):
            before = old[kind][n] if n < len(old[kind]) else None
            if before is None:
                return item["at"]
            for part in ("params", "paint", "symbols"):
                if item.get(part) != before.get(part):
                    return item[part][len(before[part])]["at"]
            if item != before:
                return item.get("placed", item["at"])
    return None


class SdkLayout:
    """Regions, the connections between their ports, and streams to the host."""

    def __init__(self, platform, msg_level="WARNING"):
        del msg_level              # the compiler says what there is to say
        if isinstance(platform, _platform.SdkTarget):
            platform = _platform.SdkExecutionPlatform(target=platform)
        elif isinstance(platform, (str, os.PathLike)):
            if not os.path.exists(platform):
                raise FileNotFoundError(f"there is no file {str(platform)!r} that describes a fabric; "
                                        "a platform comes from get_platform()")
            platform = _platform.SdkExecutionPlatform(target=_target_of_fabric(platform))
        if not isinstance(platform, _platform.SdkExecutionPlatform):
            raise TypeError("SdkLayout takes what get_platform() returns, an SdkTarget or the path "
                            f"of a fabric's JSON file, not a {type(platform).__name__}")
        self._target = platform.target or _platform.SdkTarget.WSE3
        self._regions, self._ports, self._connections, self._streams = [], [], [], []
        self._colors, self._colors_at = {}, {}     # by name: the value, the script's line
        self._joined = set()       # names of ports
        self._made = self._told = None     # folder and description of the last compile(), below

    def create_code_region(self, source, name, width, height):
        if any(region.name == name for region in self._regions):
            raise ValueError(f"there is a region {name!r} already")
        self._regions.append(CodeRegion(self, source, name, width, height))
        return self._regions[-1]

    def _color(self, color):
        _of_type("a color", color, Color)
        name, value = color._key(), color.get_value()
        known = self._colors.get(name)
        if known is not None and value is not None and known != value:
            raise ValueError(f"color {name!r} has the value {known}, and now {value}")
        self._colors[name] = known if value is None else value
        self._colors_at.setdefault(name, color._at)
        return name

    def _add_port(self, description):
        names = {port["name"] for port in self._ports}
        base, number = description["name"], 1
        while description["name"] in names:
            number += 1
            description["name"] = f"{base}.{number}"
        self._ports.append(description)
        return PortHandle(self, description)

    def _own(self, port):
        _of_type("a port", port, PortHandle)
        if port._layout is not self:
            raise ValueError(f"port {port.name!r} is of a region of another SdkLayout")
        return port

    def _length(self, port):
        """Number of tiles at the port's edge."""
        of = port._description
        if "count" in of:
            return of["count"]
        region = next(r for r in self._regions if r.name == of["region"])
        return region.width if of["edge"] in (Edge.TOP.name, Edge.BOTTOM.name) else region.height

    # ---- what joins regions

    def connect(self, tx_port, rx_port):
        """Joins an output port to an input port of the same size and length."""
        for port, role, output in ((tx_port, "first", True), (rx_port, "second", False)):
            self._own(port)
            if port._description["output"] != output:
                kind, wanted = _PORT_KINDS[not output], _PORT_KINDS[output]
                raise ValueError(f"connect: port {port.name!r} is {kind} port; the {role} one is "
                                 f"{wanted} port")
        self._join(tx_port, rx_port)
        self._connections.append({"at": _here(), "from": tx_port.name, "to": rx_port.name})

    def _join(self, *ports):
        """A port has one connection or one stream.  None of the ports gets one if another one cannot."""
        for port in ports:
            if port.name in self._joined:
                raise ValueError(f"port {port.name!r} has a connection or a stream already; a region "
                                 "can have another port for another one")
        self._joined.update(port.name for port in ports)

    def create_input_stream(self, port, io_loc=None, io_buffer_size=1024):
        """Words of the host into an input port; the name is for SdkRuntime.send."""
        return self._stream(port, io_loc, io_buffer_size, False)

    def create_output_stream(self, port, io_loc=None, io_buffer_size=1024):
        """Words of an output port to the host; the name is for SdkRuntime.receive."""
        return self._stream(port, io_loc, io_buffer_size, True)

    @_begins_with_place(_STREAM)
    def create_input_stream_from_loc(self, loc, color, prefix=""):
        """A stream that enters at a tile whose routes are painted."""
        return self._stream_from_loc(loc, color, prefix, False)

    @_begins_with_place(_STREAM)
    def create_output_stream_from_loc(self, loc, color, prefix=""):
        return self._stream_from_loc(loc, color, prefix, True)

    def _stream_from_loc(self, loc, color, prefix, output):
        vector_of(_STREAM, loc)
        _of_type(_PREFIX, prefix, str)
        for region in self._regions:
            if region._contains(loc):
                port = region._entry_port(loc, color, output)
                return self._stream(port, None, 0, output, prefix)
        raise ValueError(f"no region is at {loc}")

    def _stream(self, port, io_loc, io_buffer_size, output, prefix=""):
        whole("io_buffer_size", io_buffer_size)    # but the emulated host has room
        self._own(port)
        if port._description["output"] != output:
            raise ValueError(f"port {port.name!r} is {_PORT_KINDS[not output]} port")
        length = self._length(port)
        if length != 1:
            raise ValueError(f"port {port.name!r} has {length} tiles; a stream passes through one: "
                             "connect the port to a region that collects or deals out the words "
                             "at one tile")
        stream = {"at": _here(), "name": prefix + port.name, "port": port.name}
        if io_loc is not None:
            vector_of("io_loc", io_loc)
            stream["place"] = [io_loc.x, io_loc.y]
        self._join(port)
        self._streams.append(stream)
        return stream["name"]

    # ---- placing

    def hstack(self, regions, origin=None):
        """Places regions side by side, from the left, at the origin or where the first of them is;
        returns the width."""
        return self._stack(regions, origin, (1, 0))

    def vstack(self, regions, origin=None):
        """Places regions below each other, from the top, at the origin or where the first of them
        is; returns the height."""
        return self._stack(regions, origin, (0, 1))

    @staticmethod
    def _stack(regions, origin, step):
        regions = [_of_type("a region", region, CodeRegion)
                   for region in _listed("the regions", regions, CodeRegion)]
        if not regions:
            return 0
        if len(set(regions)) != len(regions):
            raise ValueError("a region stands twice in the list, and it has one place only")
        if origin is not None:
            vector_of("the origin", origin)
        x, y = regions[0]._place if origin is None else (origin.x, origin.y)
        extent = 0
        for region in regions:
            region.place(x + step[0] * extent, y + step[1] * extent)
            extent += step[0] * region.width + step[1] * region.height
        return extent

    # ---- compiling

    def compile(self, out_prefix="out", libs=None, cslc_prefix=None, save_port_map=False,
                f16_type=None):
        """Compiles the layout into the folder `out_prefix` and returns what SdkRuntime takes. SDK
        1.x does not have the arguments whose default is None: they show a script for release 2."""
        for lib in _listed("libs", [] if libs is None else libs, str):
            if not isinstance(lib, (str, os.PathLike)):
                raise TypeError(f"libs must be a list of folders, which {lib!r} is not")
        if f16_type is not None:
            _of_type("f16_type", f16_type, _platform.FP16TYPE)
        release = {} if libs is cslc_prefix is f16_type is None else {"release": 2}
        folder = Path(out_prefix)
        folder.mkdir(parents=True, exist_ok=True)
        for region in self._regions:
            region._write_symbols(folder)
        description = folder / "layout.json"
        description.write_text(json.dumps(
            {"format": 1, **release, "at": _here(), **self._description(folder)}, indent=1),
            encoding="utf-8")
        _compiler.run([f"--layout-json={description}", "-o", os.fspath(folder),
                       f"--arch={self._target.value}",
                       f"--fp16-format={(f16_type or _platform.FP16TYPE.F16).value}",
                       *(f"--import-path={os.fspath(lib)}" for lib in libs or ())],
                      prefix=cslc_prefix or "")
        if save_port_map:
            made = json.loads((folder / "out.json").read_text(encoding="utf-8"))
            (folder / "port_map.json").write_text(json.dumps(made["layout"]["streams"], indent=1),
                                                  encoding="utf-8")
        self._made = folder.resolve(), self._description(folder.resolve())
        _compiled.add(self)
        return _platform.SdkCompileArtifacts(folder)

    def _description(self, folder):
        """What cslc reads, but for what compile() is given."""
        return {
            "colors": [{"at": self._colors_at[n], "name": n, "value": v}
                       for n, v in self._colors.items()],
            "regions": [region._json(folder) for region in self._regions],
            "ports": list(self._ports), "connections": list(self._connections),
            "streams": list(self._streams),
        }
