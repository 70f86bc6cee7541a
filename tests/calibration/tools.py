"""Our compiler, host layer and emulator as the scripts of public programs call them."""
import os
import shlex
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 600    # seconds of one run


class ProgramFailed(Exception):
    """A public program did not compile or run, or found its result wrong."""


@dataclass
class Tools:
    """Our compiler and host layer as the public scripts call them."""
    folder: Path
    environment: dict

    @classmethod
    def make(cls, binaries, folder, level="-O1", environment=None):
        folder.mkdir(parents=True)
        for name, extra in (("cslc", level), ("cs_python", ""), ("wse-emu", "")):
            wrapper = folder / name
            wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(str(binaries / name))} "$@" {extra}\n')
            wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        return cls(folder, environment or {})

    def run(self, folder, command, **environment):
        """Runs a line of bash in the folder; its output, standard error included."""
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        try:
            done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=TIME_LIMIT,
                                  env={**os.environ, **self.environment, "PATH": path,
                                       **{k: str(v) for k, v in environment.items()}})
        except subprocess.TimeoutExpired:
            raise ProgramFailed(f"{command}: still running after {TIME_LIMIT} s") from None
        if done.returncode:
            raise ProgramFailed(f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}")
        return done.stdout
