"""Many measurements: several at a time, results kept on disk, progress shown.

A result is kept under its configuration and a digest of all that it depends on: the programs of
the toolchain, the library, and the sources of the study.  So an interrupted run goes on where it
was, and a change of the compiler measures everything anew.
"""
import hashlib
import json
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import programs


def digest_of(tools):
    """A digest of everything but the configuration."""
    digest = hashlib.sha256()
    files = [tools.folder / name for name in ("cslc", "wse-emu", "wse-model")]
    for folder in ("stdlib", "samples/study", "samples/gemv-collectives"):
        files += sorted((programs.ROOT / folder).rglob("*.csl"))
    for path in [*files, Path(programs.__file__)]:
        digest.update(str(path.name).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def key_of(what):
    return json.dumps(what, sort_keys=True)


class Results:
    """Cycles by configuration, a file each."""

    def __init__(self, folder, tools):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state = digest_of(tools)

    def path(self, what):
        name = hashlib.sha256((self.state + key_of(what)).encode()).hexdigest()[:24]
        return self.folder / f"{name}.json"

    def get(self, what):
        try:
            kept = json.loads(self.path(what).read_text())
        except (OSError, ValueError):
            return None
        return kept["cycles"] if kept.get("what") == what else None

    def put(self, what, cycles):
        # Renamed into place: an interrupt leaves no half of a file.
        path = self.path(what)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps({"what": what, "cycles": cycles}))
        part.replace(path)


def run(tools, results, wanted, jobs, out=sys.stderr):
    """{key: cycles} of all that is wanted."""
    unique = list({key_of(what): what for what in wanted}.values())
    found = {key_of(what): results.get(what) for what in unique}
    missing = [what for what in unique if found[key_of(what)] is None]
    began, done = time.monotonic(), 0
    print(f"{len(unique)} measurements, {len(unique) - len(missing)} of them kept", file=out)

    def one(what):
        cycles = programs.measure(tools, what)
        results.put(what, cycles)
        return what, cycles

    def finish(futures):
        nonlocal done
        for future in futures:
            what, cycles = future.result()
            found[key_of(what)] = cycles
            done += 1
            said = " ".join(f"{name}={value}" for name, value in what.items() if name != "program")
            print(f"[{done}/{len(missing)} {time.monotonic() - began:.0f} s] "
                  f"{what['program']} {said}: {cycles}", file=out, flush=True)

    pool = ThreadPoolExecutor(jobs)
    try:
        pending = {pool.submit(one, what) for what in missing}
        while pending:
            ready, pending = wait(pending, return_when=FIRST_COMPLETED)
            finish(ready)
    finally:
        # After an interrupt or a failure, only what runs already is waited for.
        pool.shutdown(cancel_futures=True)
    return found
