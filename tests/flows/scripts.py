"""What the steps of a tile do on courses: they send scripts, and take elements and control wavelets
by tasks, by operations, or by operations that a control wavelet ends."""
from dataclasses import dataclass
from typing import Callable

import numpy

from flows.actions import Action
from flows.code import FLOATS, Array, Expr, Scope, Statement, lines_of, run_all
from flows.courses import Piece
from flows.operands import MOVES
from flows.payloads import Command, all_nops, known_bits
from flows.routers import Unfit
from flows.takers import DATA, Taker

LONGEST = 24                    # of an operation that one ends; arrays are that long
HALF = 0xffff


class ScriptSteps:
    """A part of Step."""

    def add_script(self, course, way, background):
        """Returns whether the actions need the main thread before the step ends."""
        if way == "send":
            parts = course.scripts[self.number][self.tile.place]
            self.actions.append(self.send_script(course, parts, background))
            return background and len(parts) > 1
        arrivals = course.arrivals[self.number][self.tile.place]
        words = [w for w in arrivals if w.word]
        background = background or course.is_sent(self.tile.place, self.number)
        if self.tile.place in course.tasks:
            self.actions.append(self.take_by_tasks(course, arrivals))
        elif not words:
            self.actions.append(self.action(course, way, background))
        elif self.tile.place in course.ended:
            self.actions.append(self.take_until_words(course, arrivals))
        else:
            self.take_by_operation_and_tasks(course, arrivals, words)
        return bool(words) or self.tile.place in course.tasks

    # ---- scripts that a tile sends

    def send_script(self, course, parts, background):
        """In the foreground one operation after the other; in the background each one's end starts
        a task with the next one, whose operands stay what they are in the step."""
        before, made = [], []
        for i, part in enumerate(parts):
            stays = background and i > 0
            if isinstance(part, Piece):
                made.append(self.piece(course, part, stays, background))
            else:
                made.append(self.control_words(course, part.words, stays, before, background))

        def run(env, channels):
            run_all(before, env)
            for action in made:
                yield from action.run(env, channels)
        first = lines_of(before)
        if not background:
            return Action([*first, *lines_of(made)], run)

        def done(verb, following):
            for action in made[:0:-1]:
                following = self.tile.add_task("more", action.done(verb, following))
                verb = "activate"
            return [*first, *made[0].done(verb, following)]
        return Action([], run, None, done)

    def sending(self, course, name, operands, begin, length, background):
        def run(env, channels):
            issued = begin(env)
            for i in range(length):
                course.push(channels, issued.element(env, i, None), self.tile.place)
            yield True
        if not background:
            return self.in_foreground(name, operands, run)
        self.reserve(operands)
        return self.in_background(name, operands, run, lambda env, channels: iter(()))

    def piece(self, course, piece, stays, background):
        kind, length = course.kind, piece.length
        if stays:
            name, sources = MOVES[kind], [self.walk_that_stays(kind, length)]
        else:
            name, sources = self.operands(kind, length)
        begin = self.vectors.issue(name, kind, None, sources)
        more = ", .advance_switch = true" if piece.advances else ""
        setting = ""
        if piece.index is not None:
            more, setting = f"{more}, .wavelet_index_offset = true", f".index = {piece.index}"
        return self.sending(course, name, [self.outgoing(course, length, more, setting), *sources],
                            begin, length, background)

    def walk_that_stays(self, kind, length):
        """Whose start is known at compile time."""
        arrays = [a for a in self.tile.program.arrays
                  if a.kind == kind and a.name in self.scope.loads]
        if not arrays:
            raise Unfit("arrays")
        array = self.rng.choice(arrays)
        stride, start = self.vectors.stride(array, length)
        return self.vectors.written(array, start, length, stride)

    def control_words(self, course, words, stays, before, background):
        """before: statements at the start of the script; they compute the words of an array."""
        to = self.outgoing(course, len(words), ", .control = true")
        if len(words) > 1 or stays or background or self.chance(0.5):
            source = self.array_of_words(words, before)
        else:
            source = self.computed_word(words[0])
        begin = self.vectors.issue("mov32", "u32", None, [source])
        return self.sending(course, "mov32", [to, source], begin, len(words), background)

    def computed_word(self, word):
        data = self.coder.expression(self.scope, "u16", 1)
        return Expr("u32", word_text(word, data.text, self.rng),
                    lambda env: word.payload(data.value(env)))

    def array_of_words(self, words, before):
        """With what the compiler computes; words with data change when the step begins."""
        name = self.coder.name("words")
        texts = ", ".join(word_text(w, "0", self.rng) for w in words)
        self.vectors.globals.append(f"var {name} = [{len(words)}]u32{{ {texts} }};")
        self.tile.env.arrays[name] = numpy.array([w.payload() for w in words], numpy.uint32)
        array = Array(name, "u32", len(words))
        before += [self.changed_word(array, i, w) for i, w in enumerate(words)
                   if w.has_data and self.chance(0.7)]
        return self.vectors.written(array, 0, len(words), 1)

    def changed_word(self, array, i, word):
        value = self.computed_word(word)
        return Statement([f"{array.name}[{i}] = {value.text};"],
                         lambda env: env.store(array, i, value.value(env)))

    # ---- what tasks take

    def take_by_tasks(self, stream, arrivals):
        """Tasks take the stream's elements and control wavelets one by one.  They have arrays and
        globals that nothing else uses before the step ends, but for code of the step: that is over
        by then.  arrivals: wavelets, None for an element."""
        if stream.number not in self.tile.takers:
            self.tile.takers[stream.number] = Taker(self.tile, stream)
        taker = self.tile.takers[stream.number]
        taken = [w for w in arrivals if w is None or not w.word or w.is_task()]
        mask = known_bits(max((w.pops for w in taken if w and w.word), default=0)) & HALF
        made = self.bodies(stream.kind, taker, taken)

        def start(env, channels):
            yield True

        def ends(env, channels):
            channel, count = channels[stream.number, self.tile.place], 0
            for wavelet in arrivals:
                entry = entry_of(wavelet)
                waiting = channel.elements() if entry is DATA else channel.words()
                while not waiting:
                    yield False
                x = waiting.pop(0)
                yield True
                if entry not in made:
                    continue                          # the tile drops it
                if entry is DATA:
                    env.values["x"] = x if stream.kind in FLOATS else int(x)
                else:
                    env.values["word"] = int(x) & mask
                env.values[taker.count] = count
                run_all(made[entry], env)
                count += 1
            env.values[taker.count] = 0
            yield True

        def done(verb, following):
            bodies = {entry: lines_of(body) for entry, body in made.items()}
            for entry in bodies:
                if entry is not DATA and taker.has_param(entry):
                    bodies[entry].insert(0, f"const word = x & {mask};")
            return taker.add(self.number, bodies, len(taken), [f"@{verb}({following});"])
        return Action([], start, ends, done)

    def bodies(self, kind, taker, taken):
        """Statements by entry."""
        r, made = self.rng, {}
        free = [g for g in self.tile.program.globals if g not in self.reserved.globals]
        known = [a.name for a in self.arrays()]
        arrays = set(r.sample(known, min(len(known), r.randrange(1, 4))))
        names = r.sample(free, min(len(free), r.randrange(1, 4)))
        self.reserved.written |= arrays
        self.reserved.globals += names
        for entry in sorted({entry_of(w) for w in taken}, key=str):
            own = [("x", kind)] if entry is DATA else [("word", "u16")] * taker.has_param(entry)
            inside = Scope([*own, (taker.count, "u16"), *names], list(names),
                           [(taker.count, len(taken))], arrays, arrays, calls=False)
            made[entry] = self.coder.statements(inside, r.randrange(1, 4))
        return made

    def take_by_operation_and_tasks(self, course, arrivals, words):
        """An operation takes the elements, tasks the control wavelets between them."""
        if len(words) < len(arrivals):
            self.actions.append(self.receive(course, True))
            self.narrow()
        self.actions.append(self.take_by_tasks(course, words))

    # ---- operations that control wavelets end

    def take_until_words(self, course, arrivals):
        """Each control wavelet ends an operation that would take more, and stays in its queue; so a
        task takes it as an element and begins the next operation."""
        array = self.rng.choice(self.arrays(course.kind))
        self.reserved.written.add(array.name)
        self.narrow()
        words = self.rng.choice(self.arrays("u32"))
        self.reserved.written.add(words.name)
        parts, count = [], 0
        for wavelet in arrivals:
            if not wavelet.word:
                count += 1
                continue
            parts.append(self.ended_part(course, array, count, words, wavelet, not parts))
            count = 0
        if count:
            parts.append(self.last_part(course, array, count, not parts))
        held = []

        def start(env, channels):
            held.append(parts[0].begin(env))
            yield True

        def ends(env, channels):
            issued = held.pop()
            for i, part in enumerate(parts):
                yield from part.run(env, channels, part.begin(env) if i else issued)
            yield True

        def done(verb, following):
            lines = [f"@{verb}({following});"]
            for part in parts[::-1]:
                lines = part.lines(lines, verb, following)
                verb, following = None, None
            return lines
        return Action([], start, ends, done)

    def ended_part(self, course, array, count, words, wavelet, is_first):
        longest = self.rng.randrange(count + 1, LONGEST + 1)
        operation = self.part_operation(course, array, longest, is_first)
        place = self.rng.randrange(words.size)
        word = self.vectors.written(words, place, 1, 1)
        mask, incoming = known_bits(wavelet.pops), self.incoming(course, 1)
        taking = [f"@mov32({word.text}, {incoming.text});"]
        if wavelet.pops:
            taking.append(f"{words.name}[{place}] &= {mask};")
        by_unblock = self.chance(0.3)

        def run(env, channels, issued):
            channel = channels[course.number, self.tile.place]
            yield from taken_elements(env, channel, issued, count)
            waiting = channel.words()
            while not waiting:
                yield False
            env.store(words, place, waiting.pop(0))
            yield True

        def lines(after, _verb, _following):
            task = self.tile.add_task("ended", [*taking, *after])
            verb = "unblock" if by_unblock else "activate"
            before = [f"@block({task});", f"@activate({task});"] if by_unblock else []
            return before + self.lines_with(
                *operation.text, [".async = true", f".on_control = .{{ .{verb} = {task} }}"])
        return Part(operation.begin, run, lines)

    def last_part(self, course, array, count, is_first):
        """No control wavelet follows."""
        operation = self.part_operation(course, array, count, is_first)

        def run(env, channels, issued):
            yield from taken_elements(env, channels[course.number, self.tile.place], issued, count)

        ends_early = [".on_control = .{ .terminate = true }"] if self.chance(0.4) else []

        def lines(_after, verb, following):
            return self.lines_with(*operation.text,
                                   [".async = true", f".{verb} = {following}", *ends_early])
        return Part(operation.begin, run, lines)

    def part_operation(self, course, array, length, is_first):
        """The first one begins in the step's own task; the operands of later ones stay."""
        incoming = self.incoming(course, length)
        if is_first:
            dest = self.vectors.walk(self.scope_with(array), array, length)
            name, sources = self.operands(course.kind, length, incoming)
        else:
            stride, start = self.vectors.stride(array, length)
            dest = self.vectors.written(array, start, length, stride)
            name, sources = MOVES[course.kind], [incoming]
        self.reserve([dest, *sources])
        operands = [dest, *sources]
        begin = self.vectors.issue(name, course.kind, dest, sources)
        return Operation(begin, (name, operands, self.take_register(operands)))

    def scope_with(self, array):
        scope = self.scope.inner()
        scope.stores = self.scope.stores | {array.name}
        return scope


