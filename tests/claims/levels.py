#!/usr/bin/python3
"""-O2 is never slower than -O1: the cycles of every sample as its README runs it and at random sizes,
of every point of the calibration suite, and of the vendor's public examples.  Of random functions,
which hold more turns, branches and wide numbers than registers, few are slower, and by little.

CALIBRATION_DIR is a folder of fetched checkouts, as tests/calibration/suite.py describes it, and
CONFORMANCE_DIR a checkout of github.com/Cerebras/sdk-examples; without them the claim fails.
tests/test_codegen_table.py shows the same of the programs of tests/bench/codegen.  Seven minutes.

Short form: test_codegen_table.py::test_samples_of_any_size_are_not_slower_at_O2.
"""
import random
import statistics
import sys
import tempfile
from pathlib import Path

from claims import Claims, commit_seed, harness

sys.path[:0] = [str(harness.ROOT / "tests"), str(harness.ROOT / "tests" / "calibration")]
import examples  # noqa: E402
from oracle import check as oracle  # noqa: E402
import suite  # noqa: E402
import test_samples as samples  # noqa: E402

LEVELS = ("-O1", "-O2")
FUNCTIONS = 300
SIZES = {   # parameters of samples whose programs take any size, by a function that picks a number
    "reduce-chain": lambda pick: {"P": pick(2, 40), "B": pick(1, 300)},
    "broadcast-1d": lambda pick: {"P": pick(2, 40), "B": pick(1, 300)},
    "data-task": lambda pick: {"N": pick(1, 300)},
    "packets": lambda pick: {"packets": pick(1, 20)},
    "network-mpi": lambda pick: {"width": pick(2, 5), "height": pick(2, 5), "n": pick(1, 6),
                                 "operation": pick(0, 6)},
    "gemv": lambda pick: gemv_params(pick(2, 6), pick(2, 6), pick(1, 9), pick(1, 9)),
}
SIZES_EACH = 6
SLOWER_AT_TIMES = {"network-mpi", "packets"}     # docs/status.md has the reasons


def gemv_params(width, height, rows, columns):
    return {"width": width, "height": height, "M": height * rows, "N": width * columns}


def sample_cycles(sample, level):
    with tempfile.TemporaryDirectory() as folder:
        return int(samples.run_commands(sample, Path(folder), level).split("cycles: ")[-1])


def check(claims, what, cycles):
    """cycles: {name: those at -O1 and at -O2}."""
    for name, (usual, best) in cycles.items():
        if best > usual:
            print(f"{name}: {usual:.0f} at -O1, {best:.0f} at -O2", flush=True)
    claims.equals(f"{what}, {len(cycles)}: slower at -O2 than at -O1",
                  sum(best > usual for usual, best in cycles.values()), 0)


def run_cycles(layout, folder, level, *options, params=None, cycles=10_000_000):
    harness.compile(layout, folder / "p.bin", level, *options, params=params)
    harness.emu(folder / "p.bin", f"--max-cycles={cycles}", f"--stats={folder / 's.json'}",
                timeout=600)
    return harness.stats(folder / "s.json")["cycles"]


def random_sizes(folder, rng, each=SIZES_EACH, without=()):
    """Cycles of the samples at sizes that the project was not tuned to."""
    found = {}
    for sample in [name for name in SIZES if name not in without]:
        for _ in range(each):
            params = SIZES[sample](rng.randint)
            layout = harness.SAMPLES / sample / "layout.csl"
            name = f"{sample}, {params}"
            found[name] = [run_cycles(layout, folder, level, params=params) for level in LEVELS]
    return found


def point_cycles(folder, level):
    points = suite.read_points()
    suite.Suite(folder, harness.bin_dir().resolve(), level).run(points)
    return {f"{p.set}, {p.name}": p.ours for p in points}


def tools_at(level, folder):
    """A folder like that of the programs, whose cslc compiles at the level."""
    folder.mkdir()
    for program in harness.bin_dir().resolve().iterdir():
        (folder / program.name).symlink_to(program)
    (folder / "cslc").unlink()
    (folder / "cslc").write_text(f'#!/bin/sh\nexec {harness.tool("cslc")} "$@" {level}\n')
    (folder / "cslc").chmod(0o755)
    return folder


def example_cycles(claims, root, level):
    tools = tools_at(level, claims.scratch / f"tools{level}")
    results = examples.run(claims, root, f"--tools={tools}")
    claims.equals(f"{level}: examples that fail",
                  [r["script"] for r in results if r["outcome"] != "passed"], [])
    return {r["script"]: r["cycles"] for r in results}


def function_ratios(folder, seed):
    """Cycles at -O2 over those at -O1 of random programs of one function."""
    found = []
    for number in range(FUNCTIONS):
        programs, half = oracle.make((seed << 20) + number, 1)
        layout = oracle.write(programs, folder, "f", False)
        usual, best = (run_cycles(layout, folder, level, f"--fp16-format={half}")
                       for level in LEVELS)
        found.append(best / usual)
    return found


def check_functions(claims, ratios):
    slower = [r for r in ratios if r > 1]
    print(f"random functions: {len(slower)} of {len(ratios)} slower, the largest ratio "
          f"{max(ratios):.3f}; geometric mean {statistics.geometric_mean(ratios):.3f}")
    claims.at_most("random functions slower at -O2", 100 * len(slower) / len(ratios), 10, "%")
    claims.at_most("median of those", statistics.median(slower or [1]), 1.02)
    claims.at_most("all random functions, geometric mean", statistics.geometric_mean(ratios), 0.95)


def main():
    claims = Claims()
    rng = random.Random(commit_seed())
    check(claims, "samples", {name: [sample_cycles(name, level) for level in LEVELS]
                              for name in samples.SAMPLES})
    check(claims, "samples at random sizes", random_sizes(claims.scratch, rng))
    check_functions(claims, function_ratios(claims.scratch, commit_seed()))
    root = claims.given("CONFORMANCE_DIR", "a checkout of the vendor's examples")
    usual, best = (example_cycles(claims, root, level) for level in LEVELS)
    check(claims, "the vendor's examples", {n: (usual[n], best[n]) for n in usual})
    folder = claims.given("CALIBRATION_DIR", "a folder of checkouts")
    usual, best = (point_cycles(folder, level) for level in LEVELS)
    claims.equals("points that did not run", [n for n in usual if None in (usual[n], best[n])], [])
    check(claims, "points", {n: (usual[n], best[n]) for n in usual if None not in (usual[n], best[n])})
    claims.finish()


if __name__ == "__main__":
    main()
