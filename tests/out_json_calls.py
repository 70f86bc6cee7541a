"""Changes an out.json at random and reads it: layout_of returns origin and streams, or says with a
ValueError what is wrong.

    cs_python out_json_calls.py FILE SECONDS SEED      prints the files read and those refused
"""
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from cerebras.sdk.runtime._artifact import layout_of

WORDS = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"-1", b"1e400", b"0.5", b"NaN",
         b'"streams"', b'"origin_x"', b"99999999999999999999", b"\xff\xfe", b"[" * 3000, b"\\ud800")
VALUES = (None, True, -1, 0, 1, 65536, 2 ** 70, 1.5, float("inf"), "", "x", [], {}, [{}], {"x": 1})


def changed_bytes(chance, text):
    text = bytearray(text)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice((0, 0, 1, 1, 9, 80)))
        text[at:end] = chance.choice((b"", bytes([chance.randrange(256)]), chance.choice(WORDS)))
    return bytes(text)


def changed_value(chance, value):
    """The same JSON value with something in it replaced, left out or put in."""
    if isinstance(value, dict) and value and chance.randrange(6):
        name = chance.choice(sorted(value))
        if not chance.randrange(8):
            return {n: v for n, v in value.items() if n != name}
        return {**value, name: changed_value(chance, value[name])}
    return chance.choice(VALUES)


def is_sound(origin, streams):
    whole = [*origin, *(s[n] for s in streams.values() for n in ("x", "y", "color", "size"))]
    return all(type(n) is int for n in whole) and all(type(n) is str for n in streams)


def main():
    file, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    text, chance, counts = file.read_bytes(), random.Random(seed), [0, 0]
    whole = json.loads(text)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "out.json"
        while time.monotonic() < end:
            if chance.randrange(2):
                copy.write_bytes(changed_bytes(chance, text))
            else:
                copy.write_text(json.dumps(changed_value(chance, whole)))
            try:
                assert is_sound(*layout_of(Path(folder))), copy.read_bytes()
                counts[0] += 1
            except ValueError as error:
                assert "out.json" in str(error), error
                counts[1] += 1
    print(*counts)


main()
