"""Vector operations: descriptors of memory and of streams, and what the operations compute.

An operation is split into what is known when it is issued (`Issued`: indices, scalars) and its
elements, so that one in the background can be computed when its wavelets are there.
"""
import itertools
import math
from dataclasses import dataclass

from diff.vectors import ARITHMETIC
from flows.code import (DTYPES, FLOATS, Expr, Statement, constant, lines_of, named, run_all,
                        wrap)

LETTERS = {"f16": "h", "f32": "s"}
# By element type: names of operations and the forms of their operands behind the destination: D a
# vector, s a scalar.
BINARY = ("DD", "sD", "Ds")
OPERATIONS = {
    "u16": [*((n, BINARY) for n in ("add16", "and16", "or16", "xor16")), ("sub16", ("DD", "Ds")),
            ("mov16", ("D", "s"))],
    "i16": [("add16", BINARY), ("sub16", ("DD", "Ds")), ("mov16", ("D", "s"))],
    "u32": [("mov32", ("D", "D", "s"))], "i32": [("mov32", ("D", "D", "s"))],
    **{kind: [*((f"f{n}{k}", BINARY) for n in ("add", "sub", "mul", "max")),
              *[(f"fmac{k}", ("DDs",))] * 3, (f"fmov{k}", ("D", "s")), (f"fneg{k}", ("D",)),
              (f"fabs{k}", ("D",))] for kind, k in LETTERS.items()},
}
MOVES = {"u16": "mov16", "i16": "mov16", "u32": "mov32", "i32": "mov32", "f16": "fmovh",
         "f32": "fmovs"}


@dataclass
class Walk:
    """Elements of an array, in the order in which a descriptor visits them."""
    array: object
    start: Expr
    lengths: tuple
    weights: tuple                # elements that each dimension moves by
    text: str

    def length(self):
        return math.prod(self.lengths)

    def indices(self, env):
        start = self.start.value(env)
        return [start + sum(i * w for i, w in zip(at, self.weights))
                for at in itertools.product(*(range(n) for n in self.lengths))]


@dataclass
class Issued:
    """An operation that begins: by operand the indices, a value, or None for a stream."""
    name: str
    kind: str                     # of its elements
    dest: object                  # array; None: a stream
    to: list
    sources: list                 # arrays, None: a stream or a value
    found: list

    def element(self, env, i, wavelet):
        """Computes element i, whose stream gives `wavelet`; returns the result."""
        given = []
        for array, at in zip(self.sources, self.found):
            if at is None:
                given.append(wavelet)
            elif array is None:
                given.append(at)
            else:
                given.append(env.arrays[array.name][at[i]])
        result = element_of(self.kind, ARITHMETIC[self.name](*given))
        if self.dest is not None:
            env.arrays[self.dest.name][self.to[i]] = result
        return result


def element_of(kind, value):
    """The value as an element of an array."""
    return DTYPES[kind](value if kind in FLOATS else wrap(kind, int(value)))


