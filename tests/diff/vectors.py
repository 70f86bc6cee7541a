"""Random programs of DSD operations and what numpy says they do.

    program = Program(random.Random(seed))
    program.text()        the source; exports the arrays h, s and w and the scalars that follow
    program.result()      {array: numpy array}, bit patterns

The three arrays hold f16, f32 and u16.  Each step is one operation on random descriptors: memory of
one to four dimensions, made at compile time or at run time, changed by mutators, in explicit DSRs,
or in a loop that moves them; or scalars and pointers where the operation takes them.  Elements are
computed in order, so operands may overlap.
"""
import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy

SIZE = 96                     # elements of each array
STEPS = 10
DTYPE = {"h": numpy.float16, "s": numpy.float32, "w": numpy.uint16}
BITS = {"h": numpy.uint16, "s": numpy.uint32, "w": numpy.uint16}
CSL = {"h": "f16", "s": "f32", "w": "u16"}
NAN = {"h": 0x7e00, "s": 0x7fc00000}
MOST_LENGTH = 12

# ---- arithmetic of one element -------------------------------------------------------------------


def rounded(kind, x):
    """The float nearest to a fraction, ties to even: one rounding, whatever the sizes."""
    fraction, lowest, highest = (10, -14, 15) if kind == "h" else (23, -126, 127)
    if x == 0:
        return DTYPE[kind](0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, lowest) - fraction)
    value = round(x / unit) * unit
    if abs(value) >= Fraction(2) ** (highest + 1):
        return DTYPE[kind](numpy.inf if x > 0 else -numpy.inf)
    return DTYPE[kind](float(value))


def fused(kind, a, b, c):
    """a + b * c with one rounding."""
    if all(numpy.isfinite(v) for v in (a, b, c)):
        exact = Fraction(float(a)) + Fraction(float(b)) * Fraction(float(c))
        if exact:
            return rounded(kind, exact)
    return DTYPE[kind](float(a) + float(b) * float(c))


def larger(a, b):
    if numpy.isnan(a) or numpy.isnan(b):
        return type(a)(numpy.nan)
    if a == b:
        return b if numpy.signbit(a) else a
    return max(a, b)


def to_int(v):
    return 0 if not numpy.isfinite(v) else int(v) & 0xffff


def signed(v):
    return int(v) - (int(v) >> 15 << 16)


def normalised(v):
    if v == 0 or not numpy.isfinite(v):
        return v
    return type(v)(numpy.copysign(numpy.frexp(abs(v))[0] * 2, v))


def scaled(v, n):
    if v == 0 or not numpy.isfinite(v):
        return v
    kind = "h" if isinstance(v, numpy.float16) else "s"
    return rounded(kind, Fraction(float(v)) * 2 ** Fraction(n))


def words(function):
    """A function of integers as one of u16."""
    return lambda *values: numpy.uint16(function(*(int(v) for v in values)) & 0xffff)


