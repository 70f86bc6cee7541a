"""Several wafers with links: results, times, reports across links, and mistakes in cluster files.

The program `relay` (tests/cluster/relay) hands words on from wafer to wafer, so that its results
follow from arithmetic and its times from the link's latency, rate and credits alone."""
import json

import pytest

import cluster_random
import cluster_run
import harness
import page_data

LINE = {"kind": "line", "image": "p.bin", "rows": [0], "channels": [{"colors": [1, 2]}]}


def relay(folder, words, width=3):
    harness.compile("tests/cluster/relay/layout.csl", folder / "p.bin",
                    params={"W": width, "B": words})


def roles(wafers, width):
    """The first wafer makes the words, the last one keeps them."""
    last = width - 1
    return [f"--h2d=w{i}:role@{x},0,1,1=1" for i in range(wafers)
            for x in ([0] if i else []) + ([last] if i < wafers - 1 else [])]


def run_relay(folder, wafers=3, width=3, topology=(), links=(), args=(), **options):
    file = cluster_run.write(folder / "c.json", {
        "topology": {**LINE, "size": wafers, "latency": 30, **dict(topology)},
        **({"links": list(links)} if links else {})})
    return cluster_run.emu(file, *roles(wafers, width), "--launch=go", *args, **options)


def test_words_go_from_wafer_to_wafer(tmp_path):
    random = harness.commit_random("cluster relay")
    wafers, width, words = (int(random.integers(2, high)) for high in (6, 5, 60))
    relay(tmp_path, words, width)
    ran, stats = run_relay(tmp_path, wafers, width,
                           args=[f"--print=w{wafers - 1}:got@{width - 1},0,1,1"])
    values = [str(3 * i + wafers - 1) for i in range(words)]
    assert ran.out == f"w{wafers - 1}: got@{width - 1},0: {' '.join(values)}\n"
    assert [link["forward"]["words"] for link in stats["links"].values()] == [words] * (wafers - 1)
    assert all(link["backward"]["words"] == 0 for link in stats["links"].values())


