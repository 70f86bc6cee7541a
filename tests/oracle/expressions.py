"""Expressions: each class prints itself (text) and computes itself (value).

`type` is the type of the result. A value of an array or struct is not copied: the code that stores
it copies it.
"""
from dataclasses import dataclass, fields

from oracle import formats
from oracle.places import Bits, Break, Frame, Many, Slot
from oracle.types import (Array, Bool, Enum, Float, Int, Struct, Type, Union, memory_bits,
                          widened)


@dataclass(eq=False)
class Node:
    """A node of a tree; its children are the fields that are nodes or lists of nodes."""

    def children(self):
        """(field, index or None, node)"""
        for f in fields(self):
            held = getattr(self, f.name)
            if isinstance(held, Node):
                yield f.name, None, held
            elif isinstance(held, list):
                for i, item in enumerate(held):
                    if isinstance(item, Node):
                        yield f.name, i, item


@dataclass(eq=False)
class Expr(Node):
    type: Type


def part_bits(kind):
    """Bits of a field of a packed struct or union, or of what stands in memory."""
    return kind.width if hasattr(kind, "width") and not isinstance(kind, Struct) \
        or isinstance(kind, Struct) and kind.bits_only else memory_bits(kind)


# ---- leaves --------------------------------------------------------------------------------------


def literal(kind, value, bare=False):
    """bare: an integer without its type."""
    if isinstance(kind, Bool):
        return "true" if value else "false"
    if isinstance(kind, Float):
        return f"@bitcast({kind}, @as(u{kind.width}, {value}))"
    if isinstance(kind, Enum):
        return f"{kind}.m{kind.values.index(value)}"
    if isinstance(kind, Int):
        return str(value) if bare else f"@as({kind}, {value})"
    if isinstance(kind, Array):
        return f"{kind}{{ {', '.join(literal(kind.element, v) for v in value)} }}"
    if kind.bits_only:
        if isinstance(kind, Union):
            name, of = kind.fields[0]
            return f"{kind}{{ .{name} = {literal(of, of.decode(value))} }}"
        value = [of.decode(value >> at & ((1 << of.width) - 1))
                 for (_, of), at in zip(kind.fields, kind.offsets)]
    parts = (f".{n} = {literal(t, v)}" for (n, t), v in zip(kind.fields, value))
    return f"{kind}{{ {', '.join(parts)} }}"


@dataclass(eq=False)
class Literal(Expr):
    constant: object
    bare: bool = False

    def text(self):
        return literal(self.type, self.constant, self.bare)

    def value(self, frame):
        return self.constant


@dataclass(eq=False)
class Name(Expr):
    name: str

    def text(self):
        return self.name

    def value(self, frame):
        return frame.cell(self.name)[0]

    def place(self, frame):
        return Slot(frame.cell(self.name), 0)


@dataclass(eq=False)
class Field(Expr):
    of: Expr
    index: int
    by_name: bool = False         # written @field(s, "name")

    def text(self):
        name = self.of.type.fields[self.index][0]
        if self.by_name:
            return f'@field({self.of.text()}, "{name}")'
        return f"{self.of.text()}.{name}"

    def value(self, frame):
        held = self.of.value(frame)
        if not isinstance(held, int):
            return held[self.index]
        self.note(frame)
        bits = held >> self.of.type.offsets[self.index]
        return self.type.decode(bits & ((1 << part_bits(self.type)) - 1))

    def note(self, frame):
        """Compile time reads no field of a union but the one that was set last."""
        if isinstance(self.of.type, Union) and self.of.type.kind != "packed":
            frame.run.refused = True

    def place(self, frame):
        self.note(frame)
        outer, kind = self.of.place(frame), self.of.type
        if isinstance(outer, Bits) or kind.bits_only:
            return Bits(outer, kind.offsets[self.index], self.type, part_bits(self.type))
        return Slot(outer.get(), self.index)


