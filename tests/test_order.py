"""--check=order: use of memory of operations in the background without a wait for their end, even if
they are over by then."""
import pytest

import harness

LAYOUT = """
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "tile.csl", .{});
  @set_tile_code(1, 0, "partner.csl", .{});
  const comes = .{ .routes = .{ .rx = .{ EAST }, .tx = .{ RAMP } } };
  const leaves = .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ WEST } } };
  @set_color_config(0, 0, @get_color(1), comes);
  @set_color_config(1, 0, @get_color(1), leaves);
  @set_color_config(0, 0, @get_color(2), comes);
  @set_color_config(1, 0, @get_color(2), leaves);
  @set_color_config(0, 0, @get_color(3), .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  @set_color_config(1, 0, @get_color(3), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } });
  @export_name("f", fn () void);
}
"""

# Sends four words, takes four if the tile sends some, and sends a last one.
PARTNER = """
var buffer = @zeros([4]u32);
const words = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> buffer[i] });
task main() void {
  @mov32(@get_dsd(fabout_dsd, .{ .fabric_color = @get_color(1), .extent = 4,
    .output_queue = @get_output_queue(2) }), words);
  TAKE
  for (@range(u16, 40)) |i| { buffer[i % 4] += i; }
  @mov32(@get_dsd(fabout_dsd, .{ .fabric_color = @get_color(2), .extent = 1,
    .output_queue = @get_output_queue(4) }), @as(u32, 7));
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(@get_output_queue(2), .{ .color = @get_color(1) });
    @initialize_queue(@get_input_queue(3), .{ .color = @get_color(3) });
    @initialize_queue(@get_output_queue(4), .{ .color = @get_color(2) });
  }
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
"""

TILE = """
var got = @zeros([8]u32);
var sent = @zeros([4]u32);
var others = @zeros([8]u32);
var seen: u32 = 0;
const done_id = @get_local_task_id(9);
const next_id = @get_local_task_id(10);
const all_got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> got[2 * i] });
const all_sent = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> sent[i] });
const some = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> others[i] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(1), .extent = 4,
  .input_queue = @get_input_queue(2) });
const late = @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(2), .extent = 1,
  .input_queue = @get_input_queue(4) });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = @get_color(3), .extent = 4,
  .output_queue = @get_output_queue(3) });
fn pause() void {
  for (@range(u16, 60)) |i| { others[7] += i; }
}
task main() void {
  MAIN
}
task done() void {
  DONE
}
task next() void {
  NEXT
}
fn f() void {
  LAUNCHED
}
comptime {
  if (@is_arch("wse3")) {
    @initialize_queue(@get_input_queue(2), .{ .color = @get_color(1) });
    @initialize_queue(@get_input_queue(4), .{ .color = @get_color(2) });
    @initialize_queue(@get_output_queue(3), .{ .color = @get_color(3) });
  }
  @bind_local_task(main, @get_local_task_id(8));
  @bind_local_task(done, done_id);
  @bind_local_task(next, next_id);
  @activate(@get_local_task_id(8));
  @export_symbol(f);
}
"""

TAKE = """@mov32(words, @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(3), .extent = 4,
    .input_queue = @get_input_queue(3) }));"""
