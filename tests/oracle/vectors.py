"""Operations over descriptors: random functions of them, their text and what they do.

A function has three arrays of its own, of words (w), of the 16-bit float type (h) and of f32 (s),
a FIFO and its descriptors.  An operation computes element after element: it reads the sources'
elements, computes and stores, and only then goes on to the next, so that operands may overlap.
How many elements the machine takes at once is not to be seen; no restriction is needed.

An asynchronous operation needs a fabric operand, so there is none here.
"""
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from oracle import choose, formats
from oracle.expressions import Expr, Literal, Name, Node
from oracle.generate import Maker
from oracle.statements import Declare, ForRange, Function
from oracle.types import BOOL, F32, I16, U16, U32, array

SIZE = 24                     # elements of an array
MOST_LENGTH = 10
CAPACITY = 12                 # of a FIFO


# ---- arithmetic of one element -------------------------------------------------------------------


def signed(word):
    return word - (word >> 15 << 16)


def larger(form, a, b):
    if formats.is_nan(form, a) or formats.is_nan(form, b):
        return form.nan
    x, y = formats.number(form, a), formats.number(form, b)
    if x == y:
        return b if a & form.sign else a              # +0 is larger than -0
    return a if x > y else b


def fused(form, of, a, b, c):
    """a + b * c, rounded once; b and c in the format `of`."""
    x, y, z = formats.number(form, a), formats.number(of, b), formats.number(of, c)
    if math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
        exact = Fraction(x) + Fraction(y) * Fraction(z)
        if exact:
            return formats.rounded(form, exact)
    return formats.rounded(form, x + y * z)


def to_word(form, bits):
    return formats.whole(form, bits, True) & 0xffff


WORDS = {
    "add16": lambda a, b: a + b, "sub16": lambda a, b: a - b, "and16": lambda a, b: a & b,
    "or16": lambda a, b: a | b, "xor16": lambda a, b: a ^ b,
    "sll16": lambda a, b: a << b if b < 16 else 0, "slr16": lambda a, b: a >> b,
    "sar16": lambda a, b: signed(a) >> min(b, 15), "clz": lambda a: 16 - a.bit_length(),
    "ctz": lambda a: (a & -a).bit_length() - 1 if a else 16,
    "popcnt": lambda a: bin(a).count("1"), "mov16": lambda a: a,
}


@dataclass(frozen=True)
class Op:
    """dest, first, other: arrays of the destination and the sources; forms: D descriptor, s scalar.
    fold: a scalar destination and the form sD fold the elements."""
    name: str
    dest: str
    first: str
    other: str
    forms: tuple
    fold: bool = False


TWO, ONE = ("DD", "sD", "Ds"), ("D", "s")
OPS = tuple(
    [Op(n, "w", "w", "w", TWO) for n in ("add16", "and16", "or16", "xor16", "sll16", "slr16",
                                         "sar16")] +
    [Op("sub16", "w", "w", "w", ("DD", "Ds"))] +
    [Op(n, "w", "w", "w", ONE) for n in ("clz", "ctz", "popcnt", "mov16")] +
    [Op("mov32", "s", "s", "s", ONE)] +
    [Op(f"f{n}{k}", k, k, k, TWO, True) for n in ("add", "sub", "mul", "max") for k in "hs"] +
    [Op("faddhs", "s", "h", "h", TWO)] +
    [Op("fmach", "h", "h", "h", ("DDs",)), Op("fmacs", "s", "s", "s", ("DDs",)),
     Op("fmachs", "s", "s", "h", ("DDs",))] +
    [Op(f"f{n}{k}", k, k, k, ONE) for n in ("mov", "neg", "abs") for k in "hs"] +
    [Op("fs2h", "h", "s", "s", ONE), Op("fh2s", "s", "h", "h", ONE),
     Op("fh2xp16", "w", "h", "h", ONE), Op("fs2xp16", "w", "s", "s", ONE),
     Op("xp162fh", "h", "w", "w", ONE), Op("xp162fs", "s", "w", "w", ONE)])
MOVES = {"w": "mov16", "h": "fmovh", "s": "fmovs"}


