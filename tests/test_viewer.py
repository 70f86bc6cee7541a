"""The page of --report: its data against --stats, the trace and the profile; its size; and that the
built application is that of its sources.  tests/claims/viewer.py looks at it in a browser."""
import hashlib
import html.parser
import itertools
import json
import os
import re
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest

import harness
import page_data

VIEWER = harness.ROOT / "emu" / "observe" / "viewer"
STALLS = ("paused", "input", "fifo", "output", "issue", "bank")
LINKS = ("north", "south", "east", "west")


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


def compiled(tmp_path, sample, *flags, **params):
    harness.compile(f"samples/{sample}/layout.csl", tmp_path / f"{sample}.bin", *flags, params=params)
    return tmp_path / f"{sample}.bin"


def observed(image, tmp_path, *options, expect=0):
    ran = harness.emu(image, *options, f"--report={tmp_path}/r.wseview",
                      f"--stats={tmp_path}/s.json", "--trace=all", f"--trace-file={tmp_path}/t",
                      expect=expect)
    return (page_data.of_file(tmp_path / "r.wseview"), harness.stats(tmp_path / "s.json"),
            (tmp_path / "t").read_text(), ran)


def sums_of(data, level):
    return {c["name"]: int(data.channel(level, c["name"]).sum()) for c in data.top["channels"]}


def assert_sums_are_statistics(data, stats):
    assert data.top["levels"]
    for level in data.top["levels"]:
        sums = sums_of(data, level)
        for name in ("instructions", "groups", "elements", "tasks"):
            assert sums[name] == stats[name]
        assert sums["sent"] == stats["wavelets"]
        assert sum(sums[name] for name in LINKS) == stats["wavelet_hops"]
        assert {name: sums[name] for name in STALLS} == stats["stalls"]


PROGRAMS = (("reduce-chain", {"P": 12, "B": 300}), ("gemv", {"width": 6, "height": 5, "M": 30, "N": 24}),
            ("broadcast-1d", {"P": 7, "B": 40}), ("packets", {"packets": 5}),
            ("reduce-tree", {"P": 8, "B": 20}), ("data-task", {"N": 6}))


