"""The steps of a tile: code, operations on streams in the foreground and background, and data
tasks."""
from flows.actions import Action, Between, Reserved, StreamOperand
from flows.code import Expr, Scope, constant, indented, lines_of, run_all
from flows.courses import Course
from flows.operands import MOVES, OPERATIONS, Walk
from flows.routers import Unfit
from flows.scripts import ScriptSteps

MOST_REGISTERS = 5              # explicit ones, of each kind


class Step(ScriptSteps):
    """One step of a tile.  Operations of relays and on their streams come first, all in the
    background; then those on the other streams by their numbers."""

    def __init__(self, tile, number):
        self.tile, self.number, self.rng = tile, number, tile.rng
        self.coder, self.vectors = tile.coder, tile.vectors
        self.reserved, self.registers = Reserved(), 0
        self.links = []           # code of the tasks that join its ends
        self.scope = Scope(tile.program.globals + tile.program.params + [("round", "u16")],
                           list(tile.program.globals), times=1)
        self.actions = []
        for relay in tile.program.network.relays:
            if relay.tile == tile.place and relay.step == number:
                self.actions += self.relay_by_fifo(relay) if relay.by_fifo else [self.relay(relay)]
        # A stream that a task takes needs the main thread; so nothing waits there for later ones.
        needs_main = False
        for stream, way in self.operations():
            self.narrow()
            if self.chance(0.6):
                self.actions.append(self.code(self.rng.randrange(1, 5)))
            background = number in stream.bound or needs_main or self.chance(0.5)
            if way == "open":
                self.actions.append(self.open_again(stream))
                needs_main = True
            elif isinstance(stream, Course):
                needs_main |= self.add_script(stream, way, background)
            else:
                self.actions.append(self.action(stream, way, background))
                needs_main |= way == "receive" and tile.place in stream.tasks
            if (stream.number, way) in tile.flushers and stream.is_flushed(way, number):
                needs_main |= self.flush_behind(tile.flushers[stream.number, way])
        self.narrow()
        if self.chance(0.9) or not self.actions:
            self.actions.append(self.code(self.rng.randrange(2, 8)))

    def chance(self, p):
        return self.rng.random() < p

    def operations(self):
        """(stream, "send", "receive" or "open") in their order, but for relays.  What opens a color
        again comes before what needs it."""
        network, place, k = self.tile.program.network, self.tile.place, self.number
        relays = [r for r in network.relays if r.tile == place and r.step == k]
        found = [(s, "send") for s in network.sent(place)
                 if s.is_sent(place, k) and all(r.outgoing is not s for r in relays)]
        found += [(s, "receive") for s in network.received(place)
                  if s.is_received(place, k) and all(r.incoming is not s for r in relays)]
        found += [(c, "open") for c in network.courses if c.is_torn(place, k)]
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
            return self.take_by_tasks(stream, [None] * stream.steps[self.number])
        make = self.send if way == "send" else self.receive
        if background:
            return make(stream, True)
        if way == "receive" and self.chance(0.4):
            action = self.receive_in_pieces(stream)
        else:
            action = make(stream, False)
        return self.one_of_two(action, make(stream, False)) if self.chance(0.3) else action

    def flush_behind(self, flusher):
        """The step goes on when the queue of the last action is empty; returns whether that needs
        the main thread."""
        if not flusher.turns and self.chance(0.4):
            return False
        sent = self.actions.pop() if self.actions[-1].done else None

        def run(env, channels):
            yield True

        def done(verb, following):
            lines = flusher.add(self.number, [f"@{verb}({following});"])
            return sent.done("activate", self.tile.add_task("flush", lines)) if sent else lines
        self.actions.append(Action([], sent.run if sent else run,
                                   sent.ends if sent else lambda env, channels: iter(()), done))
        return True

    def open_again(self, course):
        """A handler opens the color so often as control wavelets stop it in the step."""
        place, opener = self.tile.place, self.tile.openers[course.number]

        def run(env, channels):
            yield True

        def done(verb, following):
            return opener.add(self.number, course.torn[self.number][place],
                              [f"@{verb}({following});"])
        return Action([], run, lambda env, channels: iter(()), done)

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
                stream.push(channels, issued.element(env, i, None), self.tile.place)
            yield True
        operands = [self.outgoing(stream, length), *sources]
        if background:
            self.reserve(operands)
            return self.in_background(name, operands, run, None)
        return self.in_foreground(name, operands, run)

    def receive(self, stream, background):
        length = stream.length(self.tile.place, self.number)
        dest = self.vectors.walk(self.scope, self.rng.choice(self.arrays(stream.kind)), length)
        name, sources = self.operands(stream.kind, length, self.incoming(stream, length))
        if isinstance(sources[0], Walk) and sources[0].array is dest.array and self.chance(0.5):
            sources[0] = dest
        begin = self.vectors.issue(name, stream.kind, dest, sources)
        return self.taking(name, [dest, *sources], begin, stream, background)

    def relay(self, relay):
        self.narrow()
        stream = relay.incoming
        length = stream.length(self.tile.place, self.number)
        name, sources = self.operands(stream.kind, length, self.incoming(stream, length))
        begin = self.vectors.issue(name, stream.kind, None, sources)
        return self.taking(name, [self.outgoing(relay.outgoing, length), *sources], begin, stream,
                           True, relay.outgoing)

    def relay_by_fifo(self, relay):
        """An operation fills a queue in memory, another one sends what it holds."""
        self.narrow()
        incoming, outgoing = relay.incoming, relay.outgoing
        length = incoming.length(self.tile.place, self.number)
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
        place = self.tile.place
        length = stream.length(place, self.number)

        def elements(env, channels, issued):
            waiting = between.waiting if between else channels[stream.number, place].elements()
            for i in range(length):
                while not waiting:
                    yield False
                result = issued.element(env, i, waiting.pop(0))
                if outgoing:
                    outgoing.push(channels, result, place)
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
        r, kind, place = self.rng, stream.kind, self.tile.place
        length = stream.length(place, self.number)
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
        inner = self.scope.inner(turns)
        inner.counters.append((turn, turns))
        inner.readable.append((turn, "u16"))
        inner.loads, inner.stores = inner.loads - {array.name}, inner.stores - {array.name}
        inner.calls = False
        body = self.coder.statements(inner, r.randrange(0, 3))

        def run(env, channels):
            waiting, issued = channels[stream.number, place].elements(), begin(env)
            for i in range(length):
                while not waiting:
                    yield False
                issued.element(env, i, waiting.pop(0))
                if (i + 1) % piece == 0:
                    env.values[turn] = i // piece
                    run_all(body, env)
                yield True
        lines, texts, after = self.moving(first, dest, f"{stride * piece}, {kind}",
                                          [s.text for s in sources])
        return Action([*lines, f"for (@range(u16, {turns})) |{turn}| {{",
                       f"  @{op}({', '.join(texts)});", *indented(lines_of(body)),
                       *indented(after), "}"], run)

    def moving(self, first, dest, offset, sources):
        """The descriptor `first` goes on with each turn, where it is the destination and where the
        sources name it `dest`: (lines before the turns, the operands, lines behind each operation).
        A variable is moved on; registers do it themselves."""
        if self.registers == MOST_REGISTERS or self.chance(0.5):
            return ([f"var {dest} = {first};"], [dest, *sources],
                    [f"{dest} = @increment_dsd_offset({dest}, {offset});"])
        self.registers += 1
        names = {file: f"@get_dsr({file}, {self.registers})" for file in ("dsr_dest", "dsr_src0")}
        used = ["dsr_dest"] + ["dsr_src0"] * (dest in sources)
        return ([f"@load_to_dsr({names[file]}, {first}, .{{ .save_address = true }});"
                 for file in used],
                [names["dsr_dest"], *(names["dsr_src0"] if s == dest else s for s in sources)], [])

    def one_of_two(self, action, other):
        """One operation on the stream or another one, by a condition."""
        condition = self.coder.condition(self.scope)

        def run(env, channels):
            yield from (action if condition.value(env) else other).run(env, channels)
        return Action([f"if ({condition.text}) {{", *indented(action.lines), "} else {",
                       *indented(other.lines), "}"], run)

    # ---- operations

    def incoming(self, stream, length):
        text = self.descriptor("fabin", stream, f".extent = {length}, .input_queue = "
                                                f"{self.tile.queue(stream, 'input')}")
        return StreamOperand(text, queue=self.tile.queues[stream.number, "input"], is_input=True)

    def outgoing(self, stream, length, more="", setting=""):
        text = self.descriptor("fabout", stream, f".extent = {length}, .output_queue = "
                                                 f"{self.tile.queue(stream, 'output')}{more}")
        return StreamOperand(text, setting=setting,
                             queue=self.tile.queues[stream.number, "output"])

    def descriptor(self, way, stream, fields):
        """In release 2, those of the newer machine take the color from the queue."""
        older = f".fabric_color = {self.tile.color(stream)}, {fields}"
        newer = fields if self.tile.program.is_new else older
        text = self.tile.orders.descriptor(older, newer)
        return self.vectors.keep(f"@get_dsd({way}_dsd, {text})")

    def in_foreground(self, name, operands, run):
        """operands: the destination and the sources."""
        return Action(self.lines_with(name, operands, self.take_register(operands), []), run)

    def in_background(self, name, operands, run, ends):
        register = self.take_register(operands)

        def done(verb, task):
            return self.lines_with(name, operands, register,
                                   [".async = true", f".{verb} = {task}"])
        return Action([], run, ends, done)

    def lines_with(self, name, operands, register, settings):
        """The operation with these settings and those of its operands."""
        found = settings + [o.setting for o in operands
                            if isinstance(o, StreamOperand) and o.setting]
        text = f".{{ {', '.join(found)} }}"
        if settings:
            text = self.tile.orders.settings(found, operands)
        # Operands with settings of their own have no registers, so these are all of the load.
        loads, texts = self.loaded(operands, register, text if settings else "")
        return [*loads, f"@{name}({', '.join([*texts, text] if found else texts)});"]

    def take_register(self, operands):
        """The number of explicit registers for the descriptors, or None.  They take descriptors of
        one dimension, and at most one of a stream."""
        vectors = [o for o in operands if not isinstance(o, Expr)]
        streams = [o for o in vectors if isinstance(o, StreamOperand)]
        may = (self.tile.program.initializes and self.registers < MOST_REGISTERS and
               len(streams) < 2 and not any(s.is_fifo or s.setting for s in streams) and
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
