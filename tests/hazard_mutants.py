"""Single edits of the samples that make them go wrong, and which tile and color the report has to
name: those that the edited line is about, or one of them if it is about several.

Used by tests/test_hazard_mutants.py and the claim tests/claims/hazard_mutants.py.
"""
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import harness

PARAMS = {"hello-wavelet": {}, "broadcast-1d": {"P": 8, "B": 40}, "data-task": {"N": 60},
          "reduce-chain": {"P": 8, "B": 40}, "reduce-tree": {"P": 8, "B": 40},
          "gemv": {"width": 4, "height": 4, "M": 160, "N": 160}, "packets": {"packets": 9}}


@dataclass
class Mutant:
    what: str
    sample: str
    file: str
    old: str
    new: str
    tiles: tuple        # (x, y) that the edited line is about; one of them has to be named
    colors: tuple       # likewise
    arch: str = "wse2"

    @property
    def name(self):
        return f"{self.sample}: {self.what}"


ROUTE = "@set_color_config({}, 0, {}, .{{ .routes = .{{ .rx = .{{ {} }}, .tx = .{{ {} }} }} }});"
ROW = tuple((x, 0) for x in range(8))
GRID = tuple((x, y) for x in range(4) for y in range(4))


def without(what, sample, file, line, tiles, colors, **more):
    return Mutant(what, sample, file, line, "", tiles, colors, **more)


def hello():
    s = "hello-wavelet"
    left = ROUTE.format(0, "greeting", "RAMP", "EAST")
    right = ROUTE.format(1, "greeting", "WEST", "RAMP")
    yield without("sender's route dropped", s, "layout.csl", left, ((0, 0),), (0,))
    yield without("receiver's route dropped", s, "layout.csl", right, ((1, 0),), (0,))
    yield Mutant("sender's route turned west", s, "layout.csl", left,
                 left.replace("EAST", "WEST"), ((0, 0),), (0,))
    yield Mutant("receiver's route goes on east", s, "layout.csl", right,
                 right.replace("tx = .{ RAMP", "tx = .{ EAST"), ((1, 0),), (0,))
    yield Mutant("receiver listens to the north", s, "layout.csl", right,
                 right.replace("WEST", "NORTH"), ((1, 0),), (0,))
    yield without("data task not bound", s, "receiver.csl",
                  "@bind_data_task(receive, receive_id);", ((1, 0),), (0,))
    yield without("data task not bound, wse3", s, "receiver.csl",
                  "@bind_data_task(receive, receive_id);", ((1, 0),), (0,), arch="wse3")
    yield Mutant("data task blocked at the start", s, "receiver.csl",
                 "@export_symbol(received", "@block(receive_id); @export_symbol(received",
                 ((1, 0),), (0,))


    yield Mutant("receiver on another color", s, "layout.csl",
                 '"receiver.csl", .{ .greeting = greeting }',
                 '"receiver.csl", .{ .greeting = @get_color(1) }', ((1, 0),), (0,))
    yield Mutant("queue blocked at the start, wse3", s, "receiver.csl", "@export_symbol(received",
                 "@block(in_queue); @export_symbol(received", ((1, 0),), (0,), arch="wse3")


def broadcast():
    s, inner = "broadcast-1d", ROW[1:7]
    middle = ".{ .routes = .{ .rx = .{ EAST }, .tx = .{ RAMP, WEST } } }"
    yield without("root's route dropped", s, "layout.csl", ROUTE.format("p", "stream", "RAMP", "WEST"),
                  ((7, 0),), (0,))
    yield without("last tile's route dropped", s, "layout.csl",
                  ROUTE.format("p", "stream", "EAST", "RAMP"), ((0, 0),), (0,))
    yield Mutant("no passing on", s, "layout.csl", middle, middle.replace("RAMP, WEST", "RAMP"),
                 inner, (0,))
    yield Mutant("no copy for the tile", s, "layout.csl", middle,
                 middle.replace("RAMP, WEST", "WEST"), inner, (0,))
    yield Mutant("wrong input", s, "layout.csl", middle, middle.replace("EAST", "NORTH"), inner, (0,))
    yield Mutant("receivers' extent halved", s, "pe.csl",
                 ".extent = B, .input_queue = in_queue", ".extent = B / 2, .input_queue = in_queue",
                 ROW[:7], (0,))
    yield Mutant("one tile's extent halved", s, "layout.csl", "{ .B = B,",
                 "{ .B = if (p == 3) B / 2 else B,", ((3, 0),), (0,))
    yield Mutant("sender on another color", s, "pe.csl",
                 ".fabric_color = stream, .extent = B, .output_queue",
                 ".fabric_color = @get_color(7), .extent = B, .output_queue", ((7, 0),), (7,))


    yield Mutant("root sends twice", s, "pe.csl", "    @fmovs(out, v_dsd);",
                 "    @fmovs(out, v_dsd); @fmovs(out, v_dsd);", ((7, 0),), (0,))
    yield Mutant("two roots", s, "layout.csl", ".is_root = p == root",
                 ".is_root = p == root or p == 2", ((2, 0),), (0,))


