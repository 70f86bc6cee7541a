"""What wse-emu reports about a run: every event of the trace, the trace for Perfetto, the profile,
the watched wavelet, stops and dumps, the page."""
import json
import os
import re
import subprocess
from collections import Counter

import pytest

import harness
from test_debugger import line_of
from test_debugger_counts import CALL_LAYOUT, CALLS


def program(tmp_path, sample, arch="wse2", **params):
    harness.compile(f"samples/{sample}/layout.csl", tmp_path / f"{sample}.bin", f"--arch={arch}",
                    params=params)
    return tmp_path / f"{sample}.bin"


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


# ---- the trace -----------------------------------------------------------------------------------

EVENTS = {"task start", "task end", "task activate", "task block", "task unblock", "inst issue",
          "inst group", "inst done", "wavelet move", "switch position", "queue push", "queue pop",
          "stall waits", "stall waited", "host in", "host out", "host launch"}

CALLED = """
export var n: u16 = 0;
const main_id = @get_local_task_id(8);
fn start() void {
  @activate(main_id);
}
task main() void {
  n += 1;
}
comptime {
  @bind_local_task(main, main_id);
  @export_symbol(n);
  @export_symbol(start);
}
"""


def test_every_event_occurs_in_some_trace(tmp_path, engine):
    (tmp_path / "layout.csl").write_text(
        "layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, \"pe.csl\");\n"
        "  @export_name(\"n\", u16, true);\n  @export_name(\"start\", fn()void);\n}\n")
    (tmp_path / "pe.csl").write_text(CALLED)
    harness.compile(tmp_path / "layout.csl", tmp_path / "called.bin")
    seen = Counter()
    for image, *actions in (
            (program(tmp_path, "packets", packets=3),), (tmp_path / "called.bin", "--launch=start"),
            (program(tmp_path, "reduce-tree", P=4, B=3),)):
        out = harness.emu(image, engine, "--trace=all", *actions).out
        seen.update(m[1] for m in re.finditer(r"^@\d+ P\d+\.\d+ (\w+ \w+)", out, re.M))
    (tmp_path / "mem.csl").write_text((harness.SAMPLES / "axpy" / "layout.csl").read_text())
    (tmp_path / "pe.csl").write_text((harness.SAMPLES / "axpy" / "pe.csl").read_text())
    harness.compile(tmp_path / "mem.csl", tmp_path / "mem.bin", "--memcpy", "--fabric-dims=8,3",
                    "--fabric-offsets=4,1", params={"width": 1, "height": 1, "N": 4})
    out = harness.emu(tmp_path / "mem.bin", engine, "--trace=host", "--h2d=x=1,2,3,4",
                      f"--d2h=y={tmp_path}/y.npy").out
    seen.update(m[1] for m in re.finditer(r"^@\d+ P\d+\.\d+ (\w+ \w+)", out, re.M))
    assert EVENTS == set(seen)


def test_waits_are_told_with_their_cause(tmp_path, engine):
    out = harness.emu(program(tmp_path, "reduce-chain", P=3, B=8), engine, "--trace=stall",
                      f"--stats={tmp_path}/s.json").out
    waits = Counter()
    for cause, cycles in re.findall(r"stall waited 0x\w+ (?:ut\d )?(\w+) (\d+) cycles", out):
        waits[cause] += int(cycles)
    stalls = harness.stats(tmp_path / "s.json")["stalls"]
    assert waits["input"] > 0 and dict(waits) == {k: v for k, v in stalls.items() if v}


def test_a_wait_is_reported_when_it_begins(tmp_path, engine):
    """Also one that never ends; each that ends has begun."""
    hazard = harness.ROOT / "tests" / "hazards" / "cyclic_wait"
    harness.compile(hazard / "layout.csl", tmp_path / "p.bin", "--fabric-warnings")
    for image, code in ((program(tmp_path, "reduce-chain", P=3, B=8), 0), (tmp_path / "p.bin", 3)):
        out = harness.emu(image, engine, "--trace=stall", expect=code).out
        begun, open_waits = {}, 0
        for cycle, tile, word, pc, cause, cycles in re.findall(
                r"^@(\d+) (\S+) stall (waits|waited) (0x\w+(?: ut\d)?) (\w+)(?: (\d+) cycles)?$", out,
                re.M):
            if word == "waits":
                begun[tile, pc] = int(cycle), cause
            elif cause != "bank":
                assert begun.pop((tile, pc)) == (int(cycle) - int(cycles), cause)
        open_waits = sorted(tile for tile, _ in begun)
        assert open_waits == ([] if code == 0 else ["P0.0", "P1.0"])


