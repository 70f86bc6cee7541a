"""Runs host scripts under cs_python, each in a process of its own, for the tests.

    folder = host_run.build(tmp_path)              # tests/host/, or texts of the test's own
    host_run.script(folder, "r.launch('scale', np.float32(2), np.int16(-1)); r.stop()")

A script begins with PREAMBLE: a runtime `r` that is running, COPY, WIDE and NARROW for the calls,
and message(call, ...), the text of the exception that the call must raise.
"""
import textwrap

import harness

FOLDER = harness.ROOT / "tests" / "host"
LAYOUT = (FOLDER / "layout.csl").read_text()
PE = (FOLDER / "pe.csl").read_text()

PREAMBLE = """
import ctypes
import numpy as np
import wse_lib
from cerebras.sdk.runtime.sdkruntimepybind import (
    DeviceError, MemcpyDataType, MemcpyOrder, SdkRuntime, Task)
W, H = 3, 2
COPY = dict(streaming=False, order=MemcpyOrder.ROW_MAJOR, nonblock=False)
WIDE, NARROW = MemcpyDataType.MEMCPY_32BIT, MemcpyDataType.MEMCPY_16BIT

def message(call, *args, **named):
    try:
        call(*args, **named)
    except (ValueError, RuntimeError, TypeError) as error:
        return str(error)
    raise AssertionError("no error")

r = SdkRuntime("out")
r.load()
r.run()
"""


def build(folder, layout=LAYOUT, pe=PE, *args, arch="wse3", params={"W": 3, "H": 2}, channels=2,
          offsets=(4, 1), **options):
    """Compiles a layout and its tile program with --memcpy; the folder, with the result in out/."""
    folder.mkdir(exist_ok=True)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(pe)
    width, height = params.get("W", 1), params.get("H", 1)
    dims = f"{offsets[0] + width + 3},{offsets[1] + height + 1}"
    harness.compile(folder / "layout.csl", folder / "out", f"--arch={arch}", "--memcpy",
                    f"--channels={channels}", f"--fabric-dims={dims}",
                    f"--fabric-offsets={offsets[0]},{offsets[1]}", *args, params=params, **options)
    return folder


def script(folder, text, preamble=PREAMBLE, env=None):
    """Runs a script that must reach its end; what it printed."""
    (folder / "run.py").write_text(preamble + textwrap.dedent(text) + "\nprint('DONE')\n")
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, env=env)
    assert ran.out.endswith("DONE\n")
    return ran
