"""Host scripts with one mistake each, and what the report must say to a newcomer: used by the tests
and by claims/bad_hosts.py. Every script runs against the program of host_run, alone, as a user's
would: its exception must reach the terminal as a Python traceback whose last lines explain it."""
import textwrap

import harness
import host_run

START = """
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime
WIDE = dict(streaming=False, data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR,
            nonblock=False)
r = SdkRuntime("out")
"""
RUNNING = START + """
r.load()
r.run()
a = r.get_id("a")
x = np.zeros(36, np.float32)
"""

# Name: (what comes first, the mistake, parts of the message).
CASES = {
    "a symbol that does not exist": (
        RUNNING, "r.launch('scael')", ["ValueError", "exports no 'scael'", "did you mean 'scale'?"]),
    "a symbol like no other": (
        RUNNING, "r.launch('q')", ["ValueError", "exports no 'q'", "it exports a, h, n"]),
    "a copy of a symbol that does not exist": (
        RUNNING, "r.memcpy_h2d(r.get_id('aa'), x, 0, 0, 3, 2, 6, **WIDE)",
        ["exports no 'aa'", "did you mean 'a'?", "get_id() returns None",
         "TypeError: memcpy_h2d: dest must be an integer, not NoneType",
         "get_id() gives None for a symbol that the program does not export"]),
    "a text for a flag": (
        RUNNING, "r.memcpy_h2d(a, x, 0, 0, 3, 2, 6, **{**WIDE, 'streaming': 'False'})",
        ["TypeError: streaming is True or False, not 'False'"]),
    "a number for a flag": (
        RUNNING, "r.launch('scale', 1.0, 1, nonblock=2)",
        ["TypeError: nonblock is True or False, not 2"]),
    "64-bit elements": (
        RUNNING, "r.memcpy_h2d(a, np.zeros(36), 0, 0, 3, 2, 6, **WIDE)",
        ["TypeError", "float64", "32 bits wide", ".astype(np.float32)"]),
    "16-bit elements": (
        RUNNING, "r.memcpy_h2d(a, np.zeros(36, np.int16), 0, 0, 3, 2, 6, **WIDE)",
        ["TypeError", "int16", "input_array_to_u32"]),
    "masked elements": (
        RUNNING, "r.memcpy_h2d(a, np.ma.masked_less(x, 1), 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "has masked elements, for which there is no number"]),
    "a list for an array": (
        RUNNING, "r.memcpy_h2d(a, [1.0] * 36, 0, 0, 3, 2, 6, **WIDE)",
        ["TypeError", "must be a numpy array, not list"]),
    "an array that is too small": (
        RUNNING, "r.memcpy_d2h(np.zeros(35, np.float32), a, 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "holds 35 elements, fewer than the 36",
         "for a region of 3 x 2 tiles with 6 elements each"]),
    "more elements than the symbol has": (
        RUNNING, "r.memcpy_h2d(a, np.zeros(42, np.float32), 0, 0, 3, 2, 7, **WIDE)",
        ["ValueError", "28 bytes do not fit 'a' of tile 0,0", "24 bytes"]),
    "a place for results that is a slice": (
        RUNNING, "r.memcpy_d2h(np.zeros(72, np.float32)[::2], a, 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "writable and contiguous"]),
    "a size that is a fraction": (
        RUNNING, "r.memcpy_h2d(a, x, 0, 0, 3, 2, 36 / 6, **WIDE)",
        ["TypeError", "elem_per_pe must be an integer, not float", "`//` divides"]),
    "a name for a number": (
        RUNNING, "r.memcpy_h2d('a', x, 0, 0, 3, 2, 6, **WIDE)",
        ["TypeError", "must be an integer, not str", "get_id()"]),
    "swapped arguments": (
        RUNNING, "r.memcpy_d2h(a, x, 0, 0, 3, 2, 6, **WIDE)",
        ["TypeError", "not ndarray", "swapped?"]),
    "a negative place": (
        RUNNING, "r.memcpy_h2d(a, x, -1, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "px must be at least 0, not -1"]),
    "a place no machine has": (
        RUNNING, "r.memcpy_h2d(a, x, 2 ** 32, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "px must be at most 4294967295, not 4294967296"]),
    "a rectangle outside the program": (
        RUNNING, "r.memcpy_h2d(a, x, 1, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "1,0,3,2 leaves the program's rectangle of 3 x 2"]),
    "an empty rectangle": (
        RUNNING, "r.memcpy_h2d(a, x, 0, 0, 0, 2, 6, **WIDE)",
        ["ValueError", "the region 0,0,0,2 has no tiles"]),
    "a text for a data type": (
        RUNNING, "r.memcpy_h2d(a, x, 0, 0, 3, 2, 6, **{**WIDE, 'data_type': 'f32'})",
        ["TypeError", "MemcpyDataType.MEMCPY_32BIT", "'f32'"]),
    "a number that is no symbol": (
        RUNNING, "r.memcpy_h2d(999, x, 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "no exported symbol has the number 999"]),
    "a copy to a function": (
        RUNNING, "r.memcpy_h2d(r.get_id('scale'), x, 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "'scale' is exported as a function"]),
    "a launch of an unexported function": (
        RUNNING, "r.launch('receive', nonblock=False)",
        ["ValueError", "exports no 'receive'", "it exports"]),
    "a launch of data": (
        RUNNING, "r.launch('a', nonblock=False)", ["ValueError", "'a' is exported as data"]),
    "a launch with too few arguments": (
        RUNNING, "r.launch('scale', np.float32(1), nonblock=False)",
        ["ValueError", "'scale' takes 2 argument(s) (fn(f32, i16)void), 1 given"]),
    "a launch with an argument of another type": (
        RUNNING, "r.launch('scale', np.int32(1), np.int16(1), nonblock=False)",
        ["TypeError", "argument 1 of 'scale' is a float (f32)"]),
    "a launch with a number too large for its type": (
        RUNNING, "r.launch('scale', -1e39, np.int16(1), nonblock=False)",
        ["ValueError", "argument 1 of 'scale': -1e+39 is too large for f32"]),
    "a launch with an integer too large for its type": (
        RUNNING, "r.launch('scale', np.float32(1), 40000, nonblock=False)",
        ["ValueError", "argument 2 of 'scale': 40000 is outside -32768 to 32767 (i16)"]),
    "a launch with a list of arguments": (
        RUNNING, "r.launch('scale', [1.0, 2], nonblock=False)",
        ["ValueError", "takes 2 argument(s)", "1 given; launch takes them one by one"]),
    "the number of a color without streaming": (
        RUNNING, "r.memcpy_h2d(r.get_id('scale'), x, 0, 0, 3, 2, 6, **WIDE)",
        ["ValueError", "'scale' is exported as a function",
         "is a color, the transfer needs streaming=True"]),
    "a call without a list": (
        RUNNING, "r.call('scale', 1.0, 2)",
        ["TypeError: call: the arguments of 'scale' come in a list, not as 1.0, 2"]),
    "a call without a list, and a flag": (
        RUNNING, "r.call('scale', 1.0, 2, nonblock=False)",
        ["TypeError: call: the arguments of 'scale' come in a list, not as 1.0, 2"]),
    "32-bit copies of 16-bit elements": (
        RUNNING, "r.memcpy_h2d(r.get_id('h'), np.zeros(5, np.uint32), 0, 0, 1, 1, 5, **WIDE)",
        ["ValueError", "20 bytes do not fit 'h' of tile 0,0",        # copy_wide
         "note: 'h' ([*]i16) has elements of 16 bits: MEMCPY_16BIT copies one of them for each"]),
    "reading a stream to the tiles": (
        RUNNING, "r.memcpy_d2h(x, 4, 0, 0, 3, 2, 6, **{**WIDE, 'streaming': True})",
        ["DeviceError", "color 4 has got only 0 of its 36 words; P0.0 receives on this color, so it "
         "is one of streams to the tiles"]),
    "a stream on a color of the fabric": (
        RUNNING, "r.memcpy_h2d(30, x, 0, 0, 3, 2, 6, **{**WIDE, 'streaming': True})",
        ["ValueError", "color 30 cannot be streamed"]),
    "a stream that nobody takes": (
        RUNNING, "r.memcpy_h2d(9, x, 0, 0, 3, 2, 6, **{**WIDE, 'streaming': True})",
        ["ValueError", "has no input queue for color 9"]),
    "a program that never unblocks the command stream": (
        RUNNING, "r.launch('hang', nonblock=False); r.memcpy_d2h(x, a, 0, 0, 3, 2, 6, **WIDE)",
        ["DeviceError", "deadlock", "'hang' was launched and 6 of 6 tiles", "unblock_cmd_stream()"]),
    "the same, noticed by stop": (
        RUNNING, "r.launch('hang', nonblock=True); r.stop()",
        ["DeviceError", "deadlock", "unblock_cmd_stream()"]),
    "an assertion that fails": (
        RUNNING, "r.launch('crash', nonblock=False)",
        ["DeviceError", "ASSERT", "P1.0", "pe.csl:"]),
    "an operation after a fault": (
        RUNNING, "\ntry: r.launch('crash')\nexcept RuntimeError: pass\n"
                 "r.memcpy_d2h(x, a, 0, 0, 3, 2, 6, **WIDE)",
        ["DeviceError", "ASSERT", "P1.0"]),
    "a read before run": (
        START, "r.load(); r.memcpy_d2h(np.zeros(6, np.float32), r.get_id('a'), 0, 0, 1, 1, 6, "
               "**WIDE)", ["RuntimeError", "memcpy_d2h before run()", "call run() first"]),
    "a launch before load": (
        START, "r.launch('hang')", ["RuntimeError", "launch before run()", "load() and run()"]),
    "run before load": (START, "r.run()", ["RuntimeError", "run() before load()"]),
    "a read after stop": (
        RUNNING, "r.stop(); r.memcpy_d2h(x, a, 0, 0, 3, 2, 6, **WIDE)",
        ["RuntimeError", "memcpy_d2h after stop()"]),
    "run after stop": (RUNNING, "r.stop(); r.run()", ["RuntimeError", "run() after stop()"]),
    "a program that is not there": (
        START, "SdkRuntime('nowhere')", ["ValueError", "cannot read program image 'nowhere'"]),
    "a file that is no program": (
        START, "SdkRuntime('layout.csl')", ["ValueError", "cannot read program image"]),
    "an address of a machine": (
        START, "SdkRuntime('out', cmaddr='1.2.3.4:9000')", ["RuntimeError", "emulator only"]),
    "a task that is none": (
        RUNNING, "r.task_wait(None)", ["TypeError", "nonblock=True", "NoneType"]),
    "a symbol of a tile outside": (
        RUNNING, "r.read_symbol(0, 0, 'n')",
        ["ValueError", "(0, 0) is outside the program's rectangle: columns 4 to 6, rows 1 to 2"]),
    "a symbol without a name": (
        RUNNING, "r.read_symbol(4, 1, None)", ["TypeError", "is a text, not NoneType"]),
    "a name with a character 0": (
        RUNNING, "r.get_id('a\\0b')", ["ValueError", "has no character 0"]),
    "a symbol as elements without a size": (
        RUNNING, "r.read_symbol(4, 1, 'n', 'S')", ["TypeError", "are no |S0; pass a type of numbers"]),
    "a symbol that no tile has": (
        RUNNING, "r.read_symbol(4, 1, 'nn')", ["ValueError", "has no symbol 'nn'"]),
    "a symbol whose name is misspelled": (
        RUNNING, "r.read_symbol(4, 1, 'flga')",
        ["ValueError", "has no symbol 'flga'", "did you mean 'flag'?"]),
    "a layout made in Python": (
        START, "from cerebras.sdk.runtime.sdkruntimepybind import SdkLayoutX",
        ["ImportError", "SdkLayoutX"]),
    "a port": (
        RUNNING, "r.send('in', x)", ["ValueError", "no streams"]),
}


def run(folder, name):
    """What the case's script prints on stderr, and which of the parts are missing in it."""
    first, mistake, parts = CASES[name]
    (folder / "run.py").write_text(first + textwrap.dedent(mistake) + "\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, expect=1, timeout=60)
    warned, traceback, _ = ran.err.partition("Traceback")
    assert traceback, ran.err
    told = warned + ran.err.split("File ")[-1]        # from the innermost frame on
    return ran.err, [part for part in parts if part not in told]


def build(folder):
    return host_run.build(folder)
