"""csl-ls: each request of the protocol on small programs, and what it does with bad input."""
import json
import os
import random
import shlex
import shutil
import signal

import pytest

import harness
import token_mutants
from language_client import Client, apply, path_of, units

GEMV = harness.SAMPLES / "gemv"
OPTIONS = ["--arch=wse3", "--params=width:2,height:2,M:4,N:4"]

LAYOUT = """\
param width: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = width, .height = 1 });
layout {
  @set_rectangle(width, 1);
  for (@range(u16, width)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .size = width * 2, .memcpy_params = memcpy.get_params(x) });
  }
  @export_name("main", fn() void);
}
"""

PE = """\
// Elements per tile.
param size: u16;
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
const math = @import_module("<math>");
const other = @import_module("other.csl");

const Mode = enum(u16) { off, on };
const twice = size * 2;
var values = @zeros([size]f32);
var point: struct { first: u16, second: f32 };
export var mode: Mode = Mode.on;

// Adds a number to all values.
fn add(amount: f32, times: u16) void {
  for (@range(u16, size)) |i| {
    values[i] += math.abs(amount) * @as(f32, times);
  }
}

fn main() void {
  const \u00fc_free = "\u00e9\U0001f600"; point.second = 1.0; add(1.5, other.count);
  point.first = twice;
  sys_mod.unblock_cmd_stream();
}

comptime {
  @export_symbol(main);
}
""".replace("\u00fc_free", "_text_free")

OTHER = "// How often.\nconst count: u16 = 3;\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    (tmp_path / "other.csl").write_text(OTHER)
    (tmp_path / "commands.sh").write_text(
        "#!/usr/bin/env bash\nset -e\ncslc ./layout.csl --arch=wse3 --fabric-dims=12,4 \\\n"
        "  --fabric-offsets=4,1 --params=width:3 -o out --memcpy --channels=1\ncs_python run.py\n")
    return tmp_path


@pytest.fixture
def client():
    with Client() as c:
        yield c


def text_at(doc, where):
    lines = doc.text.split("\n")
    line = lines[where["start"]["line"]].encode("utf-16-le")
    assert where["start"]["line"] == where["end"]["line"]
    return line[2 * where["start"]["character"]:2 * where["end"]["character"]].decode("utf-16-le")


def hover(client, doc, mark, skip=0):
    answer = client.ask("hover", doc, doc.place(mark, skip))
    return answer and answer["contents"]["value"]


# ---- messages -----------------------------------------------------------------------------------

def test_a_file_changes_while_a_program_begins_to_read_it(tmp_path):
    """The program is not known to read it: its result is of the text before."""
    layout, module = tmp_path / "layout.csl", tmp_path / "m.csl"
    right = """const m = @import_module("m.csl");
fn slow() u32 { var k: u32 = 0; while (k < 300000) { k += 1; } return k; }
layout { @comptime_assert(slow() + m.n > 0); @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }
"""
    layout.write_text("layout {\n")
    module.write_text("const n = 1;\n")
    (tmp_path / "pe.csl").write_text("export var x: u16 = 1;\n")
    with Client() as client:
        of_layout, of_module = client.open(layout), client.open(module)
        client.wait(of_layout)
        client.wait(of_module)
        client.change(of_layout, right)
        client.change(of_module, "const n = nothing;\n")
        client.wait(of_layout)
        client.wait(of_module)
        client.ask("documentSymbol", of_module)
        assert [m["code"] for m in client.published[module][1]] == ["undeclared"]


def test_a_good_program_has_no_messages(client, project):
    for name in ("pe.csl", "layout.csl", "other.csl"):
        assert client.wait(client.open(project / name)) == []


def test_messages_follow_what_is_typed(client, project):
    doc = client.open(project / "pe.csl")
    client.wait(doc)
    client.change(doc, doc.text.replace("point.first = twice", "point.first = twise"))
    message, = client.wait(doc)
    assert message["code"] == "undeclared" and message["severity"] == 1
    assert text_at(doc, message["range"]) == "twise"
    client.change(doc, doc.text.replace("twise;", "twice"))
    assert [m["code"] for m in client.wait(doc)] == ["missing_semicolon"]
    client.change(doc, PE)
    assert client.wait(doc) == []


def test_units_are_of_utf_16(client, project):
    doc = client.open(project / "pe.csl", PE.replace("point.second = 1.0", "point.third = 1.0"))
    message, = client.wait(doc)
    assert text_at(doc, message["range"]) == "third"
    column = message["range"]["start"]["character"]
    line = doc.text.split("\n")[message["range"]["start"]["line"]]
    assert column == units(line[:line.index("third")]) == line.index("third") + 1


def test_an_error_in_one_file_shows_in_the_other(client, project):
    pe, other = client.open(project / "pe.csl"), client.open(project / "other.csl")
    client.wait(pe), client.wait(other)
    client.change(other, OTHER.replace("count", "number"))
    client.wait(other)
    while not client.published[pe.path][1]:
        client.take()
    assert client.published[pe.path][1][0]["code"] == "no_module_member"


def test_a_mistyped_import_shows_beside_the_file_that_nothing_imports(client, project):
    """The file of the tile, which is open, is then checked alone; the layout does not wait for it
    for ever."""
    pe = client.open(project / "pe.csl")
    layout = client.open(project / "layout.csl", LAYOUT.replace('"pe.csl"', '"pee.csl"'))
    assert [m["code"] for m in client.wait(layout)] == ["import_not_found"]
    client.change(layout, LAYOUT)
    assert client.wait(layout) == [] and client.wait(pe) == []


def test_messages_are_those_of_cslc(client, project):
    text = PE.replace("twice;", "1.5;").replace("amount)", "amount, 1)")
    doc = client.open(project / "pe.csl", text)
    messages = client.wait(doc)
    (project / "pe.csl").write_text(text)
    ran = harness.cslc("--check", "layout.csl", "--arch=wse3", "--fabric-dims=12,4",
                       "--fabric-offsets=4,1", "--params=width:3", "--memcpy", "--channels=1",
                       "--diag-format=json", cwd=project, expect=1)
    want = [json.loads(line) for line in ran.err.splitlines()]
    assert [(m["code"], m["range"]["start"]["line"] + 1) for m in messages] == [
        (w["id"], w["line"]) for w in want] and want


