"""<message_passing>: messages between random tiles, the forms of its functions, its refusals."""
import numpy
import pytest

import harness
import packets_run as packets
from message_run import MOST, build, run
import stdlib_run


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("kind", range(len(packets.PATTERNS)))
def test_patterns(tmp_path, kind, engine):
    """Every pattern on a random rectangle, with any two queues, elements of 16 and of 32 bits."""
    random = harness.commit_random(f"messages {kind}")
    width, height = (int(random.integers(1, 7)) for _ in range(2))
    count = int(random.integers(1, 30))
    queues = [int(q) for q in random.integers(1, 8, 2)]
    image = build(tmp_path, width, height, count, int(random.choice([0, 50])), queues,
                  int(random.integers(0, 2)))
    targets = packets.pattern(random, kind, width, height, count)
    run(tmp_path, image, targets, random.integers(1, MOST + 1, targets.shape), width, height,
        engine)


@pytest.mark.parametrize("width, height", [(1, 1), (1, 6), (6, 1), (2, 2), (4, 3), (5, 5)])
def test_all_pairs(tmp_path, width, height):
    """Each tile sends to each tile, itself included, in an order of its own."""
    random = harness.commit_random(f"pairs {width} {height}")
    size = width * height
    image = build(tmp_path, width, height, size)
    targets = numpy.array([random.permutation(size) for _ in range(size)])
    run(tmp_path, image, targets, random.integers(1, MOST + 1, targets.shape), width, height)


def test_full_links_both_ways(tmp_path):
    """All links are full in all directions: no message may wait for one that waits for it."""
    random = harness.commit_random("full message links")
    image = build(tmp_path, 5, 5, 100)
    targets = packets.pattern(random, 0, 5, 5, 100)
    run(tmp_path, image, targets, numpy.full(targets.shape, 3), 5, 5)


# ---- forms ---------------------------------------------------------------------------------------

HEAD = """
const mp = @import_module("<message_passing>", .{
  .input_queue_id = 2, .output_queue_id = 3, .enable_asserts = %s });
const sent_id = @get_local_task_id(9);
const came_id = @get_local_task_id(10);
task sent() void { events[0] += 1; }
task came() void { events[1] += 1; }
comptime {
  @bind_local_task(sent, sent_id);
  @bind_local_task(came, came_id);
}
"""
BUFFERS = {"events": ("u16", 2), "y": ("u32", 40)}


def run_forms(folder, text, asserts="true", expect=0, grid=(1, 1), args=()):
    return stdlib_run.run(folder, HEAD % asserts + text, BUFFERS, None, *args, grid=grid,
                          expect=expect)


@pytest.mark.parametrize("element, values", [
    ("i16", [-5, 7, 300]), ("u16", [5, 65535, 0]), ("f16", [0.5, -2.0, 8.0]),
    ("@fp16()", [0.5, -2.0, 8.0]), ("i32", [-5, 7, 300000]), ("u32", [5, 4294967295, 0]),
    ("f32", [0.25, -1e30, 3.0])])
def test_element_types(tmp_path, element, values):
    """Arrays of all types, of constants too, and the elements behind the message stay."""
    tests = " and ".join(f"in[{i}] == {v}" for i, v in enumerate(values))
    got = run_forms(tmp_path, f"""
const out = [3]{element}{{ {", ".join(map(str, values))} }};
var in = @constants([5]{element}, 1);
fn main() void {{
  mp.init();
  mp.recv_message(&in, .{{ .activate = check_id }});
  mp.send_message(0, 0, &out, 3, {{}});
}}
const check_id = @get_local_task_id(11);
task check() void {{
  y[0] = if ({tests} and in[3] == 1 and in[4] == 1) 1 else 2;
}}
comptime {{ @bind_local_task(check, check_id); }}""")
    assert got["y"][0] == 1


ENDS = [("{}", "{}", [0, 0]),
        (".{ .activate = sent_id }", ".{ .activate = came_id }", [1, 1]),
        (".{ .unblock = sent_id }", ".{ .unblock = came_id }", [1, 1]),
        (".{ .unblock = sent_id }", "{}", [1, 0]),
        ("{}", ".{ .activate = came_id }", [0, 1])]


@pytest.mark.parametrize("send, receive, events", ENDS)
def test_ends(tmp_path, send, receive, events):
    """on_term of both functions: nothing, a task activated, a blocked and active task unblocked."""
    blocked = "\n".join(f"  @activate({name}); @block({name});"
                        for end, name in ((send, "sent_id"), (receive, "came_id"))
                        if "unblock" in end)
    got = run_forms(tmp_path, f"""
var out = [2]u32{{ 3, 4 }};
var in = @zeros([2]u32);
fn main() void {{
  mp.init();
  mp.recv_message(&in, {receive});
  mp.send_message(0, 0, &out, 2, {send});
}}
comptime {{ {blocked} }}""")
    assert list(got["events"]) == events


