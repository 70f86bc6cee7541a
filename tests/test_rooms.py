"""The floor plan of the front end: which room may use which, by includes and by calls; how large
the circles of files are; and that a room's header declares what the room offers."""
import re

import pytest

import harness
from c_text import calls, declared, defined, largest_circle

FRONTEND = harness.ROOT / "frontend"
# From the ground up: a room uses those before it.
ROOMS = ("syntax", "value", "sema", "machine", "layout", "driver")
# Headers of one room that other rooms do not include.
PRIVATE = {"parse_internal.h": "syntax", "sema_internal.h": "sema", "sema_dsd.h": "machine",
           "regions.h": "layout", "fabric.h": "layout"}
MOST_IN_CIRCLE = {"sema": 12}      # the language is recursive; elsewhere two files may be
MOST_FILES = 30


def files_of(room, pattern="*.c"):
    return sorted((FRONTEND / room).glob(pattern))


def all_sources():
    return {(room, path.name): path.read_text() for room in ROOMS for path in files_of(room)}


def upward(arrows):
    level = {room: i for i, room in enumerate(ROOMS)}
    return [f"{'/'.join(a)} uses {', '.join(sorted(names))} of {'/'.join(b)}"
            for (a, b), names in sorted(arrows.items()) if level[a[0]] < level[b[0]]]


def test_every_file_is_in_a_room():
    assert not [p.name for p in FRONTEND.glob("*.[chly]")]


def test_no_room_includes_one_above_or_what_is_private():
    bad = []
    for room in ROOMS:
        for path in [*files_of(room), *files_of(room, "*.[hly]")]:
            for other, name in re.findall(r'#\s*include "frontend/(\w+)/([\w.]+)"',
                                          path.read_text()):
                if ROOMS.index(other) > ROOMS.index(room) or PRIVATE.get(name, room) != room:
                    bad.append(f"{room}/{path.name} includes {other}/{name}")
    assert not bad, "\n".join(bad)


def test_no_room_calls_one_above():
    assert not upward(calls(all_sources()))


def test_a_call_upwards_would_be_seen():
    sources = {("value", "low.c"): "void low(void)\n{\n  high();\n}\n",
               ("sema", "high.c"): "void high(void)\n{\n}\n"}
    assert upward(calls(sources)) == ["value/low.c uses high of sema/high.c"]


@pytest.mark.parametrize("room", ROOMS)
def test_circles_are_small(room):
    nodes = [(room, p.name) for p in files_of(room)]
    arrows = [pair for pair in calls(all_sources()) if pair[0][0] == pair[1][0] == room]
    circle = largest_circle(nodes, arrows)
    assert len(circle) <= MOST_IN_CIRCLE.get(room, 2), circle


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_a_bounded_number_of_files(room):
    assert 0 < len(files_of(room)) <= MOST_FILES


@pytest.mark.parametrize("room", ROOMS)
def test_headers_of_a_room_declare_what_it_defines(room):
    offered = set().union(*(declared(p.read_text()) for p in files_of(room, "*.h")))
    # Handlers are declared by the table of builtins, a row each; `main` is the system's.
    present = set().union(*(defined(p.read_text()) for p in files_of(room)))
    missing = {n for n in present - offered - {"main"} if not n.startswith("builtin_")}
    by_type = set(re.findall(r"^[A-Z]\w+ (\w+);",
                             "\n".join(p.read_text() for p in files_of(room, "*.h")), re.M))
    assert not missing - by_type
