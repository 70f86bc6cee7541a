"""Measures the points that no kept result has, several at a time."""
import json
import os
import sys
import traceback
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from wse_bar import bar_of
from wse_sweep.kept import key_of
from wse_sweep.points import SweepError, check_point

__all__ = ["Measured", "Outcome", "sweep"]


@dataclass
class Measured:
    """Values together with the files that they depend on: {path: digest}."""
    values: dict
    files: dict = field(default_factory=dict)


@dataclass
class Outcome:
    """What came of a point: its values, or the text of what went wrong."""
    point: dict
    values: dict = None
    error: str = None
    was_kept: bool = False


# ---- one point --------------------------------------------------------------------------------

def _plain(value):
    """numpy's numbers and arrays, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is no number, text or list of them")


def _attempt(measure, failures, point):
    """Runs where the measurement does: (values, files, error), all of which travel and are kept."""
    try:
        found = measure(dict(point))
        if not isinstance(found, Measured):
            found = Measured(found)
        if not isinstance(found.values, dict):
            raise TypeError(f"a measurement gives a dictionary of values, not {found.values!r}")
        return json.loads(json.dumps(found.values, default=_plain)), found.files, None
    except failures as failed:
        return None, None, str(failed)
    except Exception:           # a mistake in `measure`: its place is needed
        return None, None, traceback.format_exc().rstrip()


# ---- where points are measured ----------------------------------------------------------------

def _processes():
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        if name in os.environ:
            return int(os.environ[name])
    return 1


def _engine(jobs):
    """Threads, or the processes that mpirun has started."""
    if _processes() == 1:
        return ThreadPoolExecutor(jobs or os.cpu_count() or 1)
    if "mpi4py.futures" not in sys.modules:
        raise SweepError("mpirun has started several processes, and each would measure every "
                         "point: start them with 'mpirun -n R wse-sweep SCRIPT.py'")
    from mpi4py.futures import MPIPoolExecutor
    return MPIPoolExecutor(path=sys.path)


def _measure_missing(attempt, engine, missing, take, bar):
    """take(key, result) for each of missing, {key: point}, as soon as it is there."""
    try:
        pending = {engine.submit(*attempt, point): key for key, point in missing.items()}
        while pending:
            ready, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                take(pending.pop(future), future.result())
                bar.update(1)
    finally:
        # After an interrupt, only what runs already is waited for.
        for future in pending:
            future.cancel()
        engine.shutdown()


def sweep(measure, points, kept=None, jobs=None, progress=None, failures=()):
    """The outcome of measure(point) for each point, in order; equal points are measured once.

    kept: where results stay (Kept).  jobs: measurements at a time on one machine (default: its
    cores).  progress: a bar on stderr; None: on terminals.  failures: exceptions of `measure` whose
    text says all; others are bugs, whose errors have the place.  Raises SweepError for points that
    are none, and NoTqdm if a bar is asked for without tqdm."""
    points = [check_point(point, f"point {number}") for number, point in enumerate(points)]
    if jobs is not None and jobs < 1:
        raise SweepError(f"at least 1 measurement at a time, not {jobs}")
    found, missing = {}, {}
    for point in points:
        key = key_of(point)
        if key in found or key in missing:
            continue
        values = kept.get(point) if kept else None
        if values is None:
            missing[key] = point
        else:
            found[key] = Outcome(point, values, was_kept=True)

    def take(key, result):
        values, files, error = result
        if error is None and kept:
            kept.put(missing[key], values, files)
        found[key] = Outcome(missing[key], values, error)

    if missing:
        with bar_of(len(points), progress, "point") as bar:
            bar.update(len(found))
            _measure_missing((_attempt, measure, tuple(failures)), _engine(jobs), missing, take,
                             bar)
    return [found[key_of(point)] for point in points]