def test_a_program_by_csl_json(client, tmp_path):
    shutil.copytree(GEMV, tmp_path / "gemv")
    (tmp_path / "gemv" / "csl.json").write_text(
        json.dumps({"programs": [{"layout": "layout.csl", "options": OPTIONS}]}))
    doc = client.open(tmp_path / "gemv" / "pe.csl")
    assert client.wait(doc) == []
    assert "type `u16`" in hover(client, doc, "rows")


@pytest.mark.parametrize("text, line, message", [
    ('{"programs": [\n  {"layout": }\n]}', 1, "csl.json cannot be read: "),
    ("[]", 0, "csl.json needs 'programs', a list"), ('{"programs": 3}', 0, "csl.json needs 'programs'"),
    ('{"programs": [{}]}', 0, "a program needs 'layout'"),
    ('{"programs": [{"layout": "layout.csl", "options": "--arch=wse3"}]}', 0,
     "'options' of layout.csl must be a list of texts"),
    ('{"programs": [{"layout": "layout.csl", "options": [3]}]}', 0,
     "'options' of layout.csl must be a list of texts"),
    ('{"programs": [{"layout": "layout.csl"}], "profile": "p"}', 0, "csl.json has no key 'profile'"),
    ('{"programs": [{"layout": "layout.csl", "profile": 3}]}', 0,
     "'profile' of layout.csl must be the name of a file")])
def test_a_mistake_in_csl_json_is_shown_there_until_it_is_mended(client, tmp_path, text, line, message):
    shutil.copytree(GEMV, tmp_path / "gemv")
    project = tmp_path / "gemv" / "csl.json"
    project.write_text(text)
    client.open(tmp_path / "gemv" / "pe.csl")

    def shown():
        while project not in client.published:
            client.take()
        return client.published.pop(project)[1]

    wrong, = shown()
    assert wrong["range"]["start"]["line"] == line and wrong["message"].startswith(message)
    project.write_text(json.dumps({"programs": [{"layout": "layout.csl", "options": OPTIONS}]}))
    client.notify("workspace/didChangeWatchedFiles", {"changes": []})
    assert shown() == []


def test_a_file_alone_is_checked_alone(client, tmp_path):
    path = tmp_path / "alone.csl"
    path.write_text("param n: u16;\nexport var x = @zeros([n]u16);\nexport var y: u16 = true;\n")
    message, = client.wait(client.open(path))
    assert message["code"] == "type_mismatch"


def test_a_layout_with_errors_does_not_hide_the_messages_of_other_files(client, tmp_path):
    """The program of a tile is then checked alone, until the layout has no errors."""
    layout = "layout { @set_rectangle(width, 1); @set_tile_code(0, 0, \"pe.csl\", .{ .n = 3 });" \
             " @export_name(\"f\", fn() void); }\n"
    tile = "param n: u16;\nvar y: u16 = 0;\nfn f() void { y = @as(f32, 1.0); y = n; }\n" \
           "comptime { @export_symbol(f); }\n"
    (tmp_path / "layout.csl").write_text("param width: u16;\n" + layout)
    (tmp_path / "pe.csl").write_text(tile)
    main, doc = client.open(tmp_path / "layout.csl"), client.open(tmp_path / "pe.csl")
    assert [m["code"] for m in client.wait(main)] == ["unbound_param"]
    client.wait_for(doc, ["type_mismatch"])
    client.change(doc, tile.replace("@as(f32, 1.0)", "4"))
    client.wait_for(doc, [])
    client.change(doc, tile.replace("@as(f32, 1.0)", "missing"))
    client.wait_for(doc, ["undeclared"])
    client.change(main, "const width = 2;\n" + layout)
    client.wait_for(main, ["tile_without_code"])
    client.wait_for(doc, ["undeclared"])
    client.change(main, "const width = 1;\n" + layout)
    client.wait_for(main, [])
    client.wait_for(doc, ["undeclared"])


def test_a_message_of_two_programs_is_shown_once(client, project):
    script = (project / "commands.sh").read_text()
    (project / "commands_wse2.sh").write_text(script.replace("wse3", "wse2").replace(
        "width:3", "width:5"))
    doc = client.open(project / "pe.csl", PE.replace("= twice", "= twicee"))
    message, = client.wait(doc)
    assert message["code"] == "undeclared"


UNUSED = """const lone = 1;
var lone_variable: u16 = 0;
const lone_module = @import_module("<math>");
fn lone_function() void {
  var lone_local: u16 = 3;
}
const _ignored = 2;
export var exported: u16 = 0;
comptime {"""


def test_what_nothing_uses_is_a_hint(client, project):
    doc = client.open(project / "pe.csl", PE.replace("comptime {", UNUSED))
    hints = client.wait(doc)
    assert {(h["code"], h["severity"], tuple(h["tags"])) for h in hints} == {("unused", 4, (1,))}
    assert [text_at(doc, h["range"]) for h in hints] == [
        "lone", "lone_variable", "lone_module", "lone_function", "lone_local"]
    assert "function 'lone_function'" in hints[3]["message"]
    client.change(doc, doc.text.replace("const _ignored = 2;",
                                        "fn _ignored() u16 { return lone + lone_variable; }"))
    assert [text_at(doc, h["range"]) for h in client.wait(doc)] == [
        "lone_module", "lone_function", "lone_local"]


def test_globals_of_a_module_may_serve_others(client, project):
    doc = client.open(project / "other.csl", OTHER + "fn spare() void {}\n")
    assert client.wait(doc) == []


def test_an_import_of_any_file_keeps_globals(client, project):
    """A program that computes the path of an import may import this file, too."""
    doc = client.open(project / "pe.csl", PE.replace("comptime {", "fn spare() void {}\ncomptime {"))
    assert [text_at(doc, hint["range"]) for hint in client.wait(doc)] == ["spare"]
    path = 'const path = if (size > 3) "other.csl" else "pe.csl";\nconst other = @import_module(path);'
    client.change(doc, doc.text.replace('const other = @import_module("other.csl");', path))
    assert client.wait(doc) == []


