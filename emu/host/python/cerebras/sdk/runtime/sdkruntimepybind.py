"""The host runtime that existing scripts import, over the emulator.

    runner = SdkRuntime("out")
    runner.load()
    runner.run()
    runner.memcpy_h2d(runner.get_id("x"), x, 0, 0, w, h, n, streaming=False, nonblock=False,
                      data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR)
    runner.launch("main", nonblock=False)
    runner.memcpy_d2h(y, runner.get_id("y"), 0, 0, w, h, n, ...)
    runner.stop()

Wrong use raises ValueError or TypeError and leaves the program as it was.  A program that fails
on the device raises DeviceError, a RuntimeError, with the emulator's report.

The keyword `wse_args` of a runtime has options of wse-emu for its run, a text as in a shell command
or a list of words.  Environment: WSE_ARGS has options for each program run, which override those of
the script.  Short for some of them: WSE_ENGINE=reference, WSE_MAX_CYCLES=N, WSE_TRACE=KINDS with
WSE_TRACE_FILE=F.  WSE_RUN_LOG=F appends a line of statistics for each program run.
"""

import atexit
import contextlib
import ctypes
import enum
import json
import os
import re
import shlex
import sys
import threading
import warnings
import weakref
import zlib
from pathlib import Path

import numpy as np

import wse_lib
from cerebras.sdk.runtime import _layout, _platform
from cerebras.sdk.runtime._arrays import argument_words, flag, host_words, whole
from cerebras.sdk.runtime._calls import Caller, one_at_a_time
from cerebras.sdk.runtime._layout import *  # noqa: F401,F403
from cerebras.sdk.runtime._platform import *  # noqa: F401,F403
from cerebras.sdk.runtime._tiles import Tiles, symbol_name

__all__ = ["DeviceError", "MemcpyDataType", "MemcpyOrder", "SdkRuntime", "Task",
           *_layout.__all__, *(name for name in _platform.__all__ if name != "refuse_address")]


class MemcpyDataType(enum.Enum):
    """Width of the elements in the tiles' memory; the host's are always 32 bits wide."""
    MEMCPY_16BIT = 0
    MEMCPY_32BIT = 1


class MemcpyOrder(enum.Enum):
    """How A[h][w][l] lies in the host's flat array."""
    ROW_MAJOR = 0     # l fastest, then w, then h
    COL_MAJOR = 1     # h fastest, then w, then l


class DeviceError(RuntimeError):
    """The program failed on the device: a fault, a deadlock, too many cycles.  The text is the
    emulator's report; x and y, in the program's rectangle, are -1 where no single tile is to
    blame."""

    def __init__(self, message, status, cycle, x, y):
        super().__init__(message)
        self.status, self.cycle, self.x, self.y = status, cycle, x, y


# Programs that still run, by a token of their runtime, which may be gone before the script ends: a
# weak reference to it, their folder, and the tasks that no call has waited for.
_running = {}


def _warn_of_running():
    """At the end of the process, while the library's handles are open.  A script that an exception
    has ended hears of arrays that it may have read too early, and of what its tiles have lost."""
    raised = getattr(sys, "last_type", None)
    for runtime, bindir, pending in list(_running.values()):
        unfilled = sum(task.fills for task in pending.values())
        if raised is None:
            print(f"warning: the script has ended without stop() for {bindir}: what was under way "
                  "with nonblock=True may not be done, and nothing has looked for wavelets that are "
                  "left; call stop() after the last command", file=sys.stderr)
        elif unfilled and issubclass(raised, Exception):
            print(f"note: when the script failed, it had not waited for {unfilled} transfer(s) to "
                  f"the host with nonblock=True, of {bindir}: their arrays may lack values; "
                  "task_wait() or stop() waits", file=sys.stderr)
        if raised is not None and runtime():
            runtime()._give_up(raised)


# The last runtime that was stopped, for debug_util: its tiles are still there to be looked at.
_stopped = {"runtime": None}


def stopped_runtime(bindir):
    """The runtime that has last ended, if it ran the program in `bindir`; else None."""
    runtime = _stopped["runtime"]
    return runtime if runtime and runtime.bindir == Path(bindir).resolve() else None


class Task:
    """Handle of an operation that may still be under way."""

    def __init__(self, owner, number, is_command, buffer=None, fills=False):
        self._owner = weakref.ref(owner)
        self._number = number
        self._is_command = is_command
        self._buffer = buffer      # keeps the memory that the emulator reads or fills
        self.fills = fills         # that memory is an array of the script's
        self._file = None          # what the words go to when the operation is done
        self._sent_as = None       # the call, and a sum of the words that it may still have to send

    def write_file(self):
        file, self._file = self._file, None
        if file is not None:
            self._buffer.tofile(file)

    def note_source(self, call):
        self._sent_as = call, zlib.crc32(self._buffer)

    def changed_source(self):
        """The call whose array is no longer what it was given; None from the second question on."""
        call, before = self._sent_as or (None, 0)
        self._sent_as = None
        return call if call and zlib.crc32(self._buffer) != before else None