def element(op, kinds, values):
    """One element of an operation's result, in bits; kinds: the element type of each array."""
    name = op.name
    if name in WORDS:
        return WORDS[name](*values) & 0xffff
    if name in ("mov32", "fmovh", "fmovs"):
        return values[0]
    form = kinds[op.dest].form if op.dest != "w" else None
    if name.startswith("fmac"):
        return fused(form, kinds[op.other].form, *values)
    if name == "faddhs":
        half = kinds["h"].form
        return formats.combined(form, "+", *(formats.converted(half, form, v) for v in values))
    if name[1:4] in ("add", "sub", "mul"):
        return formats.combined(form, {"add": "+", "sub": "-", "mul": "*"}[name[1:4]], *values)
    if name[1:4] == "max":
        return larger(form, *values)
    if name[1:4] in ("neg", "abs"):
        return values[0] ^ form.sign if name[1:4] == "neg" else values[0] & ~form.sign
    if name in ("fs2h", "fh2s"):
        return formats.converted(kinds[op.first].form, form, values[0])
    if name.endswith("xp16"):
        return to_word(kinds[op.first].form, values[0])
    return formats.rounded(form, Fraction(signed(values[0])))


# ---- operands ------------------------------------------------------------------------------------


@dataclass(eq=False)
class Walk:
    """Elements of an array, in the order of a descriptor.  lengths: outermost first."""
    array: str                    # w, h or s
    start: int
    lengths: tuple
    weights: tuple

    def indices(self, moved=0):
        return [self.start + moved + sum(i * w for i, w in zip(at, self.weights))
                for at in itertools.product(*(range(n) for n in self.lengths))]

    def fits(self, by=0):
        low = self.start + sum(min(0, (n - 1) * w) for n, w in zip(self.lengths, self.weights))
        high = self.start + sum(max(0, (n - 1) * w) for n, w in zip(self.lengths, self.weights))
        return low + min(by, 0) >= 0 and high + max(by, 0) < SIZE

    def access(self, prefix):
        names = "ijkl"[:len(self.lengths)]
        terms = [str(self.start)] + [f"({w}) * {n}" for n, w in zip(names, self.weights)]
        kind = "mem1d_dsd" if len(names) == 1 else "mem4d_dsd"
        extents = ", ".join(map(str, self.lengths))
        return (f"@get_dsd({kind}, .{{ .tensor_access = |{', '.join(names)}|{{{extents}}} -> "
                f"{prefix}_{self.array}[{' + '.join(terms)}] }})")


@dataclass(eq=False)
class Vector(Node):
    """An operand in memory.  form: how it is written.  per_turn: elements that each turn of the
    loop around, whose counter is `turn`, moves it by.  held: the constant that has it (Hold)."""
    walk: Walk
    prefix: str
    form: str                     # access, fields, mutated, dsr
    register: tuple = None        # (file, number)
    per_turn: int = 0
    turn: str = None
    held: str = None

    def plain(self):
        walk = self.walk
        if self.form in ("access", "dsr") or len(walk.lengths) > 1:
            return walk.access(self.prefix)
        length, stride = walk.lengths[0], walk.weights[0]
        name = f"{self.prefix}_{walk.array}"
        if self.form == "fields":
            return (f"@get_dsd(mem1d_dsd, .{{ .base_address = &{name}, .extent = zero + {length}, "
                    f".stride = {stride}, .offset = @as(i16, zero) + {walk.start} }})")
        kind = {"w": "u16", "h": "@fp16()", "s": "f32"}[walk.array]
        other = Walk(walk.array, 0, (1,), (1,)).access(self.prefix)
        return (f"@increment_dsd_offset(@set_dsd_stride(@set_dsd_length({other}, "
                f"zero + {length}), {stride}), @as(i16, zero) + {walk.start}, {kind})")

    def text(self):
        if self.per_turn:
            return self.moved(f"@as(i16, {self.turn}) * {self.per_turn}")
        return self.plain()

    def moved(self, by):
        kind = {"w": "u16", "h": "@fp16()", "s": "f32"}[self.walk.array]
        return f"@increment_dsd_offset({self.plain()}, {by}, {kind})"

    def name(self):
        if self.held:
            return self.held
        return f"@get_dsr({self.register[0]}, {self.register[1]})" if self.register else self.text()

    def indices(self, frame):
        moved = frame.cells[self.turn][0] * self.per_turn if self.per_turn else 0
        if self.held:
            moved += frame.cells[self.held][0]
        if self.register:
            saved = frame.run.registers
            moved += saved.get(self.register, 0)
        return self.walk.indices(moved)


@dataclass(eq=False)
class Hold(Node):
    """A descriptor in a constant, further on by some elements."""
    vector: Vector
    by: Expr

    def text(self):
        return f"const {self.vector.held} = {self.vector.moved(f'@as(i16, {self.by.text()})')};"

    def run(self, frame):
        frame.cells[self.vector.held] = [self.by.value(frame)]


