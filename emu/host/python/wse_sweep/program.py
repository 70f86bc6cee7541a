"""The measurement of a program in CSL: compiled for the point, run, its numbers collected."""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from wse_sweep.kept import digest_of, write_whole
from wse_sweep.points import SweepError
from wse_sweep.run import Measured

__all__ = ["PointFailed", "Program"]


class PointFailed(Exception):
    """A point that does not compile or run."""


def _tool(name):
    found = shutil.which(name)
    if not found:
        raise SweepError(f"{name} is not on the PATH: start the sweep with wse-sweep or cs_python, "
                         "or add the folder of the programs")
    return str(Path(found).resolve())


def _read_rule(path, folder):
    """The inputs that a rule of `cslc --depfile` names."""
    words = shlex.split(path.read_text().replace("\\\n", " ").replace("$$", "$"), posix=True)
    colon = next(i for i, word in enumerate(words) if word.endswith(":"))
    return [str((folder / word).resolve()) for word in words[colon + 1:]]


def _digest_before(path, moment):
    """The digest, or one that no file has if the file was written after the moment: the compiler
    may have read it before."""
    return digest_of(path) if os.stat(path).st_mtime_ns < moment else "written meanwhile"


def _still_hold(files):
    return all(digest_of(path) == digest for path, digest in files.items())


def _values_of(option, actions):
    """What stands behind the option in each of its uses: behind '=', or as the next word."""
    for before, word in zip(["", *actions], actions):
        if word.startswith(f"{option}="):
            yield word[len(option) + 1:]
        elif before == option:
            yield word


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


_MOST_TOLD = 5
_told, _tells = set(), threading.Lock()     # warnings, of all points


def _tell(point, warning):
    """Shows what a point that succeeds is warned of: the same words once, and not those of thousands
    of points."""
    with _tells:
        if warning in _told or len(_told) > _MOST_TOLD:
            return
        _told.add(warning)
        said = " ".join(f"{name}={value}" for name, value in point.items())
        if len(_told) > _MOST_TOLD:
            warning = "more points are warned of; the first messages stand above"
        print(f"wse-sweep: {said}: {warning}", file=sys.stderr)


def _numbers_in(stats, before=""):
    """The names by which `stats` of a sweep takes what stands in statistics."""
    for name, value in stats.items():
        if isinstance(value, dict):
            yield from _numbers_in(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield before + name


@dataclass
class Program:
    """sweep(Program(...).measure, points) compiles and runs a program for each point.

    layout: the main file; options: of cslc; actions: options and host actions of wse-emu.  `{NAME}`
    in options and actions stands for the point's value.  params: the names that are parameters of
    the program (default: all that no option or action has).  stats: what is taken of the
    statistics, such as "cycles" or "stalls.bank".  folder: relative paths begin here.  cache: where
    images stay; one is compiled again if a file that the compiler has read is another one now.
    timeout_seconds: of a compilation, and of a run."""
    layout: str
    actions: list = field(default_factory=list)
    options: list = field(default_factory=list)
    params: list = None
    stats: list = field(default_factory=lambda: ["cycles"])
    folder: str = "."
    cache: str = "sweep-images"
    timeout_seconds: float = None

    # ---- commands -----------------------------------------------------------------------------

    def _filled(self, texts, point):
        try:
            return [text.format(**{name: _word(value) for name, value in point.items()})
                    for text in texts]
        except KeyError as name:
            raise PointFailed(f"the point has no {name}, which an option or action names") from None
        except (ValueError, IndexError, AttributeError) as wrong:
            raise PointFailed(f"{{NAME}} stands for a value, and {{{{ and }}}} for braces: {wrong}"
                              ) from None

    def _params(self, point):
        if self.params is not None:
            absent = [name for name in self.params if name not in point]
            if absent:
                raise PointFailed(f"the point has no {absent[0]}, which 'params' names")
            return self.params
        texts = "".join([*self.options, *self.actions])
        return [name for name in point if f"{{{name}}}" not in texts]

    def _run(self, command, point):
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace",
                                  timeout=self.timeout_seconds)
        except subprocess.TimeoutExpired:
            raise PointFailed(f"{Path(command[0]).name} took longer than {self.timeout_seconds} "
                              "seconds") from None
        if done.returncode:
            raise PointFailed(f"{Path(command[0]).name} ended with exit code {done.returncode}:\n"
                              f"{(done.stderr or done.stdout).strip()}")
        if "warning:" in done.stderr:
            _tell(point, f"{Path(command[0]).name}: {done.stderr.strip()}")
        return done.stdout

    # ---- images -------------------------------------------------------------------------------

    def _compile(self, point):
        """The image for the point, and the files that it was made of."""
        cslc, folder = _tool("cslc"), Path(self.folder).resolve()
        command = [cslc, self.layout, *self._filled(self.options, point)]
        params = [f"{name}:{_word(point[name])}" for name in self._params(point)]
        if params:
            command.append("--params=" + ",".join(params))
        cache = (folder / self.cache).resolve()
        cache.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(f"{folder}\0{shlex.join(command)}".encode()).hexdigest()[:32]
        image, made_of = cache / f"{name}.bin", cache / f"{name}.files"
        try:
            files = json.loads(made_of.read_text())
            if _still_hold(files) and digest_of(image) == files[str(image)]:
                return image, files
        except (OSError, ValueError, KeyError, AttributeError):
            pass                # never compiled, or damaged
        began = time.time_ns()
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made, rule = Path(scratch) / "p.bin", Path(scratch) / "rule"
            self._run([*command, "-o", str(made), f"--depfile={rule}"], point)
            files = {path: _digest_before(path, began) for path in [cslc, *_read_rule(rule, folder)]}
            files[str(image)] = digest_of(made)
            made.replace(image)
        write_whole(made_of, json.dumps(files))
        return image, files

    # ---- runs ---------------------------------------------------------------------------------

    def _inputs(self, actions):
        """Files that the host copies to the tiles."""
        for copy in _values_of("--h2d", actions):
            path = Path(self.folder).resolve() / copy.partition("=")[2]
            if path.is_file():
                yield str(path)

    def _stats(self, path):
        stats, found = json.loads(path.read_text()), {}
        for name in self.stats:
            value = stats
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value is None or isinstance(value, dict):
                raise PointFailed(f"the statistics have no number '{name}'; there are "
                                  f"{', '.join(_numbers_in(stats))}")
            found[name] = value
        return found

    def measure(self, point):
        """The statistics and the printed values of one point, with the files behind them."""
        image, files = self._compile(point)
        actions = self._filled(self.actions, point)
        emulator = _tool("wse-emu")
        files = {path: digest for path, digest in files.items() if path != str(image)}
        for path in [emulator, *self._inputs(actions)]:
            files[path] = digest_of(path)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "stats.json"
            shown = self._run([emulator, str(image), *actions, f"--stats={path}"], point)
            values = self._stats(path)
        values.update(printed_values(shown, actions))
        return Measured(values, files)


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def printed_values(text, actions):
    """{"NAME@X,Y": value or list} of the lines that the --print actions have written."""
    names = {re.split("[:@]", value)[0] for value in _values_of("--print", actions)}
    found = {}
    for line in text.splitlines():
        label, _, rest = line.partition(":")
        if label.partition("@")[0] not in names or "@" not in label:
            continue
        values = [_number(word) for word in rest.split()]
        name, times = label, 1
        while name in found:    # printed several times
            times += 1
            name = f"{label}#{times}"
        found[name] = values[0] if len(values) == 1 else values
    return found