@pytest.mark.parametrize("sample, params", PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_every_level_adds_up_to_the_statistics(tmp_path, sample, params, engine):
    data, stats, _, _ = observed(compiled(tmp_path, sample, **params), tmp_path, engine)
    assert_sums_are_statistics(data, stats)
    top = data.top["statistics"]
    for name in ("cycles", "instructions", "wavelets", "stalls", "estimate", "phases"):
        assert top[name] == stats[name]


def test_counts_are_where_and_when_the_trace_says(tmp_path, engine):
    """The finest level against the trace, by tile and step of time; a random size."""
    random = harness.commit_random("page")
    size = {"P": random.integers(3, 20), "B": random.integers(5, 90)}
    data, _, trace, _ = observed(compiled(tmp_path, "reduce-chain", **size), tmp_path, engine)
    level = data.top["levels"][-1]
    assert level["side"] == 1
    want = Counter()
    for cycle, x, word in re.findall(r"^@(\d+) P(\d+)\.0 (inst group|inst issue|queue pop output)",
                                     trace, re.M):
        want[word, int(cycle) // level["step_cycles"], int(x)] += 1
    for word, channel in (("inst group", "groups"), ("inst issue", "instructions"),
                          ("queue pop output", "sent")):
        counts = data.channel(level, channel)
        got = {(word, int(t), int(x)): int(counts[t, y, x]) for t, y, x in np.argwhere(counts)}
        assert got == {key: n for key, n in want.items() if key[0] == word}


def time_lines(data):
    """{tile: [(from, to, kind, thread, subject, open)]}"""
    tiles = data.numbers("span.tiles").reshape(-1, 3)
    start, length, kind, subject = (data.numbers(f"span.{n}")
                                    for n in ("from", "length", "kind", "subject"))
    found, at = {}, 0
    for tile, count, left_out in tiles.astype(int):
        assert left_out == 0
        now, found[tile] = 0, []
        for i in range(at, at + count):
            now += int(start[i])
            k = int(kind[i])
            found[tile].append((now, now + int(length[i]), k & 3, k >> 2 & 15, int(subject[i]),
                                bool(k & 64)))
        at += count
    return found


def test_time_lines_are_those_of_the_trace(tmp_path, engine):
    data, stats, trace, _ = observed(compiled(tmp_path, "reduce-chain", P=5, B=60), tmp_path, engine)
    lines = time_lines(data)
    waits = Counter()
    for spans in lines.values():
        for start, end, kind, _, subject, is_open in spans:
            assert start < end and not is_open
            if kind == 2:
                waits[STALLS[subject - 1]] += end - start
    assert waits == {k: v for k, v in stats["stalls"].items() if v}
    tasks = {(int(x), int(cycle)) for cycle, x in re.findall(r"^@(\d+) P(\d+)\.0 task start", trace,
                                                             re.M)}
    assert tasks == {(tile, s[0]) for tile, spans in lines.items() for s in spans if s[2] == 0}
    ended = Counter(int(x) for x in re.findall(r"^@\d+ P(\d+)\.0 inst done", trace, re.M))
    assert ended == Counter(tile for tile, spans in lines.items() for s in spans if s[2] == 1)


def test_ways_of_wavelets_fork_and_arrive(tmp_path, engine):
    data, stats, trace, _ = observed(compiled(tmp_path, "broadcast-1d", P=4, B=9), tmp_path, engine)
    assert data.top["ways_one_of"] == 1
    number = np.cumsum(data.numbers("way.number").astype(int))
    kind = data.numbers("way.kind").astype(int) & 7
    assert len(set(number)) == stats["wavelets"] == 9
    assert (kind == 2).sum() == len(re.findall(" wavelet move ", trace))
    for wavelet in set(number):
        steps = kind[number == wavelet]
        assert list(steps[:2]) == [0, 1] and (steps == 4).sum() == 3   # sent, entered; three takers


def test_the_profile_is_in_the_page(tmp_path, engine):
    image = compiled(tmp_path, "gemv", width=4, height=3, M=12, N=8)
    data, _, _, ran = observed(image, tmp_path, engine, "--profile")
    files = data.top["sources"]["files"]
    rows = {f"{files[row[0]]['name']}:{row[1]}" if row[1] else "(no source)": row[2:6]
            for row in data.top["sources"]["lines"]}
    printed = {}
    for line in ran.out.splitlines()[2:]:
        words = line.split()
        printed[line.split("  ")[-1]] = [int(words[0]), *map(int, words[2:5])]
    assert rows == printed and len(rows) > 3
    source = next(f for f in files if f["name"].endswith("gemv/pe.csl"))
    assert source["text"] == (harness.SAMPLES / "gemv" / "pe.csl").read_text()
    assert not source["changed"]


def test_memory_and_routes_are_in_the_page(tmp_path):
    data, _, _, _ = observed(compiled(tmp_path, "reduce-chain", P=3, B=8), tmp_path)
    names = {s["name"]: s["bytes"] for c in data.top["classes"] for s in c["symbols"]}
    assert names["sum"] == 32
    sets = data.numbers("tile.routes").astype(int)
    routes = [[data.top["routes"]["configs"][c] for c in data.top["routes"]["sets"][s][1::2]]
              for s in sets]
    assert [len(r) for r in routes] == [1, 2, 1]


def test_colors_that_a_router_swaps_are_in_the_page(tmp_path):
    """What comes from the west as the other color of the pair: the tile table says so."""
    harness.compile(harness.ROOT / "tests/golden/fabric/swapped.csl", tmp_path / "p.bin",
                    "--fabric-warnings")
    data, _, _, _ = observed(tmp_path / "p.bin", tmp_path, expect=None)
    routes, sets = data.top["routes"], data.numbers("tile.routes").astype(int)
    colors = [dict(zip(routes["sets"][s][::2], routes["sets"][s][1::2])) for s in sets]
    sides, still = mask_of("EAST WEST"), 0
    assert routes["swaps"][colors[0][2]] == routes["swaps"][colors[1][3]] == sides
    assert routes["swaps"][colors[0][6]] == still


# ---- what went wrong --------------------------------------------------------------------------------

def hazard(tmp_path, name):
    harness.compile(harness.ROOT / "tests" / "hazards" / name / "layout.csl", tmp_path / "p.bin",
                    "--fabric-warnings")
    return tmp_path / "p.bin"


def test_a_deadlock_has_its_chain_on_the_map(tmp_path, engine):
    data, stats, _, ran = observed(hazard(tmp_path, "cyclic_wait"), tmp_path, engine, expect=3)
    assert data.top["message"] in ran.err
    chain, = data.top["chains"]
    assert chain[0]["text"] == chain[-1]["text"]           # it closes
    assert {(w["x"], w["y"]) for w in chain} == {(0, 0), (1, 0)}
    assert all(w["text"] in ran.err for w in chain)
    assert_sums_are_statistics(data, stats)
    assert sum(s[2] == 2 and s[5] for spans in time_lines(data).values() for s in spans) == 2


def test_a_fault_is_on_the_map(tmp_path, engine):
    data, _, _, ran = observed(hazard(tmp_path, "two_senders"), tmp_path, engine, expect=2)
    fault, = data.top["findings"]
    assert (fault["x"], fault["y"], fault["cycle"], fault["color"]) == (1, 0, 30, 3)
    assert fault["text"] in ran.err and "chains" not in data.top


@pytest.mark.parametrize("check, status, head", [("error", 0, "warning, not an error: cycle"),
                                                 ("memory", 2, "error: cycle")])
def test_a_warning_is_one_on_the_page_too(tmp_path, check, status, head):
    """It once stood there as an error, although the run went on."""
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }\n')
    (tmp_path / "pe.csl").write_text("""
export var short = [2]i16{ 1, 2 };
export var next = [2]i16{ 3, 4 };
export var k: u16 = 2;
task main() void { next[0] = short[k] + 1; }
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    data, _, _, ran = observed(tmp_path / "p.bin", tmp_path, f"--check={check}", expect=status)
    fault, = data.top["findings"]
    assert fault["text"] in ran.err and fault["text"].startswith(head)


def test_wavelets_left_behind_have_a_chain(tmp_path):
    data, _, _, ran = observed(hazard(tmp_path, "blocked_task"), tmp_path, expect=3)
    assert data.top["chains"] and data.top["chains"][0][0]["text"] in ran.err


def test_a_source_that_has_changed_is_marked(tmp_path):
    for file in (harness.SAMPLES / "hello-wavelet").glob("*.csl"):
        (tmp_path / file.name).write_text(file.read_text())
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    later = (tmp_path / "p.bin").stat().st_mtime + 10
    os.utime(tmp_path / "sender.csl", (later, later))
    data, _, _, _ = observed(tmp_path / "p.bin", tmp_path)
    changed = {f["name"].split("/")[-1]: f["changed"] for f in data.top["sources"]["files"] if "text" in f}
    assert changed == {"sender.csl": True, "receiver.csl": False}


def test_what_the_host_gets_leaves_its_queue(tmp_path, engine):
    image = compiled(tmp_path, "axpy", "--memcpy", "--channels=1", "--fabric-dims=8,3",
                     "--fabric-offsets=4,1", width=1, height=1, N=4)
    data, stats, _, _ = observed(image, tmp_path, engine, "--h2d=x=1,2,3,4", "--launch=axpy(2)",
                                 f"--d2h=y={tmp_path}/y.npy")
    assert_sums_are_statistics(data, stats)
    kinds = Counter(data.numbers("way.kind").astype(int) & 7)
    assert kinds[6] == 4 and kinds[5] > 4 and kinds[1] == 4


# ---- size -------------------------------------------------------------------------------------------

def test_a_page_of_many_tiles_is_small_and_exact(tmp_path):
    """More tiles than the finest level can have over time: totals by tile, and time by blocks."""
    harness.compile("tests/bench/wafer/layout.csl", tmp_path / "w.bin",
                    params={"width": 70, "height": 75, "B": 3})
    data, stats, _, _ = observed(tmp_path / "w.bin", tmp_path)
    assert_sums_are_statistics(data, stats)
    levels = data.top["levels"]
    assert (levels[-1]["columns"], levels[-1]["rows"], levels[-1]["steps"]) == (70, 75, 64)
    assert levels[0]["steps"] == 256
    assert all(l["steps"] * l["rows"] * l["columns"] <= 1 << 19 for l in levels)
    assert data.top["time_lines"] == 32 * 32
    assert (tmp_path / "r.wseview").stat().st_size < 10 ** 6


# ---- the file ---------------------------------------------------------------------------------------

class Reader(html.parser.HTMLParser):
    """Checks that tags nest, and keeps what would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    image = compiled(tmp_path, "hello-wavelet")
    harness.emu(image, f"--report={tmp_path}/r.html", f"--stats={tmp_path}/s.json")
    text = (tmp_path / "r.html").read_text()
    reader = Reader()
    reader.feed(text)
    assert reader.open == [] and reader.links == []
    assert (VIEWER / "dist" / "viewer.js").read_text() in text
    assert_sums_are_statistics(page_data.of_page(tmp_path / "r.html"),
                               harness.stats(tmp_path / "s.json"))


CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
LOOK = harness.ROOT / "tests" / "viewer"


needs_browser = pytest.mark.skipif(
    not os.access(CHROMIUM, os.X_OK) or not (LOOK / "node_modules").is_dir(),
    reason="needs Chromium, and npm ci in tests/viewer")


def look_at(folder):
    """What a browser shows of r.html in the folder."""
    done = subprocess.run(["node", LOOK / "look.mjs", folder / "r.html", folder, "r", "quick"],
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "CHROMIUM": CHROMIUM})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
@needs_browser
def test_the_page_in_a_browser(tmp_path):
    """tests/claims/viewer.py does more: other programs, widths, a dark theme, times."""
    folder = shutil.copytree(harness.ROOT / "samples/gemv", tmp_path / "gemv")
    with open(folder / "pe.csl", "a") as program:
        program.write(80 * " " + "// indented further than a phone is wide\n")
    image = tmp_path / "gemv.bin"
    harness.compile(folder / "layout.csl", image, params={"width": 6, "height": 4, "M": 12, "N": 18})
    harness.emu(image, f"--report={tmp_path}/r.html", f"--stats={tmp_path}/s.json")
    seen, stats = look_at(tmp_path), harness.stats(tmp_path / "s.json")
    assert seen["errors"] == seen["fetched"] == seen["axe"] == seen["wide"] == seen["untidy"] == []
    assert seen["source"].endswith("pe.csl")      # where most cycles are code of the compiler
    for name in ("cycles", "instructions", "groups", "wavelets", "wavelet_hops"):
        assert seen["stats"][name] == [stats[name], f"{stats[name]:,}"]
    assert seen["totals"]["links"] == stats["wavelet_hops"]
    assert seen["totals"]["waits"] == sum(stats["stalls"].values())
    assert seen["shades"] == {"vscode-dark": "dark", "vscode-high-contrast": "dark",
                              "vscode-light": "light", "null": "light"}


LONG = "that_a_script_has_made_" + 5 * "of_many_" + "words"
SMALL_RUNS = {
    "long names": lambda text: re.sub(r"\b(main|receive|received|to_east)\b", rf"\1_{LONG}", text),
    "no wavelet": lambda text: text.replace("@mov32(to_east, 42);", ""),
}


@pytest.mark.long
@needs_browser
@pytest.mark.parametrize("name", SMALL_RUNS)
def test_the_page_of_a_small_run_in_a_browser(tmp_path, name):
    folder = shutil.copytree(harness.ROOT / "samples/hello-wavelet", tmp_path / "hello")
    for source in folder.glob("*.csl"):
        source.write_text(SMALL_RUNS[name](source.read_text()))
    harness.compile(folder / "layout.csl", tmp_path / "p.bin")
    harness.emu(tmp_path / "p.bin", f"--report={tmp_path}/r.html")
    seen = look_at(tmp_path)
    assert seen["errors"] == seen["axe"] == seen["wide"] == seen["untidy"] == seen["empty"] == []


ALL_COLORS = """
layout {
  @set_rectangle(4, 3);
  for (@range(u16, 4)) |x| {
    for (@range(u16, 3)) |y| {
      @set_tile_code(x, y, "pe.csl");
      for (@range(u16, 24)) |c| {
        @set_color_config(x, y, @get_color(c), .{ .routes = .{
          .rx = .{ if (x == 0) RAMP else WEST }, .tx = .{ if (x == 3) RAMP else EAST } } });
      }
    }
  }
}
"""
# How each kind of sight sees a color, in linear light: Machado, Oliveira and Fernandes, 2009.
SIGHTS = {
    "full": np.eye(3),
    "without red": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                                [-0.003882, -0.048116, 1.051998]]),
    "without green": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                                  [-0.011820, 0.042940, 0.968881]]),
    "without blue": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                                 [0.004733, 0.691367, 0.303900]])}
