"""The fabric without time: wavelets, routers, queues, operations and tasks as a network of processes
with bounded buffers.  Each buffer has one writer and one reader, so whatever moves first, the
network ends in the same state; the model carries out moves until none is left.  Written from
docs/cycle-model.md, docs/hardware.md and docs/isa.md."""
from dataclasses import dataclass, field

from machine import isa

NORTH, SOUTH, EAST, WEST, RAMP = range(5)
STEP = {NORTH: (0, -1), SOUTH: (0, 1), EAST: (1, 0), WEST: (-1, 0)}
OPPOSITE = {NORTH: SOUTH, SOUTH: NORTH, EAST: WEST, WEST: EAST}
NOP, ADVANCE, RESET, TEARDOWN = range(4)
NEVER, ALWAYS, ON_ADVANCE, ON_ADVANCE_NOP = range(4)
COUNTER, SPARSE, RANGE = 1, 2, 3
NOBODY = 31                     # control entry
# Wavelets on the way, each way: docs/cycle-model.md, buffers.
RAMP_STAGES = {"wse2": 2, "wse3": 5}
# Bits of the eight commands of a control wavelet and of their ce-ignore marks.
COMMAND_BITS = ((22, 24), (25, 27), (28, 0), (1, 3), (4, 6), (7, 9), (10, 12), (13, 15))


def control(entry, commands, data=None):
    """A control payload: commands are (command, ce_ignore), the rest is NOP that is ignored."""
    word = entry << 16
    for i, (command_bit, ignore_bit) in enumerate(COMMAND_BITS):
        command, ignore = commands[i] if i < len(commands) else (NOP, True)
        word |= command << command_bit | ignore << ignore_bit
    return word


def first_command(word):
    command_bit, ignore_bit = COMMAND_BITS[0]
    return word >> command_bit & 3, bool(word >> ignore_bit & 1)


def popped(word):
    commands = [(word >> c & 3, word >> i & 1) for c, i in COMMAND_BITS[1:]]
    return control(word >> 16 & 0x3f, commands)


@dataclass
class Wavelet:
    payload: int
    control: bool = False
    advance: bool = False
    color: int = 0
    kept: bool = False          # a control wavelet that has ended an operation


@dataclass
class Filter:
    kind: int = 0
    count_data: bool = False
    count_control: bool = False
    initial: int = 0
    limit1: int = 0
    limit2: int = -1            # none
    maximum: int = 0


@dataclass
class Route:
    """A color at a tile: positions are (input port, set of output ports)."""
    positions: list
    current: int = 0
    ring: bool = False
    pop: int = NEVER
    swap_x: bool = False
    swap_y: bool = False
    torn_down: bool = False
    filter: Filter = field(default_factory=Filter)
    rewritten: tuple = None     # the outputs that the teardown handler of the tile sets