@pytest.mark.parametrize("rate,credits", [(1, None), (0.3, None), (1, 3), (0.25, 7)])
def test_both_engines_agree(tmp_path, rate, credits):
    relay(tmp_path, 40)
    channel = {"colors": [1, 2], **({"credits": credits} if credits else {})}
    topology = {"words_per_cycle": rate, "channels": [channel]}
    seen = []
    for engine in ("fast", "reference"):
        ran, stats = run_relay(tmp_path, topology=topology, args=[
            f"--engine={engine}", "--print=got", "--trace=all", f"--trace-file={tmp_path}/t.txt"])
        traces = [(tmp_path / f"t-w{i}.txt").read_text() for i in range(3)]
        plain = run_relay(tmp_path, topology=topology, args=[f"--engine={engine}"])[1]
        assert cluster_run.stable(plain)["links"] == cluster_run.stable(stats)["links"]
        seen.append((ran.out, traces, cluster_run.stable(stats)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_length_of_blocks_changes_nothing(tmp_path, engine):
    """A link of latency 1 without traffic lets the wafers run one cycle at a time."""
    relay(tmp_path, 30)
    unused = {"name": "unused", "from": {"wafer": "w0", "edge": "west", "at": 0},
              "to": {"wafer": "w2", "edge": "east", "at": 0}, "latency": 1,
              "channels": [{"colors": [2, 1], "direction": "backward"}]}
    topology = {"channels": [{"colors": [1, 2], "credits": 9}]}
    long, of_long = run_relay(tmp_path, topology=topology, args=["--print=got", f"--engine={engine}"])
    short, of_short = run_relay(tmp_path, topology=topology, links=[unused],
                                args=["--print=got", f"--engine={engine}"])
    assert short.out == long.out
    assert of_short["links"].pop("unused")["forward"]["words"] == 0
    assert cluster_run.stable(of_short) == cluster_run.stable(of_long)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_number_of_threads_changes_nothing(tmp_path, engine):
    """Output, traces, statistics, and the report of a deadlock, of more and fewer threads than
    wafers."""
    random = harness.commit_random("cluster threads")
    wafers, words = int(random.integers(3, 7)), int(random.integers(20, 50))
    relay(tmp_path, words)
    topology = {"latency": int(random.integers(1, 60)),
                "channels": [{"colors": [1, 2], "credits": int(random.integers(3, 60))}]}
    seen = []
    for threads in (1, 2, 3, 2 * wafers):
        options = [f"--engine={engine}", f"--threads={threads}"]
        ran, stats = run_relay(tmp_path, wafers, topology=topology, args=[
            *options, "--print=got", "--trace=all", f"--trace-file={tmp_path}/t.txt"])
        stuck, left = cluster_run.emu(tmp_path / "c.json", *roles(wafers, 3), *options,
                                      "--launch=w0:go", f"--launch=w{wafers - 1}:go", expect=3)
        traces = [(tmp_path / f"t-w{i}.txt").read_text() for i in range(wafers)]
        seen.append((ran.out, ran.err, traces, cluster_run.stable(stats), stuck.err,
                     cluster_run.stable(left)))
    assert "deadlock" in seen[0][4] and all(seen[0][2])
    assert all(one == seen[0] for one in seen[1:])


def spans(stats):
    return {name: link["forward"]["last"] - link["forward"]["first"]
            for name, link in stats["links"].items()}


def test_rate_and_credits_bound_the_stream(tmp_path):
    """50 words at 0.4 words per cycle take 49 / 0.4 cycles from first to last.  With c credits and
    latency L, word i + c leaves 2 L cycles after word i: its place was free when that had entered,
    L cycles after it left, and the news took L."""
    relay(tmp_path, 50)
    assert set(spans(run_relay(tmp_path, topology={"words_per_cycle": 0.4})[1]).values()) == {123}
    # To the nearest thousandth: with 0.199 it would be 247.
    assert set(spans(run_relay(tmp_path, topology={"words_per_cycle": 0.1996})[1]).values()) == {245}
    credits, latency = 5, 20
    _, stats = run_relay(tmp_path, topology={"latency": latency, "channels": [
        {"colors": [1, 2], "credits": credits}]})
    whole, rest = divmod(49, credits)
    assert set(spans(stats).values()) == {whole * 2 * latency + rest}


def test_latency_delays_every_wafer_behind(tmp_path):
    relay(tmp_path, 10)
    ends = {latency: run_relay(tmp_path, topology={"latency": latency})[1]["cycle"]
            for latency in (100, 117, 500)}
    assert ends[117] - ends[100] == 2 * 17 and ends[500] - ends[117] == 2 * 383


def test_a_launch_on_one_wafer_runs_all(tmp_path):
    """Two launches on one wafer after the other was quiet: time is common, nothing is lost."""
    relay(tmp_path, 5)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 2, "latency": 99}})
    ran, stats = cluster_run.emu(file, *roles(2, 3), "--check=off", "--launch=w0:go",
                                 "--launch=w1:go", "--print=w1:got@2,0,1,1")
    assert ran.out == "w1: got@2,0: 1 4 7 10 13\n"
    ends = [[phase["end"] for phase in stats["wafers"][w]["phases"]] for w in ("w0", "w1")]
    assert ends[0][-1] <= stats["cycle"] and ends[1][-1] == stats["cycle"]


def greeting(folder):
    """The example of docs/cluster.md: a wafer with a tile that sends, one with a tile that receives."""
    for name, tile, rx, tx in (("left", "sender", "RAMP", "EAST"), ("right", "receiver", "WEST", "RAMP")):
        (folder / f"{name}.csl").write_text(f"""
const greeting = @get_color(0);
layout {{
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "{harness.ROOT}/samples/hello-wavelet/{tile}.csl", .{{ .greeting = greeting }});
  @set_color_config(0, 0, greeting, .{{ .routes = .{{ .rx = .{{ {rx} }}, .tx = .{{ {tx} }} }} }});
  {'@export_name("received", u32, true);' if name == "right" else ""}
}}
""")
        harness.compile(folder / f"{name}.csl", folder / f"{name}.bin")
    ends = [{"wafer": "left", "edge": "east", "at": 0}, {"wafer": "right", "edge": "west", "at": 0}]
    return cluster_run.write(folder / "c.json", {
        "wafers": [{"name": name, "image": f"{name}.bin"} for name in ("left", "right")],
        "links": [{"latency": 60, "channels": [{"colors": [0, 0]}], "from": ends[0], "to": ends[1]}]})


