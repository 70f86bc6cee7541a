#!/usr/bin/python3
"""The compiler survives fuzzing: no crash, no sanitizer report, no leak, no input that takes long
or much memory, every image written can be read, and at least 80 % of the front end's lines are
reached.  It starts from our own programs.

    fuzz_frontend.py [SECONDS]      30 minutes without an argument
"""
import fuzzing
from claims import harness

# The command line is not fuzzed: it never sees what others wrote.  diag.c has no lines of its own:
# its functions come from a table.
NOT_FUZZED = {"options.c", "cslc_main.c", "wse_model_main.c", "diag.c"}
# First-line characters of tests/fuzz/frontend.c that choose unlike options.
OPTIONS, EMIT = "@AEPQas", "zbzgzfze"


def sources():
    return sorted(f"frontend/{path.name}" for path in (harness.ROOT / "frontend").glob("*.c")
                  if path.name not in NOT_FUZZED)


def seeds():
    folders = ("samples", "stdlib", "tests/golden", "tests/parse", "tests/lang")
    files = sorted(f for folder in folders for f in (harness.ROOT / folder).rglob("*.csl"))
    found = []
    for number, file in enumerate(files):
        # The target names every input so: a file that imports itself goes on to do so.
        text = file.read_bytes().replace(file.name.encode(), b"program.csl")
        if len(text) < 16000:
            first = f"//{OPTIONS[number % len(OPTIONS)]}{EMIT[number % len(EMIT)]}\n"
            found.append(first.encode() + text)
    return found


if __name__ == "__main__":
    fuzzing.claim("frontend", sources(), "compiler", seeds=seeds(),
                  options=["-max_len=20000", "-malloc_limit_mb=512", "-rss_limit_mb=3000",
                           "-close_fd_mask=3"])
