"""The floor plans of the front end and of the emulator: the rooms that a room may use, by includes
and by calls; how large the circles of files are; and that a room has one header for the others,
with everything that the room offers."""
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

import c_text
import harness
from c_text import calls, declared, defined, largest_circle

MOST_IN_CIRCLE = 2
MOST_FILES = 30


class Room(NamedTuple):
    header: str             # for the other rooms; all further headers are the room's own
    uses: tuple = ()        # rooms below it
    others: tuple = ()      # further headers that other rooms include
    most_in_circle: int = MOST_IN_CIRCLE


BUILDINGS = {
    "frontend": {
        "syntax": Room("syntax.h"),
        "value": Room("value.h", ("syntax",)),
        # The table of builtins goes to the rooms that have handlers, and so does the evaluator
        # from which they are called.  The language is recursive, and so is the evaluator.
        "sema": Room("sema.h", ("syntax", "value"), others=("builtins.h",), most_in_circle=12),
        "machine": Room("machine.h", ("syntax", "value", "sema")),
        "analysis": Room("analysis.h", ("syntax", "value", "sema", "machine")),
        "layout": Room("layout.h", ("syntax", "value", "sema", "machine", "analysis")),
        "driver": Room("driver.h", ("syntax", "value", "sema", "machine", "analysis", "layout")),
        "lsp": Room("lsp.h", ("syntax", "value", "sema", "machine", "analysis", "layout",
                              "driver")),
    },
    "emu": {
        "machine": Room("program.h"),
        "fabric": Room("fabric.h", ("machine",)),
        "tile": Room("tile.h", ("machine", "fabric")),
        "engine": Room("engine.h", ("machine", "tile", "fabric")),
        "reference": Room("reference.h", ("machine", "tile", "fabric", "engine")),
        "fast": Room("fast.h", ("machine", "tile", "fabric", "engine")),
        "ranks": Room("ranks.h", ("machine", "tile", "fabric", "engine", "reference", "fast")),
        "cluster": Room("cluster.h", ("machine", "tile", "fabric", "engine")),
        "explain": Room("explain.h", ("machine", "tile", "fabric", "engine")),
        "observe": Room("observe.h", ("machine", "tile", "fabric", "engine", "explain")),
        "debug": Room("debug.h", ("machine", "tile", "fabric", "engine", "explain", "observe")),
        "dap": Room("dap.h", ("machine", "tile", "fabric", "engine", "explain", "observe",
                              "debug")),
        "host": Room("host.h", ("machine", "tile", "fabric", "engine", "reference", "fast",
                                "ranks", "cluster", "explain", "observe", "debug", "dap")),
    },
}
# Beside the rooms: the header for C programs of users, and the tool that writes tables of docs.
BESIDE = {"emu": ("include", "tool")}
ROOMS = [(building, room) for building, rooms in BUILDINGS.items() for room in rooms]


def files_of(building, room, pattern="*.c"):
    return sorted((harness.ROOT / building / room).glob(pattern))


def all_sources(building):
    return {(room, path.name): path.read_text() for room in BUILDINGS[building]
            for path in files_of(building, room)}


def forbidden_calls(rooms, arrows):
    return [f"{'/'.join(a)} uses {', '.join(sorted(names))} of {'/'.join(b)}"
            for (a, b), names in sorted(arrows.items())
            if a[0] != b[0] and b[0] not in rooms[a[0]].uses and names != {"main"}]


def forbidden_includes(building, room, text):
    """The headers and tables of other rooms that a file of the room must not include."""
    rooms = BUILDINGS[building]
    found = re.findall(rf'#\s*include "{building}/(\w+)/([\w.]+)"', text)
    return [f"{other}/{name}" for other, name in found if other in rooms and other != room and
            (other not in rooms[room].uses or
             (name.endswith(".h") and name not in (rooms[other].header, *rooms[other].others)))]