def events_of(trace):
    """The cycles of issues and moves, in their order."""
    return [int(line[1:].split()[0]) for line in trace.read_text().splitlines()
            if " inst issue " in line or " inst group " in line or " wavelet move " in line]


def cycles_of(trace):
    """From the first to the last cycle with an issue or a move, as docs/emulator.md counts them."""
    cycles = events_of(trace)
    return cycles[-1] - cycles[0] + 1


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("actions", [[], ["--run"], ["--run", "--run"], ["--print=right:received"],
                                     ["--d2h=right:received=r.npy"], ["--max-cycles=30"]],
                         ids=lambda actions: " ".join(actions) or "none")
def test_every_wafer_counts_its_cycles(tmp_path, monkeypatch, actions, engine):
    """Also one that ran for the host of another wafer."""
    monkeypatch.chdir(tmp_path)
    limited = any("--max-cycles" in action for action in actions)
    _, stats = cluster_run.emu(greeting(tmp_path), f"--engine={engine}", *actions, "--trace=all",
                               f"--trace-file={tmp_path}/t.txt", expect=4 if limited else 0)
    for name in ("left",) if limited else ("left", "right"):
        wafer = stats["wafers"][name]
        assert wafer["cycles"] == cycles_of(tmp_path / f"t-{name}.txt")
        assert [p["action"] for p in wafer["phases"]] == ["run"] * max(actions.count("--run"), 1)
        assert wafer["phases"][0]["start"] == 0 and wafer["phases"][-1]["end"] == stats["cycle"]


def test_every_wafer_counts_its_cycles_before_a_deadlock(tmp_path):
    """The first wafer waits for words from the west, where there is no link; the others had their share."""
    relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 3, "latency": 30}})
    _, stats = cluster_run.emu(file, *roles(3, 3), "--h2d=w0:role@0,0,1,1=1", "--launch=go",
                               "--trace=all", f"--trace-file={tmp_path}/t.txt", expect=3)
    for name, wafer in stats["wafers"].items():
        assert wafer["cycles"] == cycles_of(tmp_path / f"t-{name}.txt")
        assert [(p["action"], p["start"], p["end"]) for p in wafer["phases"]] == [
            ("launch go", 0, stats["cycle"])]


def span_of(cycles, phase):
    inside = [cycle for cycle in cycles if phase["start"] <= cycle < phase["end"]]
    return inside[-1] - inside[0] + 1 if inside else 0


@pytest.mark.parametrize("number", range(6))
def test_wafers_of_random_clusters_count_their_cycles(tmp_path, number):
    """Launches on all wafers or on one, which may end at the limit, in a fault or in a deadlock: the
    phases of a wafer hold all that it does, and their cycles are those of the trace."""
    seed = int(harness.commit_random("cluster cycles").integers(10 ** 6)) + number
    cluster = cluster_random.without_trace(cluster_random.RandomCluster(seed))
    cluster_random.compile_images(tmp_path)
    found = cluster_random.outcome(cluster, tmp_path,
                                   extra=["--trace=inst,wavelet", f"--trace-file={tmp_path}/t.txt"])
    assert found["stats"], found["err"]
    for name, wafer in found["stats"]["wafers"].items():
        cycles = events_of(tmp_path / f"t-{name}.txt")
        assert wafer["cycles"] == sum(span_of(cycles, phase) for phase in wafer["phases"]), seed
        assert all(any(phase["start"] <= cycle < phase["end"] for phase in wafer["phases"])
                   for cycle in cycles), seed


