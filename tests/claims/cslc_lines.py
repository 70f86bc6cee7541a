#!/usr/bin/python3
"""Every `cslc` line of the scripts of the vendor's public examples compiles, unmodified.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/csl-examples.  Each commands*.sh runs in a
scratch copy with a `cslc` that compiles and takes notes, and a `cs_python` that does nothing.

No short form: programs of others.
"""
import os
import shutil
import subprocess
from pathlib import Path

from claims import Claims, harness

NOTED = """#!/bin/sh
"{cslc}" "$@" 2> "{log}.err"
code=$?
echo "$code cslc $*" >> "{log}"
[ $code = 0 ] || sed 's/^/    /' "{log}.err" | head -5 >> "{log}"
exit $code
"""
NOTHING = "#!/bin/sh\nexit 0\n"


def write_tools(folder, log):
    folder.mkdir()
    for name, text in (("cslc", NOTED.format(cslc=harness.tool("cslc"), log=log)),
                       ("cs_python", NOTHING)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def main():
    claims = Claims()
    folder = os.environ.get("CONFORMANCE_DIR")
    if not folder:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/csl-examples")
        claims.finish()
    copy, log = claims.scratch / "tree", claims.scratch / "log"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
    write_tools(claims.scratch / "bin", log)
    environment = {**os.environ, "PATH": f"{claims.scratch / 'bin'}:{os.environ['PATH']}"}
    scripts = sorted(Path(copy).rglob("commands*.sh"))
    for script in scripts:
        subprocess.run(["bash", script.name], cwd=script.parent, env=environment,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    lines = log.read_text().splitlines()
    compiled = [line for line in lines if line.startswith("0 cslc")]
    failed = [line for line in lines if not line.startswith("0 cslc")]
    print("\n".join(failed))
    claims.at_least("scripts", len(scripts), 100)
    claims.at_least("cslc lines that compiled", len(compiled), 93)
    claims.equals("cslc lines that failed", sum(" cslc " in line for line in failed), 0)
    claims.finish()


main()