_TILE = re.compile(r"\bP\d+\.\d+\b")       # as reports name it
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_MOST_THREADS = 64
_ELEMENTS_OF_16_BITS = ("i16", "u16", "f16", "bf16", "cb16")


def _folder_takes_files():
    """Whether the current folder does; os.access() also says so of one that has been removed."""
    return os.access(".", os.W_OK) and os.stat(".").st_nlink > 0


@one_at_a_time
class SdkRuntime(Tiles):
    """Loads a compiled program on the emulator and carries out host operations in order, also those
    of several threads: a call waits until the one before it has returned."""

    def __init__(self, bindir=None, platform=None, *, cmaddr=None, suppress_simfab_trace=False,
                 simfab_numthreads=5, msg_level="WARNING", memcpy_required=True, wse_args="",
                 wafer=None):
        # Older scripts move the vendor's folder of traces; there are none unless WSE_TRACE asks.
        if not suppress_simfab_trace:
            with contextlib.suppress(OSError):
                Path("simfab_traces").mkdir(exist_ok=True)
        self._handle = ctypes.c_void_p()
        self._lock = threading.RLock()
        self._state = "made"
        self._ended = None             # the failure that has ended the program
        self._token = object()         # in _running
        self._wafer = None             # of a cluster
        self._pending = {}             # tasks that no call has waited for, by number
        self._types = {}               # of symbols: name and type, by id
        _platform.refuse_address(cmaddr)
        if platform is not None and not isinstance(platform, _platform.SdkExecutionPlatform):
            raise TypeError("the platform must come from get_platform(), not be a "
                            f"{type(platform).__name__}")
        if msg_level not in _LEVELS:
            raise ValueError(f"msg_level {msg_level!r}: it is one of {', '.join(_LEVELS)}")
        self._says = _LEVELS.index(msg_level) <= _LEVELS.index("INFO")
        self._warns = _LEVELS.index(msg_level) <= _LEVELS.index("WARNING")
        self._config = platform.config if platform else _platform.SimfabConfig(
            num_threads=whole("simfab_numthreads", simfab_numthreads, 1, _MOST_THREADS))
        self._library = wse_lib.load()
        options = self._options(_own_options(wse_args))
        if wafer is not None and not hasattr(wafer, "check_open"):
            raise TypeError(f"wafer is what Wafers has by a name, wafers['a'], not {wafer!r}")
        wafer = wafer or _wafer_of_environment(options)
        if wafer and wse_args:
            raise TypeError("wse_args is for a program of its own; WSE_ARGS has the options of a cluster")
        if bindir is None and wafer is None:
            raise TypeError("SdkRuntime needs the output directory of cslc, or a wafer of a cluster")
        bindir = wafer.image if bindir is None else bindir
        if not isinstance(bindir, (str, os.PathLike)):
            raise TypeError(f"bindir is the output directory of cslc, not {bindir!r}")
        self.bindir = Path(bindir).resolve()
        if wafer:
            self._join(wafer)
        else:
            self._open(bindir, options)
        self._check_program(bindir, memcpy_required, platform.target if platform else None)

    def _options(self, own_options):
        threads = min(self._config.num_threads, _MOST_THREADS, os.cpu_count() or 1)
        return dict(
            check=wse_lib.CHECK_ERROR, threads=threads,
            **wse_lib.options_of_environment(),
            sim_log=b"sim.log" if _folder_takes_files() else b"/dev/stdout",
            args=os.fsencode(own_options),
            later_args=os.fsencode(_options_of_environment(own_options)))

    def _join(self, wafer):
        """The program is open already, and its cluster closes it."""
        wafer.check_open()
        if self.bindir not in (wafer.image, wafer.folder):
            raise ValueError(f"the program of wafer {wafer.name!r} is {wafer.image}, not {self.bindir}")
        self._wafer, self._lock, self._handle = wafer, wafer.lock, wafer.handle
        self._caller = Caller(self._library, self._handle)

    def _check_open(self):
        if self._wafer:
            self._wafer.check_open()

    def _open(self, bindir, options):
        status = self._library.wse_open(os.fsencode(bindir), ctypes.byref(wse_lib.Options(**options)),
                                        ctypes.byref(self._handle))
        self._caller = Caller(self._library, self._handle)
        weakref.finalize(self, self._caller.close, self._lock)
        self._check(status)

    def _check_program(self, bindir, memcpy_required, target):
        self._look_at(self.bindir)
        if memcpy_required and not self._geometry.has_memcpy:
            raise RuntimeError(f"{os.fspath(bindir)} was compiled without --memcpy, which host "
                               "transfers need; compile it with --memcpy --channels=1, or pass "
                               "memcpy_required=False")
        arch = self._geometry.arch.decode()
        if target is not None and target.value != arch:
            raise ValueError(f"{os.fspath(bindir)} was compiled for {arch}; the platform is "
                             f"{target}")
        for text in _layout.changes_after_compile(self.bindir):
            self._warn(text)

    def __enter__(self):
        self.load()
        self.run()
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.stop()
        else:
            self._give_up(kind)

    # ---- life cycle

    def load(self):
        """Loads the program on the tiles."""
        if self._state == "stopped":
            raise RuntimeError("load() after stop(): a program runs once; make a new SdkRuntime")
        if self._state == "made":
            self._state = "loaded"
        else:
            self._warn("load() again has no effect: the program is loaded and keeps its memory; "
                       "a new SdkRuntime starts it afresh")

    def run(self):
        """Starts the program: tiles wait for commands."""
        if self._state == "made":
            raise RuntimeError("run() before load(): call load() first")
        if self._state == "stopped":
            raise RuntimeError("run() after stop(): a program runs once; make a new SdkRuntime")
        if self._state == "running":
            self._warn("run() again has no effect: the program has been started; launch() calls a "
                       "function of it")
            return
        if not self._geometry.has_memcpy:
            self._call(self._library.wse_run, 0)
        self._state = "running"
        if self._warns:
            atexit.unregister(_warn_of_running)      # the last one to be registered is called first
            atexit.register(_warn_of_running)
            _running[self._token] = (weakref.ref(self), os.fspath(self.bindir), self._pending)

    def stop(self):
        """Waits for every operation and ends the emulation; statistics and symbols remain."""
        if self._state == "loaded":
            self._warn("stop() before run(): the program has been loaded and has never run; call run() "
                       "after load()")
        if self._state != "running":
            self._state = "stopped"
            return
        self._warn_of_changes()
        self._call(self._library.wse_finish)
        for task in self._pending.values():
            task.write_file()
        self._pending.clear()
        self._end()
        if self._config.dump_core:
            self.dump_core(self._config.core_path)

    def _give_up(self, raised):
        """The script has failed: says what the tiles have lost so far, and ends the emulation.  The
        script's exception stays the one that is raised, and what is under way is not waited for, a
        call of another thread included."""
        _running.pop(self._token, None)
        if issubclass(raised, KeyboardInterrupt) or not self._lock.acquire(blocking=False):
            return
        try:
            if self._state == "running":
                self._check_open()
                self._tell_of_losses()
                self._end()
        except Exception as failure:      # the script makes errors of warnings, or the like
            print(failure, file=sys.stderr)
        finally:
            self._state = "stopped"
            self._lock.release()

    def _tell_of_losses(self):
        status = self._caller.call(self._library.wse_give_up)
        told = self._library.wse_warnings(self._handle) or b""
        text = told.decode(errors="replace")
        if status != wse_lib.OK:
            text += self._message()
        if text:
            self._warn(self._placed(text.rstrip("\n")))

    def _end(self):
        self._state = "stopped"
        _running.pop(self._token, None)
        _stopped["runtime"] = self
        self._say("stopped")
        path = os.environ.get("WSE_RUN_LOG")    # one line of statistics per run
        if path:
            statistics = json.loads(self._library.wse_statistics(self._handle))
            with open(path, "a", encoding="utf-8") as log:
                log.write(json.dumps(statistics) + "\n")

    def _say(self, what):
        if self._says:
            print(f"INFO: cycle {self._library.wse_cycle(self._handle)}: {what}", file=sys.stderr)

    # ---- symbols

    def get_id(self, name):
        """Number of an exported symbol; None, with a warning, if there is none of the name."""
        symbol, status = self._look_up(name)
        if status == wse_lib.USAGE:
            self._warn(self._message() + "\nget_id() returns None")
            return None
        self._check(status)
        self._types[symbol.id] = name, symbol.type.decode()
        return symbol.id

    get_symbol = get_id

    def _look_up(self, name):
        symbol = wse_lib.Symbol()
        return symbol, self._library.wse_symbol(self._handle, symbol_name(name),
                                                ctypes.byref(symbol))

    def _symbol(self, name):
        symbol, status = self._look_up(name)
        self._check(status)
        return symbol

    # ---- functions

    def launch(self, name, *args, nonblock=False):
        """Calls an exported function on every tile."""
        self._check_running("launch")
        nonblock = flag("nonblock", nonblock)
        symbol = self._symbol(name)
        if not symbol.is_function:
            raise ValueError(f"launch: {name!r} is exported as data ({symbol.type.decode()})")
        values = argument_words(name, symbol.type.decode(), args,
                                lambda number: self._param_range(symbol.id, number))
        words = (ctypes.c_uint32 * max(1, len(values)))(*values)
        number = ctypes.c_uint64()
        self._call(self._library.wse_launch, symbol.id, words, len(values), ctypes.byref(number))
        self._say(f"launch {name}")
        return self._submitted(Task(self, number.value, True), nonblock)

    def _param_range(self, function, number):
        """The least and the greatest integer that the parameter takes."""
        least, most = ctypes.c_int64(), ctypes.c_uint64()
        self._call(self._library.wse_param_range, function, number, ctypes.byref(least),
                   ctypes.byref(most))
        return least.value, most.value

    def call(self, name, args=(), *older, nonblock=False):
        """The older form of launch: arguments in a list, and then perhaps nonblock."""
        if not isinstance(args, (list, tuple, np.ndarray)) or len(older) > 1:
            raise TypeError(f"call: the arguments of {name!r} come in a list, not as "
                            f"{', '.join(repr(arg) for arg in (args, *older))}")
        return self.launch(name, *args, nonblock=older[0] if older else nonblock)

    def memcpy_launch(self, color, words, nonblock=False):
        """The form of release 0.6: every tile gets the same words, on the color that the program has
        for launches."""
        self._check_running("memcpy_launch")
        words = host_words(words, np.size(words), "memcpy_launch: words", "the launch")
        width, height = self._geometry.width, self._geometry.height
        return self._h2d("memcpy_launch", color, np.tile(words, width * height),
                         (0, 0, width, height, words.size), True, MemcpyDataType.MEMCPY_32BIT,
                         MemcpyOrder.ROW_MAJOR, nonblock)

    # ---- transfers

    def memcpy_h2d(self, dest, src, px, py, w, h, elem_per_pe, *older, streaming=False,
                   data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR,
                   nonblock=False):
        """Copies `elem_per_pe` elements to each tile of a region, or streams them on a color."""
        region = (px, py, w, h, elem_per_pe)
        if older:
            streaming, region, nonblock = _of_older_form("memcpy_h2d", region + older)
        return self._h2d("memcpy_h2d", dest, src, region, streaming, data_type, order, nonblock)

    def memcpy_h2d_colbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming=False,
                            data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR,
                            nonblock=False):
        """Data A[w][l]: tile (x, y) of the region gets A[x], for every y."""
        return self._h2d("memcpy_h2d_colbcast", dest, src, (px, py, w, h, elem_per_pe), streaming,
                         data_type, order, nonblock, broadcast=wse_lib.SAME_IN_COLUMN)

    def memcpy_h2d_rowbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming=False,
                            data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR,
                            nonblock=False):
        """Data A[h][l]: tile (x, y) of the region gets A[y], for every x."""
        return self._h2d("memcpy_h2d_rowbcast", dest, src, (px, py, w, h, elem_per_pe), streaming,
                         data_type, order, nonblock, broadcast=wse_lib.SAME_IN_ROW)

    def memcpy_h2d_stride(self, dest, src, px, py, w, h, elem_per_pe, row_stride, col_stride, *,
                          streaming=False, data_type=MemcpyDataType.MEMCPY_32BIT,
                          order=MemcpyOrder.ROW_MAJOR, nonblock=False):
        """Like memcpy_h2d for every row_stride-th column and every col_stride-th row."""
        strides = whole("row_stride", row_stride, 1), whole("col_stride", col_stride, 1)
        return self._h2d("memcpy_h2d_stride", dest, src, (px, py, w, h, elem_per_pe), streaming,
                         data_type, order, nonblock, strides=strides)

    def memcpy_d2h(self, dest, src, px, py, w, h, elem_per_pe, *older, streaming=False,
                   data_type=MemcpyDataType.MEMCPY_32BIT, order=MemcpyOrder.ROW_MAJOR,
                   nonblock=False):
        """Copies `elem_per_pe` elements from each tile of a region into the array `dest`."""
        self._check_running("memcpy_d2h")
        region = (px, py, w, h, elem_per_pe)
        if older:
            streaming, region, nonblock = _of_older_form("memcpy_d2h", region + older)
        nonblock = flag("nonblock", nonblock)
        transfer = self._transfer("memcpy_d2h: src", src, region, streaming, data_type, order)
        words = self._words(transfer, dest, "memcpy_d2h: dest", writable=True)
        count = self._library.wse_transfer_words(ctypes.byref(transfer))
        if dest.size > count:
            self._warn(f"memcpy_d2h: dest holds {dest.size} elements; the copy writes the first "
                       f"{count}, for {_shape_of(transfer)}")
        self._warn_of_axes("memcpy_d2h: dest", dest, transfer)
        self._warn_of_numbers("memcpy_d2h: dest", dest, transfer)
        return self._submit(self._library.wse_d2h, transfer, words, nonblock)

    def _h2d(self, call, dest, src, region, streaming, data_type, order, nonblock, *,
             broadcast=wse_lib.EACH_TILE, strides=(1, 1)):
        self._check_running(call)
        nonblock = flag("nonblock", nonblock)
        transfer = self._transfer(f"{call}: dest", dest, region, streaming, data_type, order)
        transfer.broadcast = broadcast
        transfer.x_step, transfer.y_step = strides
        words = self._words(transfer, src, f"{call}: src")
        self._warn_of_source(call, src, words, transfer)
        return self._submit(self._library.wse_h2d, transfer, words, nonblock, call)

    def _warn_of_source(self, call, src, words, transfer):
        """What the copy takes in another way than the array looks."""
        count = self._library.wse_transfer_words(ctypes.byref(transfer))
        if src.size > count:
            self._warn(f"{call}: src holds {src.size} elements; the copy takes the first {count}, "
                       f"for {_shape_of(transfer)}")
        if transfer.is_16bit and src.dtype.kind == "f" and (words >> np.uint32(16)).any():
            self._warn(f"{call}: src has dtype {src.dtype}, and a copy of 16-bit elements moves "
                       "the low half of each word, which is no number here; "
                       "input_array_to_u32(src.astype(np.float16), None, 1) has 16-bit floats in "
                       "the low halves")
        if transfer.is_16bit and src.dtype.kind == "i" and not _fits_16_bits(words[:count]):
            self._warn(f"{call}: src has numbers outside -32768 to 65535; a copy of 16-bit elements "
                       "moves the low half of each word")
        self._warn_of_axes(f"{call}: src", src, transfer)
        if words[:count].any():            # zero has the same bits in all types
            self._warn_of_numbers(f"{call}: src", src, transfer)

    def _warn_of_numbers(self, what, array, transfer):
        """A copy moves bits: floats do not become integers, or the other way round.  Arrays of uint32
        in scripts and of u32 in programs hold the bits of anything."""
        name, kind = self._types.get(transfer.target, ("", ""))
        element = kind.rpartition("]")[2].removeprefix("const ")
        fit, other = {"f32": ("float32", "i"), "i32": ("int32", "f")}.get(element, ("", ""))
        if transfer.streaming or transfer.is_16bit:
            return
        if element in _ELEMENTS_OF_16_BITS and array.dtype.kind in "fi":
            self._warn(f"{what} has dtype {array.dtype}, and {name!r} ({kind}) has elements of "
                       f"{element}; a copy of 32-bit elements lays each of them over two of those: use "
                       "data_type=MemcpyDataType.MEMCPY_16BIT, or an array of uint32 if it holds pairs")
        if array.dtype.kind == other:
            self._warn(f"{what} has dtype {array.dtype}, and {name!r} ({kind}) has elements of "
                       f"{element}; a copy moves their bits, which stand for other numbers there: use "
                       f"an array of {fit}, or .view(np.uint32) of this one if the bits are meant")

    def _warn_of_axes(self, what, array, transfer):
        """An array with one axis each for rows, columns and elements, in another order than that of
        the transfer."""
        named = [(name, size) for name, size in _axes_of(transfer) if size > 1]
        sizes = [size for _, size in named]
        given = [size for size in array.shape if size > 1]
        if given != sizes and sorted(given) == sorted(sizes):
            order = "COL" if transfer.order == wse_lib.COL_MAJOR else "ROW"
            names = "".join(f"[{name}]" for name, _ in named)
            self._warn(f"{what} has the shape {array.shape}; in {order}_MAJOR order the transfer "
                       f"takes it as A{names} of {tuple(sizes)}: if its axes mean something else, "
                       "np.transpose changes their order")

    def _transfer(self, what, target, region, streaming, data_type, order):
        streaming = flag("streaming", streaming)
        if streaming and not isinstance(target, (int, np.integer)):
            raise TypeError(f"{what} of a stream is the number of a color, not "
                            f"{type(target).__name__}")
        data_type = _choice("data_type", MemcpyDataType, data_type)
        order = _choice("order", MemcpyOrder, order)
        x, y, width, height, elements = (
            whole(name, value)
            for name, value in zip(("px", "py", "w", "h", "elem_per_pe"), region))
        return wse_lib.Transfer(
            target=whole(what, target, is_symbol=True), streaming=streaming,
            is_16bit=data_type == MemcpyDataType.MEMCPY_16BIT and not streaming,
            x=x, y=y, width=width, height=height, x_step=1, y_step=1, elements=elements,
            order=wse_lib.ROW_MAJOR if order == MemcpyOrder.ROW_MAJOR else wse_lib.COL_MAJOR)

    def _words(self, transfer, array, name, writable=False):
        count = self._library.wse_transfer_words(ctypes.byref(transfer))
        return host_words(array, count, name, _shape_of(transfer), writable)

    def _submit(self, function, transfer, words, nonblock, sending=None):
        number = ctypes.c_uint64()
        self._call(function, ctypes.byref(transfer),
                   words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)), ctypes.byref(number))
        self._say(f"{'stream' if transfer.streaming else 'copy'} of {words.size} words")
        task = Task(self, number.value, not transfer.streaming, words,
                    fills=function is self._library.wse_d2h)
        if sending and nonblock:
            task.note_source(sending)
        return self._submitted(task, nonblock)

    # ---- tasks

    def task_wait(self, task):
        """Returns when the operation is done and its data are valid."""
        number = self._number(task)
        self._warn_of_changes()
        self._call(self._library.wse_wait, number)
        if task._is_command:       # commands are carried out in order: those before it are done
            for other in [n for n, t in self._pending.items() if t._is_command and n <= number]:
                del self._pending[other]
        self._pending.pop(number, None)
        task.write_file()

    def _warn_of_changes(self):
        """The script is about to wait, and has not waited since it passed these arrays."""
        for task in self._pending.values():
            call = task.changed_source()
            if call:
                self._warn(f"{call}: src has been changed before the transfer was done: on the machine "
                           "tiles may get the new values; with nonblock=True, wait for the task first, "
                           "or pass a copy")

    def is_task_done(self, task):
        """Whether the operation is done; each question lets the device go on for a while."""
        if not self._heard(self._library.wse_is_done, self._number(task)):
            return False
        self.task_wait(task)       # it is done, or has failed and says so here
        return True

    def _number(self, task):
        if not isinstance(task, Task):
            raise TypeError("a task is what a launch or copy with nonblock=True returns, not "
                            f"{type(task).__name__}")
        if task._owner() is not self:
            raise ValueError("the task belongs to another SdkRuntime; ask the one whose launch or "
                             "copy has returned it")
        return task._number

    def _submitted(self, task, nonblock):
        self._pending[task._number] = task
        if not nonblock:
            self.task_wait(task)
        return task

    # ---- inspection

    def dump_core(self, path):
        """Writes what the tiles hold, as --save-state does: debug_util reads it, also in another
        process, and wse-dbg --core opens it."""
        self._check(self._library.wse_dump_core(self._handle, os.fsencode(path)))

    def dump_elf_core(self, path):
        raise NotImplementedError(f"dump_elf_core({str(path)!r}): the emulator has no ELF files; "
                                  "dump_core() writes a core that debug_util reads")

    # ---- streams of layouts made in Python

    def get_port_id(self, name):
        """Number of a stream, which send and receive take as well as its name."""
        return list(self._streams).index(self._stream(name)[0])

    def report_port_infos(self):
        """Prints the streams and returns their descriptions by name."""
        for number, (name, stream) in enumerate(self._streams.items()):
            way = "to" if stream["input"] else "from"
            print(f"{number}: {name}: {stream['size']} wavelets {way} the device")
        return dict(self._streams)

    def send(self, port, src, n_wavelets=None, *, nonblock=False):
        """Sends the words of an array on an input stream."""
        self._check_running("send")
        nonblock = flag("nonblock", nonblock)
        transfer = self._stream_transfer("send", port, src, n_wavelets, True)
        words = host_words(np.asanyarray(src).ravel()[:transfer.elements], transfer.elements,
                           "send: src", f"{transfer.elements} wavelets", False)
        return self._submit(self._library.wse_h2d, transfer, words, nonblock, "send")

    def receive(self, port, dest, n_wavelets=None, *, nonblock=False):
        """Fills an array with the words of an output stream."""
        self._check_running("receive")
        nonblock = flag("nonblock", nonblock)
        transfer = self._stream_transfer("receive", port, dest, n_wavelets, False)
        words = host_words(dest, transfer.elements, "receive: dest",
                           f"{transfer.elements} wavelets", True)
        return self._submit(self._library.wse_d2h, transfer, words, nonblock)

    def receive_tofile(self, port, file, n_wavelets=None, *, nonblock=False):
        """Writes words of an output stream, all that its port has unless a number is given, to a
        file, when the operation is done.  The file is made or emptied here."""
        self._check_running("receive_tofile")
        nonblock = flag("nonblock", nonblock)
        if n_wavelets is None:
            n_wavelets = self._stream(port)[1]["size"]
        words = np.zeros(whole("n_wavelets", n_wavelets), np.uint32)
        if not hasattr(file, "write"):
            file = os.path.abspath(file)       # the script may change its folder until then
            with open(file, "wb"):
                pass
        task = self.receive(port, words, nonblock=True)
        task._file = file
        if not nonblock:
            self.task_wait(task)
        return task

    def _stream(self, port):
        if isinstance(port, (int, np.integer)) and 0 <= port < len(self._streams):
            return list(self._streams.items())[port]
        if port in self._streams:
            return port, self._streams[port]
        if isinstance(port, _layout.PortHandle):
            raise ValueError(f"port {port.name!r} is no stream: create_input_stream and "
                             "create_output_stream of SdkLayout return what send and receive take")
        if not self._streams:
            raise ValueError("the program has no streams: create_input_stream and "
                             "create_output_stream of SdkLayout make them")
        raise ValueError(f"there is no stream {port!r}; the program's are "
                         + ", ".join(self._streams))

    def _stream_transfer(self, call, port, array, n_wavelets, is_input):
        name, stream = self._stream(port)
        if stream["input"] != is_input:
            raise ValueError(f"{call}: {name!r} is an {('input', 'output')[is_input]} stream")
        if not isinstance(array, np.ndarray) or array.dtype.itemsize != 4:
            given = getattr(array, "dtype", type(array).__name__)
            raise TypeError(f"{call}: a wavelet is a word of 32 bits: pass a numpy array of int32, "
                            f"uint32 or float32, not {given}{_words_hint(array)}")
        count = array.size if n_wavelets is None else whole("n_wavelets", n_wavelets)
        if count > array.size:
            raise ValueError(f"{call}: {count} wavelets, but the array has {array.size} elements")
        return wse_lib.Transfer(target=stream["color"], streaming=True, is_16bit=False,
                                x=stream["x"], y=stream["y"], width=1, height=1, x_step=1,
                                y_step=1, elements=count, order=wse_lib.ROW_MAJOR)

    # ---- errors

    def _check_running(self, call):
        if self._ended:
            raise self._ended.with_traceback(None)      # without the lines of earlier calls
        if self._state == "stopped":
            raise RuntimeError(f"{call} after stop(): no host operation can follow it; make a new "
                               "SdkRuntime to run the program again")
        if self._state != "running":
            missing = "load() and run()" if self._state == "made" else "run()"
            raise RuntimeError(f"{call} before run(): the program has not been started; call "
                               f"{missing} first")

    def _warn(self, message):
        """A warning at the line of the script."""
        if not self._warns:
            return
        level, frame = 2, sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("cerebras."):
            level, frame = level + 1, frame.f_back
        warnings.warn(message, RuntimeWarning, level)

    def _warn_of_program(self):
        told = self._library.wse_warnings(self._handle)
        if told:
            self._warn(self._placed(told.decode(errors="replace").rstrip("\n")))

    def _heard(self, function, *args):
        """A call of the library that may run the program.  An exception of a signal's handler ends
        the run: what the tiles hold can be looked at, and stop() has nothing to do."""
        try:
            return self._caller.call(function, *args)
        except BaseException:
            self._warn_of_program()
            cycle = self._library.wse_cycle(self._handle)
            where = f"error: the run was interrupted at cycle {cycle}"
            status = self._library.wse_error(self._handle).contents.status
            if status in (wse_lib.OK, wse_lib.USAGE, wse_lib.NO_MEMORY):   # not of the run
                status = wse_lib.INTERRUPTED
            else:                      # it may have failed just before
                where = self._message()         # with the places where tiles are
            print(where, file=sys.stderr, flush=True)
            self._ended = DeviceError(where, status, cycle, -1, -1)
            self._state = "stopped"
            _running.pop(self._token, None)
            _stopped["runtime"] = self
            raise

    def _call(self, function, *args):
        self._check(self._heard(function, *args))

    def _message(self):
        error = self._library.wse_error(self._handle).contents
        return self._placed(error.message.decode(errors="replace").rstrip("\n"))

    def _placed(self, report):
        """Reports name tiles by their place in the rectangle, which may begin before the (0, 0) of a
        layout made in Python."""
        if self._origin == (0, 0) or not _TILE.search(report):
            return report
        x, y = self._origin
        return (f"{report}\nnote: the layout's (0, 0) is P{x}.{y} in reports, since a path or the "
                "host's end of a stream lies before it")

    def _check(self, status):
        self._warn_of_program()
        if status == wse_lib.OK:
            return
        message = self._message()
        if status == wse_lib.USAGE:
            raise ValueError(message)
        if status == wse_lib.NO_MEMORY:
            raise MemoryError(message)
        error = self._library.wse_error(self._handle).contents
        failure = DeviceError(message, status, error.cycle, error.x, error.y)
        if not self._ended:
            self._ended = failure
            self._end()            # what the tiles hold can be looked at
        raise failure


