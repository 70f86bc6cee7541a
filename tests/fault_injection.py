"""Runs a program with one allocation, or one call that writes, failing, and says what is wrong with
how it ends.

Right is: the program says what has failed and ends with an exit code other than 0, and no output is
there or an output that was whole; or it has done without, and its outputs are as always.
"""
import subprocess
from dataclasses import dataclass
from pathlib import Path

import harness

KINDS = ("alloc", "write")
NO_FILTER = 77             # the injector cannot work here
MESSAGES = {1, 2, 3, 4}    # exit codes of our programs that come with a message


@dataclass
class Case:
    """A command, the folder that holds its inputs, and the outputs that it makes there."""
    name: str
    command: list
    folder: object
    outputs: tuple


def build(folder):
    """The library for LD_PRELOAD."""
    library = folder / "inject.so"
    harness.run(["cc", "-O1", "-shared", "-fPIC", "-o", library,
                 harness.ROOT / "tests" / "fault" / "inject.c"])
    return library


def samples(scratch):
    """Compiling three samples, and running them with every kind of output file."""
    cases = []
    for sample, params in (("hello-wavelet", {}), ("reduce-chain", {"P": 4, "B": 8}),
                           ("data-task", {"N": 8})):
        words = ["--params=" + ",".join(f"{k}:{v}" for k, v in params.items())] if params else []
        source = harness.ROOT / "samples" / sample / "layout.csl"
        folder = scratch / sample
        folder.mkdir()
        harness.compile(source, folder / "in.bin", params=params)
        cases.append(Case(f"cslc {sample}", [harness.tool("cslc"), source, *words, "-o", "p.bin"],
                          folder, ("p.bin",)))
        cases.append(Case(
            f"wse-emu {sample}", [harness.tool("wse-emu"), "in.bin", "--trace=task",
                                  "--trace-file=t.txt", "--stats=s.json", "--profile=p.txt",
                                  "--report=r.html"], folder, ("t.txt", "s.json", "p.txt", "r.html")))
        cases += [Case(f"wse-emu {sample} {trace}", [harness.tool("wse-emu"), "in.bin", "--trace=task",
                                                     f"--trace-file={trace}"], folder, (trace,))
                  for trace in ("t.gz", "t.zst")]
    return cases


def run(library, case, kind, at):
    """(exit code, stderr, outputs by name) of one run, and the number of calls that it counted."""
    for file in case.folder.iterdir():
        if file.name != "in.bin":
            file.unlink()
    done = subprocess.run(
        [str(word) for word in case.command], cwd=case.folder, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=120,
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library), "FAULT_KIND": kind,
             "FAULT_AT": str(at), "FAULT_COUNT": "count"})
    outputs = {name: (case.folder / name).read_bytes() for name in case.outputs
               if (case.folder / name).exists()}
    count = case.folder / "count"
    calls = int(count.read_text()) if count.exists() else 0
    return done.returncode, done.stderr.decode(errors="replace"), outputs, calls


def is_whole(name, content):
    """Contents vary with times; the end of a file does not."""
    ends = {".bin": None, ".json": b"}\n", ".html": b"</html>\n", ".txt": b"\n"}
    unpack = {".gz": "gzip", ".zst": "zstd"}.get(Path(name).suffix)
    if unpack:
        done = subprocess.run([unpack, "-dc"], input=content, capture_output=True)
        return done.returncode == 0 and done.stdout.endswith(b"\n")
    end = next(end for suffix, end in ends.items() if name.endswith(suffix))
    return end is None or content.endswith(end)


def problem(case, usual, code, err, outputs):
    """What is wrong with a run, or None."""
    if code < 0 or code not in MESSAGES | {0}:
        return f"exit code {code}"
    if code and not err.strip():
        return "no message"
    if "internal error" in err:
        return "an internal error"
    if code == 0 and set(outputs) != set(usual):
        return "an output is missing, and the exit code is 0"
    for name, content in outputs.items():
        if not is_whole(name, content) or (name.endswith(".bin") and content != usual[name]):
            return f"{name} is not whole"
    strangers = {f.name for f in case.folder.iterdir()} - {*case.outputs, "in.bin", "count"}
    return f"left behind: {', '.join(sorted(strangers))}" if strangers else None


def check(library, case, kind, chosen):
    """Fails the calls that chosen(number of calls) lists; the number that failed, and the problems as
    texts.  None: the injector cannot work here."""
    code, err, usual, calls = run(library, case, kind, 0)
    if code == NO_FILTER:
        return None
    assert code == 0 and set(usual) == set(case.outputs) and calls > 0, (case.name, kind, err)
    problems, tried = [], 0
    for at in chosen(calls):
        code, err, outputs, _ = run(library, case, kind, at)
        wrong = problem(case, usual, code, err, outputs)
        tried += 1
        if wrong:
            problems.append(f"{case.name}, {kind} {at} of {calls}: {wrong}\n{err[-300:]}")
    return tried, problems
