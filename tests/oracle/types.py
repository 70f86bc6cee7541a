"""The types of the generated programs: how they are written, what their values are.

A value of an integer type is a Python integer in the type's range, of a float type or an enum its
bits, of a packed struct or a union its bits (an integer), of an array or another struct a list.
"""
from dataclasses import dataclass, field

from oracle import formats


class Type:
    """width: bits of a value, for scalars, packed structs and unions."""
    scalar = False
    bits_only = False             # a value is an integer that holds bits

    def copy(self, value):
        return value

    def __str__(self):
        return self.name

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other


class Int(Type):
    scalar = True

    def __init__(self, width, signed):
        self.width, self.signed = width, signed
        self.name = f"{'i' if signed else 'u'}{width}"
        self.low = -(1 << (width - 1)) if signed else 0
        self.high = (1 << (width - signed)) - 1

    def wrap(self, value):
        value &= (1 << self.width) - 1
        return value - (1 << self.width) if value > self.high else value

    def encode(self, value):
        return value & ((1 << self.width) - 1)

    decode = wrap


class Bool(Type):
    scalar = True
    name, width = "bool", 1

    def encode(self, value):
        return int(value)

    def decode(self, bits):
        return bool(bits & 1)


class Float(Type):
    scalar = True

    def __init__(self, form):
        self.form, self.name, self.width = form, form.name, form.width

    def encode(self, value):
        return value

    def decode(self, bits):
        return bits & ((1 << self.width) - 1)


class Enum(Type):
    """values: those of the members, in the range of `base`; a value is one of them."""
    scalar = True

    def __init__(self, name, base, values):
        self.name, self.base, self.values = name, base, values
        self.width = base.width

    def encode(self, value):
        return self.base.encode(value)

    def decode(self, bits):
        return self.base.decode(bits)

    def declaration(self):
        members = ", ".join(f"m{i} = {v}" for i, v in enumerate(self.values))
        return f"const {self.name} = enum({self.base}) {{ {members} }};"


class Array(Type):
    def __init__(self, element, dims):
        self.element, self.dims = element, tuple(dims)
        self.name = f"[{', '.join(map(str, dims))}]{element}"
        self.count = 1
        for d in dims:
            self.count *= d

    def copy(self, value):
        if self.element.scalar or self.element.bits_only:
            return list(value)
        return [self.element.copy(v) for v in value]

    def stride(self):
        return memory_bits(self.element)

    def encode(self, value):
        return sum(self.element.encode(v) << i * self.stride() for i, v in enumerate(value))

    def decode(self, bits):
        mask = (1 << self.stride()) - 1
        return [self.element.decode(bits >> i * self.stride() & mask) for i in range(self.count)]


@dataclass(eq=False)
class Struct(Type):
    """kind: "", "extern" or "packed"."""
    name: str
    kind: str
    fields: list                  # (name, type)
    offsets: list = field(default_factory=list)     # in bits, of packed and extern ones

    def __post_init__(self):
        self.bits_only = self.kind == "packed"
        self.width = 0
        for _, kind in self.fields if self.kind else []:
            size = alignment_bits(kind) if self.kind == "extern" else 1
            self.offsets.append(-(-self.width // size) * size)
            self.width = self.offsets[-1] + (kind.width if self.bits_only else memory_bits(kind))

    def copy(self, value):
        if self.bits_only:
            return value
        return [kind.copy(v) for (_, kind), v in zip(self.fields, value)]

    def make(self, values):
        """The value with those fields."""
        return self.encode(values) if self.bits_only else values

    def encode(self, value):
        if isinstance(value, int):
            return value
        return sum(kind.encode(v) << at
                   for (_, kind), at, v in zip(self.fields, self.offsets, value))

    def decode(self, bits):
        if self.bits_only:
            return bits
        return [decoded(kind, bits >> at) for (_, kind), at in zip(self.fields, self.offsets)]

    def declaration(self):
        fields = ", ".join(f"{n}: {t}" for n, t in self.fields)
        kind = self.kind and self.kind + " "
        return f"const {self.name} = {kind}struct {{ {fields} }};"


@dataclass(eq=False)
class Union(Type):
    """All fields have the same width; kind as of structs."""
    name: str
    kind: str
    fields: list
    bits_only = True

    def __post_init__(self):
        first = self.fields[0][1]
        self.width = first.width if self.kind == "packed" else memory_bits(first)
        self.offsets = [0] * len(self.fields)

    def encode(self, value):
        return value

    def decode(self, bits):
        return bits & ((1 << self.width) - 1)

    def declaration(self):
        fields = ", ".join(f"{n}: {t}" for n, t in self.fields)
        kind = self.kind and self.kind + " "
        return f"const {self.name} = {kind}union {{ {fields} }};"


class Pointer(Type):
    """To one object, or with `many` to the elements of an array."""

    def __init__(self, target, many=False):
        self.target, self.many = target, many
        self.name = f"{'[*]' if many else '*'}{target}"


def decoded(kind, bits):
    return kind.decode(bits & ((1 << memory_bits(kind)) - 1))


def memory_bits(kind):
    """What a value takes in memory, where the language says so."""
    if isinstance(kind, Array):
        return kind.count * kind.stride()
    if isinstance(kind, (Float, Union)) or isinstance(kind, Int) and kind.width in (8, 16, 32, 64):
        return kind.width
    if isinstance(kind, Struct) and kind.kind == "extern":
        size = alignment_bits(kind)
        return -(-kind.width // size) * size
    if isinstance(kind, Struct) and kind.kind == "packed" and kind.width in (16, 32):
        return kind.width
    raise ValueError(f"the layout of {kind} is not specified")


def alignment_bits(kind):
    if isinstance(kind, Array):
        return alignment_bits(kind.element)
    if isinstance(kind, Struct):
        return max(alignment_bits(t) for _, t in kind.fields)
    return min(memory_bits(kind), 32)


BOOL = Bool()
_ints = {}


def integer(width, signed):
    key = width, bool(signed)
    if key not in _ints:
        _ints[key] = Int(width, signed)
    return _ints[key]


FLOATS = {name: Float(form) for name, form in formats.FORMATS.items()}
F32 = FLOATS["f32"]
U16, I16, U32, I32, U64 = (integer(16, 0), integer(16, 1), integer(32, 0), integer(32, 1),
                           integer(64, 0))
_arrays = {}
_pointers = {}


def array(element, *dims):
    return _arrays.setdefault((element, dims), Array(element, dims))


def pointer(target, many=False):
    return _pointers.setdefault((target, many), Pointer(target, many))


def named(text):
    """The scalar type of that name."""
    if text == "bool":
        return BOOL
    return FLOATS[text] if text in FLOATS else integer(int(text[1:]), text[0] == "i")


def widens(source, target):
    """Does a value known at run time only coerce?"""
    if source is target:
        return True
    if isinstance(source, Int) and isinstance(target, Int):
        if source.signed == target.signed:
            return source.width < target.width
        return target.signed and source.width < target.width
    return isinstance(source, Float) and source.width == 16 and target is F32


def widened(source, target, value):
    if isinstance(source, Float) and source is not target:
        return formats.converted(source.form, target.form, value)
    return value
