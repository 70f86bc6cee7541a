"""Every function of the library that its page names is run by some test; those that no test of
their topic runs are run here."""
import re

import pytest

import harness
import stdlib_run
import test_stdlib_docs

LOOP = """
const tile = @import_module("<tile_config>");
const c = @get_color(3);
const iq = @get_input_queue(3);
const oq = @get_output_queue(4);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1, .output_queue = oq });
const out_control = @get_dsd(fabout_dsd, .{
  .fabric_color = c, .extent = 1, .output_queue = oq, .control = true });
comptime {
  @set_local_color_config(c, .{ .routes = .{ .rx = RAMP, .tx = RAMP }FILTER });
  @initialize_queue(iq, .{ .color = c });
  if (@is_arch("wse3")) { @initialize_queue(oq, .{ .color = c }); }
}
"""
ARCHS = pytest.mark.parametrize("arch", stdlib_run.ARCHS)

# ---- <math>, <complex> -----------------------------------------------------------------------

QUESTIONS = ("isNaN", "isInf", "isFinite", "isSignaling", "signbit")
ONE = ("abs", "sign", "floor", "ceil", "sqrt", "invsqrt", "inv", "exp", "log", "sin", "cos", "tanh",
       "sig")
TWO = ("max", "min", "pow")


def math_calls(suffix, wide):
    """(expression with the suffix, the same without) over x, z of the type."""
    x, z = ("x", "z") if wide else ("hx", "hz")
    for name in QUESTIONS:
        yield tuple(f"one(math.{n}({x}))" for n in (name + suffix, name))
    for name in ONE:
        yield tuple(f"math.{n}({x})" for n in (name + suffix, name))
    for name in TWO:
        yield tuple(f"math.{n}({x}, {z})" for n in (name + suffix, name))
    yield tuple(f"math.{n}({x}, 3)" for n in ("fscale" + suffix, "fscale"))


@pytest.mark.parametrize("suffix", ("_f16", "_f32"))
@pytest.mark.parametrize("value", ("1.25", "0.0", "4096.0", "inf"))
def test_forms_of_math_with_and_without_suffix_agree(tmp_path, suffix, value):
    wide = suffix == "_f32"
    given = f"math.POSITIVE_INF({'f32' if wide else 'f16'})" if value == "inf" else value
    calls = list(math_calls(suffix, wide))
    lines = "\n".join(f"  put({i}, {a}, {b});" for i, (a, b) in enumerate(calls))
    kind, word = ("f32", "u32") if wide else ("f16", "u16")
    found = stdlib_run.run(tmp_path, f"""
const math = @import_module("<math>");
var x: f32 = 0.0; var z: f32 = 0.5; var hx: f16 = 0.0; var hz: f16 = 0.5;
fn one(b: bool) {kind} {{ return if (b) @as({kind}, 1.0) else 0.0; }}
fn put(i: u16, a: {kind}, b: {kind}) void {{
  if (@bitcast({word}, a) == @bitcast({word}, b)) {{ same[i] = 1; }}
}}
fn main() void {{
  {'x' if wide else 'hx'} = {given};
{lines}
}}
""", {"same": ("u16", len(calls))})["same"]
    assert [call for call, good in zip(calls, found) if not good] == []


def test_generic_forms_of_complex(tmp_path):
    found = stdlib_run.run(tmp_path, """
const c = @import_module("<complex>");
fn main() void {
  const a = c.get_complex_64(x[0], x[1]);
  const b = c.get_complex_64(x[2], x[3]);
  var r = c.subtract_complex_64(a, b);
  y[0] = r.real; y[1] = r.imag;
  r = c.add_complex(a, b);
  y[2] = r.real; y[3] = r.imag;
}
""", {"x": ("f32", 4), "y": ("f32", 4)}, {"x": [1.5, -2.0, 0.5, 4.0]})
    assert found["y"].tolist() == [1.0, -6.0, 2.0, 2.0]


def test_a_list_of_ones_own_for_switches(tmp_path):
    words = stdlib_run.run(tmp_path, """
const s = @import_module("<memcpy/memcpy_switches>");
fn main() void {
  words[0] = s.ctrl(s.cmds(1, [1]s.opcode{ s.opcode.TEARDOWN }));
  words[1] = s.ctrl(s.teardown_cmd_1());
}
""", {"words": ("u32", 2)})["words"]
    assert words[0] == words[1] != 0