# ---- Perfetto ------------------------------------------------------------------------------------

def perfetto(image, tmp_path, *options):
    harness.emu(image, "--trace-format=perfetto", f"--trace-file={tmp_path}/t.json", *options)
    return json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_perfetto_has_a_track_for_each_thread_and_counters_for_links(tmp_path, engine):
    image = program(tmp_path, "packets", packets=4)
    events = perfetto(image, tmp_path, engine)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
             if e["ph"] == "M" and e["name"] == "thread_name"}
    assert names[0, 0] == "main thread" and names[1, 3] == "microthread 2"
    processes = {e["pid"]: e["args"]["name"] for e in events
                 if e["ph"] == "M" and e["name"] == "process_name"}
    assert processes == {0: "P0.0", 1: "P1.0"}
    # The operation on a microthread, once a packet.
    spans = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 3) and
             e["name"].startswith("fmovs")]
    assert len(spans) == 4 and all("receiver.csl:24" in e["name"] and e["dur"] > 0 for e in spans)
    links = [e for e in events if e["ph"] == "C" and e["name"] == "link EAST" and e["pid"] == 0]
    assert sum(e["args"]["wavelets"] for e in links) == 4 + 1 + 2 + 3 + 4
    begun = Counter(e["pid"] for e in events if e["ph"] == "B")
    assert begun == Counter(e["pid"] for e in events if e["ph"] == "E") and begun[1] == 4


def test_perfetto_shows_operations_that_wait_at_the_end(tmp_path, engine):
    """Those that never get on are what a deadlock is about; also one without any element."""
    hazard = harness.ROOT / "tests" / "hazards" / "cyclic_wait"
    harness.compile(hazard / "layout.csl", tmp_path / "p.bin", "--fabric-warnings")
    harness.emu(tmp_path / "p.bin", engine, "--trace=stall", f"--trace-file={tmp_path}/w.txt",
                expect=3)
    begun = re.findall(r"^@(\d+) P(\d)\.0 stall waits \w+ (\w+)$", (tmp_path / "w.txt").read_text(),
                       re.M)
    for kinds in ([], ["--trace=stall"]):
        harness.emu(tmp_path / "p.bin", engine, "--trace-format=perfetto", *kinds,
                    f"--trace-file={tmp_path}/t.json", expect=3)
        spans = [e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
                 if e["ph"] == "X"]
        for cycle, x, cause in begun[-2:]:
            own = [e for e in spans if e["pid"] == int(x) and e["tid"] == 0]
            wait, = [e for e in own if e["ts"] == int(cycle) and e["name"] == f"waits: {cause}"]
            end = wait["ts"] + wait["dur"]
            assert wait["dur"] > 0
            assert any(e["ts"] <= wait["ts"] and e["ts"] + e["dur"] == end and
                       "pe.csl:" in e["name"] for e in own)


def test_perfetto_keeps_the_limits_of_the_trace(tmp_path, engine):
    events = perfetto(program(tmp_path, "reduce-chain", P=4, B=9), tmp_path, engine,
                      "--trace=wavelet", "--trace-region=1,0,2,1", "--trace-cycles=10:40")
    assert {e["pid"] for e in events} == {1, 2}
    assert {e["ph"] for e in events} == {"M", "C"}


def test_perfetto_counts_what_leaves_a_queue_for_the_host(tmp_path, engine):
    harness.compile("samples/axpy/layout.csl", tmp_path / "a.bin", "--memcpy", "--channels=1",
                    "--fabric-dims=8,3", "--fabric-offsets=4,1",
                    params={"width": 1, "height": 1, "N": 4})
    events = perfetto(tmp_path / "a.bin", tmp_path, engine, f"--d2h=y={tmp_path}/y.npy")
    held = {}
    for e in events:
        if e["ph"] == "C" and "queue" in e["name"]:
            held.setdefault(e["name"], []).append(e["args"]["wavelets"])
    assert {name: counts[-1] for name, counts in held.items()} == \
        {"input queue 0": 0, "output queue 0": 0}
    assert max(held["output queue 0"]) > 0


def test_perfetto_survives_a_file_name_that_is_not_utf8(tmp_path):
    layout = (harness.SAMPLES / "hello-wavelet" / "layout.csl").read_bytes()
    (tmp_path / "layout.csl").write_bytes(layout.replace(b"sender.csl", b"s\xe9nder.csl"))
    for name, copy in ((b"receiver.csl", b"receiver.csl"), (b"sender.csl", b"s\xe9nder.csl")):
        source = harness.SAMPLES / "hello-wavelet" / os.fsdecode(name)
        (tmp_path / os.fsdecode(copy)).write_bytes(source.read_bytes())
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "--fabric-warnings")
    spans = [e["name"] for e in perfetto(tmp_path / "p.bin", tmp_path) if e["ph"] == "X"]
    assert any("s?nder.csl:13" in name for name in spans), spans


