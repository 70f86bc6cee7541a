"""Section `debug` of the image: variables printed by their types, and that code does not depend on
it."""
import re

import pytest

import harness

LAYOUT = """
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .id = 3 });
  @set_tile_code(1, 0, "pe.csl", .{ .id = 4 });
  @export_name("main", fn(i16)void);
}
"""
PE = """
param id: i16;
const Mode = enum(u16) { idle, red = 5, blue };
const Point = struct { x: f32, y: i16, m: Mode };
const Bits = packed struct { a: u3, b: bool, c: i5 };
var pending: u16 = 4;
var mode: Mode = Mode.red;
var p: Point = .{ .x = 1.5, .y = -2, .m = Mode.blue };
var pair = [2]Point{.{ .x = 0.0, .y = 1, .m = Mode.idle }, .{ .x = 0.0, .y = 0, .m = Mode.red }};
var bits: Bits = .{ .a = 5, .b = true, .c = -3 };
var table = [2, 3]i16{1, 2, 3, 4, 5, 6};
var zeros = @zeros([20]f32);
var ptr: *f32 = &result;
var ok: bool = true; const Sign = enum(i16) { minus = -3, plus = 3 }; var sign: Sign = Sign.minus;
var h: f16 = 0.25;
var w: u64 = 0x123456789abcdef0;
var result: f32 = 0.0;
var dsd: mem1d_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{10} -> zeros[i] });
fn scale(n: i16) i16 {
  var twice = n * 2;
  const more = twice + id;
  pending += @as(u16, more);
  return more;
}
fn main(n: i16) void {
  var sum: i16 = 0;
  for (@range(i16, 3)) |i| {
    sum += scale(i + n);
    table[1, i] = sum;
  }
  result = @as(f32, sum);
  pair[1].y = sum;
  zeros[3] = result;
  @fmovs(@increment_dsd_offset(dsd, 10, f32), 0.5);
  if (pending > 100) {
    mode = Mode.idle; sign = Sign.plus; p.y += 1; bits.a += 1; w += 1; ok = !ok; h += 1.0; ptr.* += 1.0;
  }
}
comptime { @export_symbol(main); }
"""
VALUES = {
    "pending": "31", "mode": "red", "p": "{ .x = 1.5, .y = -2, .m = blue }",
    "pair": "{ { .x = 0, .y = 1, .m = idle }, { .x = 0, .y = 27, .m = red } }",
    "bits": "{ .a = 5, .b = true, .c = -3 }", "table": "{ { 1, 2, 3 }, { 7, 16, 27 } }",
    "ok": "true", "sign": "minus", "h": "0.25", "w": "1311768467463790320", "result": "27",
    "zeros": "{ 0, 0, 0, 27, 0 <6 times>, 0.5 <10 times> }",
}


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


@pytest.fixture
def image(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)

    def compiled(*options):
        out = tmp_path / "p.bin"
        harness.compile(tmp_path / "layout.csl", out, *options)
        return out
    return compiled


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_print_shows_typed_values_of_variables(image, level, engine):
    prints = [f"--print={name}@0,0,1,1" for name in VALUES]
    out = harness.emu(image(level), engine, "--launch=main(2)", *prints).out.splitlines()
    assert out == [f"{name}@0,0: {text}" for name, text in VALUES.items()]


def test_a_variable_is_printed_whole(image):
    ran = harness.emu(image(), "--print=table:2", expect=1)
    assert ran.out == "" and "'table' is a variable that the program does not export" in ran.err
    assert "[variable_count]" in ran.err, ran.err
    ran = harness.emu(image(), "--print=tables:2", expect=1)
    assert "the program exports no 'tables' [symbol_unknown]" in ran.err, ran.err


def test_a_name_of_several_variables_is_refused(tmp_path):
    """Each import of a file has variables of its own: the name alone does not say which."""
    (tmp_path / "layout.csl").write_text("""layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "one.csl", .{});
  @set_tile_code(1, 0, "two.csl", .{});
  @export_name("main", fn()void);
}
""")
    (tmp_path / "part.csl").write_text("var count: u16 = 1; fn step() void { count += 1; }\n")
    export = "comptime { @export_symbol(main); }\n"
    (tmp_path / "one.csl").write_text(
        'const a = @import_module("part.csl");\nfn main() void { a.step(); }\n' + export)
    (tmp_path / "two.csl").write_text(
        'const b = @import_module("part.csl");\nconst c = @import_module("part.csl");\n'
        'fn main() void { b.step(); c.step(); c.step(); }\n' + export)
    image = tmp_path / "p.bin"
    harness.compile(tmp_path / "layout.csl", image)
    assert harness.emu(image, "--launch=main", "--print=count@0,0,1,1").out == "count@0,0: 2\n"
    refused = harness.emu(image, "--launch=main", "--print=count", expect=1)
    assert refused.out == "" and "[symbol_choices]" in refused.err
    names = re.search(r"several variables of tile 1,0 have the name 'count': (\S+), (\S+) ",
                      refused.err).groups()
    printed = harness.emu(image, "--launch=main", *(f"--print={n}@1,0,1,1" for n in names)).out
    assert sorted(re.findall(r": (\d+)$", printed, re.M)) == ["2", "3"]
    absent = ({"b", "c"} - {n.partition(".")[0] for n in names}).pop()
    told = harness.emu(image, f"--print={absent}.count", expect=1).err
    assert "[variable_of_import]" in told and "by the name of the file: part.count" in told