# ---- <tile_config> ---------------------------------------------------------------------------

def loop(filter_text=""):
    return LOOP.replace("FILTER", filter_text)


@ARCHS
def test_switch_positions_one_by_one(tmp_path, arch):
    """Four bits a position: the direction, and 8 for the receiving side."""
    words = stdlib_run.run(tmp_path, loop() + """
const s = tile.switch_config;
fn word() u16 { return @get_config(s.get_switch_config_addr(c, u16)) & 0xfff; }
fn main() void {
  s.set_invalid_for_all_switch_positions(c);
  s.set_rx_switch_pos2(c, EAST);
  words[0] = word();
  s.set_rx_switch_pos3(c, NORTH);
  words[1] = word();
  s.set_tx_switch_pos1(c, SOUTH);
  words[2] = word();
  s.set_tx_switch_pos2(c, WEST);
  words[3] = word();
  s.set_switch_pos(s.switch_pos.POS3, c, RAMP, s.switch_select.OUTPUT);
  words[4] = word();
}
""", {"words": ("u16", 5)}, arch=arch)["words"]
    assert [hex(w) for w in words] == [hex(w) for w in (
        0x595, 0xb95, 0xb92, 0xb02, 0x402)]


def test_switch_positions_with_both_sides(tmp_path):
    """A wavelet turns round a position that changes both sides; wse3 only."""
    words = stdlib_run.run(tmp_path, loop() + """
const s = tile.switch_config;
fn word() u16 { return @get_config(s.get_switch_config_addr(c, u16)) & 0xfff; }
fn main() void {
  s.set_rxtx_switch_pos1(c, WEST, RAMP);
  s.set_rxtx_switch_pos2(c, EAST, NORTH);
  words[0] = word();
  s.set_rxtx_switch_pos3(c, SOUTH, WEST);
  words[1] = word();
  s.set_rxtx_switch_pos(s.switch_pos.POS1, c, NORTH, SOUTH);
  words[2] = word();
}
""", {"words": ("u16", 3)}, arch="wse3")["words"]
    assert [w & 0xf for w in words] == [8, 8, 0xb] and words[1] >> 8 == 0xa
    assert words[0] >> 4 & 0xf == 9
    refused = harness.cslc(tmp_path / "layout.csl", "--arch=wse2", "-o", tmp_path / "x.bin",
                           expect=1)
    assert "changes one side only" in refused.err


@ARCHS
def test_counts_of_a_filter(tmp_path, arch):
    """Pass and drop counts are set and read; the filter obeys: two of five pass."""
    text = loop(""", .filter = .{ .kind = .{ .counter = true }, .count_data = true,
  .init_counter = 0, .limit1 = 3, .max_counter = 0 }""") + """
const f = tile.filters;
const id = @get_filter_id(c);
const data = [10]u32{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{10} -> data[i] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 4, .input_queue = iq });
const kept = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> words[i] });
const after_id = @get_local_task_id(12);
task after() void { words[8] = f.get_counter_value(id); }
fn main() void {
  f.set_pass_count(id, 2);
  f.set_drop_count(id, 3);
  words[4] = f.get_pass_count(id);
  words[5] = f.get_drop_count(id);
  f.set_counter(id, 4);
  words[6] = f.get_counter_value(id);
  f.set_counter_and_state(id, 1, f.counter_filter_state.PASS);
  words[7] = f.get_counter_value(id);
  f.set_counter(id, 0);
  @mov32(kept, in, .{ .async = true, .activate = after_id });
  @mov32(out, all);
}
comptime { @bind_local_task(after, after_id); }
"""
    words = stdlib_run.run(tmp_path, text, {"words": ("u32", 9)}, arch=arch)["words"]
    assert words[:8].tolist() == [1, 2, 6, 7, 2, 3, 2, 1]