@pytest.mark.parametrize("building", BUILDINGS)
def test_every_file_is_in_a_room(building):
    folder = harness.ROOT / building
    assert not [p.name for p in folder.glob("*.[chly]")]
    names = {p.name for p in folder.iterdir() if p.is_dir()}
    assert names == {*BUILDINGS[building], *BESIDE.get(building, ())}


@pytest.mark.parametrize("building", BUILDINGS)
def test_the_plan_has_no_circle(building):
    above = []
    for room, plan in BUILDINGS[building].items():
        assert set(plan.uses) <= set(above), f"{room} uses a room that does not stand below it"
        above.append(room)


@pytest.mark.parametrize("building,room", ROOMS)
def test_a_room_includes_what_the_plan_allows(building, room):
    bad = [f"{path.name} includes {name}" for path in files_of(building, room, "*.*")
           for name in forbidden_includes(building, room, path.read_text())]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("building,room,name", [
    ("frontend", "value", "sema/sema.h"), ("frontend", "layout", "sema/sema_internal.h"),
    ("emu", "tile", "engine/engine.h"), ("emu", "reference", "fast/fast.h"),
    ("emu", "host", "fast/fast_internal.h"), ("emu", "fabric", "tile/tile.h")])
def test_a_forbidden_include_would_be_seen(building, room, name):
    assert forbidden_includes(building, room, f'#include "{building}/{name}"\n') == [name]


@pytest.mark.parametrize("building", BUILDINGS)
def test_a_room_calls_what_the_plan_allows(building):
    assert not forbidden_calls(BUILDINGS[building], calls(all_sources(building)))


def test_a_call_upwards_would_be_seen():
    sources = {("value", "low.c"): "void low(void)\n{\n  high();\n}\n",
               ("sema", "high.c"): "void high(void)\n{\n}\n"}
    assert forbidden_calls(BUILDINGS["frontend"], calls(sources)) == [
        "value/low.c uses high of sema/high.c"]


@pytest.mark.parametrize("building,room", ROOMS)
def test_circles_are_small(building, room):
    nodes = [(room, p.name) for p in files_of(building, room)]
    arrows = [pair for pair in calls(all_sources(building)) if pair[0][0] == pair[1][0] == room]
    circle = largest_circle(nodes, arrows)
    assert len(circle) <= BUILDINGS[building][room].most_in_circle, circle


@pytest.mark.parametrize("folder", sorted(
    {str(p.parent.relative_to(harness.ROOT)) for p in (harness.ROOT / "ir").rglob("*.c")}))
def test_circles_of_the_middle_are_small(folder):
    sources = {p.name: p.read_text() for p in (harness.ROOT / folder).glob("*.c")}
    circle = largest_circle(list(sources), calls(sources))
    assert len(circle) <= MOST_IN_CIRCLE, circle


@pytest.mark.parametrize("building,room", ROOMS)
def test_a_room_has_a_bounded_number_of_files(building, room):
    assert 0 < len(files_of(building, room)) <= MOST_FILES


@pytest.mark.parametrize("building,room", ROOMS)
def test_headers_of_a_room_declare_what_it_defines(building, room):
    headers = [p.read_text() for p in files_of(building, room, "*.h")]
    if building == "emu" and room == "host":
        headers.append((harness.ROOT / "emu" / "include" / "wse.h").read_text())
    offered = set().union(*(declared(text) for text in headers))
    # Handlers are declared by the table of builtins, a row each; `main` is the system's.
    present = set().union(*(defined(p.read_text()) for p in files_of(building, room)))
    missing = {n for n in present - offered - {"main"} if not n.startswith("builtin_")}
    by_type = set(re.findall(r"^[A-Z]\w+ (\w+);", "\n".join(headers), re.M))
    assert not missing - by_type


# ---- users of functions ------------------------------------------------------------------------