def test_files_of_each_wafer(tmp_path):
    relay(tmp_path, 6)
    run_relay(tmp_path, args=[f"--d2h=got@2,0,1,1={tmp_path}/y.npy", f"--profile={tmp_path}/p.txt",
                              f"--report={tmp_path}/r.wseview"])
    for i in range(3):
        assert harness.load_npy(tmp_path / f"y-w{i}.npy").ravel().tolist() == [
            3 * k + i for k in range(6)]
        assert "pe.csl" in (tmp_path / f"p-w{i}.txt").read_text()
        assert page_data.of_file(tmp_path / f"r-w{i}.wseview").top["wafer"] == f"w{i}"


def test_deadlock_across_a_link(tmp_path):
    relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 3, "latency": 50}})
    ran, _ = cluster_run.emu(file, *roles(3, 3), "--launch=w0:go", "--launch=w2:go", expect=3)
    assert "w2: error: deadlock at cycle" in ran.err
    assert "P0.0 gets color 2 'entering' from another wafer, which sends nothing" in ran.err
    assert "w2:   help: let the wafer at the other end of the link send" in ran.err
    assert "link w0-w1@0: 32 words of wafer w0 P2.0 color 1 wait to enter wafer w1 P0.0 color 2" in ran.err


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_the_page_of_each_wafer_says_which_one_has_ended_the_run(tmp_path, engine):
    """Those that wait for nothing have ended with the wafer that does."""
    relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 3, "latency": 50}})
    args = [f"--engine={engine}", *roles(3, 3), f"--report={tmp_path}/r.wseview"]

    def messages():
        return [page_data.of_file(tmp_path / f"r-w{i}.wseview").top["message"] for i in range(3)]

    cluster_run.emu(file, *args, "--launch=w2:go", expect=3)
    own = messages()[2]
    assert own.startswith("error: deadlock at cycle 49: ") and "wafer w" not in own
    assert messages()[:2] == 2 * ["The run of wafer w2 ended at cycle 49 by a deadlock, and its own "
                                  "report has the causes.\n"]
    cluster_run.emu(file, *args, "--launch=go", "--max-cycles=20", expect=4)
    assert "[cycle_limit]" in messages()[0] and messages()[1:] == 2 * [
        "The run of wafer w0 ended at cycle 20 by the limit of cycles, and its own report has the "
        "causes.\n"]
    cluster_run.emu(file, *args, "--launch=go")
    assert messages() == ["", "", ""]


def test_a_full_link_holds_up_its_sender(tmp_path):
    relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {
        **LINE, "size": 2, "latency": 9, "channels": [{"colors": [1, 2], "credits": 3}]}})
    ran, _ = cluster_run.emu(file, *roles(2, 3), "--launch=w0:go", expect=3)
    assert "P2.0 sends color 1 'leaving' to another wafer, which takes no more of it" in ran.err
    assert "3 words of wafer w0 P2.0 color 1 wait" in ran.err and "waits for room" in ran.err


def test_words_left_in_a_link(tmp_path):
    relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 2, "latency": 50}})
    args = [roles(2, 3)[0], "--launch=go"]
    assert "warning: at the end, link w0-w1@0: 32 words" in cluster_run.emu(file, *args)[0].err
    assert "error: at the end, link w0-w1@0" in cluster_run.emu(
        file, *args, "--check-left", expect=2)[0].err


