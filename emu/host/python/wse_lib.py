"""libwse through ctypes: the only place that knows its binary interface (emu/include/wse.h)."""

import ctypes
import os
from pathlib import Path

CLUSTER_VARIABLE = "WSE_CLUSTER"        # of the environment: the cluster file of a script's wafer

OK, USAGE, FAULT, DEADLOCK, CYCLE_LIMIT, INTERRUPTED, NO_MEMORY = range(7)
ENGINE_FAST, ENGINE_REFERENCE = range(2)
CHECK_OFF, CHECK_WARN, CHECK_ERROR = range(3)
ROW_MAJOR, COL_MAJOR = range(2)
EACH_TILE, SAME_IN_COLUMN, SAME_IN_ROW = range(3)
NORTH, SOUTH, EAST, WEST = range(4)


class Port(ctypes.Structure):
    _fields_ = [
        ("x", ctypes.c_uint32),
        ("y", ctypes.c_uint32),
        ("side", ctypes.c_int),
        ("color", ctypes.c_uint8),
        ("input", ctypes.c_bool),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("engine", ctypes.c_int),
        ("threads", ctypes.c_uint32),
        ("max_cycles", ctypes.c_uint64),
        ("check", ctypes.c_int),
        ("trace_kinds", ctypes.c_char_p),
        ("trace_file", ctypes.c_char_p),
        ("sim_log", ctypes.c_char_p),
        ("args", ctypes.c_char_p),
        ("ports", ctypes.POINTER(Port)),
        ("n_ports", ctypes.c_uint32),
        ("later_args", ctypes.c_char_p),
    ]


def options_of_environment():
    """What WSE_ENGINE and WSE_MAX_CYCLES set for every program that a script opens."""
    engines = {"fast": ENGINE_FAST, "reference": ENGINE_REFERENCE}
    name, cycles = os.environ.get("WSE_ENGINE", "fast"), os.environ.get("WSE_MAX_CYCLES", "0")
    if name not in engines:
        raise ValueError(f"WSE_ENGINE={name}: it is fast or reference")
    if not cycles.isdecimal() or int(cycles) >= 2 ** 64:
        raise ValueError(f"WSE_MAX_CYCLES={cycles}: it is a number of cycles, 0 for the default")
    return {"engine": engines[name], "max_cycles": int(cycles)}


class Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int),
        ("message", ctypes.c_char_p),
        ("cycle", ctypes.c_uint64),
        ("x", ctypes.c_int32),
        ("y", ctypes.c_int32),
    ]


class Geometry(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("fabric_width", ctypes.c_uint32),
        ("fabric_height", ctypes.c_uint32),
        ("offset_x", ctypes.c_uint32),
        ("offset_y", ctypes.c_uint32),
        ("arch", ctypes.c_char_p),
        ("has_memcpy", ctypes.c_bool),
    ]


class Symbol(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("is_function", ctypes.c_bool),
        ("is_mutable", ctypes.c_bool),
        ("element_bytes", ctypes.c_uint8),
        ("element_class", ctypes.c_char),
        ("extent", ctypes.c_uint16),
        ("n_params", ctypes.c_uint8),
        ("param_bytes", ctypes.POINTER(ctypes.c_uint8)),
        ("param_class", ctypes.POINTER(ctypes.c_char)),
    ]


class Transfer(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_uint32),
        ("streaming", ctypes.c_bool),
        ("is_16bit", ctypes.c_bool),
        ("x", ctypes.c_uint32),
        ("y", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("height", ctypes.c_uint32),
        ("x_step", ctypes.c_uint32),
        ("y_step", ctypes.c_uint32),
        ("elements", ctypes.c_uint32),
        ("order", ctypes.c_int),
        ("broadcast", ctypes.c_int),
    ]


