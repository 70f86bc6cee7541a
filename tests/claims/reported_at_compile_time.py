#!/usr/bin/python3
"""The compiler reports mistakes that the layout shows, in the right line, and reports nothing else.

Random programs: a sender and its receivers along a row or a column, straight or multicast, on
either machine, started by itself or by the host, in a rectangle of a random size with other tiles
around.  Each is compiled as it is, where no message may come, and with one mistake of each kind,
where a message of that kind must point at the line that is wrong.  The draw comes from the commit.

    reported_at_compile_time.py [PROGRAMS]     default 24, each compiled 8 times

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import random
import subprocess
import sys

from claims import Claims, harness

SIDES = {"EAST": (1, 0, "WEST"), "WEST": (-1, 0, "EAST"), "SOUTH": (0, 1, "NORTH"),
         "NORTH": (0, -1, "SOUTH")}

PROGRAM = """
param role: u16;
param c: color;
param n: u16;
const ctrl = @import_module("<control>");
var data = @zeros([n]u32);
const all = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> data[i] });
const oq = @get_output_queue(2);
const iq = @get_input_queue(3);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = n, .output_queue = oq });
const out_end = @get_dsd(fabout_dsd, .{    // CONTROL_DSD
  .fabric_color = c, .extent = 1, .output_queue = oq, .control = true });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = n, .input_queue = iq });
const main_id = @get_local_task_id(20);   // wse2: no color of a net has this number
const take_id = if (@is_arch("wse3")) @get_data_task_id(iq) else @get_data_task_id(c);
var ended: u16 = 0;
fn run() void {
  if (role == 1) @mov32(out, all);          // SEND
  if (role == 2) @mov32(all, in);           // RECEIVE
  if (role == 3) @mov32(out_end, ctrl.encode_single_payload(ctrl.opcode.NOP, false, @get_control_task_id(40), 0));   // CONTROL
}
task main() void { run(); }
task take(word: u32) void { data[0] += word; }
task end() void { ended = 1; }
comptime {
  if (LAUNCHED) {
    @export_symbol(run);
  } else {
    @bind_local_task(main, main_id);
    @activate(main_id);
  }
  if (role == 4) @bind_data_task(take, take_id);
  if (role == 4) @bind_control_task(end, @get_control_task_id(40));
  if (@is_arch("wse3") and (role == 1 or role == 3)) @initialize_queue(oq, .{ .color = c });
  if (@is_arch("wse3") and (role == 2 or role == 4)) @initialize_queue(iq, .{ .color = c });
}
"""


class Sample:
    """One net of colour `c`: tiles[0] sends, the last receives, those between hand on."""

    def __init__(self, rng):
        self.arch = rng.choice(["wse2", "wse3"])
        self.side = rng.choice(list(SIDES))
        self.launched = rng.random() < 0.4
        self.multicast = rng.random() < 0.5
        self.control = rng.random() < 0.3
        self.length, self.n = rng.randint(2, 9), rng.randint(9, 60)
        dx, dy, _ = SIDES[self.side]
        spare = [rng.randint(0, 3) for _ in range(4)]
        self.width = 1 + abs(dx) * (self.length - 1) + spare[0] + spare[1]
        self.height = 1 + abs(dy) * (self.length - 1) + spare[2] + spare[3]
        x = spare[0] + (self.length - 1 if dx < 0 else 0)
        y = spare[2] + (self.length - 1 if dy < 0 else 0)
        self.tiles = [(x + k * dx, y + k * dy) for k in range(self.length)]
        self.c, self.other = rng.sample(range(2, 16), 2)

    def roles(self):
        roles = dict.fromkeys(self.tiles, 0)
        roles[self.tiles[0]] = 3 if self.control else 1
        for tile in self.tiles[1:] if self.multicast else self.tiles[-1:]:
            roles[tile] = 4 if self.control else 2
        return roles

    def layout(self, mistake):
        """The text, and the lines of the tile before the last: its route and its code."""
        _, _, back = SIDES[self.side]
        lines = ["layout {", f"  @set_rectangle({self.width}, {self.height});"]
        before, roles = [], self.roles()
        for x in range(self.width):
            for y in range(self.height):
                role = roles.get((x, y), 0)
                n = self.n - 3 if mistake == "length" and (x, y) == self.tiles[-1] else self.n
                c = self.other if mistake == "color" and (x, y) == self.tiles[0] else self.c
                lines.append(f'  @set_tile_code({x}, {y}, "pe.csl", .{{ .role = {role}, .n = {n}, '
                             f'.c = @get_color({c}) }});')
                if (x, y) == self.tiles[-2]:
                    before.append(len(lines))
        for k, (x, y) in enumerate(self.tiles):
            is_last = k == self.length - 1
            rx = "RAMP" if k == 0 else self.side if mistake == "side" and is_last else back
            tx = "RAMP" if is_last else f"RAMP, {self.side}" if k and self.multicast else self.side
            if mistake == "route" and is_last:
                continue
            lines.append(f"  @set_color_config({x}, {y}, @get_color({self.c}), .{{ .routes = "
                         f".{{ .rx = .{{ {rx} }}, .tx = .{{ {tx} }} }} }});")
            if k == self.length - 2:
                before.append(len(lines))
        # The other color is routed somewhere, so that it is a color of the program.
        lines.append(f"  @set_color_config({self.tiles[-1][0]}, {self.tiles[-1][1]}, "
                     f"@get_color({self.other}), .{{ .routes = .{{ .rx = .{{ {back} }}, "
                     ".tx = .{ RAMP } } });")
        if self.launched:
            lines.append('  @export_name("run", fn()void);')
        return "\n".join([*lines, "}"]) + "\n", before

    def program(self, mistake):
        text = PROGRAM.replace("LAUNCHED", "true" if self.launched else "false")
        if mistake == "entry":
            text = text.replace("@bind_control_task(end, @get_control_task_id(40))",
                                "@bind_control_task(end, @get_control_task_id(41))")
        if mistake == "data":
            text = text.replace(", .control = true", "")
        if mistake == "extent":
            text = text.replace(".extent = n, .output_queue", ".extent = n - 2, .output_queue")
        return text

    def mistakes(self):
        """Kind: the ids that may report it, and the mark of the line, or None for the layout's."""
        own = {"entry": ({"control_without_task"}, "CONTROL"),
               "data": ({"payload_as_data"}, "CONTROL_DSD")} if self.control else {
               "length": ({"lengths_differ"}, "RECEIVE"), "extent": ({"extents_differ"}, "SEND"),
               "color": ({"sent_without_route"}, "SEND")}
        return {"route": ({"route_into_nothing"}, None), "side": ({"route_not_taken"}, None), **own}


