"""Random calls of the Python layer in random order, with arguments of every wrong kind: run by
cs_python beside a compiled program of tests/host/.

    cs_python host_python_calls.py SEED SECONDS

A call may only return or raise what a script can understand; the last line says how many did
either.  A crash of the interpreter, another exception, or a call that does not end is a finding.
"""
import random
import sys
import time
import warnings

import numpy as np
from cerebras.sdk.debug.debug_util import debug_util
from cerebras.sdk.runtime import sdkruntimepybind as sdk
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

# OSError: of paths.
UNDERSTOOD = (ValueError, TypeError, RuntimeError, OSError)


class Caller:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.returned = self.raised = self.opened = 0
        self.runtime, self.tasks = None, []

    def number(self, usual):
        far = [-1, 2 ** 16, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 64, 1.5, "1", None, np.int64(1),
               np.uint16(2), np.float32(1), True, [1], np.array(1), b"a"]
        return self.chance.choice(far) if self.chance.random() < 0.08 else self.chance.randrange(usual)

    def array(self):
        size = self.chance.choice([0, 1, 6, 12, 36, 42, 72, 1000])
        dtype = self.chance.choice([np.float32, np.uint32, np.int32, np.float32, np.uint32, np.int16,
                                    np.float64, bool])
        array = np.zeros(size, dtype)
        kind = self.chance.randrange(14)
        if kind == 0:
            array = array[::2]
        elif kind == 1:
            array.flags.writeable = False
        elif kind == 2:
            array = array.reshape(1, -1, 1)
        elif kind == 3:
            return self.chance.choice([None, [1, 2], "text", 7, object(), np.float32(1)])
        return array

    def name(self):
        return self.chance.choice(["a", "h", "n", "flag", "scale", "scale", "scale", "hang", "crash",
                                   "spin", "receive", "in_id", "", "\0", "a\0b", "é", "\udc80", None, 3])

    def flags(self):
        named = {"streaming": self.chance.random() < 0.3, "nonblock": self.chance.random() < 0.5,
                 "data_type": self.chance.choice(list(MemcpyDataType)),
                 "order": self.chance.choice(list(MemcpyOrder))}
        if self.chance.random() < 0.05:
            named[self.chance.choice(list(named))] = self.chance.choice([None, 2, "x"])
        return named

    def target(self, streaming):
        if self.chance.random() < 0.1:
            return self.number(9)
        return self.chance.choice([4, 5]) if streaming else self.chance.randrange(4)

    def region(self):
        x, y = self.chance.randrange(3), self.chance.randrange(2)
        if self.chance.random() < 0.7:
            return x, y, self.chance.randint(1, 3 - x), self.chance.randint(1, 2 - y), self.number(7)
        return tuple(self.number(4) for _ in range(5))

    # ---- calls

    def open(self):
        path = self.chance.choice(["out"] * 6 + ["out/prog.bin", "pe.csl", "", "nowhere", None, 3])
        named = {"msg_level": self.chance.choice(["ERROR", "WARNING", "ERROR", "x"]),
                 "simfab_numthreads": self.number(70) or 1, "memcpy_required": True}
        self.runtime, self.tasks = None, []
        self.runtime = SdkRuntime(path, **named)
        self.opened += 1

    def start(self):
        self.runtime.load()
        self.runtime.run()

    def copy_in(self):
        named = self.flags()
        call = self.chance.choice(["memcpy_h2d", "memcpy_h2d", "memcpy_h2d_colbcast",
                                   "memcpy_h2d_rowbcast", "memcpy_h2d_stride"])
        more = (self.number(4), self.number(4)) if call.endswith("stride") else ()
        self.keep(getattr(self.runtime, call)(self.target(named["streaming"]), self.array(),
                                              *self.region(), *more, **named))

    def copy_out(self):
        named = self.flags()
        self.keep(self.runtime.memcpy_d2h(self.array(), self.target(named["streaming"]),
                                          *self.region(), **named))

    def launch(self):
        args = [self.chance.choice([np.float32(2), np.int16(1), 1, 1.0, None, "x", np.arange(2)])
                for _ in range(self.chance.randrange(4))]
        if self.chance.random() < 0.7:
            args = [np.float32(2), np.int16(1)]
        nonblock = self.chance.random() < 0.5
        if self.chance.random() < 0.2:
            self.keep(self.runtime.call(self.name(), self.chance.choice([args, None, 3]), nonblock))
        else:
            self.keep(self.runtime.launch(self.name(), *args, nonblock=nonblock))

    def keep(self, task):
        self.tasks.append(task)

    def task(self):
        self.tasks += [None] if self.chance.random() < 0.02 else []
        task = self.chance.choice(self.tasks) if self.tasks else None
        getattr(self.runtime, self.chance.choice(["task_wait", "is_task_done"]))(task)

    def look(self):
        r, x, y = self.runtime, self.number(8), self.number(4)
        dtype = self.chance.choice(["u1", np.float32, "nonsense", None])
        self.chance.choice([
            lambda: r.get_id(self.name()), lambda: r.read_symbol(x, y, self.name(), dtype),
            lambda: r.symbols(x, y), lambda: r.coord_logical_to_physical((x, y)),
            lambda: r.get_port_id("in"), lambda: r.send("in", self.array()),
            lambda: r.receive("in", self.array()), lambda: r.dump_elf_core("x"),
            lambda: debug_util("out").get_symbol(x, y, self.name(), dtype),
            lambda: debug_util("out").read_trace(x, y, "key"),
            lambda: sdk.get_platform(self.name()), lambda: sdk.SimfabConfig(self.number(4))])()

    def stop(self):
        self.runtime.stop()

    def forget(self):
        self.runtime, self.tasks = None, []

    def one(self):
        calls = [self.copy_in] * 5 + [self.copy_out] * 5 + [self.launch] * 4 + [self.task] * 3
        calls += [self.look] * 3 + [self.stop, self.forget, self.start, self.open]
        call = self.chance.choice(calls)
        try:
            if self.runtime is None:
                self.open()
                if self.chance.random() < 0.95:
                    self.start()
            call()
            self.returned += 1
        except UNDERSTOOD as error:
            assert str(error), f"{call.__name__}: {type(error).__name__} without a word"
            self.raised += 1
        except AttributeError:
            if self.runtime is not None:    # a call on nothing is this script's own mistake
                raise


def main():
    caller, end = Caller(int(sys.argv[1])), time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        caller.one()
    print(f"{caller.opened} programs, {caller.returned} calls returned, {caller.raised} raised")


warnings.simplefilter("ignore")
main()