class Router:
    def __init__(self, net, tile, color, route):
        self.net, self.tile, self.color, self.route = net, tile, color, route
        self.positions = list(route.positions)
        self.in_position = self.out_position = route.current
        self.suspended = route.torn_down
        self.slots = []
        self.counter, self.limit, self.off = route.filter.initial, route.filter.limit1, False
        self.second = route.filter.limit2 >= 0

    def after(self, position, command):
        if command == RESET:
            return 0
        if command != ADVANCE:
            return position
        if position + 1 < len(self.positions):
            return position + 1
        return 0 if self.route.ring else position

    def accepts(self, port):
        """Room, and an input that is open and stays so behind the control wavelets in the slots."""
        if len(self.slots) >= isa.machine("router_slots", self.net.arch) or self.suspended:
            return False
        position, still_open = self.in_position, True
        still_open = self.positions[position][0] == port
        for wavelet in self.slots:
            command = first_command(wavelet.payload)[0] if wavelet.control else NOP
            position = self.after(position, command)
            still_open &= self.positions[position][0] == port and command != TEARDOWN
        return still_open

    def enter(self, port, wavelet):
        if port == RAMP and wavelet.advance:
            self.in_position = self.after(self.in_position, ADVANCE)
        self.slots.append(wavelet)

    def passes(self, wavelet):
        f = self.route.filter
        if f.kind in (COUNTER, SPARSE):
            return self.off or self.counter <= f.maximum
        if f.kind == RANGE:
            return wavelet.control or f.limit1 <= wavelet.payload >> 16 <= f.maximum
        return True

    def count(self, wavelet):
        f = self.route.filter
        if f.kind not in (COUNTER, SPARSE) or not (f.count_control if wavelet.control else
                                                   f.count_data):
            return
        if self.counter != self.limit:
            self.counter += 1
            return
        self.counter = 0
        if f.kind == SPARSE:
            if self.second:
                self.limit, self.second = f.limit2, False
            else:
                self.off = True

    def step(self):
        """Moves the first wavelet on, through all its outputs at once; False: it waits."""
        if not self.slots or self.suspended:
            return False
        wavelet = self.slots[0]
        outputs = set(self.positions[self.out_position][1])     # none: the wavelet is dropped
        command, ignored = first_command(wavelet.payload) if wavelet.control else (NOP, False)
        if ignored:
            outputs.discard(RAMP)
        to_ramp = RAMP in outputs
        if to_ramp and not self.passes(wavelet):
            outputs.discard(RAMP)
        targets = [(self.net.entered(self.tile, port, self.color), OPPOSITE[port])
                   for port in outputs if port != RAMP]
        if not all(router.accepts(port) for router, port in targets):
            return False
        queue = self.net.tiles[self.tile].input_of(self.color) if RAMP in outputs else None
        if queue is not None and not queue.room():
            return False
        self.slots.pop(0)
        if to_ramp:
            self.count(wavelet)
        payload = self.execute(wavelet, command) if wavelet.control else wavelet.payload
        if wavelet.advance:
            self.out_position = self.after(self.out_position, ADVANCE)
        for router, port in targets:
            router.enter(port, Wavelet(payload, wavelet.control, False, router.color))
        if queue is not None:
            queue.items.append(Wavelet(payload, wavelet.control, False, self.color))
        return True

    def execute(self, wavelet, command):
        before = self.out_position
        self.in_position = self.after(self.in_position, command)
        self.out_position = self.after(before, command)
        if command == TEARDOWN:
            self.suspended = True
            self.net.tiles[self.tile].torn_down.append(self)
        changed = self.out_position != before
        pop = self.route.pop
        if pop == ALWAYS or (pop == ON_ADVANCE and changed) or \
                (pop == ON_ADVANCE_NOP and (changed or command == NOP)):
            return popped(wavelet.payload)
        return wavelet.payload


class Queue:
    def __init__(self, capacity):
        self.capacity, self.items = capacity, []

    def room(self):
        return len(self.items) < self.capacity


@dataclass
class Operation:
    """A vector operation with at most two inputs and one output.  Elements are wavelets; what comes
    from memory is given as values.  `results` are written to memory at `to`."""
    length: int
    inputs: list = field(default_factory=list)      # queue numbers
    values: list = None                             # of the source in memory
    output: int = None                              # queue number, with `color`
    color: int = 0
    control: bool = False
    advance: bool = False
    narrow: bool = False                            # 16-bit elements
    packed: bool = False                            # two of them a wavelet
    zeroes: bool = False                            # the source in memory, as it is read
    terminates: bool = False                        # on a control wavelet
    fifo_in: int = None                             # FIFO that it pops
    fifo_out: int = None                            # FIFO that it pushes
    to: int = None                                  # address
    done_task: int = None
    thread: int = 0
    number: int = 0                                 # of the instruction, for messages
    done: int = 0
    ended: bool = False
    results: list = field(default_factory=list)


