"""Device floats from exact integer arithmetic: a finite value is (negative, n, e), that is n * 2^e;
each operation computes exactly and rounds once, to nearest with ties to even."""
from dataclasses import dataclass

NAN, INFINITE = "nan", "infinite"


@dataclass(frozen=True)
class Format:
    exponent_bits: int
    fraction_bits: int
    bias: int

    @property
    def sign(self):
        return 1 << (self.exponent_bits + self.fraction_bits)

    @property
    def infinity(self):
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def nan(self):
        return self.infinity | 1 << (self.fraction_bits - 1)

    @property
    def bytes(self):
        return (1 + self.exponent_bits + self.fraction_bits) // 8


F32 = Format(8, 23, 127)
F16, BF16, CB16 = Format(5, 10, 15), Format(8, 7, 127), Format(6, 9, 42)
HALVES = (F16, BF16, CB16)      # by their number in an image


def unpack(f, bits):
    """(negative, n, e), (negative, INFINITE, 0) or NAN."""
    negative, bits = bool(bits & f.sign), bits & (f.sign - 1)
    if bits > f.infinity:
        return NAN
    if bits == f.infinity:
        return negative, INFINITE, 0
    field, fraction = bits >> f.fraction_bits, bits & ((1 << f.fraction_bits) - 1)
    if field:
        fraction |= 1 << f.fraction_bits
    return negative, fraction, max(field, 1) - f.bias - f.fraction_bits


def pack(f, negative, n, e, d=1):
    """n / d * 2^e, n and d not negative, rounded to the format."""
    sign = f.sign if negative else 0
    if n == 0:
        return sign
    more = max(0, f.fraction_bits + 4 - n.bit_length() + d.bit_length())
    n, e = n << more, e - more
    quotient, rest = divmod(n, d)
    unit = max(quotient.bit_length() - 1 + e, 1 - f.bias) - f.fraction_bits
    shift = unit - e
    if shift > 0:
        kept, low = quotient >> shift, quotient & ((1 << shift) - 1)
        half = 1 << (shift - 1)
        kept += low > half or (low == half and (rest > 0 or kept & 1))
    else:
        kept = quotient << -shift       # d was 1, so nothing is lost
    if kept >> (f.fraction_bits + 1):
        kept, unit = kept >> 1, unit + 1
    if not kept >> f.fraction_bits:
        return sign | kept              # subnormal, or zero
    field = unit + f.fraction_bits + f.bias
    if field >= (1 << f.exponent_bits) - 1:
        return sign | f.infinity
    return sign | field << f.fraction_bits | kept & ((1 << f.fraction_bits) - 1)


def pack_value(f, value):
    if value == NAN:
        return f.nan
    negative, n, e = value
    return (f.sign if negative else 0) | f.infinity if n == INFINITE else pack(f, negative, n, e)


def negated(value):
    return value if value == NAN else (not value[0], value[1], value[2])


def add(x, y):
    """Exact; a sum of zero is negative only if both are."""
    if x == NAN or y == NAN:
        return NAN
    if x[1] == INFINITE or y[1] == INFINITE:
        if x[1] == y[1] and x[0] != y[0]:
            return NAN
        return x if x[1] == INFINITE else y
    e = min(x[2], y[2])
    total = sum((-v[1] if v[0] else v[1]) << (v[2] - e) for v in (x, y))
    if total == 0:
        return x[0] and y[0], 0, 0
    return total < 0, abs(total), e


def multiply(x, y):
    if x == NAN or y == NAN:
        return NAN
    negative = x[0] != y[0]
    if INFINITE in (x[1], y[1]):
        return NAN if 0 in (x[1], y[1]) else (negative, INFINITE, 0)
    return negative, x[1] * y[1], x[2] + y[2]


def divide(f, a, b):
    x, y = unpack(f, a), unpack(f, b)
    if x == NAN or y == NAN:
        return f.nan
    negative = f.sign if x[0] != y[0] else 0
    if x[1] == INFINITE:
        return f.nan if y[1] == INFINITE else negative | f.infinity
    if y[1] == INFINITE:
        return negative
    if y[1] == 0:
        return f.nan if x[1] == 0 else negative | f.infinity
    return pack(f, bool(negative), x[1], x[2] - y[2], y[1])


def binary(f, operation, a, b):
    """Bits of a + b, a - b, a * b, a / b or the larger of both."""
    if operation == "div":
        return divide(f, a, b)
    x, y = unpack(f, a), unpack(f, b)
    if operation == "max":
        return pack_value(f, larger(x, y))
    if operation == "mul":
        return pack_value(f, multiply(x, y))
    return pack_value(f, add(x, negated(y) if operation == "sub" else y))


def fused(f, a, b, c):
    """Bits in format f of a * b + c, all values, rounded once."""
    return pack_value(f, add(multiply(a, b), c))


def order(x, y):
    """-1, 0 or 1; None if one is NaN."""
    if x == NAN or y == NAN:
        return None
    if INFINITE in (x[1], y[1]):
        rank = [0 if v[1] != INFINITE else -1 if v[0] else 1 for v in (x, y)]
        return (rank[0] > rank[1]) - (rank[0] < rank[1])
    negative, n, _ = add(x, negated(y))
    return 0 if n == 0 else -1 if negative else 1


def larger(x, y):
    """NaN if one is NaN; +0 counts as larger than -0."""
    which = order(x, y)
    if which is None:
        return NAN
    if which == 0:
        return y if x[0] else x
    return x if which > 0 else y


def scaled(f, bits, power):
    value = unpack(f, bits)
    if value == NAN or value[1] == INFINITE:
        return pack_value(f, value)
    return pack(f, value[0], value[1], value[2] + power)


def normalised(f, bits):
    """The value with exponent 0: in [1, 2), sign kept; zero, infinity and NaN stay."""
    value = unpack(f, bits)
    if value == NAN or value[1] in (INFINITE, 0):
        return pack_value(f, value)
    return pack(f, value[0], value[1], 1 - value[1].bit_length())


def converted(source, target, bits):
    return pack_value(target, unpack(source, bits))


def from_integer(f, value):
    return pack(f, value < 0, abs(value), 0)


def to_integer(f, bits, width, signed):
    """Toward zero.  NaN gives 0.  What is left is the low `width` bits of the value as an integer of
    64 bits of the same signedness, to which it is limited."""
    value = unpack(f, bits)
    if value == NAN:
        return 0
    low, high = (-(1 << 63), (1 << 63) - 1) if signed else (0, (1 << 64) - 1)
    if value[1] == INFINITE:
        whole = low if value[0] else high
    else:
        whole = value[1] << value[2] if value[2] >= 0 else value[1] >> -value[2]
        whole = min(max(-whole if value[0] else whole, low), high)
    return whole & ((1 << width) - 1)