def test_a_binding_is_of_a_parameter(client, project):
    """Only parameters take values of imports: a constant of that name is another thing."""
    other = client.open(project / "other.csl", OTHER + "param step: u16;\n")
    doc = client.open(project / "pe.csl", PE.replace(
        '"other.csl")', '"other.csl", .{ .step = 2, .count = 3 })'))
    step = client.ask("definition", doc, doc.place(".step", 1))
    assert step["uri"] == other.uri and step["range"]["start"]["line"] == 2
    count = client.ask("definition", doc, doc.place(".count", 1))
    assert count["uri"] == other.uri and count["range"]["start"]["line"] == 0      # the file


def test_wrong_options_are_a_message(client, project):
    (project / "commands.sh").write_text("cslc layout.csl --nonsense -o out\n")
    message, = client.wait(client.open(project / "layout.csl"))
    assert "options are wrong" in message["message"]


def test_a_closed_file_is_that_on_the_disk(client, project):
    doc = client.open(project / "other.csl", "const count = ;\n")
    assert client.wait(doc)
    client.close_document(doc)
    assert client.wait(client.open(project / "pe.csl")) == []


# ---- names --------------------------------------------------------------------------------------

@pytest.mark.parametrize("mark,skip,wants", [
    ("twice;", 1, ["const twice = size * 2", "type `u16`"]),
    ("add(1.5", 1, ["fn add(amount: f32, times: u16) void", "Adds a number to all values."]),
    ("other.count", 7, ["const count: u16 = 3", "value `3`", "How often."]),
    ("size]f32", 1, ["param size: u16", "Elements per tile."]),
    ("values[i]", 1, ["`[6]f32`"]),
    ("@zeros", 3, ["@zeros(ARRAY_TYPE)"]),
    ("Mode.on", 6, ["on"])])
def test_hover(client, project, mark, skip, wants):
    doc = client.open(project / "pe.csl")
    text = hover(client, doc, mark, skip)
    assert all(want in text for want in wants), text


def test_hover_on_a_field_of_a_comptime_struct(client, tmp_path):
    """Nothing declares such a field; the program knows its type and its value."""
    (tmp_path / "layout.csl").write_text("""layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .sizes = .{ .rows = @as(u16, 7), .inner = .{ .depth = 3 } } });
}
""")
    (tmp_path / "pe.csl").write_text("""param sizes: comptime_struct;
var count: u16 = 0;
task main() void { count = sizes.rows + sizes.inner.depth; }
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
""")
    doc = client.open(tmp_path / "pe.csl")
    rows = hover(client, doc, "sizes.rows", 7)
    assert "type `u16`" in rows and "value `7`" in rows
    assert "value `3`" in hover(client, doc, "inner.depth", 7)
    assert "struct" in hover(client, doc, "inner.depth", 1)


def test_hover_on_nothing(client, project):
    doc = client.open(project / "pe.csl")
    assert hover(client, doc, "  for (", 0) is None


@pytest.mark.parametrize("mark,skip,file,line", [
    ("add(1.5", 1, "pe.csl", "fn add("), ("other.count", 7, "other.csl", "const count"),
    ("other.count", 1, "pe.csl", "const other"), ("amount) *", 1, "pe.csl", "fn add("),
    ("i] +=", 0, "pe.csl", "  for ("), ("Mode.on", 6, "pe.csl", "const Mode"),
    ("\"other.csl\"", 3, "other.csl", "// How")])
def test_definition(client, project, mark, skip, file, line):
    doc = client.open(project / "pe.csl")
    found = client.ask("definition", doc, doc.place(mark, skip))
    path = project / file
    assert found["uri"] == f"file://{path}"
    assert path.read_text().split("\n")[found["range"]["start"]["line"]].startswith(line)


def test_folders_with_any_characters_in_their_names(client, project):
    folder = project / "a b%20 \u00e9,+#?"
    folder.mkdir()
    for name in ("layout.csl", "pe.csl", "other.csl"):
        (project / name).rename(folder / name)
    doc = client.open(folder / "pe.csl")
    found = client.ask("definition", doc, doc.place("other.count", 7))
    assert path_of(found["uri"]) == folder / "other.csl"


def test_definition_of_a_parameter_from_the_layout(client, project):
    doc = client.open(project / "layout.csl")
    found = client.ask("definition", doc, doc.place(".size", 2))
    assert found["uri"].endswith("pe.csl") and found["range"]["start"]["line"] == 1


def test_references(client, project):
    doc = client.open(project / "pe.csl")
    place = doc.place("size: u16", 1)
    found = client.ask("references", doc, place, context={"includeDeclaration": True})
    assert sorted(f["uri"].rpartition("/")[2] for f in found) == ["layout.csl"] + ["pe.csl"] * 4
    inside = client.ask("references", doc, place, context={"includeDeclaration": False})
    assert len(inside) == len(found) - 1
    here = client.ask("documentHighlight", doc, place)
    assert [text_at(doc, h["range"]) for h in here] == ["size"] * 4


def test_rename_changes_every_file(client, project):
    doc = client.open(project / "pe.csl")
    place = doc.place("size: u16", 1)
    assert text_at(doc, client.ask("prepareRename", doc, place)) == "size"
    changes = client.ask("rename", doc, place, newName="length")["changes"]
    for uri, edits in changes.items():
        path = project / uri.rpartition("/")[2]
        path.write_text(apply(path.read_text(), edits))
    assert "length" in (project / "layout.csl").read_text()
    assert "size" not in (project / "pe.csl").read_text()
    harness.run(["bash", "-c", "set -e; " + (project / "commands.sh").read_text().replace(
        "cs_python run.py", "")], cwd=project,
        env={"PATH": f"{harness.bin_dir()}:{os.environ['PATH']}"})


@pytest.mark.parametrize("mark,new,why", [
    ("size: u16", "9x", "letters"), ("size: u16", "while", "other errors"),
    ("size: u16", "twice", "other errors"), ("comptime {", "x", "no name")])
def test_rename_is_refused(client, project, mark, new, why):
    doc = client.open(project / "pe.csl")
    answer = client.request_raw("textDocument/rename", {
        "textDocument": {"uri": doc.uri}, "position": doc.place(mark, 1), "newName": new})
    assert why in answer["error"]["message"]


