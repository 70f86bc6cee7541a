"""Loops over memory: stores, fills and copies that overlap, loops that read what they write, bounds
that are variables, tests with side effects, counters that wrap.

A function has arrays of its own (globals, variables, or what its pointers lead to), pointers into
them, and loops whose bodies reach the same elements in several ways.  The ranges of the counters are
known here, so that each index lies inside its array.
"""
from dataclasses import dataclass

from oracle import choose
from oracle.expressions import (AddressOf, As, Binary, Call, Compare, Deref, Expr, Index, Literal,
                                Logic, ManyIndex, Name, SliceFrom)
from oracle.generate import MOST_COST
from oracle.statements import (Arm, Assign, CallStatement, Declare, ForRange, Function, If, Leave,
                               While)
from oracle.types import BOOL, F32, I16, U16, Array, Float, Pointer, array, named, pointer
from oracle.vectors import OPS, SIZE, Hold, Operation, Vector, VectorMaker, some_walk

MOST_TURNS = 160              # of all loops around a statement, multiplied
TURNS = (0, 1, 2, 3, 5, 8, 12, 15, 20, 20)
DEEPEST = 2                   # of recursion out of a loop
COUNTERS = [named(n) for n in ("u16", "i16", "u16", "i16", "u8", "i8", "u32", "i32", "i64")]
ELEMENTS = choose.COMMON + [F32, BOOL]
SPLATS = (0x00, 0x00, 0xff, 0x01, 0x55)


@dataclass(eq=False)
class Memory:
    """Elements 0 to end - 1 of an array, or from where a pointer leads."""
    base: Expr
    element: object
    end: int
    letter: str = None            # of an array that descriptors reach

    def at(self, index):
        if isinstance(self.base.type, Pointer):
            return ManyIndex(self.element, self.base, index)
        return Index(self.element, self.base, [index])


@dataclass(eq=False)
class Count:
    """A counter and the values that it has in the body of its loop."""
    name: Name
    low: int
    high: int


def number(kind, value, bare=True):
    return Literal(kind, value, bare)


