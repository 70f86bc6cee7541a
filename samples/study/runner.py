"""Many measurements, as a sweep (docs/sweeps.md): several at a time, results kept on disk.

A result is kept under its configuration and a digest of all that it depends on: the programs of
the toolchain, the library, and the sources of the study.  So an interrupted run goes on where it
was, and a change of the compiler measures everything anew.
"""
import functools
import sys
from pathlib import Path

import programs

sys.path.append(str(programs.ROOT / "emu" / "host" / "python"))
import wse_sweep  # noqa: E402


def digest_of(tools):
    """A digest of everything but the configuration."""
    files = [tools.folder / name for name in ("cslc", "wse-emu", "wse-model")]
    for folder in ("stdlib", "samples/study", "samples/gemv-collectives"):
        files += sorted((programs.ROOT / folder).rglob("*.csl"))
    return wse_sweep.digest_of_files([*files, Path(programs.__file__)])


def key_of(what):
    return tuple(sorted(what.items()))


def measure(tools, what):
    return {"cycles": programs.measure(tools, what)}


def run(tools, folder, wanted, jobs, out=sys.stderr):
    """{key: cycles} of all that is wanted; Wrong, after all others, if one fails."""
    unique = list({key_of(what): what for what in wanted}.values())
    outcomes = wse_sweep.sweep(functools.partial(measure, tools), unique,
                               wse_sweep.Kept(folder, digest_of(tools)), jobs,
                               failures=(programs.Wrong,))
    kept = sum(outcome.was_kept for outcome in outcomes)
    print(f"{len(outcomes)} measurements, {kept} of them kept", file=out)
    failed = [f"{outcome.point}: {outcome.error}" for outcome in outcomes if outcome.error]
    if failed:
        raise programs.Wrong("\n".join(failed))
    return {key_of(outcome.point): outcome.values["cycles"] for outcome in outcomes}