@dataclass
class Operation:
    begin: Callable               # of an Env, what is issued
    text: tuple                   # its name, operands and register


@dataclass
class Part:
    """An operation of several, and what takes the control wavelet that ends it."""
    begin: Callable
    run: Callable                 # of an Env, the channels and what is issued
    lines: Callable               # of those behind it, and of what its own end does if it is last


def taken_elements(env, channel, issued, count):
    waiting = channel.elements()
    for i in range(count):
        while not waiting:
            yield False
        issued.element(env, i, waiting.pop(0))
        yield True


def entry_of(wavelet):
    return DATA if wavelet is None or not wavelet.word else wavelet.word.entry


def word_text(word, data, rng):
    """A payload by the library, or as a number."""
    entry = "{}" if word.entry is None else f"@get_control_task_id({word.entry})"
    first, *_ = word.commands
    if word.has_data and first == Command("NOP", False) and rng.random() < 0.4:
        return f"(@as(u32, {word.payload()}) | @as(u32, {data}))"
    if word.has_data:
        return (f"control.encode_single_payload(control.opcode.{first.name}, "
                f"{text_of(first.ignored)}, {entry}, {data})")
    if rng.random() < 0.3:
        return f"@as(u32, {word.payload()})"
    if word == all_nops(word.entry):
        return f"control.encode_control_task_payload({entry})"
    names = ", ".join(f"control.opcode.{c.name}" for c in word.commands)
    ignored = ", ".join(text_of(c.ignored) for c in word.commands)
    count = len(word.commands)
    return (f"control.encode_payload({count}, [{count}]control.opcode{{ {names} }}, "
            f"[{count}]bool{{ {ignored} }}, true, {entry})")


def text_of(truth):
    return "true" if truth else "false"