TWO = """\
param size: u16;
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .size = size });
  @export_name("main", fn() void);
}
"""


def renamed(client, doc, mark, new):
    """Applies the rename to the files; the names of those that change."""
    changes = client.ask("rename", doc, doc.place(mark), newName=new)["changes"]
    for uri, edits in changes.items():
        path_of(uri).write_text(apply(path_of(uri).read_text(), edits))
    return sorted(path_of(uri).name for uri in changes)


@pytest.fixture
def two_programs(tmp_path):
    """Two layouts with one file of tiles, of which each script compiles one."""
    for number in "12":
        (tmp_path / f"layout{number}.csl").write_text(TWO)
        (tmp_path / f"commands{number}.sh").write_text(
            f"cslc layout{number}.csl --params=size:{number} -o out\n")
    (tmp_path / "pe.csl").write_text("""param size: u16;
var sum: u16 = size;
fn add() void { sum += 1; }
fn main() void { add(); }
comptime { @export_symbol(main); }
""")
    return tmp_path


def test_rename_changes_every_program(client, two_programs):
    doc = client.open(two_programs / "pe.csl")
    assert renamed(client, doc, "size: u16", "length") == ["layout1.csl", "layout2.csl", "pe.csl"]
    for number in "12":
        harness.cslc("--check", two_programs / f"layout{number}.csl", "--params=size:1")


def test_rename_of_what_only_the_second_program_would_miss(client, two_programs):
    layout = two_programs / "layout2.csl"
    layout.write_text(TWO.replace('"pe.csl", .{ .size = size }', '"pe.csl", values').replace(
        "layout {", "const values = .{ .size = size };\nlayout {"))
    doc = client.open(two_programs / "pe.csl")
    answer = client.request_raw("textDocument/rename", {
        "textDocument": {"uri": doc.uri}, "position": doc.place("size: u16"), "newName": "length"})
    assert "other errors" in answer["error"]["message"]


def test_rename_keeps_the_name_of_an_export(client, two_programs):
    doc = client.open(two_programs / "pe.csl")
    assert renamed(client, doc, "main() void", "start") == ["pe.csl"]
    assert '@export_symbol(start, "main")' in doc.path.read_text()
    for number in "12":
        harness.cslc("--check", two_programs / f"layout{number}.csl", "--params=size:1")


def test_rename_keeps_the_name_of_an_export_of_a_module(client, two_programs):
    pe = two_programs / "pe.csl"
    (two_programs / "module.csl").write_text("fn main() void {}\n")
    pe.write_text("""param size: u16;
const module = @import_module("module.csl");
comptime { @export_symbol(module.main); }
""")
    doc = client.open(pe)
    assert renamed(client, doc, "main", "start") == ["module.csl", "pe.csl"]
    assert '@export_symbol(module.start, "main")' in pe.read_text()
    harness.cslc("--check", two_programs / "layout2.csl", "--params=size:1")


@pytest.mark.parametrize("mark,is_of_host", [
    ("size", True), ("mode", True), ("main", False), ("value", False), ("inside", False),
    ("number", False)])
def test_a_file_alone_keeps_the_names_that_a_host_may_know(client, tmp_path, mark, is_of_host):
    (tmp_path / "module.csl").write_text("param number: u16;\n")
    (tmp_path / "alone.csl").write_text("""param size: u16;
const module = @import_module("module.csl", .{ .number = 3 });
export var mode: u16 = 0;
var value = size;
fn inside() void { value += module.number; mode = value; }
fn main() void { inside(); }
comptime { @export_symbol(main); @export_symbol(value, "v"); }
""")
    doc = client.open(tmp_path / "alone.csl")
    answer = client.request_raw("textDocument/rename", {
        "textDocument": {"uri": doc.uri}, "position": doc.place(mark), "newName": "fresh"})
    if is_of_host:
        assert "host script" in answer["error"]["message"]
    else:
        assert answer["result"]["changes"]


FIELDS = """\
const Pair = struct { first: u16, second: f32 };
const Other = struct { first: u16 };
var pairs = [2]Pair { Pair { .first = 1, .second = 2.0 }, .{ .first = 2, .second = 1.0 } };
var pair: Pair = .{ .first = 3, .second = 4.0 };
var other = Other { .first = 5 };

fn total(p: *Pair) u16 {
  return p.first + pairs[1].first + other.first;
}

fn main() void {
  const copy: Pair = .{ .second = 1.0, .first = total(&pair) };
  pair.first = copy.first;
}
comptime { @export_symbol(main); }
"""


def test_rename_of_a_field(client, tmp_path):
    path = tmp_path / "fields.csl"
    path.write_text(FIELDS)
    doc = client.open(path)
    changes = client.ask("rename", doc, doc.place("first: u16", 1), newName="begin")["changes"]
    renamed = apply(FIELDS, *changes.values())
    assert renamed.count("begin") == 9 and renamed.count("first") == 3
    assert "const Other = struct { first: u16 }" in renamed and "other.first" in renamed
    path.write_text(renamed)
    harness.cslc("--check", path)
    used = client.ask("references", doc, doc.place("second: f32", 1),
                      context={"includeDeclaration": True})
    assert len(used) == 5


@pytest.mark.parametrize("extra,why", [
    ("fn template(comptime T: type, p: *T) u16 { return p.first; }\n", "in line 16 of"),
    ("const loose = .{ .first = 1, .second = 2.0 };\nvar kept: Pair = loose;\n"
     "fn use() void { kept.first += 1; }\ncomptime { @export_symbol(use); }\n",
     "other errors")])
def test_rename_of_a_field_is_refused(client, tmp_path, extra, why):
    path = tmp_path / "fields.csl"
    path.write_text(FIELDS + extra)
    doc = client.open(path)
    answer = client.request_raw("textDocument/rename", {
        "textDocument": {"uri": doc.uri}, "position": doc.place("first: u16", 1),
        "newName": "begin"})
    assert why in answer["error"]["message"]


