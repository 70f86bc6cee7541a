"""States of runs in files: a run that goes on from one shows what the whole run shows, on each
engine, with threads and processes, from the command line and from host scripts; and files that are
no states, or not of this run, are errors."""
import json
import random
import re
import time
from collections import Counter

import pytest

import harness
import host_run
import page_data
import ranks_run
import stdlib_run
import test_host_memcpy
import test_viewer

GEMV = ("samples/gemv/layout.csl", {"width": 3, "height": 5, "M": 60, "N": 48},
        ["--d2h=y@2,0,1,5={out}/y.npy", "--print=y@2,0,1,5"])
PACKETS = ("samples/packets/layout.csl", {"packets": 5}, [])
WAYS = {"fast": ["--engine=fast"], "reference": ["--engine=reference"], "threads": ["--threads=3"]}
CLOCK = ranks_run.OWN_KEYS | {"engine"}


def compiled(program, tmp_path):
    source, params, args = program
    harness.compile(source, tmp_path / "p.bin", params=params)
    return tmp_path / "p.bin", [arg.replace("{out}", str(tmp_path)) for arg in args]


def shown(image, args, tmp_path, run=harness.emu):
    """What a whole run shows."""
    ran = run(image, *args, f"--stats={tmp_path}/s.json")
    stats = json.loads((tmp_path / "s.json").read_text())
    files = {p.name: p.read_bytes() for p in tmp_path.glob("*.npy")}
    return ran.out, {k: v for k, v in stats.items() if k not in CLOCK}, files


def stop_at(image, args, cycle, state, options=()):
    """Writes the state of a run that its limit ends there."""
    harness.emu(image, *args, *options, f"--max-cycles={cycle}", f"--save-state={state}", expect=4)


@pytest.mark.parametrize("program", [GEMV, PACKETS], ids=["gemv", "packets"])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_on_on_every_engine(program, way, tmp_path):
    image, args = compiled(program, tmp_path)
    whole = shown(image, args, tmp_path)
    end = whole[1]["phases"][-1]["end"]
    state = tmp_path / "state"
    for cycle in harness.commit_random("states" + way).integers(1, end, 4):
        stop_at(image, args, cycle, state, WAYS[way])
        for other in WAYS.values():
            assert shown(image, [*args, *other, f"--load-state={state}"], tmp_path) == whole


COUNTS = """
const time = @import_module("<time>");
fn main() void {
  time.enable_tsc();
  for (@range(u16, 200)) |i| {
    sum[0] += i * i;
  }
  time.get_timestamp(&stamp);
}
"""


