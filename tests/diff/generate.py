"""Random well-typed CSL functions, for differential testing.

    program = Program(random.Random(seed), functions=40)
    program.text(skip=set())      the source; calls in skip are not evaluated at compile time

Every function takes scalars and gives one scalar.  A program calls each with several sets of
arguments, once in code (exported array `got`, one u64 a call with the result's bits) and once in
the initialiser of the exported array `want`.  A function is one line of the source, and so is a
call in `want`: a diagnostic's line says which.

Operations that are errors at compile time where they wrap at run time (overflow, a cast that
loses bits) are rare: most operands are masked so that the result fits.
"""

INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
        "i5", "u7", "u12", "i13", "i24", "u27", "i40", "u33")
FLOATS = ("f16", "f32")
SCALARS = INTS + FLOATS + ("bool",)
CALLS = 3                     # sets of arguments per function
VALUES = 5                    # values to choose arguments from, a type
TILES = 2
UNSAFE = 0.03                 # share of operations that may be errors at compile time
ZERO_DIVISORS = 0.1           # share of divisors that may be zero, an error at compile time
ROWS_OF_LOOPS = 0.25          # share of functions that are short loops in a row
STRAIGHT = 0.7                # share of the bodies of those without a branch
WALKS = 0.03                  # share of functions that call themselves in a loop over descriptors

# What functions call besides one another: generics by value, by type and by anytype; pointers.
HELPERS = """\
fn near16(x: f16) f16 { return if (x >= 0.0 and x < 15.0) x else 2.75; }
fn near32(x: f32) f32 { return if (x >= 0.0 and x < 15.0) x else 2.75; }
fn pick(comptime T: type, c: bool, a: T, b: T) T { if (c) { return a; } return b; }
fn larger(a: anytype, b: @type_of(a)) @type_of(a) { return if (a < b) b else a; }
fn rotate(comptime k: u16, v: u32) u32 { return (v << k) | (v >> (32 - k)); }
fn folded(comptime n: u16, v: [n]u16) u16 {
  var t: u16 = n; for (v) |e, k| { t = (t << 1) ^ e ^ k; } return t; }
fn swap(comptime T: type, a: *T, b: *T) void { const t = a.*; a.* = b.*; b.* = t; }
fn mixed(p: *u32, v: u16) u16 { p.* ^= @as(u32, v) << 5; return @as(u16, p.* & 0xffff); }
inline fn low(v: u32) u16 { return @as(u16, v & 0x7fff); }
fn halved(x: i32) i32 { return x >> 1; }
fn inverted(x: i32) i32 { return ~x; }
fn through(f: *const fn(i32) i32, x: i32) i32 { return f(x); }
const Pair = struct { a: i16, b: u32, c: f32, d: bool };
fn turned(p: Pair, by: u16) Pair {
  return .{ .a = ~p.a, .b = (p.b << 3) ^ by, .c = -p.c, .d = !p.d }; }
var walked = @zeros([32]u16);
""".replace("\n  ", " ")


def bits(kind):
    return 1 if kind == "bool" else int(kind[1:])


def wrap(kind, value):
    value &= (1 << bits(kind)) - 1
    return value - (1 << bits(kind)) if kind[0] == "i" and value >> (bits(kind) - 1) else value


def literal(kind, value):
    """value: for floats the bits."""
    if kind == "bool":
        return "true" if value else "false"
    if kind in FLOATS:
        return f"@bitcast({kind}, @as(u{bits(kind)}, {value}))"
    return f"@as({kind}, {value})"


def raw(kind, text):
    """The bits of a value as u64."""
    return f"@as(u64, {text if kind == 'bool' else f'@bitcast(u{bits(kind)}, {text})'})"


FLOAT_BITS = {
    "f16": (0, 0x8000, 0x3c00, 0xbc00, 0x4248, 0x3555, 0x7c00, 0x0001, 0x7bff, 0x7e01, 0xc900),
    "f32": (0, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x3eaaaaab, 0x7f800000, 1,
            0x7f7fffff, 0x7fc00001, 0xc1200000, 0x4f000000),
}


