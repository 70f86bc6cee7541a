#!/usr/bin/python3
"""Runs the public programs whose cycle counts are published and compares ours with them.

    tests/calibration/suite.py CHECKOUTS [--only=TEXT] [--set=NAME] [--role=fit|judge]
                               [--level=-O1] [--options="--timing=..."] [--jobs=N] [--json=FILE]
                               [--keep=DIR]

CHECKOUTS is a folder of git repositories: NAME, OWNER+NAME/repo or OWNER/NAME, with a work tree or
bare, with their history.  Nothing of them becomes part of this project: each run works in a scratch
copy of the commit that the measurement belongs to.  A repository that is not there is skipped.

points.csv has one published number per line; own_programs.py has those whose programs are ours.  `fit` points may be used to fit the table of times;
`judge` points are for judging the fit and are only reported.  published_programs.py says how each
program runs.  The programs run as a sweep (docs/sweeps.md): with --keep, a suite that was stopped
goes on where it was, and `mpirun -n R wse-sweep tests/calibration/suite.py ...` runs it on several
processes or nodes.  Prints published, ours and their ratio, grouped by set, then medians by set, role, machine
and release.  WSE_BIN names the folder of the tools (default build/release/bin).
"""
import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import own_programs
from published_programs import PROGRAMS
from tools import ProgramFailed, Tools

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "emu" / "host" / "python"))
import wse_sweep  # noqa: E402

POINTS = HERE / "points.csv"


class Absent(Exception):
    """A repository that is not on this machine."""


@dataclass
class Point:
    """A published number; `ours` is None until it has been run."""
    set: str
    program: str
    arch: str
    release: str
    role: str
    case: str
    quantity: str
    published: float
    source: str
    ours: float = None
    group_share: float = None   # of the cycles that threads spend: groups, with bank conflicts
    problem: str = ""

    @property
    def ratio(self):
        return self.ours / self.published

    @property
    def name(self):
        return f"{self.program} {self.case}: {self.quantity}"


def read_table(file):
    with open(file, newline="") as table:
        return [Point(**{**row, "published": float(row["published"])})
                for row in csv.DictReader(table)]


def read_points():
    return read_table(POINTS) + [Point(**row) for row in own_programs.points()]


def find_repository(checkouts, repository):
    """The git directory of OWNER/NAME below the folder, or None."""
    owner, name = repository.split("/")
    for place in (name, f"{owner}+{name}/repo", f"{owner}/{name}"):
        for git in (checkouts / place / ".git", checkouts / place):
            if (git / "HEAD").exists():
                return git
    return None


def copy_commit(git, commit, folder):
    archive = subprocess.run(["git", f"--git-dir={git}", "archive", commit], capture_output=True)
    if archive.returncode:
        raise ProgramFailed(f"{git} has no commit {commit}")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def copy_files(git, commit, files, folder):
    for file in files:
        shown = subprocess.run(["git", f"--git-dir={git}", "show", f"{commit}:{file}"],
                               capture_output=True)
        if shown.returncode:
            raise ProgramFailed(f"{git} has no {file} at {commit}")
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(shown.stdout)


class Run:
    """A program in a scratch copy of its commit; it is compiled once and may run many times."""

    def __init__(self, suite, program_name, case):
        self.case = dict(pair.split("=") for pair in case.split())
        self.program = PROGRAMS[program_name]
        self.suite = suite

    def __enter__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="calibration-"))
        try:
            (self.scratch / "tree").mkdir()
            if not self.program.is_own:
                self.copy_program()
        except (ProgramFailed, Absent):
            self.__exit__()
            raise
        self.tools = Tools.make(self.suite.binaries, self.scratch / "bin", self.suite.level)
        return self

    def copy_program(self):
        program = self.program
        git = find_repository(self.suite.checkouts, program.repository)
        if git is None:
            raise Absent(f"skipped: {self.suite.checkouts} has no {program.repository}")
        if program.files:
            copy_files(git, program.commit, program.files, self.scratch / "tree")
        else:
            copy_commit(git, program.commit, self.scratch / "tree")

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def quantities(self, options=""):
        """What the program reports; options of wse-emu hold for all its runs."""
        self.tools.options = f"{self.suite.options} --stats={self.scratch}/stats.json {options}"
        return self.program.run(self.tools, self.scratch / "tree", self.case)

    def group_share(self):
        """The part of the last run's thread cycles that are groups or wait for a bank; of a program
        of our own None."""
        if self.program.is_own:
            return None
        stats = json.loads((self.scratch / "stats.json").read_text())
        trust = stats["trust"]
        groups = stats["groups"] + stats["stalls"]["bank"]
        return groups / (trust["documented"] + trust["fitted"] + trust["assumed"])


