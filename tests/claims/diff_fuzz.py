#!/usr/bin/python3
"""Random functions give the same bits at compile time and at every optimisation level.

    diff_fuzz.py [FUNCTIONS] [--seed=N] [--jobs=N]      default 200,000 functions

Short form: test_diff.py::test_compile_time_and_all_levels_agree.
"""
import argparse
import time

from claims import Claims
from diff import fuzz


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("functions", nargs="?", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    claims = Claims()
    start = time.time()
    shown = 0

    def report(total):
        nonlocal shown
        if total.functions - shown >= options.functions / 20:
            shown = total.functions
            print(f"{shown} functions, {len(total.differences)} differences", flush=True)

    total = fuzz.run(options.functions, options.seed, jobs=options.jobs, report=report)
    print(total.summary(time.time() - start))
    for text in total.differences[:10]:
        print(text)
    claims.at_least("functions", total.functions, options.functions)
    claims.equals("differences", len(total.differences), 0)
    claims.equals("rows of ir/ops.def not used", ", ".join(total.rows_missing()), "")
    claims.at_least("calls that compile time computes as well",
                    round(100 * total.known / total.calls, 1), 70, "%")
    claims.finish()


if __name__ == "__main__":
    main()
