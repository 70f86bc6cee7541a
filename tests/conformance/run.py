#!/usr/bin/env python3
"""Runs existing programs unmodified: every commands*.sh below a folder, with our tools on the PATH.

    tests/conformance/run.py DIR [--arch wse2|wse3] [--level N] [--jobs N] [--only TEXT]
                             [--timeout S] [--markdown FILE] [--json FILE] [--keep DIR]

Each script runs in a scratch copy of DIR (programs use files of their neighbours).  It passes if
it ends with exit code 0 in time, prints no FAIL and no traceback, and the emulated tiles did
something.  One line a script; the last line is `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LADDER = json.loads((Path(__file__).parent / "ladder.json").read_text())
LEVEL_OF = {program: int(level) for level, programs in LADDER.items() for program in programs}
BAD_OUTPUT = re.compile(r"^Traceback|\bFAIL(ED|URE)?\b", re.MULTILINE)


@dataclass
class Result:
    script: str
    program: str
    level: int          # 0: not on the ladder
    arch: str           # "" when the script's name does not tell
    outcome: str        # passed, failed, skipped
    reason: str
    cycles: int         # emulated, over all runs of the script
    wall_seconds: float
    checks: bool        # prints SUCCESS or PASS


def arch_of(script):
    match = re.search(r"wse[23]", script.name)
    return match.group(0) if match else ""


def find_scripts(folder, options):
    for script in sorted(folder.rglob("commands*.sh")):
        program = script.parent.name
        level = LEVEL_OF.get(program, 0)
        arch = arch_of(script)
        if options.arch and arch and arch != options.arch:
            continue
        if options.level and level not in options.level:
            continue
        if options.only and options.only not in str(script):
            continue
        yield script, program, level, arch


def emulated(log, key):
    """Sum of a statistic over the lines that the host layer appends to WSE_RUN_LOG, one a
    finished run."""
    if not log.exists():
        return 0
    return sum(json.loads(line)[key] for line in log.read_text().splitlines())


def verdict(done, instructions):
    if done is None:
        return "failed", "time limit"
    text = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if "rror" in line] or text.splitlines() or [""]
        return "failed", f"exit {done.returncode}: {lines[-1].strip()[:160]}"
    if BAD_OUTPUT.search(text):
        return "failed", "printed: " + BAD_OUTPUT.search(text).group(0)
    if instructions == 0:
        return "failed", "the device executed nothing"
    return "passed", ""


def run_script(folder, tools, options, script, program, level, arch):
    scratch = Path(tempfile.mkdtemp(prefix="conformance-"))
    try:
        copy = scratch / "tree"
        shutil.copytree(folder, copy)
        log = scratch / "runs.jsonl"
        environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                       "WSE_RUN_LOG": str(log), "MPLBACKEND": "Agg"}
        here = copy / script.relative_to(folder)
        start = time.monotonic()
        try:
            done = subprocess.run(["bash", here.name], cwd=here.parent, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=options.timeout)
        except subprocess.TimeoutExpired:
            done = None
        wall = time.monotonic() - start
        cycles = emulated(log, "cycles")
        outcome, reason = verdict(done, emulated(log, "instructions"))
        text = done.stdout + done.stderr if done else ""
        if options.keep:
            keep = Path(options.keep)
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{program}-{script.stem}.log").write_text(text)
        return Result(str(script.relative_to(folder)), program, level, arch, outcome, reason,
                      cycles, round(wall, 2), bool(re.search(r"SUCCESS|PASS", text)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def print_line(result):
    level = f"L{result.level}" if result.level else "--"
    unchecked = "" if result.checks or result.outcome != "passed" else "  (checks nothing)"
    print(f"{result.outcome:7} {level} {result.script}  {result.cycles} cycles "
          f"{result.wall_seconds:.1f} s{unchecked}" + (f"  {result.reason}" if result.reason else ""),
          flush=True)


def markdown(results):
    lines = ["| level | script | outcome | cycles | wall s | note |", "| --- | --- | --- | --- | --- | --- |"]
    for r in sorted(results, key=lambda r: (r.level or 99, r.script)):
        note = r.reason or ("" if r.checks else "checks nothing")
        lines.append(f"| {r.level or '-'} | {r.script} | {r.outcome} | {r.cycles} | "
                     f"{r.wall_seconds} | {note} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", choices=["wse2", "wse3"])
    parser.add_argument("--level", type=int, action="append", help="repeatable")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", help="part of the script's path")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a script")
    parser.add_argument("--tools", type=Path,
                        default=Path(os.environ.get("WSE_BIN") or ROOT / "build/release/bin"))
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", help="folder for each script's output")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if not folder.is_dir():
        sys.exit(f"{options.folder}: no such folder")
    tools = options.tools.resolve()
    for name in ("cslc", "cs_python"):
        if not (tools / name).exists():
            sys.exit(f"{tools / name} is not built: cmake --build --preset release")

    jobs = list(find_scripts(folder, options))
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_script, folder, tools, options, *job) for job in jobs]
        for future in futures:
            results.append(future.result())
            print_line(results[-1])
    if options.markdown:
        options.markdown.write_text(markdown(results))
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    counts = {o: sum(r.outcome == o for r in results) for o in ("passed", "failed", "skipped")}
    if not results:
        print("no commands*.sh found")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not results else 0


if __name__ == "__main__":
    sys.exit(main())