class Vectors:
    """Makes the operations of a tile; `coder`: for scalars and offsets."""

    def __init__(self, rng, coder, lengths):
        self.rng, self.coder, self.lengths = rng, coder, lengths
        self.globals, self.made = [], []
        self.walks, self.variables = [], []           # constant descriptors; those that change

    def chance(self, p):
        return self.rng.random() < p

    # ---- descriptors of memory -------------------------------------------------------------------

    def walk(self, scope, array, length):
        """A descriptor of so many elements of the array."""
        known = [w for w in self.walks if w.array is array and w.length() == length]
        if known and self.chance(0.6):
            return self.rng.choice(known)
        variables = [w for w in self.variables if w.array is array and w.length() == length]
        if variables and self.chance(0.7):
            return self.rng.choice(variables)
        if self.chance(0.25):
            return self.walk_of_rows(array, length) or self.walk_at_run_time(scope, array, length)
        if self.chance(0.4):
            return self.walk_at_run_time(scope, array, length)
        stride, start = self.stride(array, length)
        return self.written(array, start, length, stride)

    def stride(self, array, length):
        rng = self.rng
        most = (array.size - 1) // max(1, length - 1)
        stride = rng.choice([s for s in (1, 1, 1, 2, 3, -1, -2) if abs(s) <= most] or [0])
        span = abs(stride) * (length - 1)
        low = rng.randrange(array.size - span)
        return stride, low if stride >= 0 else low + span

    def keep(self, text):
        """The descriptor as a constant of the program, mostly one that is there already."""
        for name, known in self.made:
            if known == text and self.chance(0.7):
                return name
        name = self.coder.name("d")
        self.made.append((name, text))
        self.globals.append(f"const {name} = {text};")
        return name

    def written(self, array, start, length, stride):
        sums = f"{start} + ({stride}) * i" if stride != 1 or start else "i"
        if self.chance(0.6):
            text = (f"@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{length}}} -> "
                    f"{array.name}[{sums}] }})")
        else:
            text = (f"@get_dsd(mem1d_dsd, .{{ .base_address = &{array.name}, .extent = {length}, "
                    f".stride = {stride}, .offset = {start} }})")
        is_kept = self.chance(0.8)
        text = self.keep(text) if is_kept else text
        walk = Walk(array, constant(start), (length,), (stride,), text)
        if is_kept:
            self.walks.append(walk)
        return walk

    def walk_of_rows(self, array, length):
        """In two dimensions."""
        parts = [d for d in range(2, length) if length % d == 0]
        if not parts:
            return None
        inner = self.rng.choice(parts)
        lengths, weights = (length // inner, inner), (self.rng.choice((1, inner, inner + 1)),
                                                      self.rng.choice((1, 1, 2)))
        span = sum((n - 1) * w for n, w in zip(lengths, weights))
        if span >= array.size:
            return None
        start = self.rng.randrange(array.size - span)
        text = self.keep(f"@get_dsd(mem4d_dsd, .{{ .tensor_access = |i, j|"
                         f"{{{lengths[0]}, {lengths[1]}}} -> {array.name}[{start} + "
                         f"{weights[0]} * i + {weights[1]} * j] }})")
        return Walk(array, constant(start), lengths, weights, text)

    def walk_at_run_time(self, scope, array, length):
        """At a place that is known at run time only."""
        room = array.size - length
        if not room:
            return self.written(array, 0, length, 1)
        by = self.coder.expression(scope, "u16", 1)
        offset = Expr("u16", f"@as(i16, {by.text} % {room + 1})",
                      lambda env: by.value(env) % (room + 1))
        base = self.written(array, 0, length, 1).text
        text = f"@increment_dsd_offset({base}, {offset.text}, {array.kind})"
        return Walk(array, offset, (length,), (1,), text)

    def make_variable(self, env):
        """A variable of the program that holds a descriptor whose start changes."""
        array, length = self.rng.choice(self.coder.arrays), self.rng.choice(self.lengths)
        walk, name = self.written(array, 0, length, 1), self.coder.name("v")
        self.globals.append(f"var {name} = {walk.text};")
        env.values[name] = 0
        self.variables.append(Walk(array, named("u16", name), (length,), (1,), name))

    def change(self, scope):
        """A statement that changes such a variable, mostly between operations that use it."""
        if not self.variables:
            return None
        usable = [v for v in self.variables if v.array.name in scope.stores & scope.loads]
        if not usable or self.chance(0.3):
            return self.changed(scope, self.rng.choice(self.variables))
        variable = self.rng.choice(usable)
        parts = [self.used(scope, variable), self.changed(scope, variable),
                 self.used(scope, variable)]
        return Statement(lines_of(parts), lambda env: run_all(parts, env))

    def used(self, scope, variable):
        """An operation that writes by the variable."""
        found = None
        while not found:
            found = self.operands(scope, variable.array.kind, variable.length(), None)
        return self.operation(found[0], variable.array.kind, variable, found[1])

    def changed(self, scope, variable):
        array, length, name = variable.array, variable.length(), variable.text
        to = self.coder.expression(scope, "u16", 1)
        room = array.size - length + 1
        of = self.rng.choice([f"@set_dsd_base_addr({name}, &{array.name})",
                              self.written(array, 0, length, 1).text])

        def run(env):
            env.values[name] = to.value(env) % room
        return Statement([f"{name} = @increment_dsd_offset({of}, @as(i16, {to.text} % {room}), "
                          f"{array.kind});"], run)

    # ---- operations ------------------------------------------------------------------------------

    def operands(self, scope, kind, length, fixed, is_last=False):
        """(name, operands) of a random operation, or None.  fixed: the last vector source; is_last:
        with no scalar behind it."""
        choices = [(n, f) for n, forms in OPERATIONS[kind] for f in forms
                   if fixed is None or (f.endswith("D") if is_last else "D" in f)]
        arrays = [a for a in self.coder.arrays if a.kind == kind and a.name in scope.loads]
        name, form = self.rng.choice(choices)
        found = []
        for i, letter in enumerate(form):
            if letter == "s":
                found.append(self.coder.leaf(scope, kind))
            elif fixed is not None and i == form.rfind("D"):
                found.append(fixed)
            elif arrays:
                found.append(self.walk(scope, self.rng.choice(arrays), length))
            else:
                return None
        return name, found

    def issue(self, name, kind, dest, sources):
        """What begins, as a function of an Env; dest: None for a stream."""
        self.coder.reads |= {s.array.name for s in sources if isinstance(s, Walk)}
        self.coder.writes |= {dest.array.name} if dest else set()

        def now(source, env):
            if isinstance(source, Walk):
                return source.indices(env)
            return element_of(source.kind, source.value(env)) if isinstance(source, Expr) else None

        def begin(env):
            return Issued(name, kind, dest and dest.array, dest.indices(env) if dest else [],
                          [s.array if isinstance(s, Walk) else None for s in sources],
                          [now(s, env) for s in sources])
        return begin

    def statement(self, scope):
        """A synchronous operation between arrays, or None."""
        targets = [a for a in self.coder.arrays if a.name in scope.stores]
        if not targets:
            return None
        array = self.rng.choice(targets)
        length = self.rng.choice(self.lengths)
        found = self.operands(scope, array.kind, length, None)
        if not found:
            return None
        name, sources = found
        dest = self.walk(scope, array, length)
        if self.chance(0.4) and isinstance(sources[0], Walk) and sources[0].array is array:
            dest = sources[0]                         # in place
        return self.operation(name, array.kind, dest, sources)

    def map(self, scope):
        """A function of the tile for each element, or None."""
        function, length = self.coder.usable_function(scope), self.rng.choice(self.lengths)
        if not function or not function.params:
            return None
        sources = [self.argument(scope, kind, length) for _, kind in function.params]
        targets = [a for a in self.coder.arrays
                   if a.kind == function.result.kind and a.name in scope.stores]
        if not targets or not any(isinstance(s, Walk) for s in sources):
            return None
        dest = self.walk(scope, self.rng.choice(targets), length)
        begin = self.issue(function.name, dest.array.kind, dest, sources)

        def run(env):
            issued = begin(env)
            for i in range(length):
                given = [env.load(array, at[i]) if array else at
                         for array, at in zip(issued.sources, issued.found)]
                env.store(dest.array, issued.to[i], function.call(env, given))
        texts = [o.text for o in [*sources, dest]]
        return Statement([f"@map({function.name}, {', '.join(texts)});"], run)

    def argument(self, scope, kind, length):
        """For a parameter of the kind: a descriptor, or a value for all elements."""
        arrays = [a for a in self.coder.arrays if a.kind == kind and a.name in scope.loads]
        if arrays and self.chance(0.8):
            return self.walk(scope, self.rng.choice(arrays), length)
        return self.coder.leaf(scope, kind)

    def operation(self, name, kind, dest, sources):
        length = dest.length()
        begin = self.issue(name, kind, dest, sources)

        def run(env):
            issued = begin(env)
            for i in range(length):
                issued.element(env, i, None)
        texts = [o.text for o in [dest, *sources]]
        return Statement([self.coder.library.operation(name, kind, texts)], run)
