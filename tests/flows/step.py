"""The steps of a tile: code, operations on streams in the foreground and background, and data
tasks."""
from dataclasses import dataclass, field
from typing import Callable

from flows.code import FLOATS, Expr, Scope, constant, indented, lines_of, run_all
from flows.network import Unfit
from flows.operands import MOVES, OPERATIONS, Walk

MOST_REGISTERS = 5              # explicit ones, of each kind


@dataclass
class Action:
    """A part of a step.  `run` and `ends` are generators of (env, channels); they yield whether
    something has moved."""
    lines: list
    run: Callable
    ends: Callable = None         # in the background: what happens before its end
    done: Callable = None         # in the background: (verb, task) for its end gives the lines


@dataclass
class Reserved:
    """Names of arrays that operations in the background and data tasks read and write; globals of
    data tasks."""
    read: set = field(default_factory=set)
    written: set = field(default_factory=set)
    globals: list = field(default_factory=list)


@dataclass
class StreamOperand:
    """A stream, or a FIFO."""
    text: str
    is_fifo: bool = False


@dataclass
class Between:
    """Elements on their way from one operation of a tile to another one."""
    waiting: list = field(default_factory=list)

    def push(self, channels, value):
        self.waiting.append(value)


class DataTask:
    """The data task of a stream at a tile, blocked but in the steps of the stream.  What it does
    depends on the step."""

    def __init__(self, tile, stream):
        self.tile, self.stream, self.cases = tile, stream, []
        self.name = tile.coder.name("take")
        self.count, self.step, self.id = (f"{self.name}_{part}" for part in ("count", "step", "id"))
        tile.env.values[self.count] = 0
        tile.declarations += [f"var {self.count}: u16 = 0;", f"var {self.step}: u16 = 0;"]

    def write(self):
        tile, stream, lines = self.tile, self.stream, []
        tile.declarations.append(
            f'const {self.id} = if (@is_arch("wse3")) '
            f"@get_data_task_id({tile.queue(stream, 'input')}) "
            f"else @get_data_task_id({tile.color(stream)});")
        for step, body, length, end in self.cases:
            last = [f"{self.count} += 1;", f"if ({self.count} == {length}) {{",
                    f"  {self.count} = 0;", f"  @block({self.id});", f"  {end}", "}", "return;"]
            lines += [f"if ({self.step} == {step}) {{", *indented(body + last), "}"]
        tile.tasks += [f"task {self.name}(x: {stream.kind}) void {{", *indented(lines), "}"]
        tile.binds += [f"@bind_data_task({self.name}, {self.id});", f"@block({self.id});"]