@dataclass(eq=False)
class Index(Expr):
    """An element of an array; one index per dimension."""
    of: Expr
    at: list

    def text(self):
        return f"{self.of.text()}[{', '.join(e.text() for e in self.at)}]"

    def flat(self, frame):
        position = 0
        for expr, size in zip(self.at, self.of.type.dims):
            index = expr.value(frame)
            assert 0 <= index < size, "an index out of range"
            position = position * size + index
        return position

    def value(self, frame):
        return self.of.value(frame)[self.flat(frame)]

    def place(self, frame):
        outer, position = self.of.place(frame), self.flat(frame)
        if isinstance(outer, Bits):
            stride = self.of.type.stride()
            return Bits(outer, position * stride, self.type, stride)
        return Slot(outer.get(), position)


@dataclass(eq=False)
class Deref(Expr):
    pointer: Expr

    def text(self):
        return f"{self.pointer.text()}.*"

    def value(self, frame):
        return self.place(frame).get()

    def place(self, frame):
        return self.pointer.value(frame)


@dataclass(eq=False)
class ManyIndex(Expr):
    """An element through a pointer to many."""
    pointer: Expr
    at: Expr

    def text(self):
        return f"{self.pointer.text()}[{self.at.text()}]"

    def value(self, frame):
        return self.place(frame).get()

    def place(self, frame):
        pointer, index = self.pointer.value(frame), self.at.value(frame)
        assert 0 <= pointer.start + index < len(pointer.holder), "an index out of range"
        return pointer.at(index)


@dataclass(eq=False)
class AddressOf(Expr):
    of: Expr

    def text(self):
        return f"&{self.of.text()}"

    def value(self, frame):
        if not self.type.many:
            return self.of.place(frame)
        return Many(self.of.value(frame), 0)


@dataclass(eq=False)
class SliceFrom(Expr):
    """A pointer to many that begins at an element."""
    of: Expr
    at: Expr

    def text(self):
        return f"@ptrcast({self.type}, &{self.of.text()}[{self.at.text()}])"

    def value(self, frame):
        return Many(self.of.value(frame), self.at.value(frame))


# ---- operators -----------------------------------------------------------------------------------


@dataclass(eq=False)
class Widen(Expr):
    """A coercion, which the text does not show."""
    of: Expr

    def text(self):
        return self.of.text()

    def value(self, frame):
        return widened(self.of.type, self.type, self.of.value(frame))


def fitted(kind, exact, run):
    """An exact result as one of the type: it wraps, or is an error at compile time."""
    if kind.low <= exact <= kind.high:
        return exact
    run.refused = True
    return kind.wrap(exact)


@dataclass(eq=False)
class Unary(Expr):
    op: str                       # - ~ !
    of: Expr

    def text(self):
        return f"({self.op}{self.of.text()})"

    def value(self, frame):
        value, kind = self.of.value(frame), self.type
        if self.op == "!":
            return not value
        if self.op == "~":
            return kind.wrap(~value)
        if isinstance(kind, Float):
            return value ^ kind.form.sign
        return fitted(kind, -value, frame.run)


