"""Every option of wse-emu works for a host script, in WSE_ARGS and as `wse_args` of a runtime, or says
why it cannot: the options of --help and the rows below are the same, so that no option is forgotten."""
import json
import os
import re
import subprocess

import pytest

import dap_client
import harness
import host_run
import page_data

PROGRAM = """
r.launch("scale", np.float32(2), np.int16(1), nonblock=False)
r.stop()
"""


class Outcome:
    """What a script with an option has left: its folder, the text of its error, what it has said."""

    def __init__(self, folder, ran):
        self.folder, self.out, self.err, self.code = folder, ran.out, ran.err, ran.code

    def text(self, name):
        return (self.folder / name).read_text()

    def stats(self):
        return json.loads(self.text("s.json"))

    def fails_with(self, *parts):
        return self.code == 1 and all(part in self.err for part in parts)


def is_traced(o, *patterns):
    lines = o.text("t.txt").splitlines()
    return lines and all(any(re.search(p, line) for line in lines) for p in patterns)


def cycles_of_trace(o):
    return [int(line.split()[0][1:]) for line in o.text("t.txt").splitlines()]


COUNTS = f"pe.csl:{host_run.PE[:host_run.PE.index('n = n + 1')].count(chr(10)) + 1}"
REFUSED = "option_of_command_line"
# Of each option: its words, and what shows that it has done what --help says.  A function that the
# rows name as `program` replaces the launch of the script.
ROWS = {
    **{action: (f"--{action}{value}", lambda o: o.fails_with(REFUSED))
       for action, value in (("h2d", "=n=1"), ("launch", "=scale"), ("run", ""), ("d2h", "=n=x.npy"),
                             ("print", "=n"), ("help", ""), ("version", ""))},
    "cluster": ("--cluster=c.json", lambda o: o.fails_with(REFUSED)),
    "stats": ("--stats=s.json", lambda o: o.stats()["tasks"] > 0),
    "trace": ("--trace=task", lambda o: "task start" in o.out),
    "trace-file": ("--trace-file=t.txt", lambda o: is_traced(o, "task start", "task end")),
    "trace-format": ("--trace-format=perfetto --trace-file=t.json",
                     lambda o: "ph" in json.loads(o.text("t.json"))["traceEvents"][0]),
    "trace-ids": ("--trace-ids --trace=host,queue --trace-file=t.txt", lambda o: is_traced(o, r"#\d+$")),
    "trace-region": ("--trace-region=1,1,1,1 --trace-file=t.txt",
                     lambda o: is_traced(o, "task start") and "P0.0" not in o.text("t.txt")),
    "trace-cycles": ("--trace-cycles=0:40 --trace=all --trace-file=t.txt",
                     lambda o: 0 < max(cycles_of_trace(o)) <= 40),
    "profile": ("--profile=p.json", lambda o: any(row["file"].endswith("pe.csl") for row in
                                                  json.loads(o.text("p.json"))["lines"])),
    "watch": ("--watch=0,0,4", lambda o: "never sends" in o.out or "P0.0" in o.out),
    "stop": (f"--stop={COUNTS}", lambda o: o.fails_with("stopped before cycle", COUNTS)),
    "dump": ("--dump=1,1,1,1", lambda o: "P1.1" in o.out and "n: i32 = 1" in o.out),
    "engine": ("--engine=reference --stats=s.json", lambda o: o.stats()["engine"] == "reference"),
    "threads": ("--threads=2 --stats=s.json", lambda o: o.stats()["threads"] == 2),
    "max-cycles": ("--max-cycles=50", lambda o: o.fails_with("limit of 50 cycles")),
    "progress": ("--progress=0", lambda o: o.fails_with("a number of seconds")),
    "timing": ("--timing=vector_start:5 --stats=s.json", lambda o: "vector_start" in str(
        o.stats()["timing"])),
    "check": ("--check=maybe", lambda o: o.fails_with("off, warn")),
    "check-reads": ("--check-reads --stats=s.json", lambda o: o.code == 0),
    "check-left": ("--check-left", lambda o: o.code == 0),
    "report": ("--report=r.html", lambda o: page_data.of_page(o.folder / "r.html").top["width"] == 3),
    "report-detail": ("--report=r.html --report-detail=counts",
                      lambda o: page_data.of_page(o.folder / "r.html").top["sampled"]),
    "save-state": ("--save-state=c.state", lambda o: (o.folder / "c.state").stat().st_size > 1000),
    "save-every": ("--save-state=c.state --save-every=40",
                   lambda o: (o.folder / "c.state").stat().st_size > 1000),
    "load-state": ("--load-state=before.state --stats=s.json", lambda o: o.stats()["tasks"] > 0),
    "dap": None,
}


