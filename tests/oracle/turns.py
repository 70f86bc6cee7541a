"""Short loops in a row, round which variables move: they rotate, change places, keep what another
one was in the turn before, and the next loop reads what the last one left.

A loop of few turns becomes straight code, and what its variables are behind it is not what they are
in it.  Bodies are often without a branch, as such loops are.  The variables that a loop moves are
some of all, so that it also reads those that another loop has moved.
"""
from dataclasses import dataclass

from oracle import choose
from oracle.expressions import (AddressOf, As, Binary, Call, Choice, Compare, Deref, Expr, Index,
                                Literal, Logic, Name, Node, Unary)
from oracle.generate import MOST_COST
from oracle.loops import LoopMaker
from oracle.statements import (Arm, Assign, CallStatement, Declare, ForRange, Function, If, Leave,
                               While)
from oracle.types import BOOL, F32, U16, Float, Int, array, integer, named, pointer
from oracle.vectors import OPS, SIZE, Operation, Vector, some_walk

TURNS = (1, 2, 2, 3, 3, 4)
STRAIGHT = 0.7                # share of bodies without a branch
COUNTERS = [named(n) for n in ("u16", "i16", "u8", "i8", "u32", "i32", "i64")]


@dataclass(eq=False)
class HeldWalk(Node):
    """A variable that has a descriptor."""
    vector: Vector
    by: Expr

    def text(self):
        moved = self.vector.moved(f"@as(i16, {self.by.text()})")
        return f"var {self.vector.held} = {moved};"

    def run(self, frame):
        frame.cells[self.vector.held] = [(self.vector.walk, self.by.value(frame))]


class Exchanged(Vector):
    """What the variable has now."""

    def indices(self, frame):
        walk, by = frame.cells[self.held][0]
        return walk.indices(by)


@dataclass(eq=False)
class Take(Node):
    """A variable takes the descriptor of another one, or of one of two."""
    to: str
    condition: Expr               # or None
    first: str
    second: str = None
    declares: bool = False

    def text(self):
        value = self.first
        if self.condition:
            value = f"if ({self.condition.text()}) {self.first} else {self.second}"
        return f"{'const ' * self.declares}{self.to} = {value};"

    def run(self, frame):
        takes_first = self.condition is None or self.condition.value(frame)
        frame.cells[self.to] = [frame.cells[self.first if takes_first else self.second][0]]