def arrows_of(events):
    """(sender's tile and thread, taker's tile and thread, send and take cycle), by the arrow's id."""
    ends = {}
    for e in events:
        if e["ph"] in "sf":
            ends.setdefault(e["id"], {})[e["ph"]] = e
    assert all(pair.keys() == {"s", "f"} and pair["f"]["bp"] == "e" for pair in ends.values())
    return [((s["pid"], s["tid"]), (f["pid"], f["tid"]), s["ts"], f["ts"])
            for s, f in ((pair["s"], pair["f"]) for pair in ends.values())]


def lies_in_a_span(events, track, cycle):
    begun = {}
    for e in events:
        if (e.get("pid"), e.get("tid")) != track:
            continue
        if e["ph"] == "X" and e["ts"] <= cycle <= e["ts"] + e["dur"]:
            return True
        if e["ph"] == "B":
            begun = e
        if e["ph"] == "E" and begun and begun["ts"] <= cycle <= e["ts"]:
            return True
    return False


def test_perfetto_has_arrows_from_senders_to_takers(tmp_path, engine):
    """A chain: each operation takes what its neighbour's sends; both ends lie in spans."""
    events = perfetto(program(tmp_path, "reduce-chain", P=6, B=40), tmp_path, engine)
    arrows = arrows_of(events)
    assert sorted((s[0], t[0]) for s, t, _, _ in arrows) == [(x + 1, x) for x in range(5)]
    for sender, taker, sent, taken in arrows:
        assert sent < taken
        assert lies_in_a_span(events, sender, sent) and lies_in_a_span(events, taker, taken)


def test_perfetto_has_arrows_to_every_copy_and_to_tasks(tmp_path, engine):
    arrows = arrows_of(perfetto(program(tmp_path, "broadcast-1d", P=5, B=12), tmp_path, engine))
    assert sorted((s[0], t[0]) for s, t, _, _ in arrows) == [(4, x) for x in range(4)]
    events = perfetto(program(tmp_path, "data-task", N=4), tmp_path, engine)
    started = [e for e in events if e["ph"] == "B" and e["pid"] == 1 and
               e["name"].split()[0] in ("data", "control")]
    to_tasks = [a for a in arrows_of(events) if a[1] == (1, 0)]
    assert sorted(a[3] for a in to_tasks) == sorted(e["ts"] for e in started) and len(started) == 5


def test_wavelets_have_numbers(tmp_path, engine):
    """Each event about a wavelet has the number of its push, which the copies share."""
    image = program(tmp_path, "broadcast-1d", P=4, B=9)
    plain = harness.emu(image, engine, "--trace=all").out
    out = harness.emu(image, engine, "--trace=all", "--trace-ids").out
    assert re.sub(r" #\d+$", "", out, flags=re.M) == plain
    numbers = {}
    for word, payload, number in re.findall(
            r"^@\d+ \S+ (queue push output|queue pop output|wavelet move|queue push input|"
            r"queue pop input) .*(0x\w{8})(?: control)? #(\d+)$", out, re.M):
        numbers.setdefault(int(number), []).append((word, payload))
    assert sorted(numbers) == list(range(1, 10))
    for steps in numbers.values():
        assert len({payload for _, payload in steps}) == 1
        assert Counter(word for word, _ in steps) == {
            "queue push output": 1, "queue pop output": 1, "wavelet move": 4, "queue push input": 3,
            "queue pop input": 3}
    assert len(re.findall(" (?:wavelet|queue) ", out)) == 9 * 12


def test_numbers_do_not_depend_on_the_limits_of_the_trace(tmp_path, engine):
    image = program(tmp_path, "reduce-tree", P=8, B=6)
    whole = harness.emu(image, engine, "--trace=wavelet", "--trace-ids").out.splitlines()
    some = harness.emu(image, engine, "--trace=wavelet", "--trace-ids", "--trace-region=2,0,3,1",
                       "--trace-cycles=40:90").out.splitlines()
    assert some and some == [line for line in whole if re.match(r"@\d+ P[234]\.0 ", line) and
                             40 <= int(line[1:].split()[0]) <= 90]