def _words_hint(array):
    """How elements of another width become wavelets."""
    if not isinstance(array, np.ndarray):
        return ""
    if array.dtype.itemsize == 8 and array.dtype.kind in "fiu":
        return f"; .astype(np.{np.dtype(array.dtype.kind + '4')}) makes them so"
    if array.dtype.itemsize == 2:
        return ("; .view(np.uint32) puts two elements of 16 bits into a wavelet, which an operation "
                "of 16 bits takes apart")
    return ""


def _of_older_form(call, given):
    """streaming, region and nonblock of what follows the array in a call of release 0.6: streaming,
    px, py, w, h, l, 0, nonblock.  Its programs have no other number than that 0."""
    if len(given) != 8 or not isinstance(given[0], bool) or given[6] != 0:
        raise TypeError(f"{call}: px, py, w, h and elem_per_pe follow the array, and all else has a "
                        "name: streaming=, data_type=, order=, nonblock=")
    return given[0], given[1:6], given[7]


def _shape_of(transfer):
    """Where the number of its elements comes from."""
    tiles = {wse_lib.SAME_IN_COLUMN: f"{transfer.width} columns",
             wse_lib.SAME_IN_ROW: f"{transfer.height} rows"}.get(
                 transfer.broadcast, f"a region of {transfer.width} x {transfer.height} tiles")
    if transfer.x_step > 1 or transfer.y_step > 1:
        tiles = f"one of {transfer.x_step} columns and one of {transfer.y_step} rows of {tiles},"
    return f"{tiles} with {transfer.elements} elements each"