# Ottosson's space OKLab, in which equal distances look equal.
CONES = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                     [0.0883024619, 0.2817188376, 0.6299787005]])
AXES = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])


def linear_light(text):
    values = np.array([int(v) for v in re.match(r"rgb\((\d+), (\d+), (\d+)\)", text).groups()]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """As WCAG defines it."""
    lights = sorted(float(c @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (a, b))
    return lights[1] / lights[0]


def difference(a, b, sight):
    """100 times the distance in OKLab; about 2 is just noticeable."""
    seen = [np.cbrt(CONES @ (sight @ c).clip(0, 1)) for c in (a, b)]
    return 100 * float(np.linalg.norm(AXES @ (seen[0] - seen[1])))


def line_of(stroke):
    """Color and pattern of a line of the menu."""
    image = stroke["backgroundImage"]
    if image == "none":
        return linear_light(stroke["backgroundColor"]), ()
    edges = [int(px) for px in re.findall(r"\) (\d+)px", image)]
    return linear_light(re.search(r"rgb\([^)]*\)", image)[0]), (edges[1], edges[3] - edges[2])


@needs_browser
def test_routes_of_all_colors_can_be_told_apart(tmp_path):
    """By pattern, or else by a color that differs for every kind of sight; all 24 by the color."""
    (tmp_path / "layout.csl").write_text(ALL_COLORS)
    (tmp_path / "pe.csl").write_text("comptime {}\n")
    harness.compile(tmp_path / "layout.csl", tmp_path / "c.bin")
    harness.emu(tmp_path / "c.bin", f"--report={tmp_path}/r.html")
    done = subprocess.run(["node", LOOK / "routes.mjs", tmp_path / "r.html", tmp_path],
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "CHROMIUM": CHROMIUM})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["wide"]
    for theme, strokes in found["strokes"].items():
        ground = linear_light(found["ground"][theme])
        assert [s["number"] for s in strokes] == list(range(24))
        lines = [line_of(s) for s in strokes]
        for (color, dash), stroke in zip(lines, strokes):
            assert contrast(color, ground) >= 3
            assert sum(dash) * 2 <= stroke["width"]        # the menu shows the pattern twice
        for (a, a_dash), (b, b_dash) in itertools.combinations(lines, 2):
            assert difference(a, b, SIGHTS["full"]) >= 9
            for name, sight in SIGHTS.items():
                assert a_dash != b_dash or difference(a, b, sight) >= 7.5, (theme, name)


@pytest.mark.skipif(not os.access(CHROMIUM, os.X_OK), reason="needs Chromium")
def test_the_head_of_the_page_has_the_cycle_of_the_message(tmp_path):
    """Its cycles count from the program's first event to its last; a deadlock is found later."""
    image = hazard(tmp_path, "cyclic_wait")
    _, stats, _, ran = observed(image, tmp_path, expect=3)
    harness.emu(image, f"--report={tmp_path}/r.html", expect=3)
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                           "--virtual-time-budget=8000", "--dump-dom", tmp_path / "r.html"],
                          capture_output=True, text=True, timeout=120)
    head = re.sub(r"<[^>]*>", " ", re.search(r"<dl>.*?</dl>", done.stdout)[0])
    cycle = int(re.search(r"deadlock at cycle (\d+)", ran.err)[1])
    assert stats["cycles"] != cycle and f"at cycle {cycle:,}" in head
    assert f"cycles {stats['cycles']:,}" in " ".join(head.split())


