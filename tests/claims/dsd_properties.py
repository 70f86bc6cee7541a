#!/usr/bin/python3
"""Each DSD operation gives what numpy gives, over random shapes, strides, offsets, types and ways
to make its operands, on both architectures at every level.

    dsd_properties.py [PROGRAMS] [--seed=N] [--jobs=N]      default 2,000 programs of 10 operations

Short form: test_dsd_properties.py::test_operations_agree_with_numpy.
"""
import argparse

from claims import Claims
from diff import dsd_check


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="?", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    claims = Claims()
    found = dsd_check.run(options.programs, options.seed, options.jobs)
    for text in found.differences[:10]:
        print(text)
    print("times each operation was chosen:", dict(sorted(found.operations.items())))
    claims.at_least("programs", found.programs, options.programs)
    claims.equals("operations not used", ", ".join(dsd_check.missing(found)), "")
    claims.equals("differences", len(found.differences), 0)
    claims.finish()


if __name__ == "__main__":
    main()
