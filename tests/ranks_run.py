"""Runs programs of the tools on several processes, as mpirun starts them, for tests and claims."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import harness

# mpirun refuses root and more processes than cores unless it is asked.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
# Statistics that depend on the clock, on memory, or on the number of processes and threads itself.
OWN_KEYS = {"load_seconds", "wall_seconds", "active_tile_cycles_per_second", "peak_rss_bytes",
            "processes", "threads"}


def is_possible():
    module = Path(harness.bin_dir()).parent / "lib" / "wse-mpi.so"
    return shutil.which("mpirun") is not None and module.exists()


def command(processes, *args):
    return ["mpirun", "-n", str(processes), *(str(a) for a in args)]


def run(processes, *args, env=None, **options):
    """Exit code, stdout and stderr of the command on so many processes."""
    return harness.run(command(processes, *args), env={**ENVIRONMENT, **(env or {})}, **options)


def emu(processes, *args, **options):
    return run(processes, harness.tool("wse-emu"), *args, **options)


def emulators_of(parent):
    """Its children that are wse-emu by now, the oldest first."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().split()
        except OSError:         # it has ended meanwhile
            continue
        if fields[1] == "(wse-emu)" and int(fields[3]) == parent:
            found.append(int(fields[0]))
    return sorted(found)


def check_dead_process_ends_all(*args):
    """A long run of wse-emu on two processes, of which one is killed, ends promptly, with a message
    and an exit code."""
    started = subprocess.Popen(
        command(2, harness.tool("wse-emu"), *args), env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    for _ in range(400):
        found = emulators_of(started.pid)
        if len(found) == 2:
            break
        time.sleep(0.05)
    assert len(found) == 2, "mpirun has not started both processes"
    time.sleep(0.5)
    os.kill(found[1], signal.SIGKILL)
    _, err = started.communicate(timeout=60)
    assert started.returncode != 0 and "signal 9" in err, err


def stats_of(path):
    return {k: v for k, v in json.loads(Path(path).read_text()).items() if k not in OWN_KEYS}


def without_mpirun(text):
    """stderr without what mpirun adds when a program ends with an exit code that is not 0."""
    lines = text.splitlines(keepends=True)
    bars = [i for i, line in enumerate(lines) if line.startswith("-----")]
    if len(bars) >= 2:
        del lines[bars[0]:bars[-1] + 1]
    return "".join(line for line in lines if not line.startswith("[" + os.uname().nodename))


def outcome(folder, processes, image, args, expect=0):
    """All that a run shows, with `{out}` in `args` for a folder of its own."""
    out = folder / f"on{processes}"
    out.mkdir()
    given = [str(a).replace("{out}", str(out)) for a in args] + [f"--stats={out}/s.json"]
    ran = harness.emu(image, *given, expect=expect) if processes == 0 else \
        emu(processes, image, *given, expect=expect)
    files = {p.name: p.read_bytes() for p in out.iterdir() if p.name != "s.json"}
    shown = stats_of(out / "s.json") if (out / "s.json").exists() else None
    return {"out": ran.out.replace(str(out), ""), "err": without_mpirun(ran.err).replace(str(out), ""),
            "files": files, "stats": shown}
