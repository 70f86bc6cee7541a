"""Imported by the claims that fuzz: builds a target of the fuzz preset, runs it, and measures
which lines of the given sources its inputs reached.

A target is tests/fuzz/NAME.c.  What it finds is written to build/fuzz/findings-NAME; its corpus
stays in build/fuzz/corpus-NAME and makes the next run start where this one ended.
"""
import argparse
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import time
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent.parent / "build" / "fuzz"
os.environ.setdefault("WSE_BIN", str(BUILD / "bin"))   # a claim that fuzzes needs no other build
from claims import Claims, harness  # noqa: E402

LEAST_COVERAGE = 80
MOST_SECONDS = 20              # of processor time, for one input
SLEEPS_SECONDS = 600           # after that an input waits for something
TIMED_OUT = 70                 # libFuzzer's exit code


def llvm(name):
    """An LLVM tool; distributions name some of them with their version only."""
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/bin/{name}-[0-9]*"))), None)
    assert found, f"{name} is not installed: run .ci/setup.sh"
    return found


def build(*targets):
    for command in (["cmake", "--preset", "fuzz"],
                    ["cmake", "--build", "--preset", "fuzz", "--target", *targets]):
        done = subprocess.run(command, cwd=harness.ROOT, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout[-4000:]


def fuzz(name, seconds, options, folders):
    """(exit code, log) of libFuzzer, whose own limit is on wall time."""
    corpus, findings = folders
    log = BUILD / f"log-{name}.txt"
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(
            [BUILD / "bin" / f"fuzz-{name}", f"-max_total_time={seconds}",
             f"-timeout={MOST_SECONDS}", f"-timeout_exitcode={TIMED_OUT}",
             f"-artifact_prefix={findings}/", "-print_final_stats=1", *options, corpus],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=BUILD,
            env={**os.environ, "LLVM_PROFILE_FILE": str(BUILD / f"{name}.profraw")},
            check=False).returncode
    return code, log.read_text(encoding="utf-8", errors="replace")


def is_hang(name, file):
    """Whether the target needs more than the limit of processor time for one input: a busy machine
    or one that swaps makes any input slow."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    done = subprocess.run([BUILD / "bin" / f"fuzz-{name}", f"-timeout={SLEEPS_SECONDS}", file],
                          stdin=subprocess.DEVNULL, capture_output=True, cwd=BUILD,
                          preexec_fn=limit, check=False)
    return done.returncode != 0


def run(name, seconds, options, seeds=()):
    """(executions, exit code, log) of a run, which goes on behind inputs that were only slow."""
    corpus, findings = BUILD / f"corpus-{name}", BUILD / f"findings-{name}"
    for folder in (corpus, findings):
        folder.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    end, total = time.monotonic() + seconds, 0
    while True:
        before = set(findings.glob("timeout-*"))
        code, text = fuzz(name, max(1, round(end - time.monotonic())), options, (corpus, findings))
        executions = re.search(r"number_of_executed_units: (\d+)", text)
        total += int(executions.group(1)) if executions else 0
        slow = set(findings.glob("timeout-*")) - before
        if code != TIMED_OUT or not slow or any(is_hang(name, file) for file in slow):
            return total, code, text
        for file in slow:
            file.unlink()
        if time.monotonic() >= end:
            return total, 0, text


def line_coverage(name, sources):
    """Percent of the lines of the sources that the last run reached, in sum and for each file."""
    data = BUILD / f"{name}.profdata"
    subprocess.run([llvm("llvm-profdata"), "merge", "-o", data, BUILD / f"{name}.profraw"],
                   check=True)
    report = subprocess.run(
        [llvm("llvm-cov"), "export", "-summary-only", f"-instr-profile={data}",
         BUILD / "bin" / f"fuzz-{name}"], check=True, capture_output=True).stdout
    lines = lines_of_files(json.loads(report)["data"][0]["files"])
    missing = [file for file in sources if file not in lines]
    assert not missing, f"no coverage of {missing}"
    covered, count = (sum(lines[file][key] for file in sources) for key in ("covered", "count"))
    return 100 * covered / count, {file: lines[file]["percent"] for file in sources}


def lines_of_files(files):
    """What llvm-cov says of the lines of each file of the project.  It is asked for all files: with a
    compiler cache the names in the program are relative ones, by which it finds no single file."""
    lines = {}
    for file in files:
        path = Path(os.path.normpath(file["filename"]))
        if path.is_relative_to(harness.ROOT):
            lines[str(path.relative_to(harness.ROOT))] = file["summary"]["lines"]
    return lines


def claim(name, sources, what, options=(), default_seconds=1800, seeds=(),
          least_coverage=LEAST_COVERAGE):
    """The whole claim; its one argument is the number of seconds.  seeds: inputs to start from, or a
    function that makes them with the compiler."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("seconds", nargs="?", type=int, default=default_seconds)
    seconds = parser.parse_args().seconds
    claims = Claims()
    build(f"fuzz-{name}", *(["cslc"] if callable(seeds) else []))
    seeds = seeds() if callable(seeds) else seeds
    executions, code, log = run(name, seconds, options, seeds)
    if code:
        print(log[-4000:])
    claims.at_least(f"{what}: executions in {seconds} s", executions, 1)
    claims.equals(f"{what}: findings", 0 if code == 0 else 1, 0)
    total, files = line_coverage(name, sources)
    for file, percent in sorted(files.items()):
        print(f"  {file}: {percent:.1f} % of its lines")
    claims.at_least(f"{what}: lines reached", round(total, 1), least_coverage, "%")
    claims.finish()
