"""Our compiler, host layer and emulator as the scripts of public programs call them."""
import os
import shlex
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 600    # seconds of one run

# Compiles once: a program that runs again with other times is taken from where it was kept.
CSLC = """#!/bin/bash
out=
for ((i = 1; i <= $#; i++)); do
  case ${!i} in
    -o) next=$((i + 1)); out=${!next} ;;
    -o=*) out=${!i#-o=} ;;
  esac
done
kept=%(kept)s/$(printf '%%s\n' "$PWD" "$@" | sha1sum | cut -c1-40)
if [ ! -e "$kept" ]; then
  %(cslc)s "$@" %(level)s || exit
  cp -r "$out" "$kept"
fi
[ -e "$out" ] || cp -r "$kept" "$out"
"""
CS_PYTHON = '#!/bin/bash\nexec %(cs_python)s "$@"\n'
EMU = '#!/bin/bash\nexec %(wse-emu)s "$@" $WSE_ARGS\n'


class ProgramFailed(Exception):
    """A public program did not compile or run, or found its result wrong."""


@dataclass
class Tools:
    """The folder to be first on the PATH, and the options that every run of the emulator gets."""
    folder: Path
    options: str = ""

    @classmethod
    def make(cls, binaries, folder, level="-O1"):
        kept = folder / "kept"
        kept.mkdir(parents=True)
        names = {name: shlex.quote(str(binaries / name))
                 for name in ("cslc", "cs_python", "wse-emu")}
        names |= {"kept": shlex.quote(str(kept)), "level": level}
        for name, text in (("cslc", CSLC), ("cs_python", CS_PYTHON), ("wse-emu", EMU)):
            wrapper = folder / name
            wrapper.write_text(text % names)
            wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        return cls(folder)

    def run(self, folder, command, **environment):
        """Runs a line of bash in the folder; its output, standard error included."""
        environment = {**os.environ, **{k: str(v) for k, v in environment.items()},
                       "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
                       "WSE_ARGS": self.options}
        try:
            done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=TIME_LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(f"{command}: still running after {TIME_LIMIT} s") from None
        if done.returncode:
            raise ProgramFailed(f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}")
        return done.stdout