@pytest.fixture
def handed_on(tmp_path):
    """A module that other files get as a parameter, and that stands in a struct."""
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }\n')
    (tmp_path / "store.csl").write_text(
        "// Adds one.\nvar count: u16 = 0;\nfn step(by: u16) void { count += by; }\n")
    (tmp_path / "user.csl").write_text(
        "param store: imported_module;\nconst Step = struct { step: u16 };\n"
        "var own: Step = .{ .step = 2 };\n"
        "fn twice() void { store.step(own.step); store.step(store.count); }\n")
    (tmp_path / "pe.csl").write_text("""const store = @import_module("store.csl");
const user = @import_module("user.csl", .{ .store = store });
const parts = .{ .store = store };
task main() void { store.step(1); user.twice(); parts.store.step(3); }
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
""")
    return tmp_path


@pytest.mark.parametrize("file,mark,skip", (
    ("user.csl", "store.step(own", 7), ("pe.csl", "parts.store.step", 13)))
def test_members_of_a_module_that_is_handed_on(client, handed_on, file, mark, skip):
    doc = client.open(handed_on / file)
    found = client.ask("definition", doc, doc.place(mark, skip))
    assert path_of(found["uri"]) == handed_on / "store.csl" and found["range"]["start"]["line"] == 2
    assert "fn step(by: u16) void" in hover(client, doc, mark, skip)
    used = client.ask("references", doc, doc.place(mark, skip),
                      context={"includeDeclaration": True})
    assert sorted(u["uri"].rpartition("/")[2] for u in used) == \
        ["pe.csl"] * 2 + ["store.csl"] + ["user.csl"] * 2


def test_rename_of_a_member_of_a_module_that_is_handed_on(client, handed_on):
    doc = client.open(handed_on / "store.csl")
    changes = client.ask("rename", doc, doc.place("step(by", 1), newName="add")["changes"]
    for uri, edits in changes.items():
        path = handed_on / uri.rpartition("/")[2]
        path.write_text(apply(path.read_text(), edits))
    assert "store.add(own.step); store.add(store.count)" in (handed_on / "user.csl").read_text()
    harness.compile(handed_on / "layout.csl", handed_on / "p.bin")


def test_rename_of_a_field_beside_members_of_a_module(client, handed_on):
    """A member of a module is no field, though only the program knows the module."""
    doc = client.open(handed_on / "user.csl")
    changes = client.ask("rename", doc, doc.place("step: u16", 1), newName="size")["changes"]
    assert [len(edits) for edits in changes.values()] == [3]


def test_random_renames_keep_a_sample(tmp_path):
    """The short form of the claim rename: the same program, but for the names."""
    rename = harness.claim("rename")
    choice = random.Random(harness.commit_seed())
    sample = choice.choice([s for s in token_mutants.samples() if s.folder.parent == harness.SAMPLES])
    copy, scratch = tmp_path / "copy", tmp_path / "scratch"
    shutil.copytree(sample.folder, copy)
    (copy / "commands.sh").write_text(shlex.join(["cslc", *sample.args]) + "\n")
    scratch.mkdir()
    renaming = rename.rename_at_random(copy, choice, 2)
    assert renaming.done.total() >= 4, (sample.folder, renaming.refused)
    assert rename.is_same(sample.folder, copy, sample.args, scratch, renaming.old_names), (
        sample.folder, renaming.old_names)


def test_names_of_the_library_are_not_renamed(client, project):
    doc = client.open(project / "pe.csl")
    assert client.ask("prepareRename", doc, doc.place("math.abs", 6)) is None


# ---- typing -------------------------------------------------------------------------------------

def labels(client, doc, place):
    return {i["label"]: i for i in client.ask("completion", doc, place)["items"]}


def test_completion_of_names(client, project):
    doc = client.open(project / "pe.csl")
    inside = labels(client, doc, doc.place("    values[i]", 4))
    assert {"i", "amount", "times", "twice", "other", "while", "u16"} <= set(inside)
    assert "_text_free" not in inside
    assert inside["add"]["documentation"]["value"] == "Adds a number to all values."
    assert inside["twice"]["detail"] == "u16"


def test_directions_are_names_of_the_language(client, project):
    text = PE.replace("const twice", "const to = EAST;\nconst twice")
    doc = client.open(project / "pe.csl", text)
    found = labels(client, doc, doc.place("EAST;", 2))
    assert {"NORTH", "SOUTH", "EAST", "WEST", "RAMP"} <= set(found)
    assert found["EAST"]["detail"] == "direction"
    assert "const EAST: direction" in hover(client, doc, "EAST;", 2)


@pytest.mark.parametrize("before, typed, wants", [
    (".{ .size = width * 2, ", ".mem", {"size", "memcpy_params"}),
    ("\"pe.csl\", .{ ", ".s", {"size", "memcpy_params"}),
    (".{ .width = width, ", ".h", {"width", "height"})])
@pytest.mark.parametrize("rest", ["", " = 1 });"])
def test_completion_of_the_parameters_of_a_file(client, project, before, typed, wants, rest):
    at = LAYOUT.index(before) + len(before)
    text = LAYOUT[:at] + typed + rest + LAYOUT[LAYOUT.index("\n", at):]
    doc = client.open(project / "layout.csl", text)
    found = labels(client, doc, doc.place(before + typed, len(before + typed)))
    assert wants <= set(found) and "twice" not in found


def test_fields_of_other_literals_are_no_parameters(client, project):
    text = LAYOUT.replace("  @export_name", "  const other = .{ .s };\n  @export_name")
    doc = client.open(project / "layout.csl", text)
    assert labels(client, doc, doc.place(".{ .s }", 5)) == {}


@pytest.mark.parametrize("typed, wants, others", [
    ("@mov32(a, b, .{ .", {"async", "activate", "on_control"}, {"extent", "save_address"}),
    ("@fmacs(a, a, b, f(.{1}), .{\n    .async = true, .act", {"activate", "index"}, {"extent"}),
    ("@load_to_dsr(a, b, .{ .", {"async", "save_address"}, {"index"}),
    ("const d = @get_dsd(fabin_dsd, .{ .extent = n[f(1)], .", {"input_queue"}, {"control"}),
    ("const d = @get_dsd( fabout_dsd , .{ .", {"output_queue", "control"}, {"input_queue"}),
    ("const d = @get_dsd(mem4d_dsd, .{ .", {"tensor_access"}, {"input_queue"}),
    ("const d = @get_dsd(fabout_dsd, .{ .simd_mode = .{ .", {"simd_off"}, {"output_queue"}),
    ("@set_color_config(0, 0, c, .{ .", {"routes", "switches", "filter"}, {"rx"}),
    ("@set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .", {"tx"}, {"routes"}),
    ("@set_color_config(0, 0, c, .{ .routes = r, .switches = .{ .pos1 = .{ .", {"tx", "invalid"},
     {"pos1"}),
    ("@set_local_color_config(c, .{ .filter = .{ .", {"kind", "limit2", "min_idx"}, {"rx"}),
    ("@initialize_queue(q, .{ .color = c, .priority = .{.", {"high", "low"}, {"color"}),
    ("@fnorms(&x, .{ .", set(), {"async"}), ("@assert(.{ .", set(), {"async"}), ("const o = .{ .", set(), {"async"})])
