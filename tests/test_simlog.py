"""--trace-format=simlog: the trace in the form of the vendor's simulator's log, checked against the
text trace of the same run."""
import re
from collections import defaultdict

import pytest

import harness
import host_run
from host_run import script

LANDING = re.compile(r"^@(\d+) P(\d+)\.(\d+) \(hwtile\) landing C(\d+) from link ([WESNR]), ctrl=([01]), "
                     r"idx=([0-9a-f]{4}), data=([0-9a-f]{4}) \(\d+ \([^)]*\)\), half=0, "
                     r"ident=([0-9a-f]{16}), lf=0$")
WAVELET = re.compile(r"^@(\d+) P(\d+)\.(\d+) \(hwtile\) wavelet C(\d+) ctrl=\d, idx=\w+, data=\w+ "
                     r"\(\d+ \([^)]*\)\), half=0, ident=(\w{16}) landing=([WESNR]) "
                     r"departing=/([E ])([N ])([W ])([S ])([R ])/(, to_ce_from_router)?, lf=0$")
EXECUTED = re.compile(r"^@(\d+) P(\d+)\.(\d+): \[(IS|EX) OP\] (?:IDLE|\^ 0x(\w{4}): T(\d+)(?:\.(\d+))? "
                      r"(\S+).*)$")
STEPS = {"E": (1, 0), "W": (-1, 0), "N": (0, -1), "S": (0, 1)}
LINKS = {"EAST": "E", "WEST": "W", "NORTH": "N", "SOUTH": "S", "RAMP": "R"}


@pytest.fixture(scope="module", params=["packets", "reduce-tree"])
def image(request, tmp_path_factory):
    """Control tasks; a tree in which tiles send, receive and advance switches."""
    path = tmp_path_factory.mktemp("simlog") / f"{request.param}.bin"
    params = {"packets": {"packets": 3}, "reduce-tree": {"P": 8, "B": 12}}[request.param]
    harness.compile(harness.SAMPLES / request.param / "layout.csl", path, params=params)
    return path


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


def log(image, *options):
    return harness.emu(image, "--trace-format=simlog", *options).out.splitlines()


def matches(pattern, lines, word):
    found = [(line, pattern.match(line)) for line in lines if word in line]
    assert found and all(m for _, m in found), next(line for line, m in found if not m)
    return [m.groups() for _, m in found]


def test_landings_are_the_moves_of_the_trace(image, engine):
    lines = log(image, engine, "--trace=wavelet")
    width, height = re.match(r"@0 dimX=(\d+), dimY=(\d+)$", lines[0]).groups()
    assert int(width) * int(height) >= 2
    moves = re.findall(r"^@(\d+) P(\d+)\.(\d+) wavelet move color (\d+)(?: '\w+')? (\w+) ->((?: \w+)*?) "
                       r"0x(\w{4})(\w{4})( control)?$",
                       harness.emu(image, engine, "--trace=wavelet").out, re.M)
    landings = matches(LANDING, lines, " landing C")
    assert [(c, x, y, color, LINKS[link], "01"[bool(control)], high, low)
            for c, x, y, color, link, _, high, low, control in moves] == [g[:8] for g in landings]
    wavelets = matches(WAVELET, lines, ") wavelet C")
    assert [(*g[:4], g[8]) for g in landings] == [g[:5] for g in wavelets]
    assert [{LINKS[p] for p in ways.split()} for *_, ways, _, _, _ in moves] == [
        set("".join(g[6:11])) - {" "} for g in wavelets]


def test_an_identity_follows_its_wavelet(image, engine):
    """From the ramp of its sender on, link by link, on every way of a multicast."""
    paths = defaultdict(list)
    for cycle, x, y, _, ident, link, *ways, _ in matches(WAVELET, log(image, engine), ") wavelet C"):
        paths[ident].append((int(cycle), int(x), int(y), link, ways))
    for path in paths.values():
        assert path[0][3] == "R"
        reached = {(path[0][1], path[0][2])}
        for cycle, x, y, link, ways in path:
            assert (x, y) in reached and (link == "R") == ((cycle, x, y, link, ways) == path[0])
            for way in set(ways) - {" ", "R"}:
                reached.add((x + STEPS[way][0], y + STEPS[way][1]))
        assert len(path) == len(reached)


