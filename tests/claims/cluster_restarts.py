#!/usr/bin/python3
"""Runs of clusters go on from states with nothing lost.

    cluster_restarts.py [N [FIRST]]

N random clusters (200) from seed FIRST on, by default one from the commit, on both engines and with
threads, every twentieth on processes: states on the way, at the end and at a limit, each gone on
from in another way than it was written.  Then kill -9 at 20 random moments of a run of three wafers
on one process and at 6 of one of three processes: whatever state there is can be used, and the run
ends as one without a kill.

Short form: test_cluster_states.py::test_random_clusters_go_on.
"""
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from claims import Claims, commit_seed, harness
import cluster_random
import cluster_run
import ranks_run

claims = Claims()
count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
first = int(sys.argv[2]) if len(sys.argv) > 2 else commit_seed()
draw = random.Random(first)
ALONE = [(0, ["--engine=fast"]), (0, ["--engine=reference"]), (0, ["--threads=3"])]
APART = [(2, ["--engine=reference"]), (3, ["--threads=2"])]
MOMENTS = {0: 20, 3: 6}
# Processes meet in each block of 40 cycles, so their runs are shorter.
LAUNCHES, EVERY = {0: (12000, 6000), 3: (600, 300)}, {0: 200000, 3: 10000}


def check_random():
    codes, different = Counter(), 0
    cluster_random.compile_images(claims.scratch)
    for seed in range(first, first + count):
        cluster = cluster_random.without_trace(cluster_random.RandomCluster(seed))
        ways = APART if seed % 20 == 0 and ranks_run.is_possible() else ALONE
        found, code = cluster_random.restart_differences(cluster, claims.scratch,
                                                         random.Random(seed), ways)
        codes[code] += 1
        different += bool(found)
        for line in found:
            print(f"  seed {seed}: {line}", flush=True)
    print(f"  exit codes {dict(sorted(codes.items()))}, seeds {first} to {first + count - 1}")
    claims.equals("random clusters that do not go on as they would have", different, 0)


def command(processes, options):
    """A line of three wafers, through which tokens go for long."""
    first_launch, second_launch = LAUNCHES[processes]
    own = [harness.tool("wse-emu"), f"--cluster={claims.scratch}/line.json",
           f"--stats={claims.scratch}/s.json", "--h2d=w0:n_tokens@0,0,1,1=8",
           "--h2d=w0:tokens@0,0,1,1=" + ",".join(str(i << 8 | 2) for i in range(8)),
           f"--launch=go({first_launch})", "--print=seen", f"--launch=go({second_launch})",
           "--print=seen", *options]
    return ranks_run.command(processes, *own) if processes else [str(o) for o in own]


def start(processes, options):
    return subprocess.Popen(command(processes, options), stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, env={**os.environ, **ranks_run.ENVIRONMENT})


def outcome(processes, options):
    process = start(processes, options)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out, cluster_run.stable(harness.stats(claims.scratch / "s.json"))


def wait_for_state(process, state):
    """Until there is one, or the run has ended: how long processes take to start depends on the
    machine."""
    while process.poll() is None and not state.exists():
        time.sleep(0.005)


def emulators(process, processes):
    if not processes:
        return [process.pid]
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)],
                            capture_output=True, text=True).stdout.split("\n")
    return [int(line.split()[0]) for line in listed if "wse-emu" in line]


def check_kills(processes):
    state = claims.scratch / "state"
    saving = [f"--save-state={state}", f"--save-every={EVERY[processes]}"]
    whole = outcome(processes, [])
    begin = time.monotonic()
    claims.equals(f"{processes or 1} processes: a run with states differs",
                  outcome(processes, saving) != whole, False)
    seconds, tally = time.monotonic() - begin, Counter()
    for _ in range(MOMENTS[processes]):
        state.unlink(missing_ok=True)
        process = start(processes, saving)
        if draw.random() < 0.75:
            wait_for_state(process, state)
            time.sleep(draw.uniform(0, 0.3) * seconds)
        else:
            time.sleep(draw.uniform(0.1, 0.85) * seconds)
        pids = emulators(process, processes)
        if pids and process.poll() is None:
            os.kill(draw.choice(pids), signal.SIGKILL)
            tally["killed"] += 1
        process.communicate(timeout=60)
        load = [f"--load-state={state}"] if state.exists() else []
        tally["states"] += bool(load)
        tally["different"] += outcome(processes, [*saving, *load]) != whole
    print(f"  {dict(tally)} of {MOMENTS[processes]}, a run takes {seconds:.1f} s")
    claims.at_least(f"{processes or 1} processes: killed", tally["killed"], MOMENTS[processes] // 2)
    claims.at_least("restarts from a state", tally["states"], MOMENTS[processes] // 3)
    claims.equals("restarts with another outcome", tally["different"], 0)


check_random()
harness.compile("tests/cluster/tokens/layout.csl", claims.scratch / "p.bin",
                params={"W": 3, "H": 2})
cluster_run.write(claims.scratch / "line.json", {"topology": {
    "kind": "line", "size": 3, "image": "p.bin", "rows": [0, 1], "latency": 40,
    "channels": [cluster_random.ROW]}})
for processes in MOMENTS if ranks_run.is_possible() else (0,):
    check_kills(processes)
claims.finish()
