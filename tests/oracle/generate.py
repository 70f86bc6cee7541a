"""Random functions as trees.

Every expression that is made here depends on something known at run time only: what the compiler
computes by itself may be an error at compile time, and the oracle could not foresee that.  So one
operand may be a literal, but never both.
"""
from dataclasses import dataclass

from oracle import choose, formats
from oracle.expressions import (AddressOf, As, Binary, Bitcast, Build, Call, Choice, Compare, Deref,
                                Field, Index, Labelled, Literal, Logic, ManyIndex, Name, Shift,
                                SliceFrom, Switch, Through, Unary, Widen)
from oracle.statements import (Arm, Assign, CallStatement, Declare, ForArray, ForRange, Function,
                               If, Leave, Scope, SwitchStatement, While)
from oracle.types import (BOOL, F32, U16, Array, Bool, Enum, Float, Int, Pointer, Struct, Union,
                          array, integer, named, pointer, widens)

MOST_COST = 60                # of a function: loop turns and calls, multiplied
DEPTH = 4                     # of recursion
EXACT = (0.5, 1.0, 2.0, -4.0, 0.25, 3.0, 0.1, -7.5, 1024.0)


@dataclass(eq=False)
class Binding:
    """A variable in sight.  mutable: it may be assigned; placed: it has an address."""
    name: str
    kind: object
    mutable: bool
    placed: bool


def parts(kind, addressable=True):
    """Paths from a value to its parts, itself included: [(steps, type, has an address)]."""
    found = [((), kind, addressable)]
    if isinstance(kind, Pointer):
        if kind.many:
            found += [(("many",) + p, t, a) for p, t, a in parts(kind.target)]
        else:
            found += [(("deref",) + p, t, a) for p, t, a in parts(kind.target)]
    elif isinstance(kind, Array):
        found += [(("index",) + p, t, a) for p, t, a in parts(kind.element, addressable)]
    elif isinstance(kind, (Struct, Union)):
        inside = addressable and not kind.bits_only
        for i, (_, of) in enumerate(kind.fields):
            found += [((i,) + p, t, a) for p, t, a in parts(of, inside)]
    return found


_parts = {}


def parts_of(kind):
    if kind not in _parts:
        _parts[kind] = parts(kind)
    return _parts[kind]


def is_wide(kind):
    return isinstance(kind, Int) and kind.width > 64