def messages(sample, folder, mistake):
    layout, wrong = sample.layout(mistake)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(sample.program(mistake))
    ran = harness.cslc("layout.csl", f"--arch={sample.arch}", "--diag-format=json", "-o", "p.bin",
                       cwd=folder, expect=None)
    return [d for d in harness.diagnostics(ran.err) if d["severity"] != "note"], wrong


def is_told(sample, found, wrong, ids, mark):
    if mark:
        wrong = [n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {mark}")]
    return any(d["id"] in ids and d["line"] in wrong for d in found)


def main():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=harness.ROOT, capture_output=True,
                            text=True, check=False).stdout.strip()
    rng = random.Random(commit)
    claims = Claims()
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    seeded = told = alarms = 0
    for _ in range(programs):
        sample = Sample(rng)
        alarms += len([d for d in messages(sample, claims.scratch, None)[0]])
        for mistake, (ids, mark) in sample.mistakes().items():
            found, wrong = messages(sample, claims.scratch, mistake)
            seeded += 1
            if is_told(sample, found, wrong, ids, mark):
                told += 1
            else:
                print(f"not told: {mistake} in {vars(sample)}: {found}")
    claims.equals("messages about programs without a mistake", alarms, 0)
    claims.at_least(f"share of {seeded} mistakes told in the right line", told / seeded, 0.95)
    claims.finish()


main()
