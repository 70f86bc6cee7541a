#!/usr/bin/python3
"""Reports of mistakes in host programs use words that a newcomer understands: a symbol that does
not exist, a wrong type or size, a rectangle outside the program, a launch of an unexported
function, a program that never unblocks the command stream, a read before run, and forty others;
from Python as an exception, from C as a code with a message. Each message is printed.

Short form: test_host_python.py::test_a_mistake_is_explained, unit/host_mistakes.c.
"""
import subprocess

from claims import Claims, harness
import host_mistakes

ASKED_FOR = ["a symbol that does not exist", "64-bit elements", "an array that is too small",
             "a rectangle outside the program", "a launch of an unexported function",
             "a program that never unblocks the command stream", "a read before run"]
C_TESTS = ["a_symbol_that_does_not_exist", "a_wrong_width_or_size",
           "a_rectangle_outside_the_program", "a_launch_of_what_is_no_function",
           "a_program_that_never_unblocks", "a_read_of_what_was_not_opened"]


def main():
    claims = Claims()
    folder = host_mistakes.build(claims.scratch / "program")
    explained = []
    for name in host_mistakes.CASES:
        told, missing = host_mistakes.run(folder, name)
        print(f"- {name}:\n    " + told.strip().splitlines()[-1])
        if missing:
            print(f"    lacks {missing}")
        else:
            explained.append(name)
    claims.equals("Python: mistakes explained", len(explained), len(host_mistakes.CASES))
    claims.equals("Python: of those asked for", sum(n in explained for n in ASKED_FOR),
                  len(ASKED_FOR))
    done = subprocess.run([harness.unit_test("host_mistakes")], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout)
    claims.equals("C: of those asked for",
                  sum(f"[       OK ] {name}\n" in done.stdout for name in C_TESTS), len(C_TESTS))
    claims.equals("C: exit code", done.returncode, 0)
    claims.finish()


main()