def test_instructions_and_idle_tiles(image, engine):
    issued = re.findall(r"^@(\d+) P(\d+)\.(\d+) inst (?:issue|group) 0x(\w{4})",
                        harness.emu(image, engine, "--trace=inst").out, re.M)
    lines = matches(EXECUTED, log(image, engine, "--trace=inst"), "OP]")
    assert [g[:3] + (g[4],) for g in lines if g[3] == "EX" and g[4]] == issued
    cycles = [int(g[0]) for g in lines]
    assert cycles == sorted(cycles)
    busy = {(int(c), x, y) for c, x, y, _ in issued}
    idle = {(int(g[0]), *g[1:3]) for g in lines if not g[4]}
    assert idle == {(c + 1, x, y) for c, x, y in busy} - busy
    assert {int(g[5]) for g in lines if g[5]} > {0}            # of the tasks, behind the start


def test_queues_have_the_identities_of_the_moves(image, engine):
    lines = log(image, engine)
    sent = [re.match(r"@(\d+) P(\d+\.\d+): Sending wavelet C(\d+) .* ident:(\w{16}) on OUT_Q\[(\d)\]$",
                     line).groups() for line in lines if ": Sending wavelet" in line]
    popped = re.findall(r"^@(\d+) P(\d+\.\d+) queue pop output (\d) .*color (\d+)",
                        harness.emu(image, engine, "--trace=queue").out, re.M)
    assert [(c, p, q, color) for c, p, color, _, q in sent] == popped
    entered = [g[4] for g in matches(WAVELET, lines, ") wavelet C") if g[5] == "R"]
    assert sorted(i for *_, i, _ in sent) == sorted(entered)
    pushed = [line for line in lines if ": Writing wavelet" in line]
    assert len(pushed) == len(sent)


def test_stalls_begin_where_the_trace_says(image, engine):
    begun = re.findall(r"^@(\d+) P(\d+\.\d+) stall (?:waits|waited) 0x(\w{4})(?: ut\d)? (\w+)(?: \d+ "
                       r"cycles)?$", harness.emu(image, engine, "--trace=stall").out, re.M)
    waits = re.findall(r"^@(\d+) P(\d+\.\d+) stall (waits|waited) 0x(\w{4})(?: ut\d)? (\w+)",
                       harness.emu(image, engine, "--trace=stall").out, re.M)
    want = [(c, p, cause, pc) for c, p, word, pc, cause in waits
            if word == "waits" or cause == "bank"]
    logged = re.findall(r"^@(\d+) P(\d+\.\d+): .*Pipe: 0, Msg: stall: (\w+) at 0x(\w{4})$",
                        "\n".join(log(image, engine)), re.M)
    assert logged == want and len(begun) > len(want) > 0


def test_switches(image, engine):
    shown = re.findall(r"^@(\d+) P(\d+\.\d+) switch position color (\d+)(?: '\w+')? (\d) -> (\d)$",
                       harness.emu(image, engine, "--trace=switch").out, re.M)
    lines = [line for line in log(image, engine, "--trace=switch") if " router C" in line]
    logged = [re.match(r"@(\d+) P(\d+\.\d+) \(hwtile\) router C(\d+) switch (\d) -> (\d), "
                       r"input [WESNR-]+ -> [WESNR-]+, output [WESNR-]+ -> [WESNR-]+$", line)
              for line in lines]
    assert shown == [m.groups() for m in logged]
    assert bool(shown) == ("reduce-tree" in str(image))


def test_limits_of_the_trace(image):
    whole = log(image, "--trace=wavelet")
    some = log(image, "--trace=wavelet", "--trace-region=0,0,1,1", "--trace-cycles=40:80")
    assert some[1:] == [line for line in whole[1:] if " P0.0 " in line and
                        40 <= int(line[1:].split()[0]) <= 80]      # identities are the same


@pytest.mark.parametrize("variable", ["SINGULARITYENV_SIMFABRIC_DEBUG", "APPTAINERENV_SIMFABRIC_DEBUG",
                                      "SIMFABRIC_DEBUG"])
def test_scripts_get_the_logs_in_sim_log(tmp_path, variable):
    program = host_run.build(tmp_path)
    script(program, 'r.launch("scale", np.float32(1), np.int16(1), nonblock=False)',
           env={variable: "landing,inst_trace"})
    text = (program / "sim.log").read_text()
    assert text.startswith("@0 dimX=") and "[EX OP] ^ 0x" in text


def test_an_unknown_log_is_an_error(tmp_path):
    program = host_run.build(tmp_path)
    (program / "run.py").write_text(host_run.PREAMBLE)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=program, expect=1,
                      env={"SIMFABRIC_DEBUG": "landings"})
    assert "SIMFABRIC_DEBUG: no log 'landings'; there are landing, inst_trace, router" in ran.err
