"""The host runtime that existing scripts import, over the emulator."""

import ctypes
import enum
import json
import os
from pathlib import Path

import numpy as np

import wse_lib

__all__ = ["MemcpyDataType", "MemcpyOrder", "SdkRuntime", "Task"]


class MemcpyDataType(enum.Enum):
    """Width of the elements in the tiles' memory; the host's are always 32 bits wide."""
    MEMCPY_16BIT = 0
    MEMCPY_32BIT = 1


class MemcpyOrder(enum.Enum):
    """How A[h][w][l] lies in the host's flat array."""
    ROW_MAJOR = 0     # l fastest, then w, then h
    COL_MAJOR = 1     # h fastest, then w, then l


# The last runtime that was stopped, for debug_util: its tiles are still there to be looked at.
_stopped = {"runtime": None}


def stopped_runtime(bindir):
    """The runtime that has last been stopped, if it ran the program in `bindir`."""
    runtime = _stopped["runtime"]
    if runtime is None:
        raise RuntimeError("no program has been stopped in this process; call stop() of the "
                           "SdkRuntime first")
    if runtime.bindir != Path(bindir).resolve():
        raise RuntimeError(f"the program stopped last is that of {runtime.bindir}, "
                           f"not of {Path(bindir).resolve()}")
    return runtime


class Task:
    """Handle of an operation that may still be under way."""

    def __init__(self, number, buffer=None, finish=None):
        self._number = number
        self._buffer = buffer      # keeps the memory that the emulator reads or fills
        self._finish = finish      # what remains to do with it once it is done


