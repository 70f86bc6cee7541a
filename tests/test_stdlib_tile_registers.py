"""<tile_config> beyond routes: filters, queue states, flushes, bindings, and builtins of the machine
that go with them.  One tile sends to itself."""
import pytest

import harness
import stdlib_run

ENGINES = ("fast", "reference")

LOOP = """
const tile = @import_module("<tile_config>");
const c = @get_color(3);
const iq = @get_input_queue(3);
const oq = @get_output_queue(3);
var data = [8]u32{ 1, 2, 3, 4, 5, 6, 7, 8 };
const first = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> data[i] });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 8, .output_queue = oq });
comptime {
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = RAMP }FILTER });
  @initialize_queue(iq, .{ .color = c });
  if (@is_arch("wse3")) {
    @initialize_queue(oq, .{ .color = c });
  }
}
"""
COUNTER = """, .filter = .{ .kind = .{ .counter = true }, .count_data = true, .init_counter = 0,
  .limit1 = 3, .max_counter = 0 }"""


def loop(filter_text=""):
    return LOOP.replace("FILTER", filter_text)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_a_filter_changes_at_run_time(tmp_path, arch, engine):
    """One of four passes; then two of three, from the drop state on."""
    got = stdlib_run.run(tmp_path, loop(COUNTER) + """
const id = @get_filter_id(c);
const again_id = @get_local_task_id(11);
const kept = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> words[i] });
const kept_later = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> words[i + 2] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 2, .input_queue = iq });
const in_later = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 5, .input_queue = iq });
task again() void {
  tile.filters.set_max_counter(id, 1);
  tile.filters.set_active_limit(id, 2);
  words[7] = tile.filters.get_pass_count(id);
  words[8] = tile.filters.get_drop_count(id);
  tile.filters.set_state(id, tile.filters.counter_filter_state.DROP);
  words[9] = @as(u32, tile.filters.get_state(id));
  @mov32(out, first, .{ .async = true });
  @mov32(kept_later, in_later);
}
fn main() void {
  @mov32(kept, in, .{ .async = true, .activate = again_id });
  @mov32(out, first);
}
comptime { @bind_local_task(again, again_id); }
""", {"words": ("u32", 10)}, arch=arch, engine=engine)["words"]
    assert got.tolist() == [1, 5, 2, 3, 5, 6, 8, 2, 1, 1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_queues_tell_whether_they_are_empty_or_full(tmp_path, arch, engine):
    words = stdlib_run.run(tmp_path, loop() + """
const status = tile.input_queue_status;
const outputs = tile.output_queue_status;
fn main() void {
  var s = status.get();
  words[0] = if (status.is_empty(s, iq) and status.all_empty(s) and status.none_full(s)) 1 else 0;
  @set_dsd_length(out, 0);
  @mov32(out, first);
  for (@range(u16, 30)) |i| { words[3] += i; }
  s = status.get();
  words[1] = if (status.is_full(s, iq) and !status.is_empty(s, iq)) 1 else 0;
  words[2] = if (status.none_empty(s) or status.all_full(s)) 1 else 0;
  words[4] = outputs.get_raw();
}
""".replace("  @set_dsd_length(out, 0);\n", ""), {"words": ("u16", 5)}, arch=arch,
        engine=engine)["words"]
    assert words[:3].tolist() == [1, 1, 0]
    # the input queue takes its depth and what is in flight; the rest stays in router and output
    all_outputs = 0xff if arch == "wse3" else 0x3f
    held = 8 - {"wse2": 4, "wse3": 4}[arch] - 2 - 2
    assert words[4] & 0xff == (all_outputs if held <= 0 else all_outputs & ~(1 << 3))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flushed_queue_takes_another_color(tmp_path, engine):
    """The handler runs when the last wavelet is read, and binds both queues to color 5."""
    words = stdlib_run.run(tmp_path, loop() + """
const d = @get_color(5);
const second_id = @get_local_task_id(12);
const got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> words[i] });
const got_later = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> words[i + 8] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 8, .input_queue = iq });
var turns: u16 = 30;                // not known to the compiler
fn emptied() void {
  words[16] = tile.queue_flush.iq_status();
  tile.queue_flush.exit(iq);
  words[17] = tile.queue_flush.iq_status();
  tile.input_queue_config.encode_input_queue(iq, d, false);
  tile.output_queue_config.encode_output_queue(oq, d);
  @activate(second_id);
}
task second() void {
  @mov32(out, first, .{ .async = true });
  @mov32(got_later, in);
}
fn main() void {
  @mov32(out, first, .{ .async = true });
  @mov32(got, in, .{ .async = true, .ut_id = @get_ut_id(5) });
  for (@range(u16, turns)) |i| { words[18] += i; }
  @queue_flush(iq);
}
comptime {
  @set_local_color_config(d, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
  @set_empty_queue_handler(emptied, iq);
  @bind_local_task(second, second_id);
}
""", {"words": ("u32", 19)}, arch="wse3", engine=engine)["words"]
    assert words[:16].tolist() == 2 * list(range(1, 9))
    assert words[16:18].tolist() == [1 << 3, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_flushes_before_the_task_starts_are_no_finding(tmp_path, engine):
    """The task that runs once hears of both: nothing is lost."""
    image = stdlib_run.build(tmp_path, loop() + """
fn taken() void {
  words[0] += 1;
  tile.queue_flush.exit(iq);
}
fn sent() void {
  words[1] += 1;
  tile.queue_flush.exit(oq);
}
fn main() void {
  @queue_flush(iq);
  @queue_flush(oq);
}
comptime {
  @set_empty_queue_handler(taken, iq);
  @set_empty_queue_handler(sent, oq);
}
""", {"words": ("u32", 2)}, arch="wse3")
    done = harness.emu(image, f"--engine={engine}", "--check=strict,tasks", "--launch=main",
                       f"--d2h=words={tmp_path / 'words.npy'}")
    assert harness.load_npy(tmp_path / "words.npy").ravel().tolist() == [1, 1]
    assert not done.err


# Receives eight words of color 3, then, on the same queue, of color 5, of which a filter passes the
# first two of four.  `number` and `filtered` are known at run time only.
REBIND = """
const d = @get_color(5);
const next_id = @get_local_task_id(12);
const send_id = @get_local_task_id(13);
const got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> words[i] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 8, .input_queue = iq });
const out_2 = @get_dsd(fabout_dsd, .{ .fabric_color = d, .extent = 8, .output_queue = oq });
const iq_number: i16 = 3;
var number: i16 = 0;
fn settled() void {
  if (@is_arch("wse3")) {
    tile.output_queue_config.encode_output_queue(iq_number, number);
    tile.queue_flush.exit(oq);
  }
  @activate(send_id);
}
task next() void {
  number = 5;
  tile.input_queue_config.encode_input_queue(iq_number, number, filtered[0] != 0);
  if (@is_arch("wse3")) { @queue_flush(oq); } else { settled(); }
}
task send() void {
  @mov32(if (@is_arch("wse3")) out else out_2, first, .{ .async = true });
  const in_2 = @set_dsd_length(in, if (filtered[0] != 0) @as(u16, 4) else 8);
  @mov32(@set_dsd_base_addr(got, &words[8]), in_2);
  @mov32(out_back, first, .{ .async = true });
  @mov32(@set_dsd_base_addr(got, &words[16]), in_back);
}
fn main() void {
  @mov32(got, in, .{ .async = true, .activate = next_id });
  @mov32(out, first);
}
// Other queues go on as they are.
const back = @get_color(6);
const iq_back = @get_input_queue(5);
const oq_back = if (@is_arch("wse3")) @get_output_queue(5) else oq;
const out_back = @get_dsd(fabout_dsd, .{
  .fabric_color = back, .extent = 8, .output_queue = oq_back });
const in_back = @get_dsd(fabin_dsd, .{
  .fabric_color = back, .extent = 8, .input_queue = iq_back });
comptime {
  @set_local_color_config(d, .{ .routes = .{ .rx = RAMP, .tx = RAMP }, .filter = .{
    .kind = .{ .counter = true }, .count_data = true, .init_counter = 0, .limit1 = 3,
    .max_counter = 1 } });
  @set_local_color_config(back, .{ .routes = .{ .rx = RAMP, .tx = RAMP } });
  @initialize_queue(iq_back, .{ .color = back });
  if (@is_arch("wse3")) {
    @initialize_queue(oq_back, .{ .color = back });
    @set_empty_queue_handler(settled, oq);
  }
  @bind_local_task(next, next_id);
  @bind_local_task(send, send_id);
}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
@pytest.mark.parametrize("filtered", [False, True])
def test_queues_are_bound_anew_by_numbers(tmp_path, arch, engine, filtered):
    words = stdlib_run.run(tmp_path, loop() + REBIND, {"words": ("u32", 24), "filtered": ("u16", 1)},
                           {"filtered": [filtered]}, arch=arch, engine=engine)["words"]
    eight = list(range(1, 9))
    later = [1, 2, 5, 6, 0, 0, 0, 0] if filtered else eight
    assert words.tolist() == eight + later + eight


def test_output_queues_of_wse2_have_no_color_to_bind(tmp_path):
    stdlib_run.build(tmp_path, loop() + """
fn main() void { tile.output_queue_config.encode_output_queue(oq, c); }
""", {"words": ("u32", 1)})
    ran = harness.cslc(tmp_path / "layout.csl", "--arch=wse2", "-o", tmp_path / "p.bin", expect=1)
    assert "the output queues of wse2 have no color of their own" in ran.err


@pytest.mark.parametrize("call, text", [
    ("input_queue_config.encode_input_queue(9, c, true)", "there is no such queue"),
    ("output_queue_config.encode_output_queue(-1, c)", "there is no such queue"),
    ("input_queue_config.encode_input_queue(oq, c, true)", "a queue of the other direction"),
    ("output_queue_config.encode_output_queue(iq, c)", "a queue of the other direction"),
    ("input_queue_config.encode_input_queue(iq, oq, true)", "neither a color or a queue"),
    ("input_queue_config.encode_input_queue(iq, 99, true)", "99 is out of range for a color"),
    ("input_queue_config.encode_input_queue(c, c, true)", "neither a color or a queue"),
    ("output_queue_config.encode_output_queue(oq, 1.5)", "neither a color or a queue"),
    ("queue_flush.exit(c)", "exit takes an input queue or an output queue"),
    ("queue_flush.is_flushed(0, c)", "is_flushed takes the status and an input queue"),
    ("task_priority.set_task_priority(c)", "pass the id of one, on wse2 a color, on wse3 an input"),
    ("task_priority.clear_task_priority(EAST)", "pass the id of one")])
def test_a_wrong_queue_is_no_other_register(tmp_path, call, text):
    with pytest.raises(AssertionError, match=f"(?s)exit code 1.*{text}.*pe.csl"):
        stdlib_run.build(tmp_path, loop() + f"""
fn main() void {{ tile.{call}; }}
""", {"words": ("u32", 1)})


@pytest.mark.parametrize("call, is_wrong", [
    ("switch_config.set_current_switch_position(c, 3)", False),
    ("switch_config.set_current_switch_position(c, 4)", True),
    ("switch_config.set_current_switch_position(c, -1)", True),
    ("control_transform.set_mask(63)", False), ("control_transform.set_mask(64)", True)])
def test_a_number_is_checked_against_its_field(tmp_path, call, is_wrong):
    program = loop() + f"""
fn main() void {{ tile.{call}; }}
"""
    if not is_wrong:
        stdlib_run.build(tmp_path, program, {"words": ("u32", 1)})
        return
    with pytest.raises(AssertionError, match="(?s)exit code 1.*too large or too small.*pe.csl"):
        stdlib_run.build(tmp_path, program, {"words": ("u32", 1)})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("arch", stdlib_run.ARCHS)
def test_dfilt_drops_data_until_the_control_wavelets_have_passed(tmp_path, arch, engine):
    words = stdlib_run.run(tmp_path, loop() + """
const done_id = @get_local_task_id(12);
const mark = [1]u32{ 0x3f << 16 };
const mark_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> mark[i] });
const out_mark = @get_dsd(fabout_dsd, .{
  .fabric_color = c, .extent = 1, .output_queue = oq, .control = true });
