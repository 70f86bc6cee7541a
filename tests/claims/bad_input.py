#!/usr/bin/python3
"""Bad programs and bad images are refused with place and reason, and run-time findings end the
run with their exit codes.

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import re

from claims import Claims, harness

LAYOUT = """\
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{%s});
}
"""

START = """
const main_id = @get_local_task_id(8);
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
}
"""

# (name, params of the tile, program, lines at which an error must be reported)
ERRORS = (
    ("undefined name", "", "task main() void {\n  var x: i16 = nowhere;\n}\n" + START, [2]),
    ("type mismatch", "", "var a: f32 = 0.0;\ntask main() void {\n  var x: i16 = 1;\n  a = x;\n}\n"
     + START, [4]),
    ("wrong builtin argument", "", "task main() void {\n  @activate(1.5);\n}\n" + START, [2]),
    ("missing param", "", "param size: u16;\nvar a: [size]f32;\ntask main() void {\n  a[0] = 1.0;\n}\n"
     + START, [1, 2]),
    ("task bound twice", "", "task main() void {}\n" + START +
     "comptime {\n  @bind_local_task(main, main_id);\n}\n", [9]),
    ("unterminated block", "", "task main() void {\n  var x: i16 = 1;\n", [1, 2, 3]),
    ("two errors in one file", "", "task main() void {\n  var x: i16 = nowhere;\n"
     "  var y: i16 = neither;\n}\n" + START, [2, 3]),
)


def write_program(folder, params, program):
    folder.mkdir(exist_ok=True)
    (folder / "layout.csl").write_text(LAYOUT % params)
    (folder / "pe.csl").write_text(program)
    return folder / "layout.csl"


def check_errors(claims):
    for name, params, program, lines in ERRORS:
        source = write_program(claims.scratch / name.replace(" ", "-"), params, program)
        ran = harness.cslc(source, "-o", claims.scratch / "x.bin", expect=None)
        claims.equals(f"{name}: exit code", ran.code, 1)
        found = [int(m.group(1)) for m in
                 re.finditer(r"pe\.csl:(\d+):\d+: error: ", ran.err)]
        if name == "two errors in one file":
            claims.equals(f"{name}: lines with an error", found, lines)
        else:
            claims.check(f"{name}: line of the first error", found[:1], f"one of {lines}",
                         bool(found) and found[0] in lines)
        claims.check(f"{name}: caret below the source line", "^" in ran.err, "True", "^" in ran.err)


def check_images(claims):
    image = claims.scratch / "hello.bin"
    harness.compile("samples/hello-wavelet/layout.csl", image)
    good = image.read_bytes()
    bad = claims.scratch / "bad.bin"
    refused = runs = 0
    for length in range(0, len(good), max(1, len(good) // 200)):
        bad.write_bytes(good[:length])
        ran = harness.emu(bad, expect=None)
        runs += 1
        refused += ran.code == 1 and bool(ran.err.strip())
    for bit in range(0, 8 * len(good), max(1, 8 * len(good) // 400)):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        bad.write_bytes(bytes(flipped))
        ran = harness.emu(bad, expect=None)
        runs += 1
        refused += ran.code == 1 and bool(ran.err.strip())
    claims.equals("bad images refused with exit 1 and a reason", refused, runs)


COLLISION = """\
const c: color = @get_color(5);
layout {
  @set_rectangle(3, 1);
  @set_tile_code(0, 0, "send.csl", .{ .c = c });
  @set_tile_code(1, 0, "idle.csl");
  @set_tile_code(2, 0, "send.csl", .{ .c = c });
  @set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, c, .{ .routes = .{ .rx = .{ EAST, WEST }, .tx = .{ RAMP } } });
  @set_color_config(2, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ WEST } } });
}
"""
SENDER = """\
param c: color;
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1,
                                    .output_queue = @get_output_queue(2) });
task main() void {
  @mov32(out, 7);
}
""" + START
RECEIVER = """\
const c: color = @get_color(5);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 4,
                                  .input_queue = @get_input_queue(3) });
var data = @zeros([4]u32);
const data_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> data[i] });
task main() void {
  @mov32(data_dsd, in);
}
""" + START


def check_runs(claims):
    folder = claims.scratch / "collision"
    folder.mkdir()
    (folder / "layout.csl").write_text(COLLISION)
    (folder / "send.csl").write_text(SENDER)
    (folder / "idle.csl").write_text("")
    harness.compile(folder / "layout.csl", folder / "p.bin")
    ran = harness.emu(folder / "p.bin", expect=None)
    claims.equals("two wavelets meeting: exit code", ran.code, 2)
    for part in (r"cycle \d+", r"P1\.0", r"color 5"):
        claims.check(f"two wavelets meeting: report names {part}", bool(re.search(part, ran.err)),
                     "True", re.search(part, ran.err))

    source = write_program(claims.scratch / "waits", "", RECEIVER)
    harness.compile(source, claims.scratch / "w.bin")
    ran = harness.emu(claims.scratch / "w.bin", expect=None)
    claims.equals("a receive that never completes: exit code", ran.code, 3)
    for part in (r"P0\.0", r"queue 3", r"pe\.csl:7"):
        claims.check(f"a receive that never completes: report names {part}",
                     bool(re.search(part, ran.err)), "True", re.search(part, ran.err))


def main():
    claims = Claims()
    check_errors(claims)
    check_images(claims)
    check_runs(claims)
    claims.finish()


main()
