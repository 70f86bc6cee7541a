"""A host script that waits for a debugger, and walks in its run, for tests and claims.

    folder = host_run.build(tmp_path)               # W x H tiles
    (folder / "run.py").write_text(dap_host.SCRIPT)
    walk = dap_host.Walk(folder, "--engine=reference")
    assert walk.there_and_back(draw, 40, {}) == 0
    assert walk.end() == dap_host.ANSWER
"""
import os
import re
import subprocess

import harness
from dap_client import Dap

# Copies, calls and copies back, twice; each tile's part is 1, 2, 3 ... times 2 twice.
SCRIPT = """
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime
copy = dict(streaming=False, order=MemcpyOrder.ROW_MAJOR, nonblock=False,
            data_type=MemcpyDataType.MEMCPY_32BIT)
runner = SdkRuntime("out")
runner.load()
runner.run()
rows, columns = runner._geometry.height, runner._geometry.width
a = np.arange(1, rows * columns * 6 + 1, dtype=np.float32)
sent, name = a.copy(), runner.get_id("a")
for turn in range(2):
    runner.memcpy_h2d(name, a, 0, 0, columns, rows, 6, **copy)
    runner.launch("scale", np.float32(2), np.int16(1), nonblock=False)
    runner.memcpy_d2h(a, name, 0, 0, columns, rows, 6, **copy)
runner.stop()
print("right" if (a == 4 * sent).all() else a)
"""
ANSWER = "right"


class Walk:
    """The run of folder/run.py, attached to before its first cycle."""

    def __init__(self, folder, *options, timeout=300):
        words = " ".join(["--dap=0", *options])
        self.host = subprocess.Popen([harness.tool("cs_python"), "run.py"], cwd=folder, text=True,
                                     env={**os.environ, "WSE_ARGS": words}, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
        line = self.host.stderr.readline()
        found = re.search(r"waiting for a debugger at port (\d+)", line)
        assert found, line + self.host.stderr.read()
        self.dap = Dap(int(found.group(1)), timeout)
        self.over = False           # it has come to its end, from where a step leads nowhere
        self.dap.ask("initialize", adapterID="csl")
        self.dap.ask("attach")
        self.dap.event("initialized")
        self.dap.ask("setExceptionBreakpoints", filters=["fault", "deadlock", "end"])
        self.dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "scale"}])
        self.dap.go()
        self.dap.stopped()
        self.dap.ask("setFunctionBreakpoints", breakpoints=[])

    def command(self, text):
        self.dap.ask("evaluate", expression=text, context="repl")
        self.note(self.dap.stopped())

    def note(self, stop):
        self.over |= stop["reason"] == "end of the run"

    def state(self):
        text = self.dap.ask("evaluate", expression="hash", context="repl")["result"]
        cycle, state = re.match(r"cycle (\d+), state (\w+)", text).groups()
        self.cycle = int(cycle)
        return self.cycle, state

    def step(self, draw, present):
        """A step of the host's run, or one in its past."""
        kind = draw.choice(["goto", "goto", "back", "line",
                            *([] if self.over else ["cycle", "instruction"])])
        if kind == "cycle":
            self.command(f"cycle {draw.randint(1, 9)}")
        elif kind == "goto":
            cycle = draw.randint(0, present)
            if cycle != self.cycle:         # else nothing moves, so nothing stops
                self.command(f"goto {cycle}")
        elif kind == "back":
            self.dap.move("stepBack", granularity="instruction")
        elif kind == "instruction":
            self.note(self.dap.move("next", granularity="instruction"))
        else:
            self.dap.move("stepBack")

    def there_and_back(self, draw, steps, states):
        """How many of the random steps have led to a state that the cycle did not have before;
        `states` are those of the cycles so far."""
        present, state = self.state()
        wrong = int(states.setdefault(present, state) != state)
        for _ in range(steps):
            self.step(draw, present)
            cycle, state = self.state()
            present = max(present, cycle)
            wrong += states.setdefault(cycle, state) != state
        return wrong

    def end(self):
        """Lets the run go on alone; what the script prints."""
        self.dap.ask("disconnect")
        out, err = self.host.communicate(timeout=self.dap.timeout)
        assert self.host.returncode == 0, err
        with self.dap:
            return out.strip().splitlines()[-1]