ARITHMETIC = {
    "add16": words(lambda a, b: a + b), "sub16": words(lambda a, b: a - b),
    "and16": words(lambda a, b: a & b), "or16": words(lambda a, b: a | b),
    "xor16": words(lambda a, b: a ^ b),
    "sll16": words(lambda a, b: a << b if b < 16 else 0),
    "slr16": words(lambda a, b: a >> b if b < 16 else 0),
    "sar16": words(lambda a, b: signed(a) >> min(b, 15)),
    "clz": words(lambda a: 16 - a.bit_length()),
    "ctz": words(lambda a: (a & -a).bit_length() - 1 if a else 16),
    "popcnt": words(lambda a: bin(a).count("1")),
    "mov16": lambda a: a, "mov32": lambda a: a, "fmovh": lambda a: a, "fmovs": lambda a: a,
    **{f"fadd{k}": lambda a, b: a + b for k in "hs"},
    **{f"fsub{k}": lambda a, b: a - b for k in "hs"},
    **{f"fmul{k}": lambda a, b: a * b for k in "hs"}, **{f"fmax{k}": larger for k in "hs"},
    "faddhs": lambda a, b: numpy.float32(a) + numpy.float32(b),
    "fmach": lambda a, b, c: fused("h", a, b, c), "fmacs": lambda a, b, c: fused("s", a, b, c),
    "fmachs": lambda a, b, c: fused("s", a, b, c),
    **{f"fneg{k}": lambda a: -a for k in "hs"}, **{f"fabs{k}": abs for k in "hs"},
    "fs2h": numpy.float16, "fh2s": numpy.float32,
    "fh2xp16": lambda a: numpy.uint16(to_int(a)), "fs2xp16": lambda a: numpy.uint16(to_int(a)),
    "xp162fh": lambda a: rounded("h", Fraction(signed(a))),
    "xp162fs": lambda a: numpy.float32(signed(a)),
    **{f"fnorm{k}": normalised for k in "hs"}, **{f"fscale{k}": scaled for k in "hs"},
}


@dataclass(frozen=True)
class Op:
    name: str
    shape: str                # as in frontend/dsd_ops.def
    pointer: str
    dest: str                 # arrays of the destination, the first source and the others
    first: str
    other: str


def _op(name, shape, pointer, dest, first, other=None):
    return Op(name, shape, pointer, dest, first, other or first)


# The definition of each operation.
OPS = (
    *(_op(n, "BINARY", "NEVER", "w", "w")
      for n in ("add16", "addc16", "and16", "or16", "xor16", "sll16", "slr16", "sar16")),
    _op("sub16", "SUB", "NEVER", "w", "w"),
    *(_op(n, "UNARY", "NEVER", "w", "w") for n in ("clz", "ctz", "popcnt")),
    _op("mov16", "UNARY", "VECTOR", "w", "w"), _op("mov32", "UNARY", "VECTOR", "s", "s"),
    _op("fmovh", "UNARY", "VECTOR", "h", "h"), _op("fmovs", "UNARY", "VECTOR", "s", "s"),
    *(_op(f"f{n}{k}", "BINARY", "FOLD", k, k) for n in ("add", "sub", "mul", "max") for k in "hs"),
    _op("faddhs", "BINARY", "FOLD", "s", "h"),
    _op("fmach", "FMA", "NEVER", "h", "h"), _op("fmacs", "FMA", "NEVER", "s", "s"),
    _op("fmachs", "FMA", "NEVER", "s", "s", "h"),
    *(_op(f"f{n}{k}", "UNARY", "NEVER", k, k) for n in ("neg", "abs") for k in "hs"),
    _op("fs2h", "UNARY", "NEVER", "h", "s"), _op("fh2s", "UNARY", "NEVER", "s", "h"),
    _op("fh2xp16", "UNARY", "SCALAR", "w", "h"), _op("fs2xp16", "UNARY", "SCALAR", "w", "s"),
    _op("xp162fh", "UNARY", "NEVER", "h", "w"), _op("xp162fs", "UNARY", "NEVER", "s", "w"),
    *(_op(f"fnorm{k}", "NORM", "ALWAYS", k, k) for k in "hs"),
    *(_op(f"fscale{k}", "SCALE", "ALWAYS", k, k, "w") for k in "hs"),
)
FORMS = {"BINARY": ("DD", "sD", "Ds"), "SUB": ("DD", "Ds"), "UNARY": ("D", "s"), "FMA": ("DDs",),
         "NORM": ("s",), "SCALE": ("ss",)}


# ---- descriptors ---------------------------------------------------------------------------------