@pytest.mark.parametrize("rest", ["", " });"])
def test_completion_of_settings(client, project, typed, wants, others, rest):
    doc = client.open(project / "pe.csl", PE.replace("  point.first = twice;", "  " + typed + rest))
    found = labels(client, doc, doc.place("  " + typed, len(typed) + 2))
    assert wants <= set(found) and not others & set(found)


def test_a_setting_says_what_it_is_for(client, project):
    text = PE.replace("  point.first = twice;", "  @mov32(a, b, .{ .async = true, .other = 1 });")
    doc = client.open(project / "pe.csl", text)
    item = labels(client, doc, doc.place(".async", 1))["async"]
    assert item["detail"] == "BOOL" and "background" in item["documentation"]["value"]
    shown = hover(client, doc, ".async", 2)
    assert ".async = BOOL" in shown and "background" in shown and "DSD operation" in shown
    assert client.ask("hover", doc, doc.place(".other", 2)) is None


def test_completion_of_builtins(client, project):
    doc = client.open(project / "pe.csl")
    found = labels(client, doc, doc.place("@zeros", 3))
    assert found["@zeros"]["detail"].startswith("@zeros(ARRAY_TYPE)") and "add" not in found


@pytest.mark.parametrize("typed,wants", [
    ("math.", {"abs", "sqrt"}), ("math.a", {"abs"}), ("other.", {"count"}),
    ("point.", {"first", "second"}), ("mode = Mode.", {"off", "on"})])
@pytest.mark.parametrize("end", [";", ""])
def test_completion_of_members(client, project, typed, wants, end):
    text = PE.replace("  point.first = twice;", "  " + typed + end)
    doc = client.open(project / "pe.csl", text)
    place = doc.place("  " + typed, len(typed) + 2)
    assert wants <= set(labels(client, doc, place))


def test_completion_of_a_member_in_a_list_that_goes_on(client, project):
    text = PE.replace("add(1.5, other.count);", "add(point.se\n    other.count);")
    doc = client.open(project / "pe.csl", text)
    assert {"first", "second"} <= set(labels(client, doc, doc.place("add(point.se", 12)))


@pytest.mark.parametrize("typed,label,active,parameter", [
    ("add(", "fn add(amount: f32, times: u16) void", 0, "amount: f32"),
    ("add(f(1, 2), ", "fn add(", 1, "times: u16"), ("@zeros(", "@zeros(", 0, "ARRAY_TYPE"),
    ("math.abs(", "fn abs(", 0, "x: anytype"), ("@as(u16, ", "@as(TYPE, VALUE)", 1, "VALUE")])
def test_signature(client, project, typed, label, active, parameter):
    """An editor finds the label of the parameter in that of the signature and marks it."""
    doc = client.open(project / "pe.csl", PE.replace("  point.first = twice;", "  " + typed))
    help_ = client.ask("signatureHelp", doc, doc.place("  " + typed, len(typed) + 2))
    shown = help_["signatures"][help_["activeSignature"]]
    assert shown["label"].startswith(label) and help_["activeParameter"] == active
    assert shown["parameters"][active] == {"label": parameter}


def test_correction(client, project):
    doc = client.open(project / "pe.csl", PE.replace("= twice", "= twicee"))
    message, = client.wait(doc)
    action = client.ask("codeAction", doc, range=message["range"], context={"diagnostics": []})[0]
    assert action["kind"] == "quickfix"
    assert apply(doc.text, action["edit"]["changes"][doc.uri]) == PE


# ---- views --------------------------------------------------------------------------------------

def test_semantic_tokens(client, project):
    doc = client.open(project / "pe.csl")
    data = client.ask("semanticTokens/full", doc)["data"]
    types = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    line = unit = 0
    seen = set()
    for row in zip(*[iter(data)] * 5):
        line, unit = line + row[0], (unit if row[0] == 0 else 0) + row[1]
        where = {"start": {"line": line, "character": unit},
                 "end": {"line": line, "character": unit + row[2]}}
        seen.add((text_at(doc, where), types[row[3]]))
    assert {("add", "function"), ("math", "namespace"), ("abs", "function"), ("size", "parameter"),
            ("i", "variable"), ("amount", "parameter"), ("@zeros", "macro"),
            ("on", "enumMember")} <= seen


def test_outline_and_workspace(client, project):
    doc = client.open(project / "pe.csl")
    outline = {s["name"]: s for s in client.ask("documentSymbol", doc)}
    assert {"size", "Mode", "values", "add", "main"} <= set(outline)
    assert outline["values"]["detail"] == "[6]f32" and outline["add"]["kind"] == 12
    found = client.request("workspace/symbol", {"query": "cnt"})
    assert [f["name"] for f in found] == ["count"]


def test_folding(client, project):
    doc = client.open(project / "pe.csl")
    folds = {(f["startLine"], f["endLine"]) for f in client.ask("foldingRange", doc)}
    lines = doc.text.split("\n")
    start = lines.index("fn main() void {")
    assert (start, start + 4) in folds


def test_formatting(client, project):
    ugly = PE.replace("const twice = size * 2", "const  twice=size*2").replace("u16) void", "u16)void")
    doc = client.open(project / "pe.csl", ugly)
    assert apply(ugly, client.ask("formatting", doc, options={})) == PE
    client.change(doc, PE)
    assert client.ask("formatting", doc, options={}) == []
    client.change(doc, PE + "fn (")
    assert client.ask("formatting", doc, options={}) is None


