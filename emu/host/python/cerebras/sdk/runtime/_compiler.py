"""Runs cslc for host scripts."""

import os
import sys


def _find(prefix):
    """In the folder that the caller names, on the PATH, or beside cs_python, which puts its own
    folder there."""
    import shutil       # here, because most scripts start no compiler

    found = shutil.which(os.path.join(prefix, "cslc") if prefix else "cslc")
    if not found and prefix:
        raise RuntimeError(f"there is no program {os.path.join(prefix, 'cslc')!r}: cslc_prefix is the "
                           "folder of the toolchain's programs; without it, PATH leads to cslc")
    if not found:
        raise RuntimeError("cslc is not on the PATH; add the folder of the toolchain's programs, "
                           "or name it in SdkLayout.compile(cslc_prefix=...)")
    return found


def run(arguments, folder=None, prefix=""):
    """Shows what cslc warns of; a program that does not compile is a RuntimeError."""
    import subprocess

    done = subprocess.run([_find(prefix), *arguments], cwd=folder, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"cslc {' '.join(arguments)}: exit code {done.returncode}\n"
                           + done.stdout)
    sys.stderr.write(done.stdout)
