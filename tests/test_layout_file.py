"""The file of --layout-json: what the compiler makes of it, and what it says of wrong ones."""
import json

import pytest

import harness
from layout_programs import BLOCK, STEP

ROUTE = [{"rx": ["RAMP"], "tx": ["EAST"]}]


def region(name="a", **more):
    return {"name": name, "source": "step.csl", "x": 1, "y": 1, "width": 1, "height": 1,
            "params": [{"name": "size", "value": 4}, {"name": "n", "value": 1},
                       {"name": "rx", "color": "rx"}, {"name": "tx", "color": "tx"}], **more}


def port(name, of, color, edge, output, **more):
    side = "rx" if output else "tx"
    return {"name": name, "region": of, "color": color, "edge": edge, "output": output, "size": 4,
            "positions": [{side: ["RAMP"]}], **more}


def layout(**more):
    return {"format": 1, "colors": [{"name": "rx"}, {"name": "tx", "value": None}],
            "regions": [region(), region("b", x=4)],
            "ports": [port("out", "a", "tx", "RIGHT", True), port("in", "b", "rx", "LEFT", False)],
            "connections": [{"from": "out", "to": "in"}], "streams": [], **more}


def cslc(folder, content, *flags, **options):
    (folder / "step.csl").write_text(STEP)
    (folder / "block.csl").write_text(BLOCK)
    file = folder / "l.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return harness.cslc(f"--layout-json={file}", "-o", folder / "o", "--fabric-warnings", *flags,
                        cwd=folder, **options)


def test_ports_that_nothing_is_joined_to(tmp_path):
    ran = cslc(tmp_path, layout(connections=[], streams=[{"name": "s", "port": "in"}]))
    assert ("warning: port 'out' is joined to nothing: connect it to an input port of another "
            "region, or give it a stream [port_unjoined]") in ran.err
    assert "'in' is joined" not in ran.err
    assert "joined" not in cslc(tmp_path, layout()).err


def test_the_layout_is_printed(tmp_path):
    (tmp_path / "step.csl").write_text(STEP)
    (tmp_path / "l.json").write_text(json.dumps(layout()))
    text = harness.cslc("--layout-json=l.json", "--emit=layout", cwd=tmp_path).out
    assert text.startswith("rectangle 5 2 fabric 5 2 offset 0 0\n")
    # One net, so one color, from a to b over two tiles without code.
    assert "tile 2 1 - 0:" in text and "tile 3 1 - 0:" in text and "tile 0 0 -\n" in text


def test_out_json_names_every_color(tmp_path):
    """Connected ones have one number and two names."""
    colors = [{"name": "rx"}, {"name": "tx"}, {"name": "own", "value": 5}]
    cslc(tmp_path, layout(colors=colors))
    found = json.loads((tmp_path / "o" / "out.json").read_text())["colors"]
    assert found == {"rx": 0, "tx": 0, "own": 5}


