"""The program of one tile: its values, its tasks, and how its steps follow each other."""
import itertools

import numpy

from flows.code import DTYPES, FLOATS, WIDTHS, Coder, Env, indented, lines_of
from flows.courses import Words
from flows.flushers import Flusher, share_queues
from flows.library import Library
from flows.network import LINK_COLORS
from flows.openers import EXIT, Opener, teardown_task
from flows.orders import Orders
from flows.operands import Vectors
from flows.routers import Unfit
from flows.step import Step

FIRST_ID, END_ID = 8, 29        # local tasks
LINK_IDS = (*LINK_COLORS, 27, 28)
LINK_QUEUES = 2
OUTPUTS, INPUTS = 6, 8          # queues that both machines have


class Tile:
    def __init__(self, program, place):
        self.program, self.place, self.rng = program, place, program.rng
        r, network = self.rng, program.network
        self.sent, self.received = network.sent(place), network.received(place)
        self.configures = [s for s in network.all() if place in s.nodes and r.random() < 0.15]
        self.params = {f"color_{s.number}": f"@get_color({s.color})" for s in network.all()
                       if place in s.nodes and r.random() < 0.5}
        self.choose_queues()
        self.choose_ids()
        self.tasks, self.binds, self.declarations = [], [], []
        self.takers = {}                              # by number of the stream
        self.is_machine = r.random() < 0.3            # one task, with a state
        self.begin_values()
        self.make_coder()
        self.make_handlers()
        for _ in range(r.randrange(5)):
            self.coder.make_function(program.globals + program.params, program.globals)
        self.steps = [Step(self, k) for k in range(program.steps)]
        self.join_steps()
        self.write_handlers()
        if r.random() < 0.3 and any("@bind_control_task" in line for line in self.binds):
            self.binds.append('if (@is_arch("wse3")) @set_control_task_table();')

    def make_coder(self):
        r, program = self.rng, self.program
        self.coder = Coder(r, program.arrays, itertools.count())
        self.library = self.coder.library = Library(r, self.coder, self.place, program.rounds)
        link = range(LINK_QUEUES if program.by_link else 0)
        self.orders = Orders(self, [*link, *sorted(set(self.queues.values()))])
        if not program.careless:
            self.coder.orders = self.orders
        self.vectors = Vectors(r, self.coder, program.lengths)
        for _ in range(r.randrange(4)):
            self.vectors.make_variable(self.env)
        self.coder.vectors = self.vectors

    def choose_ids(self):
        """Of local tasks."""
        taken = {s.color for s in self.program.network.all()}
        taken |= set(LINK_IDS) if self.program.by_link else set()
        self.ids = [i for i in range(FIRST_ID, END_ID) if i not in taken]
        self.rng.shuffle(self.ids)
        self.local_ids = list(self.ids)

    def choose_queues(self):
        """A microthread has the number of a queue, so no two queues of the tile share one; streams
        that the tile sends in other steps may."""
        numbers = list(range(LINK_QUEUES if self.program.by_link else 0, INPUTS))
        self.rng.shuffle(numbers)
        may_flush = not self.program.careless
        self.senders = share_queues(self.rng, self) if may_flush else [[s] for s in self.sent]
        outputs = [q for q in numbers if q < OUTPUTS][:len(self.senders)]
        inputs = [q for q in numbers if q not in outputs]
        self.queues = {(s.number, "output"): q
                       for group, q in zip(self.senders, outputs) for s in group}
        self.queues.update({(s.number, "input"): q for s, q in zip(self.received, inputs)})

    def begin_values(self):
        program = self.program
        self.start = Env({a.name: numpy.array([self.number(a.kind) for _ in range(a.size)],
                                              DTYPES[a.kind]) for a in program.arrays},
                         {n: self.number(k) for n, k in program.globals})
        self.env = Env({n: v.copy() for n, v in self.start.arrays.items()},
                       {**self.start.values, "round": 0, "ticks": 0})

    def number(self, kind):
        r = self.rng
        if kind in FLOATS:
            return FLOATS[kind](r.randrange(-24, 25) / 8)
        low = 0 if kind[0] == "u" else -100
        return r.choice((r.randrange(low, 100), r.randrange(1 << WIDTHS[kind] - 1)))

    def queue(self, stream, way):
        return f"@get_{way}_queue({self.queues[stream.number, way]})"

    def color(self, stream):
        name = f"color_{stream.number}"
        return name if name in self.params else f"@get_color({stream.color})"

    def channel(self, stream):
        """What a block names: the id that the channel's data task would have."""
        return (f'if (@is_arch("wse3")) @get_data_task_id({self.queue(stream, "input")}) '
                f"else @get_data_task_id({self.color(stream)})")

    # ---- what the teardown task does

    def make_handlers(self):
        """And the colors that begin suspended."""
        courses, streams = self.program.network.courses, self.program.network.all()
        self.openers = {c.number: Opener(self, c) for c in courses
                        if any(c.is_torn(self.place, k) for k in c.scripts)}
        self.make_flushers()
        has_handlers = bool(self.openers or self.flushers)
        self.has_teardown_task = has_handlers and self.rng.random() < 0.3
        self.closed = [s for s in streams if self.place in s.nodes and
                       s.number not in self.openers and self.rng.random() < 0.08]
        for stream in self.closed:
            stream.nodes[self.place].is_closed = True

    def write_handlers(self):
        """And the tasks that take streams."""
        for part in [*self.takers.values(), *self.openers.values(), *self.all_flushers()]:
            part.write()
        if self.has_teardown_task:
            teardown_task(self)

    def make_flushers(self):
        """By number of the stream and what the tile does with it."""
        self.flushers = {}
        if self.program.careless:
            return
        for streams in self.senders:
            # One task hears of all queues and stopped colors.
            if len(streams) > 1 or self.rng.random() < (0.5 if self.openers else 0.15):
                flusher = Flusher(self, streams)
                self.flushers.update(((s.number, "send"), flusher) for s in streams)
        for stream in self.received:
            # Behind the last step only: in others the queue may have what the next one takes.
            if self.program.rounds == 1 and stream.may_be_flushed() and self.rng.random() < 0.3:
                self.flushers[stream.number, "receive"] = Flusher(self, [stream], "input")

    def all_flushers(self):
        return list({f.name: f for f in self.flushers.values()}.values())

    # ---- tasks

    def declare_id(self, name):
        """Declares the id of a local task and returns its text."""
        if not self.ids:
            raise Unfit("tasks")
        self.declarations.append(f"const {name}_id = @get_local_task_id({self.ids.pop()});")
        return f"{name}_id"

    def add_task(self, stem, lines):
        """Returns the text of its id."""
        name = self.coder.name(stem)
        number = self.declare_id(name)
        self.write_task(name, lines)
        return number

    def write_task(self, name, lines):
        self.tasks += [f"task {name}() void {{", *indented(lines), "}"]
        self.binds.append(f"@bind_local_task({name}, {name}_id);")

    # ---- how steps follow each other

    def join_steps(self):
        """Behind the last step comes what ends a round."""
        names = [self.coder.name("step") for _ in range(len(self.steps) + 1)]
        if self.is_machine:
            machine = self.coder.name("advance")
            ids = [self.declare_id(machine)] * len(names)
            self.declarations.append("var state: u16 = 0;")
        else:
            ids = [self.declare_id(name) for name in names]
        set_state = "state = {};" if self.is_machine else ""
        bodies = []
        for k, step in enumerate(self.steps):
            bodies.append([set_state.format(k + 1), *self.joined(step, ids[k + 1])])
        bodies[0] = [f"{EXIT}({self.color(s)});" for s in self.closed] + bodies[0]
        bodies.append(["round += 1;", *self.next_round(set_state.format(0), ids[0])])
        if self.is_machine:
            self.write_machine(machine, names, bodies)
        else:
            for name, body in zip(names, bodies):
                self.write_task(name, body)
        if self.program.launches:
            self.write_begin(ids[0])
        else:
            self.binds.append(f"@activate({ids[0]});")

    def write_begin(self, first):
        """What the host calls."""
        params = ", ".join(f"{n}_now: {k}" for n, k in self.program.params)
        self.declarations += [f"var {n}: {k} = 0;" for n, k in self.program.params]
        set_state = ["state = 0;"] if self.is_machine else []
        self.tasks += [f"fn begin({params}) void {{",
                       *indented([f"{n} = {n}_now;" for n, _ in self.program.params]),
                       *indented(set_state), f"  @activate({first});", "}"]
        self.binds.append("@export_symbol(begin);")

    def next_round(self, set_state, first):
        """The host begins the rounds of a program that has launches."""
        if self.program.launches:
            return ["link.unblock_cmd_stream();"] if self.program.by_link else []
        return [f"if (round < {self.program.rounds}) {{",
                *indented([set_state, f"@activate({first});"]), "} else {",
                *indented(self.show()), "}"]

    def write_machine(self, machine, names, bodies):
        """One task for all steps."""
        cases = []
        for k, body in enumerate(bodies):
            label = f"{k}" if k < len(bodies) - 1 else "else"
            if self.rng.random() < 0.5:
                self.tasks += [f"fn {names[k]}() void {{", *indented(body), "}"]
                body = [f"{names[k]}();"]
            cases += [f"{label} => {{", *indented(body), "},"]
        self.write_task(machine, ["switch (state) {", *indented(cases), "}"])

    def joined(self, step, following):
        """The lines of a step, behind whose last end the task `following` runs."""
        r, ends = self.rng, [a for a in step.actions if a.done]
        before, after = [], []
        if not ends:
            after = [f"@activate({following});"]
        elif len(ends) == 1 and r.random() < 0.6:
            ends[0].lines = ends[0].done("activate", following)
        elif len(ends) <= 2 and r.random() < 0.6:
            # One thing activates the task, another one unblocks it.
            before = [f"@block({following});"]
            ends[0].lines = ends[0].done("unblock", following)
            if len(ends) == 2:
                ends[1].lines = ends[1].done("activate", following)
            else:
                after = [f"@activate({following});"]
        elif r.random() < 0.5:
            before = self.join_by_count(ends, following)
        else:
            before = self.join_by_chain(step, ends, following)
        return before + [line for a in step.actions for line in a.lines] + after

    def join_by_count(self, ends, following):
        """Each end has a task, which counts."""
        left = self.coder.name("left")
        self.declarations.append(f"var {left}: u16 = 0;")
        body = [f"{left} -= 1;", f"if ({left} == 0) {{", f"  @activate({following});", "}"]
        if len(ends) > 1 and self.rng.random() < 0.5:
            name = self.coder.name("count_down")
            self.tasks += [f"fn {name}() void {{", *indented(body), "}"]
            body = [f"{name}();"]
        for action in ends:
            action.lines = action.done("activate", self.add_task("done", body))
        return [f"{left} = {len(ends)};"]

    def join_by_chain(self, step, ends, following):
        """Each end but the last unblocks a task, which activates the one before; these tasks run
        in order, beside what is left in the background."""
        before, target = [], following
        scope = step.scope.inner()
        scope.readable = [g for g in [*self.program.globals, *self.program.params,
                                      ("round", "u16")]
                          if g not in step.reserved.globals]
        scope.assignable = [g for g in self.program.globals if g not in step.reserved.globals]
        scope.calls, scope.times = False, 0
        for action in ends[:-1]:
            step.links.insert(0, self.coder.block(scope, 2) if self.rng.random() < 0.7 else [])
            task = self.add_task("link", [*lines_of(step.links[0]), f"@activate({target});"])
            before.append(f"@block({task});")
            action.lines = action.done("unblock", task)
            target = task
        ends[-1].lines = ends[-1].done("activate", target)
        return before

    # ---- what the host reads

    def shown(self, name):
        """The symbol that it reads for the array or global."""
        return f"shown_{name}" if self.program.hides else name

    def show(self):
        """What the last task does for it."""
        if not self.program.hides:
            return []
        lines = [f"{self.shown(n)} = {n};" for n, _ in self.program.globals]
        for a in self.program.arrays:
            lines += [f"for (@range(u16, {a.size})) |i| {{",
                      f"  {self.shown(a.name)}[i] = {a.name}[i];", "}"]
        return lines

    # ---- text

    def sends_words(self):
        return any(isinstance(part, Words) for course in self.program.network.courses
                   for scripts in course.scripts.values()
                   for part in scripts.get(self.place, []))

    def text(self):
        arrays, scalars = self.program.arrays, self.program.globals
        lines = [f"param {n}: color;" for n in self.params]
        if self.program.by_link:
            lines += ["param memcpy_params;",
                      'const link = @import_module("<memcpy/memcpy>", memcpy_params);']
        lines += self.library.text()
        if self.openers or self.closed or self.flushers or self.orders.is_on:
            lines.append('const tile_config = @import_module("<tile_config>");')
        if self.sends_words():
            lines.append('const control = @import_module("<control>");')
        for a in arrays:
            values = ", ".join(literal(a.kind, v) for v in self.start.arrays[a.name])
            lines.append(f"var {a.name} = [{a.size}]{a.kind}{{ {values} }};")
        lines += [f"var {n}: {k} = {literal(k, self.start.values[n])};" for n, k in scalars]
        if self.program.hides:
            lines += [f"var {self.shown(a.name)} = @zeros([{a.size}]{a.kind});" for a in arrays]
            lines += [f"var {self.shown(n)}: {k} = 0;" for n, k in scalars]
        lines += [f"var at_{a.name}: [*]{a.kind} = &{self.shown(a.name)};" for a in arrays]
        lines += ["var round: u16 = 0;", *self.declarations, *self.vectors.globals]
        lines += [line for f in self.coder.functions for line in f.text()]
        lines += [*self.tasks, "comptime {"]
        lines += indented(self.queues_text() + self.routes_text() + self.binds +
                          self.orders.binds())
        lines += [f'  @export_symbol(at_{a.name}, "{a.name}");' for a in arrays]
        lines += [f'  @export_symbol({self.shown(n)}, "{n}");' for n, _ in scalars]
        return "\n".join(lines + ["}"]) + "\n"

    def queues_text(self):
        """The newer machine needs all of them, the older one none but those that explicit
        registers use."""
        inputs = [f"@initialize_queue({self.queue(s, 'input')}, "
                  f"{self.orders.queue(self.color(s))});" for s in self.received]
        first = [self.flushers[s[0].number, "send"].first() if len(s) > 1 else s[0]
                 for s in self.senders]
        outputs = [f"@initialize_queue({self.queue(s, 'output')}, "
                   f".{{ .color = {self.color(s)} }});" for s in first]
        newer = outputs if self.program.initializes else inputs + outputs
        lines = inputs if self.program.initializes else []
        lines += [f"@unblock({self.channel(s)});" for s in self.program.network.courses
                  if self.place in s.droppers]
        return lines + (['if (@is_arch("wse3")) {', *indented(newer), "}"] if newer else [])

    def routes_text(self):
        return [f"@set_local_color_config({self.color(s)}, {s.nodes[self.place].config()});"
                for s in self.configures]

    # ---- what it computes

    def run(self, channels, rounds):
        """A generator that yields whether something has moved."""
        for _ in range(rounds):
            for step in self.steps:
                yield from step.run(self.env, channels)
            self.env.values["round"] += 1


def literal(kind, value):
    if kind in FLOATS:
        width = FLOATS[kind]().nbytes * 8
        bits = numpy.array([value], DTYPES[kind]).view(f"uint{width}")[0]
        return f"@bitcast({kind}, @as(u{width}, {bits}))"
    return str(int(value))