@dataclass(eq=False)
class Load(Node):
    """@load_to_dsr; save: the register goes on behind what an operation has taken."""
    vector: Vector
    save: bool

    def text(self):
        settings = ", .{ .save_address = true }" if self.save else ""
        return f"@load_to_dsr({self.vector.name()}, {self.vector.text()}{settings});"

    def run(self, frame):
        frame.run.registers[self.vector.register] = 0


@dataclass(eq=False)
class Operation(Node):
    """op over operands: Vector, or an expression for a scalar.  to: a Vector, or the variable whose
    address is the destination."""
    op: Op
    kinds: dict
    to: Node
    sources: list
    length: int
    saved: tuple = ()             # registers that move on, with the elements they move by

    def text(self):
        to = self.to.name() if isinstance(self.to, Vector) else f"&{self.to.text()}"
        sources = [s.name() if isinstance(s, Vector) else s.text() for s in self.sources]
        return f"@{self.op.name}({', '.join([to] + sources)});"

    def run(self, frame):
        cells = [frame.cell(f"{s.prefix}_{s.walk.array}")[0] if isinstance(s, Vector) else None
                 for s in self.sources]
        found = [s.indices(frame) if isinstance(s, Vector) else s.type.encode(s.value(frame))
                 for s in self.sources]
        if not isinstance(self.to, Vector):
            return self.to_scalar(frame, cells, found)
        out, places = frame.cell(f"{self.to.prefix}_{self.to.walk.array}")[0], \
            self.to.indices(frame)
        for i in range(self.length):
            frame.run.step()
            values = [cell[at[i]] if cell else at for cell, at in zip(cells, found)]
            out[places[i]] = element(self.op, self.kinds, values)
        for register, by in self.saved:
            frame.run.registers[register] += by

    def to_scalar(self, frame, cells, found):
        """The last result, or all elements folded."""
        place = self.to.place(frame)
        if cells[-1] is None:
            result = element(self.op, self.kinds, found)
        elif len(found) == 1:
            result = element(self.op, self.kinds, [cells[0][found[0][-1]]])
        else:
            result = found[0]
            for at in found[1]:
                result = element(self.op, self.kinds, [result, cells[1][at]])
        place.set(self.to.type.decode(result))


@dataclass(eq=False)
class Push(Node):
    """Elements into the FIFO of the function."""
    name: str
    kind: str
    vector: Vector

    def text(self):
        return f"_ = @{MOVES[self.kind]}({self.name}, {self.vector.text()});"

    def run(self, frame):
        cell = frame.cell(f"{self.vector.prefix}_{self.kind}")[0]
        held = frame.run.registers.setdefault(self.name, [])
        held += [cell[i] for i in self.vector.indices(frame)]
        assert len(held) <= CAPACITY


@dataclass(eq=False)
class Pop(Node):
    """Elements out of it, with a scalar added or as they are."""
    name: str
    kinds: dict
    op: Op
    scalar: Expr                  # or None
    vector: Vector

    def text(self):
        scalar = f"{self.scalar.text()}, " if self.scalar else ""
        return f"_ = @{self.op.name}({self.vector.text()}, {scalar}{self.name});"

    def run(self, frame):
        cell = frame.cell(f"{self.vector.prefix}_{self.vector.walk.array}")[0]
        held = frame.run.registers[self.name]
        first = [self.scalar.type.encode(self.scalar.value(frame))] if self.scalar else []
        for i in self.vector.indices(frame):
            cell[i] = element(self.op, self.kinds, first + [held.pop(0)])


@dataclass(eq=False)
class Map(Node):
    """@map: a function of the elements."""
    function: Function
    kind: object
    to: Vector
    sources: list
    length: int

    def text(self):
        return f"@map({self.function.name}, {', '.join(s.text() for s in self.sources)}, " \
               f"{self.to.text()});"

    def run(self, frame):
        out, places = frame.cell(f"{self.to.prefix}_{self.to.walk.array}")[0], \
            self.to.indices(frame)
        cells = [frame.cell(f"{s.prefix}_{s.walk.array}")[0] if isinstance(s, Vector) else None
                 for s in self.sources]
        found = [s.indices(frame) if isinstance(s, Vector) else s.value(frame)
                 for s in self.sources]
        for i in range(self.length):
            values = [cell[at[i]] if cell else at for cell, at in zip(cells, found)]
            out[places[i]] = self.function.call(frame.run, values, None)