A_THEN_B = [port("out", "a", "tx", "RIGHT", True), port("in", "b", "rx", "LEFT", False)]
WRONG = {
    "layout_json_syntax": ('{"format": 1,', "the layout is not JSON"),
    "format": (layout(format=2), "'format' of the layout must be a whole number from 1 to 1"),
    "no region": (layout(regions=[], ports=[], connections=[]), "at least one region"),
    "layout_json_value": (layout(regions=[region(width="two"), region("b", x=4)]),
                          "'regions[0].width' of the layout must be a whole number"),
    "same name": (layout(regions=[region(), region()]), "a name that no other region has"),
    "color twice": (layout(colors=[{"name": "rx"}, {"name": "tx"}, {"name": "rx"}]),
                    "a name that no other color has"),
    "color value": (layout(colors=[{"name": "rx"}, {"name": "tx", "value": 24}]),
                    "'colors[1].value' of the layout must be a whole number from 0 to 23"),
    "port twice": (layout(ports=[A_THEN_B[0], {**A_THEN_B[1], "name": "out"}], connections=[]),
                   "a name that no other port has"),
    "wide stream": (layout(regions=[region(height=2), region("b", x=4)], connections=[],
                           streams=[{"name": "s", "port": "out"}]),
                    "'streams[0].port' of the layout must be a port of one tile"),
    "stream twice": (layout(connections=[], streams=[{"name": "s", "port": "in"},
                                                     {"name": "s", "port": "out"}]),
                     "a name that no other stream has"),
    "port region": (layout(ports=[port("out", "c", "tx", "RIGHT", True), A_THEN_B[1]]),
                    "'ports[0].region' of the layout must be the name of one of"),
    "connected port": (layout(connections=[{"from": "out", "to": "of"}]),
                       "'connections[0].to' of the layout must be the name of one of"),
    "positions": (layout(regions=[region(paint=[{"color": "tx", "positions": ROUTE * 5}]),
                                  region("b", x=4)]), "must be 1 to 4 switch positions"),
    "paint color": (layout(regions=[region(paint=[{"color": "x", "positions": ROUTE}]),
                                    region("b", x=4)]),
                    "'regions[0].paint[0].color' of the layout must be the name of one of"),
    "direction": (layout(regions=[region(paint=[{"color": "tx", "positions": [
        {"rx": ["UP"], "tx": ["EAST"]}]}]), region("b", x=4)]), "RAMP, EAST, WEST, NORTH or SOUTH"),
    "rectangle": (layout(regions=[region(paint=[{"color": "tx", "rect": [0, 0, 2, 1],
                                                 "positions": ROUTE}]), region("b", x=4)]),
                  "a rectangle inside its region"),
    "edge": (layout(ports=[port("out", "a", "tx", "UP", True), A_THEN_B[1]]), "TOP, BOTTOM, LEFT"),
    "connection": (layout(connections=[{"from": "in", "to": "out"}]), "an output port"),
    "port size": (layout(ports=[A_THEN_B[0], port("in", "b", "rx", "LEFT", False, size=5)]),
                  "'out' has 4 wavelets and 'in' 5"),
    "edge length": (layout(regions=[region(), region("b", x=4, height=2)]),
                    "'out' has 1 tiles and 'in' 2"),
    "release": (layout(release=3), "'release' of the layout must be a whole number from 2 to 2"),
    "joined twice": (layout(streams=[{"name": "s", "port": "in"}]),
                     "a port that nothing else is joined to"),
    "regions_overlap": (layout(regions=[region(), region("b", width=2)]),
                        "regions 'b' and 'a' both have tile 1,1"),
    "connected_colors": (layout(colors=[{"name": "rx", "value": 1}, {"name": "tx", "value": 2}]),
                         "colors 'rx' and 'tx' are connected"),
    "routes_of_one_color": (layout(ports=[*A_THEN_B, port("back", "a", "rx", "LEFT", False)]),
                            "tile 1,1 has two routes of one color, that of 'out' and that of "
                            "'back'"),
    # note color_of_region
    "two ports": (layout(ports=[*A_THEN_B, port("too", "a", "tx", "TOP", True)]),
                  "that of 'out' and that of 'too'"),
    "stream_place": (layout(connections=[], streams=[{"name": "s", "port": "out",
                                                      "place": [4, 1]}]),
                     "stream 's' cannot end at tile 4,1: another program is there"),
    "two streams": (layout(connections=[], streams=[
        {"name": "s", "port": "out", "place": [3, 1]}, {"name": "t", "port": "in",
                                                        "place": [3, 1]}]),
                    "stream 't' cannot end at tile 3,1: the host's end of another stream is there"),
    "colors_meet": (layout(connections=[], colors=[{"name": "rx", "value": 1},
                                                   {"name": "tx", "value": 1}]),
                    "colors 'rx' and 'tx' meet in a tile, but both have the value 1"),
    "color_of_streams": (layout(colors=[{"name": "rx", "value": 22}, {"name": "tx"}],
                                connections=[], streams=[{"name": "s", "port": "in"}]),
                         "color 'rx' has the value 22, which the streams"),
    "the color that has the value": (layout(
        colors=[{"name": "tx"}, {"name": "rx", "value": 22}, {"name": "c"}],
        ports=[port("out", "a", "tx", "RIGHT", True), port("in", "b", "rx", "LEFT", False),
               port("more", "b", "c", "RIGHT", False)],
        streams=[{"name": "s", "port": "more"}]),
        "color 'rx' has the value 22, which the streams"),
    "layout_symbol_unknown": (layout(regions=[region(symbols=[
        {"name": "size", "file": "four", "columns": 1, "rows": 1, "element_bytes": 4}]),
        region("b", x=4)]), "sets 'size', but step.csl declares no such variable"),
    "symbol of another case": (layout(regions=[region(symbols=[
        {"name": "Data", "file": "four", "columns": 1, "rows": 1, "element_bytes": 4}]),
        region("b", x=4)]), "did you mean 'data'?"),
    "layout_symbol_size": (layout(regions=[region(symbols=[
        {"name": "data", "file": "four", "columns": 1, "rows": 1, "element_bytes": 4}]),
        region("b", x=4)]), "sets 'data' to 4 bytes per tile; the variable has 16"),
    "symbol elements": (layout(regions=[region(symbols=[
        {"name": "data", "file": "four", "columns": 1, "rows": 1, "element_bytes": 4,
         "elements": "words"}]), region("b", x=4)]), "must be integers or floats"),
    "symbol file": (layout(regions=[region(symbols=[
        {"name": "data", "file": "none", "columns": 1, "rows": 4, "element_bytes": 4}]),
        region("b", x=4)]), "cannot read 'none'"),
    "source": (layout(regions=[region(source="none.csl"), region("b", x=4)]), "none.csl"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_explained(tmp_path, name):
    content, said = WRONG[name]
    (tmp_path / "four").write_bytes(b"1234")
    ran = cslc(tmp_path, content, expect=1)
    assert said in ran.err and ran.err.count("error:") == 1, ran.err
    assert "l.json:1:" in ran.err


def test_a_fabric_that_no_option_gives_is_not_too_large_either(tmp_path):
    ran = cslc(tmp_path, layout(connections=[], ports=[], regions=[region(x=900)]), expect=1)
    assert "error: the fabric of 901 x 2 is larger than the machine's 757 x 996" in ran.err


@pytest.mark.parametrize("at", [5, "", "script.py", "script.py:", "script.py:0", "script.py:3",
                                "none.py:1", "script.py:999999999999999999999", "./:1"])
def test_a_place_that_there_is_not_leaves_the_file(tmp_path, at):
    (tmp_path / "script.py").write_text("one = 1\n  two = 2 \t\n")
    wrong = layout(regions=[region(source="none.csl", at=at), region("b", x=4)])
    assert "l.json:1:1: error: cannot find 'none.csl'" in cslc(tmp_path, wrong, expect=1).err
    wrong["regions"][0]["at"] = "script.py:2"
    assert ("script.py:2:3: error: cannot find 'none.csl' [import_not_found]\n  two = 2 \t\n"
            "  ^~~~~~~\n") in cslc(tmp_path, wrong, expect=1).err


def test_no_path_is_left(tmp_path):   # no_path
    """The color already has routes on every tile around the port."""
    ring = [{"rect": [x, y, 1, 1], "color": "tx", "positions": ROUTE}
            for x in range(3) for y in range(3) if (x, y) != (1, 1)]
    wall = region("wall", width=3, height=3, x=0, y=0, paint=ring,
                  params=region()["params"])
    content = layout(regions=[wall, region("b", x=6)],
                     ports=[port("out", "wall", "tx", "TOP", True, first=1, count=1),
                            port("in", "b", "rx", "LEFT", False)])
    assert cslc(tmp_path, content).code == 0       # the edge itself is open
    content["colors"].append({"name": "high"})
    content["regions"][0]["y"] = 1
    content["regions"].append({**region("lid", x=0, y=0, width=3), "paint": [
        {"color": "tx", "positions": ROUTE}]})
    ran = cslc(tmp_path, content, expect=1)
    assert "color 'tx' finds no way from tile 1,1 to 6,1" in ran.err


@pytest.mark.parametrize("from_, to, other", [
    ("RIGHT", "RIGHT", "LEFT or BOTTOM"), ("LEFT", "BOTTOM", "RIGHT or TOP")])
def test_lanes_that_would_cross(tmp_path, from_, to, other):   # no_path, lanes_cross
    size = {"width": 3, "height": 3}
    content = layout(regions=[region("a", **size), region("b", x=8, **size)],
                     ports=[port("out", "a", "tx", from_, True), port("in", "b", "rx", to, False)])
    ran = cslc(tmp_path, content, expect=1)
    assert f"from the edge {from_} to the edge {to} they would: give this port the edge {other}" \
        in ran.err, ran.err


def test_two_ports_with_a_color_of_one_name(tmp_path):   # port_of_one_color
    """Two Color() with one name are one color: what is wrong is the name, not the way."""
    other = region("c", x=4, y=3, params=[*region()["params"][:3], {"name": "tx", "color": "tx2"}])
    content = layout(colors=[{"name": "rx"}, {"name": "tx"}, {"name": "tx2"}],
                     regions=[region(), region("b", x=4), other])
    content["ports"] += [port("out2", "c", "tx2", "TOP", True), port("in2", "b", "rx", "LEFT", False)]
    content["connections"].append({"from": "out2", "to": "in2"})
    ran = cslc(tmp_path, content, expect=1)
    assert "[no_path]" in ran.err
    assert "note: port 'in' of the same region has the same color, 'rx'" in ran.err, ran.err


def test_a_layout_that_is_too_large(tmp_path):
    far = region("b", x=700, y=900)
    content = layout(colors=[{"name": n} for n in ["rx", "tx", *map(str, range(300))]],
                     regions=[region(), far])
    ran = cslc(tmp_path, content, expect=1)
    assert "302 colors on" in ran.err and "[layout_too_large]" in ran.err


def test_no_color_is_left(tmp_path):   # no_color_left
    names = [f"c{k}" for k in range(25)]
    busy = region(paint=[{"color": name, "positions": ROUTE} for name in names])
    content = layout(colors=[{"name": n} for n in ["rx", "tx", *names]], regions=[busy], ports=[],
                     connections=[])
    assert "no color is left for 'c22'" in cslc(tmp_path, content, expect=1).err


@pytest.mark.parametrize("flags, said", [
    (["x.csl"], "which names the source files"), (["--params=a:1"], "for a main file"),
    (["--emit=ast", "-o-"], "prints one source file"),
    (["--layout-json=none"], "--layout-json is given twice")])
def test_wrong_usage(tmp_path, flags, said):
    assert said in cslc(tmp_path, layout(), *flags, expect=2).err


def test_a_file_that_is_not_there(tmp_path):
    ran = harness.cslc("--layout-json=none", "-o", tmp_path / "p.bin", expect=1)
    assert "cannot read" in ran.err
