#!/usr/bin/python3
"""A cluster shows the same on every number of processes and threads, and on both engines.

    cluster_identity.py [N [FIRST]]

N random clusters (300) from seed FIRST on, by default one from the commit; so several calls can share
the work.  Each runs alone on both engines with 1 to 3 threads, and under mpirun on 2 and 3 processes,
one of them with the reference engine: exit code, output, messages, statistics, traces and memory.

Short form: test_cluster_ranks.py::test_random_clusters_are_as_on_one_process.
"""
import collections
import random
import sys

from claims import Claims, commit_seed
import cluster_random
import ranks_run

claims = Claims()
count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
first = int(sys.argv[2]) if len(sys.argv) > 2 else commit_seed()


def ways(draw):
    engines = ["fast", "reference"]
    draw.shuffle(engines)
    yield 0, ["--engine=reference"]
    yield 0, ["--engine=fast", f"--threads={draw.randint(2, 3)}"]
    for processes, engine in zip((2, 3), engines) if ranks_run.is_possible() else ():
        yield processes, [f"--engine={engine}", f"--threads={draw.randint(1, 3)}"]


codes, different = collections.Counter(), []
cluster_random.compile_images(claims.scratch)
for seed in range(first, first + count):
    cluster = cluster_random.RandomCluster(seed)
    alone = cluster_random.outcome(cluster, claims.scratch)
    codes[alone["code"]] += 1
    for processes, options in ways(random.Random(seed)):
        found = cluster_random.outcome(cluster, claims.scratch, processes, options)
        for line in cluster_random.differences(alone, found):
            different.append((seed, processes, options))
            print(f"  seed {seed}, {processes} processes, {options}: {line}", flush=True)
print(f"  exit codes {dict(sorted(codes.items()))}, seeds {first} to {first + count - 1}")
claims.equals("clusters", sum(codes.values()), count)
claims.equals("that did not run at all", codes[1], 0)
claims.equals("ways that differ", len(different), 0)
claims.finish()