@dataclass
class Walk:
    """Elements of an array in the order in which a descriptor visits them."""
    array: str
    start: int
    lengths: tuple            # outermost first
    weights: tuple            # elements that each dimension moves by
    said: int = 0             # the length in the source where it is not that of the operation

    def indices(self):
        return [self.start + sum(i * w for i, w in zip(at, self.weights))
                for at in itertools.product(*(range(n) for n in self.lengths))]

    def low(self):
        return self.start + sum(min(0, (n - 1) * w) for n, w in zip(self.lengths, self.weights))

    def high(self):
        return self.start + sum(max(0, (n - 1) * w) for n, w in zip(self.lengths, self.weights))

    def fits(self, by=0):
        return self.low() + min(by, 0) >= 0 and self.high() + max(by, 0) < SIZE

    def access(self):
        """The descriptor, for compile time."""
        names = "ijkl"[:len(self.lengths)]
        sums = " + ".join([str(self.start)] + [f"({w}) * {n}" for n, w in zip(names, self.weights)])
        kind = "mem1d_dsd" if len(names) == 1 else "mem4d_dsd"
        extents = ", ".join(map(str, [self.said] if self.said else self.lengths))
        return (f"@get_dsd({kind}, .{{ .tensor_access = |{', '.join(names)}|{{{extents}}} -> "
                f"{self.array}[{sums}] }})")


def split(rng, length, dims):
    """Extents of so many dimensions with that product, or None."""
    parts = []
    for _ in range(dims - 1):
        part = rng.choice([d for d in range(1, length + 1) if length % d == 0])
        parts.append(part)
        length //= part
    return tuple(parts + [length])


def random_walk(rng, array, length, by=0):
    """by: elements that it will be moved by."""
    while True:
        dims = 1 if rng.random() < 0.6 else rng.randrange(2, 5)
        weights = tuple(rng.choice((1, 1, 2, 3, -1, -2, 0, 4, 7, 8)) for _ in range(dims))
        walk = Walk(array, rng.randrange(SIZE), split(rng, length, dims), weights)
        if walk.fits(by):
            return walk