RECEIVE = "@mov32(all_got, in, .{ .async = true, .activate = done_id });"
SEND = "@mov32(out, all_sent, .{ .async = true, .activate = done_id });"
READ = "seen = got[2];"
# Three operations whose ends activate one task, which counts them; `late` is over last.
THREE = f"{RECEIVE} {SEND} @mov32(some, late, .{{ .async = true, .activate = done_id }});"
COUNT = "seen += 1; if (seen == {}) {{ pause(); others[4] = {}; }}"
# Code of the tasks and of the launched function: (name, finding, main, done, next, launched)
CASES = [
    ("a read behind a pause", "READ_UNWAITED", f"{RECEIVE} pause(); {READ}", "", "", ""),
    ("a write behind a pause", "WRITE_UNWAITED", f"{RECEIVE} pause(); got[2] = 1;", "", "", ""),
    ("a write to what is sent", "WRITE_UNWAITED", f"{SEND} pause(); sent[3] = 1;", "", "", ""),
    ("a read of what is sent", None, f"{SEND} pause(); seen = sent[3];", "", "", ""),
    ("other elements", None, f"{RECEIVE} pause(); got[3] = got[1];", "", "", ""),
    ("the task of the end", None, f"{RECEIVE} pause();", READ, "", ""),
    ("a task behind that of the end", None, f"{RECEIVE} pause();", "@activate(next_id);", READ, ""),
    ("a task that the end unblocks", None,
     "@block(next_id); @activate(next_id); "
     "@mov32(all_got, in, .{ .async = true, .unblock = next_id }); pause();", "", READ, ""),
    ("a task that the task of the end unblocks", None,
     f"@block(next_id); @activate(next_id); {RECEIVE}", "@unblock(next_id);", READ, ""),
    ("a task that main activates", "READ_UNWAITED",
     "@mov32(all_got, in, .{ .async = true }); pause(); @activate(next_id);", "", READ, ""),
    ("a task behind one that knows", None, f"{RECEIVE} pause(); @activate(next_id);", "", READ, ""),
    ("a word that may be an answer", None, f"{RECEIVE} pause(); {SEND} @mov32(&seen, late); {READ}",
     "", "", ""),
    ("an answer to what it sends", None, f"{SEND} @mov32(&seen, late); sent[1] = 1;", "", "", ""),
    ("what comes over what goes", None, f"{SEND} @mov32(@set_dsd_length(all_sent, 1), late);", "", "",
     ""),
    ("a word that cannot be one", "READ_UNWAITED", f"{RECEIVE} @mov32(&seen, late); {READ}", "", "",
     ""),
    ("the end of another operation", "READ_UNWAITED",
     "@mov32(all_got, in, .{ .async = true }); "
     "@mov32(some, late, .{ .async = true, .activate = next_id });", "", READ, ""),
    ("the end of one that takes an answer", None,
     f"{RECEIVE} pause(); {SEND} @mov32(some, late, .{{ .async = true, .activate = next_id }});", "",
     READ, ""),
    ("an operation that reads", "READ_UNWAITED", f"{RECEIVE} pause(); @mov32(some, all_got);", "",
     "", ""),
    ("an operation that writes", "WRITE_UNWAITED", f"{SEND} pause(); @mov32(all_sent, some);", "",
     "", ""),
    ("an operation in the background", "READ_UNWAITED",
     f"{RECEIVE} pause(); @mov32(out, all_got, .{{ .async = true }});", "", "", ""),
    ("an operation on other elements", None,
     f"{RECEIVE} pause(); @mov32(@increment_dsd_offset(all_got, 1, u32), some);", "", "", ""),
    ("a counter that awaits one end too few", "READ_UNWAITED", THREE,
     COUNT.format(2, "others[0]"), "", ""),
    ("a counter that awaits all ends", None, THREE, COUNT.format(3, "others[0] + got[2]"), "", ""),
    ("a counter that awaits the ends of what it reads", None, THREE, COUNT.format(2, "got[2]"), "",
     ""),
    ("a function that the host calls later", None, RECEIVE, "", "", READ),
]


def run(folder, arch, engine, case, *options, expect=None):
    _, _, main, done, following, launched = case
    text = TILE
    for place, code in zip(("MAIN", "DONE", "NEXT", "LAUNCHED"), (main, done, following, launched)):
        text = text.replace(place, code)
    partner = PARTNER.replace("TAKE", TAKE if "out, " in main else "")
    for name, file in (("layout", LAYOUT), ("partner", partner), ("tile", text)):
        (folder / f"{name}.csl").write_text(file)
    image = folder / "o.bin"
    harness.compile(folder / "layout.csl", image, f"--arch={arch}")
    launch = ["--launch=f"] if launched else []
    return harness.emu(image, "--run", *launch, f"--engine={engine}", *options, expect=expect)


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_what_nobody_has_waited_for_is_found(tmp_path, arch, case):
    seen = []
    for engine in ("fast", "reference"):
        ran = run(tmp_path, arch, engine, case, "--check=order")
        found = "UNWAITED]" in ran.err
        assert found == bool(case[1]), ran.err
        assert case[1] is None or f"[{case[1]}]" in ran.err
        seen.append(ran.err)
    assert seen[0] == seen[1]


def test_the_report_names_both_places_and_the_variable(tmp_path):
    ran = run(tmp_path, "wse2", "fast", CASES[0], "--check=order", expect=2)
    line = next(i for i, text in enumerate((tmp_path / "tile.csl").read_text().splitlines(), 1)
                if "pause(); seen" in text)
    assert ran.err.count(f"tile.csl:{line}") >= 2 and "'got'" in ran.err and "help: wait" in ran.err


def test_without_the_word_nothing_is_found(tmp_path):
    run(tmp_path, "wse2", "fast", CASES[0], "--check=error,memory,tasks,lengths", expect=0)


def test_the_check_changes_no_cycle(tmp_path):
    times = []
    for check in ("error", "error,order"):
        run(tmp_path, "wse3", "fast", CASES[7], f"--check={check}", f"--stats={tmp_path / 's.json'}",
            expect=0)
        times.append(harness.stats(tmp_path / "s.json")["cycles"])
    assert times[0] == times[1]