@dataclass
class Suite:
    """Where programs come from and what runs them."""
    checkouts: Path
    binaries: Path
    level: str = "-O1"
    options: str = ""

    def run_case(self, case):
        """The quantities of one run and its group share."""
        with Run(self, case["program"], case["case"]) as run:
            return {"quantities": run.quantities(), "group_share": run.group_share()}

    def digest(self):
        """Of what quantities depend on besides the case."""
        files = [self.binaries / name for name in ("cslc", "wse-emu", "cs_python")]
        for folder, kind in (("stdlib", "csl"), ("emu/host/python", "py"), ("tests/calibration", "py")):
            files += sorted((ROOT / folder).rglob(f"*.{kind}"))
        library = self.binaries.parent / "lib" / "libwse.so"
        return f"{wse_sweep.digest_of_files([*files, library])} {self.level} {self.options}"

    def run(self, points, jobs=2, keep=None):
        """Fills in `ours` or `problem` of each point; each run of a program happens once.  keep: a
        folder for the results."""
        cases = [{"program": point.program, "case": point.case} for point in points]
        outcomes = wse_sweep.sweep(self.run_case, cases,
                                   keep and wse_sweep.Kept(keep, self.digest()), jobs,
                                   failures=(ProgramFailed, Absent))
        for point, outcome in zip(points, outcomes):
            take_quantity(point, outcome)
        return points


def take_quantity(point, outcome):
    if outcome.error is not None:
        point.problem = outcome.error
        return
    quantities, point.group_share = outcome.values["quantities"], outcome.values["group_share"]
    point.ours = quantities.get(point.quantity)
    if point.ours is None:
        point.problem = f"the program reports no {point.quantity}: {quantities}"


def miss(point):
    return 100 * (point.ratio - 1)


def print_points(points):
    for set_name in dict.fromkeys(p.set for p in points):
        print(f"\n{set_name}")
        print(f"{'published':>12} {'ours':>10} {'ratio':>7}  role   point")
        for p in (p for p in points if p.set == set_name):
            if p.ours is None:
                print(f"{p.published:12.0f} {'-':>10} {'-':>7}  {p.role:5}  {p.name}\n"
                      f"    {p.problem}")
            else:
                print(f"{p.published:12.0f} {p.ours:10.0f} {p.ratio:7.3f}  {p.role:5}  {p.name}")


def print_summary(points):
    print(f"\n{'set':22} {'arch':5} {'release':8} {'role':6} {'points':>6} {'median':>8} "
          f"{'median |.|':>10} {'worst':>8}")
    groups = {}
    for p in points:
        if p.ours is not None:
            groups.setdefault((p.set, p.arch, p.release, p.role), []).append(miss(p))
    for (name, arch, release, role), misses in groups.items():
        print(f"{name:22} {arch:5} {release:8} {role:6} {len(misses):6} "
              f"{statistics.median(misses):+7.1f}% {statistics.median(map(abs, misses)):9.1f}% "
              f"{max(misses, key=abs):+7.1f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", default="", help="part of a point's name")
    parser.add_argument("--set", default="", help="part of a set's name")
    parser.add_argument("--role", choices=["fit", "judge"])
    parser.add_argument("--level", default="-O1", help="optimisation level (-O1)")
    parser.add_argument("--options", default="", help="of wse-emu, for every run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder of results; a stopped suite goes on from it")
    parser.add_argument("--json", type=Path, help="the points with what we give, as a file")
    options = parser.parse_args()
    binaries = Path(os.environ.get("WSE_BIN") or ROOT / "build/release/bin").resolve()
    if not (binaries / "cslc").exists():
        sys.exit(f"{binaries}/cslc is not built: cmake --build --preset release")
    points = [p for p in read_points() if options.only in p.name and options.set in p.set
              and options.role in (None, p.role)]
    suite = Suite(options.checkouts.resolve(), binaries, options.level, options.options)
    suite.run(points, options.jobs, options.keep)
    print_points(points)
    print_summary(points)
    if options.json:
        options.json.write_text(json.dumps([asdict(p) for p in points], indent=1) + "\n")
    broken = [p for p in points if p.problem and not p.problem.startswith("skipped")]
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