class Program:
    """Steps, one function each.  counts[op]: how often each operation was chosen."""

    def __init__(self, rng, ops=OPS, steps=STEPS):
        self.rng, self.lines, self.globals, self.steps = rng, [], [], []
        self.values = {k: self.initial(k) for k in "hsw"}
        self.start = {k: v.copy() for k, v in self.values.items()}
        self.counts = {}
        self.fresh = itertools.count()
        for i in range(steps):
            op = rng.choice(ops)
            self.counts[op.name] = self.counts.get(op.name, 0) + 1
            self.lines = []
            with numpy.errstate(all="ignore"):
                self.step(op)
            self.steps.append(f"fn step{i}() void {{ // {op.name}\n  " + "\n  ".join(self.lines) +
                              "\n}")

    def initial(self, kind):
        rng = self.rng
        if kind == "w":
            return numpy.array([rng.choice((rng.randrange(20), rng.getrandbits(16)))
                                for _ in range(SIZE)], dtype=numpy.uint16)
        return numpy.array([rng.choice((rng.randrange(-8, 9) / 4, rng.uniform(-3, 3)))
                            for _ in range(SIZE)], dtype=DTYPE[kind])

    # ---- operands --------------------------------------------------------------------------------

    def name(self, stem):
        return f"{stem}{next(self.fresh)}"

    def run_time(self, value, kind):
        """An expression whose value the compiler does not know."""
        name = self.name("g")
        self.globals.append(f"var {name}: {kind} = {value};")
        return name

    def number(self, value, kind):
        return str(value) if self.rng.random() < 0.5 else self.run_time(value, kind)

    def scalar(self, array, value):
        bits = int(numpy.array([value], DTYPE[array]).view(BITS[array])[0])
        if array == "w":
            return self.run_time(bits, "u16")
        name = self.name("g")
        width = 16 if array == "h" else 32
        self.globals.append(f"var {name}: u{width} = {bits};")
        return f"@bitcast({CSL[array]}, {name})"

    def descriptor(self, walk):
        """An expression for it: made at compile time, at run time, or by mutators."""
        rng = self.rng
        form = rng.choice(("access", "access", "fields", "mutated"))
        element = CSL[walk.array]
        if form == "access":
            name = self.name("c")
            self.globals.append(f"const {name} = {walk.access()};")
            return name
        if len(walk.lengths) > 1:
            by = rng.randrange(-3, 4)
            other = Walk(walk.array, walk.start - by, walk.lengths, walk.weights)
            if not other.fits():
                return walk.access()
            return f"@increment_dsd_offset({other.access()}, {self.number(by, 'i16')}, {element})"
        length, (stride,) = walk.said or walk.lengths[0], walk.weights
        if form == "fields":
            return (f"@get_dsd(mem1d_dsd, .{{ .base_address = &{walk.array}, "
                    f".extent = {self.number(length, 'u16')}, "
                    f".stride = {self.number(stride, 'i8')}, "
                    f".offset = {self.number(walk.start, 'i16')} }})")
        name = self.name("c")
        wrong = Walk(walk.array, 0, (rng.randrange(1, 9),), (1,))
        self.globals.append(f"const {name} = {wrong.access()};")
        changes = [f"@set_dsd_length(X, {self.number(length, 'u16')})",
                   f"@set_dsd_stride(X, {self.number(stride, 'i8')})",
                   f"@increment_dsd_offset(X, {self.number(walk.start, 'i16')}, {element})"]
        if rng.random() < 0.5:
            changes[2] = (f"@increment_dsd_offset(@set_dsd_base_addr(X, &{walk.array}), "
                          f"{self.number(walk.start, 'i16')}, {element})")
        rng.shuffle(changes)
        text = name
        for change in changes:
            text = change.replace("X", text)
        return text

    def vector(self, walk, role):
        """As an operand: a descriptor, or an explicit DSR with it."""
        text = self.descriptor(walk)
        if self.rng.random() < 0.3:
            file, number = {"dest": ("dsr_dest", 1), "first": ("dsr_src0", 2),
                            "last": ("dsr_src1", 3)}[role]
            self.lines.append(f"@load_to_dsr(@get_dsr({file}, {number}), {text});")
            return f"@get_dsr({file}, {number})"
        if self.rng.random() < 0.3:
            name = self.name("d")
            self.lines.append(f"const {name} = {text};")
            return name
        return text

    # ---- steps -----------------------------------------------------------------------------------

    def step(self, op):
        form = self.rng.choice(FORMS[op.shape])
        pointer = {"NEVER": False, "ALWAYS": True, "FOLD": form == "sD", "VECTOR": form == "D",
                   "SCALAR": form == "s"}[op.pointer]
        if op.pointer in ("FOLD", "VECTOR", "SCALAR"):
            pointer = pointer and self.rng.random() < 0.5
        arrays = [op.first, op.other, op.other][:len(form)]
        if op.name == "faddhs" and pointer:
            arrays[0] = "s"
        if op.name == "addc16":
            return self.with_carry(op, form)
        if not pointer and "D" in form and self.rng.random() < 0.3:
            return self.loop(op, form, arrays)
        length = self.rng.randrange(1, MOST_LENGTH + 1)
        operands, walks, values = self.sources(op, form, arrays, length)
        if pointer:
            return self.to_pointer(op, operands, walks, values)
        dest = self.dest_walk(op, length)
        if any(walks):
            self.vary_length(dest)
        operands.insert(0, self.vector(dest, "dest"))
        self.lines.append(f"@{op.name}({', '.join(operands)});")
        return self.compute(op, dest, walks, values)

    def dest_walk(self, op, length):
        return random_walk(self.rng, op.dest, length)

    def vary_length(self, walk):
        """The first source says how long the operation is, whatever the others say."""
        if len(walk.lengths) == 1 and self.rng.random() < 0.2:
            walk.said = self.rng.randrange(1, 9)

    def sources(self, op, form, arrays, length):
        """Texts of the operands behind the destination; by source its walk or value."""
        operands, walks, values = [], [], []
        n_vectors = form.count("D")
        for at, (kind, array) in enumerate(zip(form, arrays)):
            if kind == "D":
                walk = random_walk(self.rng, array, length)
                if any(walks):
                    self.vary_length(walk)
                role = "last" if n_vectors == 1 or at == 1 else "first"
                operands.append(self.vector(walk, role))
                walks.append(walk)
                values.append(None)
            else:
                value = self.values[array][self.rng.randrange(SIZE)]
                if op.shape == "SCALE" and at == 1:
                    value = numpy.uint16(self.rng.randrange(-6, 7) & 0xffff)
                operands.append(self.scalar(array, value))
                if op.shape == "SCALE" and at == 1:
                    operands[-1] = f"@bitcast(i16, {operands[-1]})"
                    value = signed(value)
                walks.append(None)
                values.append(value)
        return operands, walks, values

    def store(self, array, index, value):
        value = numpy.array([value], DTYPE[array])
        if array != "w" and numpy.isnan(value[0]):
            value = numpy.array([NAN[array]], BITS[array]).view(DTYPE[array])
        self.values[array][index] = value[0]

    def compute(self, op, dest, walks, values, carry=None):
        to = dest.indices()
        length = max(len(w.indices()) for w in walks if w) if any(walks) else len(to)
        found = [w and w.indices() for w in walks]
        for i in range(length):
            args = [self.values[w.array][at[i]] if w else v
                    for w, at, v in zip(walks, found, values)]
            if carry is None:
                self.store(dest.array, to[i], ARITHMETIC[op.name](*args))
            else:
                total = int(args[0]) + int(args[1]) + carry
                carry = total >> 16
                self.store(dest.array, to[i], numpy.uint16(total & 0xffff))

    def to_pointer(self, op, operands, walks, values):
        """A scalar receives what is folded, or the last result; it goes to an element."""
        to, name = self.rng.randrange(SIZE), self.name("r")
        kind = "i16" if op.name.endswith("xp16") else CSL[op.dest]
        start = "0" if op.dest == "w" else "0.0"
        self.lines.append(f"var {name}: {kind} = {start};")
        self.lines.append(f"@{op.name}(&{name}, {', '.join(operands)});")
        self.lines.append(f"{op.dest}[{to}] = "
                          f"{f'@bitcast(u16, {name})' if kind == 'i16' else name};")
        if op.pointer == "FOLD":
            result = DTYPE[op.dest](values[0])
            for i in walks[1].indices():
                result = DTYPE[op.dest](ARITHMETIC[op.name](result,
                                                            self.values[walks[1].array][i]))
        elif walks[0]:
            result = self.values[walks[0].array][walks[0].indices()[-1]]
        else:
            result = ARITHMETIC[op.name](*values)
        self.store(op.dest, to, result)

    def with_carry(self, op, form):
        """What an addition of vectors leaves is the carry of the next, whatever scalar code does in
        between."""
        length = self.rng.randrange(1, MOST_LENGTH + 1)
        texts, walks, values = [], [], []
        for kind in form:
            walk = random_walk(self.rng, "w", length) if kind == "D" else None
            value = None if walk else self.values["w"][self.rng.randrange(SIZE)]
            texts.append(self.constant(walk) if walk else f"@as(u16, {value})")
            walks.append(walk)
            values.append(value)
        dest = self.dest_walk(op, length)
        to = self.constant(dest)
        clear = self.constant(Walk("none", 0, (1,), (1,)))
        carry = self.rng.randrange(2)
        self.lines.append(f"@add16({clear}, {clear}, @as(u16, {0xffff if carry else 0}));")
        self.lines.append(f"@add16({clear}, {clear}, @as(u16, {carry}));")
        scalar = self.name("k")
        self.globals.append(f"var {scalar}: u16 = {self.rng.randrange(2 ** 16)};")
        self.lines.append(f"{scalar} += {scalar};")
        self.lines.append(f"@{op.name}({to}, {', '.join(texts)});")
        self.compute(op, dest, walks, values, carry=carry)

    def constant(self, walk):
        name = self.name("c")
        self.globals.append(f"const {name} = {walk.access()};")
        return name

    def moved(self, walk, step, turns):
        """A descriptor that each turn finds a step further: its text and what the turn does."""
        name = self.name("m")
        by, element = self.number(step, "i16"), CSL[walk.array]
        if self.rng.random() < 0.4:
            self.lines.append(f"const {name} = {self.descriptor(walk)};")
            return f"@increment_dsd_offset({name}, @as(i16, t) * {by}, {element})", None
        self.lines.append(f"var {name} = {self.descriptor(walk)};")
        return name, f"{name} = @increment_dsd_offset({name}, {by}, {element});" if step else None

    def loop(self, op, form, arrays):
        """The operation in a loop; descriptors move along each turn, or grow with it."""
        length, turns = self.rng.randrange(1, 7), self.rng.randrange(1, 5)
        names, walks, values, steps, moves = [], [], [], [], []
        for kind, array in zip("D" + form, [op.dest] + arrays):
            step, walk, value, move = 0, None, None, None
            if kind == "D":
                step = self.rng.choice((0, 1, 2, -1, length))
                walk = random_walk(self.rng, array, length, step * turns)
                name, move = self.moved(walk, step, turns)
            else:
                value = self.values[array][self.rng.randrange(SIZE)]
                name = self.scalar(array, value)
            names.append(name)
            walks.append(walk)
            values.append(value)
            steps.append(step)
            moves += [move] if move else []
        grows = self.rng.random() < 0.3 and all(not w or len(w.lengths) == 1 for w in walks)
        if grows:
            length = turns = min(length, turns)
            first = next((i for i, w in enumerate(walks[1:], 1) if w), 0)
            names[first] = f"@set_dsd_length({names[first]}, t + 1)"
        count = self.run_time(turns, "u16")
        self.lines.append(f"for (@range(u16, {count})) |t| {{")
        self.lines.append(f"  @{op.name}({', '.join(names)});")
        self.lines += [f"  {move}" for move in moves] + ["}"]
        if "@" not in "".join(n for n, w in zip(names, walks) if w) and self.rng.random() < 0.4:
            self.lines.append(f"@{op.name}({', '.join(names)});")     # behind the loop, too
            turns += 1
        for turn in range(turns):
            now = [w and Walk(w.array, w.start + turn * step,
                              (turn + 1,) if grows else w.lengths, w.weights)
                   for w, step in zip(walks, steps)]
            self.compute(op, now[0], now[1:], values[1:])

    # ---- the whole -------------------------------------------------------------------------------

    def array_text(self, kind):
        bits = self.start[kind].view(BITS[kind])
        if kind == "w":
            elements = ", ".join(map(str, bits))
        else:
            width = 16 if kind == "h" else 32
            elements = ", ".join(f"@bitcast({CSL[kind]}, @as(u{width}, {b}))" for b in bits)
        return f"var {kind} = [{SIZE}]{CSL[kind]}{{ {elements} }};"

    def text(self):
        lines = [self.array_text(k) for k in "hsw"] + ["var none = @zeros([1]u16);"]
        lines += self.globals + self.steps + ["task main() void {"]
        lines += [f"  step{i}();" for i in range(len(self.steps))]
        lines += ["}", "comptime {", "  @bind_local_task(main, @get_local_task_id(8));",
                  "  @activate(@get_local_task_id(8));"]
        lines += [f"  @export_symbol({k});" for k in "hsw"] + ["}"]
        return "\n".join(lines) + "\n"

    def result(self):
        return {k: v.view(BITS[k]) for k, v in self.values.items()}