def _axes_of(transfer):
    """Names and sizes of the host's array, the last of which varies fastest."""
    rows = range(0, transfer.height, transfer.y_step)
    columns = range(0, transfer.width, transfer.x_step)
    rows = 1 if transfer.broadcast == wse_lib.SAME_IN_COLUMN else len(rows)
    columns = 1 if transfer.broadcast == wse_lib.SAME_IN_ROW else len(columns)
    axes = [("h", rows), ("w", columns), ("l", transfer.elements)]
    return axes[::-1] if transfer.order == wse_lib.COL_MAJOR else axes


def _fits_16_bits(words):
    """Whether each word is a number of 16 bits, with a sign or without."""
    numbers = words.view(np.int32)
    return not numbers.size or (numbers.min() >= -0x8000 and numbers.max() <= 0xffff)


def _choice(name, kind, value):
    if not isinstance(value, kind):
        names = " or ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise TypeError(f"{name} must be {names}, not {value!r}")
    return value


def _wafer_of_environment(options):
    """The wafer that the environment names, or None."""
    if wse_lib.CLUSTER_VARIABLE not in os.environ:
        return None
    from wse_cluster import wafers      # here, because it takes long and most scripts have none
    return wafers.of_environment(**options)


def _own_options(given):
    """The script's own options of the run, as one text."""
    if isinstance(given, str):
        return given
    words = list(given) if isinstance(given, (list, tuple)) else [given]
    if not all(isinstance(word, (str, os.PathLike)) for word in words):
        raise TypeError(f"wse_args must be a text or a list of texts, not {given!r}")
    return shlex.join(os.fspath(word) for word in words)