def test_engines_number_alike(tmp_path):
    image = program(tmp_path, "packets", packets=4)
    traces = {harness.emu(image, f"--engine={name}", "--trace=all", "--trace-ids").out
              for name in ("fast", "reference")}
    assert len(traces) == 1 and "#2" in traces.pop()


def test_a_wavelet_for_the_host_has_its_number_and_is_followed_there(tmp_path, engine):
    harness.compile("samples/axpy/layout.csl", tmp_path / "a.bin", "--memcpy", "--channels=1",
                    "--fabric-dims=8,3", "--fabric-offsets=4,1",
                    params={"width": 1, "height": 1, "N": 4})
    out = harness.emu(tmp_path / "a.bin", engine, "--trace=host,queue", "--trace-ids",
                      "--watch=0,0,23,1", f"--d2h=y={tmp_path}/y.npy").out
    sent = re.findall(r"queue push output 0 color 23 .* #(\d+)", out)
    assert len(sent) == 4 and sent == re.findall(r"host out color 23 .* #(\d+)", out)
    watched = [line for line in out.splitlines() if line.startswith("watch")]
    assert "is sent" in watched[0] and "goes to the host" in watched[1] and len(watched) == 2


# ---- where it is written -------------------------------------------------------------------------

@pytest.mark.parametrize("option", ["--print=received", "--stats", "--profile", "--trace", "--help",
                                    "--dump=0,0,1,1", "--stats=/dev/full", "--profile=/dev/full",
                                    "--report=/dev/full", "--trace-file=/dev/full"])
def test_output_that_does_not_arrive_is_an_error(tmp_path, option):
    image = program(tmp_path, "hello-wavelet")
    with open("/dev/full", "w") as full:
        ran = subprocess.run([harness.tool("wse-emu"), image, option], stdin=subprocess.DEVNULL,
                             stdout=full, stderr=subprocess.PIPE, text=True)
    where = "/dev/full" if option.endswith("=/dev/full") else "standard output"
    assert ran.returncode == 1
    assert re.fullmatch(rf"error: cannot write '{where}': (No space left on device|not all of it has "
                        r"arrived) \[output_unwritable\]\n", ran.stderr)


@pytest.mark.parametrize("option", ["--trace-file=t", "--trace-region=0,0,2,1", "--trace-ids",
                                    "--trace-cycles=0:999"])
def test_options_about_the_trace_imply_one(tmp_path, option):
    image = program(tmp_path, "hello-wavelet")
    out = harness.emu(image, option, cwd=tmp_path).out
    out = re.sub(r" #\d+$", "", out, flags=re.M)
    want = harness.emu(image, "--trace").out
    assert want and want == (out or (tmp_path / "t").read_text())


# ---- compressed traces -----------------------------------------------------------------------------

