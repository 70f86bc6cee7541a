"""Long runs on a terminal say how far they have come, after a few seconds, and leave nothing there;
elsewhere they are silent, and statistics are the same."""
import json
import os
import pty
import re
import subprocess

import harness

LAYOUT = 'layout { @set_rectangle(2, 1); @set_tile_code(0, 0, "pe.csl", .{}); ' \
         '@set_tile_code(1, 0, "pe.csl", .{}); }'
PE = """
var n: u32 = 0;
const id = @get_local_task_id(8);
task go() void { while (n < 600000000) { n += 1; } }
comptime { @bind_local_task(go, id); @activate(id); }
"""
LIMIT = 20_000_000
LINE = re.compile(rb"cycle (\d+), [\d.e+]+ cycles/s, [\d.e+]+ tiles awake, run")


def on_terminal(args):
    """Exit code, and what has come to standard error, a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=theirs,
                          stdin=subprocess.DEVNULL) as child:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:             # the child has closed the terminal
            pass
        os.close(ours)
        return child.wait(), said


def test_a_long_run_on_a_terminal_and_elsewhere(tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(PE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    stats = tmp_path / "s.json"
    args = [str(harness.tool("wse-emu")), str(tmp_path / "p.bin"), "--engine=reference",
            f"--max-cycles={LIMIT}", f"--stats={stats}"]
    code, said = on_terminal(args)
    assert code == 4
    shown = json.loads(stats.read_text())
    cycles = [int(c) for c in LINE.findall(said)]
    assert len(cycles) >= 2 and cycles == sorted(set(cycles)) and cycles[-1] < LIMIT
    assert b"\r\x1b[Kerror: " in said            # the line is gone before the report
    ran = harness.run(args, expect=4)
    assert "tiles awake" not in ran.err and "\r" not in ran.err
    silent = json.loads(stats.read_text())
    assert {k: v for k, v in shown.items() if "second" not in k} == {
        k: v for k, v in silent.items() if "second" not in k}