LAYERS = ("frontend", "ir", "emu")
# Rooms above all others: their headers are for themselves and for programs beside the project.
TOP_ROOMS = {("frontend", "lsp"), ("emu", "host")}
# Named by a table of builtins or of passes, by the system, or for programs of users.
NAMED_ELSEWHERE = re.compile(r"builtin_\w+|pass_\w+|main|wse_\w+")


def used_words(text):
    """The words of a file but for the functions that it only declares."""
    return set(re.findall(r"\w+", c_text.DECLARATION.sub(" ", c_text.plain(text))))


def all_texts():
    """Sources of the layers, of the tests and of the playground."""
    return {p.relative_to(harness.ROOT): p.read_text()
            for folder in (*LAYERS, "tests", "playground")
            for p in (harness.ROOT / folder).rglob("*")
            if p.suffix in {".c", ".h", ".l", ".y", ".def"} and "node_modules" not in p.parts}


def users_of_functions(texts):
    """(file that defines it, name) -> the other files that use it."""
    homes = {name: path for path, text in texts.items()
             if path.suffix == ".c" and path.parts[0] in LAYERS
             for name in defined(text) if not NAMED_ELSEWHERE.fullmatch(name)}
    users = {(path, name): set() for name, path in homes.items()}
    for path, text in texts.items():
        for name in used_words(text) & set(homes):
            if homes[name] != path:
                users[homes[name], name].add(path)
    return users


def in_one_file(users):
    return [f"{path}: {name}" for (path, name), files in users.items() if not files]


def needless_in_doors(users, texts):
    """Functions in the header of a room that only the room uses."""
    found = []
    for building, room in set(ROOMS) - TOP_ROOMS:
        inside = Path(building, room)
        door = inside / BUILDINGS[building][room].header
        offered = declared(texts[door])
        found += [f"{path}: {name}" for (path, name), files in users.items()
                  if path.parent == inside and name in offered      # inline functions are for others
                  and all(file.parent == inside and file != door for file in files)]
    return sorted(found)


def test_a_function_of_one_file_is_static():
    assert not in_one_file(users_of_functions(all_texts()))


def test_doors_offer_what_other_rooms_use():
    texts = all_texts()
    assert not needless_in_doors(users_of_functions(texts), texts)


def test_a_function_that_only_its_room_uses_would_be_seen():
    texts = all_texts()
    door = Path("emu", "fabric", "fabric.h")
    texts[door] += "void fabric_turn_once(void);\nvoid fabric_turn_on(void);\n"
    texts[door.with_name("turns.c")] = (
        "void fabric_turn_once(void)\n{\n}\nvoid fabric_turn_on(void)\n{\n}\n")
    texts[door.with_name("more.c")] = "static void turn(void)\n{\n  fabric_turn_on();\n}\n"
    users = users_of_functions(texts)
    assert "emu/fabric/turns.c: fabric_turn_once" in in_one_file(users)
    assert "emu/fabric/turns.c: fabric_turn_on" in needless_in_doors(users, texts)


# ---- what comments and pages say of rooms --------------------------------------------------------

READING_ORDER = re.compile(r"Reading order[^:]*:(.*?)(?:\*/|\n \*\n)", re.S)


def not_in_order(header, files):
    """Files of a folder that the reading order at the head of its header does not name."""
    names = [name.rstrip(".") for found in READING_ORDER.findall(header)
             for name in re.findall(r"[a-z]\w*\*?", found.replace(".c", ""))]
    return [file for file in files if not file.endswith("_main") and not any(
        file.startswith(name[:-1]) if name.endswith("*") else file == name for name in names)]


@pytest.mark.parametrize("building,room", ROOMS)
def test_a_reading_order_names_each_file(building, room):
    headers = "".join(p.read_text() for p in files_of(building, room, "*.h"))
    if READING_ORDER.search(headers):
        assert not not_in_order(headers, [p.stem for p in files_of(building, room)])


