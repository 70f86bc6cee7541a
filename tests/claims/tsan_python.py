#!/usr/bin/python3
"""The thread sanitizer finds nothing under the Python layer: threads of one script use one runtime and
runtimes of their own, on engines with two threads, while signals arrive.  It builds libwse with the
sanitizer and preloads its library.

    tsan_python.py [ROUNDS]      rounds of each thread, 40 without an argument

No short form: a build of its own.
"""
import argparse
import re
import subprocess
from pathlib import Path

from claims import Claims, harness
import host_run

SCRIPT = host_run.PREAMBLE + """
import signal, sys, threading
rounds, failures = int(sys.argv[1]), []
signal.signal(signal.SIGALRM, lambda number, frame: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)

def use(runner, number):
    try:
        a = runner.get_id("a")
        for _ in range(rounds):
            sent, got = np.full(W * H * 6, number, np.float32), np.zeros(W * H * 6, np.float32)
            runner.memcpy_h2d(a, sent, 0, 0, W, H, 6, data_type=WIDE, **COPY)
            task = runner.launch("scale", np.float32(1), np.int16(0), nonblock=True)
            while not runner.is_task_done(task):
                pass
            runner.memcpy_d2h(got, a, 0, 0, W, H, 6, data_type=WIDE, **COPY)
            assert len(set(got)) == 1
    except BaseException as error:
        failures.append(repr(error))

def alone(number):
    runner = SdkRuntime("out", simfab_numthreads=2)
    runner.load()
    runner.run()
    use(runner, number)
    runner.stop()

threads = [threading.Thread(target=use, args=(r, i)) for i in range(3)]
threads += [threading.Thread(target=alone, args=(i,)) for i in range(2)]
for thread in threads: thread.start()
use(r, 9)
for thread in threads: thread.join()
r.stop()
assert not failures, failures
signal.setitimer(signal.ITIMER_REAL, 0)      # Python's end takes the handler away
print("DONE")
"""


def sanitizer_library():
    """libtsan of the compiler, or None."""
    done = subprocess.run(["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True,
                          check=False)
    path = done.stdout.strip()
    return path if done.returncode == 0 and "/" in path else None


def build(folder):
    for command in (["cmake", "-S", harness.ROOT, "-B", folder, "-G", "Ninja",
                     "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                     "-DWSE_SANITIZE=thread"],
                    ["cmake", "--build", folder, "--target", "wse"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return folder / "lib" / "libwse.so"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=40)
    parser.add_argument("--build", help="folder of a build that is kept")
    options = parser.parse_args()
    claims = Claims()
    sanitizer = sanitizer_library()
    if not sanitizer:
        claims.equals("skipped, gcc has no thread sanitizer here", 0, 0)
        claims.finish()
    library = build(Path(options.build).resolve() if options.build else claims.scratch / "tsan")
    folder = host_run.build(claims.scratch / "program")
    (folder / "run.py").write_text(SCRIPT)
    # Python itself is not built with the sanitizer, which follows its locks all the same.
    (folder / "python.supp").write_text("race:libpython\nrace:python3\nrace:_multiarray\n")
    # Only Python gets the sanitizer: preloaded into the shell of cs_python, it crashes some shells.
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nLD_PRELOAD={sanitizer} exec /usr/bin/python3 "$@"\n')
    python.chmod(0o755)
    ran = harness.run([harness.tool("cs_python"), "run.py", options.rounds], cwd=folder, expect=None,
                      timeout=3000, env={"WSE_LIB": str(library), "CS_PYTHON": str(python),
                                         "TSAN_OPTIONS": f"suppressions={folder}/python.supp"})
    if "unexpected memory mapping" in ran.err:
        claims.equals("skipped, the sanitizer cannot lay out memory here", 0, 0)
        claims.finish()
    reports = re.findall(r"WARNING: ThreadSanitizer", ran.err)
    if ran.code or reports:
        print(ran.err[-4000:])
    claims.equals("the script reached its end", ran.out.strip(), "DONE")
    claims.equals("reports of the sanitizer", len(reports), 0)
    claims.finish()


if __name__ == "__main__":
    main()
