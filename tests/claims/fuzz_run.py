#!/usr/bin/python3
"""Images that the reader accepts, whatever their programs do, run on both engines, with a trace and
without one: no crash, no sanitizer report, no hang, and the engines agree on status, faults, trace,
statistics and memory.  At least 60 % of the engines' lines are reached.

    fuzz_run.py [SECONDS]      30 minutes without an argument

Short form: test_fuzz_short.py::test_changed_inputs_do_no_harm.
"""
import fuzz_seeds
import fuzzing

ENGINES = ["reference/reference.c", "reference/ref_router.c", "fast/fast.c", "fast/run.c",
           "tile/tasks.c", "tile/issue.c", "tile/vector.c", "tile/exec_scalar.c",
           "tile/exec_vec.c", "tile/mem.c", "machine/load.c"]
# Host words, threads and inspection belong to other targets.
LEAST_COVERAGE = 60

fuzzing.claim("run", [f"emu/{file}" for file in ENGINES], "images that run",
              seeds=lambda: fuzz_seeds.image() + fuzz_seeds.run(), least_coverage=LEAST_COVERAGE,
              options=["-max_len=20000", "-malloc_limit_mb=512", "-rss_limit_mb=3000"])