def test_a_file_outside_of_the_order_would_be_seen():
    header = "/* Things.\n *\n * Reading order: one, two (the way),\n * lint_*.\n */\nint three;\n"
    assert not_in_order(header, ["one", "two", "three", "lint_a", "a_main"]) == ["three"]


ROOM_ROW = re.compile(r"^    (\w+) {2,}\S.*? {2,}(\w+\.h)(?: +(\S.*))?$", re.M)
NUMBERS = {8: "eight", 12: "twelve", 13: "thirteen", 14: "fourteen"}


def rooms_of_page(page):
    """The table of a building whose rows name a header, as a plan."""
    plan = {}
    for name, header, uses in ROOM_ROW.findall(page):
        names = re.findall(r"\w+", uses.replace(" and below", "").replace("all", " ".join(plan)))
        below = {under for each in names for under in plan[each].uses if "below" in uses}
        plan[name] = Room(header, (*(each for each in plan if each in {*names, *below}),))
    return plan


def test_the_page_has_the_rooms_of_the_emulator():
    page = (harness.ROOT / "docs" / "architecture.md").read_text()
    assert rooms_of_page(page) == {name: Room(room.header, tuple(
        each for each in BUILDINGS["emu"] if each in room.uses))
        for name, room in BUILDINGS["emu"].items()}
    for building, start in (("frontend", "The front end"), ("emu", "The emulator")):
        assert f"{start} has {NUMBERS[len(BUILDINGS[building])]} rooms." in page


def test_the_page_has_the_rooms_of_the_front_end():
    page = (harness.ROOT / "docs" / "architecture.md").read_text()
    table = page[page.index("The front end has"):page.index("The handlers of builtins")]
    assert re.findall(r"^    (\w+)", table, re.M) == list(reversed(BUILDINGS["frontend"]))


SECTION = re.compile(r"/\* (?:---- )?((?:[\w*]+\.[cly](?:, | and )?)+)")
DECLARED = re.compile(r"(?!static|typedef|extern|#)[A-Za-z_][\w \*]*?\b(\w+)\(")
HOMES = {f.name: path.name for building in ("frontend", "ir", "emu")
         for path in sorted((harness.ROOT / building).rglob("*.[cly]"))
         for f in c_text.functions(c_text.plain(path.read_text())) if not f.is_static}
# The plain headers of a tile and of the fast engine name a file where its functions begin, and no
# more, for what is inline stands between them.
WITHOUT_SECTIONS = {"emu/tile/tile.h", "emu/fast/fast_internal.h"}


def in_other_files(header, homes):
    """Functions that a header declares in a section of files that do not define them."""
    files, wrong = None, []
    for line in header.split("\n"):
        section, found = SECTION.match(line), DECLARED.match(line)
        if section:
            files = re.findall(r"[\w*]+\.[cly]", section.group(1))
        elif line.startswith("/* ----"):
            files = None
        elif found and files and found.group(1) in homes:
            home = homes[found.group(1)]
            if not any(fnmatch(home, name) for name in files):
                wrong.append(f"{found.group(1)} of {home} under {', '.join(files)}")
    return wrong


@pytest.mark.parametrize("header", sorted(
    str(p.relative_to(harness.ROOT)) for building in ("frontend", "ir", "emu")
    for p in (harness.ROOT / building).rglob("*.h")))
def test_sections_of_a_header_name_the_files(header):
    if header not in WITHOUT_SECTIONS:
        wrong = in_other_files((harness.ROOT / header).read_text(), HOMES)
        assert not wrong, "\n".join(wrong)


def test_a_function_in_the_wrong_section_would_be_seen():
    homes = {"one_do": "one.c", "two_do": "two.c"}
    header = "/* ---- o*.c: ones ---- */\n\nint one_do(void);\n/* Two. */\nvoid two_do(int x);\n"
    assert in_other_files(header, homes) == ["two_do of two.c under o*.c"]
    assert not in_other_files(header.replace("o*.c", "one.c, two.c"), homes)