@pytest.mark.parametrize("name", ["q", "@get_data_task_id(q)"])
def test_end_unblocks_a_queue(tmp_path, name):
    """on_term opens a queue or a data task that the program has blocked."""
    got = run_forms(tmp_path, f"""
const q = @get_input_queue(3);
const oq = @get_output_queue(1);
const c = @get_color(1);
var out = [2]u32{{ 3, 4 }};
task data(word: u32) void {{ y[0] = word; events[1] = events[0]; }}
fn main() void {{
  mp.init();
  @mov32(@get_dsd(fabout_dsd, .{{ .extent = 1, .output_queue = oq }}), @as(u32, 77));
  mp.recv_message(&in, .{{ .activate = open_id }});
  mp.send_message(0, 0, &out, 2, {{}});
}}
var in = @zeros([2]u32);
const open_id = @get_local_task_id(12);
task open() void {{ events[0] = 5; mp.send_message(0, 0, &out, 2, .{{ .unblock = {name} }}); }}
comptime {{
  @set_local_color_config(c, .{{ .routes = .{{ .rx = .{{ RAMP }}, .tx = .{{ RAMP }} }} }});
  @initialize_queue(q, .{{ .color = c }});
  @initialize_queue(oq, .{{ .color = c }});
  @bind_data_task(data, @get_data_task_id(q));
  @bind_local_task(open, open_id);
  @block({name});
}}""")
    assert got["y"][0] == 77 and list(got["events"]) == [5, 5]


def test_data_task(tmp_path):
    """A data task on the input queue gets the header and all elements but the last one."""
    got = run_forms(tmp_path, """
const place = @import_module("<layout>");
var out = [5]u32{ 11, 12, 13, 14, 15 };
var count: u16 = 0;
task data(word: u32) void {
  y[count] = word;
  count += 1;
}
var left: u16 = 2;
const again_id = @get_local_task_id(12);
task again() void {
  if (left != 0) {
    left -= 1;
    mp.send_message(2, 1, &out, 5 - left, .{ .activate = again_id });
  }
}
fn main() void {
  mp.init();
  if (place.get_x_coord() == 0 and place.get_y_coord() == 0) {
    @activate(again_id);
  }
}
comptime {
  @bind_data_task(data, @get_data_task_id(mp.mp_input_queue));
  @bind_local_task(again, again_id);
}""", grid=(3, 2))
    words = got["y"].reshape(2, 3, -1)[1, 2]
    assert list(words[:9] & 0xffff) == [4, 11, 12, 13, 5, 11, 12, 13, 14] and not words[9:].any()


def test_two_messages_wait_for_the_receiver(tmp_path):
    """Messages come before the program receives them; each keeps its last element."""
    got = run_forms(tmp_path, """
var out = [1]u32{ 100 };
var in = @zeros([1]u32);
var left: u16 = 3;
const again_id = @get_local_task_id(12);
const take_id = @get_local_task_id(13);
task again() void {
  if (left == 0) { @activate(take_id); return; }
  left -= 1;
  out[0] += 1;
  mp.send_message(0, 0, &out, 1, .{ .activate = again_id });
}
task take() void {
  if (events[0] != 0) { y[events[0] - 1] = in[0]; }
  if (events[0] == 3) { return; }
  events[0] += 1;
  mp.recv_message(&in, .{ .activate = take_id });
}
fn main() void { mp.init(); @activate(again_id); }
comptime {
  @bind_local_task(again, again_id);
  @bind_local_task(take, take_id);
}""")
    assert list(got["y"][:3]) == [101, 102, 103]


def test_other_numbers(tmp_path):
    """Queues of the links and tasks are parameters, for programs that need the usual ones."""
    text = """
const mp = @import_module("<message_passing>", .{
  .input_queue_id = 7, .output_queue_id = 7, .link_input_queues = [4]u16{ 2, 3, 4, 5 },
  .link_output_queues = [4]u16{ 1, 2, 3, 4 }, .local_tasks = [6]u16{ 8, 9, 10, 11, 12, 13 } });
const place = @import_module("<layout>");
var out = [1]u32{ 5 };
var in = @zeros([1]u32);
task came() void { y[0] = in[0]; }
fn main() void {
  mp.init();
  out[0] += place.get_x_coord();
  mp.recv_message(&in, .{ .activate = @get_local_task_id(21) });
  mp.send_message(1 - place.get_x_coord(), 0, &out, 1, {});
}
comptime { @bind_local_task(came, @get_local_task_id(21)); }"""
    got = stdlib_run.run(tmp_path, text, {"y": ("u32", 1)}, grid=(2, 1))
    assert list(got["y"]) == [6, 5]


