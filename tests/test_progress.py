"""Long runs and compiles on a terminal say how far they have come, after a few seconds, and leave
nothing there; elsewhere runs say so later and less often. Results are the same."""
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

import harness
import ranks_run

LAYOUT = 'layout { @set_rectangle(2, 4); for (@range(u16, 4)) |y| { ' \
         '@set_tile_code(0, y, "pe.csl", .{}); @set_tile_code(1, y, "pe.csl", .{}); } }'
PE = """
var n: u32 = 0;
const id = @get_local_task_id(8);
task go() void { while (n < 4000000000) { n += 1; } }
comptime { @bind_local_task(go, id); @activate(id); }
"""
LIMIT = 500_000
SOON = "--progress=0.2"
AT_ONCE = "--progress=0.02"     # several lines, even if LIMIT cycles take half a second
LINE = re.compile(rb"cycle (\d+), [\d.e+]+ cycles/s, [\d.e+]+ tiles awake, (?:east: )?run")
ERASED = b"\r\x1b[K"


def on_terminal(args, enough=None, env=None):
    """Exit code, and what has come to standard error, a terminal.  enough: the command is interrupted
    once so many lines have come."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(a) for a in args], stdout=subprocess.DEVNULL, stderr=theirs,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})},
                          preexec_fn=harness.default_signals) as child:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
                if enough and said.count(b" tiles awake") >= enough:
                    child.send_signal(signal.SIGINT)
                    enough = None
        except OSError:             # the child has closed the terminal
            pass
        os.close(ours)
        return child.wait(), said


def last_shown(said):
    """What is left on the last line of the terminal."""
    return said.replace(b"\r\n", b"\n").split(b"\n")[-1].split(ERASED)[-1]


def cycles_shown(said):
    cycles = [int(c) for c in LINE.findall(said)]
    assert cycles == sorted(set(cycles)), cycles
    return cycles


def awake_shown(said):
    return [float(n) for n in re.findall(rb"([\d.e+]+) tiles awake", said)]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PE)
    harness.compile(folder / "layout.csl", folder / "p.bin", "-O0")
    return folder / "p.bin"


def test_a_long_run_on_a_terminal_and_elsewhere(image, tmp_path):
    stats = tmp_path / "s.json"
    args = [harness.tool("wse-emu"), image, "--engine=reference", f"--max-cycles={LIMIT}",
            f"--stats={stats}"]
    code, said = on_terminal([*args, AT_ONCE])
    assert code == 4
    shown = json.loads(stats.read_text())
    cycles = cycles_shown(said)
    assert len(cycles) >= 2 and cycles[-1] < LIMIT
    assert ERASED + b"error: " in said            # the line is gone before the report
    began = time.monotonic()
    ran = harness.run(args, expect=4)
    is_slow = time.monotonic() - began >= 30      # the machine: a first line is due
    assert is_slow or "tiles awake" not in ran.err
    assert "\r" not in ran.err
    silent = json.loads(stats.read_text())
    of_the_run = [k for k in shown if "second" in k or k == "peak_rss_bytes"]
    for key in of_the_run:
        del shown[key], silent[key]
    assert shown == silent


LOGGED = re.compile(r"^still running after (\d\.\d|\d{2,}) s: cycle (\d+), [\d.e+]+ cycles/s, "
                    r"[\d.e+]+ tiles awake(?:, (.*))?; --max-cycles=(\d+) ends it$", re.M)


def logged(args, enough, env=None):
    """Standard error, a pipe, of a command that is interrupted once so many lines have come."""
    with subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env={**os.environ, **(env or {})},
                          preexec_fn=harness.default_signals, text=True) as child:
        said = ""
        while len(LOGGED.findall(said)) < enough and (line := child.stderr.readline()):
            said += line
        child.send_signal(signal.SIGINT)
        return said + child.stderr.read()


@pytest.mark.parametrize("tool, action", [("wse-emu", "run"), ("cs_python", "run")])
def test_a_long_run_without_a_terminal(image, tmp_path, tool, action):
    """It says so now and then, and which limit ends it: an endless program looks like one."""
    (tmp_path / "run.py").write_text(HOST)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "prog.bin").write_bytes(image.read_bytes())
    args = {"wse-emu": [image], "cs_python": [tmp_path / "run.py", tmp_path / "out"]}[tool]
    words = [SOON, "--max-cycles=900000000"]
    said = logged([harness.tool(tool), *args, *(words if tool == "wse-emu" else [])], 3,
                  env={"WSE_ARGS": " ".join(words)})
    lines = LOGGED.findall(said)
    assert len(lines) >= 3 and "\r" not in said, said
    ages, cycles = [float(line[0]) for line in lines], [int(line[1]) for line in lines]
    assert all(age >= 0.2 * 2 ** line for line, age in enumerate(ages)), ages
    assert cycles == sorted(set(cycles))
    assert all(line[2:] == (action, "900000000") for line in lines), lines


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_run_with_states(image, tmp_path, engine):
    """States are short parts of the run: it is the run that is long."""
    code, said = on_terminal([harness.tool("wse-emu"), image, f"--engine={engine}",
                              f"--save-state={tmp_path}/state", "--save-every=100000", SOON],
                             enough=3)
    assert code == 130 and len(cycles_shown(said)) >= 3
    assert ERASED + b"error: " in said
    code, said = on_terminal([harness.tool("wse-emu"), image, f"--engine={engine}",
                              f"--load-state={tmp_path}/state", SOON], enough=2)
    assert code == 130 and len(cycles_shown(said)) >= 2


def test_the_first_line_comes_when_users_ask(image):
    """On a terminal, too, where it comes after three seconds else."""
    args = [harness.tool("wse-emu"), image]
    began = time.monotonic()
    on_terminal([*args, "--progress=4"], enough=1)
    assert time.monotonic() - began >= 4


def test_a_run_with_a_debugger(image, tmp_path):
    script = tmp_path / "script"
    script.write_text("continue\nprint n\nreverse-step\nquit\n")
    args = [harness.tool("wse-dbg"), image, SOON, "-x", script]
    code, said = on_terminal(args, enough=3)      # Ctrl-C stands the program
    assert code == 0 and len(LINE.findall(said)) >= 3 and last_shown(said) == b""
    script.write_text("cycle 2000\nquit\n")
    assert harness.run(args).err == ""


@pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")
def test_a_run_on_several_processes(image):
    """mpirun has the terminal: it passes on what process 0 says."""
    args = ranks_run.command(2, harness.tool("wse-emu"), image, SOON)
    code, said = on_terminal(args, enough=3, env=ranks_run.ENVIRONMENT)
    assert code != 0 and len(cycles_shown(said)) >= 3
    ran = ranks_run.emu(2, image, f"--max-cycles={LIMIT}", "--progress=1000", expect=4, timeout=300)
    assert "tiles awake" not in ran.err and ERASED.decode() not in ran.err


@pytest.mark.parametrize("args", [[], ["--threads=2"], ["--save-state=state", "--save-every=100000"]])
def test_a_run_of_several_wafers(image, tmp_path, args):
    """One line for all of them, with the tiles of all of them."""
    (tmp_path / "c.json").write_text(json.dumps({"wafers": [
        {"name": name, "image": str(image)} for name in ("east", "west")]}))
    args = [a.replace("=state", f"={tmp_path}/state") for a in args]
    code, said = on_terminal([harness.tool("wse-emu"), f"--cluster={tmp_path}/c.json", SOON, *args],
                             enough=3)
    assert code == 130 and len(cycles_shown(said)) >= 3
    _, of_one = on_terminal([harness.tool("wse-emu"), image, SOON], enough=1)
    assert awake_shown(said)[-1] > 1.8 * awake_shown(of_one)[0]
    assert b" tiles awake, east: run" in said
    assert ERASED + b"east: error: " in said      # the line is gone before the report


LAUNCHED = """
var n: u32 = 0;
const sys_mod = @import_module("<memcpy/memcpy>", @import_module("<memcpy/get_params>",
                               .{ .width = 1, .height = 1 }).get_params(0));