def options_of_help():
    return re.findall(r"^  --([\w-]+)", harness.emu("--help").out, re.M)


def test_every_option_has_a_row():
    assert sorted(ROWS) == sorted(options_of_help())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = host_run.build(tmp_path_factory.mktemp("options"))
    run_script(folder, folder, {"WSE_ARGS": "--save-state=before.state"})
    return folder


def run_script(program, folder, env=None, keyword="''"):
    preamble = host_run.PREAMBLE.replace('SdkRuntime("out")',
                                         f"SdkRuntime({str(program / 'out')!r}, wse_args={keyword})")
    (folder / "run.py").write_text(preamble + PROGRAM)
    return Outcome(folder, harness.run([harness.tool("cs_python"), "run.py"], cwd=folder, env=env,
                                       expect=None))


OPTIONS = [name for name, row in ROWS.items() if row]


@pytest.mark.parametrize("option", OPTIONS)
def test_the_option_does_what_it_says(program, tmp_path, option, way="WSE_ARGS"):
    words, shows = ROWS[option]
    words = words.replace("before.state", str(program / "before.state"))
    if way == "WSE_ARGS":
        outcome = run_script(program, tmp_path, {"WSE_ARGS": words})
    else:
        outcome = run_script(program, tmp_path,
                             keyword=repr(words if way == "text" else words.split()))
    assert shows(outcome), (outcome.code, outcome.out, outcome.err)
    assert outcome.code in (0, 1), outcome.err


@pytest.mark.parametrize("way", ("text", "list"))
def test_an_option_of_the_script_does_what_it_says(program, tmp_path, way):
    """Five of the options, others with each commit."""
    for option in harness.commit_random(f"host options {way}").permutation(OPTIONS)[:5]:
        folder = tmp_path / option.strip("-")
        folder.mkdir()
        test_the_option_does_what_it_says(program, folder, option, way)


def test_the_environment_overrides_the_script_option_by_option(program, tmp_path):
    """Also where a run takes one, or where two would be joined; within each text they are."""
    outcome = run_script(program, tmp_path, {"WSE_ARGS": "--stats=b.json --trace=task --trace=host"},
                         repr("--stats=a.json --trace=wavelet --trace-file=t.txt"))
    assert outcome.code == 0 and not (tmp_path / "a.json").exists()
    assert json.loads(outcome.text("b.json"))["tasks"] > 0
    assert is_traced(outcome, "task start", "host ") and "wavelet" not in outcome.text("t.txt")
    outcome = run_script(program, tmp_path, {"WSE_ARGS": "--stats=b.json --stats=c.json"})
    assert outcome.fails_with("option_once", "--stats is given twice, as 'b.json' and as 'c.json'")


def test_the_environment_overrides_the_script(program, tmp_path):
    outcome = run_script(program, tmp_path, {"WSE_ARGS": "--engine=fast"},
                         repr(["--engine=reference", "--stats=a file.json"]))
    assert json.loads(outcome.text("a file.json"))["engine"] == "fast"


def test_what_is_no_text_is_refused(program, tmp_path):
    outcome = run_script(program, tmp_path, keyword="[1]")
    assert outcome.fails_with("TypeError", "wse_args must be a text or a list of texts")


@pytest.mark.skipif(not dap_client.is_possible(), reason="no client")
def test_the_debugger_is_an_option_of_a_script(program, tmp_path):
    (tmp_path / "run.py").write_text(host_run.PREAMBLE.replace(
        'SdkRuntime("out")', f'SdkRuntime({str(program / "out")!r}, wse_args="--dap=0")') + PROGRAM)
    with subprocess.Popen([harness.tool("cs_python"), "run.py"], cwd=tmp_path, text=True,
                          stderr=subprocess.PIPE, env=os.environ) as host:
        port = int(re.search(r"debugger at port (\d+)", host.stderr.readline()).group(1))
        with dap_client.Dap(port) as dap:
            dap.ask("initialize", adapterID="csl")
            dap.ask("attach")
            dap.event("initialized")
            dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "scale"}])
            dap.go()
            assert dap.stopped()["reason"] == "function breakpoint"
            dap.ask("disconnect")
        assert host.wait(60) == 0
