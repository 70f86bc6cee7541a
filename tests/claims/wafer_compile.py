#!/usr/bin/python3
"""Compile time and memory at the size of the wafer.

    wafer_compile.py [OLD_BIN]     OLD_BIN: programs of another build, whose processor time for tiles
                                   with coordinates is compared, by turns (median of 5)

750 x 994 tiles, one program, 4 colors configured per tile with literal structs, get_params(x) once
per column: under 5 s and 1 GB.  The same with .px and .py passed to every tile, used at run time
and in tests for the border: under 20 s, at most 9 classes.  4,096 tiles whose every parameter
forces: under 15 s.  With OLD_BIN of commit 35dd493: tiles with coordinates take at most 0.4 of its
time.

Short form: test_layout_scale.py::test_the_whole_wafer.
"""
import resource
import statistics
import subprocess
import sys
import time

from claims import Claims, build_folder, harness

LAYOUT = """
const c0: color = @get_color(0);
const c1: color = @get_color(1);
const c2: color = @get_color(2);
const c3: color = @get_color(3);
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 750, .height = 994 });
layout {
  @set_rectangle(750, 994);
  for (@range(u16, 750)) |x| {
    const params = memcpy.get_params(x);
    for (@range(u16, 994)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = params%s });
      @set_color_config(x, y, c0, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
      @set_color_config(x, y, c1, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
      @set_color_config(x, y, c2, .{ .routes = .{ .rx = .{ NORTH }, .tx = .{ RAMP, SOUTH } } });
      @set_color_config(x, y, c3, .{ .routes = .{ .rx = .{ EAST }, .tx = .{ RAMP } } });
    }
  }
  @export_name("w", [*]u16, true);
}
"""

PROGRAM = """
param memcpy_params: comptime_struct;
%s
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var w = @zeros([4]u16);
var w_ptr: [*]u16 = &w;
const main_id = @get_local_task_id(8);
task main() void {
  %s
}
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
  @export_symbol(w_ptr, "w");
}
"""

BORDER = """
  w[0] = px + 2 * py;
  if (px == 0) { w[1] = 1; }
  if (py == 0) { w[2] = 2; }
  if (px == 749) { w[1] = 3; }
  if (py == 993) { w[2] = 4; }
"""

FORCING_LAYOUT = """
layout {
  @set_rectangle(64, 64);
  for (@range(u16, 64)) |x| {
    for (@range(u16, 64)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .px = x, .py = y });
    }
  }
}
"""

FORCING_PROGRAM = """
param px: u16;
param py: u16;
var a = @zeros([px + 1]u16);
var b = @zeros([py + 1]u16);
const main_id = @get_local_task_id(8);
task main() void {
  a[px] = b[py] + 1;
}
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
}
"""

WAFER = ("--memcpy", "--fabric-dims=757,996", "--fabric-offsets=4,1")


MOST_OF_OLD, TURNS = 0.4, 5


def write_program(folder, layout, program):
    folder.mkdir()
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(program)


def write_places(folder):
    """The wafer whose tiles get their coordinates."""
    write_program(folder, LAYOUT % ", .px = x, .py = y",
                  PROGRAM % ("param px: u16;\nparam py: u16;", BORDER))


def processor_seconds(cslc, folder):
    """User and system time of the compiler for the wafer in that folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.run([cslc, folder / "layout.csl", "-o", folder / "out", *WAFER])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def part_of_old(old, folder):
    """Time over that of the programs in the folder `old`: the median of the ratios."""
    write_places(folder)
    ratios = []
    for _ in range(TURNS):
        before = processor_seconds(old / "cslc", folder)
        ratios.append(processor_seconds(harness.tool("cslc"), folder) / before)
    return statistics.median(ratios)


def compile_measured(folder, *flags):
    """Seconds, peak bytes and classes of the compilation of what the folder holds."""
    start = time.monotonic()
    # A process of its own, so that its peak is not hidden behind that of an earlier one.
    done = subprocess.run(
        [sys.executable, "-c",
         "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:]); "
         "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); "
         "sys.exit(r.returncode)",
         harness.tool("cslc"), str(folder / "layout.csl"), "-o", str(folder / "out"), *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    classes = harness.stats(folder / "out/out.json")["classes"]
    return seconds, int(done.stdout.splitlines()[-1]), classes


def main():
    claims = Claims()
    folder = claims.scratch / "one"
    write_program(folder, LAYOUT % "", PROGRAM % ("", "w[0] = 1;"))
    seconds, peak, classes = compile_measured(folder, *WAFER)
    claims.at_most("one program: compile time", seconds, 5.0, "s")
    claims.at_most("one program: peak memory", peak, 1 << 30, "bytes")
    claims.equals("one program: classes", classes, 1)

    folder = claims.scratch / "places"
    write_places(folder)
    seconds, _, classes = compile_measured(folder, *WAFER)
    claims.at_most("px and py for every tile: compile time", seconds, 20.0, "s")
    claims.equals("px and py for every tile: classes", classes, 9)

    folder = claims.scratch / "forcing"
    write_program(folder, FORCING_LAYOUT, FORCING_PROGRAM)
    seconds, _, classes = compile_measured(folder)
    claims.at_most("4,096 tiles that force: compile time", seconds, 15.0, "s")
    claims.equals("4,096 tiles that force: classes", classes, 4096)
    if len(sys.argv) > 1:
        claims.at_most("px and py for every tile: time over that of the other build",
                       part_of_old(build_folder(sys.argv[1]), claims.scratch / "turns"), MOST_OF_OLD)
    claims.finish()


main()