_program = ctypes.c_void_p
_words = ctypes.POINTER(ctypes.c_uint32)
_task = ctypes.POINTER(ctypes.c_uint64)
_size = ctypes.POINTER(ctypes.c_size_t)
_PROTOTYPES = {
    "wse_open": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.POINTER(_program)]),
    "wse_close": (None, [_program]),
    "wse_error": (ctypes.POINTER(Error), [_program]),
    "wse_warnings": (ctypes.c_char_p, [_program]),
    "wse_geometry": (ctypes.c_int, [_program, ctypes.POINTER(Geometry)]),
    "wse_symbol": (ctypes.c_int, [_program, ctypes.c_char_p, ctypes.POINTER(Symbol)]),
    "wse_symbol_count": (ctypes.c_uint32, [_program]),
    "wse_symbol_at": (ctypes.c_int, [_program, ctypes.c_uint32, ctypes.POINTER(Symbol)]),
    "wse_param_range": (ctypes.c_int, [_program, ctypes.c_uint32, ctypes.c_uint32,
                                       ctypes.POINTER(ctypes.c_int64),
                                       ctypes.POINTER(ctypes.c_uint64)]),
    "wse_transfer_words": (ctypes.c_size_t, [ctypes.POINTER(Transfer)]),
    "wse_h2d": (ctypes.c_int, [_program, ctypes.POINTER(Transfer), _words, _task]),
    "wse_d2h": (ctypes.c_int, [_program, ctypes.POINTER(Transfer), _words, _task]),
    "wse_launch": (ctypes.c_int, [_program, ctypes.c_uint32, _words, ctypes.c_uint32, _task]),
    "wse_port_send": (ctypes.c_int, [_program, ctypes.c_uint32, _words, ctypes.c_size_t,
                                     ctypes.c_bool]),
    "wse_port_take": (ctypes.c_int, [_program, ctypes.c_uint32, _words, ctypes.c_size_t, _size]),
    "wse_port_left": (ctypes.c_int, [_program, ctypes.c_uint32, _size]),
    "wse_run": (ctypes.c_int, [_program, ctypes.c_uint64]),
    "wse_wait": (ctypes.c_int, [_program, ctypes.c_uint64]),
    "wse_is_done": (ctypes.c_bool, [_program, ctypes.c_uint64]),
    "wse_finish": (ctypes.c_int, [_program]),
    "wse_give_up": (ctypes.c_int, [_program]),
    "wse_interrupt": (None, [_program]),
    "wse_cycle": (ctypes.c_uint64, [_program]),
    "wse_statistics": (ctypes.c_char_p, [_program]),
    "wse_read_symbol": (ctypes.c_int, [_program, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_char_p,
                                       ctypes.c_void_p, ctypes.c_size_t, _size]),
    "wse_write_symbol": (ctypes.c_int, [_program, ctypes.c_uint32, ctypes.c_uint32,
                                        ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]),
    "wse_symbol_name": (ctypes.c_char_p, [_program, ctypes.c_uint32, ctypes.c_uint32,
                                          ctypes.c_uint32]),
    "wse_dump_core": (ctypes.c_int, [_program, ctypes.c_char_p]),
    "wse_open_core": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_program)]),
    "wse_cluster_open": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(Options),
                                        ctypes.POINTER(ctypes.c_void_p)]),
    "wse_cluster_error": (ctypes.POINTER(Error), [ctypes.c_void_p]),
    "wse_cluster_wafer": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_uint32,
                                            ctypes.POINTER(ctypes.c_char_p)]),
    "wse_cluster_program": (_program, [ctypes.c_void_p, ctypes.c_uint32]),
    "wse_cluster_close": (None, [ctypes.c_void_p]),
    "wse_version": (ctypes.c_char_p, []),
}


def _candidates():
    if "WSE_LIB" in os.environ:
        yield Path(os.environ["WSE_LIB"])
        return
    here = Path(__file__).resolve().parent
    # Installed: <prefix>/share/wse/python beside <prefix>/lib.
    yield from sorted((here.parent.parent.parent / "lib").glob("**/libwse.so"))
    # In a source tree: the build that cs_python stands in comes first on the PATH.
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if (Path(folder) / "cs_python").exists():
            yield Path(folder).parent / "lib" / "libwse.so"
    yield here.parent.parent.parent / "build" / "release" / "lib" / "libwse.so"


def load():
    """The library with its prototypes set; ImportError says where it was looked for."""
    tried = []
    for path in _candidates():
        if path.exists():
            library = ctypes.CDLL(str(path))
            for name, (result, arguments) in _PROTOTYPES.items():
                function = getattr(library, name)
                function.restype = result
                function.argtypes = arguments
            return library
        tried.append(str(path))
    raise ImportError("libwse.so not found; looked at " + ", ".join(tried) +
                      ". Build the project, or name the file in WSE_LIB.")
