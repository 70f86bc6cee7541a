#!/usr/bin/env python3
"""Runs existing programs unmodified: every commands*.sh below a folder, with our tools on the PATH.

    tests/conformance/run.py DIR [--arch wse2|wse3] [--level N] [--jobs N] [--only TEXT]
                             [--timeout S] [--markdown FILE] [--json FILE] [--keep DIR]
                             [--status FILE --release NAME]

Each script runs in a scratch copy of DIR, because programs use files of their neighbours.  The
runner changes one thing there: it replaces a macro that the vendor's build has left,
`%python_sdk_paint ...`, by `cs_python run.py ...`.  A script passes if it ends with exit code 0 in
time, prints no FAIL and no traceback, and the tiles did something in every run of the emulator.
The output is one line per script, then the scripts that passed and check nothing; the last line is
`N passed, N failed, N skipped` (the options have not chosen the skipped ones).

--status writes the table for the release in DIR into a page, between
`<!-- conformance NAME -->` and the next `<!-- end -->`.
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
LEVELS = json.loads((Path(__file__).parent / "levels.json").read_text())
LEVEL_OF = {program: int(level) for level, programs in LEVELS.items() for program in programs}
BAD_OUTPUT = re.compile(r"Traceback \(most recent call last\)|\bFAIL(ED|URE)?\b")
GOOD_OUTPUT = re.compile(r"\bSUCCESS|\bPASS")
UNEXPANDED_MACRO = re.compile(r"^%python_sdk_paint\b", re.MULTILINE)


@dataclass
class Result:
    script: str
    program: str
    level: int          # of levels.json, 0 if it is not there
    arch: str           # "" if the name of the script has none
    outcome: str        # passed, failed
    reason: str
    cycles: int         # emulated, over all runs of the script
    wall_seconds: float
    checks: bool        # prints SUCCESS or PASS


def arch_of(script):
    match = re.search(r"wse[23]", script.name)
    return match.group(0) if match else ""


def find_scripts(folder):
    for script in sorted(folder.rglob("commands*.sh")):
        program = script.parent.name
        yield script, program, LEVEL_OF.get(program, 0), arch_of(script)


def is_chosen(options, script, level, arch):
    return ((not options.arch or arch in ("", options.arch))
            and (not options.level or level in options.level)
            and (not options.only or options.only in str(script)))


def emulated(log, key):
    """A statistic of each line that the host layer appends to WSE_RUN_LOG, one a finished run."""
    if not log.exists():
        return []
    return [json.loads(line)[key] for line in log.read_text().splitlines()]


def expand_macros(script):
    """Some published scripts have a macro of the vendor's build in place of the run command."""
    text = script.read_text()
    expanded = UNEXPANDED_MACRO.sub("cs_python run.py", text)
    if expanded != text:
        script.write_text(expanded)


def verdict(done, instructions):
    if done is None:
        return "failed", "time limit"
    text = done.stdout + done.stderr
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if "rror" in line] or text.splitlines() or [""]
        return "failed", f"exit {done.returncode}: {lines[-1].strip()[:160]}"
    if BAD_OUTPUT.search(text):
        return "failed", "printed: " + BAD_OUTPUT.search(text).group(0)
    if not instructions or min(instructions) == 0:
        return "failed", "the device executed nothing"
    return "passed", ""


