"""What callers hand over, checked: element formats, arrays, numbers, rectangles, choices."""
import numbers
from dataclasses import dataclass

import numpy

__all__ = ["ARCHS", "BlasError", "Element", "MOST_SIDE", "array_of", "check_choice", "check_length",
           "element_of", "number_of", "rectangle_of"]

ARCHS = ["wse2", "wse3"]
MOST_SIDE = 750              # tiles of a rectangle that any machine has, in both directions


class BlasError(RuntimeError):
    """The operation cannot be carried out as asked; the text says why, and what to do."""


# ---- elements ---------------------------------------------------------------------------------

@dataclass(frozen=True)
class Element:
    """A format of elements and of sums, as the programs of <blas/...> number it."""
    name: str
    number: int
    bits: int
    dtype: type              # numpy's; it has no bf16: those arrays are float32
    largest: float

    @property
    def is_bf16(self):
        return self.name.startswith("bf16")

    def words(self, array):
        """The elements as the host's 32-bit words."""
        if self.bits == 16 and not self.is_bf16:
            return array.view(numpy.uint16).astype(numpy.uint32)
        words = array.view(numpy.uint32)
        return words >> 16 if self.is_bf16 else words

    def array(self, words):
        """Elements from the host's words."""
        if self.bits == 16 and not self.is_bf16:
            return words.astype(numpy.uint16).view(numpy.float16)
        return (words << 16 if self.is_bf16 else words).view(numpy.float32)

    def rounded(self, array):
        """Numbers of any type in this format, to the nearest, ties to even."""
        with numpy.errstate(over="ignore"):
            return _rounded_to_bf16(array) if self.is_bf16 else \
                numpy.ascontiguousarray(array, self.dtype)

    def scaled(self, factor, array):
        """The factor times the elements; what is too large becomes infinite, as on the tiles."""
        with numpy.errstate(all="ignore"):
            return self.rounded(factor * array)


_LARGEST_BF16 = float.fromhex("0x1.fep127")
_F16, _F32 = (float(numpy.finfo(dtype).max) for dtype in (numpy.float16, numpy.float32))
ELEMENTS = {element.name: element for element in (
    Element("f16", 0, 16, numpy.float16, _F16), Element("f16_f32", 1, 16, numpy.float16, _F16),
    Element("f32", 2, 32, numpy.float32, _F32),
    Element("bf16", 0, 16, numpy.float32, _LARGEST_BF16),
    Element("bf16_f32", 1, 16, numpy.float32, _LARGEST_BF16))}
WITHOUT_SUMS = ["f16", "f32", "bf16"]      # operations whose sums have no format of their own


def _rounded_to_odd(array):
    """float32 numbers of which a second rounding makes the ones nearest to the array's: one that lies
    between two of float32 is the odd one of these."""
    near = numpy.ascontiguousarray(array, numpy.float32)
    is_long = array.dtype.kind in "iu" and array.dtype.itemsize == 8
    exact = array.astype(numpy.longdouble if is_long else numpy.promote_types(array.dtype, float))
    near = numpy.where(numpy.abs(near) > numpy.abs(exact), numpy.nextafter(near, numpy.float32(0)), near)
    words = near.view(numpy.uint32) | (near != exact)
    return words.view(numpy.float32)


def _rounded_to_bf16(array):
    """float32 numbers with 8 significant bits; what is not a number stays so."""
    words = _rounded_to_odd(array).view(numpy.uint32)
    near = (words + (0x7fff + (words >> 16 & 1)).astype(numpy.uint32)) & numpy.uint32(0xffff0000)
    near = numpy.where(numpy.isnan(array), numpy.uint32(0x7fc00000), near)
    return near.astype(numpy.uint32).view(numpy.float32).reshape(array.shape)


def element_of(name, first, known=tuple(ELEMENTS)):
    """The format that the caller names, or that of the first array."""
    if name is None:
        name = "f16" if getattr(first, "dtype", None) == numpy.float16 else "f32"
    check_choice(name, "element", known)
    return ELEMENTS[name]


# ---- arrays and numbers -------------------------------------------------------------------------

def _numbers_of(value, name):
    if numpy.ma.is_masked(value):
        raise BlasError(f"{name} has masked elements, for which there is no number: pass "
                        f"{name}.filled(0), or another number in their place")
    if hasattr(value, "toarray"):
        raise BlasError(f"{name} is a sparse matrix: pass {name}.toarray()")
    try:
        array = numpy.asarray(value)
    except ValueError:
        raise BlasError(f"{name} has rows of different lengths: pass a numpy array") from None
    if array.dtype.kind not in "fiub":
        raise BlasError(f"{name} has elements of type {array.dtype}: pass real numbers, floats or "
                        "integers")
    return array


def _check_range(name, array, near, element):
    """Numbers that the format does not have would become infinite without a word."""
    lost = numpy.isinf(near) & numpy.isfinite(array)
    if lost.any():
        raise BlasError(f"{name} has {array[lost].flat[0]:g}, and the largest number of {element.name} "
                        f"is {element.largest:g}: scale {name}, or take another element")


def array_of(value, name, dimensions, element, is_read=True):
    """A matrix (2) or vector (1) in the element's format.  Of one that the operation does not read, only
    the type and the shape count."""
    array = _numbers_of(value, name)
    what = "a matrix with rows and columns" if dimensions == 2 else "a vector of numbers"
    if array.ndim != dimensions:
        raise BlasError(f"{name} must be {what}, not of shape {array.shape}")
    near = element.rounded(array)
    if is_read:
        _check_range(name, array, near, element)
    return near


def number_of(value, name, element):
    """A factor, rounded to the element's format."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, numpy.number)) \
            or isinstance(value, numpy.complexfloating):
        raise BlasError(f"{name} must be a real number, not {value!r}")
    try:
        array = numpy.array([value], float)
    except OverflowError:
        raise BlasError(f"{name} is larger than any float, and the largest number of {element.name} is "
                        f"{element.largest:g}: scale {name}") from None
    near = element.rounded(array)
    _check_range(name, array, near, element)
    return near


def check_length(name, length, of, expected):
    if length != expected:
        raise BlasError(f"{name} has {length} elements, {of} has {expected}: they must be equal")


def check_choice(value, name, known):
    if not isinstance(value, str) or value not in known:
        raise BlasError(f"{name} is one of {', '.join(known)}, not {value!r}")


# ---- tiles ------------------------------------------------------------------------------------

def rectangle_of(tiles, default):
    """(width, height) that the caller asks for, or the default cut to what a machine has; of an empty
    problem it is one tile."""
    if tiles is None:
        return tuple(max(1, min(side, MOST_SIDE)) for side in default)
    try:
        width, height = tiles
    except (TypeError, ValueError):
        width = height = None
    for side in (width, height):
        is_whole = isinstance(side, numbers.Integral) and not isinstance(side, bool)
        if not is_whole or not 1 <= side <= MOST_SIDE:
            raise BlasError(f"tiles is (width, height) with 1 to {MOST_SIDE} each, not {tiles!r}")
    return int(width), int(height)
