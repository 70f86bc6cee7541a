"""Random programs on small fabrics whose end does not depend on time: streams along trees of
routers, with multicast, switches, control wavelets, filters, color swap, teardown and routes that
are rewritten, between operations in the foreground and background, FIFOs and tasks.  Lengths match
or do not, so that many programs wait for ever."""
import random

from machine import isa
from machine.network import (ADVANCE, ALWAYS, COUNTER, EAST, NEVER, NOBODY, NOP, NORTH, ON_ADVANCE,
                             ON_ADVANCE_NOP, OPPOSITE, RAMP, RANGE, RESET, SOUTH, SPARSE, STEP,
                             TEARDOWN, WEST, Filter, Network, Operation, Queue, Route, Router,
                             TileState, Wavelet, control)
from machine.tile import CODE
from machine.verdict import End

UNBOUNDED = 10 ** 9
QUEUES, MOST_QUEUES, MOST_OPS, DSRS = 8, 6, 11, 16
PHASE_TASK, FLAG_TASKS, TEARDOWN_TASK, FIRST_ENTRY = 24, (25, 26, 27, 28), 29, 40
FLAGS_AT, COUNTS_AT, DATA_AT, DATA_MOST = 0x20, 0x40, 0x100, 0x3e00
TASK_BUFFER, FIFO_WORDS = 100, 12
SIMD_32, SIMD_OFF = 1, 4        # of a descriptor, see docs/isa.md
TASK_KINDS = {"data": 1, "local": 2, "control": 3}
REGISTER_PORTS = (WEST, EAST, SOUTH, NORTH, RAMP)       # bits of COLOR_ROUTES
EXIT_WORD = 1 << 14
SWITCH_POSITION = 13            # bits of COLOR_SWITCH: the current position


class Node:
    """A stream at a tile: its color there, where it comes from and where it may go."""

    def __init__(self, color, source):
        self.color, self.source, self.children, self.ramp, self.route = color, source, [], False, None

    def outputs(self):
        return set(self.children) | ({RAMP} if self.ramp else set())


class Stream:
    def __init__(self, style):
        self.style, self.nodes, self.scripts = style, {}, {}


class TilePlan:
    def __init__(self):
        self.sends, self.receives = {}, {}      # color: queue
        self.colors = set()
        self.scripts = {}                       # color: batches
        self.tasks = []                         # (kind, id, code, arguments)
        self.code, self.data, self.dsrs, self.statements = [], {}, {f: [] for f in isa.FILES}, []
        self.free = DATA_AT
        self.writes, self.sources = [], []      # operations, for the end's memory
        self.handled = None                     # node of the teardown handler
        self.openings = []                      # (color, word) that the start writes
        self.turned = {}                        # node: position until the start turns its switch

    def room(self):
        return len(self.sends) + len(self.receives) < MOST_QUEUES

    def allocate(self, count):
        at, self.free = self.free, self.free + 4 * count
        assert self.free < DATA_MOST
        return at