class SdkRuntime:
    """Loads a compiled program on the emulator and carries out host operations in order."""

    def __init__(self, bindir, platform=None, *, cmaddr=None, suppress_simfab_trace=False,
                 simfab_numthreads=5, msg_level="WARNING", memcpy_required=True):
        del platform, suppress_simfab_trace, msg_level
        if cmaddr:
            raise RuntimeError(f"cmaddr={cmaddr!r}: programs run on the emulator only; "
                               "leave cmaddr out")
        self._library = wse_lib.load()
        self.bindir = Path(bindir).resolve()
        self._handle = ctypes.c_void_p()
        self._stopped = False
        self._pending = []
        options = wse_lib.Options(check=wse_lib.CHECK_ERROR,
                                  threads=max(1, min(simfab_numthreads, os.cpu_count() or 1)),
                                  sim_log=b"sim.log")
        status = self._library.wse_open(os.fsencode(Path(bindir)), ctypes.byref(options),
                                        ctypes.byref(self._handle))
        self._check(status)
        self._geometry = wse_lib.Geometry()
        self._check(self._library.wse_geometry(self._handle, ctypes.byref(self._geometry)))
        if memcpy_required and not self._geometry.has_memcpy:
            raise RuntimeError(f"{bindir}: compiled without --memcpy, which host transfers need")

    def __enter__(self):
        self.load()
        self.run()
        return self

    def __exit__(self, kind, value, traceback):
        # An exception of the script is the better message: what is under way is not waited for.
        if kind is None:
            self.stop()

    def __del__(self):
        if getattr(self, "_handle", None):
            self._library.wse_close(self._handle)
            self._handle = None

    # ---- life cycle

    def load(self):
        """Loads the program; the emulator has done so when the runtime was made."""

    def run(self):
        """Starts the program: tiles wait for commands."""
        if not self._geometry.has_memcpy:
            self._check(self._library.wse_run(self._handle, 0))

    def stop(self):
        """Waits for every operation and ends the emulation; statistics and symbols remain."""
        if self._stopped:
            return
        self._check(self._library.wse_finish(self._handle))
        for task in self._pending:
            self._complete(task)
        self._pending = []
        self._stopped = True
        _stopped["runtime"] = self
        self._log_run()

    def _log_run(self):
        """One line of statistics for whoever collects them (WSE_RUN_LOG names the file)."""
        path = os.environ.get("WSE_RUN_LOG")
        if path:
            statistics = json.loads(self._library.wse_statistics(self._handle))
            with open(path, "a", encoding="utf-8") as log:
                log.write(json.dumps(statistics) + "\n")

    # ---- symbols

    def get_id(self, name):
        """Number of an exported symbol."""
        return self._symbol(name).id

    get_symbol = get_id

    def _symbol(self, name):
        symbol = wse_lib.Symbol()
        self._check(self._library.wse_symbol(self._handle, name.encode(), ctypes.byref(symbol)))
        return symbol

    # ---- functions

    def launch(self, name, *args, nonblock=False):
        """Calls an exported function on every tile."""
        self._running()
        symbol = self._symbol(name)
        if not symbol.is_function:
            raise ValueError(f"launch: {name!r} is exported as data ({symbol.type.decode()})")
        if len(args) != symbol.n_params:
            raise ValueError(f"launch: {name!r} takes {symbol.n_params} argument(s) "
                             f"({symbol.type.decode()}), {len(args)} given")
        words = (ctypes.c_uint32 * max(1, len(args)))()
        for index, value in enumerate(args):
            words[index] = _argument_word(value, symbol.param_class[index].decode(),
                                          symbol.param_bytes[index], name, index)
        number = ctypes.c_uint64()
        self._check(self._library.wse_launch(self._handle, symbol.id, words, len(args),
                                             ctypes.byref(number)))
        return self._submitted(Task(number.value, words), nonblock)

    def call(self, name, args=(), nonblock=False):
        """The older form of launch: arguments in a list."""
        return self.launch(name, *args, nonblock=nonblock)

    # ---- transfers

    def memcpy_h2d(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order,
                   nonblock):
        """Copies `elem_per_pe` elements to each tile of a region, or streams them on a color."""
        self._running()
        flat = _host_words(src, w * h * elem_per_pe, "src")
        words = np.ascontiguousarray(_to_row_major(flat, h, w, elem_per_pe, order))
        transfer = self._transfer(dest, streaming, data_type, px, py, w, h, elem_per_pe)
        return self._submit_h2d(transfer, words, nonblock)

    def memcpy_d2h(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type, order,
                   nonblock):
        """Copies `elem_per_pe` elements from each tile of a region into the array `dest`."""
        self._running()
        count = w * h * elem_per_pe
        target = _host_words(dest, count, "dest", writable=True)
        words = np.zeros(count, np.uint32)
        transfer = self._transfer(src, streaming, data_type, px, py, w, h, elem_per_pe)

        def finish():
            target[:count] = _from_row_major(words, h, w, elem_per_pe, order)

        number = ctypes.c_uint64()
        self._check(self._library.wse_d2h(self._handle, ctypes.byref(transfer), _pointer(words),
                                          ctypes.byref(number)))
        return self._submitted(Task(number.value, words, finish), nonblock)

    def memcpy_h2d_colbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type,
                            order, nonblock):
        """Data A[w][l]: tile (x, y) of the region gets A[x], for every y."""
        self._running()
        flat = _host_words(src, w * elem_per_pe, "src")
        row = _to_row_major(flat, 1, w, elem_per_pe, order)
        words = np.tile(row, h)
        transfer = self._transfer(dest, streaming, data_type, px, py, w, h, elem_per_pe)
        return self._submit_h2d(transfer, words, nonblock)

    def memcpy_h2d_rowbcast(self, dest, src, px, py, w, h, elem_per_pe, *, streaming, data_type,
                            order, nonblock):
        """Data A[h][l]: tile (x, y) of the region gets A[y], for every x."""
        self._running()
        flat = _host_words(src, h * elem_per_pe, "src")
        column = _to_row_major(flat, h, 1, elem_per_pe, order).reshape(h, 1, elem_per_pe)
        words = np.ascontiguousarray(np.broadcast_to(column, (h, w, elem_per_pe))).ravel()
        transfer = self._transfer(dest, streaming, data_type, px, py, w, h, elem_per_pe)
        return self._submit_h2d(transfer, words, nonblock)

    def memcpy_h2d_stride(self, dest, src, px, py, w, h, elem_per_pe, row_stride, col_stride, *,
                          streaming, data_type, order, nonblock):
        """Like memcpy_h2d for every row_stride-th column and every col_stride-th row."""
        self._running()
        columns = 1 + (w - 1) // row_stride
        rows = 1 + (h - 1) // col_stride
        flat = _host_words(src, rows * columns * elem_per_pe, "src")
        words = np.ascontiguousarray(_to_row_major(flat, rows, columns, elem_per_pe, order))
        transfer = self._transfer(dest, streaming, data_type, px, py, w, h, elem_per_pe)
        transfer.x_step, transfer.y_step = row_stride, col_stride
        return self._submit_h2d(transfer, words, nonblock)

    def _submit_h2d(self, transfer, words, nonblock):
        number = ctypes.c_uint64()
        self._check(self._library.wse_h2d(self._handle, ctypes.byref(transfer), _pointer(words),
                                          ctypes.byref(number)))
        return self._submitted(Task(number.value, words), nonblock)

    @staticmethod
    def _transfer(target, streaming, data_type, px, py, w, h, elements):
        return wse_lib.Transfer(target=int(target), streaming=streaming,
                                is_16bit=data_type == MemcpyDataType.MEMCPY_16BIT and not streaming,
                                x=px, y=py, width=w, height=h, x_step=1, y_step=1,
                                elements=elements)

    # ---- tasks

    def task_wait(self, task):
        """Returns when the operation is done and its data are valid."""
        self._complete(task)
        if task in self._pending:
            self._pending.remove(task)

    def is_task_done(self, task):
        return bool(self._library.wse_is_done(self._handle, task._number))

    def _submitted(self, task, nonblock):
        if nonblock:
            self._pending.append(task)
        else:
            self._complete(task)
        return task

    def _complete(self, task):
        self._check(self._library.wse_wait(self._handle, task._number))
        if task._finish:
            task._finish()
            task._finish = None

    # ---- inspection

    def read_symbol(self, x, y, name, dtype="uint8"):
        """Raw content of any symbol of a tile, x and y in the fabric."""
        size = ctypes.c_size_t()
        column, row = self._in_rectangle(x, y)
        status = self._library.wse_read_symbol(self._handle, column, row, name.encode(), None, 0,
                                               ctypes.byref(size))
        self._check(status)
        raw = (ctypes.c_uint8 * size.value)()
        self._check(self._library.wse_read_symbol(self._handle, column, row, name.encode(), raw,
                                                  size.value, ctypes.byref(size)))
        return np.frombuffer(bytes(raw), dtype=dtype)

    def symbols(self, x, y):
        """Names of all symbols of a tile, x and y in the fabric."""
        column, row = self._in_rectangle(x, y)
        names = []
        while True:
            name = self._library.wse_symbol_name(self._handle, column, row, len(names))
            if name is None:
                return names
            names.append(name.decode())

    def _in_rectangle(self, x, y):
        """Fabric coordinates as those of the rectangle."""
        geometry = self._geometry
        column, row = x - geometry.offset_x, y - geometry.offset_y
        if not (0 <= column < geometry.width and 0 <= row < geometry.height):
            raise ValueError(f"({x}, {y}) is outside the program's rectangle: columns "
                             f"{geometry.offset_x} to {geometry.offset_x + geometry.width - 1}, "
                             f"rows {geometry.offset_y} to "
                             f"{geometry.offset_y + geometry.height - 1} of the fabric")
        return column, row

    def coord_logical_to_physical(self, coord):
        return coord[0] + self._geometry.offset_x, coord[1] + self._geometry.offset_y

    # ---- errors

    def _running(self):
        if self._stopped:
            raise RuntimeError("the program was stopped; no host operation can follow stop()")

    def _check(self, status):
        if status == wse_lib.OK:
            return
        error = self._library.wse_error(self._handle) if self._handle else None
        message = error.contents.message.decode() if error else "out of memory"
        if status == wse_lib.USAGE:
            raise ValueError(message)
        raise RuntimeError(message)


