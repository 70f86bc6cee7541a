"""The wafers of a cluster file, for host scripts.

    with Wafers("c.json") as wafers:        # or what such a file has, as a dictionary
        a, b = (SdkRuntime(wafer=wafers[name]) for name in "ab")

Each SdkRuntime speaks to one wafer.  Time is common: a call that waits runs all wafers, so calls for
several wafers that need each other begin with nonblock=True.  A script that knows nothing of clusters
speaks to one wafer if the environment has the file in WSE_CLUSTER and the wafer's name in WSE_WAFER.
"""
import contextlib
import ctypes
import json
import os
import tempfile
import threading
import weakref
from pathlib import Path

import wse_lib

FILE_VARIABLE, NAME_VARIABLE = wse_lib.CLUSTER_VARIABLE, "WSE_WAFER"
_opened = {}                    # by the file of the environment


class Wafer:
    """What an SdkRuntime needs of a wafer; it keeps the cluster open."""

    def __init__(self, wafers, name, image, handle):
        self.wafers, self.name, self.image, self.handle = wafers, name, image, handle
        self.folder = image if image.is_dir() else image.parent
        self.lock = wafers.lock

    def check_open(self):
        """Nothing of a wafer can be used behind the end of its cluster."""
        if self.wafers.is_closed():
            raise RuntimeError(f"the cluster of wafer {self.name!r} is closed: Wafers.close(), or the end "
                               "of 'with Wafers(...)', ends the runtimes of its wafers, too")


@contextlib.contextmanager
def _file_of(cluster):
    """The path of a cluster file, or of one that exists for now and has what a dictionary says; images
    are then relative to the current folder."""
    if not isinstance(cluster, dict):
        yield cluster
        return
    whole = json.loads(json.dumps(cluster))
    places = whole.get("wafers", [])
    for place in [*(places if isinstance(places, list) else []), whole.get("topology")]:
        if isinstance(place, dict) and isinstance(place.get("image"), str):
            place["image"] = os.path.abspath(place["image"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(whole))
        yield path


class Wafers:
    """Opens the programs of all wafers of a cluster file, or of a dictionary with the content of one;
    `options` are those of wse_lib.Options."""

    def __init__(self, cluster, **options):
        self.lock = threading.RLock()
        if not isinstance(cluster, (dict, str, os.PathLike)):
            raise TypeError("a cluster is a file, or a dictionary with what such a file has, not "
                            f"{cluster!r}")
        self._library = wse_lib.load()
        self._handle = ctypes.c_void_p()
        given = wse_lib.Options(**{"check": wse_lib.CHECK_ERROR, "threads": 1,
                                   **wse_lib.options_of_environment(), **options})
        with _file_of(cluster) as path:
            status = self._library.wse_cluster_open(os.fsencode(path), ctypes.byref(given),
                                                    ctypes.byref(self._handle))
        self._finalizer = weakref.finalize(self, self._library.wse_cluster_close, self._handle)
        if status != wse_lib.OK:
            error = self._library.wse_cluster_error(self._handle).contents
            raise ValueError(error.message.decode(errors="replace").rstrip("\n"))
        self._wafers = dict(self._all())

    def _all(self):
        """Name, and image and handle, of each wafer."""
        image, index = ctypes.c_char_p(), 0
        while True:
            name = self._library.wse_cluster_wafer(self._handle, index, ctypes.byref(image))
            if name is None:
                return
            handle = ctypes.c_void_p(self._library.wse_cluster_program(self._handle, index))
            yield name.decode(), (Path(os.fsdecode(image.value)).resolve(), handle)
            index += 1

    def __iter__(self):
        """The names of all wafers."""
        return iter(self._wafers)

    def __getitem__(self, name):
        if name not in self._wafers:
            raise KeyError(f"no wafer is called {name!r}; expected one of {', '.join(self)}")
        return Wafer(self, name, *self._wafers[name])

    def is_closed(self):
        return not self._finalizer.alive

    def close(self):
        """Ends the cluster: no runtime of its wafers can be used any more."""
        with self.lock:            # a call of another thread may be under way
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()


def of_environment(**options):
    """The wafer that the environment names, or None."""
    path, name = os.environ.get(FILE_VARIABLE), os.environ.get(NAME_VARIABLE)
    if path is None:
        return None
    if name is None:
        raise ValueError(f"{FILE_VARIABLE} names the cluster file {path!r}, but {NAME_VARIABLE} does "
                         "not name the wafer to speak to")
    if path not in _opened:
        _opened[path] = Wafers(path, **options)
    return _opened[path][name]
