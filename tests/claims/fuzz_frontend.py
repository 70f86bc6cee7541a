#!/usr/bin/python3
"""The compiler survives fuzzing: no crash, no sanitizer report, no leak, no input that takes long
or much memory, every image written can be read, and at least 80 % of the front end's lines are
reached.  It starts from our own programs.

    fuzz_frontend.py [SECONDS]      30 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing
from claims import harness

# The command line is not fuzzed: it never sees what others wrote.  diag.c has no lines of its own:
# its functions come from a table.  Layouts of host scripts have a claim of their own.  The compiler
# does not contain the formatter and the language server.
NOT_FUZZED = {"options.c", "diag.c", "regions_read.c", "regions_route.c", "format.c"}


def is_of_compiler(path):
    return (path.name not in NOT_FUZZED and path.parent.name != "lsp" and
            not path.name.endswith("_main.c"))


def sources():
    return sorted(str(path.relative_to(harness.ROOT))
                  for path in (harness.ROOT / "frontend").rglob("*.c") if is_of_compiler(path))


if __name__ == "__main__":
    fuzzing.claim("frontend", sources(), "compiler", seeds=fuzz_seeds.frontend(),
                  options=["-max_len=20000", "-malloc_limit_mb=512", "-rss_limit_mb=3000",
                           "-close_fd_mask=3"])