def _options_of_environment(own):
    """Options of the run that override the script's own.  The older variables are short for two of
    them."""
    words = [f"--{option}={os.environ[name]}" for name, option in _OPTIONS if os.environ.get(name)]
    given = os.environ.get("WSE_ARGS", "")
    if "--trace" not in f"{own} {words} {given}":
        words += _log_options()
    return f"{shlex.join(words)} {given}".strip()


def _log_options():
    """The logs that scripts of the vendor's simulator ask for; they go to sim.log."""
    name = next((n for n in _LOG_VARIABLES if os.environ.get(n)), None)
    if not name:
        return []
    asked = os.environ[name].replace(",", " ").split()
    unknown = [word for word in asked if word not in _LOGS]
    if unknown:
        raise ValueError(f"{name}: no log {unknown[0]!r}; there are {', '.join(_LOGS)}")
    return ["--trace=" + ",".join(_LOGS[word] for word in asked), "--trace-format=simlog"]


_LOG_VARIABLES = ("SINGULARITYENV_SIMFABRIC_DEBUG", "APPTAINERENV_SIMFABRIC_DEBUG",
                  "SIMFABRIC_DEBUG")
_LOGS = {"landing": "wavelet", "inst_trace": "inst", "router": "switch"}
_OPTIONS = (("WSE_TRACE", "trace"), ("WSE_TRACE_FILE", "trace-file"))