def divided(kind, a, b, run):
    """Quotient and remainder: toward zero; by zero 0 and the dividend."""
    if kind.width > 64:               # bit by bit, each in all limbs: 500,000 cycles for 256 bits
        run.step(kind.width ** 2 // 16)
    if b == 0:
        run.refused = True
        run.notes.add("division by zero" if kind.width <= 64 else "wide division by zero")
        return 0, a
    quotient = abs(a) // abs(b)
    quotient = -quotient if (a < 0) != (b < 0) else quotient
    return quotient, a - quotient * b


@dataclass(eq=False)
class Binary(Expr):
    """Arithmetic; both operands have the type of the result or widen to it."""
    op: str
    a: Expr
    b: Expr

    def text(self):
        return f"({self.a.text()} {self.op} {self.b.text()})"

    def value(self, frame):
        return combined(self.type, self.op, self.a.value(frame), self.b.value(frame), frame.run)


def combined(kind, op, a, b, run):
    if isinstance(kind, Float):
        return formats.combined(kind.form, op, a, b)
    if op == "&":
        return a & b
    if op == "|":
        return a | b
    if op == "^":
        return a ^ b
    if op == "/":
        return fitted(kind, divided(kind, a, b, run)[0], run)
    if op == "%":
        return divided(kind, a, b, run)[1]
    return fitted(kind, a + b if op == "+" else a - b if op == "-" else a * b, run)


@dataclass(eq=False)
class Shift(Expr):
    op: str
    of: Expr
    by: Expr

    def text(self):
        return f"({self.of.text()} {self.op} {self.by.text()})"

    def value(self, frame):
        return shifted(self.type, self.op, self.of.value(frame), self.by.value(frame), frame.run)


def shifted(kind, op, value, by, run):
    """By the width or more: 0, or the sign."""
    if by >= kind.width:
        run.refused = True
        run.notes.add("shift by more than 16 bits" if by > 0xffff else
                      "wide shift by the width" if kind.width > 64 else "shift by the width")
        by = kind.width
    if op == ">>":
        return value >> by
    return fitted(kind, value << by, run)


@dataclass(eq=False)
class Compare(Expr):
    op: str
    a: Expr
    b: Expr

    def text(self):
        return f"({self.a.text()} {self.op} {self.b.text()})"

    def value(self, frame):
        a, b = self.a.value(frame), self.b.value(frame)
        if isinstance(self.a.type, Float):
            form = self.a.type.form
            a, b = formats.number(form, a), formats.number(form, b)
        return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b,
                ">=": a >= b}[self.op]


@dataclass(eq=False)
class Logic(Expr):
    op: str                       # and, or
    a: Expr
    b: Expr

    def text(self):
        return f"({self.a.text()} {self.op} {self.b.text()})"

    def value(self, frame):
        if self.op == "and":
            return self.a.value(frame) and self.b.value(frame)
        return self.a.value(frame) or self.b.value(frame)


@dataclass(eq=False)
class As(Expr):
    """@as between numbers, bool and enums."""
    of: Expr

    def text(self):
        return f"@as({self.type}, {self.of.text()})"

    def value(self, frame):
        return converted(self.of.type, self.type, self.of.value(frame), frame.run)


def converted(source, target, value, run):
    if isinstance(source, Float):
        form = source.form
        if isinstance(target, Float):
            return value if source is target else formats.converted(form, target.form, value)
        if isinstance(target, Bool):
            return formats.number(form, value) != 0.0
        number, kind = formats.number(form, value), target
        if not (kind.low - 1 < number < kind.high + 1):
            run.refused = True
            run.notes.add("float out of range")
        value = formats.whole(form, value, kind.signed)
    value = int(value)
    if isinstance(target, Float):
        return formats.rounded(target.form, formats.Fraction(value))
    if isinstance(target, Bool):
        return value != 0
    return fitted(target.base if isinstance(target, Enum) else target, value, run)


@dataclass(eq=False)
class Bitcast(Expr):
    of: Expr

    def text(self):
        return f"@bitcast({self.type}, {self.of.text()})"

    def value(self, frame):
        return self.type.decode(self.of.type.encode(self.of.value(frame)))


# ---- aggregates ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Build(Expr):
    """A literal of an array, struct or union; named: with its type in front."""
    parts: list
    named: bool = True
    field: int = 0                # of a union

    def text(self):
        start = str(self.type) if self.named else "."
        if isinstance(self.type, Array):
            return f"{start}{{ {', '.join(p.text() for p in self.parts)} }}"
        names = [n for n, _ in self.type.fields]
        if isinstance(self.type, Union):
            names = [names[self.field]]
        return f"{start}{{ {', '.join(f'.{n} = {p.text()}' for n, p in zip(names, self.parts))} }}"

    def value(self, frame):
        values = [p.type.copy(p.value(frame)) for p in self.parts]
        if isinstance(self.type, Union):
            return self.parts[0].type.encode(values[0])
        return values if isinstance(self.type, Array) else self.type.make(values)


