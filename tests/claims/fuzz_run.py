#!/usr/bin/python3
"""Images that the reader accepts, whatever their programs do, run on both engines, with a trace and
without one: no crash, no sanitizer report, no hang, and the engines agree on status, faults, trace,
statistics and memory.  At least 60 % of the engines' lines are reached.

    fuzz_run.py [SECONDS]      30 minutes without an argument
"""
import fuzz_seeds
import fuzzing

ENGINES = ["engine_ref.c", "engine_ref_router.c", "engine_ref_tile.c", "engine_ref_vec.c",
           "engine_fast.c", "engine_fast_run.c", "exec_scalar.c", "exec_vec.c", "load.c", "mem.c"]
# Host words, threads and inspection belong to other targets.
LEAST_COVERAGE = 60

fuzzing.claim("run", [f"emu/{file}" for file in ENGINES], "images that run",
              seeds=lambda: fuzz_seeds.image() + fuzz_seeds.run(), least_coverage=LEAST_COVERAGE,
              options=["-max_len=20000", "-malloc_limit_mb=512", "-rss_limit_mb=3000"])
