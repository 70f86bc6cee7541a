#!/usr/bin/python3
"""What the compiler says of programs that are damaged in one token.

Deletes, doubles, replaces or swaps one random token of a sample or test of ours, many times.  No
mutant may crash the compiler or keep it busy; of those it refuses, the first error (or a note of
it) is within one line of the change in at least 90 %, and says more than which token was expected
in at least 70 %.

    mutants.py [--count=N] [--seed=N] [--verbose]

Short form: test_mutants.py::test_mutants_are_refused_near_the_change.
"""
import argparse
import random

from claims import Claims, harness
import token_mutants


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    claims = Claims()
    mutator = token_mutants.Mutator(claims.scratch, random.Random(options.seed))
    refused, findings = [], 0
    for _ in range(options.count):
        try:
            mutant = mutator.next()
        except AssertionError as failed:
            print(failed)
            findings += 1
            continue
        if mutant.code:
            refused.append(mutant)
            if options.verbose and (not mutant.is_near or mutant.is_bare):
                first = mutant.first_error[0]
                print(f"{'' if mutant.is_near else 'far '}{'bare' if mutant.is_bare else ''}: "
                      f"{mutant.file.relative_to(harness.ROOT)}:{mutant.line}: {mutant.shown}: "
                      f"{first['file']}:{first['line']}: {first['message']} [{first['id']}]")
    print(f"{options.count} mutants, {len(refused)} of them refused")
    claims.equals("crashes and hangs", findings, 0)
    claims.at_least("first error within one line of the change",
                    round(100 * sum(m.is_near for m in refused) / len(refused), 1), 90, "%")
    claims.at_least("more than a bare syntax error",
                    round(100 * sum(not m.is_bare for m in refused) / len(refused), 1), 70, "%")
    claims.finish()


if __name__ == "__main__":
    main()