def test_a_fault_names_its_wafer(tmp_path):
    """The second wafer's tile gets a word on a color that its router leads to nowhere."""
    (tmp_path / "layout.csl").write_text("""
param reads: bool;
const c = @get_color(3);
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .c = c, .x = x, .reads = reads });
  }
  @set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ EAST } } });
  if (reads) {
    @set_color_config(1, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
  }
}
""")
    (tmp_path / "pe.csl").write_text("""
param c: color;
param x: u16;
param reads: bool;
const q = @get_output_queue(2);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 4, .output_queue = q });
task main() void { @mov16(out, @as(i16, 7)); }
comptime {
  const id = @get_local_task_id(8);
  @bind_local_task(main, id);
  if (reads) {
    if (x == 1) { @activate(id); }
  }
}
""")
    for name, reads in (("a", True), ("b", False)):
        harness.compile(tmp_path / "layout.csl", tmp_path / f"{name}.bin",
                        params={"reads": str(reads).lower()})
    file = cluster_run.write(tmp_path / "c.json", {
        "wafers": [{"name": n, "image": f"{n}.bin"} for n in "ab"],
        "links": [{"from": {"wafer": "a", "edge": "east", "at": 0},
                   "to": {"wafer": "b", "edge": "west", "at": 0}, "latency": 40,
                   "channels": [{"colors": [3, 3]}]}]})
    reports = [cluster_run.emu(file, option, expect=2)[0].err
               for option in ("--engine=fast", "--engine=reference", "--threads=2")]
    assert reports[0] == reports[1] == reports[2]
    assert reports[0].startswith("b: error: cycle ") and "P1.0" in reports[0]
    cluster_run.emu(file, f"--report={tmp_path}/r.wseview", expect=2)
    said = page_data.of_file(tmp_path / "r-a.wseview").top["message"]
    assert said == "error: a finding in wafer b has ended the run; its own report says why\n"
    assert not [line for line in reports[0].splitlines() if line.startswith("a: error")]


# ---- mistakes ---------------------------------------------------------------------------------

END = {"wafer": "a", "edge": "east", "at": 0}
LINK = {"from": END, "to": {"wafer": "b", "edge": "west", "at": 0}, "latency": 5,
        "channels": [{"colors": [1, 2]}]}
WAFERS = [{"name": "a", "image": "p.bin"}, {"name": "b", "image": "p.bin"}]


def with_link(**changes):
    link = {**LINK, **changes}
    return {"wafers": WAFERS, "links": [{k: v for k, v in link.items() if v is not None}]}


def with_topology(**changes):
    topology = {**LINE, "size": 2, "latency": 5, **changes}
    return {"topology": {k: v for k, v in topology.items() if v is not None}}


MISTAKES = [
    ([], "an object {...} has to stand here"),
    ({}, "the keys 'wafers' and 'topology' are both missing"),
    ({"wafer": []}, "unknown key 'wafer'; did you mean 'wafers'?"),
    ({"wafers": {}}, "wafers: a list [...] of at most"),
    ({"wafers": []}, "wafers: at least one wafer"),
    ({"wafers": [{"name": "a"}]}, "wafers[0]: the key 'image' is missing"),
    ({"wafers": [{"name": 3, "image": "p.bin"}]}, "wafers[0].name: a text in quotes"),
    ({"wafers": [WAFERS[0], WAFERS[0]]}, "wafers[1].name: a second wafer is named 'a'"),
    ({"wafers": [{"name": "a:b", "image": "p.bin"}]}, "wafers[0].name: the name 'a:b' has one of"),
    (with_link(latency=0), "links[0].latency: an integer from 1 to"),
    (with_link(latency=None), "links[0]: the key 'latency' is missing"),
    (with_link(words_per_cycle=2), "links[0].words_per_cycle: a number from 0.001 to 1"),
    (with_link(words_per_cycle="1"), "links[0].words_per_cycle: a number from 0.001 to 1"),
    (with_link(channels=[]), "links[0].channels: a list of at least one channel"),
    (with_link(channels=[{"colors": [1]}]), "links[0].channels[0].colors: two colors"),
    (with_link(channels=[{"colors": [1, 24]}]), "colors: an integer from 0 to 23"),
    (with_link(channels=[{"colors": [1, 2], "direction": "up"}]), "'up' is no direction"),
    (with_link(channels=[{"colors": [1, 2], "credits": 0}]), "credits: an integer from 1"),
    (with_link(channels=[{"colors": [1, 2]}, {"colors": [1, 3]}]),
     "two channels of one direction with color 1 at its first end"),
    (with_link(to={**END, "wafer": "c"}), "links[0].to.wafer: no wafer is called 'c'; expected one of a, b"),
    (with_link(to={**END, "edge": "wset"}), "links[0].to.edge: no edge is called 'wset'; did you mean 'west'?"),
    (with_link(to=END), "the link 'link0' begins and ends at the same place"),
    (with_link(to=None), "links[0]: the key 'to' is missing"),
    (with_link(to={**END, "x": 1}), "links[0].to: unknown key 'x'"),
    ({"wafers": WAFERS, "links": [LINK, {**LINK, "name": "other"}]},
     "the links 'link0' and 'other' both end at the east edge of wafer 'a' at 0"),
    (with_link(**{"from": {**END, "at": 7}}),
     "the link 'link0' ends at the east edge of wafer 'a' at 7, but the program has 3 x 1 tiles"),
    (with_link(channels=[{"colors": [1, 5]}]),
     "the router of tile 0,0 has no route for color 5; set one with @set_color_config"),
    (with_topology(kind="star"), "topology.kind: no topology is called 'star'"),
    (with_topology(size=1), "topology.size: a number of wafers from 2 to 4096"),
    (with_topology(kind="mesh"), "topology.size: [wafers in a row, rows]"),
    (with_topology(rows=None), "topology.rows: a list of the rows of tiles"),
    (with_topology(channels=None), "topology.channels: a list of at least one channel"),
    (with_topology(rowz=[0]), "topology: unknown key 'rowz'; did you mean 'rows'?"),
]