def test_hints(client, project):
    doc = client.open(project / "pe.csl")
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
    hints = client.ask("inlayHint", doc, range=everything)
    shown = {(h["position"]["line"], h["label"]) for h in hints}
    call = doc.place("add(1.5")["line"]
    assert {(call, "amount:"), (call, "times:"), (doc.place("const twice")["line"], "= 12")} <= shown


def test_hints_of_descriptors_name_variables(client, project):
    """Where variables lie is not decided while the text is checked."""
    doc = client.open(project / "pe.csl", PE + """
const near = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> values[i] });
const far = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> values[2 * i + 1] });
const ends = @set_dsd_base_addr(near, &other_values);
var other_values = @zeros([4]f32);
fn use() void { @fmovs(near, far); @fmovs(ends, far); }
comptime { @export_symbol(use); }
""")
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
    shown = {(h["position"]["line"], h["label"])
             for h in client.ask("inlayHint", doc, range=everything)}
    line = lambda name: doc.place(f"const {name} =")["line"]
    assert {(line("near"), "= mem1d base=values length=4 stride=1"),
            (line("far"), "= mem1d base=values+4 length=2 stride=2"),
            (line("ends"), "= mem1d base=other_values length=4 stride=1")} <= shown


# ---- cycles -------------------------------------------------------------------------------------

WORK = """\
var sum: u16 = 0;
fn work() void {
  for (@range(u16, 10)) |i| {
    sum += i;
  }
}
fn main() void { work(); }
comptime { @export_symbol(main); }
"""


@pytest.fixture
def profiled(tmp_path):
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "work.csl", .{});\n'
        '  @export_name("main", fn() void); }\n')
    (tmp_path / "work.csl").write_text(WORK)
    harness.run([harness.tool("cslc"), "layout.csl", "-o", "p.bin"], cwd=tmp_path)
    harness.run([harness.tool("wse-emu"), "p.bin", "--launch=main", "--profile=profile.json"],
                cwd=tmp_path)
    return tmp_path


def cycle_hints(client, doc):
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
    hints = client.ask("inlayHint", doc, range=everything)
    return {h["position"]["line"]: h["label"] for h in hints if " cycle" in h["label"]}


def test_cycles_of_the_last_run(client, profiled):
    rows = json.loads((profiled / "profile.json").read_text())
    doc = client.open(profiled / "work.csl")
    wants = {row["line"] - 1: f"{row['cycles']} cycles, {100 * row['cycles'] / rows['cycles']:.1f} %"
             for row in rows["lines"]}
    assert len(wants) >= 2 and cycle_hints(client, doc) == wants
    in_work = sum(row["cycles"] for row in rows["lines"] if 2 <= row["line"] <= 6)
    assert f"last run: {in_work} cycles" in hover(client, doc, "work() void", 1)


def test_a_single_cycle_is_no_plural(client, profiled):
    rows = json.loads((profiled / "profile.json").read_text())
    rows["lines"][0]["cycles"] = 1
    (profiled / "profile.json").write_text(json.dumps(rows))
    hints = cycle_hints(client, client.open(profiled / "work.csl"))
    assert hints[rows["lines"][0]["line"] - 1].startswith("1 cycle, ")


def test_cycles_of_another_text_are_not_shown(client, profiled):
    doc = client.open(profiled / "work.csl")
    assert cycle_hints(client, doc)
    client.change(doc, "\n" + WORK)
    client.wait(doc)
    assert not cycle_hints(client, doc)
    (profiled / "profile.json").write_text('{"lines": [{"line": -1}, 5, {"file": 7}]}')
    client.change(doc, WORK)
    client.wait(doc)
    assert not cycle_hints(client, doc)


def test_the_project_names_the_profile(client, profiled):
    (profiled / "profile.json").rename(profiled / "last.json")
    (profiled / "csl.json").write_text(
        json.dumps({"programs": [{"layout": "layout.csl", "profile": "last.json"}]}))
    doc = client.open(profiled / "work.csl")
    assert cycle_hints(client, doc)


ABLE = {"workspace": {"inlayHint": {"refreshSupport": True},
                      "semanticTokens": {"refreshSupport": True},
                      "didChangeWatchedFiles": {"dynamicRegistration": True}}}


def changed(client, path):
    client.notify("workspace/didChangeWatchedFiles",
                  {"changes": [{"uri": path.as_uri(), "type": 2}]})


def test_cycles_are_shown_as_soon_as_there_are_any(profiled):
    """The server asks the client to watch files, and to ask for hints again."""
    profile = profiled / "profile.json"
    kept = profile.read_text()
    profile.unlink()
    with Client(capabilities=ABLE) as client:
        watched, = client.wait_asked("client/registerCapability")["registrations"]
        assert watched["method"] == "workspace/didChangeWatchedFiles"
        doc = client.open(profiled / "work.csl")
        client.wait_asked("workspace/inlayHint/refresh")
        client.wait_asked("workspace/semanticTokens/refresh")
        assert not cycle_hints(client, doc)
        changed(client, profiled / "out.json")            # of no concern
        client.change(doc, WORK + "\n")
        client.wait(doc)
        client.change(doc, WORK)
        assert not cycle_hints(client, doc) and client.asked == []
        profile.write_text(kept)
        changed(client, profile)
        client.wait_asked("workspace/inlayHint/refresh")
        assert cycle_hints(client, doc)


def test_another_open_file_gets_new_hints(profiled):
    """The value of a parameter is in the layout."""
    (profiled / "work.csl").write_text("param n: u16;\n" + WORK.replace("u16 = 0", "u16 = n"))
    layout = (profiled / "layout.csl").read_text().replace('"work.csl", .{}', '"work.csl", .{ .n = 3 }')
    (profiled / "layout.csl").write_text(layout)
    with Client(capabilities=ABLE) as client:
        work, main = client.open(profiled / "work.csl"), client.open(profiled / "layout.csl")
        client.wait(main)
        client.asked.clear()
        client.change(main, layout.replace(".n = 3", ".n = 5"))
        client.wait_asked("workspace/inlayHint/refresh")
        everything = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        assert [h["label"] for h in client.ask("inlayHint", work, range=everything)] == ["= 5"]


