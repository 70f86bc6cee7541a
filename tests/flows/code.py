"""Scalar code: random expressions and statements, each with its text and what it computes.

An expression of `kind` (a type of the language, by name) is computed from an Env; a statement
changes one.  Integers are Python's, wrapped to their width; floats are numpy's.
"""
import operator
import re
from dataclasses import dataclass, field
from typing import Callable

import numpy

FLOATS = {"f16": numpy.float16, "f32": numpy.float32}
WIDTHS = {"u16": 16, "i16": 16, "u32": 32, "i32": 32}
KINDS = (*WIDTHS, *FLOATS)
DTYPES = {"u16": numpy.uint16, "i16": numpy.int16, "u32": numpy.uint32, "i32": numpy.int32,
          **FLOATS}


def with_sign(size, of):
    return size if of >= 0 else -size


OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_,
             "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
             "/": lambda a, b: with_sign(abs(a) // b, a),
             "%": lambda a, b: with_sign(abs(a) % b, a)}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
               "==": operator.eq, "!=": operator.ne}
MOST_TURNS = 7
RECENT = 3                      # so many of the last names are read more often than others


def wrap(kind, number):
    width = WIDTHS[kind]
    number &= (1 << width) - 1
    return number - (number >> width - 1 << width) if kind[0] == "i" else number


def converted(kind, value):
    if kind in FLOATS:
        return FLOATS[kind](value)
    return wrap(kind, int(value))


@dataclass
class Array:
    name: str
    kind: str
    size: int


@dataclass
class Env:
    """What a tile holds."""
    arrays: dict                  # by name, of numpy arrays
    values: dict                  # globals and locals by name
    records: list = field(default_factory=list)       # of library.py

    def load(self, array, index):
        value = self.arrays[array.name][index]
        return value if array.kind in FLOATS else int(value)

    def store(self, array, index, value):
        self.arrays[array.name][index] = value


@dataclass
class Expr:
    kind: str
    text: str
    value: Callable               # of an Env


def constant(number, kind="u16"):
    value = converted(kind, number)
    return Expr(kind, str(number), lambda env: value)


def named(kind, name):
    return Expr(kind, name, lambda env: env.values[name])


@dataclass
class Statement:
    lines: list
    run: Callable                 # on an Env


@dataclass
class Function:
    name: str
    params: list                  # (name, kind)
    lines: list
    body: list                    # statements
    result: Expr
    reads: set                    # names of arrays
    writes: set

    def names(self, variable):
        return any(re.search(rf"\b{variable}\b", text)
                   for text in [*self.lines, self.result.text])

    def text(self):
        params = ", ".join(f"{n}: {k}" for n, k in self.params)
        return [f"fn {self.name}({params}) {self.result.kind} {{", *self.lines,
                f"  return {self.result.text};", "}"]

    def call(self, env, arguments):
        env.values.update(zip((n for n, _ in self.params), arguments))
        run_all(self.body, env)
        return self.result.value(env)


def run_all(statements, env):
    for s in statements:
        s.run(env)


def indented(lines):
    return ["  " + line for line in lines]


@dataclass
class Scope:
    """What code may use: names that it can read and assign to, and the arrays that nothing in the
    background uses."""
    readable: list                # (name, kind)
    assignable: list
    counters: list = field(default_factory=list)      # (name, turns): below a size
    loads: set = field(default_factory=set)           # arrays that it may read, by name
    stores: set = field(default_factory=set)
    depth: int = 0
    calls: bool = True            # of the tile's functions, which use all globals
    times: int = 0                # how often it runs in a step at most; 0: not known

    def inner(self, turns=1):
        return Scope(list(self.readable), list(self.assignable), list(self.counters), self.loads,
                     self.stores, self.depth + 1, self.calls, self.times * turns)