@pytest.mark.parametrize("cluster,message", MISTAKES)
def test_mistakes_in_cluster_files(tmp_path, cluster, message):
    relay(tmp_path, 4)
    file = cluster_run.write(tmp_path / "c.json", cluster)
    assert message in cluster_run.emu(file, "--run", expect=1)[0].err


@pytest.mark.parametrize("action, name, advice", [
    ("--print=west:got", "west", "expected one of w0, w1"), ("--launch=W1:go", "W1", "did you mean 'w1'?"),
    ("--h2d=left:role=1", "left", "expected one of w0, w1"),
    ("--d2h=left:got=y.npy", "left", "expected one of w0, w1")])
def test_an_action_of_a_wafer_that_there_is_not(tmp_path, action, name, advice):
    relay(tmp_path, 5)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 2, "latency": 9}})
    ran, _ = cluster_run.emu(file, action, expect=1)
    assert ran.err == (f"error: host action '{action.split('=', 1)[1]}': no wafer is called '{name}'; "
                       f"{advice} [wafer_unknown]\n")


def test_a_number_of_elements_is_no_wafer(tmp_path):
    relay(tmp_path, 5)
    assert run_relay(tmp_path, 2, args=["--print=got:1@2,0,1,1"])[0].out == (
        "w0: got@2,0: 0\nw1: got@2,0: 1\n")


def test_a_message_names_some_of_many_wafers(tmp_path):
    relay(tmp_path, 5)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 40, "latency": 9}})
    ran, _ = cluster_run.emu(file, "--print=east:got", expect=1)
    assert "expected one of w0, w1, w2" in ran.err and ran.err.endswith(", ... [wafer_unknown]\n")
    assert len(ran.err) < 200


def test_the_time_of_a_run_is_that_of_all_wafers(tmp_path):
    relay(tmp_path, 40)
    _, stats = run_relay(tmp_path)
    seconds = {wafer["wall_seconds"] for wafer in stats["wafers"].values()}
    assert len(seconds) == 1 and min(seconds) > 0
    for wafer in stats["wafers"].values():
        assert wafer["active_tile_cycles_per_second"] == pytest.approx(
            wafer["active_tile_cycles"] / wafer["wall_seconds"])


def test_a_file_that_is_no_json(tmp_path):
    (tmp_path / "c.json").write_text('{"wafers": [\n  oops]}')
    ran = harness.emu(f"--cluster={tmp_path}/c.json", expect=1)
    assert "c.json': line 2, column " in ran.err and "[cluster_unreadable]" in ran.err


