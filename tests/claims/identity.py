"""Two builds of the tools do the same: images of all samples on both machines and at every level,
and their traces and statistics on both engines; with CONFORMANCE_DIR also images, statistics and
output of the public examples' scripts.  For changes that a user must not see.

    /usr/bin/python3 tests/claims/identity.py OLD_BIN NEW_BIN [--only TEXT] [--jobs N]

OLD_BIN and NEW_BIN: folders of the programs.  It needs two builds, so run.sh does not run it.

No short form: two builds.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import harness  # noqa: E402
import token_mutants  # noqa: E402
from claims import Checks, build_folder  # noqa: E402

ARCHS, LEVELS = ("wse2", "wse3"), ("-O0", "-O1", "-O2")
ENGINES = (("--engine=fast",), ("--engine=fast", "--threads=2"), ("--engine=reference",))
# Of one run, not of what it computes.
OF_THE_RUN = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
              "active_tile_cycles_per_second")
# The header's hash of the tables, and the header's checksum (docs/image.md).
HASH, CHECKSUM = slice(16, 24), slice(32, 36)
MOST_SECONDS = 900


def run(command, **options):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=MOST_SECONDS, **options)


def without_hash(image):
    data = bytearray(image)
    data[HASH], data[CHECKSUM] = bytes(8), bytes(4)
    return bytes(data)


def image_text(path):
    return hashlib.sha256(without_hash(path.read_bytes())).hexdigest()


def statistics(text):
    return {k: v for k, v in json.loads(text).items() if k not in OF_THE_RUN}


# ---- samples ------------------------------------------------------------------------------------

def actions_of(sample):
    """What the first wse-emu command of the README does with the program."""
    folder = next(f for f in (sample.folder, *sample.folder.parents) if (f / "README.md").exists())
    text = (folder / "README.md").read_text().replace("\\\n", " ")
    found = re.search(r"^wse-emu \S+\.bin(.*)$", text, re.M)
    words = shlex.split(found[1]) if found else []
    return [a for a in words if not a.startswith(("--stats", "--trace"))]


def sample_results(tools, sample, arch, level, folder):
    """Everything that the tools of a folder make of a sample."""
    image = folder / "p.bin"
    done = run([tools / "cslc", *sample.args, level, f"--arch={arch}", "-o", image],
               cwd=sample.folder)
    found = {"cslc": (done.returncode, done.stdout, done.stderr)}
    if done.returncode:
        return found
    found["image"] = image_text(image)
    actions = [re.sub(r"\b(\w+\.npy)\b", rf"{folder}/\1", a) for a in actions_of(sample)]
    for engine in ENGINES:
        for trace in ((), ("--trace=all", f"--trace-file={folder}/trace")):
            ran = run([tools / "wse-emu", image, *engine, *actions, *trace,
                       f"--stats={folder}/s.json"])
            found[engine, bool(trace)] = (
                ran.returncode, ran.stdout, ran.stderr, statistics((folder / "s.json").read_text()),
                hashlib.sha256((folder / "trace").read_bytes()).hexdigest() if trace else "")
    return found


def different(old, new):
    return [key for key in {**old, **new} if old.get(key) != new.get(key)]


def compare_sample(job):
    tools, sample, arch, level = job
    with tempfile.TemporaryDirectory() as scratch:
        results = []
        for name in ("old", "new"):      # in one folder, so that texts with its name are equal
            folder = Path(scratch) / "run"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            results.append(sample_results(tools[name], sample, arch, level, folder))
    return f"{sample.folder.name} {arch} {level}", different(*results)


# ---- public examples ----------------------------------------------------------------------------

def script_results(tools, root, script, folder):
    """Output, statistics of the runs, and images of a script."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root, folder / "tree", ignore=shutil.ignore_patterns(".git"))
    here, log = folder / "tree" / script.relative_to(root), folder / "runs.jsonl"
    before = set((folder / "tree").rglob("*.bin"))
    here.write_text(re.sub(r"^%python_sdk_paint\b", "cs_python run.py", here.read_text(),
                           flags=re.M))
    done = run(["bash", here.name], cwd=here.parent,
               env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                    "WSE_RUN_LOG": str(log), "MPLBACKEND": "Agg"})
    lines = log.read_text().splitlines() if log.exists() else []
    images = sorted(set((folder / "tree").rglob("*.bin")) - before)
    return {"code": done.returncode, "runs": [statistics(line) for line in lines],
            "images": {str(p.relative_to(folder)): image_text(p) for p in images}}


def compare_script(job):
    tools, root, script = job
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        results = [script_results(tools[name], root, script, folder) for name in ("old", "new")]
    return str(script.relative_to(root)), different(*results)


# ---- both ---------------------------------------------------------------------------------------

def compare_all(checks, what, compare, jobs, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(compare, jobs))
    bad = [f"{name}: {', '.join(map(str, keys))}" for name, keys in results if keys]
    for line in bad:
        print(f"  differs: {line}")
    checks.at_least(f"{what} compared", len(results), 1)
    checks.equals(f"{what} that differ", len(bad), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old", type=build_folder)
    parser.add_argument("new", type=build_folder)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tools = {"old": options.old, "new": options.new}
    checks = Checks()
    jobs = [(tools, sample, arch, level) for sample in token_mutants.samples()
            for arch in ARCHS for level in LEVELS if options.only in str(sample.folder)]
    compare_all(checks, "samples", compare_sample, jobs, options.jobs)
    if os.environ.get("CONFORMANCE_DIR"):
        root = Path(os.environ["CONFORMANCE_DIR"]).resolve()
        scripts = [(tools, root, s) for s in sorted(root.rglob("commands*.sh"))
                   if options.only in str(s)]
        compare_all(checks, "scripts", compare_script, scripts, options.jobs)
    checks.finish()


if __name__ == "__main__":
    main()