def chain():
    s = "reduce-chain"
    yield without("receivers' routes dropped", s, "layout.csl",
                  "@set_color_config(p, 0, receives_on, from_east);", ROW[:7], (0, 1))
    yield without("senders' routes dropped", s, "layout.csl",
                  "@set_color_config(p, 0, sends_on, to_west);", ROW[1:], (0, 1))
    yield Mutant("one route dropped", s, "layout.csl", "if (p != 0) {",
                 "if (p != 0 and p != 4) {", ((4, 0),), (0,))
    yield Mutant("one tile's extent halved", s, "layout.csl", ".B = B,",
                 ".B = if (p == 3) B / 2 else B,", ((3, 0),), (1,))
    yield without("first tile does not send", s, "pe.csl", "@fmovs(out, own);", ((7, 0),), (1,))
    yield Mutant("routes turned east", s, "layout.csl", ".tx = .{ WEST }", ".tx = .{ EAST }",
                 ROW[1:], (0, 1))
    yield Mutant("first tile waits too", s, "layout.csl", ".is_first = p == P - 1",
                 ".is_first = p == P", ((7, 0),), (0,))


    yield Mutant("one tile's colors the wrong way round", s, "layout.csl", ".sends_on = sends_on,",
                 ".sends_on = if (p == 4) receives_on else sends_on,", ((4, 0),), (0, 1))
    yield Mutant("root waits for more", s, "layout.csl", ".B = B,", ".B = if (p == 0) B + 1 else B,",
                 ((0, 0),), (1,))
    yield Mutant("first tile too long", s, "layout.csl", ".B = B,",
                 ".B = if (p == P - 1) B + 30 else B,", ((7, 0),), (1,))
    yield Mutant("sent twice at once", s, "pe.csl", "@fmovs(out, own);",
                 "@fmovs(out, own, .{ .async = true }); @fmovs(out, own);", ((7, 0),), (1,))


def tree():
    s, senders = "reduce-tree", ROW[1:]
    yield without("no advance behind the vector", s, "pe.csl",
                  "@mov32(out_control, comptime switch_commands(advance, nop));", senders, (0,))
    yield Mutant("switches advance to the east", s, "layout.csl", ".pos1 = .{ .tx = WEST }",
                 ".pos1 = .{ .tx = EAST }", ROW, (0,))
    yield Mutant("leaves start in position 0", s, "layout.csl", "receives == 0) 2 else 0",
                 "receives == 0) 0 else 0", (ROW[1], ROW[3], ROW[5], ROW[7]), (0,))
    yield Mutant("second advance left out", s, "pe.csl", "switch_commands(advance, advance)",
                 "switch_commands(advance, nop)", senders, (0,))
    yield Mutant("one tile's extent halved", s, "layout.csl", ".B = B,",
                 ".B = if (p == 5) B / 2 else B,", ((5, 0),), (0,))


    yield Mutant("receivers start in position 1", s, "layout.csl", "receives == 0) 2 else 0",
                 "receives == 0) 2 else 1", (ROW[0], ROW[2], ROW[4], ROW[6]), (0,))
    yield without("no pop mode", s, "layout.csl", ".pop_mode = .{ .pop_on_advance_nop = true }", ROW,
                  (0,))
    yield Mutant("every command is popped", s, "layout.csl", "pop_on_advance_nop", "always_pop", ROW,
                 (0,))
    yield without("no position for passing on", s, "layout.csl", ".pos3 = .{ .rx = EAST },", ROW, (0,))
    yield Mutant("one tile receives one vector less", s, "layout.csl", ".receives = receives,",
                 ".receives = if (p == 4) receives - 1 else receives,", ((4, 0),), (0,))