@ARCHS
def test_control_marks_are_masked(tmp_path, arch):
    words = stdlib_run.run(tmp_path, loop() + """
const marked = @get_dsd(fabin_dsd, .{
  .fabric_color = c, .extent = 2, .input_queue = iq, .control_transform = true });
const got = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> words[i] });
fn main() void {
  tile.control_transform.set_mask(0x15);
  @mov32(out_control, @as(u32, 0x3f) << 16 | 7, .{ .async = true, .activate = next });
  @mov32(got, marked, .{ .async = true });
}
task next() void { @mov32(out, @as(u32, 0x3f) << 16 | 8, .{ .async = true }); }
comptime { @bind_local_task(next, @get_local_task_id(12)); }
""", {"words": ("u32", 2)}, arch=arch)["words"]
    assert words[0] & 0x3fff_ffff == (0x3f ^ 0x15) << 16 | 7 and words[0] >> 30
    assert words[1] == 0x3f << 16 | 8


@ARCHS
def test_a_teardown_task_of_ones_own(tmp_path, arch):
    words = stdlib_run.run(tmp_path, loop() + """
const control = @import_module("<control>");
const t = tile.teardown;
task torn() void {
  const pending = t.get_pending();
  words[0] = if (t.is_pending(pending, c)) 1 else 0;
  words[1] = if (t.is_pending(pending, @get_color(5))) 1 else 0;
  words[2] = pending;
  t.exit(c);
}
fn main() void {
  @mov32(out_control, control.encode_single_payload(control.opcode.TEARDOWN, true, {}, 0),
         .{ .async = true });
}
comptime { @bind_local_task(torn, t.get_task_id()); }
""", {"words": ("u32", 3)}, arch=arch)["words"]
    assert words.tolist() == [1, 0, 1 << 3]


def test_flushed_output_queues(tmp_path):
    words = stdlib_run.run(tmp_path, loop() + """
const q = tile.queue_flush;
fn emptied() void {
  words[0] = q.oq_status();
  words[1] = if (q.is_flushed(words[0], oq)) 1 else 0;
  words[2] = if (q.is_flushed(words[0], iq)) 1 else 0;
  q.exit(oq);
  words[3] = q.oq_status();
}
fn main() void { @queue_flush(oq); }
comptime { @set_empty_queue_handler(emptied, oq); }
""", {"words": ("u16", 4)}, arch="wse3")["words"]
    assert words.tolist() == [1 << 4, 1, 0, 0]


@ARCHS
def test_exception_mask(tmp_path, arch):
    words = stdlib_run.run(tmp_path, loop() + """
const registers = @import_module("<tile_config/registers>");
const e = tile.exceptions;
fn main() void {
  e.set_exception_mask(e.FP_OVERFLOW & e.FP_INVALID);
  words[0] = @get_config(registers.EXCEPTION_MASK);
}
""", {"words": ("u16", 1)}, arch=arch)["words"]
    assert words.tolist() == [0xffaf]


@ARCHS
def test_priority_of_the_main_thread(tmp_path, arch):
    """A microthread that wants the same slots delays a main thread of lower priority."""
    text = loop() + """
const data = @zeros([99]u32);
var got = @constants([99]u32, 1);
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{99} -> data[i] });
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{99} -> got[i] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 99, .input_queue = iq });
const medium = .{ .medium = true };
const in_medium = @get_dsd(fabin_dsd, .{
  .fabric_color = c, .extent = 99, .input_queue = iq, .priority = medium });
const time = @import_module("<time>");
var start = @zeros([3]u16);
var end = @zeros([3]u16);
var turns: u16 = 20;                // not known to the compiler
fn main() void {
  tile.main_thread_priority.update_main_thread_priority(tile.main_thread_priority.level.LEVEL);
  if (@is_arch("wse3")) {
    @mov32(to, in_medium, .{ .async = true });
  } else {
    @mov32(to, in, .{ .async = true, .priority = medium });
  }
  @mov32(out, all, .{ .async = true });
  time.enable_tsc();
  time.get_timestamp(&start);
  for (@range(u16, turns)) |i| { words[1] += words[2] * i + words[3]; }
  time.get_timestamp(&end);
  words[0] = end[0] - start[0];
}
"""
    if arch == "wse2":                    # there the operation has the priority
        text = text.replace(", .priority = medium });\nconst time", " });\nconst time")
    done = {}
    for level in ("MEDIUM_LOW", "HIGH"):
        folder = tmp_path / level
        folder.mkdir()
        done[level] = stdlib_run.run(folder, text.replace("LEVEL", level),
                                     {"words": ("u16", 4)}, arch=arch)["words"][0]
    assert 0 < done["HIGH"] < done["MEDIUM_LOW"]