fn go() void { while (n < 4000000000) { n += 1; } }
comptime { @export_symbol(go); }
"""


def test_a_run_that_another_wafer_than_the_first_has_started(tmp_path):
    """The first one shows the line; the other one has the action."""
    (tmp_path / "layout.csl").write_text("""layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @export_name("go", fn() void);
}""")
    (tmp_path / "pe.csl").write_text(LAUNCHED)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O0")
    (tmp_path / "c.json").write_text(json.dumps({"wafers": [
        {"name": name, "image": "p.bin"} for name in ("east", "west")]}))
    args = [harness.tool("wse-emu"), f"--cluster={tmp_path}/c.json", "--launch=west:go",
            "--engine=reference"]
    ran = harness.run([*args, f"--max-cycles={LIMIT}", "--progress=1000"], expect=4)
    assert "tiles awake" not in ran.err
    code, said = on_terminal([*args, SOON], enough=1)
    assert code == 130 and awake_shown(said) and b" tiles awake, west: launch go" in said
    assert LOGGED.findall(logged([*args, SOON], 1))[0][2] == "west: launch go"


HOST = """
import sys
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
runner = SdkRuntime(sys.argv[1], memcpy_required=False)
runner.load()
runner.run()
"""


def test_a_run_of_a_host_script(image, tmp_path):
    (tmp_path / "run.py").write_text(HOST)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "prog.bin").write_bytes(image.read_bytes())
    code, said = on_terminal([harness.tool("cs_python"), tmp_path / "run.py", tmp_path / "out"],
                             enough=3, env={"WSE_ARGS": SOON})
    assert code in (1, 130, -signal.SIGINT) and len(cycles_shown(said)) >= 3
    assert b"KeyboardInterrupt" in last_shown(said.rstrip()) and b"awake" not in last_shown(said)


def test_what_tiles_print_does_not_meet_the_line(tmp_path):
    """Standard output is the same terminal."""
    (tmp_path / "layout.csl").write_text('layout { @set_rectangle(1, 1); '
                                         '@set_tile_code(0, 0, "pe.csl"); }')
    (tmp_path / "pe.csl").write_text("""
