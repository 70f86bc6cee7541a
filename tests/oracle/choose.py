"""Random types and values."""
import re

from oracle import formats
from oracle.types import (BOOL, F32, FLOATS, Array, Bool, Enum, Float, Int, Struct, Union,
                          alignment_bits, array, integer, named)

COMMON = [named(n) for n in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")]
WIDEST = 256


def some_integer(rng):
    roll = rng.random()
    if roll < 0.62:
        return rng.choice(COMMON)
    if roll < 0.88:
        width = rng.choice((rng.randrange(1, 17), rng.randrange(17, 65)))
        return integer(width, rng.random() < 0.5)
    if roll < 0.94:
        return integer(rng.choice((65, 72, 96, 127, 128, 129, 200, WIDEST)), rng.random() < 0.5)
    return integer(rng.randrange(65, WIDEST + 1), rng.random() < 0.5)


def narrow_integer(rng):
    """Of at most 64 bits."""
    kind = some_integer(rng)
    return kind if kind.width <= 64 else rng.choice(COMMON)


def value(rng, kind, small=False):
    """small: a value that computations rarely take out of its type."""
    if isinstance(kind, Bool):
        return rng.random() < 0.5
    if isinstance(kind, Int):
        return integer_value(rng, kind, small)
    if isinstance(kind, Float):
        return float_value(rng, kind.form, small)
    if isinstance(kind, Enum):
        return rng.choice(kind.values)
    if isinstance(kind, Array):
        return [value(rng, kind.element, small) for _ in range(kind.count)]
    if isinstance(kind, Union):
        name, first = kind.fields[0]
        return first.encode(value(rng, first, small))
    return kind.make([value(rng, of, small) for _, of in kind.fields])


def integer_value(rng, kind, small):
    roll = rng.random()
    if small or roll < 0.25:
        return min(kind.high, max(kind.low, rng.randrange(0 if small else -3, 14)))
    if roll < 0.45:
        power = 1 << rng.randrange(kind.width)
        return kind.wrap(rng.choice((power, power - 1, -power, ~power)))
    if roll < 0.6:
        return rng.choice((kind.low, kind.high, kind.high - 1, kind.low + 1))
    if roll < 0.7:
        return kind.wrap(rng.getrandbits(min(kind.width, 20)))
    return kind.wrap(rng.getrandbits(kind.width))


def float_value(rng, form, small):
    roll = rng.random()
    if small or roll < 0.25:
        return formats.rounded(form, rng.randrange(-8, 30) / 4)
    if roll < 0.45:
        return rng.choice((0, form.infinity, form.nan, 1, form.infinity - 1, 1 << form.fraction,
                           formats.rounded(form, 1.0))) | (form.sign if rng.random() < 0.5 else 0)
    if roll < 0.8:
        return formats.rounded(form, rng.uniform(-300, 300))
    bits = rng.getrandbits(form.width)
    return form.nan if formats.is_nan(form, bits) else bits


def subject_label(rng, kind):
    return kind.wrap(rng.randrange(-2, 9))


class Types:
    """The named types of one program; half: its 16-bit float type."""

    def __init__(self, rng, half):
        self.rng, self.half = rng, FLOATS[half]
        self.enums = [self.enum(i) for i in range(2)]
        self.plain = [self.struct(f"S{i}", "") for i in range(3)]
        self.extern = [self.struct(f"X{i}", "extern") for i in range(2)]
        self.packed = [self.packed_struct(f"P{i}") for i in range(3)]
        self.packed.append(self.packed_struct("P3", self.packed[:2]))
        self.unions = [self.union("U0", ""), self.union("U1", "extern"), self.packed_union("V0"),
                       self.packed_union("V1")]
        self.plain.append(self.struct("S3", "", self.plain + self.extern + self.packed +
                                      self.unions))
        self.all = self.extern + self.plain + self.packed + self.unions

    def declarations(self):
        return [k.declaration() for k in self.declared()]

    def declared(self):
        """Each behind those that it is made of."""
        order = self.enums + self.extern + self.packed + self.unions + self.plain
        extra = [t for u in self.unions for _, t in u.fields if isinstance(t, Struct)]
        seen = []
        for kind in self.enums + self.extern + self.packed + extra + order:
            if kind not in seen:
                seen.append(kind)
        return seen

    def scalar(self):
        roll = self.rng.random()
        if roll < 0.15:
            return BOOL
        if roll < 0.35:
            return self.rng.choice((F32, self.half))
        if roll < 0.42:
            return self.rng.choice(self.enums)
        return some_integer(self.rng)

    def enum(self, number):
        base = self.rng.choice([named(n) for n in ("u8", "i16", "u16", "i32", "u3")])
        low, high = max(base.low, -40), min(base.high, 90)
        values = self.rng.sample(range(low, high + 1), self.rng.randrange(2, 5))
        return Enum(f"E{number}", base, values)

    def struct(self, name, kind, others=()):
        rng = self.rng
        fields = []
        for i in range(rng.randrange(2, 5)):
            if kind == "extern":
                of = rng.choice(COMMON + [F32, self.half])
            else:
                of = rng.choice(others) if others and rng.random() < 0.6 else self.scalar()
            if rng.random() < 0.2 and (of.scalar or kind == "extern"):
                of = array(of, rng.choice((2, 3, 4)))
            fields.append((f"f{i}", of))
        return Struct(name, kind, fields)

    def packed_field(self):
        roll = self.rng.random()
        if roll < 0.15:
            return BOOL
        if roll < 0.25:
            return self.rng.choice((F32, self.half))
        if roll < 0.35:
            return self.rng.choice(self.enums)
        if roll < 0.45:
            return some_integer(self.rng)
        return integer(self.rng.randrange(1, 20), self.rng.random() < 0.5)

    def packed_struct(self, name, others=()):
        fields = []
        for i in range(self.rng.randrange(1, 6)):
            of = self.rng.choice(others) if others and self.rng.random() < 0.5 \
                else self.packed_field()
            if sum(t.width for _, t in fields) + of.width <= WIDEST:
                fields.append((f"f{i}", of))
        return Struct(name, "packed", fields)

    def sized_struct(self, name, width):
        """A packed struct of exactly so many bits."""
        fields, left = [], width
        while left:
            size = min(left, self.rng.randrange(1, max(2, width)))
            fields.append((f"f{len(fields)}", integer(size, self.rng.random() < 0.5)))
            left -= size
        return Struct(name, "packed", fields)

    def filled_struct(self, name, width):
        """An extern struct of exactly so many bits, without padding."""
        fields, at = [], 0
        while at < width:
            fit = [k for k in COMMON + [F32, self.half]
                   if at + k.width <= width and at % alignment_bits(k) == 0]
            fields.append((f"f{len(fields)}", self.rng.choice(fit)))
            at += fields[-1][1].width
        return Struct(name, "extern", fields)

    def union(self, name, kind):
        """Of fields of the same size in memory, none with padding: that has no value, and the other
        fields would show it."""
        rng, width = self.rng, self.rng.choice((16, 32, 64))
        found = [integer(width, 0), integer(width, 1)]
        found += [f for f in (F32, self.half) if f.width == width]
        found += [array(integer(w, rng.random() < 0.5), width // w) for w in (8, 16, 32)
                  if w < width]
        found += [array(f, width // f.width) for f in (F32, self.half) if f.width < width]
        found.append(self.filled_struct(name + "X", width))
        fields = rng.sample(found, min(len(found), rng.randrange(2, 4)))
        return Union(name, kind, [(f"f{i}", of) for i, of in enumerate(fields)])

    def packed_union(self, name):
        rng = self.rng
        width = rng.choice((16, 32, rng.randrange(2, 64), rng.randrange(65, 200)))
        found = [integer(width, 0), integer(width, 1), self.sized_struct(name + "P", width)]
        found += [f for f in (F32, self.half) if f.width == width]
        fields = rng.sample(found, rng.randrange(2, len(found) + 1))
        return Union(name, "packed", [(f"f{i}", of) for i, of in enumerate(fields)])

    def used(self, functions):
        """The types whose names stand in the functions, and those in them."""
        text = " ".join(f.text() for f in functions)
        found = []
        for line, kind in zip(reversed(self.declarations()), reversed(self.declared())):
            if re.search(rf"\b{kind.name}\b", text):
                text += line
                found.insert(0, kind)
        return found