def random_value(rng, kind):
    if kind in FLOATS:
        if rng.random() < 0.3:
            return rng.choice(FLOAT_BITS[kind])
        if rng.random() < 0.2:
            return rng.getrandbits(bits(kind))
        # of moderate size: exponent near the bias
        fraction, bias = (10, 15) if kind == "f16" else (23, 127)
        exponent = bias + rng.randrange(-4, 6)
        sign = rng.getrandbits(1) << bits(kind) - 1
        return sign | exponent << fraction | rng.getrandbits(fraction)
    n = bits(kind)
    if rng.random() < 0.4:
        return wrap(kind, rng.randrange(-3, 20))
    if rng.random() < 0.3:
        return wrap(kind, rng.choice([1 << n - 1, (1 << n - 1) - 1, (1 << n) - 1, 1 << n // 2]))
    return wrap(kind, rng.getrandbits(n))


class Walk:
    """A function whose loop runs an operation over a descriptor and calls the function again, for
    another descriptor.  Compile time has no such operations."""
    at_run_time = True
    comptime = None
    params = [("p0", "u16"), ("p1", "u16")]
    result = "u16"
    cost = 40

    def __init__(self, rng, name):
        self.name = name
        length, by = rng.randrange(2, 6), rng.randrange(1, 8)
        turn = [f"if (left > 0) {{ t ^= {name}(left - 1, p1 ^ {rng.randrange(256)}); }}",
                f"{rng.choice(('@add16', '@xor16', '@or16'))}(d, d, p1);"]
        rng.shuffle(turn)
        self.text = (
            f"fn {name}(p0: u16, p1: u16) u16 {{ const left = p0 & 3; var t = p1; "
            f"const all = @get_dsd(mem1d_dsd, "
            f".{{ .tensor_access = |i|{{{length}}} -> walked[i] }}); "
            f"const d = @increment_dsd_offset(all, @as(i16, left * {by}), u16); "
            f"for (@range(u16, {rng.randrange(1, 4)})) |i| {{ {' '.join(turn)} }} "
            f"return folded(32, walked) ^ t; }}")

    def call(self, args):
        return f"{self.name}({', '.join(args)})"


class Function:
    """One function: its parameters and its text, made statement by statement."""
    at_run_time = False

    def __init__(self, rng, name, callees):
        self.rng, self.name, self.callees = rng, name, callees
        self.count = 0
        self.params = [(f"p{i}", rng.choice(SCALARS)) for i in range(rng.randrange(2, 5))]
        self.result = rng.choice(SCALARS)
        self.comptime = rng.randrange(1, 7) if rng.random() < 0.2 else None
        self.cost = 1                  # calls of functions below, with loops
        self.weight = 1                # turns of the loops around
        self.loops = []                # labels around; None for a loop without
        self.consts = list(self.params)
        self.vars, self.arrays, self.pairs, self.pointers = [], [], [], []
        body = self.body()
        self.text = (f"fn {name}({self.signature()}) {self.result} {{ {body} "
                     f"return {self.returned()}; }}")

    def body(self):
        return self.block(self.rng.randrange(2, 7), 2, own=False)

    def returned(self):
        return self.expr(self.result, 2)

    def signature(self):
        first = ["comptime k: u16"] if self.comptime else []
        return ", ".join(first + [f"{n}: {t}" for n, t in self.params])

    def call(self, args):
        first = [str(self.comptime)] if self.comptime else []
        return f"{self.name}({', '.join(first + args)})"

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    # ---- expressions ----------------------------------------------------------------------------

    def names(self, kind):
        found = [n for n, k in self.consts + self.vars if k == kind]
        found += [f"{n}.*" for n, k in self.pointers if k == kind]
        found += [f"{p}.{field}" for p in self.pairs
                  for field, k in (("a", "i16"), ("b", "u32"), ("c", "f32"), ("d", "bool"))
                  if k == kind]
        return found + [self.element(a) for a in self.arrays if a[1] == kind]

    def element(self, array):
        name, _, dims = array
        return f"{name}[{', '.join(self.index(d) for d in dims)}]"

    def index(self, size):
        """size: a power of two."""
        if self.rng.random() < 0.4:
            return str(self.rng.randrange(size))
        found = [(n, k) for n, k in self.consts + self.vars if k in INTS]
        return f"{self.rng.choice(found)[0]} & {size - 1}" if found else "0"

    def operand(self, kind):
        """A leaf that is not known at compile time while code is made, when there is one."""
        found = self.names(kind)
        if found and self.rng.random() < 0.95:
            return self.rng.choice(found)
        if kind in INTS:
            other = [(n, k) for n, k in self.consts + self.vars if k in INTS]
            if other:
                name, from_kind = self.rng.choice(other)
                return self.cast_int(kind, name, from_kind)
        if kind in FLOATS:
            other = [(n, k) for n, k in self.consts + self.vars if k in FLOATS]
            if other:
                return f"@as({kind}, {self.rng.choice(other)[0]})"
        return literal(kind, random_value(self.rng, kind))

    def unsafe(self):
        return self.rng.random() < UNSAFE

    def cast_int(self, kind, text, from_kind):
        most = min(bits(kind) - (kind[0] == "i"), bits(from_kind) - (from_kind[0] == "i"))
        fits = (bits(kind) >= bits(from_kind) if kind[0] == from_kind[0]
                else kind[0] == "i" and bits(kind) > bits(from_kind))
        if fits or self.unsafe():
            return f"@as({kind}, {text})"
        return f"@as({kind}, {text} & {(1 << most) - 1})"

    def expr(self, kind, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.operand(kind)
        if self.rng.random() < 0.25:
            return self.rng.choice((self.chosen, self.switched, self.labelled, self.called,
                                    self.helped))(kind, depth)
        if kind == "bool":
            return self.truth(depth)
        return self.floating(kind, depth) if kind in FLOATS else self.integer(kind, depth)

    def integer(self, kind, depth):
        rng, n = self.rng, bits(kind)
        op = rng.choice(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "~", "-u", "as", "as",
                         "bitcast", "fromfloat", "frombool"))
        if op == "as" and n >= 32 and rng.random() < 0.4:   # two extensions
            signs = ("u", "i") if kind[0] == "i" else ("u", "u")
            inner = f"@as({signs[1]}16, {self.expr(signs[0] + '8', depth - 1)})"
            if n == 64 and rng.random() < 0.5:
                inner = f"@as({signs[1]}32, {self.expr(signs[0] + '16', depth - 1)})"
            return f"@as({kind}, {inner})"
        if op == "as":
            from_kind = rng.choice(INTS)
            return self.cast_int(kind, f"({self.expr(from_kind, depth - 1)})", from_kind)
        if op == "bitcast":
            from_kind = ("u" if kind[0] == "i" else "i") + kind[1:]
            if n in (16, 32) and rng.random() < 0.5:
                from_kind = f"f{n}"
            if from_kind in SCALARS:
                return f"@bitcast({kind}, {self.expr(from_kind, depth - 1)})"
            op = "^"
        if op == "fromfloat":
            from_kind = rng.choice(FLOATS)
            inner = self.expr(from_kind, depth - 1)
            return (f"@as({kind}, {inner})" if self.unsafe()
                    else f"@as({kind}, near{from_kind[1:]}({inner}))")
        if op == "frombool":
            return (f"@as({kind}, {self.expr('bool', depth - 1)})" if kind != "i1" else "0")
        a = f"({self.expr(kind, depth - 1)})"
        if op == "~":
            return f"(~{a})"
        if op in ("<<", ">>"):
            return f"({a} {op} {self.amount(n, depth)})"
        if op == "-u":
            return f"(-{a})" if self.unsafe() else f"(-({a} >> 1))" if kind[0] == "i" else f"(~{a})"
        b = self.expr(kind, depth - 1) if rng.random() < 0.6 else str(
            literal(kind, random_value(rng, kind)))
        return self.combined(kind, op, a, f"({b})")

    def combined(self, kind, op, a, b):
        """a op b, with operands masked so that the result fits."""
        n = bits(kind)
        if op in "&|^" or self.unsafe():
            return f"({a} {op} {b})"
        if op in "/%" and self.rng.random() < 0.5:
            power = 1 << self.rng.randrange(n - 1)
            by = power if self.rng.random() < 0.5 else self.rng.randrange(1, power + 1)
            return f"({a} {op} {literal(kind, by)})"
        if op in "/%":         # by zero: 0, and the dividend remains
            odd = "" if self.rng.random() < ZERO_DIVISORS else " | 1"
            return f"({a} {op} (({b} & {(1 << n - 2) - 1}){odd}))"
        if op == "*":
            low = (1 << (n - (kind[0] == "i")) // 2) - 1
            if self.rng.random() < 0.2:
                return f"(({a} >> {n // 2 + 1}) * {literal(kind, 1 << self.rng.randrange(n // 2))})"
            a = f"({a} >> {n // 2})" if self.rng.random() < 0.5 else f"({a} & {low})"
            return f"({a} * ({b} & {low}))"
        if op == "-" and kind[0] == "u":
            return f"(({a} | {1 << n - 1}) - ({b} >> 1))"
        return f"(({a} >> 1) {op} ({b} >> 1))"

    def amount(self, n, depth):
        """The amount of a shift: below the width, or sometimes beyond it."""
        if self.rng.random() < 0.5:
            return str(self.rng.randrange(n))
        kind = self.rng.choice(("u8", "u16", "u32"))
        by = self.expr(kind, depth - 1)
        return f"(({by}) & {n})" if self.unsafe() else f"(({by}) % {n})"

    def floating(self, kind, depth):
        rng = self.rng
        op = rng.choice("+-*/+-*/nibc")
        if op == "n":
            return f"(-{self.expr(kind, depth - 1)})"
        if op == "i":
            return f"@as({kind}, {self.expr(rng.choice(INTS), depth - 1)})"
        if op == "b":
            return f"@bitcast({kind}, {self.expr(rng.choice('iu') + kind[1:], depth - 1)})"
        if op == "c":
            other = "f16" if kind == "f32" else "f32"
            return f"@as({kind}, {self.expr(other, depth - 1)})"
        b = self.expr(kind, depth - 1) if rng.random() < 0.6 else \
            rng.choice(("1.0", "0.5", "-2.0", "3.0", "0.1", "1024.0"))
        return f"({self.expr(kind, depth - 1)} {op} {b})"

    def truth(self, depth):
        rng = self.rng
        form = rng.randrange(8)
        if form == 0:
            return f"(!{self.expr('bool', depth - 1)})"
        if form <= 2:
            op = rng.choice(("and", "or", "==", "!="))
            return f"({self.expr('bool', depth - 1)} {op} {self.expr('bool', depth - 1)})"
        kind = rng.choice(INTS + FLOATS * 3)
        if form == 3:
            return f"@as(bool, {self.expr(kind, depth - 1)})"
        op = rng.choice(("==", "!=", "<", "<=", ">", ">="))
        right = self.expr(kind, depth - 1) if rng.random() < 0.6 else \
            literal(kind, random_value(rng, kind))
        return f"({self.expr(kind, depth - 1)} {op} {right})"

    def chosen(self, kind, depth):
        return (f"(if ({self.expr('bool', depth - 1)}) {self.operand(kind)} "
                f"else {self.expr(kind, depth - 1)})")

    def switched(self, kind, depth):
        subject = self.rng.choice(("u8", "u16", "i16", "u32", "i32", "u64"))
        labels = self.rng.sample(range(8), 4)
        return (f"(switch (({self.expr(subject, depth - 1)}) & 7) {{ "
                f"{labels[0]} => {self.operand(kind)}, {labels[1]}, {labels[2]} => "
                f"{self.operand(kind)}, else => {self.expr(kind, depth - 1)} }})")

    def labelled(self, kind, depth):
        label = self.fresh()
        return (f"({label}: {{ if ({self.expr('bool', depth - 1)}) {{ break :{label} "
                f"{self.operand(kind)}; }} break :{label} {self.expr(kind, depth - 1)}; }})")

    def called(self, kind, depth):
        found = [f for f in self.callees if f.result == kind and f.cost * self.weight < 60]
        if not found:
            return self.helped(kind, depth)
        callee = self.rng.choice(found)
        self.cost += callee.cost * self.weight
        return callee.call([self.expr(k, 0) for _, k in callee.params])

    def helped(self, kind, depth):
        rng = self.rng
        if kind == "u32" and rng.random() < 0.6:
            return f"rotate({rng.randrange(1, 32)}, {self.expr('u32', depth - 1)})"
        if kind == "i32" and rng.random() < 0.5:
            chosen = f"if ({self.expr('bool', depth - 1)}) &halved else &inverted"
            return f"through({chosen}, {self.expr('i32', depth - 1)})"
        if kind == "u16" and rng.random() < 0.6:
            if rng.random() < 0.5:
                return f"low({self.expr('u32', depth - 1)})"
            n = rng.randrange(1, 5)
            return (f"folded({n}, [{n}]u16{{ "
                    f"{', '.join(self.expr('u16', 0) for _ in range(n))} }})")
        if kind != "bool" and rng.random() < 0.4:
            return f"larger({self.operand(kind)}, {self.expr(kind, depth - 1)})"
        return (f"pick({kind}, {self.expr('bool', depth - 1)}, {self.expr(kind, 0)}, "
                f"{self.expr(kind, depth - 1)})")

    # ---- statements -----------------------------------------------------------------------------

    def block(self, n, depth, own=True):
        """n statements; own: what they declare is unknown outside."""
        kept = [list(x) for x in (self.consts, self.vars, self.arrays, self.pairs, self.pointers)]
        text = " ".join(self.statement(depth) for _ in range(n))
        if own:
            self.consts, self.vars, self.arrays, self.pairs, self.pointers = kept
        return text

    def statement(self, depth):
        forms = [self.declare, self.declare, self.declare_array, self.declare_pair, self.assign,
                 self.assign, self.assign, self.point, self.exchange, self.alias, self.claim]
        if depth > 0:
            forms += [self.branch, self.branch, self.select, self.while_loop, self.for_range,
                      self.for_array, self.unrolled, self.shifted_array, self.fill]
        if depth < 2:
            forms += [self.leave]
        return self.rng.choice(forms)(depth)

    def declare(self, _):
        name, kind = self.fresh(), self.rng.choice(SCALARS)
        is_var = self.rng.random() < 0.75
        value = self.expr(kind, 3)
        (self.vars if is_var else self.consts).append((name, kind))
        return f"{'var' if is_var else 'const'} {name}: {kind} = {value};"

    def declare_array(self, _):
        name, kind = self.fresh(), self.rng.choice(SCALARS)
        dims = self.rng.choice(((2,), (4,), (8,), (2, 4)))
        size = dims[0] * (dims[1] if len(dims) > 1 else 1)
        shape = f"[{', '.join(map(str, dims))}]{kind}"
        if kind != "bool" and self.rng.random() < 0.4:
            value = (f"@zeros({shape})" if self.rng.random() < 0.5 else
                     f"@constants({shape}, {literal(kind, random_value(self.rng, kind))})")
        else:
            value = f"{shape}{{ {', '.join(self.expr(kind, 0) for _ in range(size))} }}"
        self.arrays.append((name, kind, dims))
        return f"var {name} = {value};"

    def declare_pair(self, _):
        name = self.fresh()
        value = (f"Pair{{ .a = {self.expr('i16', 1)}, .b = {self.expr('u32', 1)}, "
                 f".c = {self.expr('f32', 1)}, .d = {self.expr('bool', 1)} }}")
        if self.pairs and self.rng.random() < 0.5:
            value = f"turned({self.rng.choice(self.pairs)}, {self.expr('u16', 1)})"
        self.pairs.append(name)
        return f"var {name} = {value};"

    def place(self):
        """Something that can be assigned, and its type; or None."""
        found = list(self.vars)
        found += [(f"{n}.*", k) for n, k in self.pointers]
        found += [(f"{p}.{f}", k) for p in self.pairs for f, k in (("a", "i16"), ("b", "u32"))]
        found += [(self.element(a), a[1]) for a in self.arrays]
        return self.rng.choice(found) if found else None

    def assign(self, depth):
        place = self.place()
        if not place:
            return self.declare(depth)
        name, kind = place
        if kind in INTS and self.rng.random() < 0.4:
            op = self.rng.choice(("&", "|", "^", "<<", ">>"))
            by = str(self.rng.randrange(bits(kind))) if op in ("<<", ">>") else self.expr(kind, 2)
            return f"{name} {op}= {by};"
        if kind in FLOATS and self.rng.random() < 0.4:
            return f"{name} {self.rng.choice('+-*/')}= {self.expr(kind, 2)};"
        return f"{name} = {self.expr(kind, 3)};"

    def point(self, depth):
        place = self.place()
        if not place or ".*" in place[0]:
            return self.assign(depth)
        name = self.fresh()
        same = [v for v, k in self.vars if k == place[1]]
        if same and self.rng.random() < 0.6:      # where to is known at run time only
            yes, no = self.rng.choice(same), self.rng.choice(same)
            to = f"if ({self.expr('bool', 1)}) &{yes} else &{no}"
            self.pointers.append((name, place[1]))
            return f"const {name} = {to};"
        self.pointers.append((name, place[1]))
        return f"const {name} = &{place[0]};"

    def exchange(self, depth):
        place, kind = self.place() or (None, None)
        if kind == "u32" and ".*" not in place and self.rng.random() < 0.6:
            name = self.fresh()
            value = self.expr("u16", 1)
            self.consts.append((name, "u16"))
            return f"const {name} = mixed(&{place}, {value});"
        same = [v for v, k in self.vars if k == kind]
        if not same or ".*" in place:
            return self.assign(depth)
        return f"swap({kind}, &{place}, &{self.rng.choice(same)});"

    def alias(self, depth):
        """Stores to a variable and through a pointer that may be to it, then reads the variable."""
        pairs = [(a, b, k) for a, k in self.vars for b, other in self.vars if k == other and a != b]
        text = ""
        if not pairs:
            yes, no, kind = self.fresh(), self.fresh(), self.rng.choice(SCALARS)
            text = "".join(f"var {v}: {kind} = {self.expr(kind, 1)}; " for v in (yes, no))
            self.vars += [(yes, kind), (no, kind)]
        else:
            yes, no, kind = self.rng.choice(pairs)
        to = self.fresh()
        text += (f"const {to} = if ({self.expr('bool', 1)}) &{yes} else &{no}; "
                 f"{yes} = {self.operand(kind)}; {to}.* = {self.expr(kind, 1)}; ")
        self.pointers.append((to, kind))
        left = f"return {self.expr(self.result, 1)};"
        op = self.rng.choice(("==", "!="))
        return text + f"if ({yes} {op} {self.operand(kind)}) {{ {left} }}"

    def claim(self, _):
        """An assertion that holds."""
        kind = self.rng.choice(("u8", "u16", "u32"))
        return f"@assert(({self.expr(kind, 1)} & 7) < {self.rng.randrange(8, 20)});"

    def shifted_array(self, depth):
        """A loop that reads one element of an array and writes others."""
        found = [a for a in self.arrays if len(a[2]) == 1]
        if not found:
            return self.declare_array(depth)
        name, kind, (size,) = self.rng.choice(found)
        counter, seen = self.fresh(), self.fresh()
        turns = self.rng.randrange(2, 7)
        body = self.loop_body(turns, depth, [(counter, "u16"), (seen, kind)])
        return (f"for (@range(u16, {turns})) |{counter}| {{ "
                f"const {seen}: {kind} = {name}[{self.rng.randrange(size)}]; {body} "
                f"{name}[{counter} & {size - 1}] = {self.expr(kind, 2)}; }}")

    def fill(self, _):
        """A loop that does nothing but set elements of an array, often each of them twice."""
        rng, size = self.rng, 16
        name, counter, sum_name = self.fresh(), self.fresh(), self.fresh()
        kind, turns = rng.choice(("u16", "u32")), rng.randrange(3, 9)
        places = [counter, f"{counter} + {rng.randrange(1, size - turns + 1)}"]
        rng.shuffle(places)
        byte = 0x01010101 >> 32 - bits(kind)
        sets = " ".join(f"{name}[{at}] = {byte * rng.choice((0, 1, 0x7f, 0xff))};"
                        for at in places[:rng.choice((1, 2, 2))])
        self.arrays.append((name, kind, (size,)))
        self.consts.append((sum_name, kind))
        return (f"var {name} = @zeros([{size}]{kind}); "
                f"for (@range(u16, {turns})) |{counter}| {{ {sets} }} "
                f"var {sum_name}: {kind} = 0; "
                f"for ({name}) |e| {{ {sum_name} = ({sum_name} << 1) ^ e; }}")

    def branch(self, depth):
        condition = self.expr("bool", 2)
        text = f"if ({condition}) {{ {self.block(self.rng.randrange(1, 4), depth - 1)} }}"
        if self.rng.random() < 0.6:
            text += f" else {{ {self.block(self.rng.randrange(1, 3), depth - 1)} }}"
        return text

    def select(self, depth):
        kind = self.rng.choice(("u8", "u16", "i16", "i32", "u32", "i64"))
        labels = self.rng.sample(range(4), 3)
        return (f"switch (({self.expr(kind, 2)}) & 3) {{ {labels[0]} => {{ "
                f"{self.block(1, depth - 1)} }}, {labels[1]}, {labels[2]} => {{ "
                f"{self.block(2, depth - 1)} }}, else => {{ {self.block(1, depth - 1)} }} }}")

    def loop_body(self, turns, depth, captures=(), label=None):
        """Statements of a loop that takes at most so many turns; captures are known in it."""
        kept, before = self.weight, list(self.consts)
        self.weight *= turns
        self.loops.append(label)
        self.consts += captures
        body = self.block(self.rng.randrange(1, 4), depth - 1)
        self.loops.pop()
        self.weight, self.consts = kept, before
        return body

    def while_loop(self, depth):
        counter, kind = self.fresh(), self.rng.choice(("u8", "u16", "i16", "i32", "u32", "i64"))
        turns, step = self.rng.randrange(1, 7), self.rng.randrange(1, 4)
        label = self.fresh() if self.rng.random() < 0.3 else None
        body = self.loop_body(turns, depth, [(counter, kind)], label)
        bound = str(turns * step)
        if self.rng.random() < 0.4:
            bound = f"{turns * step} and {self.expr('bool', 1)}"
        text = (f"{label + ': ' if label else ''}while ({counter} < {bound}) : "
                f"({counter} += {step}) {{ {body} }}")
        return f"var {counter}: {kind} = 0; {text}"

    def for_range(self, depth):
        # The second capture has a type of its own at compile time; a const gives it one.
        name, at, kind = self.fresh(), self.fresh(), self.rng.choice(("u16", "i16", "u32", "i32"))
        turns, step = self.rng.randrange(1, 7), self.rng.randrange(1, 4)
        start = self.rng.randrange(-4 if kind[0] == "i" else 0, 5)
        stop = str(start + turns * step)
        found = self.names(kind)
        if found and self.rng.random() < 0.5:
            start, stop = 0, f"({self.rng.choice(found)} & 7)"
            turns = 7
        if self.rng.random() < 0.3:               # up or down, by what is known at run time only
            step = f"(({self.operand(kind)} & 3) | 1)"
            if kind[0] == "i":
                step = f"(if ({self.expr('bool', 1)}) {step} else -{step})"
                start, stop = (8, 0) if self.rng.random() < 0.5 else (0, 8)
                turns = 8
        body = self.loop_body(turns, depth, [(name, kind), (at, "u16")])
        return (f"for (@range({kind}, {start}, {stop}, {step})) |{name}, n{at}| "
                f"{{ const {at}: u16 = n{at}; {body} }}")

    def for_array(self, depth):
        if not self.arrays:
            return self.for_range(depth)
        array, kind, dims = self.rng.choice(self.arrays)
        if len(dims) > 1:
            return self.for_range(depth)
        name, at = self.fresh(), self.fresh()
        # A loop that changes the array it goes over: which value it sees is not specified.
        kept, self.arrays = self.arrays, [a for a in self.arrays if a[0] != array]
        pointers, self.pointers = self.pointers, []
        body = self.loop_body(dims[0], depth, [(name, kind), (at, "u16")])
        self.arrays, self.pointers = kept, pointers
        return f"for ({array}) |{name}, n{at}| {{ const {at}: u16 = n{at}; {body} }}"

    def unrolled(self, depth):
        name, kind = self.fresh(), self.rng.choice(("u8", "u16", "i32", "f32"))
        values = ", ".join(literal(kind, random_value(self.rng, kind)) for _ in range(3))
        place = self.place()
        if not place or place[1] not in INTS + FLOATS:
            return self.assign(depth)
        to, to_kind = place
        if kind == "f32":
            change = (f"{to} = {to} - {name};" if to_kind == "f32"
                      else f"{to} = {self.expr(to_kind, 2)};")
        elif to_kind in FLOATS:
            change = f"{to} += {'1.5' if to_kind == 'f16' else '0.3'};"
        else:
            change = f"{to} ^= {self.expr(to_kind, 1)};"
        return f"inline for ([3]{kind}{{ {values} }}) |{name}| {{ {change} }}"

    def leave(self, depth):
        """An early end of the loop or the function, under a condition."""
        ways = [f"return {self.expr(self.result, 1)};"]
        if self.loops:
            labels = [f" :{label}" for label in self.loops if label] + [""]
            ways += [f"break{self.rng.choice(labels)};", f"continue{self.rng.choice(labels)};"] * 2
        return f"if ({self.expr('bool', 2)}) {{ {self.rng.choice(ways)} }}"


class RowOfLoops(Function):
    """Short loops in a row, round which variables move: they rotate, keep what another one was in
    the turn before, and loops read what the loops before them have left.  Most bodies have no
    branch: such a loop of few turns becomes straight code."""

    def body(self):
        rng = self.rng
        self.kind = rng.choice(("u16", "i16", "u32", "i32") * 3 + SCALARS)
        self.result, self.movers = self.kind, []
        self.params[:2] = self.consts[:2] = [(name, self.kind) for name, _ in self.params[:2]]
        text = [self.mover() for _ in range(rng.randrange(3, 6))]
        for declare in (self.declare, self.declare_pair, self.declare_movers_array):
            if rng.random() < 0.4:
                text.append(declare(0))
        if rng.random() < 0.2:
            text.append(self.point(0))
        for _ in range(rng.randrange(2, 5)):
            text.append(self.short_loop(2))
            if rng.random() < 0.1:
                text.append(self.statement(1))
        return " ".join(text)

    def returned(self):
        """All that moves counts."""
        if self.rng.random() < 0.2:
            return self.expr(self.result, 2)
        names = list(self.movers)
        names += [f"{n}[{i}]" for n, k, dims in self.arrays if k == self.kind and len(dims) == 1
                  for i in range(dims[0])]
        text = names[0]
        for name in names[1:]:
            text = (f"({text} != {name})" if self.kind == "bool" else
                    f"({text} * 0.5 - {name})" if self.kind in FLOATS else
                    f"((({text}) << 1) ^ {name} ^ {text})" if len(text) < 80 else
                    f"({text} ^ {name})")
        return text

    def mover(self):
        """Each starts with a value of its own, so that it counts which one is where."""
        name, start = self.fresh(), literal(self.kind, random_value(self.rng, self.kind))
        value = self.operand(self.kind)
        if self.kind != "bool":
            value = f"{value} {'+' if self.kind in FLOATS else '^'} {start}"
        self.vars.append((name, self.kind))
        self.movers.append(name)
        return f"var {name}: {self.kind} = {value};"

    def declare_movers_array(self, _):
        name, size = self.fresh(), self.rng.choice((2, 4, 8))
        values = ", ".join(self.plain(self.kind, 0) for _ in range(size))
        self.arrays.append((name, self.kind, (size,)))
        return f"var {name} = [{size}]{self.kind}{{ {values} }};"

    def plain(self, kind, depth):
        """An expression without a branch."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return self.operand(kind)
        a, b = f"({self.plain(kind, depth - 1)})", f"({self.plain(kind, depth - 1)})"
        if kind == "bool":
            return f"({a} {rng.choice(('==', '!='))} {b})"
        if kind in FLOATS:
            return f"({a} {rng.choice('+-*')} {b})"
        op = rng.choice("^^^^+-*&|<>")
        if op in "<>" or a == b:
            return f"({b} ^ ({a} {'<<' if op != '>' else '>>'} {rng.randrange(1, bits(kind))}))"
        return self.combined(kind, op, a, b)

    def move(self):
        """One turn: some variables take the places of others, and one gets a new value."""
        rng = self.rng
        taken = rng.sample(self.moved, rng.randrange(1, len(self.moved) + 1))
        new = self.plain(self.kind, rng.randrange(1, 3))
        steps = [f"{a} = {b};" for a, b in zip(taken, taken[1:])]
        if len(taken) == 1 or rng.random() < 0.6:      # the last one gets it, before or behind
            at = rng.choice((0, len(steps), len(steps)))
            return " ".join(steps[:at] + [f"{taken[-1]} = {new};"] + steps[at:])
        kept = self.fresh()
        steps.append(f"{taken[-1]} = {kept};")         # once around
        if rng.random() < 0.6:
            steps.insert(rng.randrange(len(steps) + 1), f"{rng.choice(taken)} = {new};")
        return f"const {kept} = {taken[0]}; {' '.join(steps)}"

    def store(self):
        """What a turn leaves in memory, or in a variable besides."""
        place = self.place()
        name, kind = place if place else (self.rng.choice(self.moved), self.kind)
        return f"{name} = {self.plain(kind, 1)};"

    def turn(self, depth):
        rng = self.rng
        text = [self.move() for _ in range(rng.choice((1, 1, 2)))]
        text += [self.store() for _ in range(rng.choice((0, 0, 1)))]
        if rng.random() > STRAIGHT:
            more = rng.choice((self.leave, self.leave, self.branch, self.short_loop))
            text.append(more(depth - 1))
        rng.shuffle(text)
        return " ".join(text)

    def short_loop(self, depth):
        """It moves some of the variables, and reads others, too."""
        rng = self.rng
        form = rng.choice((self.counted, self.counted, self.counted, self.counted_by_while,
                           self.endless, self.over_values))
        self.moved = rng.sample(self.movers, rng.choice((1, 2, 2, 3)))
        kept = list(self.consts), self.weight
        self.weight *= 4
        text = form(rng.choice((1, 2, 2, 2, 3, 3, 4)), depth)
        self.consts, self.weight = kept
        return text

    def turn_of_loop(self, counter, kind, depth, label=None):
        self.consts.append((counter, kind))
        self.loops.append(label)
        text = self.turn(depth)
        self.loops.pop()
        return text

    def bound(self, turns):
        """The generic function has the value of its parameter."""
        if self.comptime and self.comptime <= 4 and self.rng.random() < 0.5:
            return "k"
        return str(turns)

    def counted(self, turns, depth):
        name, kind = self.fresh(), self.rng.choice(("u16", "i16", "u32", "i32", self.kind))
        if kind not in INTS or bits(kind) < 8:
            kind = "u16"
        body = self.turn_of_loop(name, kind, depth)
        if self.rng.random() < 0.3:
            start, step = self.rng.randrange(3), self.rng.randrange(1, 4)
            return (f"for (@range({kind}, {start}, {start + turns * step}, {step})) |{name}| "
                    f"{{ {body} }}")
        return f"for (@range({kind}, {self.bound(turns)})) |{name}| {{ {body} }}"

    def counted_by_while(self, turns, depth):
        name, kind = self.fresh(), self.rng.choice(("u8", "u16", "i16", "u32", "i32"))
        label = self.fresh() if self.rng.random() < 0.3 else None
        body = self.turn_of_loop(name, kind, depth, label)
        also = f" and {self.expr('bool', 1)}" if self.rng.random() < 0.2 else ""
        return (f"var {name}: {kind} = 0; {label + ': ' if label else ''}"
                f"while ({name} < {self.bound(turns)}{also}) : ({name} += 1) {{ {body} }}")

    def endless(self, turns, depth):
        """It ends in the middle of a turn, or at its end."""
        name = self.fresh()
        first, last = (self.turn_of_loop(name, "u16", depth) if self.rng.random() < share else ""
                       for share in (0.8, 0.5))
        until = f"{name} < 9" if "continue" in first else "true"
        return (f"var {name}: u16 = 0; while ({until}) : ({name} += 1) {{ {first} "
                f"if ({name} >= {self.bound(turns)}) {{ break; }} {last} }}")

    def over_values(self, turns, depth):
        name = self.fresh()
        kind = self.kind if self.kind != "bool" else "u16"
        body = self.turn_of_loop(name, kind, depth)
        values = ", ".join(literal(kind, random_value(self.rng, kind)) for _ in range(turns))
        inline = "inline " if self.rng.random() < 0.4 and "continue" not in body and \
            "break" not in body else ""
        return f"{inline}for ([{turns}]{kind}{{ {values} }}) |{name}| {{ {body} }}"


# Arguments are exported so that the optimiser does not know them.
EXPORTED = [("got", "u64"), ("want", "u64")] + [(f"args_{k}", k) for k in SCALARS]
LAYOUT = """\
layout {{
  @set_rectangle({tiles}, 1);
  for ([{tiles}]u16{{ {values} }}) |v, x| {{
    @set_tile_code(@as(u16, x), 0, "{program}", .{{ .tile = v }});
  }}
{names}}}
"""


class Program:
    """A batch of functions.  calls[i]: function and choice of arguments of word i of `got` and
    `want`.  It runs on several tiles, one for each of `tiles`: at run time the last choice of u16
    is the parameter `tile`, on tile 0 the value that it has at compile time."""

    def __init__(self, rng, functions):
        self.functions = []
        for i in range(functions):
            near = [f for f in self.functions[-8:] if f.cost < 40]
            kind = RowOfLoops if rng.random() < ROWS_OF_LOOPS else Function
            self.functions.append(Walk(rng, f"fun{i}") if rng.random() < WALKS
                                  else kind(rng, f"fun{i}", near))
        self.values = {k: [random_value(rng, k) for _ in range(VALUES)] for k in SCALARS}
        self.calls = [(f, [rng.randrange(VALUES) for _ in f.params])
                      for f in self.functions for _ in range(CALLS)]
        others = [random_value(rng, "u16") for _ in range(1, TILES)]
        self.tiles = [self.values["u16"][-1], *others]
        self.first_function = self.first_want = 0

    def layout(self, program):
        """The layout that has the program on its tiles."""
        names = "".join(f'  @export_name("{n}", [*]{k}, true);\n' for n, k in EXPORTED)
        return LAYOUT.format(tiles=TILES, values=", ".join(map(str, self.tiles)), program=program,
                             names=names)

    def arguments(self, f, choice, given):
        """The arguments of a call: variables if they come at run time, otherwise literals."""
        values = []
        for (_, kind), c in zip(f.params, choice):
            from_tile = given and kind == "u16" and c == VALUES - 1
            values.append("tile" if from_tile else f"args_{kind}[{c}]" if given
                          else literal(kind, self.values[kind][c]))
        return values

    def is_computed(self, call, tile):
        """Does `want` have the call's result for the tile?"""
        f, choice = self.calls[call]
        return not f.at_run_time and (
            tile == 0 or ("u16", VALUES - 1) not in zip((k for _, k in f.params), choice))

    def text(self, skip=(), dropped=(), want=True):
        """skip: numbers of calls that are errors at compile time; dropped: functions not called;
        want: evaluate the others at compile time."""
        lines = HELPERS.rstrip("\n").split("\n") + ["param tile: u16;"]
        lines += [f"var args_{k} = [{VALUES}]{k}{{ {', '.join(literal(k, v) for v in vs)} }};"
                  for k, vs in self.values.items()]
        self.first_function = len(lines) + 1
        lines += [f.text for f in self.functions]
        lines += [f"var got = @zeros([{len(self.calls)}]u64);",
                  f"var want = [{len(self.calls)}]u64{{"]
        self.first_want = len(lines) + 1
        run = []
        for i, (f, choice) in enumerate(self.calls):
            if f.name in dropped:
                lines.append("0,")
                continue
            known = raw(f.result, f.call(self.arguments(f, choice, False)))
            lines.append(known + "," if want and i not in skip and not f.at_run_time else "0,")
            given = raw(f.result, f.call(self.arguments(f, choice, True)))
            run.append(f"  got[{i}] = {given};")
        lines += ["};", *(f"var at_{n}: [*]{k} = &{n};" for n, k in EXPORTED),
                  "task main() void {", *run, "}", "comptime {",
                  "  @bind_local_task(main, @get_local_task_id(8));",
                  "  @activate(@get_local_task_id(8));",
                  *(f'  @export_symbol(at_{n}, "{n}");' for n, _ in EXPORTED), "}"]
        return "\n".join(lines) + "\n"