const prt = @import_module("<simprint>");
const id = @get_local_task_id(8);
var n: u32 = 0;
task go() void {
  while (n < 4000000000) { n += 1; if (n % 2000 == 0) prt.fmt_no_nl("at {d}\\n", .{n}); }
}
comptime { @bind_local_task(go, id); @activate(id); }
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin", "-O0")
    emulator = [harness.tool("wse-emu"), tmp_path / "p.bin", "--engine=reference", SOON]
    _, said = on_terminal([sys.executable, "-c", "import os, sys; os.dup2(2, 1); "
                           "os.execv(sys.argv[1], sys.argv[1:])", *emulator], enough=4)
    printed = [line for line in said.replace(b"\r\n", b"\n").split(b"\n") if b": at " in line]
    assert len(printed) >= 2
    assert all(re.fullmatch(rb"@\d+ P0\.0: at \d+", line.split(ERASED)[-1]) for line in printed)


# ---- compiles ------------------------------------------------------------------------------------

SECONDS = 5     # of a long compile, about; two lines at least come in that time
COMPUTES = """
comptime {
  var x: u32 = 1;
  for (@range(u32, TURNS)) |i| { x = (x * 5 + i) & 0xffff; }
}
"""


def processor_seconds(args):
    """A busy machine does not change them much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.run(args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_long_compile_on_a_terminal_and_elsewhere(tmp_path):
    (tmp_path / "layout.csl").write_text('layout { @set_rectangle(1, 1); '
                                         '@set_tile_code(0, 0, "pe.csl"); }')
    args = [harness.tool("cslc"), tmp_path / "layout.csl", "-o", tmp_path / "p.bin",
            "--comptime-step-limit=4000000000"]
    few = 500_000
    (tmp_path / "pe.csl").write_text(COMPUTES.replace("TURNS", str(few)))
    turns = int(few * SECONDS / processor_seconds(args))
    (tmp_path / "pe.csl").write_text(COMPUTES.replace("TURNS", str(turns)))
    code, said = on_terminal(args)
    shown = [int(s) for s in re.findall(rb"\r\x1b\[Kcslc: analysis, (\d+) s", said)]
    assert code == 0 and len(shown) >= 2 and shown == sorted(shown) and shown[0] >= 3
    assert last_shown(said) == b""
    (tmp_path / "pe.csl").write_text(COMPUTES.replace("TURNS", "300"))
    assert on_terminal(args) == (0, b"")          # a short one says nothing
    (tmp_path / "pe.csl").write_text(COMPUTES.replace("TURNS", str(turns)))
    assert harness.run(args).err == ""