def data_task():
    s = "data-task"
    yield without("sender's route dropped", s, "layout.csl",
                  ROUTE.format(0, "numbers", "RAMP", "EAST"), ((0, 0),), (3,))
    yield without("adder's route dropped", s, "layout.csl",
                  ROUTE.format(1, "numbers", "WEST", "RAMP"), ((1, 0),), (3,))
    yield without("data task not bound", s, "adder.csl", "@bind_data_task(add, add_id);",
                  ((1, 0),), (3,))
    yield Mutant("data task blocks itself", s, "adder.csl", "sum += number;",
                 "sum += number; @block(add_id);", ((1, 0),), (3,))


def gemv():
    s = "gemv"
    down = ".{ .routes = .{ .rx = .{ NORTH }, .tx = .{ RAMP, SOUTH } } }"
    yield Mutant("x is not passed down", s, "layout.csl", down,
                 down.replace("RAMP, SOUTH", "RAMP"), GRID, (0,))
    yield Mutant("x arrives from the east", s, "layout.csl", down, down.replace("NORTH", "EAST"),
                 tuple(t for t in GRID if t[1] in (1, 2)), (0,))
    yield Mutant("half of x received", s, "pe.csl",
                 ".fabric_color = x_stream, .extent = columns, .input_queue",
                 ".fabric_color = x_stream, .extent = columns / 2, .input_queue", GRID, (0,))
    yield without("first column does not send", s, "pe.csl", "@fadds(sum_out, y_dsd, b_dsd);",
                  tuple(t for t in GRID if t[0] == 0), (1,))
    yield Mutant("sums go south", s, "layout.csl",
                 "sends_on, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } }",
                 "sends_on, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ SOUTH } } }", GRID, (1,))
    yield Mutant("sums arrive from the east", s, "layout.csl",
                 ".{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } }",
                 ".{ .routes = .{ .rx = .{ EAST }, .tx = .{ RAMP } } }", GRID, (1,))


    yield Mutant("one tile starts a sum", s, "layout.csl", ".is_first = px == 0,",
                 ".is_first = px == 0 or (px == 2 and py == 1),", ((2, 1),), (2,))
    yield Mutant("one tile of the top row does not send", s, "layout.csl", ".is_top = py == 0,",
                 ".is_top = py == 0 and px != 2,", ((2, 0),), (0,))


def packets():
    s = "packets"
    yield Mutant("unblock skipped", s, "receiver.csl", ".async = true, .unblock = head_id",
                 ".async = true", ((1, 0),), (5,))
    yield Mutant("unblock skipped, wse3", s, "receiver.csl", ".async = true, .unblock = head_id",
                 ".async = true", ((1, 0),), (5,), arch="wse3")
    yield Mutant("packets shorter than they say", s, "sender.csl",
                 "@set_dsd_length(numbers_dsd, length)", "@set_dsd_length(numbers_dsd, length / 2)",
                 ((0, 0),), (5,))
    yield Mutant("receiver takes twice as much", s, "receiver.csl", "@set_dsd_length(body, n)",
                 "@set_dsd_length(body, 2 * n)", ((1, 0),), (5,))
    yield without("receiver's route dropped", s, "layout.csl",
                  ROUTE.format(1, "stream", "WEST", "RAMP"), ((1, 0),), (5,))


    yield without("data task does not block itself", s, "receiver.csl", "  @block(head_id);\n",
                  ((1, 0),), (5,))
    yield Mutant("unblocks another task", s, "receiver.csl", ".unblock = head_id",
                 ".unblock = @get_data_task_id(@get_color(6))", ((1, 0),), (5,))


def all_mutants():
    return [m for family in (hello, broadcast, chain, tree, data_task, gemv, packets)
            for m in family()]


def report(mutant, scratch):
    """What wse-emu says of the mutant, and its exit code."""
    folder = Path(scratch) / "mutant"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(harness.SAMPLES / mutant.sample, folder)
    text = (folder / mutant.file).read_text()
    assert text.count(mutant.old) == 1, f"{mutant.name}: the line to edit is not there once"
    (folder / mutant.file).write_text(text.replace(mutant.old, mutant.new))
    harness.compile(folder / "layout.csl", folder / "p.bin", f"--arch={mutant.arch}",
                    "--fabric-warnings",
                    params=PARAMS[mutant.sample])
    ran = harness.emu(folder / "p.bin", "--max-cycles=1000000", expect=None)
    return ran.err, ran.code


def names_place(mutant, text):
    """Does the report name a tile and the color that the edited line is about?"""
    tile = any(re.search(rf"\bP{x}\.{y}\b", text) for x, y in mutant.tiles)
    return tile and any(re.search(rf"\bcolor {c}\b", text) for c in mutant.colors)
