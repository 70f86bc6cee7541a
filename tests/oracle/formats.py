"""Floating point as bit patterns: four IEEE 754 formats, one rounding per operation.

A value is an integer that holds its bits.  Python's float (53 bits of precision) holds every value
of the formats, and the sum, difference, product and quotient of two of them rounded to 53 bits and
then to the format is what one rounding gives, because 53 >= 2 * 24 + 2.
"""
import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    name: str
    width: int
    fraction: int                 # bits of the fraction
    bias: int

    @property
    def highest(self):
        """The exponent field of infinity and NaN."""
        return (1 << (self.width - 1 - self.fraction)) - 1

    @property
    def infinity(self):
        return self.highest << self.fraction

    @property
    def nan(self):
        return self.infinity | 1 << (self.fraction - 1)

    @property
    def sign(self):
        return 1 << (self.width - 1)


FORMATS = {f.name: f for f in (Format("f16", 16, 10, 15), Format("bf16", 16, 7, 127),
                               Format("cb16", 16, 9, 42), Format("f32", 32, 23, 127))}


def is_nan(form, bits):
    return bits & ~form.sign > form.infinity


def number(form, bits):
    """The value as a Python float, exact."""
    negative, size = bits & form.sign, bits & ~form.sign
    if size >= form.infinity:
        value = math.inf if size == form.infinity else math.nan
    else:
        exponent, fraction = size >> form.fraction, size & ((1 << form.fraction) - 1)
        if exponent:
            fraction |= 1 << form.fraction
        else:
            exponent = 1
        value = math.ldexp(fraction, exponent - form.bias - form.fraction)
    return -value if negative else value


def rounded(form, value):
    """The bits of the format's number nearest to a float or Fraction, ties to even."""
    if isinstance(value, float):
        if math.isnan(value):
            return form.nan
        negative = math.copysign(1.0, value) < 0
        if math.isinf(value):
            return form.infinity | (form.sign if negative else 0)
        top, bottom = abs(value).as_integer_ratio()
    else:
        negative, size = value < 0, abs(value)
        top, bottom = Fraction(size).as_integer_ratio()
    sign = form.sign if negative else 0
    if top == 0:
        return sign
    exponent = top.bit_length() - bottom.bit_length()
    if top << max(0, -exponent) < bottom << max(0, exponent):
        exponent -= 1
    exponent = max(exponent, 1 - form.bias)
    shift = exponent - form.fraction              # of the last place
    top, bottom = top << max(0, -shift), bottom << max(0, shift)
    places, rest = divmod(top, bottom)
    if rest * 2 > bottom or rest * 2 == bottom and places & 1:
        places += 1
    # A subnormal number has the field 0; a carry out of the fraction raises the exponent by itself.
    bits = places + ((exponent + form.bias - 1) << form.fraction)
    return sign | min(bits, form.infinity)


def _quotient(a, b):
    if b == 0.0:
        if a == 0.0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
              "/": _quotient}


def combined(form, op, a, b):
    return rounded(form, OPERATIONS[op](number(form, a), number(form, b)))


def converted(source, target, bits):
    return rounded(target, number(source, bits))


def whole(form, bits, signed):
    """The number toward zero, held at the ends of 64 bits; 0 for NaN."""
    low, high = (-(1 << 63), (1 << 63) - 1) if signed else (0, (1 << 64) - 1)
    value = number(form, bits)
    if math.isinf(value):
        return high if value > 0 else low
    return 0 if math.isnan(value) else min(high, max(low, int(value)))