# ---- choices -------------------------------------------------------------------------------------


def of_arm(arm, frame):
    """The value of the arm that is taken.  Compile time does not look at the others, so the result
    has the type of this one, which may be narrower than at run time."""
    if isinstance(arm, Widen):
        frame.run.refused = True
    return arm.value(frame)


@dataclass(eq=False)
class Choice(Expr):
    """if as a value."""
    condition: Expr
    yes: Expr
    no: Expr

    def text(self):
        return f"(if ({self.condition.text()}) {self.yes.text()} else {self.no.text()})"

    def value(self, frame):
        return of_arm(self.yes if self.condition.value(frame) else self.no, frame)


@dataclass(eq=False)
class Switch(Expr):
    """switch as a value.  labels: for each arm but the last a list of numbers; the last is else."""
    subject: Expr
    labels: list
    arms: list

    def text(self):
        parts = [f"{', '.join(literal(self.subject.type, n, True) for n in ns)} => {arm.text()}"
                 for ns, arm in zip(self.labels, self.arms)]
        parts.append(f"else => {self.arms[-1].text()}")
        return f"(switch ({self.subject.text()}) {{ {', '.join(parts)} }})"

    def value(self, frame):
        return of_arm(chosen(self, frame), frame)


def chosen(switch, frame):
    subject = switch.subject.value(frame)
    for numbers, arm in zip(switch.labels, switch.arms):
        if subject in numbers:
            return arm
    return switch.arms[-1]


@dataclass(eq=False)
class Labelled(Expr):
    """A block with a value: its statements, and what it gives at its end."""
    label: str
    body: list
    result: Expr

    def text(self):
        body = " ".join(s.text() for s in self.body)
        return f"({self.label}: {{ {body} break :{self.label} {self.result.text()}; }})"

    def value(self, frame):
        try:
            for statement in self.body:
                statement.run(frame)
            return self.type.copy(of_arm(self.result, frame))
        except Break as left:
            if left.label != self.label:
                raise
            return left.value


@dataclass(eq=False)
class Call(Expr):
    """comptime: the value of the function's comptime parameter."""
    function: object
    arguments: list
    comptime: int = None

    def text(self):
        first = [] if self.comptime is None else [str(self.comptime)]
        return (f"{self.function.name}("
                f"{', '.join(first + [a.text() for a in self.arguments])})")

    def value(self, frame):
        return self.function.call(frame.run, [a.value(frame) for a in self.arguments],
                                  self.comptime)


@dataclass(eq=False)
class Through(Expr):
    """A call through a pointer to one of two functions of the same type."""
    label: str
    condition: Expr
    functions: list
    arguments: list

    def text(self):
        first, second = self.functions
        types = ", ".join(str(t) for _, t in first.params)
        return (f"({self.label}: {{ const at: *const fn({types}) {self.type} = "
                f"if ({self.condition.text()}) &{first.name} else &{second.name}; "
                f"break :{self.label} at({', '.join(a.text() for a in self.arguments)}); }})")

    def value(self, frame):
        callee = self.functions[0 if self.condition.value(frame) else 1]
        return callee.call(frame.run, [a.value(frame) for a in self.arguments], None)


def call(function, run, arguments, comptime):
    """A function's result; arguments are copied in, the result is copied out by its return."""
    frame = Frame(run)
    for (name, kind), value in zip(function.params, arguments):
        frame.cells[name] = [kind.copy(value)]
    if function.comptime:
        frame.cells[function.comptime] = [comptime]
    return function.execute(frame)