class TurnMaker(LoopMaker):
    """Makes a function of short loops."""

    def __init__(self, rng, name, types, callees):
        super().__init__(rng, name, types, callees)
        self.run_time = rng.random() < 0.2

    def function(self):
        rng = self.rng
        self.main = rng.choice(choose.COMMON * 2 + [F32, self.types.half, choose.some_integer(rng)])
        other = rng.choice(choose.COMMON + [F32])
        if isinstance(self.main, Int) and self.main.width > 16 and rng.random() < 0.5:
            other = integer(self.main.width // 2, rng.random() < 0.5)
        params = [("p0", U16), ("p1", self.main), ("p2", self.main), ("p3", other), ("p4", BOOL)]
        self.palette = [self.main, self.main, other, rng.choice(choose.COMMON), BOOL]
        for name, kind in params:
            self.bind(name, kind, False, False)
        self.result = self.main
        self.make_variables(other, params)
        self.made = Function(self.name, params, self.result, [], None, run_time=self.run_time,
                             globals=self.globals)
        body = [s for _ in range(rng.randrange(3, 6)) for s in self.step()]
        self.made.body = self.setup + body + self.kept()
        self.made.result = self.coerced(self.result, 1)
        self.made.callees, self.made.cost = self.called, max(self.cost, MOST_COST)
        return self.made

    def make_variables(self, other, params):
        """Those that move, and what loops may read and write besides."""
        rng = self.rng
        self.carried = [self.variable(self.main) for _ in range(rng.randrange(2, 5))]
        self.flags = [self.variable(BOOL) for _ in range(rng.randrange(2))]
        if rng.random() < 0.6:
            self.variable(other)
        if rng.random() < 0.6:
            self.variable(array(self.main, rng.choice((2, 3, 4))))
        if rng.random() < 0.15:
            self.variable(rng.choice(self.types.all))
        if self.run_time and rng.random() < 0.6:
            for kind in rng.sample((self.main, array(self.main, 4), other, BOOL), 2):
                name = f"{self.name}_g{len(self.globals)}"
                self.globals.append((name, kind, choose.value(rng, kind, True)))
                self.bind(name, kind, True)
        kind = pointer(array(self.main, len(self.carried)))
        params.append(("q0", kind))
        self.out = Deref(kind.target, Name(kind, "q0"))
        if rng.random() < 0.4:                            # the loops may use it as well
            self.bind("q0", kind, False, False)
        self.moved = self.carried

    def variable(self, kind):
        name, value = self.fresh(), self.coerced(kind, 1)
        self.setup.append(Declare(name, kind, value, False, True))
        self.bind(name, kind, True)
        return Name(kind, name)

    def kept(self):
        """What the variables are at the end goes where the pointer leads."""
        return [Assign(Index(self.main, self.out, [Literal(U16, i, True)]), "", name)
                for i, name in enumerate(self.carried)]

    def step(self):
        rng = self.rng
        roll = rng.random()
        if roll < 0.1:
            return [If(self.expr(BOOL, 1), [self.loop(1)], [self.loop(1)])]
        if roll < 0.2:
            return [self.scope(2)]
        if roll < 0.3 and self.run_time:
            return self.exchange()
        return [self.loop(2)] + [self.statement(0) for _ in range(rng.choice((0, 0, 1)))]

    # ---- loops -----------------------------------------------------------------------------------

    def loop(self, depth):
        return self.rng.choice([self.short_range] * 4 + [self.while_loop] * 2 +
                               [self.for_range, self.for_array, self.endless])(depth)

    def turns(self, most):
        found = [t for t in TURNS if t * self.weight <= MOST_COST] or [1]
        return self.rng.choice(found)

    def short_range(self, depth):
        """A number of turns, often with the counter in a type of the variables."""
        rng, turns = self.rng, self.turns(max(TURNS))
        kind = self.main if self.main in COUNTERS and rng.random() < 0.6 else rng.choice(COUNTERS)
        item, kept, label = self.fresh("i"), list(self.bindings), self.label()
        self.bind(item, kind, False)
        body = self.loop_body(turns, depth, label)
        self.bindings = kept
        return ForRange(label, body, kind, *(Literal(kind, n, True) for n in (0, turns, 1)), item)

    def endless(self, depth):
        """The body has the way out, before the work or behind it."""
        rng, kind, turns = self.rng, self.rng.choice(COUNTERS), self.turns(max(TURNS))
        counter, label, kept = Name(kind, self.fresh("c")), self.label(), list(self.bindings)
        self.bind(counter.name, kind, False)
        body = self.loop_body(turns + 1, depth, label)
        self.bindings = kept
        out = Leave(Compare(BOOL, ">=", counter, Literal(kind, turns, True)), "break", label)
        count = Assign(counter, "+", Literal(kind, 1, True))
        # In front of all, no `continue` passes over it.
        body = [out, count] + body if rng.random() < 0.5 else [count, out] + body
        return Arm([Declare(counter.name, kind, Literal(kind, 0, True), False, True),
                    While(label, body, Literal(BOOL, True), None)])

    def loop_body(self, turns, depth, label):
        rng, moved = self.rng, self.moved
        self.moved = rng.sample(self.carried, rng.randrange(1, len(self.carried) + 1))
        self.weight *= turns
        self.cost += self.weight
        self.labels.append((label, True))
        if rng.random() < STRAIGHT:
            body = [self.move(0) for _ in range(rng.randrange(1, 4))]
        else:
            body = [self.statement(depth - 1) for _ in range(rng.randrange(1, 4))]
        self.labels.pop()
        self.weight //= turns
        self.moved = moved
        return body

    # ---- what moves ------------------------------------------------------------------------------

    def statement(self, depth):
        rng = self.rng
        ways = [self.move] * 6 + [self.shared, self.halves] * 2 + [self.leave] * 2 + \
            [self.point, self.assign, self.declare, self.bumped, self.call_with_pointers]
        if depth > 0:
            ways += [self.branch, self.select, self.scope, self.loop, self.loop, self.loop]
        return rng.choice(ways)(depth)

    def move(self, depth):
        return self.rng.choice((self.rotate, self.rotate, self.advance, self.advance, self.keep,
                                self.keep, self.change, self.choose_one, self.put, self.flip))()

    def some(self):
        return self.rng.choice(self.carried)

    def rotate(self):
        """Some of them take the value of the next one."""
        rng = self.rng
        found = self.moved if len(self.moved) > 1 else self.carried
        names = rng.sample(found, rng.randrange(2, len(found) + 1))
        last = Name(self.main, self.fresh("t"))
        moves = [Assign(a, "", b) for a, b in zip(names, names[1:])]
        if rng.random() < 0.4:
            moves.append(Assign(names[-1], rng.choice(self.operators()), last))
        else:
            moves.append(Assign(names[-1], "", last))
        return Arm([Declare(last.name, self.main, names[0], True, True)] + moves)

    def operators(self):
        return "+-*" if isinstance(self.main, Float) else "+-^^&|"

    def sum(self):
        """A sum of two variables, or of one and what the turn reads."""
        other = self.some() if self.rng.random() < 0.6 else self.coerced(self.main, 1)
        return Binary(self.main, self.rng.choice(self.operators()), self.some(), other)

    def advance(self):
        """a, b = b, a + b"""
        rng = self.rng
        a, b = rng.sample(self.moved if len(self.moved) > 1 else self.carried, 2)
        made = Name(self.main, self.fresh("s"))
        return Arm([Declare(made.name, self.main, self.sum(), True, True),
                    Assign(a, "", b), Assign(b, "", made)])

    def keep(self):
        to = self.rng.choice(self.moved)
        return Assign(to, "", self.rng.choice([n for n in self.carried if n is not to]))

    def change(self):
        return Assign(self.rng.choice(self.moved), self.rng.choice(self.operators()),
                      self.some() if self.rng.random() < 0.5 else self.coerced(self.main, 1))

    def choose_one(self):
        condition = self.rng.choice(self.flags) if self.flags and self.rng.random() < 0.5 else \
            self.comparison(0)
        return Assign(self.rng.choice(self.moved), "",
                      Choice(self.main, condition, self.some(), self.some()))

    def put(self):
        """An element of an array or a global gets something of the variables."""
        names = {n.name for n in self.carried}
        found = [(b, s) for b, s in self.found(self.main, mutable=True) if b.name not in names]
        if not found:
            return self.change()
        to = self.reach(*self.rng.choice(found))
        value = self.some() if self.rng.random() < 0.4 else self.sum()
        return Assign(to, self.rng.choice(("", "") + tuple(self.operators())), value)

    def flip(self):
        """A flag goes round the loop."""
        rng = self.rng
        if not self.flags:
            return self.keep()
        flag = rng.choice(self.flags)
        value = rng.choice((lambda: Unary(BOOL, "!", flag), lambda: self.comparison(1),
                            lambda: Logic(BOOL, rng.choice(("and", "or")), flag,
                                          self.comparison(0))))()
        return Assign(flag, "", value)

    def shared(self, depth):
        """Both ways begin, or end, with the same."""
        rng = self.rng
        to, op, a, b, over = rng.choice(self.moved), rng.choice(self.operators()), self.some(), \
            self.some(), rng.choice(("", "", "+"))

        def same():
            return Assign(to, over, Binary(self.main, op, a, b))

        yes, no = [self.move(0)], [self.move(0)] if rng.random() < 0.8 else []
        first = rng.random() < 0.7
        yes.insert(0 if first else 1, same())
        no.insert(0 if first else len(no), same())
        return If(self.expr(BOOL, 1), yes, no)

    def halves(self, depth):
        """One way computes with whole variables, the other one with their low halves."""
        rng = self.rng
        narrow = [k for k in self.palette if isinstance(k, Int) and isinstance(self.main, Int)
                  and k.width < self.main.width and self.found(k, mutable=True)]
        if not narrow:
            return self.shared(depth)
        kind, op, a, b = rng.choice(narrow), rng.choice("++-"), self.some(), self.some()
        to = [self.reach(*rng.choice(self.found(kind, mutable=True))) for _ in range(2)]
        yes = [Assign(rng.choice(self.moved), "", Binary(self.main, op, a, b)),
               Assign(to[0], "", Binary(kind, op, self.operand(kind), self.operand(kind)))]
        no = [Assign(to[1], "", Binary(kind, op, As(kind, a), As(kind, b))), self.move(0)]
        for way in (yes, no):
            rng.shuffle(way)
        return If(self.expr(BOOL, 1), yes, no)

    def bumped(self, depth):
        """A call that changes a variable through its address."""
        if isinstance(self.main, Float):
            return self.change()
        made, _ = self.bump(self.main, 1)
        call = Call(self.main, made, [AddressOf(pointer(self.main), self.some()), self.some()])
        if self.rng.random() < 0.5:
            return CallStatement(call)
        return Assign(self.rng.choice(self.moved), "", call)

    # ---- descriptors that change places ----------------------------------------------------------

    def held_of(self, letter, length):
        """A variable with a descriptor."""
        rng = self.rng
        by = Literal(U16, rng.randrange(4), False) if rng.random() < 0.5 else \
            Binary(U16, "&", Name(U16, "p0"), Literal(U16, 3, True))
        walk = some_walk(rng, letter, length, 3, flat=1)
        return HeldWalk(Exchanged(walk, self.name, "access", held=self.fresh("d")), by)

    def exchange(self):
        """A loop over descriptors of one array, some of which change places in each turn."""
        rng = self.rng
        letter = rng.choice("whs")
        name, kind = f"{self.name}_{letter}", array(self.kinds[letter], SIZE)
        if name not in {n for n, _, _ in self.globals}:
            self.globals.append((name, kind, [choose.value(rng, kind.element, True)
                                              for _ in range(SIZE)]))
        length = rng.randrange(1, 5)
        holds = [self.held_of(letter, length) for _ in range(rng.randrange(2, 5))]
        body = [self.operation_of(letter, holds, length)]
        body += [self.change_places([h.vector.held for h in holds])
                 for _ in range(rng.randrange(1, 3))]
        if rng.random() < 0.5:
            body.append(self.move(0))
        turns = self.turns(max(TURNS))
        bounds = [Literal(U16, n, True) for n in (0, turns, 1)]
        loop = ForRange(None, body, U16, *bounds, self.fresh("t"))
        return holds + [loop, self.operation_of(letter, holds, length)]

    def change_places(self, names):
        """One or more variables with descriptors get those of others."""
        rng, way = self.rng, self.rng.random()
        first, second = rng.sample(names, 2)
        between = self.fresh("t")
        if way < 0.3:
            return Take(first, self.expr(BOOL, 1), second, rng.choice(names))
        # In an exchange the first one, too, may get one of two.
        chosen = self.expr(BOOL, 1) if way < 0.5 else None
        swap = [Take(between, None, first, declares=True),
                Take(first, chosen, second, rng.choice(names)), Take(second, None, between)]
        return If(self.expr(BOOL, 1), swap, []) if way > 0.8 else Arm(swap)

    def operation_of(self, letter, holds, length):
        rng = self.rng
        op = rng.choice([o for o in OPS if o.dest == o.first == o.other == letter])
        form = rng.choice(op.forms)
        to = rng.choice(holds).vector
        sources = [rng.choice(holds).vector if c == "D" else self.value(letter) for c in form]
        return Operation(op, self.kinds, to, sources, length)

