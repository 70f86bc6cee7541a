"""Looking into the tiles of a program that has ended: symbols and <debug> traces.

    runner.stop()
    debug = debug_util("out")
    debug.get_symbol(4, 1, "y", np.float32)

Coordinates are those of the fabric: the program's rectangle starts at its fabric offsets.  The
tiles are those of the program that this process ran last; in another process, those of the core
corefile.cs1, which SdkRuntime.dump_core has written, or a run with --save-state=corefile.cs1.
"""

from pathlib import Path

import numpy as np

from cerebras.sdk.runtime import sdkruntimepybind
from cerebras.sdk.runtime._platform import refuse_address
from cerebras.sdk.runtime._tiles import CoreTiles

__all__ = ["debug_util", "read_trace_of"]

_TRACE_BUFFER = "debug_trace_buffer"   # of <debug>, which has the meaning of the words
_HEAD_WORDS = 2
_HAS_NO_KEY = 0x8000                   # beside the length of the import's name


def _bf16(words):
    return np.array([words[0] << 16], np.uint32).view(np.float32)[0]


def _cb16(words):
    """6 bits of exponent with bias 42, 9 of fraction."""
    word = words[0]
    exponent, fraction = word >> 9 & 0x3f, word & 0x1ff
    sign = -1.0 if word >> 15 else 1.0
    if exponent == 0x3f:
        return np.float32(np.nan if fraction else sign * np.inf)
    if exponent == 0:
        return np.float32(sign * fraction * 2.0 ** (1 - 42 - 9))
    return np.float32(sign * (1 + fraction / 512) * 2.0 ** (exponent - 42))


def _value(dtype):
    """Reads one numpy scalar from the record's words."""
    def read(words):
        return np.array(words, np.uint16).view(dtype)[0]
    return read


# Kind of record: words of its value, and how they become a Python value.
_STRING = 10
_RECORDS = {
    1: (1, lambda words: bool(words[0])),
    2: (1, lambda words: np.uint8(words[0] & 0xff)),
    3: (1, lambda words: np.array([words[0] & 0xff], np.uint8).view(np.int8)[0]),
    4: (1, _value(np.uint16)),
    5: (1, _value(np.int16)),
    6: (1, _value(np.float16)),
    7: (2, _value(np.uint32)),
    8: (2, _value(np.int32)),
    9: (2, _value(np.float32)),
    11: (3, lambda words: words[0] | words[1] << 16 | words[2] << 32),
    12: (1, _bf16),
    13: (1, _cb16),
}


def _text(words, length):
    return np.array(words, np.uint16).tobytes()[:length].decode("utf-8", "replace")


def _tiles_of(bindir):
    """What has the tiles of the program in `bindir`: its runtime, or a core file."""
    runtime = sdkruntimepybind.stopped_runtime(bindir)
    if runtime:
        return runtime
    core = Path("corefile.cs1")
    if not core.exists():
        raise RuntimeError(f"the program in {bindir} has not been run and stopped in this "
                           "process: call stop() of its SdkRuntime first, or, to look from "
                           'another process, dump_core("corefile.cs1")')
    return CoreTiles(bindir, core)


class debug_util:
    """The state in which the last run of the program in `bindir` has ended."""

    def __init__(self, bindir, cmaddr=None):
        refuse_address(cmaddr)
        self._bindir = bindir
        self._found = None

    @property
    def _runtime(self):
        """Looked for at the first question: scripts make the object before they run the program."""
        if self._found is None:
            self._found = _tiles_of(self._bindir)
        return self._found

    def get_symbol(self, col, row, symbol, dtype):
        """The content of a symbol of one tile, as an array of `dtype`."""
        return self._runtime.read_symbol(col, row, symbol, dtype)

    def get_symbol_rect(self, rectangle, symbol, dtype):
        """The same for ((col, row), (width, height)): an array [width][height][...]."""
        return self._runtime.read_symbol_rect(rectangle, symbol, dtype)

    def read_trace(self, col, row, key):
        """What the tile recorded under the key, in order: numbers, booleans and strings."""
        return read_trace_of(self._runtime, col, row, key)


def read_trace_of(tiles, col, row, key):
    """The same of any tiles that can be read."""
    found = []
    for words in _buffers(tiles, col, row):
        length = words[1] & ~_HAS_NO_KEY
        label, no_key = _text(words[_HEAD_WORDS:], length), bool(words[1] & _HAS_NO_KEY)
        if key == label or (no_key and key == ""):
            return _read_records(words, _HEAD_WORDS + (length + 1) // 2)
        found.append(label)
    have = f"it has {', '.join(map(repr, found))}" if found else "its program imports no <debug>"
    have += "; an import of <debug> gets a name with .key" if "" in found else ""
    raise ValueError(f"tile ({col}, {row}) records no trace {key!r}; {have}")


def _buffers(tiles, col, row):
    for name in tiles.symbols(col, row):
        if _TRACE_BUFFER in name.split("."):
            yield [int(w) for w in tiles.read_symbol(col, row, name, np.uint16)]


def _read_records(words, at):
    """The records from word `at` on.  They end at the mark of a full buffer, and where a word can be
    none of theirs, because something else has overwritten the memory."""
    records = []
    words = words[:words[0]]
    while at < len(words):
        kind, rest = words[at], words[at + 1:]
        length = rest[0] if kind == _STRING and rest else 0
        count, read = ((1 + (length + 1) // 2, lambda value: _text(value[1:], length))
                       if kind == _STRING else _RECORDS.get(kind, (0, None)))
        if read is None or len(rest) < count:
            break
        records.append(read(rest[:count]))
        at += 1 + count
    return records
