"""`follow` and `origin` of wse-dbg: the way of a wavelet of a multicast, forward to each tile that
takes it and back to its sender, against --watch, for both engines."""
import re

import pytest

import harness
from test_debugger import Session

LAYOUT = """
const bcast = @get_color(2);
layout {
  @set_rectangle(4, 2);
  for (@range(u16, 4)) |x| {
    for (@range(u16, 2)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .x = x, .y = y });
      const rx = if (x == 0 and y == 0) .{RAMP} else if (x == 0) .{NORTH} else .{WEST};
      const tx = if (x == 0 and y == 0) .{EAST, SOUTH} else if (x == 3) .{RAMP} else .{RAMP, EAST};
      @set_color_config(x, y, bcast, .{ .routes = .{ .rx = rx, .tx = tx } });
    }
  }
}
"""
PE = """
param x: u16;
param y: u16;
const bcast = @get_color(2);
const oq = @get_output_queue(2);
const iq = @get_input_queue(3);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = bcast, .extent = 12, .output_queue = oq });
var words: [12]u32 = [12]u32{ WORDS };
const mem = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{12} -> words[i] });
var sum: u32 = 0;
const start_id = @get_local_task_id(8);
const take_id = if (@is_arch("wse3")) @get_data_task_id(iq) else @get_data_task_id(bcast);
task start() void { @mov32(out, mem); }
task take(value: u32) void {
  sum += value;
  for (@range(u16, 2 * x + y)) |i| { sum += @as(u32, i); }
}
comptime {
  if (x == 0 and y == 0) {
    @bind_local_task(start, start_id);
    @activate(start_id);
    if (@is_arch("wse3")) @initialize_queue(oq, .{ .color = bcast });
  } else {
    if (@is_arch("wse3")) @initialize_queue(iq, .{ .color = bcast });
    @bind_data_task(take, take_id);
  }
}
"""
COUNT, TILES = 12, 7
ENGINES = pytest.mark.parametrize("engine", ["--engine=fast", "--engine=reference"])


@pytest.fixture(params=["wse2", "wse3"])
def session(tmp_path, request):
    draw = harness.commit_random("follow" + request.param)
    words = ", ".join(str(w) for w in draw.integers(0, 3, COUNT))
    made = Session(tmp_path)
    made.compile(LAYOUT, PE.replace("WORDS", words), f"--arch={request.param}", "-O0")
    made.number = int(draw.integers(0, COUNT))
    return made


def watched(session):
    """Cycle in which the wavelet is sent, and (tile, cycle) of those that take it."""
    ran = harness.emu(session.folder / "p.bin", f"--watch=0,0,2,{session.number}")
    entered = int(re.search(r"@(\d+) P0.0 enters the router", ran.out).group(1))
    taken = re.findall(r"@(\d+) (P\d.\d) starts data task", ran.out)
    assert len(taken) == TILES
    return entered, [(tile, int(cycle)) for cycle, tile in taken]


def stops(answers):
    """(tile, cycle) of all tiles at which each `follow` has stopped."""
    found = []
    for text in answers:
        match = re.match(r"([P\d., ]+) takes? wavelet 0x\w+ of color 2 'bcast'"
                         r"(?:, (\d) more on the way)?; cycle (\d+), (P\d.\d)", text)
        assert match, text
        tiles = match.group(1).split(", ")
        assert tiles[0] == match.group(4)
        found += [(tile, int(match.group(3)) - 1) for tile in tiles]
        left = int(match.group(2) or 0)         # a copy may still become several
        assert left <= TILES - len(found) and (left > 0) == (len(found) < TILES)
    return found


@ENGINES
def test_from_the_stop_to_each_tile_that_takes_it(session, engine):
    entered, taken = watched(session)
    n = len({cycle for _, cycle in taken})      # several may take it in one cycle
    said = session.answers(["tbreak wavelet 2 @0,0", f"ignore 1 {session.number}", "continue",
                            *["follow"] * n, "follow", "origin", *["follow"] * 3], engine)
    assert stops(said[3:3 + n]) == taken
    assert "all of its copies have arrived" in said[3 + n]
    sent = re.match(r"P0.0 has sent wavelet 0x\w+ of color 2 'bcast', one of 12 elements at "
                    r"\S*pe.csl:\d+; cycle (\d+), P0.0", said[4 + n])
    assert sent and int(sent.group(1)) - 1 < entered
    again = stops(said[5 + n:8 + n])
    assert again == taken[:len(again)]


@ENGINES
def test_from_the_task_back_to_the_sender(session, engine):
    """Each tile has taken this wavelet last: they all find the one cycle of its sending."""
    _, taken = watched(session)
    commands = ["continue"]
    for tile, cycle in taken:
        commands += [f"goto {cycle + 1}", f"tile {tile[1]},{tile[3]}", "origin"]
    said = session.answers(commands, engine)[3::3]
    assert len(said) == TILES and len(set(said)) == 1 and "P0.0 has sent wavelet" in said[0]


@ENGINES
def test_the_next_wavelet_of_a_tile(session, engine):
    session.number = 0
    _, taken = watched(session)
    said = session.answers(["tile 1,0", "origin", "follow", "goto 0", "tile 0,0", "follow"], engine)
    assert said[1].startswith("the tile has not taken a wavelet yet\n")
    assert said[2].startswith("the run is over")          # P1.0 sends none
    first = stops([said[5]])
    assert first == taken[:len(first)]