def test_a_client_that_is_not_able_is_asked_nothing(client, profiled):
    doc = client.open(profiled / "work.csl")
    client.wait(doc)
    changed(client, profiled / "profile.json")
    client.wait(doc)
    assert cycle_hints(client, doc) and client.asked == []


# ---- bad input ----------------------------------------------------------------------------------

def test_mistakes_of_the_protocol(client, project):
    assert client.request_raw("textDocument/hover", {})["result"] is None
    assert client.request_raw("nonsense/method", {})["error"]["code"] == -32601
    assert client.request_raw("textDocument/unknown", {})["result"] is None
    client.notify("nonsense", {"x": 1})
    client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///none", "version": 2},
                                             "contentChanges": [{"text": 5}]})
    doc = client.open(project / "other.csl")
    client.notify("textDocument/didChange", {
        "textDocument": {"uri": doc.uri, "version": 2}, "contentChanges": [{
            "range": {"start": {"line": 1, "character": 6}, "end": {"line": 0, "character": 0}},
            "text": "re"}]})          # its end is in front of its start: nothing is replaced
    symbols = client.request("textDocument/documentSymbol", {"textDocument": {"uri": doc.uri}})
    assert [symbol["name"] for symbol in symbols] == ["recount"]
    client.notify("textDocument/didChange", {"textDocument": {"uri": doc.uri, "version": 3},
                                             "contentChanges": [{"text": OTHER}]})
    for body in (b"{", b"[]", b"{}", b'{"id": 1}', b'"x"', b'{"method": 5, "id": {}}'):
        client.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    doc = client.open(project / "pe.csl")
    bad = {"line": -5, "character": 10 ** 12}
    for what in ("hover", "definition", "completion", "signatureHelp", "references", "rename"):
        client.request_raw("textDocument/" + what, {"textDocument": {"uri": doc.uri},
                                                    "position": bad, "newName": 5})
    assert client.wait(doc) == []


def mutated(message, choice):
    """The message with some bytes changed, or some values exchanged for others."""
    if choice.random() < 0.5:
        body = bytearray(json.dumps(message).encode())
        for _ in range(choice.randrange(1, 4)):
            body[choice.randrange(len(body))] = choice.randrange(256)
        return bytes(body)

    def changed(value):
        if choice.random() < 0.15:
            return choice.choice([None, -1, 10 ** 18, 1.5, "", "file:///", [], {}, True, "x" * 300])
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, list) else value
    return json.dumps({**message, "params": changed(message["params"])}).encode()


def test_changed_messages_do_no_harm(client, project):
    choice = random.Random(21)
    doc = client.open(project / "pe.csl")
    client.wait(doc)
    document = {"uri": doc.uri, "version": 2}
    where = {"start": {"line": 3, "character": 2}, "end": {"line": 5, "character": 4}}
    questions = ("hover", "definition", "references", "documentHighlight", "rename",
                 "prepareRename", "completion", "signatureHelp", "semanticTokens/full",
                 "documentSymbol", "foldingRange", "formatting", "inlayHint",
                 "codeAction")
    for number in range(400):
        message = {"jsonrpc": "2.0", "id": f"fuzz{number}",
                   "method": "textDocument/" + choice.choice(questions),
                   "params": {"textDocument": document, "position": where["start"], "range": where,
                              "newName": "y", "context": {"includeDeclaration": True}}}
        if choice.random() < 0.3:
            message = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": document, "contentChanges": [{"range": where, "text": "x y"}]}}
        body = mutated(message, choice)
        client.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    client.close_document(doc)
    again = client.open(project / "pe.csl")
    assert client.wait(again) == []
    assert "fn add" in hover(client, again, "add(1.5", 1)


def test_requests_before_initialize_and_after_shutdown():
    client = Client(initialize=False)
    assert client.request_raw("shutdown", None)["error"]["code"] == -32002
    client.request("initialize", {})
    client.request("shutdown", None)
    assert client.request_raw("textDocument/hover", {})["error"]["code"] == -32600
    client.notify("exit", None)
    assert client.process.wait(30) == 0


def test_a_header_without_a_length_ends_the_server():
    client = Client()
    client.send_raw(b"Nonsense: 1\r\n\r\n{}")
    assert client.process.wait(30) == 1


def test_a_child_that_dies_is_started_again(client, project):
    doc = client.open(project / "pe.csl")
    client.wait(doc)
    children = harness.run(["pgrep", "-P", client.process.pid]).out.split()
    assert children
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    client.request_raw("textDocument/hover", {"textDocument": {"uri": doc.uri},
                                              "position": doc.place("add(1.5", 1)})
    assert "fn add" in hover(client, doc, "add(1.5", 1)


def checked(project, text):
    (project / "pe.csl").write_text(text)
    ran = harness.cslc("--check", "layout.csl", "--arch=wse3", "--fabric-dims=12,4",
                       "--fabric-offsets=4,1", "--params=width:3", "--memcpy", "--channels=1",
                       "--diag-format=json", cwd=project, expect=None)
    rows = [json.loads(line) for line in ran.err.splitlines()]
    return sorted((r["line"], r["id"]) for r in rows if r["file"].endswith("pe.csl"))


def test_random_edits_leave_the_messages_of_a_fresh_check(client, project):
    choice = random.Random(20)
    doc = client.open(project / "pe.csl")
    for _ in range(60):
        text = doc.text if choice.random() < 0.8 else PE
        at = choice.randrange(len(text))
        cut = choice.randrange(0, 6)
        new = choice.choice(["", "x", ";", "}", "{", "(", " 1 ", "\n", "\u00e9", "\U0001f600", "@as("])
        client.change(doc, text[:at] + new + text[at + cut:])
        messages = client.wait(doc)
        got = sorted((m["range"]["start"]["line"] + 1, m["code"]) for m in messages
                     if m["source"] == "cslc")
        assert got == checked(project, doc.text)
        client.ask("completion", doc, client.position(doc.text, min(at, len(doc.text))))


def test_command_line():
    assert "usage" in harness.run([harness.tool("csl-ls"), "--help"]).out
    assert "csl-ls" in harness.run([harness.tool("csl-ls"), "--version"]).out
    harness.run([harness.tool("csl-ls"), "--nonsense"], expect=2)