class Step:
    """One step of a tile.  Operations of relays and on their streams come first, all in the
    background; then those on the other streams by their numbers."""

    def __init__(self, tile, number):
        self.tile, self.number, self.rng = tile, number, tile.rng
        self.coder, self.vectors = tile.coder, tile.vectors
        self.reserved, self.registers = Reserved(), 0
        self.links = []           # code of the tasks that join its ends
        self.scope = Scope(list(tile.program.globals) + [("round", "u16")],
                           list(tile.program.globals))
        self.actions = []
        for relay in tile.program.network.relays:
            if relay.tile == tile.place and relay.step == number:
                self.actions += self.relay_by_fifo(relay) if relay.by_fifo else [self.relay(relay)]
        waiting = self.operations()
        # A stream that a task takes needs the main thread; so nothing waits there for later ones.
        first = min((s.number for s, way in waiting if way == "receive" and tile.place in s.tasks),
                    default=len(tile.program.network.streams) * 2)
        for stream, way in waiting:
            self.narrow()
            if self.chance(0.6):
                self.actions.append(self.code(self.rng.randrange(1, 5)))
            background = number in stream.bound or stream.number > first or self.chance(0.5)
            self.actions.append(self.action(stream, way, background))
        self.narrow()
        if self.chance(0.9) or not self.actions:
            self.actions.append(self.code(self.rng.randrange(2, 8)))

    def chance(self, p):
        return self.rng.random() < p

    def operations(self):
        """(stream, "send" or "receive") in their order, but for relays."""
        network, place, k = self.tile.program.network, self.tile.place, self.number
        relays = [r for r in network.relays if r.tile == place and r.step == k]
        found = [(s, "send") for s in network.sent(place)
                 if k in s.steps and all(r.outgoing is not s for r in relays)]
        found += [(s, "receive") for s in network.received(place)
                  if k in s.steps and all(r.incoming is not s for r in relays)]
        return sorted(found, key=lambda f: (k not in f[0].bound, f[0].number, f[1]))

    def narrow(self):
        """Code uses only what nothing in the background does."""
        names = {a.name for a in self.tile.program.arrays}
        if self.tile.program.careless:
            self.scope.loads = self.scope.stores = names
            return
        self.scope.loads = names - self.reserved.written
        self.scope.stores = self.scope.loads - self.reserved.read

    def arrays(self, kind=None):
        """Those that code may write; each is as long as any stream."""
        found = [a for a in self.tile.program.arrays
                 if a.kind == (kind or a.kind) and a.name in self.scope.stores]
        if not found:
            raise Unfit("arrays")
        return found

    # ---- actions

    def action(self, stream, way, background):
        if way == "receive" and self.tile.place in stream.tasks:
            return self.take_by_task(stream)
        make = self.send if way == "send" else self.receive
        if background:
            return make(stream, True)
        if way == "receive" and self.chance(0.4):
            action = self.receive_in_pieces(stream)
        else:
            action = make(stream, False)
        return self.one_of_two(action, make(stream, False)) if self.chance(0.3) else action

    def code(self, count):
        statements = self.coder.statements(self.scope, count)

        def run(env, channels):
            run_all(statements, env)
            yield True
        return Action(lines_of(statements), run)

    def operands(self, kind, length, fixed=None, is_last=False):
        found = None
        while not found:
            found = self.vectors.operands(self.scope, kind, length, fixed, is_last)
        return found

    def send(self, stream, background):
        length = stream.steps[self.number]
        name, sources = self.operands(stream.kind, length)
        begin = self.vectors.issue(name, stream.kind, None, sources)

        def run(env, channels):
            issued = begin(env)
            for i in range(length):
                stream.push(channels, issued.element(env, i, None))
            yield True
        operands = [self.outgoing(stream, length), *sources]
        if background:
            self.reserve(operands)
            return self.in_background(name, operands, run, None)
        return self.in_foreground(name, operands, run)

    def receive(self, stream, background):
        length = stream.steps[self.number]
        dest = self.vectors.walk(self.scope, self.rng.choice(self.arrays(stream.kind)), length)
        name, sources = self.operands(stream.kind, length, self.incoming(stream, length))
        if isinstance(sources[0], Walk) and sources[0].array is dest.array and self.chance(0.5):
            sources[0] = dest
        begin = self.vectors.issue(name, stream.kind, dest, sources)
        return self.taking(name, [dest, *sources], begin, stream, background)

    def relay(self, relay):
        self.narrow()
        stream, length = relay.incoming, relay.incoming.steps[self.number]
        name, sources = self.operands(stream.kind, length, self.incoming(stream, length))
        begin = self.vectors.issue(name, stream.kind, None, sources)
        return self.taking(name, [self.outgoing(relay.outgoing, length), *sources], begin, stream,
                           True, relay.outgoing)

    def relay_by_fifo(self, relay):
        """An operation fills a queue in memory, another one sends what it holds."""
        self.narrow()
        incoming, outgoing = relay.incoming, relay.outgoing
        length = incoming.steps[self.number]
        kind, fifo = incoming.kind, self.coder.name("fifo")
        self.vectors.globals += [
            f"var {fifo}_memory = @zeros([{self.rng.randrange(2, 12)}]{kind});",
            f"const {fifo} = @allocate_fifo({fifo}_memory);"]
        between = Between()
        name, sources = self.operands(kind, length, self.incoming(incoming, length))
        first = self.taking(name, [StreamOperand(fifo, is_fifo=True), *sources],
                            self.vectors.issue(name, kind, None, sources), incoming, True, between)
        name, sources = self.operands(kind, length, StreamOperand(fifo, is_fifo=True), is_last=True)
        second = self.taking(name, [self.outgoing(outgoing, length), *sources],
                             self.vectors.issue(name, kind, None, sources), incoming, True,
                             outgoing, between)
        return [first, second]

    def taking(self, name, operands, begin, stream, background, outgoing=None, between=None):
        """An operation whose last vector source is a stream, or what stands between; outgoing:
        takes the results."""
        place, length = self.tile.place, stream.steps[self.number]

        def elements(env, channels, issued):
            waiting = between.waiting if between else channels[stream.number, place]
            for i in range(length):
                while not waiting:
                    yield False
                result = issued.element(env, i, waiting.pop(0))
                if outgoing:
                    outgoing.push(channels, result)
            yield True

        def run(env, channels):
            yield from elements(env, channels, begin(env))

        if not background:
            return self.in_foreground(name, operands, run)
        self.reserve(operands)
        held = []

        def issue(env, channels):
            held.append(begin(env))
            yield True

        def ends(env, channels):
            yield from elements(env, channels, held.pop())
        return self.in_background(name, operands, issue, ends)

    def reserve(self, operands):
        """For an operation in the background."""
        walks = [(i, o) for i, o in enumerate(operands) if isinstance(o, Walk)]
        self.reserved.written |= {o.array.name for i, o in walks if i == 0}
        self.reserved.read |= {o.array.name for i, o in walks if i > 0}

    def receive_in_pieces(self, stream):
        """A loop whose turns take a part of the stream each."""
        r, kind, length = self.rng, stream.kind, stream.steps[self.number]
        array = r.choice(self.arrays(kind))
        turns = r.choice([n for n in range(1, length + 1) if length % n == 0])
        piece = length // turns
        stride, start = self.vectors.stride(array, length)
        first = self.vectors.keep(f"@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{piece}}} -> "
                                  f"{array.name}[{start} + ({stride}) * i] }})")
        dest, turn = self.coder.name("to"), self.coder.name("n")
        to = Walk(array, constant(start), (length,), (stride,), dest)
        op = r.choice([n for n, forms in OPERATIONS[kind] if "DD" in forms] or [MOVES[kind]])
        sources = ([] if op == MOVES[kind] else [to]) + [self.incoming(stream, piece)]
        begin = self.vectors.issue(op, kind, to, sources)
        inner = self.scope.inner()
        inner.counters.append((turn, turns))
        inner.readable.append((turn, "u16"))
        inner.loads, inner.stores = inner.loads - {array.name}, inner.stores - {array.name}
        inner.calls = False
        body = self.coder.statements(inner, r.randrange(0, 3))

        def run(env, channels):
            waiting, issued = channels[stream.number, self.tile.place], begin(env)
            for i in range(length):
                while not waiting:
                    yield False
                issued.element(env, i, waiting.pop(0))
                if (i + 1) % piece == 0:
                    env.values[turn] = i // piece
                    run_all(body, env)
            yield True
        return Action([f"var {dest} = {first};", f"for (@range(u16, {turns})) |{turn}| {{",
                       f"  @{op}({', '.join([dest, *(s.text for s in sources)])});",
                       *indented(lines_of(body)),
                       f"  {dest} = @increment_dsd_offset({dest}, {stride * piece}, {kind});",
                       "}"], run)

    def one_of_two(self, action, other):
        """One operation on the stream or another one, by a condition."""
        condition = self.coder.condition(self.scope)

        def run(env, channels):
            yield from (action if condition.value(env) else other).run(env, channels)
        return Action([f"if ({condition.text}) {{", *indented(action.lines), "} else {",
                       *indented(other.lines), "}"], run)

    def take_by_task(self, stream):
        """A data task takes the stream's wavelets one by one.  It has arrays and globals that
        nothing else uses before the step ends, but for code of the step: that is over by then."""
        r, kind, length = self.rng, stream.kind, stream.steps[self.number]
        if stream.number not in self.tile.data_tasks:
            self.tile.data_tasks[stream.number] = DataTask(self.tile, stream)
        task = self.tile.data_tasks[stream.number]
        free = [g for g in self.tile.program.globals if g not in self.reserved.globals]
        known = [a.name for a in self.arrays()]
        arrays = set(r.sample(known, min(len(known), r.randrange(1, 4))))
        names = r.sample(free, min(len(free), r.randrange(1, 4)))
        self.reserved.written |= arrays
        self.reserved.globals += names
        inside = Scope([("x", kind), (task.count, "u16"), *names], names, [(task.count, length)],
                       arrays, arrays, calls=False)
        statements = self.coder.statements(inside, r.randrange(1, 4))

        def start(env, channels):
            yield True

        def ends(env, channels):
            waiting = channels[stream.number, self.tile.place]
            for i in range(length):
                while not waiting:
                    yield False
                x = waiting.pop(0)
                env.values.update({"x": x if kind in FLOATS else int(x), task.count: i})
                run_all(statements, env)
            env.values[task.count] = 0
            yield True

        def done(verb, following):
            task.cases.append((self.number, lines_of(statements), length,
                               f"@{verb}({following});"))
            return [f"{task.step} = {self.number};", f"@unblock({task.id});"]
        return Action([], start, ends, done)

    # ---- operations

    def incoming(self, stream, length):
        return StreamOperand(self.vectors.keep(
            f"@get_dsd(fabin_dsd, .{{ .fabric_color = {self.tile.color(stream)}, "
            f".extent = {length}, .input_queue = {self.tile.queue(stream, 'input')} }})"))

    def outgoing(self, stream, length):
        return StreamOperand(self.vectors.keep(
            f"@get_dsd(fabout_dsd, .{{ .fabric_color = {self.tile.color(stream)}, "
            f".extent = {length}, .output_queue = {self.tile.queue(stream, 'output')} }})"))

    def in_foreground(self, name, operands, run):
        """operands: the destination and the sources."""
        loads, texts = self.loaded(operands, self.take_register(operands), "")
        return Action([*loads, f"@{name}({', '.join(texts)});"], run)

    def in_background(self, name, operands, run, ends):
        register = self.take_register(operands)

        def done(verb, task):
            settings = f".{{ .async = true, .{verb} = {task} }}"
            loads, texts = self.loaded(operands, register, settings)
            return [*loads, f"@{name}({', '.join([*texts, settings])});"]
        return Action([], run, ends, done)

    def take_register(self, operands):
        """The number of explicit registers for the descriptors, or None.  They take descriptors of
        one dimension, and at most one of a stream."""
        vectors = [o for o in operands if not isinstance(o, Expr)]
        streams = [o for o in vectors if isinstance(o, StreamOperand)]
        may = (self.tile.program.initializes and self.registers < MOST_REGISTERS and
               len(streams) < 2 and not any(s.is_fifo for s in streams) and
               all(len(o.lengths) == 1 for o in vectors if o not in streams))
        if not may or not self.chance(0.25):
            return None
        self.registers += 1
        return self.registers

    @staticmethod
    def loaded(operands, register, settings):
        """Lines that load the registers, and the texts of the operands."""
        if register is None:
            return [], [o.text for o in operands]
        sources = [o for o in operands[1:] if not isinstance(o, Expr)]
        lines, texts = [], []
        for i, operand in enumerate(operands):
            if isinstance(operand, Expr):
                texts.append(operand.text)
                continue
            last = bool(sources) and operand is sources[-1]
            file = "dsr_dest" if i == 0 else "dsr_src1" if last else "dsr_src0"
            texts.append(f"@get_dsr({file}, {register})")
            more = f", {settings}" if isinstance(operand, StreamOperand) and settings else ""
            lines.append(f"@load_to_dsr({texts[-1]}, {operand.text}{more});")
        return lines, texts

    # ---- what it computes

    def run(self, env, channels):
        for action in self.actions:
            yield from action.run(env, channels)
        for code in self.links:
            run_all(code, env)
        left = [a.ends(env, channels) for a in self.actions if a.ends]
        while left:
            moved = False
            for end in list(left):
                try:
                    moved |= next(end)
                except StopIteration:
                    left.remove(end)
                    moved = True
            yield moved
