"""wse-sweep: a sweep that a file describes."""
import argparse
import difflib
import json
import os
import sys
from pathlib import Path

from wse_bar import NoTqdm
from wse_sweep.kept import Kept
from wse_sweep.points import SweepError, check_point, grid
from wse_sweep.program import PointFailed, Program
from wse_sweep.run import sweep
from wse_sweep.tables import check_table, write_table

_TEXTS = ("options", "actions", "params", "stats")
_KEYS = ("layout", "points", *_TEXTS, "timeout_seconds")

_MOST_SHOWN = 5                 # failed points on stderr


def _hint(key):
    near = difflib.get_close_matches(key, _KEYS, 1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(_KEYS)}"


def _check_texts(path, name, texts):
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SweepError(f"{path}: {name}: a list of texts has to stand here, not {texts!r}")


def _read_points(path, points):
    try:
        if isinstance(points, dict):
            return grid(**points)
        if isinstance(points, list) and points:
            return [check_point(p, f"points[{i}]") for i, p in enumerate(points)]
    except SweepError as wrong:
        raise SweepError(f"{path}: {wrong}") from None
    raise SweepError(f"{path}: points: a list of points, or lists of values by name, has to stand "
                     "here")


def read_sweep(path):
    """The keys of the file, checked, and its points."""
    try:
        spec = json.loads(Path(path).read_text())
    except OSError as wrong:
        raise SweepError(f"'{path}' cannot be read: {wrong.strerror}") from None
    except ValueError as wrong:
        raise SweepError(f"{path}: it is no JSON: {wrong}") from None
    if not isinstance(spec, dict):
        raise SweepError(f"{path}: an object {{...}} has to stand here")
    for key in spec:
        if key not in _KEYS:
            raise SweepError(f"{path}: unknown key '{key}'{_hint(key)}")
    for key in ("layout", "points"):
        if key not in spec:
            raise SweepError(f"{path}: the key '{key}' is missing")
    if not isinstance(spec["layout"], str):
        raise SweepError(f"{path}: layout: the name of a file has to stand here")
    for key in _TEXTS:
        _check_texts(path, key, spec.get(key, []))
    seconds = spec.get("timeout_seconds", 1)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise SweepError(f"{path}: timeout_seconds: a number above 0 has to stand here, not "
                         f"{seconds!r}")
    points = _read_points(path, spec.pop("points"))
    for name in dict.fromkeys(name for point in points for name in point):
        if name in (*spec.get("stats", ["cycles"]), "error"):
            raise SweepError(f"{path}: points: the table has another column '{name}'; give the "
                             "points another name")
    return spec, points


class _Once(argparse.Action):
    """Sets the value, and refuses another one: both would be meant."""

    def __call__(self, parser, namespace, value, option_string=None):
        before = getattr(namespace, self.dest)
        if before not in (None, value):
            parser.error(f"{option_string} is given twice, as {before!r} and as {value!r}; a sweep "
                         "takes one")
        setattr(namespace, self.dest, value)


def _arguments():
    parser = argparse.ArgumentParser(
        prog="wse-sweep", description="Compiles and runs a program for each point of a sweep.",
        epilog="docs/sweeps.md describes FILE. Stopped or killed, a sweep goes on where it was when "
               "it is started again. 'mpirun -n R wse-sweep ...' measures in R - 1 processes; "
               "'wse-sweep SCRIPT.py ...' runs a program that calls wse_sweep.sweep().")
    parser.add_argument("file", metavar="FILE.json", help="program and points")
    parser.add_argument("--out", action=_Once, metavar="F",
                        help="table, F.csv or F.json (default: FILE.csv)")
    parser.add_argument("--keep", action=_Once, metavar="DIR",
                        help="folder of images and results (default: FILE.kept)")
    parser.add_argument("--jobs", type=int, default=None, metavar="N",
                        help="points at a time (default: number of cores)")
    # Answered before Python starts, by the program in front of this one.
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.add_argument("--progress", action="store_const", const=True, default=None,
                        help="a bar also where stderr is no terminal")
    return _parsed(parser)


def _parsed(parser):
    """The arguments, or the end of the program: help that does not arrive is an error."""
    try:
        try:
            return parser.parse_args()
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except OSError as wrong:
        # Python would try at its end to write what it could not write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"wse-sweep: error: cannot write to standard output: {wrong.strerror}")


def _sweep_file(args):
    spec, points = read_sweep(args.file)
    stem = Path(args.file).with_suffix("")
    out = check_table(args.out or f"{stem}.csv")
    if out.resolve() == Path(args.file).resolve():
        raise SweepError(f"--out={out} would replace the file that describes the sweep; give the "
                         "table another name")
    keep = Path(args.keep or f"{stem}.kept").resolve()
    if keep.exists() and not keep.is_dir():
        raise SweepError(f"'{keep}' is no folder, and results of points are kept in one; --keep=DIR "
                         "names another")
    program = Program(**spec, folder=str(Path(args.file).resolve().parent),
                      cache=str(keep / "images"))
    outcomes = sweep(program.measure, points, Kept(keep, json.dumps(spec, sort_keys=True)),
                     args.jobs, args.progress, failures=(PointFailed, SweepError))
    write_table(out, outcomes)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed[:_MOST_SHOWN]:
        said = " ".join(f"{name}={value}" for name, value in outcome.point.items())
        print(f"wse-sweep: {said}: {outcome.error}", file=sys.stderr)
    if len(failed) > _MOST_SHOWN:
        print(f"wse-sweep: {len(failed) - _MOST_SHOWN} more have failed; {out} has all errors",
              file=sys.stderr)
    kept = sum(outcome.was_kept for outcome in outcomes)
    counted = "1 point" if len(outcomes) == 1 else f"{len(outcomes)} points"
    print(f"wse-sweep: {counted}, {kept} of them kept, {len(failed)} failed: {out}",
          file=sys.stderr)
    return 1 if failed else 0


def main():
    args = _arguments()
    try:
        return _sweep_file(args)
    except (SweepError, NoTqdm) as wrong:
        print(f"wse-sweep: error: {wrong}", file=sys.stderr)
    except OSError as wrong:
        print(f"wse-sweep: error: '{wrong.filename}': {wrong.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        print("wse-sweep: interrupted; the same command goes on from here", file=sys.stderr)
        # Commands that run still are not waited for.
        os._exit(130)
    return 2


if __name__ == "__main__":
    sys.exit(main())