class Coder:
    """Makes the scalar code of a tile."""

    def __init__(self, rng, arrays, fresh):
        self.rng, self.arrays, self.fresh = rng, arrays, fresh
        self.functions = []
        # Of operands.py, library.py and orders.py.
        self.vectors = self.library = self.orders = None
        self.reads, self.writes = set(), set()        # of the function that is being made

    def name(self, stem):
        return f"{stem}{next(self.fresh)}"

    def chance(self, p):
        return self.rng.random() < p

    # ---- expressions -----------------------------------------------------------------------------

    def leaf(self, scope, kind):
        """Never known at compile time."""
        names = [n for n, k in scope.readable if k == kind]
        arrays = [a for a in self.arrays if a.kind == kind and a.name in scope.loads]
        if arrays and (not names or self.chance(0.4)):
            return self.element(scope, self.rng.choice(arrays))
        if names:
            return named(kind, self.rng.choice(names[-RECENT:] if self.chance(0.6) else names))
        return self.converted(scope, kind, 0)

    def element(self, scope, array):
        self.reads.add(array.name)
        index = self.index(scope, array)
        return Expr(array.kind, f"{array.name}[{index.text}]",
                    lambda env: env.load(array, index.value(env)))

    def converted(self, scope, kind, depth):
        others = [k for _, k in scope.readable if k != kind]
        if kind not in FLOATS:
            others = [k for k in others if k not in FLOATS]
        of = self.expression(scope, self.rng.choice(others), depth)
        return Expr(kind, f"@as({kind}, {of.text})", lambda env: converted(kind, of.value(env)))

    def index(self, scope, array):
        """An expression for the place of an element."""
        rng = self.rng
        below = [n for n, turns in scope.counters if turns <= array.size]
        if below and self.chance(0.6):
            name, last = rng.choice(below), array.size - 1
            if self.chance(0.3):
                return Expr("u16", f"{last} - {name}", lambda env: last - env.values[name])
            return named("u16", name)
        words = [n for n, k in scope.readable if k == "u16"]
        if words and self.chance(0.4):
            name = rng.choice(words)
            return Expr("u16", f"{name} % {array.size}", lambda env: env.values[name] % array.size)
        return constant(rng.choice((0, 1, rng.randrange(array.size))))

    def number(self, kind):
        rng = self.rng
        if kind in FLOATS:
            return constant(rng.randrange(-16, 17) / 8, kind)
        return constant(rng.choice((rng.randrange(16), rng.randrange(1 << 15))), kind)

    def expression(self, scope, kind, depth):
        if depth <= 0 or self.chance(0.2):
            return self.leaf(scope, kind)
        if self.library and self.chance(0.08):
            return self.library.expression(scope, kind, depth) or self.leaf(scope, kind)
        if self.chance(0.1) and any(k != kind and (kind in FLOATS or k not in FLOATS)
                                    for _, k in scope.readable):
            return self.converted(scope, kind, depth - 1)
        left = self.expression(scope, kind, depth - 1)
        if kind in FLOATS:
            return self.float_operation(scope, kind, left, depth)
        return self.integer_operation(scope, kind, left, depth)

    def float_operation(self, scope, kind, left, depth):
        op = self.rng.choice("+-*")
        right, compute = self.right(scope, kind, depth), OPERATORS[op]
        return Expr(kind, f"({left.text} {op} {right.text})",
                    lambda env: FLOATS[kind](compute(left.value(env), right.value(env))))

    def right(self, scope, kind, depth):
        return self.number(kind) if self.chance(0.4) else self.expression(scope, kind, depth - 1)

    def integer_operation(self, scope, kind, left, depth):
        op = self.rng.choice(list(OPERATORS))
        if op in ("<<", ">>"):
            right = constant(self.rng.randrange(WIDTHS[kind]))
        elif op in ("/", "%"):
            right = constant(self.rng.randrange(1, 99))
        else:
            right = self.right(scope, kind, depth)
        compute = OPERATORS[op]
        return Expr(kind, f"({left.text} {op} {right.text})",
                    lambda env: wrap(kind, compute(left.value(env), right.value(env))))

    def condition(self, scope):
        found = self.library.condition(scope) if self.library and self.chance(0.1) else None
        return found or self.comparison(scope)

    def comparison(self, scope):
        kind = self.rng.choice(KINDS)
        left, right = self.expression(scope, kind, 1), self.right(scope, kind, 1)
        op = self.rng.choice(list(COMPARISONS))
        compare = COMPARISONS[op]
        return Expr("bool", f"{left.text} {op} {right.text}",
                    lambda env: bool(compare(left.value(env), right.value(env))))

    # ---- statements ------------------------------------------------------------------------------

    def statements(self, scope, count):
        return [self.statement(scope) for _ in range(count)]

    def statement(self, scope):
        rng = self.rng
        makers = [(self.declare, 3), (self.assign, 4), (self.call, 2.5), (self.call_between, 1)]
        if scope.depth < 2:
            makers += [(self.branch, 1), (self.loop, 1.5), (self.count_down, 0.5),
                       (self.rotate, 0.7)]
        if self.vectors:
            makers += [(self.vectors.statement, 4)]
            if scope.calls:
                makers += [(self.vectors.change, 1)]
            if scope.depth == 0:                      # deeper ones would run too long
                makers += [(self.vectors.map, 1)]
        if self.library:
            makers += [(self.library.statement, 1.5)]
        if self.orders:
            makers += [(self.orders.statement, 0.5)]
        maker = rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        return maker(scope) or self.declare(scope)

    def declare(self, scope):
        kind, variable = self.rng.choice(KINDS), self.chance(0.4)
        value, name = self.expression(scope, kind, 2), self.name("t")
        scope.readable.append((name, kind))
        if variable:
            scope.assignable.append((name, kind))

        def run(env):
            env.values[name] = value.value(env)
        return Statement([f"{'var' if variable else 'const'} {name}: {kind} = {value.text};"], run)

    def assign(self, scope):
        rng = self.rng
        arrays = [a for a in self.arrays if a.name in scope.stores]
        if not arrays and not scope.assignable:
            return None
        if arrays and (self.chance(0.5) or not scope.assignable):
            return self.store(scope, rng.choice(arrays))
        return self.assign_to(scope, *rng.choice(scope.assignable))

    def assign_to(self, scope, name, kind):
        value = self.expression(scope, kind, 2)

        def run(env):
            env.values[name] = value.value(env)
        return Statement([f"{name} = {value.text};"], run)

    def store(self, scope, array):
        self.writes.add(array.name)
        self.reads.add(array.name)
        index, value = self.index(scope, array), self.expression(scope, array.kind, 2)
        if self.chance(0.3) and array.name in scope.loads:
            def add(env):
                at = index.value(env)
                env.store(array, at, converted(array.kind, env.load(array, at) + value.value(env)))
            return Statement([f"{array.name}[{index.text}] += {value.text};"], add)

        def run(env):
            env.store(array, index.value(env), value.value(env))
        return Statement([f"{array.name}[{index.text}] = {value.text};"], run)

    def usable_function(self, scope):
        """One that the code may call, or None."""
        usable = [f for f in self.functions
                  if scope.calls and f.reads <= scope.loads and f.writes <= scope.stores]
        if not usable:
            return None
        function = self.rng.choice(usable)
        self.reads |= function.reads
        self.writes |= function.writes
        return function

    def call(self, scope):
        function = self.usable_function(scope)
        return function and self.call_of(function, scope)

    def call_between(self, scope):
        """A call between two assignments to a variable that the function names, or None."""
        function = self.usable_function(scope)
        named_there = [(n, k) for n, k in scope.assignable if function and function.names(n)]
        if not named_there:
            return None
        variable = self.rng.choice(named_there)
        parts = [self.assign_to(scope, *variable), self.call_of(function, scope),
                 self.assign_to(scope, *variable)]
        return Statement(lines_of(parts), lambda env: run_all(parts, env))

    def call_of(self, function, scope):
        name = self.name("t")
        arguments = [self.expression(scope, k, 1) for _, k in function.params]
        scope.readable.append((name, function.result.kind))

        def run(env):
            env.values[name] = function.call(env, [a.value(env) for a in arguments])
        texts = ", ".join(a.text for a in arguments)
        return Statement([f"const {name} = {function.name}({texts});"], run)

    def block(self, scope, most):
        inner = scope.inner()
        return self.statements(inner, self.rng.randrange(1, most + 1))

    def branch(self, scope):
        condition, yes = self.condition(scope), self.block(scope, 3)
        no = self.block(scope, 3) if self.chance(0.6) else []
        lines = [f"if ({condition.text}) {{", *indented(lines_of(yes))]
        lines += ["} else {", *indented(lines_of(no)), "}"] if no else ["}"]
        return Statement(lines, lambda env: run_all(yes if condition.value(env) else no, env))

    def bound(self, scope, most, at_run_time):
        """A number of turns."""
        if not self.chance(at_run_time):
            return constant(most)
        by = self.expression(scope, "u16", 1)
        return Expr("u16", f"{by.text} % {most}", lambda env: by.value(env) % most)

    def loop(self, scope):
        """Over a range, whose end may be known at run time only."""
        turns, name = self.rng.randrange(1, MOST_TURNS), self.name("n")
        end, inner = self.bound(scope, turns, 0.4), scope.inner(turns)
        inner.counters.append((name, turns))
        inner.readable.append((name, "u16"))
        body = self.statements(inner, self.rng.randrange(1, 4))

        def run(env):
            for i in range(end.value(env)):
                env.values[name] = i
                run_all(body, env)
        return Statement([f"for (@range(u16, {end.text})) |{name}| {{",
                          *indented(lines_of(body)), "}"], run)

    def count_down(self, scope):
        """A loop with a condition."""
        turns, name = self.rng.randrange(1, MOST_TURNS), self.name("k")
        start, inner = self.bound(scope, turns, 0.5), scope.inner(turns)
        inner.counters.append((name, turns + 1))
        inner.readable.append((name, "u16"))
        body = self.statements(inner, self.rng.randrange(1, 3))

        def run(env):
            env.values[name] = start.value(env)
            while env.values[name]:
                run_all(body, env)
                env.values[name] -= 1
        return Statement([f"var {name}: u16 = {start.text};",
                          f"while ({name} != 0) : ({name} -= 1) {{", *indented(lines_of(body)),
                          "}"], run)

    def rotate(self, scope):
        """Short loops in a row; round each some variables move."""
        rng, kind = self.rng, self.rng.choice(KINDS)
        names = [self.name("r") for _ in range(rng.randrange(2, RECENT + 2))]
        firsts = [self.expression(scope, kind, 1) for _ in names]
        lines = [f"var {n}: {kind} = {e.text};" for n, e in zip(names, firsts)]
        scope.readable += [(n, kind) for n in names]
        loops = []
        for _ in range(rng.randrange(1, 4)):
            turns, held = rng.randrange(1, 4), self.name("t")
            inner = Scope([(n, kind) for n in names], [], depth=2, calls=False)
            last = self.expression(inner, kind, 2)
            moved = rng.sample(names, rng.randrange(1, len(names) + 1))
            sides = moved[1:] + [held] if self.chance(0.5) else [
                rng.choice([n for n in (held, *names) if n != to]) for to in moved]
            body = [f"const {held} = {last.text};",
                    *(f"{n} = {e};" for n, e in zip(moved, sides))]
            lines += [f"for (@range(u16, {turns})) |_| {{", *indented(body), "}"]
            loops.append((turns, held, last, list(zip(moved, sides))))

        def run(env):
            for n, e in zip(names, firsts):
                env.values[n] = e.value(env)
            for turns, held, last, moves in loops:
                for _ in range(turns):
                    env.values[held] = last.value(env)
                    for n, e in moves:
                        env.values[n] = env.values[e]
        return Statement(lines, run)

    # ---- functions -------------------------------------------------------------------------------

    def make_function(self, readable, assignable):
        rng = self.rng
        params = [(self.name("p"), rng.choice(KINDS)) for _ in range(rng.randrange(3))]
        arrays = {a.name for a in rng.sample(self.arrays, rng.randrange(1, len(self.arrays)))}
        scope = Scope(readable + params, list(assignable), [], arrays, arrays, 1)
        self.reads, self.writes = set(), set()
        body = self.statements(scope, rng.randrange(1, 9))
        result = self.expression(scope, rng.choice(KINDS), 2)
        self.functions.append(Function(self.name("compute"), params, indented(lines_of(body)), body,
                                       result, self.reads, self.writes))


def lines_of(statements):
    return [line for s in statements for line in s.lines]
