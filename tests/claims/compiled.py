"""Imported by the claims that change the text of the vendor's programs and not their meaning:
what a compiled program is, without the places in the source."""
import re
import struct

import examples
from claims import harness

SECTIONS_WITH_PLACES = {0, 1, 3, 11}   # strings, program, classes, debug: docs/image.md
SECTION_OF_EXPORTS = 10                # its names are offsets into the strings
PLACE = re.compile(r"^ *; .*:\d+(:\d+)?\b.*$|\.csl:\d+(:\d+)?", re.MULTILINE)
NAME = re.compile(r"^export .*|\w+", re.MULTILINE)     # the host's names stay as they are


def sections(image):
    """Checksums of the sections without places, by kind."""
    count, = struct.unpack_from("<I", image, 12)
    rows = [struct.unpack_from("<IIQQ", image, 40 + 24 * i) for i in range(count)]
    return {kind: crc for kind, crc, _, _ in rows if kind not in SECTIONS_WITH_PLACES}


def program(folder, words, scratch, old_names=None):
    """Assembly, memory map and layout without places, and the sections of the image; old_names:
    what new names in the texts stand for.  With it, the texts alone have the exports."""
    words = examples.without_output(words)
    texts = [PLACE.sub("", harness.cslc(*words, f"--emit={kind}", cwd=folder).out)
             for kind in ("asm", "map", "layout")]
    harness.cslc(*words, "-o", scratch / "p.bin", cwd=folder)
    kept = sections((scratch / "p.bin").read_bytes())
    if old_names is not None:
        texts = [NAME.sub(lambda m: old_names.get(m[0], m[0]), text) for text in texts]
        del kept[SECTION_OF_EXPORTS]
    return texts, kept


def runs(claims, folder):
    """(script, outcome, cycles) of each script of SdkLayout in the folder."""
    return [(r["script"], r["outcome"], r["cycles"]) for r in examples.run(claims, folder,
                                                                          "--level=5")]
