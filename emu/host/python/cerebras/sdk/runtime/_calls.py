"""How the runtime calls the library: one thread of the script at a time, and in a way that lets the
script receive signals while the program runs."""

import contextlib
import functools
import inspect
import os
import queue
import signal
import threading

__all__ = ["Caller", "one_at_a_time"]

_SIGNALLED = 128           # the exit code of a program that a signal has ended: more than that


def one_at_a_time(kind):
    """A class whose public methods wait for each other: its objects have a `_lock`, and a method
    `_check_open`, which raises if the library's handle is gone."""
    def locked(method):
        @functools.wraps(method)
        def call(self, *args, **named):
            with self._lock:
                self._check_open()
                return method(self, *args, **named)
        return call

    for name, method in inspect.getmembers(kind, inspect.isfunction):   # of its bases, too
        if not name.startswith("_"):
            setattr(kind, name, locked(method))
    return kind


class _Helper:
    """A thread that carries out calls one after the other."""

    def __init__(self):
        self._calls = queue.SimpleQueue()
        self._process = None

    def put(self, function, *args):
        """Where the result will be."""
        if self._process != os.getpid():       # not started, or left behind by a fork
            self._calls = queue.SimpleQueue()
            self._process = os.getpid()
            threading.Thread(target=self._work, args=(self._calls,), daemon=True,
                             name="emulator").start()
        result = queue.SimpleQueue()
        self._calls.put((result, function, args))
        return result

    @staticmethod
    def _work(calls):
        while True:
            result, function, args = calls.get()
            result.put(function(*args))

    def finish(self):
        """Returns when everything that was put before is done; signals do not end it."""
        done = None
        while True:
            try:
                done = done or self.put(int)
                done.get()
                return
            except BaseException:          # the first one is under way already
                continue


_helper = _Helper()


@contextlib.contextmanager
def _terminated_orderly():
    """SIGTERM ends the process as SystemExit, so that files of the run are complete."""
    def end(number, frame):
        raise SystemExit(_SIGNALLED + number)

    usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if usual:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if usual:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


class Caller:
    """Calls functions of the library for one of its handles."""

    def __init__(self, library, handle):
        self._library, self._handle = library, handle

    def call(self, function, *args):
        """function(handle, *args). Only the main thread receives signals. There, another thread
        makes the call in the meantime; an exception from a signal's handler ends the run."""
        if threading.current_thread() is not threading.main_thread():
            return function(self._handle, *args)
        try:
            with _terminated_orderly():
                return _helper.put(function, self._handle, *args).get()
        except BaseException:
            self._library.wse_interrupt(self._handle)
            _helper.finish()
            raise

    def close(self, lock):
        """Closes the handle, which a thread may still use when the process ends."""
        if not lock.acquire(blocking=False):
            self._library.wse_interrupt(self._handle)
            lock.acquire()
        self._library.wse_close(self._handle)
        lock.release()
