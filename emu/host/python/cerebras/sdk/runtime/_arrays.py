"""Checks of what scripts hand over: numbers, arrays, arguments of launches."""

import operator

import numpy as np

__all__ = ["argument_words", "flag", "host_words", "pair", "whole"]


_MOST = 2 ** 32 - 1        # what the library's numbers hold


def whole(name, value, least=0, most=_MOST, is_symbol=False):
    """A whole number from `least` to `most`, of any integer type; that of a symbol, perhaps."""
    try:
        number = operator.index(value)
    except TypeError:
        hint = ""
        if isinstance(value, (float, np.floating)):
            hint = "; `//` divides integers into integers"
        elif isinstance(value, np.ndarray):
            hint = "; are two arguments swapped?"
        elif isinstance(value, str) and is_symbol:
            hint = "; get_id() gives the number of a symbol"
        elif value is None and is_symbol:
            hint = "; get_id() gives None for a symbol that the program does not export"
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}{hint}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, not {number}")
    return number


def pair(name, value):
    """The two parts of a place, of a size, or of a rectangle, which has one of each."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (A, B), not {value!r}") from None
    return first, second


def flag(name, value):
    """True or False; a text would count as True, whatever it says."""
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError(f"{name} is True or False, not {value!r}")
    return bool(value)


def host_words(array, count, name, shape, writable=False):
    """A flat uint32 view of a host array, which must hold `count` elements of 32 bits.  `shape`
    says in words where the count comes from."""
    if not isinstance(array, np.ndarray):
        hint = "; are two arguments swapped?" if isinstance(array, (int, np.integer)) else ""
        raise TypeError(f"{name} must be a numpy array, not {type(array).__name__}{hint}")
    if np.ma.is_masked(array):
        raise ValueError(f"{name} has masked elements, for which there is no number; "
                         ".filled(NUMBER) puts one in their place")
    if array.dtype.itemsize != 4 or array.dtype.kind not in "iuf" or not array.dtype.isnative:
        raise TypeError(f"{name} has dtype {array.dtype}; elements must be 32 bits wide, int32, "
                        "uint32 or float32 as this machine has them" + _dtype_hint(array.dtype))
    if array.size < count:
        raise ValueError(f"{name} holds {array.size} elements, fewer than the {count} for {shape}")
    if writable and not (array.flags.writeable and array.flags.c_contiguous):
        raise ValueError(f"{name} must be writable and contiguous; a slice or a transposed array "
                         "is neither a place of its own: copy into a new array, then out of it")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint32)


def _dtype_hint(dtype):
    if not dtype.isnative and dtype.kind in "fiu":
        return f"; .astype(np.{np.dtype(dtype.newbyteorder('='))}) swaps their bytes"
    if dtype.itemsize == 8 and dtype.kind in "fiu":
        return f"; .astype(np.{np.dtype(dtype.kind + '4')}) makes them so"
    if dtype.itemsize == 2:
        return ("; a 16-bit element stands in the low half of a 32-bit one, see "
                "sdk_utils.input_array_to_u32 and memcpy_view")
    return ""


def argument_words(function, signature, values, range_of):
    """The 32-bit words of a launch's arguments after checking them against the exported type;
    range_of(NUMBER) gives the least and the greatest integer of a parameter."""
    inside = signature[signature.find("(") + 1:signature.rfind(")")]
    types = [t.strip() for t in inside.split(",")] if inside.strip() else []
    if len(values) != len(types):
        hint = ("; launch takes them one by one, not in a list"
                if len(values) == 1 and isinstance(values[0], (list, tuple)) else "")
        raise ValueError(f"launch: {function!r} takes {len(types)} argument(s) ({signature}), "
                         f"{len(values)} given{hint}")
    words = []
    for number, (value, kind) in enumerate(zip(values, types)):
        low, high = range_of(number)
        argument = _argument_number(value, kind, low, high,
                                    f"launch: argument {number + 1} of {function!r}")
        words.append(argument & 0xffffffff)
        if high - low >> 32:
            words.append(argument >> 32 & 0xffffffff)
    return words


def _argument_number(value, kind, low, high, where):
    """The argument as an integer, whose low bits are those that the tiles get."""
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise TypeError(f"{where} is one {kind}, an array of {value.size} given")
        value = value.reshape(-1)[0]
    if kind in _FLOATS:
        if not isinstance(value, (float, np.floating)):
            hint = "; float(...) makes one of it" if isinstance(value, (int, np.integer)) else ""
            raise TypeError(f"{where} is a float ({kind}), {value!r} given{hint}")
        return _float_word(value, kind, where)
    if isinstance(value, (float, np.floating)):
        raise TypeError(f"{where} is an integer ({kind}), {value!r} given")
    try:
        number = int(value) if isinstance(value, np.bool_) else operator.index(value)
    except TypeError:
        raise TypeError(f"{where} is an integer ({kind}), {value!r} given") from None
    if not low <= number <= high:
        raise ValueError(f"{where}: {number} is outside {low} to {high} ({kind})")
    return number


def _float_word(value, kind, where):
    """The word of a number; one that the format does not have would become infinite in silence."""
    word = _FLOATS[kind](value)
    if np.isfinite(value) and word in (_FLOATS[kind](np.inf), _FLOATS[kind](-np.inf)):
        raise ValueError(f"{where}: {value!r} is too large for {kind} and would become infinite")
    return word


def _word_of(dtype, words):
    def word(value):
        with np.errstate(over="ignore"):
            return int(np.array([value]).astype(dtype).view(words)[0])
    return word


def _narrow(exponent_bits, bias, fraction_bits):
    """The word of a 16-bit format, rounded to nearest, ties to even."""
    top = (1 << exponent_bits) - 1

    def word(value):
        value = float(value)
        sign = int(np.signbit(value)) << 15
        size = abs(value)
        if np.isnan(size):
            return top << fraction_bits | 1 << fraction_bits - 1
        if np.isinf(size):
            return sign | top << fraction_bits
        exponent = max(int(np.frexp(size)[1]) - 1, 1 - bias) if size else 1 - bias
        # Counted in units of the last place, a carry out of the fraction moves to the next
        # exponent by itself.
        units = int(np.rint(np.ldexp(size, fraction_bits - exponent)))
        pattern = (exponent + bias - 1 << fraction_bits) + units
        return sign | min(pattern, top << fraction_bits)
    return word


_FLOATS = {
    "f16": _word_of(np.float16, np.uint16),
    "f32": _word_of(np.float32, np.uint32),
    "bf16": _narrow(8, 127, 7),
    "cb16": _narrow(6, 42, 9),
}
