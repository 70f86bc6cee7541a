"""A failed @assert shows the values that it has compared, on both machines and at each level."""
import re

import pytest

import harness

LAYOUT = """layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }
"""
PE = """
const Mode = enum(u16) {{ red, green }};
const limit: i16 = 10;
const debug = true;
export var n: u16 = 10;
export var k: i16 = -3;
export var wide: i32 = 70000;
export var f: f32 = 1.5;
export var h: f16 = -0.25;
export var mode = Mode.green;
export var small: u8 = 200;
export var table = [4]i16{{ 1, 2, -7, 4 }};
export var far: u64 = 5;
fn twice(x: i16) i16 {{ return x + x; }}
fn check(x: u16) void {{ @assert(x < n); }}
fn both(x: i16, y: i16) bool {{ return x < y; }}
task main() void {{
  {body}
}}
comptime {{
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}}
"""
# The source, and the values that the report has.
CASES = [
    ("check(12);", "x = 12 and n = 10"),
    ("@assert(n == 3);", "n = 10"),                       # a number says what it is
    ("@assert(k > limit);", "k = -3 and limit = 10"),
    ("@assert(table[\n  2]\t == table[1]);", "table[ 2] = -7 and table[1] = 2"),
    ("@assert(limit <= k);", "limit = 10 and k = -3"),
    ("@assert(wide != 70000);", "wide = 70000"),
    ("@assert(wide < 7);", "wide = 70000"),
    ("@assert(f >= 2.0);", "f = 1.5"),
    ("@assert(f != 1.5);", "f = 1.5"),
    ("@assert(h > 0.5);", "h = -0.25"),
    ("@assert(mode == Mode.red);", "mode = green and Mode.red = red"),
    ("@assert(small < 100);", "small = 200"),
    ("@assert(table[2] == table[1]);", "table[2] = -7 and table[1] = 2"),
    ("@assert(twice(k) > table[0]);", "twice(k) = -6 and table[0] = 1"),
    ("var s: i16 = 0; for (@range(u16, n)) |i| { s += table[i]; @assert(s > -2); }", "s = -4"),
    ("for (@range(u16, n)) |i| { @assert(table[i] > 0); }", "table[i] = -7"),
    ("var i: u16 = 0; while (i < n) : (i += 4) { @assert(i < 7); }", "i = 8"),
]
WITHOUT = ["@assert(n > 3 and k > 3);", "@assert(both(4, k));", "@assert(far < 2);",
           "@assert(debug and n < 3);", "@assert(!debug or n < 3);"]


ROW = [3, 5, 8, 13, 21, 34]


def report(folder, body, level, arch, *options, more=""):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PE.format(body=body) + more)
    harness.compile(folder / "layout.csl", folder / "p.bin", f"--arch={arch}", level, *options)
    ran = [harness.run([harness.tool("wse-emu"), folder / "p.bin", f"--engine={engine}"],
                       expect=2).err for engine in ("fast", "reference")]
    assert ran[0] == ran[1] and "[ASSERT]" in ran[0]
    found = re.search(r"^  where (.*)$", ran[0], re.M)
    return found.group(1) if found else None


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
@pytest.mark.parametrize("body, values", CASES)
def test_a_failed_assertion_shows_its_values(tmp_path, body, values, level, arch):
    assert report(tmp_path, body, level, arch) == values


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
@pytest.mark.parametrize("level", ("-O1", "-O2"))
@pytest.mark.parametrize("turn", range(len(ROW) - 1))
def test_in_each_turn_of_an_unrolled_loop_the_values_are_those_of_the_turn(tmp_path, turn, level, arch):
    """What one turn has on the right, the next one has on the left."""
    row = [*ROW[:turn + 1], -ROW[turn + 1], *ROW[turn + 2:]]
    of = f"export var row = [{len(row)}]i16{{ {', '.join(map(str, row))} }};"
    each = f"for (@range(u16, {len(row) - 1})) |i|"
    for body, values in (
            ("row[i] < row[i + 1]", f"row[i] = {row[turn]} and row[i + 1] = {row[turn + 1]}"),
            ("row[i + 1] > 0", f"row[i + 1] = {row[turn + 1]}"),
            ("row[i + 1] > row[0]", f"row[i + 1] = {row[turn + 1]} and row[0] = {row[0]}")):
        assert report(tmp_path, f"{each} {{ @assert({body}); }}", level, arch, more=of) == values


