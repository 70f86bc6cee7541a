"""Runs a host script and writes what it does with its program as actions of wse-emu.

    cs_python tests/bench/record_actions.py FOLDER SCRIPT.py [ARGUMENT...]

FOLDER gets a file `actions`, with one action per line, and the arrays that they name: those that the
script copies to the device, and places for those that it copies back.  Streams have no action.  With a size
that its authors did not choose, a script may miss its own tolerance: if it has stopped the program
by then, the actions are all there.
"""
import os
import runpy
import sys
from pathlib import Path

import numpy as np
from cerebras.sdk.runtime import sdkruntimepybind as sdk


def is_among(kind, member, options):
    return options.get(kind) in (member, member.value)


class RecordingRuntime(sdk.SdkRuntime):
    """A runtime that also writes down its copies and launches."""

    folder = None
    actions = []
    is_over = False

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._symbols = {}

    def get_id(self, name):
        number = super().get_id(name)
        self._symbols[number] = name
        return number

    def _note_copy(self, kind, symbol, region, elements, options):
        if options.get("streaming"):
            raise NotImplementedError("a stream has no action of wse-emu")
        area = ",".join(str(int(number)) for number in region)
        path = self.folder / f"{len(self.actions)}.npy"
        count = f":{int(elements)}" if kind == "d2h" else ""
        self.actions.append(f"--{kind}={self._symbols[symbol]}{count}@{area}={path}")
        return path

    def memcpy_h2d(self, dest, src, px, py, w, h, elem_per_pe, **options):
        path = self._note_copy("h2d", dest, (px, py, w, h), elem_per_pe, options)
        array = np.asarray(src).ravel()
        if is_among("data_type", sdk.MemcpyDataType.MEMCPY_16BIT, options):
            array = array.astype(np.uint32).astype(np.uint16)
        if is_among("order", sdk.MemcpyOrder.COL_MAJOR, options):
            array = array.reshape(elem_per_pe, w, h).transpose(2, 1, 0)
        np.save(path, array.reshape(h, w, elem_per_pe))
        return super().memcpy_h2d(dest, src, px, py, w, h, elem_per_pe, **options)

    def memcpy_d2h(self, dest, src, px, py, w, h, elem_per_pe, **options):
        self._note_copy("d2h", src, (px, py, w, h), elem_per_pe, options)
        return super().memcpy_d2h(dest, src, px, py, w, h, elem_per_pe, **options)

    def launch(self, name, *arguments, **options):
        values = f"({','.join(str(a) for a in arguments)})" if arguments else ""
        self.actions.append(f"--launch={name}{values}")
        return super().launch(name, *arguments, **options)

    def stop(self):
        super().stop()
        RecordingRuntime.is_over = True


def main():
    folder, script = Path(sys.argv[1]).resolve(), sys.argv[2]
    RecordingRuntime.folder = folder
    sdk.SdkRuntime = RecordingRuntime
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code
    except AssertionError as missed:
        if not RecordingRuntime.is_over:
            raise
        print(f"the script's own check fails: {missed}", file=sys.stderr)
    (folder / "actions").write_text("".join(f"{a}\n" for a in RecordingRuntime.actions))
    sys.exit(code)


main()