@pytest.mark.parametrize("way", WAYS)
def test_the_time_stamp_counter_goes_on(way, tmp_path):
    image = stdlib_run.build(tmp_path, COUNTS, {"stamp": ("u16", 3), "sum": ("u16", 1)})
    args = ["--launch=main", f"--d2h=stamp@0,0,1,1={tmp_path}/stamp.npy"]
    whole = shown(image, args, tmp_path)
    low, middle, high = harness.load_npy(tmp_path / "stamp.npy").ravel()
    assert low > 400 and middle == high == 0
    state = tmp_path / "state"
    stop_at(image, args, whole[1]["cycles"] - int(low) // 2, state, WAYS[way])
    for other in WAYS.values():
        assert shown(image, [*args, *other, f"--load-state={state}"], tmp_path) == whole


@pytest.mark.parametrize("kind", ["wse-emu", "script"])
def test_a_killed_run_goes_on_from_its_state(kind, tmp_path):
    """The short form of the claim state_restarts."""
    runs = harness.claim("state_restarts").Runs(
        tmp_path, random.Random(f"{harness.commit_seed()} {kind}"), {kind: (5, 4, 2)}, {kind: 100000})
    begin = time.monotonic()
    whole, tally = runs.outcome(kind), Counter(slowest=0)
    seconds = time.monotonic() - begin
    for _ in range(3):
        runs.kill_and_restart(kind, seconds, whole, tally, waits=True)
    assert tally["killed"] and tally["states"] and not tally["different"], tally


def test_a_state_of_a_state(tmp_path):
    image, args = compiled(GEMV, tmp_path)
    whole = shown(image, args, tmp_path)
    end = whole[1]["phases"][-1]["end"]
    stop_at(image, args, end // 3, tmp_path / "a")
    stop_at(image, args, end // 2, tmp_path / "b", [f"--load-state={tmp_path}/a"])
    assert shown(image, [*args, f"--load-state={tmp_path}/b"], tmp_path) == whole


@pytest.mark.parametrize("every", [1, 7, 60])
def test_states_on_the_way_change_nothing(every, tmp_path):
    image, args = compiled(GEMV, tmp_path)
    whole = shown(image, args, tmp_path)
    saving = [f"--save-state={tmp_path}/state", f"--save-every={every}"]
    assert shown(image, [*args, *saving], tmp_path) == whole
    assert shown(image, [*args, f"--load-state={tmp_path}/state"], tmp_path) == whole


@pytest.mark.parametrize("way", WAYS)
def test_what_a_run_shows_of_its_tiles_is_no_part_of_its_record(way, tmp_path):
    """--dump and --stop read the memory of tiles, and the host has nothing to do with that."""
    image, args = compiled(GEMV, tmp_path)
    dump = [*args, *WAYS[way], "--dump=0,0,2,2"]
    whole = shown(image, dump, tmp_path)
    state, middle = tmp_path / "state", whole[1]["phases"][-1]["end"] // 2
    stop_at(image, dump, middle, state)
    assert shown(image, [*dump, f"--load-state={state}"], tmp_path) == whole
    harness.emu(image, *args, *WAYS[way], f"--stop={middle}", f"--save-state={state}", expect=4)
    assert shown(image, [*dump, f"--load-state={state}"], tmp_path) == whole
    harness.emu(image, *dump, f"--save-state={state}")
    assert shown(image, [*dump, f"--load-state={state}"], tmp_path) == whole


def test_actions_before_the_state_are_told_again(tmp_path):
    (tmp_path / "layout.csl").write_text("""
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @set_tile_code(1, 0, "pe.csl", .{});
  @export_name("add", fn(u16)void);
  @export_name("sum", u32, true);
}
""")
    (tmp_path / "pe.csl").write_text("""
var sum: u32 = 0;
fn add(n: u16) void {
  for (@range(u16, n)) |i| { sum += i; }
}
comptime { @export_symbol(add); @export_symbol(sum); }
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    args = ["--launch=add(20)", "--print=sum", "--launch=add(30)", f"--d2h=sum={tmp_path}/sum.npy",
            "--h2d=sum=1,2", "--launch=add(40)", "--print=sum"]
    image = tmp_path / "p.bin"
    whole = shown(image, args, tmp_path)
    for cycle in range(40, whole[1]["phases"][-1]["end"], 150):
        stop_at(image, args, cycle, tmp_path / "state")
        assert shown(image, [*args, f"--load-state={tmp_path}/state"], tmp_path) == whole
    harness.emu(image, *args, f"--save-state={tmp_path}/state")
    assert shown(image, [*args, f"--load-state={tmp_path}/state"], tmp_path)[0] == whole[0]
    for other in ([arg.replace("add(30)", "add(31)") for arg in args], ["--h2d=sum=5,6", *args],
                  ["--print=sum", *args], ["--launch=add(1)", f"--d2h=sum={tmp_path}/sum.npy"]):
        ran = harness.emu(image, *other, f"--load-state={tmp_path}/state", expect=1)
        assert "the host does something else than in the run that has written it" in ran.err
        assert "memory" not in ran.err


HOST = """
import os
wide, streamed, back = r.get_id("wide"), np.arange(6, dtype=np.uint32) * 7, np.zeros(6, np.uint32)
A = np.arange(48, dtype=np.uint32)
r.memcpy_h2d(wide, A, 0, 0, W, H, 8, data_type=WIDE, **COPY)
r.launch("aim", np.uint16(2), nonblock=False)
stream = dict(COPY, streaming=True, nonblock=True)
r.memcpy_h2d(4, streamed, 0, 0, W, H, 1, data_type=WIDE, **stream)
task = r.memcpy_d2h(back, 5, 0, 0, W, H, 1, data_type=WIDE, **stream)
B = np.zeros(W * H * 6, np.uint32)
r.memcpy_d2h(B, wide, 0, 0, W, H, 6, data_type=WIDE, **COPY)
r.task_wait(task)
r.launch("listen", nonblock=True)
r.memcpy_h2d(6, np.arange(W * H * 4, dtype=np.uint32), 0, 0, W, H, 4, data_type=WIDE, **stream)
C = np.zeros(W * H * 4, np.uint32)
r.memcpy_d2h(C, r.get_id("seen"), 0, 0, W, H, 4, data_type=WIDE, **COPY)
r.stop()
print(back, B, C, flush=True)
"""


@pytest.mark.parametrize("way", WAYS)
def test_host_scripts_go_on(way, tmp_path):
    """With copies, launches and streams on their way."""
    folder = host_run.build(tmp_path / "host", test_host_memcpy.LAYOUT, test_host_memcpy.PE)
    whole = host_run.script(folder, HOST, env={"WSE_ARGS": f"--stats={tmp_path}/s.json"}).out
    end = json.loads((tmp_path / "s.json").read_text())["phases"][-1]["end"]
    state, options = tmp_path / "state", " ".join(WAYS[way])
    for cycle in harness.commit_random("host states" + way).integers(1, end, 2):
        ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, expect=1, env={
            "WSE_ARGS": f"{options} --max-cycles={cycle} --save-state={state}"})
        assert "reached its limit" in ran.err
        again = {"WSE_ARGS": f"{options} --load-state={state}"}
        assert host_run.script(folder, HOST, env=again).out == whole


@pytest.mark.parametrize("way", WAYS)
def test_a_report_about_a_launch_is_no_action_of_the_host(way, tmp_path):
    """The report at the limit says what the launch waits for; the run goes on up to another limit."""
    folder = host_run.build(tmp_path / "host", test_host_memcpy.AWAITED_LAYOUT,
                            test_host_memcpy.AWAITED_PE)
    (folder / "run.py").write_text(
        'from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime\n'
        'with SdkRuntime("out") as runner:\n    runner.launch("start", nonblock=False)\n')
    for limit, option in ((3000, "--save-state"), (6000, "--load-state")):
        ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, expect=1, env={
            "WSE_ARGS": f"{' '.join(WAYS[way])} --max-cycles={limit} {option}={tmp_path}/state"})
        assert f"limit of {limit} cycles" in ran.err and "the host waits: 'start'" in ran.err, ran.err


@pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")
def test_a_run_goes_on_on_other_numbers_of_processes(tmp_path):
    image, args = compiled(GEMV, tmp_path)
    whole = shown(image, args, tmp_path)
    state = tmp_path / "state"
    for first, then in ((1, 3), (3, 1), (3, 2)):
        ranks_run.emu(first, image, *args, "--max-cycles=150", f"--save-state={state}", expect=4)
        again = [*args, f"--load-state={state}"]
        assert shown(image, again, tmp_path, lambda *a: ranks_run.emu(then, *a)) == whole


# ---- files that cannot be used -------------------------------------------------------------------

@pytest.fixture
def state(tmp_path):
    image, args = compiled(GEMV, tmp_path)
    stop_at(image, args, 120, tmp_path / "state")
    return tmp_path / "state"


def refused(state, *options, image=None):
    ran = harness.emu(image or state.parent / "p.bin", "--run", f"--load-state={state}", *options,
                      expect=1)
    assert ran.err.startswith(f"error: cannot use the state '{state}': ")
    assert "[state_unusable]" in ran.err
    return ran.err


def test_damaged_states_are_refused(state):
    whole = state.read_bytes()
    random = harness.commit_random("damage")
    for i in range(60):
        damaged = bytearray(whole)
        if i % 2:
            damaged = damaged[:random.integers(0, len(whole))]
        else:
            damaged[random.integers(0, len(whole))] ^= 1 << random.integers(0, 8)
        state.write_bytes(damaged)
        refused(state)


def test_files_that_are_no_states(state):
    state.write_text("no state at all, but long enough to hold the header of one: " + 4096 * "x")
    assert "it is no state of a run" in refused(state)
    state.write_bytes(b"")
    assert "too short" in refused(state)
    state.unlink()
    assert "No such file" in refused(state)


def test_states_of_other_runs(state):
    harness.compile(GEMV[0], state.parent / "q.bin", params={**GEMV[1], "N": 9})
    assert "it is of another program" in refused(state, image=state.parent / "q.bin")
    assert "give the same --timing" in refused(state, "--timing=hop:2")
    assert "it is of a run without --check-reads" in refused(state, "--check-reads")


def test_what_a_state_cannot_do(state, tmp_path):
    image = tmp_path / "p.bin"
    ran = harness.emu(image, "--run", "--save-every=10", expect=1)
    assert "--save-state=FILE" in ran.err
    ran = harness.emu(image, f"--save-state={tmp_path}/none/s", expect=1)
    assert "cannot write" in ran.err
    ran = harness.emu(image, f"--load-state={state}", "--trace", f"--trace-file={tmp_path}/t.txt")
    assert "begin at cycle 120" in ran.err and "[state_begins]" in ran.err
    assert min(int(line.split()[0][1:]) for line in (tmp_path / "t.txt").open()) >= 120


def test_a_state_that_cannot_be_written_is_a_warning_on_the_way(state, tmp_path):
    """The folder goes while the run is on."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "s").mkdir()         # no file can have this name
    ran = harness.emu(tmp_path / "p.bin", f"--save-state={tmp_path}/folder/s", "--save-every=100",
                      expect=1)
    assert "[state_unwritten]" in ran.err and "[output_unwritable]" in ran.err


def test_no_states_with_a_debugger(state):
    ran = harness.run([harness.tool("wse-dbg"), state.parent / "p.bin", f"--save-state={state}"],
                      expect=1)
    assert "[state_refuse]" in ran.err


def test_the_trace_behind_a_state_is_that_of_the_whole_run(state, tmp_path):
    image, traced = tmp_path / "p.bin", ["--trace=all", f"--trace-file={tmp_path}/t.txt"]
    harness.emu(image, *traced)
    whole = [line for line in (tmp_path / "t.txt").open() if int(line.split()[0][1:]) >= 120]
    harness.emu(image, *traced, f"--load-state={state}")
    assert (tmp_path / "t.txt").read_text() == "".join(whole) and len(whole) > 100


# ---- wavelets that are under way where a state was written -----------------------------------------

NUMBERED = re.compile(r"^@(\d+) (P\S+) (.*?)(?: #(\d+))?$", re.MULTILINE)
CROWDED = 60                      # cycles after which reduce-tree has wavelets in all kinds of places


@pytest.fixture(params=("fast", "reference"))
def crowded(tmp_path, request):
    """A run of many wavelets and switches: its image, and how it goes on from the middle."""
    harness.compile("samples/reduce-tree/layout.csl", tmp_path / "p.bin", params={"P": 8, "B": 20})
    stop_at(tmp_path / "p.bin", [], CROWDED, tmp_path / "state", [f"--engine={request.param}"])
    return tmp_path / "p.bin", [f"--engine={request.param}", f"--load-state={tmp_path}/state"]


def numbered_lines(image, tmp_path, *options):
    """(cycle, tile, text, number) of the trace from the cycle of the state on."""
    harness.emu(image, "--trace=all", "--trace-ids", f"--trace-file={tmp_path}/t.txt", *options)
    found = NUMBERED.findall((tmp_path / "t.txt").read_text())
    return [line for line in found if int(line[0]) >= CROWDED]


def test_wavelets_behind_a_state_keep_their_numbers(crowded, tmp_path):
    """Other numbers than in the whole run, but one number means one wavelet."""
    image, options = crowded
    whole = numbered_lines(image, tmp_path)
    part = numbered_lines(image, tmp_path, *options)
    assert [line[:3] for line in part] == [line[:3] for line in whole]
    real = {}
    for ours, theirs in zip(part, whole):
        assert bool(ours[3]) == bool(theirs[3]), (ours, theirs)
        assert real.setdefault(ours[3], theirs[3]) == theirs[3], (ours, theirs)
    assert len(real) > 100


def test_a_watch_behind_a_state_follows_the_wavelet_that_it_names(crowded, tmp_path):
    image, options = crowded
    whole = numbered_lines(image, tmp_path)
    sent = [line for line in whole if line[1] == "P7.0" and line[2].startswith("queue push output")]
    color, compared = re.search(r"color (\d+)", sent[0][2])[1], 0
    sent = [line for line in sent if f" color {color} " in line[2]]
    for n, wavelet in enumerate(sent):
        out = harness.emu(image, *options, f"--watch=7,0,{color},{n}").out
        told = {(m[1], m[2]) for m in re.finditer(r"^watch @(\d+) (P\S+)", out, re.MULTILINE)}
        assert told == {line[:2] for line in whole if line[3] == wavelet[3]}
        compared += 1
    assert compared > 2


def queue_counters(path):
    events = json.loads(path.read_text())["traceEvents"]
    return [(e["pid"], e["name"], e["ts"], e["args"]["wavelets"]) for e in events
            if e["ph"] == "C" and " queue " in e["name"] and e["ts"] >= CROWDED]


@pytest.mark.parametrize("limits", ([], ["--trace=queue"]), ids=("all", "queue"))
def test_perfetto_knows_what_queues_held_before_it_began(crowded, tmp_path, limits):
    """Behind a state and behind the first cycle of the trace, counters are those of the whole run."""
    image, behind_state = crowded
    form = ["--trace-format=perfetto", f"--trace-file={tmp_path}/t.json", *limits]
    harness.emu(image, *form)
    whole = queue_counters(tmp_path / "t.json")
    harness.emu(image, *form, *behind_state)
    assert queue_counters(tmp_path / "t.json") == whole
    harness.emu(image, *form, behind_state[0], f"--trace-cycles={CROWDED}:100000")
    assert queue_counters(tmp_path / "t.json") == whole
    assert max(count for _, _, _, count in whole) > 2


@pytest.mark.parametrize("way", WAYS)
def test_a_profile_behind_a_state_counts_no_wait_from_before(way, tmp_path):
    """Waits that are in progress in the state count from there on, as a part of the cycles."""
    image, _ = compiled(("samples/reduce-chain/layout.csl", {"P": 8, "B": 20}, []), tmp_path)
    stop_at(image, [], CROWDED, tmp_path / "state")
    rows = []
    for more in ([], [f"--load-state={tmp_path}/state"]):
        harness.emu(image, *WAYS[way], *more, f"--profile={tmp_path}/p.json")
        rows.append(json.loads((tmp_path / "p.json").read_text())["lines"])
    whole, part = rows
    waits = [row for row in part if sum(row["stalls"].values())]
    assert waits and all(sum(row["stalls"].values()) <= row["cycles"] for row in waits)
    before = {(row["file"], row["line"]): row["cycles"] for row in whole}
    assert all(row["cycles"] <= before[row["file"], row["line"]] for row in part)


@pytest.mark.parametrize("program", [GEMV, PACKETS], ids=["gemv", "packets"])
@pytest.mark.parametrize("way", ("fast", "reference"))
def test_profiles_before_and_behind_a_state_have_all_cycles(program, way, tmp_path):
    """Also those of a start or an instruction that the state cuts in two."""
    image, args = compiled(program, tmp_path)
    end = shown(image, args, tmp_path)[1]["phases"][-1]["end"]

    def cycles(*options, expect=0):
        harness.emu(image, *args, *WAYS[way], *options, f"--profile={tmp_path}/p.json", expect=expect)
        return json.loads((tmp_path / "p.json").read_text())["cycles"]

    whole = cycles()
    for cycle in (1, 52, *harness.commit_random("profiles").integers(2, end, 6)):
        before = cycles(f"--max-cycles={cycle}", f"--save-state={tmp_path}/state", expect=4)
        assert before + cycles(f"--load-state={tmp_path}/state") == whole, cycle


def test_a_page_behind_a_state_has_its_queues_and_routes(crowded, tmp_path):
    image, options = crowded
    pages = []
    for more in ([options[0]], options):
        harness.emu(image, *more, f"--report={tmp_path}/r.wseview")
        pages.append(page_data.of_file(tmp_path / "r.wseview"))
    whole, part = pages
    for name in ("input_fill", "output_fill"):
        fills = []
        for page in pages:
            level = page.top["levels"][-1]
            assert level["side"] == 1 and level["step_cycles"] == 1
            fills.append(page.channel(level, name)[CROWDED:])
        assert (fills[0] == fills[1]).all() and fills[0].max() > 1
    last = [{key: turns[-1][1:] for key, turns in test_viewer.turns_of(page).items()}
            for page in pages]
    assert last[1] == last[0] and last[0]


@pytest.mark.parametrize("way", WAYS)
def test_a_page_behind_a_state_shows_what_goes_on_there(way, tmp_path):
    """A limit soon after the state: tasks, operations and waits that began before it still last."""
    image, _ = compiled(("samples/reduce-chain/layout.csl", {"P": 8, "B": 20}, []), tmp_path)
    stop_at(image, [], CROWDED, tmp_path / "state")
    lasting = []
    for more in ([], [f"--load-state={tmp_path}/state"]):
        harness.emu(image, *WAYS[way], *more, f"--report={tmp_path}/r.wseview",
                    f"--max-cycles={CROWDED + 2}", expect=4)
        lasting.append({tile: sorted(span[2:5] for span in spans if span[5]) for tile, spans in
                        test_viewer.time_lines(page_data.of_file(tmp_path / "r.wseview")).items()})
    assert lasting[1] == lasting[0]
    kinds = {span[0] for spans in lasting[0].values() for span in spans}
    assert kinds == {0, 1, 2}


def test_random_changes_behind_the_checksum_end_in_order(state):
    """Files whose checksum was made to fit: whatever they say, the emulator does not crash."""
    import zlib
    whole = state.read_bytes()[:-4]
    random = harness.commit_random("forged")
    for _ in range(40):
        forged = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            forged[random.integers(400, len(whole))] = random.integers(0, 256)
        state.write_bytes(bytes(forged) + zlib.crc32(forged).to_bytes(4, "little"))
        ran = harness.emu(state.parent / "p.bin", f"--load-state={state}", "--max-cycles=2000",
                          expect=None, timeout=60)
        assert ran.code in (0, 1, 2, 3, 4), ran.err


def test_a_core_of_the_way_to_a_state_is_not_written_again(tmp_path):
    folder = host_run.build(tmp_path / "host", test_host_memcpy.LAYOUT, test_host_memcpy.PE)
    text = HOST.replace("r.task_wait(task)", "r.task_wait(task)\nr.dump_core('core')", 1)
    saving = {"WSE_ARGS": f"--stats={tmp_path}/s.json --save-state={tmp_path}/state"}
    whole = host_run.script(folder, text, env=saving).out
    core = (folder / "core").read_bytes()
    (folder / "core").unlink()
    again = host_run.script(folder, text, env={"WSE_ARGS": f"--load-state={tmp_path}/state"})
    assert again.out == whole and not (folder / "core").exists()
    assert "the emulator writes no core here" in again.err and "[core_is_past]" in again.err
    end = json.loads((tmp_path / "s.json").read_text())["phases"][0]["end"]
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, expect=1, env={
        "WSE_ARGS": f"--max-cycles={end} --save-state={tmp_path}/state"})
    assert "reached its limit" in ran.err and not (folder / "core").exists()
    host_run.script(folder, text, env={"WSE_ARGS": f"--load-state={tmp_path}/state"})
    assert (folder / "core").read_bytes() == core