def unpacked(path):
    tool = "gzip" if path.suffix == ".gz" else "zstd"
    return subprocess.run([tool, "-dc", path], capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_trace_is_compressed_by_its_name(tmp_path, ending, engine):
    """Whole, and much smaller; also with more bytes than the buffers hold."""
    image = program(tmp_path, "reduce-chain", P=32, B=100)
    harness.emu(image, engine, "--trace=all", f"--trace-file={tmp_path}/t")
    harness.emu(image, engine, "--trace=all", f"--trace-file={tmp_path}/t{ending}")
    plain, packed = tmp_path / "t", tmp_path / f"t{ending}"
    assert unpacked(packed) == plain.read_text()
    assert plain.stat().st_size > 10 ** 6 and packed.stat().st_size < plain.stat().st_size / 5


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_trace_for_perfetto(tmp_path, ending):
    image = program(tmp_path, "hello-wavelet")
    harness.emu(image, "--trace-format=perfetto", f"--trace-file={tmp_path}/t.json{ending}")
    assert json.loads(unpacked(tmp_path / f"t.json{ending}"))["traceEvents"]


def test_a_compressed_trace_of_no_event_is_empty(tmp_path):
    image = program(tmp_path, "hello-wavelet")
    harness.emu(image, "--trace=host", "--trace-cycles=900000:900001",
                f"--trace-file={tmp_path}/t.zst")
    assert unpacked(tmp_path / "t.zst") == ""


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_trace_that_does_not_fit_is_reported(tmp_path, ending):
    image = program(tmp_path, "reduce-chain", P=32, B=100)
    ran = subprocess.run(["bash", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "bash",
                          harness.tool("wse-emu"), image, "--trace=all", f"--trace-file=t{ending}"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and f"cannot write 't{ending}'" in ran.stderr
    assert not (tmp_path / f"t{ending}").exists()


# ---- profile -------------------------------------------------------------------------------------

def profile(text):
    """{line: {column: value}} of the printed profile."""
    head, *rows = text.splitlines()[1:]
    columns = head.split()[:-1]
    split = [row.split(None, len(columns)) for row in rows]
    return {words[-1].split("/")[-1]: dict(zip(columns, words)) for words in split}


def test_profile_counts_cycles_by_line_and_cause(tmp_path, engine):
    image = program(tmp_path, "reduce-chain", P=4, B=30)
    out = harness.emu(image, engine, "--profile", f"--stats={tmp_path}/s.json").out
    rows = profile(out)
    stats = harness.stats(tmp_path / "s.json")
    for cause, cycles in stats["stalls"].items():
        assert sum(int(row[cause]) for row in rows.values()) == cycles
    for column, key in (("instrs", "instructions"), ("groups", "groups"),
                        ("elements", "elements")):
        assert sum(int(row[column]) for row in rows.values()) == stats[key]
    assert "(no source)" in rows     # the start-up code, which no line of the program stands for
    add = rows["pe.csl:41"]     # @fadds(out, own, in), on the two tiles in the middle
    assert int(add["elements"]) == 2 * 30 and int(add["input"]) > 0
    # The issue and its 2 cycles, groups, 1 cycle behind; start-up code has loaded the descriptors.
    assert int(add["cycles"]) == 2 * (2 + 30 + 1) + int(add["input"]) + int(add["start"])


FILLS = """
var a = @zeros([169]f32);
var n: u16 = 0;
fn clear() void {
  for (@range(i16, 169)) |i| { a[i] = 0.0; }
}
fn main() void {
  n += 1;
  for (@range(i16, 169)) |i| { a[i] = 0.0; }
  clear();
}
comptime { @export_symbol(main); }
"""


def test_what_a_function_of_the_compiler_does_belongs_to_the_line_that_calls_it(tmp_path, engine):
    """A loop that fills an array is a call of such a function, which no line stands for."""
    (tmp_path / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); '
        '@export_name("main", fn()void); }\n')
    (tmp_path / "pe.csl").write_text(FILLS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    assert "call" in harness.cslc(tmp_path / "layout.csl", "--emit=asm").out.split("<fill>")[0]
    run = harness.emu(tmp_path / "p.bin", engine, "--launch=main", "--profile", "--launch=main",
                      f"--stats={tmp_path}/s.json")
    rows = profile(run.out)
    loops = [rows[f"pe.csl:{number}"] for number, line in enumerate(FILLS.splitlines(), 1)
             if "@range" in line]
    assert len(loops) == 2 and all(int(row["instrs"]) > 4 * 169 for row in loops)
    assert "(no source)" not in rows
    instructions = harness.stats(tmp_path / "s.json")["instructions"]
    assert sum(int(row["instrs"]) for row in rows.values()) == instructions


def test_profile_as_json_has_the_printed_numbers(tmp_path):
    image = program(tmp_path, "reduce-chain", P=4, B=30)
    printed = profile(harness.emu(image, "--profile").out)
    harness.emu(image, f"--profile={tmp_path}/profile.json")
    run = json.loads((tmp_path / "profile.json").read_text())
    assert "partial" not in run and run["tiles"] >= 1
    assert run["cycles"] == sum(row["cycles"] for row in run["lines"])
    assert len(run["lines"]) == len(printed) > 1
    for row in run["lines"]:
        name = row["file"].split("/")[-1]
        text = printed[f"{name}:{row['line']}" if row["line"] else "(no source)"]
        for key, column in (("cycles", "cycles"), ("instructions", "instrs"), ("groups", "groups"),
                            ("start", "start")):
            assert row[key] == int(text[column])
        assert all(int(text[cause]) == n for cause, n in row["stalls"].items())


def test_profile_of_a_run_that_gets_stuck(tmp_path, engine):
    (tmp_path / "layout.csl").write_text(
        (harness.SAMPLES / "hello-wavelet" / "layout.csl").read_text().replace("sender", "waiter"))
    (tmp_path / "receiver.csl").write_text(
        (harness.SAMPLES / "hello-wavelet" / "receiver.csl").read_text())
    (tmp_path / "waiter.csl").write_text("""
param greeting: color;
var word = @zeros([1]u32);
const data = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> word[i] });
const in = @get_dsd(fabin_dsd, .{ .fabric_color = greeting, .extent = 1,
                                  .input_queue = @get_input_queue(2) });
task main() void {
  @mov32(data, in);
}
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "--fabric-warnings")
    ran = harness.emu(tmp_path / "p.bin", engine, f"--profile={tmp_path}/profile.txt", expect=3)
    row = profile((tmp_path / "profile.txt").read_text())["waiter.csl:8"]
    assert "profile" not in ran.out and row["groups"] == "0" and int(row["cycles"]) > 5


# ---- watch ---------------------------------------------------------------------------------------

def test_watch_follows_a_wavelet_through_a_multicast(tmp_path, engine):
    image = program(tmp_path, "broadcast-1d", P=4, B=9)
    lines = [line for line in harness.emu(image, engine, "--watch=3,0,0,5").out.splitlines()
             if line.startswith("watch ")]
    moves = [line for line in harness.emu(image, engine, "--trace=wavelet").out.splitlines()
             if "0x40c00000" in line]                  # 6.0, the sixth element
    assert re.search(r"P3\.0 0x40c00000 of color 0 'stream' is sent at .+pe\.csl:\d+, into "
                     r"output queue 2", lines[0])
    told = {re.match(r"watch @(\d+) (P\d\.\d) \w+ ->", line).groups() for line in lines
            if " -> " in line}
    assert told == {re.match(r"@(\d+) (P\d\.\d)", line).groups() for line in moves}
    assert len(told) == 4
    taken = [re.match(r"watch @\d+ (P\d\.\d) is taken at .*pe\.csl:\d+", line) for line in lines]
    assert {m[1] for m in taken if m} == {"P0.0", "P1.0", "P2.0"}


def test_several_wavelets_are_watched(tmp_path, engine):
    """Each line says which of them it is about; alone, each has the same lines without that."""
    image = program(tmp_path, "broadcast-1d", P=4, B=9)
    options = ("--watch=3,0,0,5", "--watch=3,0,0,2", "--watch=0,0,0")
    alone = [harness.emu(image, engine, option).out for option in options]
    both = harness.emu(image, engine, *options).out.splitlines()
    for number, out in enumerate(alone, 1):
        lines = [line.replace("watch @", f"watch {number} @") for line in out.splitlines()
                 if line.startswith("watch")]
        own = [line for line in both if line.startswith(f"watch {number} ") or line in lines]
        assert lines == own and lines


WIDE = """
const c = @get_color(1);
layout {
  @set_rectangle(300, 300);
  for (@range(u16, 300)) |x| {
    for (@range(u16, 300)) |y| {
      const rx = if (x + y == 0) RAMP else if (y == 0) WEST else NORTH;
      const tx = if (x + y == 0) [2]direction{ EAST, SOUTH }
                 else if (y == 0 and x < 299) [3]direction{ RAMP, EAST, SOUTH }
                 else if (y < 299) [2]direction{ RAMP, SOUTH } else [1]direction{ RAMP };
      @set_tile_code(x, y, "pe.csl", .{ .root = x + y == 0 });
      @set_color_config(x, y, c, .{ .routes = .{ .rx = .{ rx }, .tx = tx } });
    }
  }
}
"""
WIDE_TILE = """
param root: bool;
const c = @get_color(1);
const oq = @get_output_queue(2);
const tx = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1, .output_queue = oq });
task take(x: u32) void {}
task send() void { @mov32(tx, @as(u32, 7)); }
comptime {
  if (root) {
    @bind_local_task(send, @get_local_task_id(8));
    @activate(@get_local_task_id(8));
  } else {
    @bind_data_task(take, @get_data_task_id(c));
  }
}
"""


def test_watch_of_a_wide_multicast_ends(tmp_path):
    """The time grows with the copies, not with their square: 40 s then."""
    (tmp_path / "layout.csl").write_text(WIDE)
    (tmp_path / "pe.csl").write_text(WIDE_TILE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    out = harness.emu(tmp_path / "p.bin", "--watch=0,0,1", timeout=20).out
    assert len(re.findall("starts data task 1 'take'", out)) == 300 * 300 - 1


def test_watch_names_the_task_that_a_wavelet_starts(tmp_path, engine):
    out = harness.emu(program(tmp_path, "data-task", N=4), engine, "--watch=0,0,3,4").out
    assert re.search(r"watch @\d+ P1\.0 starts control task 40 'finish'", out)
    out = harness.emu(program(tmp_path, "data-task", N=4), engine, "--watch=0,0,3,5").out
    assert "watch: P0.0 has sent 5 wavelets on color 3; there is no number 5" in out


def test_a_stop_that_is_not_reached_is_told(tmp_path, engine):
    image = program(tmp_path, "data-task", N=4)
    for stop in ("100000", "adder.csl:18@1,0"):
        out = harness.emu(image, engine, f"--stop={stop}", expect=None).out
        assert ("without coming there" in out) == (stop == "100000"), out


def test_watch_says_where_a_wavelet_leaves_the_rectangle(tmp_path, engine):
    """Others of the color leave it before the watched one, too."""
    harness.compile("tests/hazards/off_fabric/layout.csl", tmp_path / "p.bin")
    for number in (0, 3):
        out = harness.emu(tmp_path / "p.bin", engine, f"--watch=0,0,3,{number}").out
        cycle = re.search(r"^watch @(\d+) P1\.0 WEST -> EAST RAMP", out, re.M).group(1)
        assert f"watch @{cycle} P1.0 leaves the rectangle to the EAST\n" in out
        assert "P1.0 is taken at" in out.splitlines()[-1]


def test_watch_says_where_a_wavelet_stays(tmp_path, engine):
    hazard = harness.ROOT / "tests" / "hazards" / "blocked_task"
    harness.compile(hazard / "layout.csl", tmp_path / "p.bin", "--fabric-warnings")
    out = harness.emu(tmp_path / "p.bin", engine, "--watch=0,0,3,2", expect=3).out
    assert re.search(r"P1\.0 it has stayed in input queue \d, 1 ahead of it", out)


def test_a_line_without_instructions_has_help(tmp_path):
    """The notes stop_line_near and stop_file_unknown."""
    image = program(tmp_path, "data-task", N=4)
    for stop, near in (("adder.csl:1", None), ("adder.csl:18", 18), ("adder.csl:10000", None),
                       ("other.csl:0", 0), ("dder.csl:18", 0)):
        ran = harness.emu(image, f"--stop={stop}", expect=4 if near == 18 else 1)
        if near == 0:
            assert "note: none comes from a file of this name" in ran.err
        elif near is None:     # the line that the help names is one to stop at
            line = re.search(r"nearest line of this file with instructions is (\d+)\n", ran.err)[1]
            harness.emu(image, f"--stop=adder.csl:{line}", expect=4)


# ---- stop and dump -------------------------------------------------------------------------------

def test_stop_at_a_line(tmp_path, engine):
    image = program(tmp_path, "packets", packets=3)
    ran = harness.emu(image, engine, "--stop=receiver.csl:28", "--print=count", expect=4)
    assert re.match(r"stopped before cycle \d+: P1\.0 has issued an instruction of "
                    r".*samples/packets/receiver\.csl:28\n", ran.err)
    assert re.search(r"^count@1,0: \d+$", ran.out, re.M)    # memory as it stands
    for part in ("P1.0 before cycle", "main thread (data task 5 'head')", "registers: r0 0x0001",
                 "blocked: data task 5 'head'", "input queue 2: ", "color 5 'stream': from WEST",
                 "numbers: [6]f32", "count: u16"):
        assert part in ran.out
    assert "P0.0" not in ran.out


def test_stop_at_a_line_whose_calls_are_inlined(tmp_path, engine):
    (tmp_path / "layout.csl").write_text(CALL_LAYOUT)
    (tmp_path / "pe.csl").write_text(CALLS)
    line, inner = line_of("bump(x + 1)", CALLS), line_of("count += n;", CALLS)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O2")
    ran = harness.emu(tmp_path / "p.bin", engine, f"--stop=pe.csl:{line}@1,0", expect=4)
    assert re.search(rf"P1.0 has issued an instruction of \S*pe.csl:{inner}, inlined at line {line}$",
                     ran.err, re.M)
    ran = harness.emu(tmp_path / "p.bin", engine, f"--stop=pe.csl:{line + 1}", expect=1)
    assert f"instructions is {line}\n" in ran.err


def test_stop_at_a_cycle_or_tile(tmp_path, engine):
    image = program(tmp_path, "reduce-chain", P=3, B=9)
    ran = harness.emu(image, engine, "--stop=36", "--dump=0,0,1,1", expect=4)
    assert ran.err == "stopped before cycle 36\n" and ran.out.startswith("P0.0 before cycle 36\n")
    assert "waits for a wavelet on color 1" in ran.out and "P1.0" not in ran.out
    ran = harness.emu(image, engine, "--stop=2,0", expect=4)
    assert "P2.0 has issued" in ran.err and ran.out.startswith("P2.0 ")
    ran = harness.emu(image, engine, "--stop=pe.csl:41@1,0", expect=4)
    assert "P1.0 has issued" in ran.err


def test_dump_shows_the_end_of_a_run(tmp_path, engine):
    image = program(tmp_path, "hello-wavelet")
    out = harness.emu(image, engine, "--dump=0,0,2,1").out
    assert out.count("main thread is idle") == 2
    assert "\n  received: u32 = 42\n" in out


def test_several_dumps_are_shown_in_their_order(tmp_path, engine):
    image = program(tmp_path, "hello-wavelet")
    right, left = (harness.emu(image, engine, f"--dump={x},0,1,1").out for x in (1, 0))
    both = harness.emu(image, engine, "--dump=1,0,1,1", "--dump=0,0,1,1").out
    assert both == right + left and "P1.0" in right and "P0.0" in left


# Options that are given several times: each line has words and others that mean the same.
REPEATED = (
    ("--trace=task --trace=wavelet", "--trace=task,wavelet"),
    ("--trace --trace=inst", "--trace=task,wavelet,switch,inst"),
    ("--trace=inst --trace", "--trace=task,wavelet,switch,inst"),
    ("--timing=vector_start:9 --timing=ramp_to_router:7 --trace",
     "--timing=vector_start:9,ramp_to_router:7 --trace"),
    ("--check=warn --check=tasks", "--check=warn,tasks"),
    ("--check=off --check=tasks", "--check=off,tasks"),
    ("--check=warn --check=strict", "--check=warn,strict"),
    ("--max-cycles=7 --max-cycles=20", "--max-cycles=20"),
    ("--trace-format=perfetto --trace-format=text --trace=host", "--trace=host"),
    ("--stop=8 --stop=8", "--stop=8"), ("--trace-region=0,0,1,1 --trace-region=0,0,1,1",
                                        "--trace-region=0,0,1,1"),
)


@pytest.mark.parametrize("words, same", REPEATED, ids=[words for words, _ in REPEATED])
def test_an_option_may_be_given_again(tmp_path, words, same):
    image = program(tmp_path, "hello-wavelet")
    first, second = (harness.emu(image, *w.split(), expect=None) for w in (words, same))
    assert (first.code, first.out, first.err) == (second.code, second.out, second.err)


@pytest.mark.parametrize("option, values", (
    ("stop", ("8", "9")), ("trace-region", ("0,0,1,1", "1,0,1,1")), ("trace-cycles", ("1:5", "7:9")),
    ("report", ("a.html", "a.wseview")), ("profile", (None, "p.txt")), ("stats", ("a", "b")),
    ("trace-file", ("a", "b")), ("save-state", ("a", "b")), ("load-state", ("a", "b")),
    ("cluster", ("a", "b")), ("dap", ("0", "1"))))
def test_an_option_of_which_a_run_takes_one(tmp_path, option, values):
    words = [f"--{option}" + (f"={value}" if value else "") for value in values]
    ran = harness.emu(program(tmp_path, "hello-wavelet"), *words, expect=1, cwd=tmp_path)
    first, second = (value or "" for value in values)
    assert f"--{option} is given twice, as '{first}' and as '{second}'" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hello-wavelet.bin"]


MISTAKES = (
    ("option_argument", "--watch=0,0,1 " * 17), ("option_argument", "--dump=0,0,1,1 " * 17),
    ("option_argument", "--watch=0,0"), ("option_argument", "--watch=0,0,24"),
    ("option_argument", "--watch=0,0,3,"), ("option_argument", "--stop=soon"),
    ("option_argument", "--stop=pe.csl:"), ("option_argument", "--stop=1,"),
    ("option_argument", "--dump=1,1"), ("option_argument", "--trace-format=json"),
    ("option_argument", "--report=r.html --report-detail=all"), ("option_argument", "--report-detail=counts"),
    ("region_outside", "--watch=2,0,0"), ("region_outside", "--stop=0,7"),
    ("region_outside", "--stop=sender.csl:13@9,9"), ("region_outside", "--dump=0,0,3,1"),
    ("stop_line", "--stop=sender.csl:1"), ("stop_line", "--stop=other.csl:13"),
)


@pytest.mark.parametrize("name, option", MISTAKES, ids=[o for _, o in MISTAKES])
def test_a_mistake_has_its_message(tmp_path, name, option):
    ran = harness.emu(program(tmp_path, "hello-wavelet"), *option.split(), expect=1)
    assert f"[{name}]" in ran.err and ran.out == ""


def test_the_profile_is_not_lost_silently(tmp_path):
    ran = harness.emu(program(tmp_path, "hello-wavelet"), "--profile=/nonexistent/p", expect=1)
    assert "[output_unwritable]" in ran.err


# ---- the page: see also test_viewer.py ------------------------------------------------------------

def test_a_report_that_cannot_be_written(tmp_path):
    ran = harness.emu(program(tmp_path, "hello-wavelet"), "--report=/nonexistent/r.html", expect=1)
    assert "[output_unwritable]" in ran.err
