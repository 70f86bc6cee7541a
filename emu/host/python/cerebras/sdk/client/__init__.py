"""The form that scripts for the appliance use: compile and run in contexts.

Nothing is sent anywhere: the compiler and the emulator of this machine do the work.  A compiled
artifact is the path of cslc's output directory.
"""

import os
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import warnings
from pathlib import Path

from cerebras.sdk.runtime import _compiler, sdkruntimepybind
from cerebras.sdk.runtime.sdkruntimepybind import Task

__all__ = ["SdkCompiler", "SdkLauncher", "SdkRuntime", "Task"]


# What says how a cluster is to carry a job out, and nothing about the program.
_OF_A_JOB = ("mgmt_namespace", "resource_cpu", "resource_mem", "disable_version_check")


def _without_job(named):
    return {name: value for name, value in named.items() if name not in _OF_A_JOB}


def _takes_only_job(kind, named):
    for name in _without_job(named):
        raise TypeError(f"{kind} takes no {name!r}, only {', '.join(_OF_A_JOB)}")


def _warn_of_machine(simulator):
    """Scripts written for a machine run as they are; the warning stands at their line."""
    if not simulator:
        warnings.warn("there is no machine here, so the emulator runs the program; simulator=True "
                      "says that this is meant", RuntimeWarning, 3)


def _path(what, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} is a path, not {value!r}")
    return Path(value)


class SdkCompiler:
    """Runs cslc."""

    def __init__(self, **named):
        _takes_only_job("SdkCompiler", named)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return None

    def compile(self, codedir, layout, args, outdir="."):
        """Compiles codedir/layout and returns the path of the output directory.  Relative
        paths among the options `args` are those of codedir, as is the output's; outdir is where a
        cluster would put its archive."""
        del outdir
        folder = _path("the folder with the program", codedir)
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {os.fspath(folder)!r} with the program")
        if not isinstance(args, str):
            raise TypeError(f"the options of cslc are one text, as on a command line, not {args!r}")
        words = shlex.split(args)
        _compiler.run([os.fspath(layout), *words], folder)
        return str((folder / _output(words)).resolve())


def _output(words):
    """What -o says among cslc's options."""
    output = "out"
    for index, word in enumerate(words):
        if word == "-o" and index + 1 < len(words):
            output = words[index + 1]
        elif word.startswith("-o"):
            output = word[2:].lstrip("=") or output
    return output


class SdkRuntime(sdkruntimepybind.SdkRuntime):
    """The runtime as a context: it is loaded and running inside, stopped after."""

    def __init__(self, artifact, simulator=False, **named):
        _warn_of_machine(simulator)
        super().__init__(artifact, **_without_job(named))

    def start(self):
        """What entering the context does, for older scripts."""
        return self.__enter__()


_ADDRESS = re.compile("""'%CMADDR%'|"%CMADDR%"|%CMADDR%""")


class SdkLauncher:
    """Runs commands beside a compiled program, in a scratch folder."""

    def __init__(self, artifact, simulator=False, **named):
        _takes_only_job("SdkLauncher", named)
        _warn_of_machine(simulator)
        self._artifact = _path("an artifact", artifact).resolve()
        if not self._artifact.exists():
            raise FileNotFoundError(f"there is no {os.fspath(artifact)!r}; SdkCompiler.compile() "
                                    "returns the path of what it has made")
        self._folder = None

    def __enter__(self):
        self._folder = Path(tempfile.mkdtemp(prefix="sdk-launcher-"))
        (self._folder / self._artifact.name).symlink_to(self._artifact)
        return self

    def __exit__(self, kind, value, traceback):
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def _inside(self):
        if self._folder is None:
            raise RuntimeError("SdkLauncher is a context: with SdkLauncher(...) as launcher: ...")
        return self._folder

    def stage(self, path):
        """Copies a file or folder to where the commands run."""
        path = _path("what is staged", path)
        copy = self._inside() / path.name
        if path.is_dir():
            shutil.copytree(path, copy, dirs_exist_ok=True)
        else:
            shutil.copy2(path, copy)

    def run(self, *commands):
        """Runs a command line for each argument and returns what they print.  %CMADDR% becomes an
        empty word: there is no machine to name."""
        printed = []
        for command in commands:
            if not isinstance(command, str):
                raise TypeError(f"a command is one text, as in a shell, not {command!r}")
            done = subprocess.run(["bash", "-c", _ADDRESS.sub("''", command)],
                                  cwd=self._inside(), capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, check=False, env=os.environ)
            printed.append(done.stdout)
            if done.returncode != 0:
                raise RuntimeError(f"{command}: exit code {done.returncode}\n"
                                   + done.stdout + done.stderr)
        return "".join(printed)

    def download_artifact(self, name, out_path):
        """Copies what a command has written to out_path, a folder or the name to have, and returns
        where it is.  A folder comes as an archive, NAME.tar.gz.  Folders on the way are made."""
        source, target = self._inside() / name, Path(out_path)
        if not source.exists():
            there = sorted(path.name for path in self._folder.iterdir())
            raise FileNotFoundError(f"there is no {os.fspath(name)!r} where the commands have run, "
                                    f"only {', '.join(there)}")
        suffix = ".tar.gz" if source.is_dir() else ""
        if target.is_dir() or os.fspath(out_path).endswith("/"):
            target = target / (Path(name).name + suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        if suffix:
            with tarfile.open(target, "w:gz") as archive:
                archive.add(source, arcname=Path(name).name)
        else:
            shutil.copy2(source, target)
        return str(target)