class Maker:
    """Makes one function.  types: choose.Types; callees: functions that it may call."""

    def __init__(self, rng, name, types, callees, run_time=False):
        self.rng, self.name, self.types, self.callees = rng, name, types, callees
        self.count, self.cost, self.weight = 0, 1, 1
        self.bindings, self.labels = [], []
        self.used, self.globals, self.run_time = [], [], run_time
        self.called, self.helpers = [], []            # helpers: functions made for this one
        self.palette = self.choose_palette()
        self.may_return, self.comptime = True, None

    def choose_palette(self):
        rng = self.rng
        found = [rng.choice(choose.COMMON) for _ in range(2)]
        found += [choose.some_integer(rng) for _ in range(rng.randrange(1, 3))]
        if rng.random() < 0.4:
            found += [rng.choice((F32, self.types.half)), F32]
        if rng.random() < 0.2:
            found.append(rng.choice(self.types.enums))
        return found + [BOOL]

    def integers(self):
        return [k for k in self.palette if isinstance(k, Int)]

    def fresh(self, stem="v"):
        self.count += 1
        return f"{stem}_{self.count}"

    def some_type(self, aggregates=0.3):
        """The type of a variable or parameter."""
        rng = self.rng
        if rng.random() >= aggregates:
            return rng.choice(self.palette)
        if rng.random() < 0.35:
            element = rng.choice(self.palette)
            dims = rng.choice(((2,), (4,), (8,), (3,), (5,), (2, 2), (2, 3)))
            return array(element, *dims)
        return rng.choice(self.types.all)

    # ---- the function ----------------------------------------------------------------------------

    def function(self):
        rng = self.rng
        params = [(f"p{i}", self.some_type(0.2)) for i in range(rng.randrange(2, 5))]
        params[0] = ("p0", rng.choice(self.integers()))
        if rng.random() < 0.3:
            params.append(("q0", pointer(self.some_type(0.3))))
            if rng.random() < 0.3:
                params.append(("q1", params[-1][1]))
        for name, kind in params:
            self.bind(name, kind, False, not isinstance(kind, Pointer))
        self.comptime = "k" if rng.random() < 0.1 else None
        if self.run_time:
            for i in range(rng.randrange(1, 4)):
                kind = self.some_type(0.5)
                name = f"{self.name}_g{i}"
                self.globals.append((name, kind, choose.value(rng, kind)))
                self.bind(name, kind, True)
        result = rng.choice(self.palette) if rng.random() < 0.85 else rng.choice(self.types.all)
        self.result = result
        body = self.statements(rng.randrange(1, 4), 2)
        inline = rng.random() < 0.05 and not has_leave(body)
        value = self.coerced(result, 2)
        made = Function(self.name, params, result, body, value, self.comptime, inline,
                        self.run_time, globals=self.globals, callees=self.called, cost=self.cost)
        depth = params[0][1]
        if not inline and not self.comptime and not depth.signed and depth.width > 3 \
                and rng.random() < 0.15:
            self.make_recursive(made)
        return made

    def make_recursive(self, made):
        """Calls itself while p0 is in 1 to DEPTH."""
        kind = made.params[0][1]
        end = Logic(BOOL, "or", Compare(BOOL, "==", Name(kind, "p0"), Literal(kind, 0, True)),
                    Compare(BOOL, ">", Name(kind, "p0"), Literal(kind, DEPTH, True)))
        below = Binary(kind, "-", Name(kind, "p0"), Literal(kind, 1, True))
        self.bindings = self.bindings[:len(made.params)]
        arguments = [below] + [Name(t, n) if isinstance(t, Pointer) else self.coerced(t, 1)
                               for n, t in made.params[1:]]
        inner = Call(made.result_type, made, arguments)
        name = self.fresh()
        made.body = [Leave(end, "return", None, self.expr(self.result, 1)),
                     Declare(name, made.result_type, inner, True, False)] + made.body
        made.result = Choice(self.result, self.comparison(0), made.result,
                             Name(self.result, name))
        made.cost *= DEPTH

    def bind(self, name, kind, mutable, placed=None):
        self.bindings.append(Binding(name, kind, mutable, mutable if placed is None else placed))

    # ---- places ----------------------------------------------------------------------------------

    def found(self, kind, mutable=False, placed=False):
        """(binding, steps) of what has the type."""
        found = []
        for b in self.bindings:
            for steps, of, addressable in parts_of(b.kind):
                through = bool(steps) and steps[0] in ("deref", "many")
                if of is kind and (not mutable or b.mutable or through) and \
                        (not placed or addressable and (b.placed and b.mutable or through)):
                    found.append((b, steps))
        return found

    def reach(self, binding, steps):
        """The expression for a part of a variable."""
        expr = Name(binding.kind, binding.name)
        for step in steps:
            kind = expr.type
            if step == "deref":
                expr = Deref(kind.target, expr)
            elif step == "many":
                expr = ManyIndex(kind.target, expr, Literal(U16, 0, True))
            elif step == "index":
                expr = Index(kind.element, expr, [self.index(d) for d in kind.dims])
            else:
                expr = Field(kind.fields[step][1], expr, step, self.rng.random() < 0.05)
        return expr

    def index(self, size):
        """An expression below size."""
        rng = self.rng
        found = [(b, s) for b in self.bindings for s, k, _ in parts_of(b.kind)
                 if isinstance(k, Int) and 4 <= k.width <= 64 and not s]
        if not found or rng.random() < 0.45:
            return Literal(U16, rng.randrange(size), True)
        expr = self.reach(*rng.choice(found))
        if size & size - 1 == 0:
            return Binary(expr.type, "&", expr, Literal(expr.type, size - 1, True))
        if expr.type.signed:
            top = (expr.type.high + 1) // 2 - 1
            expr = Binary(expr.type, "&", expr, Literal(expr.type, top, True))
        return Binary(expr.type, "%", expr, Literal(expr.type, size, True))

    # ---- expressions -----------------------------------------------------------------------------

    def literal(self, kind, bare=None):
        rng = self.rng
        value = choose.value(rng, kind, rng.random() < 0.5)
        bare = rng.random() < 0.6 if bare is None else bare
        return Literal(kind, value, bare and isinstance(kind, Int))

    def operand(self, kind):
        """A leaf: a variable or part of one, or a conversion of one."""
        found = self.found(kind)
        if found:
            return self.reach(*self.rng.choice(found))
        return self.derived(kind, 0)

    def derived(self, kind, depth):
        """An expression of a type that no variable has."""
        rng = self.rng
        if isinstance(kind, Bool):
            return self.comparison(depth)
        if isinstance(kind, Int):
            source = rng.choice([b for b in self.bindings if isinstance(b.kind, Int)])
            return As(kind, Name(source.kind, source.name))
        if isinstance(kind, Float):
            sources = [b for b in self.bindings
                       if isinstance(b.kind, Int) and b.kind.width <= 64] or None
            if sources is None:
                return self.either(kind, self.comparison(0))
            source = rng.choice(sources)
            return As(kind, Name(source.kind, source.name))
        if isinstance(kind, Enum):
            return self.either(kind, self.expr(BOOL, depth - 1))
        if isinstance(kind, Array):
            return Build(kind, [self.part(kind.element, depth, i) for i in range(kind.count)])
        if isinstance(kind, Union):
            at = rng.randrange(len(kind.fields))
            return Build(kind, [self.coerced(kind.fields[at][1], depth - 1)], True, at)
        return Build(kind, [self.part(t, depth, i) for i, (_, t) in enumerate(kind.fields)])

    def part(self, kind, depth, number):
        """A part of a literal; the first part is not known at compile time."""
        if number and self.rng.random() < 0.6:
            return self.literal(kind, False)
        return self.coerced(kind, depth - 2)

    def coerced(self, kind, depth):
        """A value for a place of that type: of the type, or of one that widens to it."""
        rng = self.rng
        if rng.random() < 0.12:
            narrower = [k for k in self.palette if k is not kind and widens(k, kind)]
            if narrower:
                return Widen(kind, self.expr(rng.choice(narrower), depth))
        return self.expr(kind, depth)

    def expr(self, kind, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.operand(kind)
        if rng.random() < 0.2:
            return rng.choice((self.choice, self.switch, self.labelled, self.call, self.call))(
                kind, depth)
        if isinstance(kind, Bool):
            return self.truth(depth)
        if isinstance(kind, Int):
            return self.integer(kind, depth)
        if isinstance(kind, Float):
            return self.floating(kind, depth)
        if isinstance(kind, Enum) or rng.random() < 0.5:
            return self.operand(kind)
        if kind.bits_only and rng.random() < 0.4:
            return self.from_bits(kind, depth)
        return self.derived(kind, depth)

    def from_bits(self, kind, depth):
        source = integer(kind.width, self.rng.random() < 0.5)
        if not isinstance(kind, Struct) or has_enum(kind):
            return self.derived(kind, depth)
        return Bitcast(kind, self.expr(source, depth - 1))

    def second(self, kind, depth):
        """The second operand: often a literal, sometimes the first again."""
        if self.comptime and kind is U16 and self.rng.random() < 0.5:
            return Name(U16, self.comptime)
        return self.literal(kind) if self.rng.random() < 0.4 else self.coerced(kind, depth - 1)

    def integer(self, kind, depth):
        rng = self.rng
        op = rng.choice(("arith",) * 8 + ("shift",) * 4 + ("unary", "as", "as", "as", "twice",
                                                           "bitcast"))
        if op == "arith":
            return self.arithmetic(kind, depth)
        if op == "shift":
            return self.shift(kind, depth)
        if op == "unary":
            if rng.random() < 0.4 and kind.signed:
                return Unary(kind, "-", self.expr(kind, depth - 1))
            return Unary(kind, "~", self.expr(kind, depth - 1))
        if op == "bitcast":
            return self.bits(kind, depth)
        if op == "twice":
            middle = choose.some_integer(rng)
            return As(kind, As(middle, self.expr(choose.narrow_integer(rng), depth - 1)))
        return As(kind, self.source(kind, depth))

    def source(self, kind, depth):
        """What @as makes an integer of; for a narrower one often masked."""
        rng = self.rng
        # No conversion of floats and enums to wide integers.
        found = [k for k in self.palette if not (is_wide(kind) and isinstance(k, (Float, Enum)))]
        of = rng.choice(found)
        expr = self.expr(of, depth - 1)
        if isinstance(of, Int) and of.width > kind.width and rng.random() < 0.5:
            mask = rng.choice((1 << kind.width - 1, 1 << kind.width)) - 1
            mask = mask if rng.random() < 0.6 else choose.value(rng, of)
            return Binary(of, "&", expr, Literal(of, of.wrap(mask), True))
        return expr

    def bits(self, kind, depth):
        """A bitcast from what has as many bits."""
        rng = self.rng
        found = [integer(kind.width, not kind.signed)]
        found += [f for f in (F32, self.types.half) if f.width == kind.width]
        found += [p for p in self.types.packed if p.width == kind.width]
        return Bitcast(kind, self.expr(rng.choice(found), depth - 1))

    def arithmetic(self, kind, depth):
        rng = self.rng
        op = rng.choice(("+", "-", "*", "+", "-", "*", "/", "%", "&", "|", "^"))
        a = self.coerced(kind, depth - 1)
        if op in ("/", "%"):
            b = self.divisor(kind, depth)
        elif op == "*" and rng.random() < 0.4:
            b = Literal(kind, kind.wrap(1 << rng.randrange(kind.width)), True)
        elif op == "&" and rng.random() < 0.3:
            b = Literal(kind, kind.wrap((1 << rng.randrange(kind.width + 1)) - 1), True)
        else:
            b = a if rng.random() < 0.03 else self.second(kind, depth)
        if rng.random() < 0.15 and op in "+-*&|^" and not isinstance(a, Widen):
            a = Binary(kind, op, a, self.literal(kind))       # two constants in a row
            b = self.literal(kind)
        if isinstance(a, Widen) and isinstance(b, Widen):
            a = self.expr(kind, depth - 1)
        if isinstance(a, Widen) and isinstance(b, Literal):
            b = Literal(kind, b.constant, False)
            a = a.of if not isinstance(kind, Int) else As(kind, a.of)
        if rng.random() < 0.2 and op in "+*&|^" and isinstance(b, Literal):
            a, b = b, a
        return Binary(kind, op, a, b)

    def divisor(self, kind, depth):
        rng = self.rng
        if rng.random() < 0.55 and kind.high > 0:
            top = rng.randrange(1, max(2, kind.width))
            value = rng.choice((1 << rng.randrange(kind.width), rng.getrandbits(top),
                                rng.randrange(1, 100)))
            value = min(max(1, value), kind.high)
            if kind.signed and rng.random() < 0.2:
                value = -value
            return Literal(kind, value, True)
        expr = self.coerced(kind, depth - 1)
        if isinstance(expr, Widen):
            return expr
        if rng.random() < (0.5 if is_wide(kind) else 0.2):    # often zero
            one_bit = kind.wrap(1 << rng.randrange(kind.width))
            return Binary(kind, "&", expr, Literal(kind, one_bit, True))
        if rng.random() < 0.6:
            expr = Binary(kind, "|", expr, Literal(kind, 1 if kind.high else kind.low, True))
        return expr

    def shift(self, kind, depth):
        """Amounts of every unsigned type; at run time they may be the width or more."""
        rng, op = self.rng, self.rng.choice(("<<", ">>"))
        of = self.expr(kind, depth - 1)
        if rng.random() < 0.2:                                # two in a row
            of = Shift(kind, op, of, Literal(U16, rng.randrange(kind.width), True))
        if rng.random() < 0.45:
            return Shift(kind, op, of, Literal(U16, rng.randrange(kind.width), True))
        amount = rng.choice([k for k in self.integers() if not k.signed] +
                            [named(n) for n in ("u8", "u16", "u32", "u64", "u128")])
        by = self.expr(amount, depth - 1)
        if rng.random() < 0.6 and amount.high >= kind.width:
            by = Binary(amount, "%", by, Literal(amount, kind.width, True))
        elif rng.random() < 0.3 and amount.width > 17:        # far beyond the width
            by = Binary(amount, "|", by, Literal(amount, 1 << rng.randrange(amount.width), True))
        return Shift(kind, op, of, by)

    def floating(self, kind, depth):
        rng = self.rng
        roll = rng.random()
        if roll < 0.65:
            op = rng.choice("+-*/")
            a = self.coerced(kind, depth - 1)
            if rng.random() < 0.35:
                number = rng.choice(EXACT)
                return Binary(kind, op, a if not isinstance(a, Widen) else self.operand(kind),
                              FloatLiteral(kind, formats.rounded(kind.form, number)))
            return Binary(kind, op, a, self.expr(kind, depth - 1))
        if roll < 0.72:
            return Unary(kind, "-", self.expr(kind, depth - 1))
        if roll < 0.82:
            of = integer(kind.width, rng.random() < 0.5)
            return Bitcast(kind, self.expr(of, depth - 1))
        found = [k for k in self.palette if not is_wide(k)] + [F32, self.types.half]
        return As(kind, self.expr(rng.choice(found), depth - 1))

    def truth(self, depth):
        rng = self.rng
        roll = rng.random()
        if roll < 0.15:
            return Unary(BOOL, "!", self.expr(BOOL, depth - 1))
        if roll < 0.4:
            return Logic(BOOL, rng.choice(("and", "or")), self.expr(BOOL, depth - 1),
                         self.expr(BOOL, depth - 1))
        if roll < 0.5:
            kind = rng.choice([k for k in self.palette if not isinstance(k, (Bool, Enum))])
            return As(BOOL, self.expr(kind, depth - 1))
        return self.comparison(depth)

    def comparison(self, depth):
        rng = self.rng
        kind = rng.choice(self.palette)
        if isinstance(kind, (Bool, Enum)):
            return Compare(BOOL, rng.choice(("==", "!=")), self.readable(kind, depth),
                           self.readable(kind, depth))
        op = rng.choice(("==", "!=", "<", "<=", ">", ">="))
        a = self.readable(kind, depth)
        b = a if rng.random() < 0.08 else self.literal(kind) if rng.random() < 0.4 \
            else self.readable(kind, depth)
        return Compare(BOOL, op, a, b)

    def readable(self, kind, depth):
        """Like expr, but does not go round in circles for want of a variable."""
        if depth > 0:
            return self.expr(kind, depth - 1)
        if self.found(kind) or isinstance(kind, Int):
            return self.operand(kind)
        source = self.bindings[0]
        zero = Compare(BOOL, "<", Name(source.kind, source.name), Literal(source.kind, 1, True)
                       if source.kind.high else Literal(source.kind, 0, True))
        if isinstance(kind, Bool):
            return zero
        return self.either(kind, zero)

    def either(self, kind, condition):
        """One of two literals; two equal ones would be known at compile time."""
        first = second = self.literal(kind, False)
        while first.constant == second.constant:
            second = self.literal(kind, False)
        return Choice(kind, condition, first, second)

    def choice(self, kind, depth):
        return Choice(kind, self.expr(BOOL, depth - 1), *self.arms(kind, depth, 2))

    def arms(self, kind, depth, count):
        """Values of a choice: one has its type, the others may be narrower."""
        found = [self.coerced(kind, 0) for _ in range(count - 2)]
        found += [self.operand(kind), self.coerced(kind, depth - 1)]
        if self.rng.random() < 0.5:
            found.reverse()
        return found

    def subject(self, depth):
        """An expression to switch over, and labels of some arms."""
        rng = self.rng
        kind = rng.choice([k for k in self.palette
                           if isinstance(k, Enum) or isinstance(k, Int) and k.width <= 64])
        expr = self.expr(kind, depth - 1)
        if isinstance(kind, Enum):
            numbers = list(kind.values)
        else:
            numbers = sorted({choose.subject_label(rng, kind) for _ in range(5)})
            if kind.width > 3 and rng.random() < 0.8:
                expr = Binary(kind, "&", expr, Literal(kind, 7, True))
        rng.shuffle(numbers)
        arms = rng.randrange(1, 4)
        return expr, [p for p in (numbers[:1], numbers[1:3], numbers[3:4])[:arms] if p]

    def switch(self, kind, depth):
        subject, labels = self.subject(depth)
        return Switch(kind, subject, labels, self.arms(kind, depth, len(labels) + 1))

    def labelled(self, kind, depth):
        label = self.fresh("b")
        kept, may_return = list(self.bindings), self.may_return
        labels, self.labels, self.may_return = self.labels, [], False
        body = []
        if self.rng.random() < 0.5:
            body.append(self.declare(depth - 1))
        early, result = self.arms(kind, depth, 2)
        body.append(Leave(self.expr(BOOL, depth - 1), "break", label, early))
        self.bindings, self.labels, self.may_return = kept, labels, may_return
        return Labelled(kind, label, body, result)

    def call(self, kind, depth):
        """A call without effects: no pointers among the arguments."""
        found = [f for f in self.callees if f.result_type is kind
                 and (not f.run_time or self.run_time and not f.globals)
                 and f.cost * self.weight < MOST_COST
                 and not any(isinstance(t, Pointer) for _, t in f.params)]
        if not found:
            return self.choice(kind, depth)
        callee = self.rng.choice(found)
        self.cost += callee.cost * self.weight
        self.called.append(callee)
        arguments = [self.argument(t, callee) for _, t in callee.params]
        if not callee.comptime and not callee.inline and self.rng.random() < 0.3:
            same = [f for f in found if not f.inline and not f.comptime
                    and [t for _, t in f.params] == [t for _, t in callee.params]]
            return Through(kind, self.fresh("b"), self.comparison(0),
                           [callee, self.rng.choice(same)], arguments)
        known = self.rng.randrange(1, 9) if callee.comptime else None
        return Call(kind, callee, arguments, known)

    def argument(self, kind, callee):
        return self.expr(kind, 0) if callee.inline else self.coerced(kind, 1)

    # ---- statements ------------------------------------------------------------------------------

    def statements(self, count, depth):
        """Their variables end with them."""
        kept = list(self.bindings)
        found = [self.statement(depth) for _ in range(count)]
        if depth < 2:
            self.bindings = kept
        return found

    def statement(self, depth):
        rng = self.rng
        ways = [self.declare] * 4 + [self.assign] * 8 + [self.call_with_pointers, self.leave,
                                                         self.point]
        if depth > 0:
            ways += [self.branch, self.branch, self.select, self.while_loop, self.for_range,
                     self.for_range, self.for_array, self.scope]
        return rng.choice(ways)(depth)

    def declare(self, depth):
        rng = self.rng
        kind, constant = self.some_type(), rng.random() < 0.3
        init = self.coerced(kind, 2)
        if isinstance(init, Build):
            constant = False
        name = self.fresh()
        self.bind(name, kind, not constant)
        return Declare(name, kind, self.anonymous(init), constant,
                       isinstance(init, (Widen, Build)) or rng.random() < 0.6)

    def anonymous(self, value):
        """A literal without its type, where the place says which."""
        if isinstance(value, Build) and not isinstance(value.type, Union) \
                and len(getattr(value.type, "dims", "1")) == 1 and self.rng.random() < 0.4:
            value.named = False
        return value

    def target(self):
        """Something to assign to."""
        rng = self.rng
        found = []
        for b in self.bindings:
            for steps, kind, _ in parts_of(b.kind):
                through = bool(steps) and steps[0] in ("deref", "many")
                if (b.mutable and not isinstance(b.kind, Pointer) or through) \
                        and not isinstance(kind, Pointer):
                    found.append((b, steps))
        return self.reach(*rng.choice(found)) if found else None

    def assign(self, depth):
        rng, to = self.rng, self.target()
        if to is None:
            return self.declare(depth)
        kind = to.type
        if rng.random() < 0.45 and isinstance(kind, Int):
            op = rng.choice(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))
            if op in ("<<", ">>"):
                made = self.shift(kind, 1)
                return Assign(to, op, made.by)
            value = self.divisor(kind, 1) if op in "/%" else self.second(kind, 2)
            return Assign(to, op, value)
        if rng.random() < 0.45 and isinstance(kind, Float):
            return Assign(to, rng.choice("+-*/"), self.expr(kind, 1))
        return Assign(to, "", self.anonymous(self.coerced(kind, 2)))

    def point(self, depth):
        """A pointer to something that can be assigned."""
        rng = self.rng
        found = []
        for b in self.bindings:
            if isinstance(b.kind, Pointer) or not b.mutable:
                continue
            found += [(b, s) for s, _, addressable in parts_of(b.kind) if addressable]
        if not found:
            return self.declare(depth)
        of = self.reach(*rng.choice(found))
        name = self.fresh("r")
        if isinstance(of.type, Array) and len(of.type.dims) == 1 and self.run_time \
                and rng.random() < 0.7:
            kind = pointer(of.type.element, True)
            value = AddressOf(kind, of) if rng.random() < 0.5 else \
                SliceFrom(kind, of, self.index(of.type.count))
            self.bind(name, kind, False)
            return Declare(name, kind, value, True, True)
        kind = pointer(of.type)
        self.bind(name, kind, False)
        return Declare(name, kind, AddressOf(kind, of), True, rng.random() < 0.5)

    def call_with_pointers(self, depth):
        rng = self.rng
        found = [f for f in self.callees if f.cost * self.weight < MOST_COST and not f.inline
                 and not f.run_time and any(isinstance(t, Pointer) for _, t in f.params)]
        rng.shuffle(found)
        for callee in found:
            arguments = [self.pass_pointer(t) if isinstance(t, Pointer) else
                         self.coerced(t, 1) if t.scalar else self.literal(t)
                         for _, t in callee.params]
            if all(arguments):
                self.cost += callee.cost * self.weight
                self.called.append(callee)
                known = rng.randrange(1, 9) if callee.comptime else None
                call = Call(callee.result_type, callee, arguments, known)
                if rng.random() < 0.3:
                    return CallStatement(call)
                name = self.fresh()
                self.bind(name, call.type, False)
                return Declare(name, call.type, call, True, False)
        return self.assign(depth)

    def pass_pointer(self, kind):
        found = self.found(kind.target, mutable=True, placed=True)
        if not found:
            return None
        of = self.reach(*self.rng.choice(found))
        return of.pointer if isinstance(of, Deref) else AddressOf(kind, of)

    def branch(self, depth):
        condition = self.expr(BOOL, 2)
        yes = self.statements(self.rng.randrange(1, 3), depth - 1)
        no = self.statements(1, depth - 1) if self.rng.random() < 0.5 else []
        return If(condition, yes, no)

    def select(self, depth):
        subject, labels = self.subject(2)
        arms = [Arm(self.statements(self.rng.randrange(0, 3), depth - 1))
                for _ in range(len(labels) + 1)]
        return SwitchStatement(subject, labels, arms)

    def scope(self, depth):
        label = self.fresh("l") if self.rng.random() < 0.6 else None
        self.labels.append((label, False))
        body = self.statements(self.rng.randrange(1, 3), depth - 1)
        self.labels.pop()
        return Scope(label, body)

    def turns(self, most):
        """The number of turns for a loop here."""
        return self.rng.randrange(1, max(2, min(most, MOST_COST // self.weight) + 1))

    def loop_body(self, turns, depth, label):
        self.weight *= turns
        self.cost += self.weight
        self.labels.append((label, True))
        body = self.statements(self.rng.randrange(1, 3), depth - 1)
        self.labels.pop()
        self.weight //= turns
        return body

    def label(self):
        return self.fresh("l") if self.rng.random() < 0.3 else None

    def while_loop(self, depth):
        rng = self.rng
        kind = rng.choice([named(n) for n in ("u8", "u16", "i16", "i32", "u32", "i64")])
        counter, turns, step, label = self.fresh("c"), self.turns(6), rng.randrange(1, 4), \
            self.label()
        name = Name(kind, counter)
        condition = Compare(BOOL, "<", name, Literal(kind, turns * step, True))
        if rng.random() < 0.3:
            condition = Logic(BOOL, "and", condition, self.expr(BOOL, 1))
        kept = list(self.bindings)
        self.bind(counter, kind, False)
        body = self.loop_body(turns, depth, label)
        self.bindings = kept
        loop = While(label, body, condition, Assign(name, "+", Literal(kind, step, True)))
        return Arm([Declare(counter, kind, Literal(kind, 0, True)), loop])

    def for_range(self, depth):
        rng = self.rng
        kind = rng.choice([named(n) for n in ("u16", "i16", "u32", "i32", "u8")])
        turns, step, label = self.turns(6), rng.randrange(1, 4), self.label()
        start = rng.randrange(-4 if kind.signed else 0, 5)
        stop = Literal(kind, start + turns * step, True)
        bounds = [Literal(kind, start, True), stop, Literal(kind, step, True)]
        if kind.signed and rng.random() < 0.3:
            bounds = [stop, bounds[0], Literal(kind, -step, True)]
        elif self.found(kind) and rng.random() < 0.4 and turns >= 3:
            bounds = [Literal(kind, 0, True),
                      Binary(kind, "&", self.operand(kind), Literal(kind, 3, True)),
                      Literal(kind, 1, True)]
        item = self.fresh("i")
        kept = list(self.bindings)
        self.bind(item, kind, False)
        body = self.loop_body(turns, depth, label)
        self.bindings = kept
        return ForRange(label, body, kind, *bounds, item)

    def for_array(self, depth):
        rng = self.rng
        found = [b for b in self.bindings if isinstance(b.kind, Array)
                 and b.kind.count * self.weight < MOST_COST]
        if not found:
            return self.for_range(depth)
        over, label, item = rng.choice(found), self.label(), self.fresh("i")
        # The language does not specify the values that a loop sees if it changes its array.
        kept = list(self.bindings)
        self.bindings = [b for b in kept if b is not over and not isinstance(b.kind, Pointer)]
        self.bind(item, over.kind.element, False)
        if not any(isinstance(b.kind, Int) for b in self.bindings[:1]):
            self.bindings = kept
            return self.for_range(depth)
        body = self.loop_body(over.kind.count, depth, label)
        self.bindings = kept
        return ForArray(label, body, Name(over.kind, over.name), item,
                        inline=rng.random() < 0.2)

    def leave(self, depth):
        rng = self.rng
        condition = self.expr(BOOL, 2)
        ways = []
        if self.may_return:
            ways.append(lambda: Leave(condition, "return", None, self.coerced(self.result, 1)))
        loops = [label for label, loop in self.labels if loop]
        if loops and self.labels[-1][1] or any(label for label, _ in self.labels):
            named_loops = [label for label, loop in self.labels if loop and label]
            named_all = [label for label, _ in self.labels if label]
            inner = [None] if loops else []
            ways += [lambda: Leave(condition, "break", rng.choice(named_all + inner))] * 2
            if named_loops + inner:
                ways.append(lambda: Leave(condition, "continue", rng.choice(named_loops + inner)))
        return rng.choice(ways)() if ways else self.assign(depth)


class FloatLiteral(Literal):
    """A decimal literal, which takes the type of the other operand."""

    def text(self):
        number = formats.number(self.type.form, self.constant)
        return repr(number) if number >= 0 else f"({number!r})"


def has_enum(kind):
    """Has a field that not every bit pattern is a value of?"""
    return any(isinstance(t, Enum) or isinstance(t, Struct) and has_enum(t)
               for _, t in kind.fields)


def has_leave(body):
    return any(isinstance(s, Leave) and s.way == "return" for s in body)