def test_the_application_is_built_from_its_sources():
    """Otherwise: npm ci && npm run build in emu/observe/viewer."""
    names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json",
             *(f"src/{p.name}" for p in sorted((VIEWER / "src").iterdir()))]
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode() + (VIEWER / name).read_bytes())
    for kind in ("js", "css"):
        first = (VIEWER / "dist" / f"viewer.{kind}").read_text().splitlines()[0]
        assert digest.hexdigest() in first, "the built application is older than its sources"


# ---- pages of many tiles -------------------------------------------------------------------------

SAMPLED = (("waves", "tests/bench/wafer/layout.csl", {"width": 67, "height": 63, "B": 17}),
           ("tasks", "tests/bench/tasks/layout.csl", {"width": 71, "height": 59, "numbers": 9}),
           ("gemv", "samples/gemv/layout.csl", {"width": 83, "height": 51, "M": 102, "N": 166}),
           ("stencil", "tests/bench/stencil/layout.csl", {"width": 66, "height": 64, "nz": 7,
                                                          "steps": 2}),
           ("scalar", "tests/bench/busy/layout.csl", {"width": 65, "height": 64, "turns": 30}),
           ("chains", "tests/bench/chain2d/layout.csl", {"width": 70, "height": 61, "B": 29}),
           ("switches", None, {"P": 64, "B": 5}))
