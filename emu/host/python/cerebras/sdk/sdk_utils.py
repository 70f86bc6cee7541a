"""Helpers of host scripts for 16-bit data in 32-bit words."""

import numpy as np

from cerebras.sdk.runtime._arrays import whole

__all__ = ["calculate_cycles", "input_array_to_u32", "memcpy_view"]


def calculate_cycles(timestamp_buffer):
    """Cycles between two 48-bit timestamps.

    Three 32-bit words hold six 16-bit ones, low half first: the start's low, middle and high word,
    then the end's.
    """
    buffer = np.asarray(timestamp_buffer)
    _check_order("calculate_cycles", buffer.dtype)
    if buffer.dtype.itemsize not in (2, 4):
        raise TypeError("calculate_cycles needs words of 32 bits, as memcpy_d2h fills them, or of 16, "
                        f"not elements of dtype {buffer.dtype}")
    words = np.ascontiguousarray(buffer).reshape(-1).view(np.uint16).astype(np.int64)
    if words.size < 6:
        raise ValueError("calculate_cycles needs three 32-bit words")
    start = words[0] | words[1] << 16 | words[2] << 32
    end = words[3] | words[4] << 16 | words[5] << 32
    return np.int64(end - start)


def _check_array(call, array):
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{call} needs a numpy array, not {type(array).__name__}")
    _check_order(call, array.dtype)


def _check_order(call, dtype):
    """The bytes of big-endian elements would be taken for others."""
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise TypeError(f"{call}: elements of dtype {dtype} are no numbers as this machine has "
                        "them; .astype(...) converts")


def memcpy_view(arr, datatype):
    """A writable view of the low bytes of each 32-bit element as `datatype`."""
    wanted = np.dtype(datatype)
    _check_array("memcpy_view", arr)
    _check_order("memcpy_view", wanted)
    if arr.dtype.itemsize != 4:
        raise TypeError(f"memcpy_view needs 32-bit elements, not {arr.dtype}")
    if wanted.itemsize not in (1, 2, 4):
        raise TypeError(f"memcpy_view: {wanted} is not 1, 2 or 4 bytes wide")
    if wanted.itemsize == 4:
        return arr.view(wanted)
    # A structure with one field, because numpy cuts the elements of slices up in no other way.
    low = np.dtype({"names": ["low"], "formats": [wanted], "offsets": [0], "itemsize": 4})
    return arr.view(low)["low"]


_MOST_INDEX = 0xffff


def input_array_to_u32(np_arr, sentinel, fast_dim_sz):
    """16-bit elements as 32-bit words: the element in the low half; in the high half zero
    (sentinel None) or the element's index within the innermost dimension."""
    _check_array("input_array_to_u32", np_arr)
    if np_arr.dtype.itemsize != 2:
        raise TypeError(f"input_array_to_u32 needs 16-bit elements, not {np_arr.dtype}")
    words = np.ascontiguousarray(np_arr).reshape(-1).view(np.uint16).astype(np.uint32)
    if sentinel is not None:
        size = whole("input_array_to_u32: fast_dim_sz", fast_dim_sz, 1)
        if min(size, words.size) > _MOST_INDEX + 1:
            raise ValueError(f"input_array_to_u32: the high half of a word holds an index up to "
                             f"{_MOST_INDEX}; the innermost dimension has {size} elements")
        index = np.arange(words.size, dtype=np.uint32) % np.uint32(size)
        words |= index << np.uint32(16)
    return words