class TileState:
    def __init__(self, arch, inputs, outputs):
        self.arch = arch
        depth_in = isa.machine("input_queue_depth", arch)
        depth_out = isa.machine("output_queue_depth", arch)
        stages = RAMP_STAGES[arch]
        self.inputs = {q: Queue(depth_in[q] + stages) for q in inputs.values()}
        self.queue_of = inputs                      # color: input queue
        self.outputs = {q: Queue(depth_out[q] + stages) for q in outputs}
        self.phases = []                            # lists of operations, one after the other
        self.running = []                           # operations in the background
        self.phase = self.at = 0
        self.data_tasks, self.control_tasks, self.open = {}, {}, set()
        self.taken = {}                             # by color or control entry: payloads
        self.flags = set()                          # tasks that have run once
        self.wanted = []                            # tasks that will
        self.torn_down, self.handler = [], False
        self.fifos = {}                             # number: Queue

    def input_of(self, color):
        return self.inputs[self.queue_of[color]]

    def main_idle(self):
        return self.phase >= len(self.phases)

    # ---- operations

    def move_element(self, op):
        """The next of an operation, or its end by a control wavelet."""
        if op.done == op.length:
            return False
        sources = [self.inputs[q] for q in op.inputs]
        for queue in sources:
            if op.terminates and queue.items and queue.items[0].control:
                queue.items[0].kept = True
                op.ended = True
                return True
        if any(not q.items or (q.items[0].control and not q.items[0].kept) for q in sources):
            return False
        if op.fifo_in is not None and not self.fifos[op.fifo_in].items:
            return False
        if op.fifo_out is not None and not self.fifos[op.fifo_out].room():
            return False
        if op.output is not None and not self.outputs[op.output].room():
            return False
        self.move_elements(op, sources, min(2 if op.packed else 1, op.length - op.done))
        return True

    def move_elements(self, op, sources, count):
        """The elements of one wavelet, or one."""
        mask = 0xffff if op.narrow else 0xffffffff
        operands = [[payload >> 16 * i & mask for i in range(count)]
                    for payload in (q.items.pop(0).payload for q in sources)]
        if op.values is not None:
            operands.append(op.values[op.done:op.done + count])
        if op.fifo_in is not None:
            operands.append([self.fifos[op.fifo_in].items.pop(0)])
        results = [sum(element) & mask for element in zip(*operands)]
        op.done += count
        if op.output is not None:
            word = sum(value << 16 * i for i, value in enumerate(results))
            self.outputs[op.output].items.append(
                Wavelet(word, op.control, op.advance and op.done == op.length, op.color))
        elif op.fifo_out is not None:
            self.fifos[op.fifo_out].items += results
        else:
            op.results += results

    def finished(self, op):
        if op.done < op.length and not op.ended:
            return False
        if op.done_task is not None and not op.ended:
            self.wanted.append(op.done_task)
        return True

    def step(self):
        moved = False
        for op in list(self.running):
            while not op.ended and self.move_element(op):
                moved = True
            if self.finished(op):
                self.running.remove(op)
                moved = True
        return self.step_main() or self.step_channels() or moved

    def step_main(self):
        moved = False
        while not self.main_idle():
            ops = self.phases[self.phase]
            if self.at == len(ops):
                self.phase, self.at, moved = self.phase + 1, 0, True
                continue
            op = ops[self.at]
            if op.thread:
                self.running.append(op)
            else:
                while not op.ended and self.move_element(op):
                    moved = True
                if not self.finished(op):
                    return moved
            self.at, moved = self.at + 1, True
        for router in self.torn_down if self.handler else ():
            if router.route.rewritten is not None:
                router.positions[0] = (router.positions[0][0], router.route.rewritten)
                router.suspended = False
                moved = True
        self.torn_down = []
        moved |= bool(self.wanted)
        self.flags |= set(self.wanted)
        self.wanted = []
        return moved

    def step_channels(self):
        """Heads of queues that start tasks or are dropped."""
        moved = False
        for color, number in self.queue_of.items():
            items = self.inputs[number].items
            while items and color in self.open and self.take_head(color, items):
                moved = True
        return moved

    def take_head(self, color, items):
        head = items[0]
        if head.kept:
            return False
        if head.control:
            entry = head.payload >> 16 & 0x3f
            known = entry != NOBODY and entry in self.control_tasks
            if known and not self.main_idle():
                return False
            if known:
                self.taken.setdefault(("control", entry), []).append(head.payload)
        elif color in self.data_tasks and self.main_idle():
            self.taken.setdefault(("data", color), []).append(head.payload)
        else:
            return False
        items.pop(0)
        return True


class Network:
    def __init__(self, arch, width, height):
        self.arch, self.width, self.height = arch, width, height
        self.routers, self.tiles = {}, {}

    def entered(self, tile, port, color):
        """The router of the neighbour, under the color that the wavelet has there."""
        x, y = tile[0] + STEP[port][0], tile[1] + STEP[port][1]
        return self.routers[(x, y), self.inside((x, y), OPPOSITE[port], color)]

    def inside(self, tile, port, color):
        partner = self.routers.get((tile, color ^ 1))
        if partner is None:
            return color
        x, y = partner.route.swap_x, partner.route.swap_y
        swap = (x and y) if port == RAMP else x if port in (EAST, WEST) else y
        return color ^ 1 if swap else color

    def step_ramp(self, tile, queue):
        if not queue.items:
            return False
        wavelet = queue.items[0]
        router = self.routers[tile, self.inside(tile, RAMP, wavelet.color)]
        if not router.accepts(RAMP):
            return False
        queue.items.pop(0)
        router.enter(RAMP, Wavelet(wavelet.payload, wavelet.control, wavelet.advance, router.color))
        return True

    def run(self):
        """Until nothing can move."""
        moved = True
        while moved:
            moved = False
            for tile, state in self.tiles.items():
                moved |= state.step()
                for queue in state.outputs.values():
                    while self.step_ramp(tile, queue):
                        moved = True
            for router in self.routers.values():
                while router.step():
                    moved = True