# ---- the generator -------------------------------------------------------------------------------


def split(rng, length, dims):
    parts = []
    for _ in range(dims - 1):
        parts.append(rng.choice([d for d in range(1, length + 1) if length % d == 0]))
        length //= parts[-1]
    return tuple(parts + [length])


def some_walk(rng, kind, length, by=0, flat=0.65):
    """flat: the share of those with one dimension."""
    while True:
        dims = 1 if rng.random() < flat else rng.randrange(2, 5)
        weights = tuple(rng.choice((1, 1, 1, 2, 3, -1, -2, 0, 4)) for _ in range(dims))
        walk = Walk(kind, rng.randrange(SIZE), split(rng, length, dims), weights)
        if walk.fits(by):
            return walk


class ElementMaker(Maker):
    """Makes a function from scalars of the element types to one."""

    def function_of(self, kinds, result):
        for i, kind in enumerate(kinds):
            self.bind(f"p{i}", kind, False, False)
        self.palette = [U16, I16, F32, self.types.half, BOOL]
        return Function(self.name, [(f"p{i}", k) for i, k in enumerate(kinds)], result, [],
                        self.coerced(result, 2))


class VectorMaker(Maker):
    """Makes a function of operations over descriptors."""

    def __init__(self, rng, name, types):
        super().__init__(rng, name, types, [], True)
        self.kinds = {"w": U16, "h": types.half, "s": F32}
        self.loads = []
        self.queued = 0

    def function(self):
        rng = self.rng
        params = [("p0", U16), ("p1", self.types.half), ("p2", F32), ("p3", I16)]
        for name, kind in params:
            self.bind(name, kind, False, False)
        for letter, kind in self.kinds.items():
            self.globals.append((f"{self.name}_{letter}", array(kind, SIZE),
                                 [choose.value(rng, kind, rng.random() < 0.6)
                                  for _ in range(SIZE)]))
        self.palette = [U16, I16, U32, F32, self.types.half]
        self.fifo_kind = rng.choice("whs")
        self.fifo = f"{self.name}_fifo"
        self.result = U16
        body = []
        for _ in range(rng.randrange(2, 6)):
            made = rng.choice((self.operation, self.operation, self.operation, self.scalar,
                               self.loop, self.saved, self.queue, self.map))()
            body += made
        while self.queued:
            body += self.pop(self.queued)
        prelude = [f"var {self.fifo}_buffer = @zeros([{CAPACITY}]{self.kinds[self.fifo_kind]});",
                   f"const {self.fifo} = @allocate_fifo({self.fifo}_buffer);"]
        used = any(isinstance(s, Push) for s in body)
        return Function(self.name, params, U16, body, Name(U16, "p0"), run_time=True,
                        globals=self.globals, cost=MOST_LENGTH * 4,
                        prelude=prelude if used else [])

    def vector(self, kind, length, role, by=0, turn=None):
        """An operand; what must be loaded first goes to self.loads."""
        rng = self.rng
        walk = some_walk(rng, kind, length, by * 4)
        form = rng.choice(("access", "access", "fields", "mutated", "dsr"))
        # Few registers can hold descriptors of several dimensions.
        if form == "dsr" and not by and len(walk.lengths) == 1:
            register = {"dest": ("dsr_dest", 1), "first": ("dsr_src0", 2),
                        "last": ("dsr_src1", 3)}[role]
            found = Vector(walk, self.name, "dsr", register)
            self.loads.append(Load(found, False))
            return found
        return Vector(walk, self.name, form, None, by, turn)

    def value(self, kind):
        """A scalar operand."""
        kind = self.kinds[kind]
        return self.literal(kind, False) if self.rng.random() < 0.3 else self.operand(kind)

    def operands(self, op, form, length, step=lambda: 0, turn=None):
        vectors = form.count("D")
        found = []
        for at, letter in enumerate(form):
            kind = op.first if at == 0 else op.other
            if letter == "s":
                found.append(self.value(kind))
            else:
                role = "last" if vectors == 1 or at == 1 else "first"
                found.append(self.vector(kind, length, role, step(), turn))
        return found

    def some_op(self):
        return self.rng.choice(OPS)

    def operation(self):
        rng = self.rng
        op = self.some_op()
        form, length = rng.choice(op.forms), rng.randrange(1, MOST_LENGTH + 1)
        self.loads = []
        sources = self.operands(op, form, length)
        to = self.vector(op.dest, length, "dest")
        return self.loads + [Operation(op, self.kinds, to, sources, length)]

    def scalar(self):
        """A scalar destination: the last element of a move, or a fold."""
        rng = self.rng
        op = rng.choice([o for o in OPS if o.fold or "mov" in o.name])
        form = "sD" if op.fold else "D"
        length = rng.randrange(1, MOST_LENGTH + 1)
        name, kind = self.fresh(), self.kinds[op.dest]
        self.loads = []
        sources = self.operands(op, form, length)
        start = self.operand(kind)
        self.bind(name, kind, True)
        return [Declare(name, kind, start)] + self.loads + \
            [Operation(op, self.kinds, Name(kind, name), sources, length)]

    def map(self):
        rng, length = self.rng, self.rng.randrange(1, MOST_LENGTH + 1)
        letters = ["w"] + [rng.choice("whs") for _ in range(rng.randrange(2))]
        to = rng.choice("whs")
        maker = ElementMaker(rng, f"{self.name}_e{len(self.helpers)}", self.types, [])
        made = maker.function_of([self.kinds[k] for k in letters], self.kinds[to])
        self.helpers.append(made)
        # Each operand of several dimensions takes one of five registers of the program.
        walks = [some_walk(rng, k, length, flat=0.95) for k in letters + [to]]
        sources = [Vector(walk, self.name, "access") for walk in walks[:-1]]
        if len(letters) > 1 and rng.random() < 0.3:
            sources[1] = self.value(letters[1])
        target = Vector(walks[-1], self.name, rng.choice(("access", "fields")))
        return [Map(made, self.kinds[to], target, sources, length)]

    def loop(self):
        """Operations whose descriptors each turn finds further on."""
        rng = self.rng
        op = rng.choice(OPS)
        form, length = rng.choice(op.forms), rng.randrange(1, 5)
        turn, turns = self.fresh("t"), rng.randrange(1, 5)
        self.loads = []
        step = lambda: rng.choice((0, 1, 2, -1, length))                      # noqa: E731
        sources = self.operands(op, form, length, step, turn)
        to = self.vector(op.dest, length, "dest", step(), turn)
        bounds = [Literal(U16, n, True) for n in (0, turns, 1)]
        return [ForRange(None, self.loads + [Operation(op, self.kinds, to, sources, length)], U16,
                         *bounds, turn)]

    def saved(self):
        """Registers that walk on by themselves, in a loop."""
        rng = self.rng
        op = rng.choice([o for o in OPS if "D" in o.forms])
        length, turns = rng.randrange(1, 5), rng.randrange(1, 4)
        loads, vectors, saved = [], [], []
        for kind, register in ((op.dest, ("dsr_dest", 1)), (op.first, ("dsr_src1", 3))):
            while True:
                walk = Walk(kind, rng.randrange(SIZE), (length,), (rng.choice((1, 1, 2, -1, 3)),))
                if walk.fits(length * walk.weights[0] * (turns - 1)):
                    break
            vectors.append(Vector(walk, self.name, "dsr", register))
            loads.append(Load(vectors[-1], True))
            saved.append((register, length * walk.weights[0]))
        operation = Operation(op, self.kinds, vectors[0], vectors[1:], length, tuple(saved))
        bounds = [Literal(U16, n, True) for n in (0, turns, 1)]
        return loads + [ForRange(None, [operation], U16, *bounds, self.fresh("t"))]

    def queue(self):
        """Into the FIFO as much as there is room for, or out of it as much as is there."""
        rng = self.rng
        if self.queued and rng.random() < 0.5:
            return self.pop(rng.randrange(1, self.queued + 1))
        length = rng.randrange(1, MOST_LENGTH + 1)
        if self.queued + length > CAPACITY:
            return self.pop(self.queued)
        self.queued += length
        walk = some_walk(rng, self.fifo_kind, length)
        return [Push(self.fifo, self.fifo_kind, Vector(walk, self.name, "access"))]

    def pop(self, length):
        rng, kind = self.rng, self.fifo_kind
        length = min(length, MOST_LENGTH)
        self.queued -= length
        found = [o for o in OPS if o.dest == o.first == o.other == kind and "sD" in o.forms]
        op, scalar = rng.choice(found), self.value(kind)
        if rng.random() < 0.5:
            op, scalar = next(o for o in OPS if o.name == MOVES[kind]), None
        walk = some_walk(rng, kind, length)
        return [Pop(self.fifo, self.kinds, op, scalar, Vector(walk, self.name, "access"))]