def splat(rng, kind):
    """A value whose bytes are all the same."""
    if not kind.width % 8 == 0:
        return choose.value(rng, kind)
    byte = rng.choice(SPLATS[:2] if isinstance(kind, Float) else SPLATS)
    return kind.decode(int.from_bytes([byte] * (kind.width // 8), "little"))


class LoopMaker(VectorMaker):
    """Makes a function of loops.  At run time only if it has globals, pointers to many or
    descriptors; else compile time computes it, too."""

    def __init__(self, rng, name, types, callees):
        super().__init__(rng, name, types)
        self.callees, self.run_time = callees, rng.random() < 0.7
        self.memories, self.counts, self.open = [], [], []
        self.made = None
        self.setup = []           # statements in front

    # ---- the function ----------------------------------------------------------------------------

    def function(self):
        rng = self.rng
        params = [("p0", U16), ("p1", self.types.half), ("p2", F32), ("p3", I16),
                  ("p4", rng.choice(choose.COMMON))]
        for name, kind in params:
            self.bind(name, kind, False, False)
        self.palette = [U16, I16, params[-1][1], rng.choice(COUNTERS), BOOL]
        self.make_memories(params)
        self.result = rng.choice([k for k in self.palette if k is not BOOL])
        self.made = Function(self.name, params, self.result, [], None, run_time=self.run_time,
                             globals=self.globals)
        if self.run_time and rng.random() < 0.1:
            body = [self.recursion()]
        else:
            body = [s for _ in range(rng.randrange(1, 4))
                    for s in (self.statement(0), self.loop(2), self.statement(0))]
        self.made.body = self.setup + body
        self.made.result = self.gathered()
        self.made.callees, self.made.cost = self.called, MOST_COST
        return self.made

    def gathered(self):
        """A result of elements and variables."""
        found = self.coerced(self.result, 1)
        for memory in self.rng.sample(self.memories, min(2, len(self.memories))):
            if memory.element is self.result:
                found = Binary(self.result, "+", found, memory.at(self.index_of(memory)))
        return found

    def make_memories(self, params):
        rng = self.rng
        if self.run_time:
            for letter in rng.sample("whs", rng.randrange(1, 3)):
                self.add_global(f"{self.name}_{letter}", self.kinds[letter], SIZE, letter)
            if rng.random() < 0.5:
                self.add_global(f"{self.name}_a", rng.choice(ELEMENTS), rng.randrange(10, 20))
            for i in range(rng.randrange(3)):
                kind = rng.choice(self.integers())
                self.globals.append((f"{self.name}_g{i}", kind, choose.value(rng, kind, True)))
                self.bind(f"{self.name}_g{i}", kind, True)
        else:
            for i in range(rng.randrange(1, 3)):
                self.add_local(rng.choice(ELEMENTS), rng.randrange(8, 20))
        if rng.random() < 0.3:
            for i in range(rng.randrange(1, 3)):
                kind = pointer(array(rng.choice(ELEMENTS[:4]), rng.randrange(8, 20)))
                params.append((f"q{i}", kind))
                self.add_memory(Deref(kind.target, Name(kind, f"q{i}")), kind.target.count)
        for _ in range(rng.randrange(3) if self.run_time else 0):
            self.add_pointer()

    def add_memory(self, base, end, letter=None):
        kind = base.type
        element = kind.element if isinstance(kind, Array) else kind.target
        self.memories.append(Memory(base, element, end, letter))
        if isinstance(base, Name):
            self.bind(base.name, kind, isinstance(kind, Array))
        if element not in self.palette:
            self.palette.append(element)

    def add_global(self, name, element, count, letter=None):
        kind = array(element, count)
        value = [choose.value(self.rng, element, True) for _ in range(count)]
        self.globals.append((name, kind, value))
        self.add_memory(Name(kind, name), count, letter)

    def add_local(self, element, count):
        kind, name = array(element, count), self.fresh("a")
        value = [choose.value(self.rng, element, True) for _ in range(count)]
        self.setup.append(Declare(name, kind, Literal(kind, value), False, True))
        self.add_memory(Name(kind, name), count)

    def add_pointer(self):
        """A pointer into one of the arrays, perhaps by a branch into another place of it."""
        rng = self.rng
        of = rng.choice([m for m in self.memories if isinstance(m.base.type, Array)])
        kind, name = pointer(of.element, True), self.fresh("r")
        others = [m for m in self.memories if isinstance(m.base.type, Array)
                  and m.element is of.element]
        moves, end = rng.random() < 0.3, of.end
        self.setup.append(Declare(name, kind, self.into(of, kind), not moves, True))
        if moves:
            other = rng.choice(others)
            move = Assign(Name(kind, name), "", self.into(other, kind))
            self.setup.append(If(self.comparison(0), [move], []))
            end = min(end, other.end)
        self.memories.append(Memory(Name(kind, name), of.element, end - 3))

    def into(self, memory, kind):
        """A pointer to one of the first four elements."""
        rng = self.rng
        if rng.random() < 0.3:
            return AddressOf(kind, memory.base)
        at = number(U16, rng.randrange(4)) if rng.random() < 0.5 else \
            Binary(U16, "&", Name(U16, "p0"), number(U16, 3))
        return SliceFrom(kind, memory.base, at)

    # ---- elements --------------------------------------------------------------------------------

    def index_of(self, memory, apart=True):
        """An index inside; apart: perhaps so far from a counter."""
        rng, end = self.rng, memory.end
        fitting = [c for c in self.counts if 0 <= c.low and c.high < end]
        if fitting and rng.random() < 0.8:
            count = rng.choice(fitting[-2:])
            kind = count.name.type
            low, high = -count.low, min(end - 1, kind.high) - count.high
            by = rng.choice((0, 0, 1, -1, 2, 3, high, rng.randrange(low, high + 1)))
            if not apart or not low <= by <= high or by == 0:
                return self.scaled(count, end)
            return Binary(kind, "+" if by > 0 else "-", count.name, number(kind, abs(by)))
        if rng.random() < 0.4:
            return number(U16, rng.randrange(end))
        mask = (1 << end.bit_length() - 1) - 1
        names = [c.name for c in self.counts] + [Name(U16, "p0")]
        name = rng.choice(names)
        return Binary(name.type, "&", name, number(name.type, min(mask, name.type.high)))

    def scaled(self, count, end):
        """The counter, twice the counter, or the sum of two."""
        rng, kind = self.rng, count.name.type
        if count.high * 2 < min(end, kind.high) and rng.random() < 0.2:
            return Binary(kind, "*", count.name, number(kind, 2))
        others = [c for c in self.counts if c.name.type is kind and c is not count
                  and 0 <= c.low and c.high + count.high < min(end, kind.high)]
        if others and rng.random() < 0.5:
            return Binary(kind, "+", count.name, rng.choice(others).name)
        return count.name

    def element(self, kind=None):
        """(memory, expression of one of its elements)"""
        found = [m for m in self.memories if kind in (None, m.element)]
        memory = self.rng.choice(found)
        return memory, memory.at(self.index_of(memory))

    def source(self, kind, depth):                # of @as
        found = [c.name for c in self.counts if not isinstance(kind, Float)]
        if found and self.rng.random() < 0.5:
            return self.rng.choice(found)
        return super().source(kind, depth)

    # ---- statements ------------------------------------------------------------------------------

    def statement(self, depth):
        rng = self.rng
        ways = [self.fill] * 3 + [self.store] * 3 + [self.copy] * 3 + \
            [self.update, self.join, self.swap, self.gather, self.touch, self.leave, self.declare,
             self.assign, self.branch_to_store]
        if self.run_time and any(m.letter for m in self.memories):
            ways += [self.vectors] * 3
        if depth > 0:
            ways += [self.loop] * 2
        return rng.choice(ways)(depth)

    def fill(self, depth):
        return self.fills_of(self.rng.choice(self.memories))(depth)

    def fills_of(self, memory):
        """What makes fills of the same memory, which overlap in their loop."""
        def fill(depth):
            value = number(memory.element, splat(self.rng, memory.element), False)
            return Assign(memory.at(self.index_of(memory)), "", value)
        return fill

    def store(self, depth):
        """Something that the turn computes."""
        memory, to = self.element()
        kind = memory.element
        if self.counts and kind is not BOOL and self.rng.random() < 0.6:
            return Assign(to, "", As(kind, self.rng.choice(self.counts).name))
        return Assign(to, "", self.coerced(kind, 1))

    def copy(self, depth):
        memory, to = self.element()
        _, value = self.element(memory.element)
        if self.rng.random() < 0.3 and memory.element is not BOOL:
            value = Binary(memory.element, self.rng.choice("+-"), value,
                           self.literal(memory.element))
        return Assign(to, "", value)

    def update(self, depth):
        memory, to = self.element()
        if memory.element is BOOL:
            return self.fill(depth)
        return Assign(to, self.rng.choice("+-*"), self.operand(memory.element))

    def join(self, depth):
        """A place gets its value on two ways, or on one of them, and is read behind them."""
        memory, to = self.element()
        no = [self.store(0)] if self.rng.random() < 0.5 else [self.fill(0)]
        if self.rng.random() < 0.5:
            no = [Assign(to, "", self.literal(memory.element, False))]
        yes = [Assign(to, "", self.operand(memory.element))]
        behind, place = self.element(memory.element)
        return Arm([If(self.expr(BOOL, 1), yes, no if self.rng.random() < 0.7 else []),
                    Assign(place, "", to)])

    def branch_to_store(self, depth):
        return If(self.comparison(0), [self.copy(0)], [self.fill(0)])

    def swap(self, depth):
        memory, a = self.element()
        b = memory.at(self.index_of(memory))
        name = Name(memory.element, self.fresh("s"))
        return Arm([Declare(name.name, memory.element, a, True, True), Assign(a, "", b),
                    Assign(b, "", name)])

    def gather(self, depth):
        """A variable or a global takes something of the element."""
        memory, value = self.element()
        found = self.found(memory.element, mutable=True) if memory.element is not BOOL else []
        found = [(b, s) for b, s in found if not s]
        if not found:
            return self.copy(depth)
        return Assign(self.reach(*self.rng.choice(found)), self.rng.choice(("", "+", "-")), value)

    def vectors(self, depth):
        """A descriptor operation on the memory that the loops write, too."""
        return Arm(self.operation())

    def some_op(self):
        letters = {m.letter for m in self.memories}
        return self.rng.choice([o for o in OPS if {o.dest, o.first, o.other} <= letters
                                or {o.dest, o.first} <= letters and len(o.forms[0]) == 1])

    def held_vectors(self):
        """An operation over descriptors that constants hold, and these; how far on they begin, only
        the function's argument says."""
        rng, op, length = self.rng, self.some_op(), self.rng.randrange(1, 9)
        holds, form = [], rng.choice(op.forms)

        def held(letter):
            vector = Vector(some_walk(rng, letter, length, 3), self.name, "access",
                            held=self.fresh("d"))
            holds.append(Hold(vector, Binary(U16, "&", Name(U16, "p0"), number(U16, 3))))
            return vector

        sources = [self.value(k) if letter == "s" else held(k)
                   for k, letter in zip((op.first, op.other, op.other), form)]
        to = held(op.dest)
        return holds, Operation(op, self.kinds, to, sources, length)

    # ---- calls -----------------------------------------------------------------------------------

    def helper(self, params, result, body, value):
        made = Function(f"{self.name}_h{len(self.helpers)}", params, result, body, value,
                        inline=False, run_time=self.run_time)
        self.helpers.append(made)
        self.called.append(made)
        return made

    def bump(self, kind, step):
        """Adds to what a pointer leads to and gives it: before or behind, perhaps by a return."""
        rng, at = self.rng, pointer(kind)
        p, by = Deref(kind, Name(at, "p")), Name(kind, "by")
        params, add = [("p", at), ("by", kind)], Assign(p, "+", by)
        way = rng.randrange(3)
        if way == 0:
            return self.helper(params, kind, [add], p), 0
        if way == 1:
            before = Declare("old", kind, p, True, True)
            return self.helper(params, kind, [before, add], Name(kind, "old")), step
        early = Leave(Compare(BOOL, ">", by, number(kind, min(100, kind.high))), "return", None, by)
        return self.helper(params, kind, [early, add], p), 0

    def touch(self, depth):
        """A call that changes an element through a pointer."""
        memory, place = self.element()
        kind = memory.element
        if kind is BOOL or isinstance(place, ManyIndex) or isinstance(kind, Float):
            return self.update(depth)
        made = self.bump(kind, 1)[0]
        call = Call(kind, made, [AddressOf(pointer(kind), place), self.operand(kind)])
        if self.rng.random() < 0.5:
            return CallStatement(call)
        _, to = self.element(kind)
        return Assign(to, "", call)

    def recursion(self):
        """A loop that calls its own function and then goes on."""
        kind = self.made.params[0][1]
        deeper = Logic(BOOL, "and", Compare(BOOL, ">", Name(kind, "p0"), number(kind, 0)),
                       Compare(BOOL, "<=", Name(kind, "p0"), number(kind, DEEPEST)))
        below = Binary(kind, "-", Name(kind, "p0"), number(kind, 1))
        arguments = [below] + [Name(t, n) for n, t in self.made.params[1:]]
        inner = If(deeper, [CallStatement(Call(self.result, self.made, arguments))], [])
        holds, operation = self.held_vectors()
        loop = self.range_loop(0, most=3)
        for statement in (inner, operation):
            loop.body.insert(self.rng.randrange(len(loop.body) + 1), statement)
        return Arm(holds + [loop])

    def loop_of_vectors(self, depth):
        """Operations over descriptors that are made in front of the loop."""
        if not self.run_time:
            return self.range_loop(depth)
        holds, operation = self.held_vectors()
        loop = self.range_loop(depth)
        loop.body.insert(self.rng.randrange(len(loop.body) + 1), operation)
        return Arm(holds + [loop])

    # ---- loops -----------------------------------------------------------------------------------

    def loop(self, depth):
        return self.rng.choice((self.range_loop, self.range_loop, self.range_loop,
                                self.loop_of_vectors, self.counted_while, self.counted_while, self.wrapping_while,
                                self.testing_while, self.endless))(depth)

    def most_turns(self):
        return max(1, min(20, MOST_TURNS // self.weight))

    def body(self, turns, depth, count=None):
        """The body of a loop; count: its counter.  Often stores alone, as in loops that set or copy
        arrays."""
        rng, kept = self.rng, list(self.bindings)
        label = self.label()
        self.labels.append((label, True))
        self.weight *= max(1, turns)
        if count:
            self.counts.append(count)
            self.bind(count.name.name, count.name.type, False)
        if rng.random() < 0.5:
            same = self.fills_of(rng.choice(self.memories))
            way, least = rng.choice(((self.fill, 1), (same, 2), (same, 2), (self.copy, 1)))
            body = [way(0) for _ in range(rng.randrange(least, 4))]
        else:
            body = [self.statement(depth - 1 if self.weight < MOST_TURNS // 4 else 0)
                    for _ in range(rng.randrange(1, 4))]
        if count:
            self.counts.pop()
        self.weight //= max(1, turns)
        self.labels.pop()
        self.bindings = kept
        return label, body

    def range_loop(self, depth, most=20):
        rng = self.rng
        kind, item = rng.choice(COUNTERS), Name(None, self.fresh("i"))
        item.type = kind
        most = min(most, self.most_turns())
        turns = min(most, rng.choice(TURNS))
        start, step = rng.randrange(3), rng.choice((1, 1, 1, 2))
        turns = min(turns, (SIZE - 2 - start) // step)
        way = rng.random()
        if way < 0.4:
            bounds = [number(kind, v) for v in (start, start + turns * step, step)]
            low, high = start, start + max(0, turns - 1) * step
        elif way < 0.5 and kind.signed:
            bounds = [number(kind, v) for v in (turns - 1, -1, -1)]
            low, high = 0, max(0, turns - 1)
        else:
            bounds, high = self.variable_bounds(kind, most, step)
            low, turns = 0, high + 1
        label, body = self.body(turns, depth, Count(item, low, high))
        return ForRange(label, body, kind, *bounds, item.name)

    def variable_bounds(self, kind, most, step):
        """Bounds of variables; and the highest value that the counter has."""
        rng = self.rng
        outer = [c for c in self.counts if c.name.type is kind and c.high < most and c.low >= 0]
        if outer and rng.random() < 0.5:
            count = rng.choice(outer)
            return [number(kind, 0), count.name, number(kind, step)], max(0, count.high - 1)
        mask = min(15, (1 << most.bit_length() - 1) - 1)
        stop = self.below(kind, mask)
        start = number(kind, 0) if rng.random() < 0.6 else self.below(kind, 3)
        return [start, stop, number(kind, step)], max(0, mask - 1, 3)

    def below(self, kind, mask):
        """A variable, and with the mask: often large, at times 0."""
        rng = self.rng
        expr = self.operand(kind)
        if rng.random() < 0.5:
            expr = Binary(kind, "|", expr, number(kind, mask & 12))
        return Binary(kind, "&", expr, number(kind, mask))

    def counted_while(self, depth):
        """A bound that is a number, a variable, or stands in memory, which the body may write."""
        rng = self.rng
        kind = rng.choice(COUNTERS)
        mask = min(15, (1 << self.most_turns().bit_length() - 1) - 1)
        counter = Name(kind, self.fresh("c"))
        inside = [m for m in self.memories if m.element is kind]
        before, bound = [], number(kind, rng.randrange(mask + 1))
        if inside and rng.random() < 0.4:
            place = rng.choice(inside)
            bound = Binary(kind, "&", place.at(number(U16, rng.randrange(place.end))),
                           number(kind, mask))
        elif rng.random() < 0.6:
            name = Name(kind, self.fresh("n"))
            before = [Declare(name.name, kind, self.below(kind, mask), True, True)]
            bound = name
        if rng.random() < 0.25:                           # down to 0
            start, test = bound, Compare(BOOL, rng.choice((">", "!=")), counter, number(kind, 0))
            count, step = Count(counter, 0, mask), Assign(counter, "-", number(kind, 1))
        else:
            op, by = rng.choice((("<", 1), ("<", 2), ("<", 3), ("<=", 1), ("!=", 1)))
            if op == "!=" and not isinstance(bound, (Literal, Name)):
                op = "<"                                  # it may have moved below
            start, test = number(kind, 0), Compare(BOOL, op, counter, bound)
            if rng.random() < 0.2:
                flipped = {"<": ">", "<=": ">=", "!=": "!="}[op]
                test = Compare(BOOL, flipped, bound, counter)
            count, step = Count(counter, 0, mask), Assign(counter, "+", number(kind, by))
        return self.finish_while(before, counter, start, test, step, count, mask + 1, depth)

    def finish_while(self, before, counter, start, test, step, count, turns, depth):
        if self.rng.random() < 0.2:
            test = Logic(BOOL, "and", test, self.expr(BOOL, 1))
        label, body = self.body(turns, depth, count)
        return Arm(before + [Declare(counter.name, counter.type, start, False, True),
                             While(label, body, test, step)])

    def wrapping_while(self, depth):
        """A counter that goes over the end of its type."""
        rng, turns = self.rng, self.most_turns()
        kind = rng.choice(COUNTERS)
        counter = Name(kind, self.fresh("c"))
        below, above = rng.randrange(turns // 2 + 1), rng.randrange(turns // 2 + 1)
        start, stop, op = kind.high - below, kind.low + above, "+"
        if rng.random() < 0.4:
            start, stop, op = kind.low + below, kind.high - above, "-"
        test = Compare(BOOL, "!=", counter, number(kind, stop))
        step = Assign(counter, op, number(kind, 1))
        count = Count(counter, kind.low, kind.high)
        return self.finish_while([], counter, number(kind, start), test, step, count, turns, depth)

    def testing_while(self, depth):
        """A test that moves the counter; the expression behind each turn changes something else."""
        rng, turns = self.rng, self.most_turns()
        kind, by = rng.choice(COUNTERS), rng.choice((1, 1, 2))
        counter = Name(kind, self.fresh("c"))
        made, late = self.bump(kind, by)
        moved = Call(kind, made, [AddressOf(pointer(kind), counter), number(kind, by)])
        bound = rng.randrange(turns)
        test = Compare(BOOL, rng.choice(("<", "<=")), moved, number(kind, bound))
        if rng.random() < 0.3:
            test = Logic(BOOL, "and", test, self.expr(BOOL, 1))
        step = rng.choice((self.update, self.gather, lambda depth: None))(0)
        if not isinstance(step, Assign):
            step = None
        count = Count(counter, 0, bound + late)
        label, body = self.body(turns, depth, count)
        return Arm([Declare(counter.name, kind, number(kind, 0), False, True),
                    While(label, body, test, step)])

    def endless(self, depth):
        """The body has the way out, before the work or behind it."""
        rng, most = self.rng, self.most_turns()
        kind = rng.choice(COUNTERS)
        counter = Name(kind, self.fresh("c"))
        turns, is_first = rng.randrange(most), rng.random() < 0.6
        # A `continue` may pass over the way out at the end.
        count = Count(counter, 0, turns if is_first else kind.high)
        label, body = self.body(most, depth, count)
        out = Leave(Compare(BOOL, ">=", counter, number(kind, turns)), "break", label)
        body.insert(0 if is_first else len(body), out)
        step = Assign(counter, "+", number(kind, 1))
        return Arm([Declare(counter.name, kind, number(kind, 0), False, True),
                    While(label, body, Literal(BOOL, True), step)])