const marks = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 2, .input_queue = iq });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 8, .input_queue = iq });
const got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> words[i] });
task dropped() void { @mov32(got, in); }
fn main() void {
  @dfilt(marks, .{ .async = true, .activate = done_id });
  @mov32(out, first);
  @mov32(out_mark, mark_dsd);
  @mov32(out, first);
  @mov32(out_mark, mark_dsd);
  data[0] = 100;
  @mov32(out, first);
}
comptime { @bind_local_task(dropped, done_id); }
""", {"words": ("u32", 8)}, arch=arch, engine=engine)["words"]
    assert words.tolist() == [100, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("before", [True, False])
def test_control_tasks_with_a_table_of_their_own(tmp_path, engine, before):
    """Local task 12 and control task 12 are two tasks, whenever the table is asked for."""
    place = "@bind_local" if before else "@unblock(iq)"
    words = stdlib_run.run(tmp_path, loop() + """
const control = @import_module("<control>");
const local_id = @get_local_task_id(12);
const control_id = @get_control_task_id(12);
const word = [1]u32{ control.encode_control_task_payload(control_id) };
const word_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> word[i] });
const out_control = @get_dsd(fabout_dsd, .{
  .fabric_color = c, .extent = 1, .output_queue = oq, .control = true });
task local() void { words[0] += 1; }
task by_control() void { words[1] += 1; }
fn main() void {
  @activate(local_id);
  @mov32(out_control, word_dsd);
}
comptime {
  @bind_local_task(local, local_id);
  @bind_control_task(by_control, control_id);
  @unblock(iq);
}
""".replace(place, "@set_control_task_table();\n  " + place),
        {"words": ("u16", 2)}, arch="wse3", engine=engine)["words"]
    assert words.tolist() == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_microthread_blocked_from_the_start(tmp_path, engine):
    """Its operation begins when another task unblocks it."""
    words = stdlib_run.run(tmp_path, loop() + """
const ut = @get_ut_id(5);
const later_id = @get_local_task_id(12);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 8, .input_queue = iq });
const got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> words[i] });
task later() void {
  words[8] = words[0];      // still 0
  @unblock(ut);
}
fn main() void {
  @mov32(got, in, .{ .async = true, .ut_id = ut });
  @mov32(out, first, .{ .async = true });
  for (@range(u16, 40)) |i| { words[9] += i; }
  @activate(later_id);
}
comptime { @block(ut); @bind_local_task(later, later_id); }
""", {"words": ("u32", 10)}, arch="wse3", engine=engine)["words"]
    assert words[:9].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_generators_are_selected(tmp_path, engine):
    words = stdlib_run.run(tmp_path, """
fn main() void {
  words[0] = @random16();
  @set_active_prng(1);
  words[1] = @random16();
  @set_active_prng(4);      // modulo their number: generator 0 again
  words[2] = @random16();
}
""", {"words": ("u16", 3)}, engine=engine)["words"]
    assert words[0] == words[1] and words[2] != words[0]