def _pointer(words):
    return words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))


def _host_words(array, count, name, writable=False):
    """A flat uint32 view of a host array, which must hold `count` elements of 32 bits."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, not {type(array).__name__}")
    if array.dtype.itemsize != 4:
        raise TypeError(f"{name} has dtype {array.dtype}; elements must be 32 bits wide (a 16-bit "
                        "element stands in the low half of a 32-bit one, see "
                        "sdk_utils.input_array_to_u32)")
    if array.size < count:
        raise ValueError(f"{name} holds {array.size} elements; the region needs {count}")
    if writable and not (array.flags.writeable and array.flags.c_contiguous):
        raise ValueError(f"{name} must be writable and contiguous")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint32)


def _to_row_major(flat, h, w, elements, order):
    flat = flat[:h * w * elements]
    if order == MemcpyOrder.ROW_MAJOR:
        return flat
    return flat.reshape((h, w, elements), order="F").ravel(order="C")


def _from_row_major(words, h, w, elements, order):
    if order == MemcpyOrder.ROW_MAJOR:
        return words
    return words.reshape((h, w, elements)).ravel(order="F")


def _argument_word(value, kind, width, name, index):
    """The 32-bit word of a launch argument after checking it against the exported signature."""
    where = f"launch: argument {index + 1} of {name!r}"
    if kind == "f":
        if not isinstance(value, (float, np.floating)):
            raise TypeError(f"{where} is a float, {value!r} given")
        dtype = np.float16 if width == 2 else np.float32
        return int(np.array([value], dtype).view(np.uint16 if width == 2 else np.uint32)[0])
    if isinstance(value, (float, np.floating)):
        raise TypeError(f"{where} is an integer, {value!r} given")
    number = int(value)
    bits = 8 * width
    low = -(1 << (bits - 1)) if kind == "i" else 0
    high = (1 << (bits - 1 if kind == "i" else bits)) - 1
    if not low <= number <= high:
        raise ValueError(f"{where}: {number} is outside {low} to {high}")
    return number & ((1 << bits) - 1)