def test_what_concerns_one_wafer(tmp_path):
    """The messages cluster_refuses, cluster_link, program_twice."""
    relay(tmp_path, 4)
    file = cluster_run.write(tmp_path / "c.json", with_topology())
    for option in ("--watch=0,0,1", "--stop=5", "--dump=0,0,1,1", "--dap=0"):
        ran = harness.emu(f"--cluster={file}", option, expect=1)
        assert f"{option.split('=')[0]} and --cluster do not go together" in ran.err
    ran = harness.run([harness.tool("wse-dbg"), f"--cluster={file}"], expect=1)
    assert "wse-dbg and --cluster do not go together" in ran.err
    assert "[program_twice]" in harness.emu(f"--cluster={file}", "p.bin", expect=1).err
    assert "w0: error: the program exports no 'gone'" in harness.emu(
        f"--cluster={file}", "--launch=w0:gone", expect=1).err
    bad = cluster_run.write(tmp_path / "d.json", with_topology(rows=[3]))
    assert "[cluster_link]" in harness.emu(f"--cluster={bad}", expect=1).err


@pytest.mark.parametrize("options, message", [
    ("--stats=c.json", "[output_over_program]"), ("--save-state=./c.json", "[output_over_program]"),
    ("--stats=p.bin", "[output_over_program]"),
    ("--d2h=w0:got=r.npy --stats=r.npy", "[output_twice]"),
    ("--d2h=w0:got=r.npy --d2h=w1:got=./r.npy", "[output_twice]"),
    ("--trace-file=t --profile=t", "[output_twice]")])
def test_an_output_in_the_place_of_another_file_is_refused(tmp_path, options, message):
    relay(tmp_path, 3)
    file = cluster_run.write(tmp_path / "c.json", {"topology": {**LINE, "size": 2, "latency": 30}})
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    ran = harness.emu("--cluster=c.json", *options.split(), expect=1, cwd=tmp_path)
    assert message in ran.err and ran.out == ""
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before and file.exists()


def test_programs_of_two_machines(tmp_path):
    relay(tmp_path, 4)
    harness.compile("tests/cluster/relay/layout.csl", tmp_path / "q.bin", "--arch=wse3",
                    params={"W": 3, "B": 4})
    file = cluster_run.write(tmp_path / "c.json", {"wafers": [
        {"name": name, "image": f"{image}.bin"} for name, image in ("ap", "bq")]})
    ran = harness.emu(f"--cluster={file}", expect=1)
    assert "the program of wafer 'b' is for wse3 and that of wafer 'a' for wse2; compile both with " \
        "the same --arch" in ran.err and "[cluster_link]" in ran.err


def test_the_largest_file_is_checked_in_seconds(tmp_path):
    """65,000 links between 4,000 wafers, two of which end at one place."""
    links = [{"from": {"wafer": f"w{i % 4000}", "edge": "east", "at": i // 4000},
              "to": {"wafer": f"w{(i + 1) % 4000}", "edge": "west", "at": i // 4000},
              "latency": 3, "channels": [{"colors": [1, 2]}]} for i in range(65000)]
    links.append({**links[7], "name": "twice", "to": {"wafer": "w9", "edge": "north", "at": 1}})
    file = cluster_run.write(tmp_path / "c.json", {
        "wafers": [{"name": f"w{i}", "image": "absent.bin"} for i in range(4000)], "links": links})
    ran = harness.emu(f"--cluster={file}", expect=1, timeout=30)
    assert "the links 'link7' and 'twice' both end at the east edge of wafer 'w7' at 0" in ran.err


def test_a_mesh_has_links_in_both_directions(tmp_path):
    """Wafers and links by name; no program runs, only the file is read."""
    relay(tmp_path, 4, width=1)
    topology = {**LINE, "kind": "torus", "size": [2, 3], "latency": 5, "columns": [0],
                "column_channels": [{"colors": [0, 0]}]}
    file = cluster_run.write(tmp_path / "c.json", {"topology": topology})
    _, stats = cluster_run.emu(file, "--run")
    assert list(stats["wafers"]) == [f"w{x}.{y}" for y in range(3) for x in range(2)]
    assert len(stats["links"]) == 12 and "w1.2-w1.0@0" in stats["links"]
    file = cluster_run.write(tmp_path / "d.json", {"topology": {**topology, "kind": "mesh"}})
    assert len(cluster_run.emu(file, "--run")[1]["links"]) == 7
