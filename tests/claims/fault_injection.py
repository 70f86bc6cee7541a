#!/usr/bin/python3
"""Each allocation and each call that writes, of compiling three samples and of running them with a
trace, statistics, a profile and a report, fails once: an error message and a clean exit each time, no
output that is half there.

    fault_injection.py [STEP]      every STEP-th of them; all of them without an argument

Short form: test_fault_injection.py::test_a_fault_is_a_message_and_a_clean_exit.
"""
import argparse

from claims import Claims
import fault_injection


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("step", nargs="?", type=int, default=1)
    step = parser.parse_args().step
    claims = Claims()
    library = fault_injection.build(claims.scratch)
    folder = claims.scratch / "samples"
    folder.mkdir()
    for case in fault_injection.samples(folder):
        for kind in fault_injection.KINDS:
            found = fault_injection.check(library, case, kind,
                                          lambda calls: range(1, calls + 1, step))
            if not found:
                print(f"{case.name}, {kind}: skipped, no system call filter here")
                continue
            tried, problems = found
            print("\n".join(problems[:5]))
            claims.equals(f"{case.name}: of {tried} faults ({kind}), ended wrongly", len(problems), 0)
    claims.finish()


main()