def run_script(folder, tools, options, script, program, level, arch):
    scratch = Path(tempfile.mkdtemp(prefix="conformance-"))
    try:
        copy = scratch / "tree"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
        log = scratch / "runs.jsonl"
        environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                       "WSE_RUN_LOG": str(log), "MPLBACKEND": "Agg"}
        here = copy / script.relative_to(folder)
        expand_macros(here)
        start = time.monotonic()
        try:
            done = subprocess.run(["bash", here.name], cwd=here.parent, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=options.timeout)
        except subprocess.TimeoutExpired:
            done = None
        wall = time.monotonic() - start
        cycles = sum(emulated(log, "cycles"))
        outcome, reason = verdict(done, emulated(log, "instructions"))
        text = done.stdout + done.stderr if done else ""
        if options.keep:
            keep = Path(options.keep)
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{program}-{script.stem}.log").write_text(text)
        return Result(str(script.relative_to(folder)), program, level, arch, outcome, reason,
                      cycles, round(wall, 2), bool(GOOD_OUTPUT.search(text)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def print_line(result):
    level = f"L{result.level}" if result.level else "--"
    print(f"{result.outcome:7} {level} {result.script}  {result.cycles} cycles "
          f"{result.wall_seconds:.1f} s" + (f"  {result.reason}" if result.reason else ""),
          flush=True)


def unchecked(results):
    """Scripts that ended well and do not say that their result is right."""
    return [r for r in results if r.outcome == "passed" and not r.checks]


def by_level(results):
    return sorted(results, key=lambda r: (r.level or 99, r.script))


def markdown(results):
    lines = ["| level | script | outcome | cycles | wall s | reason |",
             "| --- | --- | --- | --- | --- | --- |"]
    lines += [f"| {r.level or '-'} | {r.script} | {r.outcome} | {r.cycles} | {r.wall_seconds} | "
              f"{r.reason} |" for r in by_level(results)]
    if unchecked(results):
        lines += ["", "They ran to their end, but check nothing themselves:", ""]
        lines += [f"- {r.script}" for r in by_level(unchecked(results))]
    return "\n".join(lines) + "\n"


def status_cell(results):
    return "; ".join(f"{r.cycles} cycles, {r.wall_seconds:.1f} s"
                     + (" (checks nothing)" if not r.checks else "")
                     if r.outcome == "passed" else "fails" for r in results) or "-"


def status_table(results):
    """One line per program, both machines side by side."""
    programs = {}
    for r in by_level(results):
        programs.setdefault((r.level, r.program), []).append(r)
    lines = ["", "| level | program | wse2 | wse3 |", "| --- | --- | --- | --- |"]
    for (level, program), runs in programs.items():
        cells = (status_cell([r for r in runs if r.arch in (arch, "")])
                 for arch in ("wse2", "wse3"))
        lines.append(f"| {level or '-'} | {program} | {' | '.join(cells)} |")
    passed = sum(r.outcome == "passed" for r in results)
    seconds = sum(r.wall_seconds for r in results)
    lines += ["", f"{passed} of {len(results)} scripts pass, in {seconds:.0f} s of wall time in sum; "
              "cycles are those of", "all runs of a script.", ""]
    return "\n".join(lines)


def place_of_table(path, release):
    """The page before, in and behind the table of the release."""
    mark = f"<!-- conformance {release} -->"
    found = re.fullmatch(f"(.*?{re.escape(mark)}\n)(.*?)(<!-- end -->.*)", path.read_text(),
                         re.DOTALL)
    if not found:
        sys.exit(f"{path}: there is no line {mark} with an <!-- end --> after it")
    return found.groups()


def write_status(path, release, results):
    before, _, behind = place_of_table(path, release)
    path.write_text(before + status_table(results) + behind)


def run_all(folder, tools, options, jobs):
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_script, folder, tools, options, *job) for job in jobs]
        for future in futures:
            results.append(future.result())
            print_line(results[-1])
    return results


def write_files(options, results):
    if options.markdown:
        options.markdown.write_text(markdown(results))
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    if options.status:
        write_status(options.status, options.release, results)


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
    parser.add_argument("--status", type=Path, help="page whose table of --release is renewed")
    parser.add_argument("--release", help="what the page calls the release in the folder")
    parser.add_argument("--keep", help="folder for each script's output")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if not folder.is_dir():
        sys.exit(f"{options.folder}: no such folder")
    if options.status:
        if not options.release:
            parser.error("--status needs --release: the page has a table for each")
        place_of_table(options.status, options.release)
    tools = options.tools.resolve()
    for name in ("cslc", "cs_python"):
        if not (tools / name).exists():
            sys.exit(f"{tools / name} is not built: cmake --build --preset release")

    found = list(find_scripts(folder))
    jobs = [job for job in found if is_chosen(options, job[0], *job[2:])]
    results = run_all(folder, tools, options, jobs)
    write_files(options, results)
    if unchecked(results):
        print("these ran to their end, but check nothing themselves:")
    for result in unchecked(results):
        print(f"  {result.script}")
    failed = sum(r.outcome == "failed" for r in results)
    if not results:
        print("no commands*.sh to run")
    print(f"{len(results) - failed} passed, {failed} failed, {len(found) - len(jobs)} skipped")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
