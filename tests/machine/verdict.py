"""Whether the end of a run is one: proves that no wavelet, operation or task can move, and finds
the verdict, from the state of each tile that the emulator shows (queues, router slots, waiting
operations, tasks) and the rules of docs/emulator.md and docs/cycle-model.md. Needs no program, so
that it judges programs whose end depends on time."""
from machine import isa
from machine.network import EAST, NOBODY, NOP, OPPOSITE, RAMP, STEP, WEST, first_command

VALUE, MEMORY, FABIN, FABOUT, FIFO = 1, 3, 4, 5, 6      # kinds of operands in the driver's lines
MAIN = 0
DATA, LOCAL, CONTROL = 1, 2, 3
TRANSFORM = isa.FLAGS["transform"]


class Undecided(Exception):
    """What the emulator shows does not say whether something can move."""


class Color:
    def __init__(self, row):
        (self.number, self.count, _, self.suspended, self.source, self.control, self.payload,
         self.inputs, self.outputs, swap, self.filter, self.queue) = row
        self.swap_x, self.swap_y = swap & 1, swap >> 1


class End:
    """The end of a run, a line of the driver."""

    def __init__(self, end):
        self.end, self.arch, self.width = end, end["arch"], end["width"]
        self.tiles = {(i % self.width, i // self.width): t for i, t in enumerate(end["tiles"])}
        self.colors = {(at, row[0]): Color(row) for at, t in self.tiles.items()
                       for row in t["colors"]}
        self.undecided = []

    # ---- routers

    def inside(self, at, port, color):
        partner = self.colors.get((at, color ^ 1))
        if partner is None:
            return color
        x, y = partner.swap_x, partner.swap_y
        swap = (x and y) if port == RAMP else x if port in (EAST, WEST) else y
        return color ^ 1 if swap else color

    def accepts(self, at, color, port):
        c = self.colors.get((at, color))    # None: the wavelet waits, as docs/emulator.md says
        if c is None or c.suspended or c.count >= isa.machine("router_slots", self.arch):
            return False
        if not c.inputs >> port & 1:
            return False
        if c.count and c.control and first_command(c.payload)[0] != NOP:
            raise Undecided("a control wavelet may be about to close the input")
        return True

    def ramp_accepts(self, at, color):
        queue = self.colors[at, color].queue
        return queue < 8 and self.has_room(self.tiles[at]["in"][queue])

    @staticmethod
    def has_room(queue):
        return queue[0] < queue[2]

    def passes(self, at, color, outputs):
        """Whether the first wavelet of a color could leave through the outputs."""
        for port in range(RAMP):
            if outputs >> port & 1:
                to = at[0] + STEP[port][0], at[1] + STEP[port][1]
                if not self.accepts(to, self.inside(to, OPPOSITE[port], color), OPPOSITE[port]):
                    return False
        return not outputs >> RAMP & 1 or self.ramp_accepts(at, color)

    def check_color(self, at, c):
        if not c.count or c.suspended or not c.outputs:
            return
        outputs = c.outputs
        if c.control and first_command(c.payload)[1]:
            outputs &= ~(1 << RAMP)
        ways = {self.passes(at, c.number, outputs)}
        if c.filter and outputs >> RAMP & 1:
            ways.add(self.passes(at, c.number, outputs & ~(1 << RAMP)))
        if ways == {True}:
            yield f"a wavelet of color {c.number} could leave the router"
        elif True in ways:
            raise Undecided("a filter decides")

    # ---- queues, operations, tasks

    def check_output(self, at, queue):
        if not queue[0]:
            return
        if self.accepts(at, self.inside(at, RAMP, queue[1]), RAMP):
            yield f"a wavelet of color {queue[1]} could enter the router"

    @staticmethod
    def takes(tile, number, is_command):
        """Whether a running operation is the one that takes the head of an input queue."""
        return any(s[0] == FABIN and s[1] == number and
                   (not is_command or thread[5] or s[6] & TRANSFORM)
                   for thread in tile["threads"] if len(thread) > 3 for s in thread[8:10])

    def channel(self, number, color):
        return color if self.arch == "wse2" else number

    def check_input(self, tile, number, queue):
        count, color, _, is_control, payload, is_kept = queue
        channel = self.channel(number, color)
        if not count or tile["blocked"] >> channel & 1 or is_kept:
            return                      # one that is kept waits for an operation
        if self.takes(tile, number, is_control):
            return
        idle = not any(t[0] == MAIN for t in tile["threads"])
        entry = payload >> 16 & 0x3f
        if not is_control:
            if idle and [DATA, channel] in tile["tasks"]:
                yield f"data task {channel} could start"
        elif entry == NOBODY or not self.has_control_task(tile, entry):
            yield f"the control wavelet in input queue {number} could be dropped"
        elif idle:
            yield f"control task {entry} could start"

    def has_control_task(self, tile, entry):
        """On wse2 an entry may name a data task, too."""
        kinds = (CONTROL, DATA) if self.arch == "wse2" else (CONTROL,)
        return any([kind, entry] in tile["tasks"] for kind in kinds)

    def source_ready(self, tile, thread, stream):
        kind, queue, _, _, _, least, flags, _ = stream
        if kind == FIFO:
            return self.fifo(tile, stream)[0] > 0
        if kind != FABIN:
            return True
        count, _, _, is_control, _, is_kept = tile["in"][queue]
        if not count or (is_control and not is_kept and not flags & TRANSFORM):
            return bool(count and is_control and thread[5])
        if count < least or least > 1:
            raise Undecided("wavelets move in pairs")
        return True

    @staticmethod
    def fifo(tile, stream):
        """Elements held, and room."""
        data, at = bytes.fromhex(tile["data"]), stream[7]
        if at + 10 > len(data):
            raise Undecided("the state of the FIFO lies elsewhere")
        held = int.from_bytes(data[at + 8:at + 10], "little")
        return held, int.from_bytes(data[at + 2:at + 4], "little") - held

    def dest_ready(self, tile, stream):
        kind, queue, _, each, _, least, _, _ = stream
        if kind == FIFO:
            return self.fifo(tile, stream)[1] > 0
        if kind != FABOUT:
            return True
        count, _, capacity = tile["out"][queue][:3]
        if each > 1 or least > 1:
            raise Undecided("a wavelet may be half full")
        return count < capacity

    def check_thread(self, tile, thread):
        if len(thread) == 3:
            awaited = -1 - thread[2]
            if not awaited or all(other[0] != awaited for other in tile["threads"]):
                yield "the main thread could issue"
            return
        if thread[0] != MAIN and tile["paused"] >> (thread[0] - 1) & 1:
            return
        dest, first, second = thread[7:10]
        if self.ends_by_control(tile, thread) or (
                self.source_ready(tile, thread, first) and self.source_ready(tile, thread, second)
                and self.dest_ready(tile, dest)):
            yield f"the operation at {thread[1]:#x} could go on"

    @staticmethod
    def ends_by_control(tile, thread):
        return thread[5] and any(
            s[0] == FABIN and not s[6] & TRANSFORM and tile["in"][s[1]][0] and tile["in"][s[1]][3]
            for s in thread[8:10])

    def check_tasks(self, tile):
        if any(t[0] == MAIN for t in tile["threads"]):
            return
        ready = tile["active"] & ~tile["blocked"]
        if any(kind == LOCAL and ready >> number & 1 for kind, number in tile["tasks"]):
            yield "an activated local task could start"

    # ---- the whole

    def checks(self, at, tile):
        yield self.check_tasks(tile)
        for thread in tile["threads"]:
            yield self.check_thread(tile, thread)
        for number in range(8):
            yield self.check_input(tile, number, tile["in"][number])
            yield self.check_output(at, tile["out"][number])
        for row in tile["colors"]:
            yield self.check_color(at, self.colors[at, row[0]])

    def movable(self):
        """What could still move, as sentences; what cannot be decided is noted in `undecided`."""
        found = []
        for at, tile in self.tiles.items():
            for check in self.checks(at, tile):
                try:
                    found += [f"P{at[0]}.{at[1]}: {what}" for what in check]
                except Undecided as why:
                    self.undecided.append(str(why))
        return found

    def verdict(self):
        tiles = self.tiles.values()
        if any(t["active"] & t["blocked"] or
               any(thread[0] == MAIN or not thread[4] for thread in t["threads"]) for t in tiles):
            return "stuck"
        left = any(q[0] for t in tiles for q in t["in"] + t["out"])
        left |= any(c.count for c in self.colors.values())
        return "left" if left else "done"


def differences(end):
    """Sentences on a quiet end that is none, or that has another verdict."""
    if end["status"] != "quiet":
        return []
    judged = End(end)
    wrong = judged.movable()
    if judged.verdict() != end["idle"]:
        wrong.append(f"verdict: {judged.verdict()}, the emulator says {end['idle']}")
    return wrong or (None if judged.undecided else [])


class Wild:
    """A program of tests/unit/random_program.h, without a predicted end."""

    def __init__(self, seed):
        self.seed = seed

    def text(self):
        return f"random {self.seed}\nrun 4000 {int(self.seed % 50 == 0)}\n"

    def differences(self, end):
        return differences(end)
