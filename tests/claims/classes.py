#!/usr/bin/python3
"""512 tiles: 512 forced outcomes compile in under 3 s; a parameter that is only used at run time
and in initial data leaves one class and compiles in under 0.3 s.

Short form: test_layout_scale.py::test_every_tile_has_the_class_of_its_parameters.
"""
import time

from claims import Claims, harness

LAYOUT = """
layout {
  @set_rectangle(512, 1);
  for (@range(u16, 512)) |p| {
    @set_tile_code(p, 0, "pe.csl", .{ .p = p });
  }
  @export_name("v", [*]f32, true);
  @export_name("w", u16, true);
}
"""

COMMON = """
param p: u16;
var v_ptr: [*]f32 = &v;
export var w: u16 = 0;
const main_id = @get_local_task_id(8);
task main() void {
  w = body();
}
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
  @export_symbol(v_ptr, "v");
  @export_symbol(w, "w");
}
"""

# The parameter is an array size and a taken branch: each tile is its own program.
FORCED = COMMON + """
var v = @constants([p + 1]f32, 1.5);
fn body() u16 {
  if (p % 2 == 0) {
    return @as(u16, v[p]) + p;
  }
  return p;
}
"""

# The parameter stands in an expression at run time and in initial data: one program.
FREE = COMMON + """
fn initial() [8]f32 {
  var values = @zeros([8]f32);
  for (@range(u16, 8)) |i| {
    values[i] = @as(f32, p + i);
  }
  return values;
}
var v: [8]f32 = initial();
fn body() u16 {
  return 3 * p + @as(u16, v[1]);
}
"""

# (name, program, classes, seconds, value of w on tile p)
CASES = (
    ("forced", FORCED, 512, 3.0, lambda p: p + 1 if p % 2 == 0 else p),
    ("free", FREE, 1, 0.3, lambda p: 4 * p + 1),
)


def compile_seconds(source, out):
    """The quickest of five runs: what the compiler takes, not what the machine adds."""
    seconds = []
    for _ in range(5):
        start = time.monotonic()
        harness.compile(source, out)
        seconds.append(time.monotonic() - start)
    return min(seconds)


def main():
    claims = Claims()
    for name, program, classes, limit, expected in CASES:
        folder = claims.scratch / name
        folder.mkdir()
        (folder / "layout.csl").write_text(LAYOUT)
        (folder / "pe.csl").write_text(program)
        seconds = compile_seconds(folder / "layout.csl", folder / "out")
        claims.at_most(f"{name}: compile time", seconds, limit, "s")
        claims.equals(f"{name}: classes", harness.stats(folder / "out/out.json")["classes"], classes)
        ran = harness.emu(folder / "out", "--print=w")
        wrong = [p for (p, _), value in harness.values(ran.out, "w").items()
                 if value[0] != expected(p)]
        claims.equals(f"{name}: tiles with a wrong result", len(wrong), 0)
        claims.equals(f"{name}: tiles printed", len(harness.values(ran.out, "w")), 512)
    claims.finish()


main()