@pytest.mark.parametrize("level", ("-O1", "-O2"))
def test_a_side_that_may_be_that_of_another_turn_is_left_out(tmp_path, level):
    """Two turns compare the same two values, one the other way round."""
    of = "export var row = [4]i16{ 1, 7, -7, 9 };"
    body = "for (@range(u16, 4)) |i| { @assert(row[i] <= row[3 - i]); }"
    assert report(tmp_path, body, level, "wse3", more=of) is None
    body = "for (@range(u16, 4)) |i| { @assert(n < i + 9); }"
    assert report(tmp_path, body, level, "wse3") == "n = 10"


@pytest.mark.parametrize("body", WITHOUT)
def test_other_conditions_have_no_values(tmp_path, body):
    assert report(tmp_path, body, "-O1", "wse3") is None


def test_without_debug_information_there_are_no_values(tmp_path):
    assert report(tmp_path, "check(12);", "-O1", "wse3", "-g0") is None


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_the_code_is_the_same_without_debug_information(tmp_path, level):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    bodies = [body for body, _ in CASES if "var" not in body]
    bodies.append("for (@range(u16, 4)) |i| { @assert(table[i] < limit + k); }")
    (tmp_path / "pe.csl").write_text(PE.format(body=" ".join(bodies)))
    asm = [harness.run([harness.tool("cslc"), tmp_path / "layout.csl", "--emit=asm", level, *options]).out
           for options in ([], ["-g0"])]
    assert asm[0] == asm[1]


def test_a_side_at_compile_time_prints_once(tmp_path):
    (tmp_path / "pe.csl").write_text("")
    (tmp_path / "layout.csl").write_text("""
fn after(n: i16) i16 {
  @comptime_print("after", n);
  return n + 1;
}
""" + LAYOUT.replace("{", "{ @comptime_assert(after(2) == 4);", 1))
    said = harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path, expect=1).err
    assert said.count("print: after 2") == 1 and "note: where after(2) = 3" in said


@pytest.mark.parametrize("condition, values", [
    ("@type_of(limit) == i32", "@type_of(limit) = i16"), ("mode == Mode.red", "mode = Mode.green"),
    ('text == "no"', "text = yes"), ("limit\n + 1 < 3", "limit + 1 = 11")])
def test_what_says_its_value_at_compile_time_is_left_out(tmp_path, condition, values):
    (tmp_path / "pe.csl").write_text(f"""
const Mode = enum(u16) {{ red, green }};
const mode = Mode.green;
const limit: i16 = 10;
const text = "yes";
comptime {{ @comptime_assert({condition}); }}
""")
    (tmp_path / "layout.csl").write_text(LAYOUT)
    said = harness.cslc("layout.csl", "-o", "p.bin", cwd=tmp_path, expect=1).err
    assert f"note: where {values}\n" in said


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_an_index_that_leaves_its_dimension_is_shown(tmp_path, level):
    assert report(tmp_path, "table[k] = 1;", level, "wse3", "--check-indices") == "k = -3"


@pytest.mark.parametrize("options", ([], ["--check-indices"]))
@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_no_load_leaves_a_loop_past_the_assertion_in_front_of_it(tmp_path, level, options):
    """The address is outside memory: the load would end the run before the assertion does."""
    guard = "" if options else "@assert(k >= 0);"
    report(tmp_path, f"for (@range(u16, n)) |i| {{ {guard} wide += table[k * 200]; }}", level,
           "wse3", *options)
