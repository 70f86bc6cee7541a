#!/usr/bin/python3
"""The report page in Chromium, of seven runs (a chain over 512 tiles, a launch on one tile, 100 x 100
tiles, 64 x 64 tiles, 750 x 994 tiles, a deadlock, a fault).  It loads in 3 s, moves at 30 frames per
second, is smaller than 20 MB and fetches nothing.  axe-core finds nothing serious in three widths and
two themes, the keyboard suffices, and the numbers are those of --stats.

    viewer.py [NAME ...]    some of those below; SCREENSHOTS=FOLDER keeps them

Needs Node.js, npm and Chromium (CHROMIUM names it, default /usr/bin/chromium).

Short form: test_viewer.py::test_the_page_in_a_browser.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from claims import Claims, harness

FOLDER = harness.ROOT / "tests" / "viewer"
LONG_NAME = "folder_with_a_name_of_" + 9 * "many_" + "words"
MOST_BYTES, MOST_LOAD_MS, MOST_FRAME_MS = 20 * 10 ** 6, 3000, 1000 / 30
STATS = ("cycles", "host_cycles", "instructions", "groups", "elements", "tasks", "wavelets",
         "wavelet_hops", "active_tile_cycles")
PROGRAMS = {
    "chain": ("samples/reduce-chain", {"P": 512, "B": 1024}, (), 0),
    "launch": ("samples/axpy", {"width": 1, "height": 1, "N": 1024},
               ("--launch=axpy(2)",), 0),
    "sampled": ("samples/gemv", {"width": 100, "height": 100, "M": 400, "N": 400},
                ("--profile=/dev/null",), 0),
    "square": ("samples/gemv", {"width": 64, "height": 64, "M": 128, "N": 128}, (), 0),
    "wafer": ("tests/bench/wafer", {"width": 750, "height": 994, "B": 64}, ("--threads=2",), 0),
    "deadlock": ("tests/hazards/cyclic_wait", None, (), 3),
    "fault": ("tests/hazards/two_senders", None, (), 2),
}


HOST_FLAGS = ["--memcpy", "--channels=1", "--fabric-dims=8,3", "--fabric-offsets=4,1"]


def look(page, shots, name):
    if not (FOLDER / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, check=True,
                       stdout=subprocess.DEVNULL)
    done = subprocess.run(["node", FOLDER / "look.mjs", page, shots, name], capture_output=True,
                          text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check_numbers(claims, name, seen, stats):
    want = {key: stats[key] for key in STATS}
    want.update({f"stalls.{cause}": n for cause, n in stats["stalls"].items()})
    claims.equals(f"{name}: statistics on the page are those of --stats",
                  {key: value for key, (value, _) in seen["stats"].items()} == want, True)
    claims.equals(f"{name}: and are shown in full",
                  all(text.replace(",", "") == str(value)
                      for value, text in seen["stats"].values()), True)
    totals = {"instructions": stats["instructions"], "groups": stats["groups"],
              "elements": stats["elements"], "tasks": stats["tasks"], "sent": stats["wavelets"],
              "links": stats["wavelet_hops"], "waits": sum(stats["stalls"].values()),
              "activity": stats["instructions"] + stats["groups"], **stats["stalls"]}
    wrong = {key: (seen["totals"][key], n) for key, n in totals.items() if seen["totals"][key] != n}
    claims.equals(f"{name}: totals of the map that differ from --stats", wrong, {})


def check_chosen_time(claims, name, seen):
    """The page keeps counts of tiles in longer steps than those that a user may choose."""
    time = seen["time"]
    first, last = time["shown"]
    claims.equals(f"{name}: the length of a chosen time is that of the choice beside it",
                  time["length"] and time["length"][0] - (last - first) < time["length"][0] / 8, True)
    claims.equals(f"{name}: no link carries more than a wavelet per cycle of a chosen time",
                  [share for share in time["shares"] if share > 100], [])
    claims.equals(f"{name}: a longer time that is counted holds the chosen one",
                  not time["counted"] or time["counted"][0] <= first and time["counted"][1] >= last,
                  True)
    claims.equals(f"{name}: tables without rows", seen["empty"], [])


def check(claims, name, shots):
    folder, params, options, code = PROGRAMS[name]
    image, page = claims.scratch / f"{name}.bin", claims.scratch / f"{name}.html"
    far = claims.scratch / LONG_NAME / name        # places in reports are wider than a phone
    shutil.copytree(harness.ROOT / folder, far, dirs_exist_ok=True)
    flags = HOST_FLAGS if name == "launch" else ["--fabric-warnings"]
    harness.compile(far / "layout.csl", image, *flags, params=params)
    harness.emu(image, f"--report={page}", f"--stats={claims.scratch}/s.json", *options, expect=code,
                timeout=1800)
    seen = look(page, shots, name)
    claims.at_most(f"{name}: size", page.stat().st_size, MOST_BYTES, "bytes")
    claims.at_most(f"{name}: load, median of {len(seen['loads'])}",
                   statistics.median(seen["loads"]), MOST_LOAD_MS, "ms")
    claims.at_most(f"{name}: median time of a frame while panning",
                   statistics.median(seen["frames"]), MOST_FRAME_MS, "ms")
    claims.equals(f"{name}: serious findings of axe-core", sorted(set(seen["axe"])), [])
    claims.equals(f"{name}: views wider than the window", seen["wide"], [])
    claims.equals(f"{name}: broken words and uneven rows", sorted(set(seen["untidy"])), [])
    claims.equals(f"{name}: errors of the page", seen["errors"], [])
    claims.equals(f"{name}: what it fetched", seen["fetched"], [])
    claims.equals(f"{name}: the keyboard chooses a tile and a time",
                  seen["keys"]["said"].startswith("P") and "whole run" not in seen["keys"]["shown"] and
                  "whole run" in seen["keys"]["after"], True)
    claims.equals(f"{name}: Escape closes the menu of the layers", seen["keys"]["menu"],
                  [True, False, "SUMMARY"])
    claims.equals(f"{name}: keys choose a tab", seen["keys"]["tabs"],
                  ["tab-findings", "tab-overview", "tab-findings", "tab-overview"])
    check_chosen_time(claims, name, seen)
    check_numbers(claims, name, seen, harness.stats(claims.scratch / "s.json"))


def main():
    claims = Claims()
    shots = Path(os.environ.get("SCREENSHOTS", claims.scratch))
    shots.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PROGRAMS:
        check(claims, name, shots)
    claims.finish()


main()