# What samples and events put into the same step of time; waits count where they end, and streams
# between neighbours count up to so many wavelets early or late.
MOST_OFF = 16
AT_ONCE = ("instructions", "groups", "elements", "tasks", "sent", "delivered", *LINKS)


def joined(counts, steps):
    """Counts with fewer steps of time."""
    return counts.reshape(steps, counts.shape[0] // steps, *counts.shape[1:]).sum(axis=1)


def assert_same_counts(samples, events):
    few, many = samples.top["levels"], events.top["levels"]
    assert few[-1]["side"] == 1 and few[0]["steps"] > 1
    for level in few:
        other = next(m for m in many if m["side"] == level["side"])
        span = level["step_cycles"] // other["step_cycles"]
        for channel in AT_ONCE + STALLS:
            ours, theirs = samples.channel(level, channel), events.channel(other, channel)
            assert (ours.sum(axis=0) == theirs.sum(axis=0)).all(), (level["side"], channel)
            if channel in AT_ONCE and span:
                long = np.zeros((level["steps"] * span, *theirs.shape[1:]), np.uint64)
                long[:len(theirs)] = theirs[:len(long)]
                ahead = np.cumsum(ours, axis=0).astype(int) - np.cumsum(joined(long, level["steps"]),
                                                                       axis=0).astype(int)
                tiles = level["side"] ** 2
                assert (abs(ahead) <= MOST_OFF * tiles).all(), (level["side"], channel)


def rows_of_trees(tmp_path, rows=65):
    """The sample, so many times one below the other."""
    sample = harness.SAMPLES / "reduce-tree"
    text = (sample / "layout.csl").read_text().replace("(p, 0,", "(p, y,")
    text = text.replace(
        "(P, 1);", f"(P, {rows});\n  for (@range(u16, {rows})) |y| {{")
    text = text.replace("  @export_name", "  }\n  @export_name")
    (tmp_path / "layout.csl").write_text(text)
    (tmp_path / "pe.csl").write_text((sample / "pe.csl").read_text())
    return tmp_path / "layout.csl"


def assert_samples_count_what_events_count(folder, layout, params, from_events, from_counts):
    """Pages from samples and from events, with the options that choose them."""
    harness.compile(layout or rows_of_trees(folder), folder / "p.bin", params=params)

    def page_of(*options):
        page, stats = folder / "r.wseview", folder / "s.json"
        harness.emu(folder / "p.bin", *options, f"--report={page}", f"--stats={stats}", timeout=300)
        data = page_data.of_file(page)
        assert_sums_are_statistics(data, harness.stats(stats))
        return data

    profile = f"--profile={folder}/p.txt"
    events = page_of(*from_events, profile)
    assert not events.top["sampled"]
    for threads in (1, 2):
        for options in ((), (profile,)):
            samples = page_of(f"--threads={threads}", *from_counts, *options)
            assert samples.top["sampled"]
            assert_same_counts(samples, events)
            assert_same(samples, events, "turn")
            assert bool(len(samples.numbers("turn.tile"))) == (layout is None)
            if options:
                assert_same(samples, events, "span")
                assert samples.top["sources"] == events.top["sources"]


@pytest.mark.long
@pytest.mark.parametrize("name, layout, params", SAMPLED, ids=[row[0] for row in SAMPLED])
def test_samples_count_what_events_count(tmp_path, name, layout, params):
    """A program of more than 4,096 tiles."""
    assert_samples_count_what_events_count(tmp_path, layout, params, ["--watch=0,0,0"], [])


@pytest.mark.parametrize("name, layout, params", SAMPLED, ids=[row[0] for row in SAMPLED])
def test_a_small_program_has_a_page_of_counts_on_request(tmp_path, name, layout, params):
    """Also where a large one has events on request."""
    rng = harness.commit_random(f"pages {name}")
    width, height = (int(n) for n in rng.integers(2, 12, size=2))
    own = {"width": width, "height": height, "M": 2 * height, "N": 2 * width}
    params = {**params, **{key: own[key] for key in own if key in params}}
    if name == "switches":
        params = {"P": 1 << int(rng.integers(1, 5)), "B": int(rng.integers(1, 20))}
    assert_samples_count_what_events_count(tmp_path, layout, params, ["--report-detail=events"],
                                           ["--report-detail=counts"])


def assert_same(samples, events, kind):
    """The arrays of a kind."""
    names = [name for name in events.top["arrays"] if name.startswith(f"{kind}.")]
    assert names
    for name in names:
        assert (samples.numbers(name) == events.numbers(name)).all(), name


def page_of_many_tiles(tmp_path, *options, **params):
    harness.compile("tests/bench/wafer/layout.csl", tmp_path / "p.bin", params=params)
    harness.emu(tmp_path / "p.bin", f"--report={tmp_path}/r.wseview", *options, timeout=300)
    return page_data.of_file(tmp_path / "r.wseview")


def test_a_page_of_many_tiles_has_what_its_observers_need(tmp_path):
    size = {"width": 100, "height": 50, "B": 3}
    fills = {"input_fill", "output_fill"}
    counts = page_of_many_tiles(tmp_path, **size)
    assert counts.top["sampled"] and not counts.top["sources"]["lines"]
    assert not {"time_lines", "ways_one_of"} & set(counts.top)
    tasks = page_of_many_tiles(tmp_path, f"--profile={tmp_path}/p.txt", **size)
    assert tasks.top["sampled"] and tasks.top["sources"]["lines"] and tasks.top["time_lines"]
    same = page_of_many_tiles(tmp_path, "--report-detail=counts", **size)
    assert same.top["sampled"] and same.top["levels"] == counts.top["levels"]
    for data in (counts, tasks):
        assert not fills & {c["name"] for c in data.top["channels"]}
    for option in ("--watch=0,0,0", "--report-detail=events"):
        events = page_of_many_tiles(tmp_path, option, **size)
        assert not events.top["sampled"] and events.top["time_lines"]
        assert fills <= {c["name"] for c in events.top["channels"]}


def test_ways_of_a_page_of_many_tiles_end_and_say_where(tmp_path):
    """They are those of a page of all events, as long as there are any."""
    size = {"width": 128, "height": 65, "B": 40}
    tasks = page_of_many_tiles(tmp_path, f"--profile={tmp_path}/p.txt", **size)
    until = tasks.top["ways_until"]
    assert 0 < until < tasks.top["cycles"]
    events = page_of_many_tiles(tmp_path, "--watch=0,0,0", **size)
    assert "ways_until" not in events.top

    sparse = max(data.top["ways_one_of"].bit_length() - 1 for data in (tasks, events))
    assert sparse > 0
    ours, all_steps = (steps_of_ways(data, sparse, until) for data in (tasks, events))
    assert ours == all_steps and len(ours) > 100


def steps_of_ways(data, sparse, until):
    """{number: steps before the cycle} of the wavelets whose hash begins with so many zeros."""
    number = np.cumsum(data.numbers("way.number").astype(int))
    cycle, *rest = (data.numbers(f"way.{name}").astype(int) for name in
                    ("cycle", "tile", "kind", "ports", "color", "payload"))
    found, now = {}, 0
    for i, way in enumerate(map(int, number)):
        now = int(cycle[i]) + (now if i and number[i - 1] == way else 0)
        if now < until and (way * 0xd6e8feb86659fd93 & (1 << 64) - 1) >> 64 - sparse == 0:
            found.setdefault(way, []).append((now, *(int(field[i]) for field in rest)))
    return found


def test_a_page_without_events_of_a_run_in_parts(tmp_path):
    """States stop the run between samples, and a limit before the last one."""
    harness.compile("tests/bench/wafer/layout.csl", tmp_path / "p.bin",
                    params={"width": 91, "height": 47, "B": 11})
    for options, code in (([f"--save-state={tmp_path}/s", "--save-every=37"], 0),
                          (["--max-cycles=201"], 4)):
        page, stats = tmp_path / "r.wseview", tmp_path / "s.json"
        harness.emu(tmp_path / "p.bin", f"--report={page}", f"--stats={stats}", *options, expect=code)
        assert_sums_are_statistics(page_data.of_file(page), harness.stats(stats))


def test_changes_of_routes_of_very_many_tiles(tmp_path):
    """One change of each tile is more than a small page has room for."""
    harness.compile(rows_of_trees(tmp_path, 300), tmp_path / "p.bin", "--fabric-warnings",
                    params={"P": 512, "B": 2})
    harness.emu(tmp_path / "p.bin", f"--report={tmp_path}/r.wseview", timeout=60)
    data = page_data.of_file(tmp_path / "r.wseview")
    tiles = np.cumsum(data.numbers("turn.tile").astype(int))
    assert data.top["turn_cycles"] == 1 and len(set(tiles)) > 2 ** 17


# ---- routes that change --------------------------------------------------------------------------

def turns_of(data):
    """{(x, color): [(cycle, inputs, outputs)]} of a page of one row."""
    tiles = np.cumsum(data.numbers("turn.tile").astype(int))
    found, before = {}, None
    for tile, color, cycle, ports in zip(tiles, *(data.numbers(f"turn.{name}").astype(int)
                                                  for name in ("color", "cycle", "ports"))):
        key = int(tile), int(color)
        cycle += found[key][-1][0] if key == before else 0
        found.setdefault(key, []).append((int(cycle), int(ports) & 31, int(ports) >> 5))
        before = key
    return found


PORTS = ("NORTH", "SOUTH", "EAST", "WEST", "RAMP")


def mask_of(names):
    return sum(1 << PORTS.index(name) for name in names.split())



def test_the_page_follows_switches(tmp_path, engine):
    """Each position of the trace, with what the layout connects there."""
    image = compiled(tmp_path, "reduce-tree", P=8, B=20)
    data, _, trace, _ = observed(image, tmp_path, engine)
    seen = turns_of(data)
    told = {}
    for cycle, x, color in re.findall(r"^@(\d+) P(\d+)\.0 switch position color (\d+)", trace, re.M):
        told.setdefault((int(x), int(color)), []).append(int(cycle))
    assert told and {key: [turn[0] for turn in turns] for key, turns in seen.items()} == {
        key: sorted(set(cycles)) for key, cycles in told.items()}
    configs, sets = data.top["routes"]["configs"], data.top["routes"]["sets"]
    for (tile, color), turns in seen.items():
        pairs = sets[int(data.numbers("tile.routes")[tile])]
        config = configs[pairs[pairs.index(color) + 1]] if color in pairs[::2] else None
        known = set(zip(config[1::2], config[2::2]))
        assert all((inputs, outputs) in known for _, inputs, outputs in turns)


def test_the_page_follows_routes_that_the_program_writes(tmp_path, engine):
    """The middle tile receives, and then passes on what comes."""
    harness.compile("tests/stdlib/tile_config/layout.csl", tmp_path / "p.bin", "--arch=wse3")
    data, _, trace, _ = observed(tmp_path / "p.bin", tmp_path, engine, "--launch=main")
    told = {}
    for cycle, x, color, inputs, outputs in re.findall(
            r"^@(\d+) P(\d+)\.0 switch routes color (\d+)[^A-Z]*([A-Z ]*) ->([A-Z ]*)$", trace, re.M):
        told.setdefault((int(x), int(color)), []).append(
            (int(cycle), mask_of(inputs), mask_of(outputs)))
    assert told[1, 2][-1][1:] == (mask_of("WEST"), mask_of("EAST"))
    assert {key: turns for key, turns in turns_of(data).items() if key in told} == told
