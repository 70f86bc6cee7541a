"""Reads the data of a report page, written again from the description in
emu/observe/page_internal.h."""
import base64
import json
import re
import struct
import zlib

import numpy as np


class PageData:
    """`top` is the JSON; numbers(name) an array of the container, or None where it has none."""

    def __init__(self, data):
        assert data[:8] == b"WSEVIEW1"
        length, = struct.unpack_from("<I", data, 8)
        self.top = json.loads(zlib.decompress(data[12:12 + length]))
        self.rest = data[12 + length:]

    def numbers(self, name):
        row = self.top["arrays"].get(name)
        if row is None:
            return None
        raw = np.frombuffer(zlib.decompress(self.rest[row["at"]:row["at"] + row["bytes"]]), np.uint8)
        last = raw < 128
        assert last.sum() == row["count"]
        ends = np.flatnonzero(last)
        starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
        place = np.arange(len(raw)) - np.repeat(starts, ends - starts + 1)
        parts = (raw & 127).astype(np.uint64) << (7 * place).astype(np.uint64)
        return np.add.reduceat(parts, starts) if len(ends) else parts

    def channel(self, level, name):
        """Counts by step of time, row and column of a level."""
        shape = level["steps"], level["rows"], level["columns"]
        found = self.numbers(f"level{level['level']}.{name}")
        return np.zeros(shape, np.uint64) if found is None else found.reshape(shape)


def of_file(path):
    return PageData(path.read_bytes())


def of_page(path):
    text = path.read_text()
    found = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    return PageData(base64.b64decode(found[1]))