# ---- mistakes ------------------------------------------------------------------------------------

def source_line(text):
    lines = (harness.ROOT / "stdlib/message_passing.csl").read_text().splitlines()
    found = [i + 1 for i, line in enumerate(lines) if text in line]
    assert found
    return found


SEND = "mp.send_message(%s, {});"
WRONG = [("the rectangle has no such column", "mp.init(); " + SEND % "1, 0, &y, 1"),
         ("the rectangle has no such row", "mp.init(); " + SEND % "0, 1, &y, 1"),
         ("a message has 1 to 32 elements", "mp.init(); " + SEND % "0, 0, &y, 0"),
         ("a message has 1 to 32 elements", "mp.init(); " + SEND % "0, 0, &y, 33"),
         ("the array is shorter than the message", "mp.init(); " + SEND % "0, 0, &pair, 3"),
         ("the array is shorter than the message",
          "mp.init(); mp.recv_message(&pair, {}); " + SEND % "0, 0, &y, 3"),
         ("wait for the on_term of the message before",
          "mp.init(); " + SEND % "0, 0, &y, 1" + SEND % "0, 0, &y, 1"),
         ("wait for the on_term of the receive before",
          "mp.init(); mp.recv_message(&pair, {}); mp.recv_message(&pair, {});"),
         ("call init() once before the first message", SEND % "0, 0, &y, 1"),
         ("call init() once before the first message", "mp.recv_message(&pair, {});")]


@pytest.mark.parametrize("reason, calls", WRONG)
def test_wrong_arguments_fail_an_assertion(tmp_path, reason, calls):
    """The line of the assertion says why it failed, and so does the report."""
    image = stdlib_run.build(
        tmp_path, HEAD % "true" + f"var pair = @zeros([2]u32);\nfn main() void {{ {calls} }}",
        BUFFERS)
    err = harness.emu(image, "--launch=main", expect=2).err
    assert "assertion failed: " in err
    assert any(f"at <message_passing>:{line}," in err for line in source_line(reason)), err
    assert f"\n  note: {reason}\n" in err, err


COMPILE_ERRORS = [
    ("mp.recv_message(&pair, .{ .activated = sent_id });",
     "on_term is .{ .activate = id }, .{ .unblock = id } or {}"),
    ("mp.recv_message(&pair, .{ .activate = sent_id, .unblock = sent_id });",
     "on_term has either activate or unblock"),
    ("mp.recv_message(&pair, .{ .activate = 9 });", "on_term: activate takes a local_task_id"),
    ("mp.recv_message(&pair, .{ .unblock = 9 });",
     "on_term: unblock takes the id of a local or data task, or an input queue"),
    ("mp.send_message(0, 0, &flags, 1, {});",
     "buf points to an array of numbers of 16 or 32 bits"),
    ("mp.send_message(0, 0, &wide, 1, {});",
     "buf points to an array of numbers of 16 or 32 bits"),
]


def compile_error(folder, text, arch="wse3"):
    (folder / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); '
        '@export_name("main", fn()void); }')
    (folder / "pe.csl").write_text(text + "\ncomptime { @export_symbol(main); }\n")
    return harness.compile(folder / "layout.csl", folder / "o.bin", f"--arch={arch}",
                           expect=1).err


@pytest.mark.parametrize("call, text", COMPILE_ERRORS)
def test_wrong_types_are_reported(tmp_path, call, text):
    err = compile_error(tmp_path, HEAD.replace("events", "counts") % "false" + f"""
var counts = @zeros([2]u16);
var pair = @zeros([2]u32);
var flags = @zeros([2]bool);
var wide = @zeros([2]u64);
fn main() void {{ {call} }}""")
    assert text in err and "pe.csl" in err


def test_wse2_is_refused(tmp_path):
    """The page is about wse3; the message names what serves both machines."""
    err = compile_error(tmp_path, """
const mp = @import_module("<message_passing>", .{ .input_queue_id = 2, .output_queue_id = 3 });
fn main() void { mp.init(); }""", arch="wse2")
    assert "is for wse3; <collectives/packets> is for both machines" in err
    assert err.count("error:") == 1, err


def test_a_parameter_is_missing(tmp_path):
    err = compile_error(tmp_path, """
const mp = @import_module("<message_passing>", .{ .input_queue_id = 2 });
fn main() void { mp.init(); }""")
    assert "output_queue_id" in err.splitlines()[0]