def test_best_root_of_a_chain_lies_inside(tmp_path):
    """A root in the middle shortens a chain of short vectors, by the plan's own prediction."""
    words = stdlib_run.run(tmp_path, """
const lines = @import_module("<collectives/layout>");
const P: u16 = 16;
const best = lines.best_root(P, lines.pattern.chain, 4);
fn cycles(comptime root: u16) i32 {
  return lines.plan_cycles(lines.reduce_plan(P, root, lines.pattern.chain, 4, 0), 4);
}
fn main() void {
  words[0] = best;
  words[1] = @as(u32, comptime cycles(best));
  words[2] = @as(u32, comptime cycles(0));
}
""", {"words": ("u32", 3)})["words"]
    assert 0 < words[0] <= 8 and 0 < words[1] < words[2]


def test_longest_vectors_for_a_plan(tmp_path):
    """Up to that length the plan takes no longer than the other one, by their predictions."""
    words = stdlib_run.run(tmp_path, """
const lines = @import_module("<collectives/layout>");
const P: u16 = 24;
const short = lines.reduce_plan(P, 0, lines.pattern.tree, 1, 0);
const long = lines.reduce_plan(P, 0, lines.pattern.chain, 1, 0);
const longest = lines.longest_for(short, long, 500);
fn saved(comptime n: i32) i32 { return lines.plan_cycles(long, n) - lines.plan_cycles(short, n); }
fn main() void {
  words[0] = @as(i32, longest);
  words[1] = comptime saved(@as(i32, longest));
  words[2] = comptime saved(@as(i32, longest) + 1);
}
""", {"words": ("i32", 3)})["words"]
    assert 1 < words[0] < 500 and words[2] < 0 <= words[1]


def test_predictions_of_plans_with_a_task(tmp_path):
    """For a task the optimum is another tree where second operations cost more, so it takes no less
    by the same prediction; what `auto` chooses for an allreduce is predicted to be no slower than
    reducing and broadcasting, and longer vectors take longer."""
    words = stdlib_run.run(tmp_path, """
const lines = @import_module("<collectives/layout>");
const paths = @import_module("<collectives/paths>");
const auto = lines.pattern.auto;
fn reduce(comptime with_task: bool) i32 {
  return lines.plan_cycles(if (with_task) lines.reduce_plan_with_task(64, 0, auto, 16, 0)
                           else lines.reduce_plan(64, 0, auto, 16, 0), 16);
}
fn allreduce(comptime which: lines.pattern, comptime B: i32) i32 {
  return paths.allreduce_cycles(paths.allreduce_plan(4, which, B, 0, true), B);
}
fn main() void {
  words[0] = @as(u32, comptime reduce(false));
  words[1] = @as(u32, comptime reduce(true));
  words[2] = @as(u32, comptime allreduce(auto, 2000));
  words[3] = @as(u32, comptime allreduce(lines.pattern.chain, 2000));
  words[4] = @as(u32, comptime allreduce(auto, 10));
}
""", {"words": ("u32", 5)})["words"]
    assert 0 < words[0] <= words[1]
    assert 0 < words[4] < words[2] < words[3]


# ---- the page --------------------------------------------------------------------------------

def names_that_run():
    """The names that programs and tests use: as members, in texts, as arguments."""
    here = harness.ROOT / "tests"
    files = [p for p in here.rglob("*") if p.suffix in (".csl", ".py")
             and not {"golden", "node_modules"} & set(p.parts)]
    for folder in (harness.ROOT / "samples", harness.ROOT / "emu" / "host" / "python"):
        files += folder.rglob("*.csl")
    used = r"""(?<=\.)\w+|(?<=["'( ])\w+(?=["',) ])"""
    return {name for p in files for name in re.findall(used, p.read_text(errors="replace"))}


def functions_of(module):
    text = (harness.ROOT / "stdlib" / f"{module}.csl").read_text()
    return set(re.findall(r"^(?:export )?(?:inline )?(?:fn|task) (\w+)", text, re.M))


def test_every_function_of_the_page_is_named_by_a_test():
    used = names_that_run()
    missing = []
    for module, section in test_stdlib_docs.sections().items():
        for name in test_stdlib_docs.first_column(section):
            *submodule, member = name.split(".")
            if member not in functions_of("/".join([module, *submodule])):
                continue              # a constant, type or parameter
            if member not in used:
                missing.append(f"<{module}> {name}")
    assert missing == []