class Fabric:
    def __init__(self, seed, arch=None):
        self.seed, self.random = seed, random.Random(f"fabric {seed}")
        self.arch = arch or ("wse2", "wse3")[seed % 2]
        r = self.random
        self.width, self.height = (2, 9) if self.chance(0.03) else (r.randrange(1, 6),
                                                                      r.randrange(1, 5))
        self.clean = self.chance(0.55)          # lengths match and little waits for the main thread
        self.net = Network(self.arch, self.width, self.height)
        self.plans = {(x, y): TilePlan() for y in range(self.height) for x in range(self.width)}
        self.teardown_stream = None
        self.streams = []
        for _ in range(r.choice((1, 2, 3, 4, 5, 6, 8))):
            self.make_stream()
        for stream in self.streams:
            self.deliver(stream)
        for tile in self.plans:
            self.program(tile)
        self.predicted = False

    def chance(self, p):
        return self.random.random() < p

    # ---- streams

    def color_pairs(self):
        mask = isa.machine("switchable_colors", self.arch)
        return [c for c in range(0, 20, 2) if mask >> c & 3 == 3]

    def make_stream(self):
        r = self.random
        style = r.choices(("plain", "advance", "control", "reset", "teardown"),
                          (20, 1, 3, 1, 1) if self.clean else (5, 1, 3, 1, 1))[0]
        if style == "teardown" and self.teardown_stream:
            style = "plain"
        stream, pair = Stream(style), r.choice(self.color_pairs())
        tiles = [t for t, plan in self.plans.items() if pair not in plan.colors and plan.room()]
        if not tiles:
            return
        root = r.choice(tiles)
        stream.nodes[root] = Node(pair + r.randrange(2), RAMP)
        for _ in range(r.randrange(0, 4)):
            self.grow(stream, pair)
        if style == "teardown":
            self.teardown_stream = stream
        for tile in stream.nodes:
            self.plans[tile].colors.add(pair)
        self.plans[root].sends[stream.nodes[root].color] = len(self.plans[root].sends)
        for tile, node in stream.nodes.items():
            if (not node.children or self.chance(0.4)) and self.plans[tile].room():
                node.ramp = True
                self.plans[tile].receives[node.color] = QUEUES - 1 - len(self.plans[tile].receives)
        self.streams.append(stream)
        for tile, node in stream.nodes.items():
            self.make_route(stream, tile, node)
            if node.route.swap_x != node.route.swap_y and self.chance(0.3):
                self.loop_beside(tile, node.color ^ 1)

    def grow(self, stream, pair):
        """A path from a tile of the tree towards any other."""
        r = self.random
        at, to = r.choice(list(stream.nodes)), r.choice(list(self.plans))
        while at != to:
            ways = [p for p in ((EAST if at[0] < to[0] else WEST) if at[0] != to[0] else None,
                                (SOUTH if at[1] < to[1] else NORTH) if at[1] != to[1] else None)
                    if p is not None]
            port = r.choice(ways)
            tile = at[0] + STEP[port][0], at[1] + STEP[port][1]
            if tile in stream.nodes or pair in self.plans[tile].colors:
                return
            color = stream.nodes[at].color
            if self.arch == "wse2" and self.chance(0.08):
                color ^= 1              # swapped as it enters
            stream.nodes[at].children.append(port)
            stream.nodes[tile] = Node(color, OPPOSITE[port])
            stream.nodes[tile].swapped = color != stream.nodes[at].color
            at = tile

    def make_route(self, stream, tile, node):
        r, plan = self.random, self.plans[tile]
        outputs = node.outputs()
        route = Route([(node.source, outputs)])
        if getattr(node, "swapped", False):
            both = self.chance(0.3) and not plan.sends.get(node.color ^ 1)
            route.swap_x = both or node.source in (EAST, WEST)
            route.swap_y = both or node.source in (NORTH, SOUTH)
        switched = stream.style in ("advance", "control", "reset") and self.chance(0.6)
        if switched and outputs and len(plan.sends) < MOST_QUEUES:
            for _ in range(r.randrange(1, 4)):
                source = node.source
                if self.chance(0.1 if self.clean else 0.3) and not route.swap_x and not route.swap_y and (
                        node.color in plan.sends or plan.room()):
                    source = RAMP
                    plan.sends.setdefault(node.color, len(plan.sends))
                route.positions.append((source, set(r.sample(sorted(outputs),
                                                             r.randrange(1, len(outputs) + 1)))))
            route.current = r.randrange(len(route.positions)) if self.chance(0.3) else 0
            # The register has one output for a position; nothing comes before the start turns it.
            if node.source == RAMP and all(len(ports) == 1 for _, ports in route.positions[1:]):
                plan.turned[node] = r.randrange(len(route.positions))
            route.ring = self.chance(0.5)
        route.pop = r.choice((NEVER, NEVER, ALWAYS, ON_ADVANCE, ON_ADVANCE_NOP))
        if node.ramp and self.chance(0.12):
            route.filter = self.make_filter()
        if stream.style == "teardown" and outputs and plan.handled is None and self.chance(0.6):
            route.rewritten = set(r.sample(sorted(outputs), r.randrange(1, len(outputs) + 1)))
            plan.handled = node
        elif len(route.positions) == 1 and outputs and self.chance(0.06):
            plan.openings.append((node, self.route_word(route, route.positions[0][1])))
        node.route = route
        self.net.routers[tile, node.color] = Router(self.net, tile, node.color, route)

    def loop_beside(self, tile, color):
        """The partner of a color that is swapped on one axis: the tile's own wavelets are not."""
        plan = self.plans[tile]
        if len(plan.sends) + len(plan.receives) + 2 > MOST_QUEUES:
            return
        stream, node = Stream("plain"), Node(color, RAMP)
        node.ramp, stream.nodes = True, {tile: node}
        plan.sends[color] = len(plan.sends)
        plan.receives[color] = QUEUES - 1 - len(plan.receives)
        node.route = Route([(RAMP, {RAMP})])
        self.net.routers[tile, color] = Router(self.net, tile, color, node.route)
        self.streams.append(stream)

    def make_filter(self):
        r = self.random
        kind = r.choice((COUNTER, SPARSE, RANGE))
        if kind == RANGE:
            low = r.randrange(0, 4)
            return Filter(kind, limit1=low, maximum=low + r.randrange(0, 4))
        limit = r.randrange(0, 6)
        return Filter(kind, self.chance(0.8), self.chance(0.5), r.randrange(0, limit + 1), limit,
                      r.choice((-1, 2, 3)), r.randrange(0, limit + 1))

    @staticmethod
    def route_word(route, outputs):
        bits = sum(1 << i for i, port in enumerate(REGISTER_PORTS) if port in outputs)
        sources = sum(1 << i for i, port in enumerate(REGISTER_PORTS) if port == route.positions[0][0])
        return bits | sources << 5 | route.pop << 12

    def commands(self, style):
        kinds = {"reset": (NOP, ADVANCE, RESET), "teardown": (NOP, TEARDOWN)}.get(style,
                                                                                (NOP, ADVANCE))
        return [(self.random.choice(kinds), self.chance(0.2))
                for _ in range(self.random.randrange(1, 4))]

    def deliver(self, stream):
        """Chooses what each sender sends; a trial run with endless queues says what arrives."""
        trial = Network(self.arch, self.width, self.height)
        trial.routers = {at: Router(trial, at[0], at[1], old.route)
                         for at, old in self.net.routers.items()}
        for tile, node in stream.nodes.items():
            state = TileState(self.arch, {}, [])
            if node.ramp:
                state.queue_of = {node.color: 0}
                state.inputs = {0: Queue(UNBOUNDED)}
            if node.color in self.plans[tile].sends and node.color not in self.plans[tile].scripts:
                script = self.make_script(stream)
                self.plans[tile].scripts[node.color] = script
                state.outputs = {0: Queue(UNBOUNDED)}
                state.outputs[0].items = [
                    Wavelet(value, what == "control", advance and i + 1 == len(values), node.color)
                    for what, values, advance in script for i, value in enumerate(values)]
            trial.tiles[tile] = state
        trial.run()
        for tile, node in stream.nodes.items():
            if node.ramp:
                items = trial.tiles[tile].inputs[0].items
                node.arrived = sum(not w.control for w in items)
                node.controls = len(items) - node.arrived
                self.plans[tile].streams = getattr(self.plans[tile], "streams", {})
                self.plans[tile].streams[node.color] = node

    def make_script(self, stream):
        """Batches: ("data" or "control", values, whether the last advances the switch)."""
        r, script = self.random, []
        for _ in range(r.randrange(1, 4)):
            values = [r.randrange(6) << 16 | r.randrange(1 << 16) for _ in range(r.choice(
                (1, 2, 3, 5, 8, 13, 21)))]
            script.append(("data", values, stream.style == "advance" and self.chance(0.7)))
            if stream.style in ("control", "reset", "teardown") or self.chance(0.08):
                entry = r.choice((NOBODY, FIRST_ENTRY, FIRST_ENTRY + 1, FIRST_ENTRY + 7))
                script.append(("control", [control(entry, self.commands(stream.style))
                                           for _ in range(r.randrange(1, 3))], False))
        return script

    # ---- the program of a tile

    def program(self, tile):
        plan = self.plans[tile]
        state = TileState(self.arch, plan.receives, plan.sends.values())
        self.net.tiles[tile] = state
        self.plan, self.state = plan, state
        self.flag_tasks = list(FLAG_TASKS)
        chains = self.make_chains()
        self.random.shuffle(chains)
        order = []
        while any(chains):
            chain = self.random.choice([c for c in chains if c])
            order.append(chain.pop(0))
        if self.clean:
            order.sort(key=lambda op: op.thread == 0)
        self.emit_program(order[:MOST_OPS])

    def make_chains(self):
        """Lists of operations; those of one list keep their order."""
        plan, chains, forwarded = self.plan, [], set()
        for color, script in plan.scripts.items():
            chain = []
            for what, values, advance in script:
                source = self.source_for(len(values), forwarded) if what == "data" else None
                op = Operation(len(values), output=plan.sends[color], color=color, advance=advance,
                               control=what == "control", values=None if source else values)
                if source is None and what == "data" and self.chance(0.2):
                    self.make_narrow(op, values)
                if source is not None:
                    op.inputs = [plan.receives[source]]
                    op.values = None
                chain.append(op)
            if len(chain) == 1 and self.chance(0.5):
                self.in_background(chain[0])
            chains.append(self.through_fifo(chain))
        for color in plan.receives:
            if color not in forwarded:
                chains.append(self.receiver(color))
        return chains

    def make_narrow(self, op, values):
        """As many wavelets, of one or two 16-bit elements."""
        op.narrow, op.packed = True, self.chance(0.5)
        op.values = [v & 0xffff for v in values]
        if op.packed:
            op.values += [v >> 16 for v in values[self.random.randrange(2):]]
            op.length = len(op.values)

    def source_for(self, count, forwarded):
        """A color that is passed on instead of sending from memory, or None."""
        colors = [c for c, node in getattr(self.plan, "streams", {}).items()
                  if c not in forwarded and not node.controls and
                  abs(node.arrived - count) <= (0 if self.clean else 5)]
        if not colors or not self.chance(0.35):
            return None
        forwarded.add(colors[0])
        return colors[0]

    def in_background(self, op):
        op.thread = 1 + (op.output if op.output is not None else op.inputs[0])
        if self.flag_tasks and self.chance(0.4):
            op.done_task = self.flag_tasks.pop()

    def through_fifo(self, chain):
        """One operation that passes on becomes two with a FIFO between them."""
        if len(chain) != 1 or not chain[0].inputs or not chain[0].thread or self.state.fifos or \
                not self.chance(0.5):
            return chain
        op = chain[0]
        first = Operation(op.length, inputs=op.inputs, fifo_out=0, thread=1 + op.inputs[0])
        op.inputs, op.fifo_in = [], 0
        self.state.fifos[0] = Queue(self.random.randrange(1, 6))
        return [first, op]

    def receiver(self, color):
        plan, state, node = self.plan, self.state, self.plan.streams[color]
        how = self.random.random()
        queue = plan.receives[color]
        channel = color if self.arch == "wse2" else queue
        if how < 0.04 and not self.clean:
            return []
        if how < 0.3:
            state.data_tasks[color] = channel
            state.open.add(color)
            return []
        if node.controls and (self.clean or self.chance(0.5)):
            state.open.add(color)
        count = node.arrived
        if not self.clean and self.chance(0.15):
            count = max(1, count + self.random.choice((-3, -1, 1, 2)))
        if count == 0:
            return []
        op = Operation(count, inputs=[queue])
        if node.controls and color not in state.open:
            op.terminates = self.chance(0.6)
        if self.chance(0.3) and not op.terminates:
            op.narrow, op.packed = True, self.chance(0.5)
            op.length = 2 * count - self.random.randrange(2) if op.packed else count
            op.values = [self.random.randrange(1 << 16) for _ in range(op.length)]
        if self.chance(0.9 if self.clean else 0.5):
            self.in_background(op)
            return [op]
        if count > 3 and self.chance(0.4) and not op.terminates and not op.narrow:
            first = self.random.randrange(1, count)
            return [Operation(first, inputs=[queue]), Operation(count - first, inputs=[queue])]
        return [op]

    # ---- code, descriptors and data

    def emit(self, name, **operands):
        self.plan.code += isa.encode(name, **operands)

    def here(self):
        return CODE + 2 * len(self.plan.code)

    def delay(self):
        if self.chance(0.6):
            return
        self.emit("li", a=9, imm=self.random.randrange(1, 40))
        loop = self.here()
        self.emit("addi", a=9, b=9, imm=0xffff)
        self.emit("bnz", a=9, target=loop)

    def dsr(self, file, words):
        self.plan.dsrs[file].append(words)
        return file, len(self.plan.dsrs[file]) - 1

    def put(self, at, values, width):
        for i, value in enumerate(values):
            self.plan.data[at + i * width] = value.to_bytes(width, "little")

    def memory_operand(self, file, op, values=None):
        """A vector in memory: of given values, or where results go."""
        width = 2 if op.narrow else 4
        at = self.plan.allocate(op.length + 1)
        self.put(at, values if values is not None else [0] * op.length, width)
        if values is None:
            op.to = at
            self.plan.writes.append(op)
        else:
            self.plan.sources.append((op, at))
        return self.dsr(file, isa.descriptor("mem1d", base=at, length=op.length, stride=1))

    def fabric_operand(self, file, op, queue):
        flags, more = (["async"] if op.thread else []), {}
        if op.done_task is not None:
            more["done"] = isa.action("activate", "task", op.done_task)
        if op.thread and self.chance(0.3):
            more["priority"] = self.random.randrange(3)
        if op.narrow:
            more["simd"] = SIMD_32 if op.packed else SIMD_OFF
        if file == "dest":
            op.zeroes = op.values is not None and self.chance(0.1)
            flags += ["control"] * op.control + ["advance"] * op.advance
            flags += [f"zero{int(not op.inputs)}"] * op.zeroes
            words = isa.descriptor("fabout", flags, queue=queue, color=op.color, length=op.length,
                                   **more)
        else:
            color = next(c for c, q in self.plan.receives.items() if q == queue)
            if op.terminates:
                more["control"] = isa.action("terminate")
            words = isa.descriptor("fabin", flags, queue=queue, color=color, length=op.length, **more)
        return self.dsr(file, words)

    def fifo_operand(self, file, op):
        flags = ["async"] if op.thread else []
        return self.dsr(file, isa.descriptor("fifo", flags, state=self.fifo_at, length=op.length))

    def emit_operation(self, op):
        sources = [self.fabric_operand("src1" if i == 0 else "src0", op, queue)
                   for i, queue in enumerate(op.inputs)]
        if op.fifo_in is not None:
            sources.append(self.fifo_operand("src1", op))
        if op.values is not None:
            sources.append(self.memory_operand("src0" if sources else "src1", op, op.values))
        if op.output is not None:
            dest = self.fabric_operand("dest", op, op.output)
        elif op.fifo_out is not None:
            dest = self.fifo_operand("dest", op)
        else:
            dest = self.memory_operand("dest", op)
        name = {(True, 1): "mov16", (True, 2): "add16", (False, 1): "mov32"}[op.narrow, len(sources)]
        op.pc = self.here()
        self.plan.code += isa.encode_vec(name, dest, sources[1] if len(sources) > 1 else None,
                                         sources[0])

    def emit_program(self, order):
        plan, state = self.plan, self.state
        if state.fifos:
            capacity = state.fifos[0].capacity
            self.fifo_at = plan.allocate(FIFO_WORDS + capacity)
            waits = 2 << 4 | 2 << 6
            self.put(self.fifo_at, [self.fifo_at + 2 * FIFO_WORDS, capacity, 0, 0, 0, waits, 4] +
                     [0] * (FIFO_WORDS - 7), 2)
        for node, word in plan.openings:
            self.emit("li", a=0, imm=word)
            self.emit("stcfgi", a=0, imm=isa.REGISTERS["COLOR_ROUTES"] + node.color)
        for node in plan.turned:
            register = isa.REGISTERS["COLOR_SWITCH"] + node.color
            self.emit("ldcfgi", a=0, imm=register)
            self.emit("andi", a=0, b=0, imm=0xffff & ~(3 << SWITCH_POSITION))
            self.emit("ori", a=0, b=0, imm=node.route.current << SWITCH_POSITION)
            self.emit("stcfgi", a=0, imm=register)
        tasks = state.data_tasks or state.open or plan.handled or len(self.flag_tasks) < 4
        split = len(order) if tasks else self.random.randrange(len(order) + 1)
        state.phases = [order[:split], order[split:]] if split < len(order) else [order]
        for number, ops in enumerate(state.phases):
            if number:
                plan.tasks.append(("local", PHASE_TASK, self.here(), 0))
            for op in ops:
                self.delay()
                self.emit_operation(op)
            if number + 1 < len(state.phases):
                self.emit("acti", imm=PHASE_TASK)
            self.emit("endtask")
        self.emit_tasks()

    def emit_tasks(self):
        plan, state = self.plan, self.state
        plan.buffers = {}
        for i, (color, channel) in enumerate(state.data_tasks.items()):
            plan.tasks.append(("data", channel, self.here(), 2))
            self.emit_append(("data", color), COUNTS_AT + 2 * i, 4)
        if state.open:
            for entry in (FIRST_ENTRY, FIRST_ENTRY + 1):
                state.control_tasks[entry] = True
                plan.tasks.append(("control", entry, self.here(), 1))
                self.emit_append(("control", entry), COUNTS_AT + 2 * (entry - FIRST_ENTRY + 10), 2)
        for i, task in enumerate(FLAG_TASKS):
            if task not in self.flag_tasks:
                plan.tasks.append(("local", task, self.here(), 0))
                self.emit("li", a=4, imm=1)
                self.emit("st16a", a=4, imm=FLAGS_AT + 2 * i)
                self.emit("endtask")
        if plan.handled:
            state.handler = True
            route = plan.handled.route
            plan.tasks.append(("local", TEARDOWN_TASK, self.here(), 0))
            self.emit("li", a=4, imm=self.route_word(route, route.rewritten))
            self.emit("stcfgi", a=4, imm=isa.REGISTERS["COLOR_ROUTES"] + plan.handled.color)
            self.emit("endtask")

    def emit_append(self, key, count_at, width):
        """A task that appends its payload to a buffer of its own."""
        at = self.plan.allocate(TASK_BUFFER * width // 4 + 1)
        self.put(at, [0] * TASK_BUFFER, width)
        self.plan.buffers[key] = (count_at, at, width)
        self.emit("ld16a", a=4, imm=count_at)
        self.emit("slli", a=5, b=4, imm=2 if width == 4 else 1)
        self.emit("st16", a=0, b=5, imm=at)
        if width == 4:
            self.emit("st16", a=1, b=5, imm=at + 2)
        self.emit("addi", a=4, b=4, imm=1)
        self.emit("st16a", a=4, imm=count_at)
        self.delay()
        self.emit("endtask")

    # ---- statements for the driver

    def text(self):
        lines = [f"program {self.seed} {('wse2', 'wse3').index(self.arch)} 0 {self.width} "
                 f"{self.height}"]
        for tile, plan in self.plans.items():
            lines += self.tile_text(tile, plan)
        for (tile, color), router in self.net.routers.items():
            lines.append(self.route_text(tile, color, router.route))
        crew = int(self.seed % 20 == 0)
        return "\n".join(lines + [f"run 200000 {crew}\n"])

    def memory(self, plan):
        data = bytearray(plan.free)
        for at, value in plan.data.items():
            data[at:at + len(value)] = value
        return data

    def tile_text(self, tile, plan):
        lines = [f"tile {tile[0]} {tile[1]}", "code " + "".join(f"{w:04x}" for w in plan.code),
                 f"data 0 {self.memory(plan).hex()}"]
        lines += [f"task {TASK_KINDS[kind]} {number} {entry} {arguments}"
                  for kind, number, entry, arguments in plan.tasks]
        lines += [f"input {queue} {color}" for color, queue in plan.receives.items()]
        if self.arch == "wse3":
            lines += [f"output {queue} {color}" for color, queue in plan.sends.items()]
        channels = sum(1 << (c if self.arch == "wse2" else plan.receives[c])
                       for c in self.net.tiles[tile].open)
        lines.append(f"open {channels}")
        for file, loaded in plan.dsrs.items():
            assert len(loaded) <= DSRS
            lines += [f"dsr {isa.FILES[file]} {n} " + "".join(f"{w:04x}" for w in words)
                      for n, words in enumerate(loaded)]
        return lines

    def route_text(self, tile, color, route):
        starts_down = any(node.color == color for node, _ in self.plans[tile].openings)
        f = route.filter
        positions = " ".join(f"{1 << source} {sum(1 << p for p in outputs)}"
                             for source, outputs in route.positions)
        if starts_down:                 # the start sets the routes
            positions = f"{1 << RAMP} {1 << RAMP}"
        current = next((position for node, position in self.plans[tile].turned.items()
                        if node.color == color), route.current)
        return (f"route {tile[0]} {tile[1]} {color} {current} {int(route.ring)} {route.pop} "
                f"{int(route.swap_x)} {int(route.swap_y)} {int(starts_down)} {f.kind} "
                f"{int(f.count_data)} {int(f.count_control)} 0 {int(f.limit2 >= 0)} {f.initial} "
                f"{f.limit1} {max(f.limit2, 0)} {f.maximum} {positions}")

    # ---- the end

    def differences(self, end):
        if not self.predicted:
            self.net.run()
            self.predicted = True
        if end["status"] != "quiet":
            return [f"the emulator ends with {end['status']} {end['faults']}"]
        wrong = []
        for (x, y), found in zip(self.plans, end["tiles"]):
            for what, model, emulator in self.tile_end((x, y), found):
                if model != emulator:
                    wrong.append(f"P{x}.{y} {what}: model {model}, emulator {emulator}")
        judged, predicted = End(end), self.verdict()
        wrong += judged.movable()
        if not predicted == judged.verdict() == end["idle"]:
            wrong.append(f"verdict: predicted {predicted}, from the end {judged.verdict()}, "
                         f"emulator {end['idle']}")
        return wrong

    def tile_end(self, tile, found):
        """(what, the model's, the emulator's) of a tile."""
        state, plan = self.net.tiles[tile], self.plans[tile]
        for name, queues in (("in", state.inputs), ("out", state.outputs)):
            for number, queue in queues.items():
                got = found[name][number]
                head = queue.items[0] if queue.items else Wavelet(0)
                yield (f"{name}put queue {number}", [len(queue.items), head.payload,
                                                     int(head.control)], [got[0], got[4], got[3]])
        for color, count, _, suspended, _, is_control, payload, _, outputs in (
                row[:9] for row in found["colors"]):
            router = self.net.routers[tile, color]
            head = router.slots[0] if router.slots else Wavelet(0)
            yield (f"color {color}", [len(router.slots), head.payload, int(head.control),
                                      int(router.suspended)],
                   [count, payload, is_control, suspended])
            yield (f"outputs of color {color}",
                   sum(1 << p for p in router.positions[router.out_position][1]), outputs)
        yield "threads", sorted(self.threads(state)), sorted(
            [t[0], t[1], t[3]] for t in found["threads"] if len(t) > 3)
        yield from self.memory_end(plan, state, bytes.fromhex(found["data"]))

    @staticmethod
    def waiting(state):
        ops = list(state.running)
        if not state.main_idle():
            ops.append(state.phases[state.phase][state.at])
        return ops

    def threads(self, state):
        return [[op.thread, op.pc, op.length - op.done] for op in self.waiting(state)]

    def memory_end(self, plan, state, data):
        for op in plan.writes:
            width = 2 if op.narrow else 4
            got = [int.from_bytes(data[op.to + width * i:op.to + width * (i + 1)], "little")
                   for i in range(op.length)]
            yield f"results at {op.to:#x}", op.results + [0] * (op.length - len(op.results)), got
        for op, at in plan.sources:
            width, gone = 2 if op.narrow else 4, op.done if op.zeroes else 0
            got = [int.from_bytes(data[at + width * i:at + width * (i + 1)], "little")
                   for i in range(op.length)]
            yield f"source at {at:#x}", [0] * gone + op.values[gone:], got
        for key, (count_at, at, width) in plan.buffers.items():
            taken = [v & ((1 << 8 * width) - 1) for v in state.taken.get(key, [])]
            count = int.from_bytes(data[count_at:count_at + 2], "little")
            got = [int.from_bytes(data[at + width * i:at + width * (i + 1)], "little")
                   for i in range(count)]
            if key[0] == "control":     # several colors may start one
                taken, got = sorted(taken), sorted(got)
            yield f"taken by {key}", taken, got
        for i, task in enumerate(FLAG_TASKS):
            yield (f"flag of task {task}", int(task in state.flags),
                   int.from_bytes(data[FLAGS_AT + 2 * i:FLAGS_AT + 2 * i + 2], "little"))

    def verdict(self):
        states = self.net.tiles.values()
        if any(self.waiting(state) for state in states):
            return "stuck"
        left = any(q.items for s in states for q in [*s.inputs.values(), *s.outputs.values()])
        left |= any(router.slots for router in self.net.routers.values())
        return "left" if left else "done"
