#!/usr/bin/python3
"""The thread sanitizer finds nothing while 2, 3 and 4 threads run random programs, meeting in every
cycle, with the results of the reference engine.  THREADS_SEEDS sets the number of programs, and that
of programs of streams.

No short form: a build of its own.
"""
import os
import subprocess

from claims import Claims, harness

SEEDS = int(os.environ.get("THREADS_SEEDS", "40"))


def main():
    claims = Claims()
    build = claims.scratch / "tsan"
    for command in (["cmake", "-S", harness.ROOT, "-B", build, "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWSE_SANITIZE=thread"],
                    ["cmake", "--build", build, "--target", "unit-engine_diff"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    ran = harness.run([build / "bin" / "unit-engine_diff"], expect=None, timeout=3000,
                      env={"ENGINE_DIFF_SEEDS": str(SEEDS), "ENGINE_DIFF_STREAMS": str(SEEDS),
                           "ENGINE_DIFF_CREW_EVERY": "1"})
    said = ran.out + ran.err
    if ran.code:
        print(said[-4000:])
    claims.equals(f"{SEEDS} random programs, all comparisons held", ran.code, 0)
    claims.equals("data races reported", said.count("WARNING: ThreadSanitizer"), 0)
    claims.finish()


main()
