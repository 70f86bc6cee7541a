"""cslc --check-indices: a run ends where an index that it computes is outside its dimension."""
import re

import pytest

import harness

LAYOUT = """layout {{
  @set_rectangle(3, 1);
  for (@range(u16, 3)) |x| @set_tile_code(x, 0, "pe.csl", .{{ .place = x }});
  @export_name("i", {type}, true);
  @export_name("out", u8, true);
}}
"""
PE = """param place: u16;
const Part = struct {{ before: u8, a: [2]u8 }};
var array: {dimensions}u8;
var parts: [3]Part;
var i: {type} = 0;
var out: u8 = 1;
fn test_index() void {{ {code} out = 2; }}
const id = @get_local_task_id(9);
task main() void {{ test_index(); }}
comptime {{
  @bind_local_task(main, id);
  @activate(id);
  @export_symbol(i);
  @export_symbol(out);
}}
"""
OPTIONS = ["-O0", "-O1", "-O2"]
ENGINES = ["fast", "reference"]


def compiled(folder, type, dimensions, code, *options):
    """The image of tiles that carries out the code."""
    texts = {"type": type, "dimensions": dimensions, "code": code}
    (folder / "layout.csl").write_text(LAYOUT.format(**texts))
    (folder / "pe.csl").write_text(PE.format(**texts))
    image = folder / "p.bin"
    harness.cslc("layout.csl", "-o", image, *options, cwd=folder)
    return image


def outcome(image, index, engine="fast"):
    """The code's end, or what the run says of an index."""
    ran = harness.emu(image, f"--engine={engine}", f"--h2d=i@0,0,1,1={index}", "--run",
                      "--print=out:1@0,0,1,1", expect=None)
    found = re.search(r"assertion failed: (index .*) \[ASSERT\]\n  at pe\.csl:\d+,", ran.err)
    assert ran.code == (2 if found else 0), ran.err
    return found[1] if found else harness.values(ran.out, "out")[0, 0][0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("level", OPTIONS)
@pytest.mark.parametrize("code", ["array[0, i] = 5;", "array[i, 0] += 1;", "out = array[i, i];",
                                  "const p = &array[1, i]; p.* = 3;",
                                  "const p = &array; p.*[i, 1] = 3;"])
def test_each_dimension_has_its_bound(tmp_path, code, level, engine):
    """An index of 2 stays in the array as a whole, in most of these."""
    image = compiled(tmp_path, "i16", "[2, 2]", code, level, "--check-indices")
    outside = "index 'i' is from 0 to 1"
    assert [outcome(image, i, engine) for i in (0, 1, 2, -1)] == [2, 2, outside, outside]


@pytest.mark.parametrize("type, dimension, inside, outside", [
    ("u8", 200, [0, 199], [200, 255]), ("u8", 300, [0, 255], []),
    ("i8", 100, [0, 99], [100, 127, -1, -128]), ("i8", 200, [0, 127], [-1, -100, -128]),
    ("u16", 40000, [0, 39999], [40000, 65535]), ("i16", 40000, [0, 32767], [-1, -25536, -32768]),
    ("u32", 40000, [0, 39999], [40000, 65536, 2**32 - 1]),
    ("i32", 300, [0, 299], [300, 65536, -1, -2**31]),
    ("u64", 300, [0, 299], [300, 2**16, 2**32, 2**64 - 1]),
    ("i64", 300, [0, 299], [300, 2**16, 2**32, -1, -2**63])])
def test_an_index_of_each_type(tmp_path, type, dimension, inside, outside):
    """No bit is lost before the comparison."""
    image = compiled(tmp_path, type, f"[{dimension}]", "array[i] = 5;", "--check-indices")
    assert [outcome(image, i) for i in inside] == [2 for i in inside]
    assert [outcome(image, i) for i in outside] == [f"index 'i' is from 0 to {dimension - 1}"
                                                   for i in outside]


def test_an_index_of_another_width(tmp_path):
    image = compiled(tmp_path, "i32", "[300]", "const k = @as(i24, i); array[k] = 5;",
                     "--check-indices")
    assert [outcome(image, i) for i in (0, 299)] == [2, 2]
    assert [outcome(image, i) for i in (300, -1)] == ["index 'k' is from 0 to 299"] * 2


@pytest.mark.parametrize("code, index, message", [
    ("out = parts[1].a[i];", 2, "index 'i' is from 0 to 1"),
    ("out = parts[i].a[1];", 3, "index 'i' is from 0 to 2"),
    ("out = array[0,\n  i\n   + 1];", 1, "index 'i + 1' is from 0 to 1"),
    ("out = array[i, 1]; out = array[1, i + 1];", 1, "index 'i + 1' is from 0 to 1"),
    ("for (@range(i16, i)) |k| { array[0, k] = 1; }", 3, "index 'k' is from 0 to 1")])
def test_the_message_names_the_index(tmp_path, code, index, message):
    image = compiled(tmp_path, "i16", "[2, 2]", code, "--check-indices")
    assert outcome(image, index) == message and outcome(image, 0) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_word_of_the_tile_as_an_index(tmp_path, engine):
    """A parameter with another value on each tile; the third tile has none that is inside."""
    image = compiled(tmp_path, "i16", "[2, 2]", "array[0, place] = 1;", "--check-indices")
    ran = harness.emu(image, f"--engine={engine}", "--run", expect=2)
    assert "P2.0: assertion failed: index 'place' is from 0 to 1 [ASSERT]" in ran.err
    assert "likewise" not in ran.err


def test_the_report_says_where_the_assertion_comes_from(tmp_path):
    image = compiled(tmp_path, "u16", "[2, 2]", "array[0, i] = 5;", "--check-indices")
    ran = harness.emu(image, "--h2d=i@0,0,1,1=2", "--run", expect=2)
    assert "  note: cslc --check-indices has put this assertion here\n" in ran.err


def test_a_pointer_to_many_has_no_bound(tmp_path):
    """An index that the compiler knows needs no assertion either."""
    code = "const p = @ptrcast([*]u8, &array); p[i] = 1; array[1, 1] = 2;"
    images = [compiled(tmp_path, "u16", "[2, 2]", code, *options).read_bytes()
              for options in ([], ["--check-indices"])]
    assert images[0] == images[1]


def test_without_the_option_an_index_costs_nothing(tmp_path):
    image = compiled(tmp_path, "u16", "[2, 2]", "array[0, i] = 5;")
    assert outcome(image, 2) == 2
