#!/usr/bin/python3
"""The WebAssembly build: the package gives the native tools' images, output and statistics for all
samples on both machines; the playground does so in Chromium, within its size, and offline.

Builds with playground/build.sh, which needs Emscripten and Node.js, and drives the page with
playground/page/test/browser.mjs. SCREENSHOTS names a folder for screenshots of it.

No short form: a build of its own.
"""
import json
import os
import shlex
import subprocess

from claims import Claims, harness

FOLDER = harness.ROOT / "playground"
CALL = {"cwd": FOLDER, "text": True, "stdin": subprocess.DEVNULL, "capture_output": True}


def node(*args, timeout):
    done = subprocess.run(["node", *map(str, args)], timeout=timeout, **CALL,
                          env={**os.environ, "WSE_BIN": str(harness.bin_dir())})
    if done.stderr.strip():
        print(done.stderr[-4000:])
    return done.stdout


def check_package(claims, name):
    lines = node("--test", "--test-reporter=tap", FOLDER / "module" / "test" / f"{name}.test.mjs",
                 timeout=1200).splitlines()
    counts = {words[1]: int(words[2]) for line in lines
              if line.startswith("# ") and len(words := line.split()) == 3 and words[2].isdigit()}
    print("\n".join(line for line in lines if line.startswith("not ok")))
    claims.at_least(f"package, tests of {name}: passed", counts["pass"], 8)
    claims.equals(f"package, tests of {name}: failed", counts["fail"], 0)


def native(scratch, project):
    """Cycles and output of a program of the page by the native tools."""
    for path, text in project["files"].items():
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).write_text(text)
    harness.run([harness.tool("cslc"), project["main"], "-o", "native.bin",
                 *shlex.split(project["options"])], cwd=scratch)
    ran = harness.run([harness.tool("wse-emu"), "native.bin", "--stats=native.json",
                       *shlex.split(project["run"])], cwd=scratch)
    return harness.stats(scratch / "native.json")["cycles"], ran.out


def check_page(claims, seen):
    claims.at_most("first load, gzipped", seen["firstLoadBytes"], 2_000_000, "bytes")
    claims.at_most("from the address to the first check", seen["secondsToFirstCheck"], 10.0, "s")
    # A run sets its mark; before the second one the test has taken it away.
    claims.equals("changes of the mark of a run, by Ctrl+Enter without focus and in a field",
                  seen["runsByKey"], [1, 3])
    for sample in seen["samples"]:
        cycles, out = native(claims.scratch / sample["title"], sample["project"])
        claims.equals(f"{sample['title']}, edited: cycles", sample["cycles"], cycles)
        claims.equals(f"{sample['title']}, edited: output equals native", sample["printed"] == out,
                     True)
        claims.at_least(f"{sample['title']}: characters in the viewer", sample["viewer"], 300)
    told = " ".join(seen["problems"]) + seen["tooltip"]
    claims.equals("a mistake has place, cause and help", all(
        text in told for text in ("pe.csl:16", "is not declared", "did you mean 'values'")), True)
    claims.equals("a deadlock report leads to its line", seen["deadlockLine"].strip(),
                 "@mov16(to, in);")
    claims.equals("the debugger steps and goes back", "reverse-step" in seen["debugger"] and
                 seen["stand"] == 1, True)
    claims.equals("a link holds the program", seen["shared"], "// shared")
    claims.equals("cycles of reduce-chain offline", seen["offlineCycles"], 90)
    claims.equals("serious findings of axe-core", seen["axe"], [])
    claims.equals("widths at which the page is cut off", seen["wide"], 0)
    claims.equals("halves that are hidden or shown and should not", seen["halves"], [])
    claims.equals("rows of pixels of the viewer below its panel", seen["viewerHidden"], 0)
    claims.equals("sizes of text in the viewer", len(set(seen["viewerText"])), 1)
    claims.equals("complaints of the browser", seen["complaints"], [])


def main():
    claims = Claims()
    done = subprocess.run([FOLDER / "build.sh"], **CALL)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:])
    claims.equals("exit code of the build", done.returncode, 0)
    for name in ("samples", "library", "depth"):
        check_package(claims, name)
    shots = os.environ.get("SCREENSHOTS")
    check_page(claims, json.loads(node("page/test/browser.mjs", "page/dist",
                                       *([shots] if shots else []), timeout=600)))
    claims.finish()


if __name__ == "__main__":
    main()