def test_pointers_are_shown_with_what_they_point_to(image):
    ran = harness.emu(image(), "--launch=main(2)", "--print=ptr@1,0,1,1")
    assert re.fullmatch(r"ptr@1,0: 0x[0-9a-f]{4} \(&result\)\n", ran.out)


def test_types_with_pointers_to_themselves(tmp_path):
    """A dump names the type, and a debugger follows the pointers."""
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text("""
param id: i16;
const Node = struct { value: i16, next: *Node, owner: *Owner };
const Owner = struct { first: [2]*Node, size: u16 };
var a: Node = .{ .value = 1, .next = &b, .owner = &all };
var b: Node = .{ .value = 2, .next = &a, .owner = &all };
var all: Owner = .{ .first = .{ &a, &b }, .size = 2 };
fn main(n: i16) void { b.value += n + id; }
comptime { @export_symbol(main); }
""")
    image = tmp_path / "p.bin"
    harness.compile(tmp_path / "layout.csl", image)
    out = harness.emu(image, "--launch=main(2)", "--dump=0,0,1,1").out
    address = r"0x[0-9a-f]{4}"
    for line in (rf"  a: Node = {{ .value = 1, .next = {address} \(&b\), .owner = {address} \(&all\) }}",
                 rf"  all: Owner = {{ .first = {{ {address} \(&a\), {address} \(&b\) }}, .size = 2 }}"):
        assert re.search(f"^{line}$", out, re.M), out
    (tmp_path / "script").write_text("tile 0 0\nprint all.first[0].*.next.*.owner.*.first[1].*.value\n")
    ran = harness.run([harness.tool("wse-dbg"), image, "-x", tmp_path / "script"])
    assert "= 2" in ran.out, ran.out


def test_dump_shows_typed_values(image):
    out = harness.emu(image(), "--launch=main(2)", "--dump=0,0,1,1").out
    for line in ("  pending: u16 = 31", "  mode: Mode = red", "  ok: bool = true",
                 f"  zeros: [20]f32 = {VALUES['zeros']}"):
        assert line in out.splitlines()


def test_g0_leaves_it_out(image):
    """Then only exported symbols have types, and a dump shows bytes."""
    out = harness.emu(image("-g0"), "--launch=main(2)", "--dump=0,0,1,1").out
    assert re.search(r"^  pending: u16\n    0x[0-9a-f]{4}: 1f00$", out, re.M)
    ran = harness.emu(image("-g0"), "--print=pending", expect=1)
    assert "symbol_unknown" in ran.err


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
@pytest.mark.parametrize("sample,params", (
    ("gemv", "width:4,height:4,M:16,N:16"), ("reduce-tree", "P:8,B:16"), ("axpy", "width:3,height:2,N:4"),
    ("packets", "packets:3")))
def test_code_does_not_depend_on_it(sample, params, level):
    source = harness.SAMPLES / sample / "layout.csl"
    asm = [harness.cslc(source, level, f"--params={params}", "--emit=asm", *given).out
           for given in ((), ("-g0",))]
    assert asm[0] == asm[1] and "endtask" in asm[0]


def test_what_debug_information_adds_to_images(tmp_path):
    """docs/image.md, of the samples with the parameters of their READMEs."""
    page = " ".join((harness.ROOT / "docs" / "image.md").read_text().split())
    added = {}
    for name in ("hello-wavelet", "packets", "gemv", "gemm"):
        folder = harness.ROOT / "samples" / name
        params = re.search(r"^cslc \S+( --params=\S+)?", (folder / "README.md").read_text(), re.M)
        sizes = []
        for flags in ((), ("-g0",)):
            harness.cslc(f"samples/{name}/layout.csl", *(params[1] or "").split(), *flags,
                         "-o", tmp_path / "p.bin", cwd=harness.ROOT)
            sizes.append((tmp_path / "p.bin").stat().st_size)
        added[name] = round(100 * (sizes[0] / sizes[1] - 1))
    assert ("it adds {} % to the image of hello-wavelet, {} % to that of packets, {} % to that of gemv, "
            "and {} % to that of gemm".format(*added.values())) in page, added
