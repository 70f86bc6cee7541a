"""cs_readelf shows what a program image holds: checked against the listings of the compiler."""
import re
import shlex

import pytest

import harness

TILE = """
param row: u16;
export var words = @zeros([40]u32);
var where: u16 = row;
var table = [3]i16{ 1, 2, 3 };
const main_id = @get_local_task_id(8);
fn fill(n: u16) void { for (@range(u16, n)) |i| { words[i] = i + where + @as(u16, table[i % 3]); } }
task main() void { fill(40); }
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
}
"""
LAYOUT = """
param width: u16;
layout {
  @set_rectangle(width, 2);
  for (@range(u16, width)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .row = 0 });
    @set_tile_code(x, 1, "other.csl", .{});
  }
}
"""
OTHER = "export var alone: u16 = 7;\n"
SYMBOL = re.compile(r"^  (0x[0-9a-f]{4}) +(\d+) +(\S+)  (func|data)  (.*)$", re.M)


def readelf(*args, expect=0):
    return harness.run([harness.tool("cs_readelf"), *args], expect=expect)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readelf")
    for name, text in (("layout.csl", LAYOUT), ("pe.csl", TILE), ("other.csl", OTHER)):
        (folder / name).write_text(text)
    harness.compile(folder / "layout.csl", folder / "out", params={"width": 3})
    harness.compile(folder / "layout.csl", folder / "one.bin", params={"width": 3})
    return folder


def test_symbols_and_sections_are_those_of_the_compilers_map(program):
    shown = readelf("--sym", "-S", program / "one.bin").out
    classes = re.split(r"^class (?=\d+:)", shown, flags=re.M)[1:]
    listed = re.split(r"^class ", harness.cslc(
        "layout.csl", "--params=width:3", "--emit=map", cwd=program).out, flags=re.M)[1:]
    assert len(classes) == len(listed) == 2
    by_file = {text.split()[0].rsplit("/", 1)[-1]: text for text in listed}
    for text in classes:
        wanted = by_file[re.match(r"\d+: (?:.*/)?(\S+), 3 tiles, the first at P0\.\d", text)[1]]
        symbols = [(a, int(n), kind, name) for a, n, _, kind, name in SYMBOL.findall(text)]
        assert symbols and symbols == [
            (a, int(n), {"code": "func"}.get(kind, kind), name) for a, n, kind, name in
            re.findall(r"^(0x[0-9a-f]{4}) +(\d+) (\w+) (.*)$", wanted, re.M)]
        for name, address, count in re.findall(r"^(data|code|stack) +(0x\w+) +(\d+) bytes", wanted,
                                               re.M):
            assert re.search(rf"^  {address} +{count} +\S+  {name}$", text, re.M), (name, text)


def test_banks_are_parts_of_the_memory(program):
    """8 banks of 6 KB each; the stack is at the end."""
    shown = readelf("-S", program / "one.bin").out
    assert re.search(r"^  0x0000 +\d+ +0  data$", shown, re.M)
    assert re.search(r"^  0xbf\w\w +\d+ +7  stack$", shown, re.M)


def test_a_tile_is_chosen_by_option_or_by_the_name_of_an_elf_file(program):
    out = program / "out"
    whole = readelf("--sym", out).out
    upper, lower = (readelf("--sym", f"--tile=1,{y}", out).out for y in range(2))
    assert upper + lower == whole and "words: [40]u32" in upper and "alone: u16" in lower
    assert readelf("--sym", out / "bin" / "out_1_1.elf").out == lower


def test_the_sections_of_the_file_cover_it(program):
    shown = readelf("-h", "-S", program / "one.bin").out
    size = int(re.search(r"of (\d+) bytes", shown)[1])
    rows = [(int(at), int(n)) for at, n in re.findall(r"^\D+? +(\d+) +(\d+)$", shown, re.M)]
    assert size == (program / "one.bin").stat().st_size and len(rows) == 12
    for (at, n), (following, _) in zip(rows, rows[1:] + [(size, 0)]):
        assert at + n == following
    assert "machine wse2, f16, rectangle 3 x 2" in shown and "param width = 3" in shown


def test_all_of_an_image(program):
    shown = readelf(program / "out").out
    for text in ("2 classes, 1 color set of 0 configurations, 0 exports, ", "local task 8 'main'",
                 "task main, frame of", "local i: u16"):
        assert text in shown


@pytest.mark.parametrize("args, said", [
    (["nowhere.bin"], "cannot read program image 'nowhere.bin': No such file"),
    (["layout.csl"], "this is no program image"), (["/dev/zero"], "this is no program image"),
    (["--tile=3,0", "out"], "lies outside the rectangle of 3 x 2 tiles"),
    (["--tile=1,0", "--tile=1,1", "out"], "--tile is given twice, as '1,0' and as '1,1'"),
    (["-x", "out"], "no option '-x'"),
    ([], "usage: cs_readelf")])
def test_mistakes(program, args, said):
    ran = harness.run([harness.tool("cs_readelf"), *args], expect=1, cwd=program)
    assert said in ran.err and ran.out == ""


def test_output_that_does_not_arrive_is_an_error(program):
    ran = harness.run(["bash", "-c", f"{shlex.quote(harness.tool('cs_readelf'))} {program}/out > /dev/full"],
                      expect=1)
    assert "cannot write" in ran.err