# ---- a program -----------------------------------------------------------------------------------

GRAPH = """
const mp = @import_module("<message_passing>", .{ .input_queue_id = 4, .output_queue_id = 4 });
const place = @import_module("<layout>");
const sent_id = @get_local_task_id(9);
const width = @get_rectangle().width;
const NEIGHBOURS: u16 = 4;
const NONE: u16 = 0xffff;
var message = @zeros([2]u16);       // the distance, and what a data task does not get
var to_send: u16 = NEIGHBOURS;      // the next neighbour
var is_sending = false;
var is_header = true;

fn send_next() void {
  while (to_send < NEIGHBOURS and edges[to_send] == NONE) {
    to_send += 1;
  }
  if (to_send < NEIGHBOURS and !is_sending) {
    const to = edges[to_send];
    to_send += 1;
    is_sending = true;
    message[0] = distance[0] + 1;
    mp.send_message(to % width, to / width, &message, 2, .{ .activate = sent_id });
  }
}

task sent() void {
  is_sending = false;
  send_next();
}

fn lower(value: u16) void {
  if (value < distance[0]) {
    distance[0] = value;
    to_send = 0;
    send_next();
  }
}

task came(word: u16) void {
  if (is_header) {
    @assert(word == 2);
  } else {
    lower(word);
  }
  is_header = !is_header;
}

fn main() void {
  mp.init();
  distance[0] = NONE;
  if (is_root[0] == 1) {
    lower(0);
  }
}

comptime {
  @bind_local_task(sent, sent_id);
  @bind_data_task(came, @get_data_task_id(mp.mp_input_queue));
}
"""


def distances(edges, root):
    found, level, depth = {root: 0}, [root], 0
    while level:
        depth += 1
        level = sorted({to for at in level for to in edges[at] if to != packets.NOBODY}
                       - set(found))
        found.update((to, depth) for to in level)
    return [found.get(at, packets.NOBODY) for at in range(len(edges))]


@pytest.mark.parametrize("seed", range(3))
def test_distances_in_a_random_graph(tmp_path, seed):
    """Edges lead from each tile to up to four tiles anywhere; a data task gets the messages."""
    random = harness.commit_random(f"graph of messages {seed}")
    width, height = (int(random.integers(2, 7)) for _ in range(2))
    size = width * height
    edges = random.integers(0, size, (size, 4))
    edges[random.integers(0, 2, edges.shape) == 1] = packets.NOBODY
    root = int(random.integers(0, size))
    got = stdlib_run.run(
        tmp_path, GRAPH,
        {"edges": ("u16", 4), "is_root": ("u16", 1), "distance": ("u16", 1)},
        {"edges": edges.ravel(), "is_root": (numpy.arange(size) == root).astype(numpy.uint16)},
        grid=(width, height))
    assert list(got["distance"]) == distances(edges, root)


NEVER_INITED = """
param x: u16;
const mp = @import_module("<message_passing>", .{ .input_queue_id = 2, .output_queue_id = 3 });
const main_id = @get_local_task_id(9);
var out = [3]u32{ 1, 2, 3 };
var in = @zeros([3]u32);
task main() void {
  if (x != LEFT_OUT) { mp.init(); }
  if (x == 2) { mp.recv_message(&in, {}); }
  if (x == 0) { mp.send_message(2, 0, &out, 3, {}); }
}
comptime {
  @bind_local_task(main, main_id);
  @activate(main_id);
}
"""


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("left_out, exit_code, said", [
    (0, 2, ["P0.0: assertion failed: is_started [ASSERT]", "called at pe.csl:10",
            "note: call init() once before the first message"]),
    (1, 3, ["cause 1: P1.0 has not called init() of <message_passing>, which unblocks data task",
            "help: call it on each tile once, before the first operation of the module"]),
    (2, 2, ["P2.0: assertion failed: is_started [ASSERT]", "called at pe.csl:9",
            "note: call init() once before the first message"])])
def test_a_tile_without_init_is_told(tmp_path, left_out, exit_code, said, engine):
    """Also one that only passes messages on."""
    (tmp_path / "layout.csl").write_text("""layout {
  @set_rectangle(3, 1);
  for (@range(u16, 3)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .x = x }); }
}
""")
    (tmp_path / "pe.csl").write_text(NEVER_INITED.replace("LEFT_OUT", str(left_out)))
    harness.cslc("layout.csl", "--arch=wse3", "-o", "o.bin", cwd=tmp_path)
    err = harness.emu(tmp_path / "o.bin", f"--engine={engine}", expect=exit_code).err
    for text in said:
        assert text in err, err
