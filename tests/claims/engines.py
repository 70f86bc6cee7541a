#!/usr/bin/python3
"""Both engines give the same events, statistics, findings, memory and registers, and so does the
reference engine when it visits the tiles in another order.

Programs: every sample, as its README compiles it, at each level on both machines, 2,000 random
ones, half of them wild (tests/unit/random_program.h), and 10,000 of chains of tiles that stream to
each other (tests/unit/random_streams.h).  ENGINES_SEEDS and ENGINES_STREAMS set their numbers; 200
is the least that was promised.

Short form: test_samples.py::test_engines_and_threads_agree, unit/engine_diff.c.
"""
import os
import re
import shlex

from claims import Claims, harness
import token_mutants

SEEDS = int(os.environ.get("ENGINES_SEEDS", "2000"))
STREAMS = int(os.environ.get("ENGINES_STREAMS", "10000"))
WAYS = ("--engine=reference",), ("--engine=fast",), ("--engine=fast", "--threads=3")


def compare(images=(), seeds=1, streams=1):
    """What unit-engine_diff says, and whether all comparisons held."""
    ran = harness.run([harness.unit_test("engine_diff")], expect=None, timeout=3000,
                      env={"ENGINE_DIFF_SEEDS": str(seeds), "ENGINE_DIFF_STREAMS": str(streams),
                           "ENGINE_DIFF_IMAGES": ":".join(map(str, images))})
    if ran.code:
        print(ran.out + ran.err)
    return ran.err + ran.out, ran.code == 0


STATS_OF_THE_RUN = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
                    "active_tile_cycles_per_second")


def host_actions(sample):
    """What the first wse-emu command of the sample's README does."""
    folders = (sample.folder, *sample.folder.parents)
    readme = next(f / "README.md" for f in folders if (f / "README.md").exists())
    text = readme.read_text().replace("\\\n", " ")
    found = re.search(r"^wse-emu \S+\.bin(.*)$", text, re.M)
    return [a for a in shlex.split(found[1]) if not a.startswith(("--stats", "--trace"))]


def run_by_host(sample, image, scratch, *engine):
    """Trace and statistics of a sample that its README launches."""
    actions = [re.sub(r"\b(\w+\.npy)\b", rf"{scratch}/\1", a) for a in host_actions(sample)]
    harness.emu(image, *engine, *actions, "--trace=all", f"--trace-file={scratch}/trace",
                f"--stats={scratch}/s.json", timeout=600)
    stats = harness.stats(scratch / "s.json")
    return (scratch / "trace").read_text(), {k: v for k, v in stats.items()
                                             if k not in STATS_OF_THE_RUN}


def compare_by_host(claims, sample, images):
    """Programs that a host drives run from the command line, as their README says."""
    events = 0
    for image in images:
        runs = [run_by_host(sample, image, claims.scratch, *way) for way in WAYS]
        events += runs[0][0].count("\n")
        if any(run != runs[0] for run in runs):
            return False
    return events > 0


def claim_numbers(claims, said):
    """The random programs of a run that held have done something."""
    events = re.search(r"(\d+) quiet.* (\d+) with faults; (\d+) events", said)
    claims.at_least("  runs of them that ended quietly", int(events[1]), SEEDS // 10)
    claims.at_least("  runs of them that ended with a finding", int(events[2]), SEEDS // 20)
    claims.at_least("  events compared", int(events[3]), 100 * SEEDS)
    streams = re.search(r"(\d+) quiet; \d+ bridges in (\d+), relays in (\d+), with wavelets in "
                        r"(\d+)", said)
    claims.at_least("  programs of streams that ended quietly", int(streams[1]), STREAMS // 2)
    claims.at_least("  of them with bridges", int(streams[2]), STREAMS // 2)
    claims.at_least("  of them with broadcasts over bridges", int(streams[3]), STREAMS // 8)
    claims.at_least("  of them with bridges taken down under way", int(streams[4]), STREAMS // 4)


def main():
    claims = Claims()
    said, same = compare(seeds=SEEDS, streams=STREAMS)
    claims.equals(f"{SEEDS} random programs, {STREAMS} of streams: same in every way", same, True)
    if same:
        claim_numbers(claims, said)
    for sample in token_mutants.samples():
        name = sample.folder.name
        images = []
        for arch in ("wse2", "wse3"):
            for level in ("-O0", "-O1", "-O2"):
                image = claims.scratch / f"{name}{level}-{arch}.bin"
                harness.cslc(*sample.args, level, f"--arch={arch}", "-o", image, cwd=sample.folder)
                images.append(image)
        if any(a.startswith("--launch") for a in host_actions(sample)):
            claims.equals(f"{name}, both machines, -O0 to -O2: same in every way",
                          compare_by_host(claims, sample, images), True)
            continue
        said, same = compare(images)
        claims.equals(f"{name}, both machines, -O0 to -O2: same in every way", same, True)
        claims.equals("  images compared", len(re.findall(r"\.bin: \d+ events", said)), 6)
    claims.finish()


if __name__ == "__main__":
    main()
