"""Sweeps: points, kept results, errors of points, programs in CSL, the command, and processes."""
import csv
import json
import os
import random
import re
import sys

import numpy
import pytest

import harness
import ranks_run

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))
import wse_sweep  # noqa: E402
from wse_bar import NoTqdm  # noqa: E402

LINE = {"layout": "line.csl", "options": ["--arch={arch}"], "stats": ["cycles", "stalls.bank"],
        "actions": ["--h2d=v=v{P}.npy", "--launch=main", "--print=v@0,0,1,1"],
        "params": ["P", "B", "kind", "which"],
        "points": {"P": [2, 3, 4], "B": [2], "kind": [0], "which": [2], "arch": ["wse2", "wse3"]}}


@pytest.fixture
def folder(tmp_path):
    """A sweep of samples/study: sums over rows of 2, 3 and 4 tiles; 4 has no input."""
    for name in ("line.csl", "line_pe.csl"):
        (tmp_path / name).write_text((harness.SAMPLES / "study" / name).read_text())
    for P in (2, 3):
        numpy.save(tmp_path / f"v{P}.npy", numpy.ones((1, P, 2), numpy.float32))
    (tmp_path / "s.json").write_text(json.dumps(LINE))
    return tmp_path


def run(folder, *args, **options):
    env = {"PATH": f"{harness.bin_dir()}:{os.environ['PATH']}"}
    return harness.run([harness.tool("wse-sweep"), *args], cwd=folder, env=env, **options)


def rows(path):
    with path.open(newline="") as text:
        return list(csv.DictReader(text))


# ---- sweep() ----------------------------------------------------------------------------------

def test_outcomes_come_in_order_and_equal_points_once():
    seen = []

    def measure(point):
        seen.append(point["x"])
        return {"y": numpy.float32(point["x"]) / 2, "all": numpy.arange(point["x"])}

    outcomes = wse_sweep.sweep(measure, [{"x": 3}, {"x": 1}, {"x": 3}], jobs=2)
    assert [o.values for o in outcomes] == [{"y": 1.5, "all": [0, 1, 2]}, {"y": 0.5, "all": [0]},
                                            {"y": 1.5, "all": [0, 1, 2]}]
    assert sorted(seen) == [1, 3]


def test_grid_changes_the_last_name_fastest():
    assert wse_sweep.grid(a=[1, 2], b=["x", "y"]) == [
        {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


def test_a_failing_point_does_not_hold_up_the_others():
    def measure(point):
        if point["x"] == 1:
            raise ZeroDivisionError("by the program")
        return {"y": 0} if point["x"] else 5

    values = wse_sweep.sweep(measure, wse_sweep.grid(x=[0, 1, 2]), failures=(ZeroDivisionError,))
    assert "a dictionary of values, not 5" in values[0].error
    assert (values[1].error, values[1].values) == ("by the program", None)
    assert values[2].values == {"y": 0} and values[2].error is None


def test_what_is_kept_is_not_measured_again(tmp_path):
    data, seen = tmp_path / "data", []
    data.write_text("1")

    def measure(point):
        seen.append(point["x"])
        if point["x"] == 2:
            raise ValueError("not now")
        return wse_sweep.Measured({"y": 1}, {str(data): wse_sweep.kept.digest_of(data)})

    def go(state="a"):
        seen.clear()
        found = wse_sweep.sweep(measure, wse_sweep.grid(x=[1, 2]),
                                wse_sweep.Kept(tmp_path / "kept", state), jobs=1)
        return seen, [outcome.was_kept for outcome in found]

    assert go() == ([1, 2], [False, False])
    assert go() == ([2], [True, False])              # errors are not kept
    assert go("b") == ([1, 2], [False, False])       # other programs, say
    data.write_text("22")
    assert go() == ([1, 2], [False, False])
    for path in (tmp_path / "kept").glob("*.json"):
        path.write_text(path.read_text()[:-9])       # damaged
    assert go() == ([1, 2], [False, False])


@pytest.mark.parametrize("call, text", [
    (lambda: wse_sweep.grid(P=4), "P: a list of at least one value"),
    (lambda: wse_sweep.grid(P=[]), "P: a list of at least one value"),
    (lambda: wse_sweep.grid(P=[[1]]), "numbers and texts"),
    (lambda: wse_sweep.sweep(dict, [7]), "point 0: a point is a dictionary"),
    (lambda: wse_sweep.sweep(dict, [{"a-b": 1}]), "the name 'a-b'"),
    (lambda: wse_sweep.sweep(dict, [{"a": 1}], jobs=0), "at least 1 measurement"),
    (lambda: wse_sweep.write_table("x.txt", []), "neither in .csv nor in .json"),
    (lambda: wse_sweep.write_table("/absent/x.csv", []), "in no folder that exists")])
def test_mistakes_in_calls(call, text):
    with pytest.raises(wse_sweep.SweepError, match=text):
        call()


def test_processes_that_would_all_measure_are_refused(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(wse_sweep.SweepError, match="mpirun -n R wse-sweep SCRIPT.py"):
        wse_sweep.sweep(dict, [{"a": 1}])


def test_bar(capfd, monkeypatch):
    pytest.importorskip("tqdm")
    wse_sweep.sweep(dict, wse_sweep.grid(x=[1, 2, 3]))
    assert not capfd.readouterr().err
    wse_sweep.sweep(dict, wse_sweep.grid(x=[1, 2, 3]), progress=True)
    assert "3/3" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(NoTqdm, match="apt-get install python3-tqdm"):
        wse_sweep.sweep(dict, [{"a": 1}], progress=True)


# ---- the command ------------------------------------------------------------------------------

def test_a_file_of_points(folder):
    done = run(folder, "s.json", "--jobs=2", expect=1)
    assert "P=4 B=2 kind=0 which=2 arch=wse2: wse-emu ended with exit code 1" in done.err
    assert "6 points, 0 of them kept, 2 failed: s.csv" in done.err
    table = rows(folder / "s.csv")
    assert [(row["P"], row["arch"], row["v@0,0"]) for row in table[:4]] == [
        ("2", "wse2", "2 2"), ("2", "wse3", "2 2"), ("3", "wse2", "3 3"), ("3", "wse3", "3 3")]
    assert all(int(row["cycles"]) > 10 and row["stalls.bank"] != "" and not row["error"]
               for row in table[:4])
    assert "cannot read array 'v4.npy'" in table[4]["error"] and table[4]["cycles"] == ""


def test_the_example_of_the_page(tmp_path):
    page = (harness.ROOT / "docs" / "sweeps.md").read_text()
    spec = json.loads(re.search(r"```json\n(.*?)```", page, re.S)[1])
    (tmp_path / "s.json").write_text(json.dumps(spec))
    (tmp_path / "layout.csl").write_text("""param P: u16;
param B: u16;
layout {
  @set_rectangle(P, 1);
  for (@range(u16, P)) |x| { @set_tile_code(x, 0, "pe.csl", .{ .B = B }); }
  @export_name("v", [*]f32, true);
  @export_name("main", fn () void);
}
""")
    (tmp_path / "pe.csl").write_text("""param B: u16;
var v = @zeros([B]f32);
var v_ptr: [*]f32 = &v;
fn main() void { for (@range(u16, B)) |i| { v[i] += 1.0; } }
comptime { @export_symbol(v_ptr, "v"); @export_symbol(main); }
""")
    for point in wse_sweep.grid(**{name: spec["points"][name] for name in ("P", "B")}):
        numpy.save(tmp_path / "v{P}-{B}.npy".format(**point),
                   numpy.full((1, point["P"], point["B"]), point["P"], numpy.float32))
    run(tmp_path, "s.json")
    table = rows(tmp_path / "s.csv")
    assert len(table) == 12 and not any(row["error"] for row in table)
    assert all(row["v@0,0"].split() == [str(int(row["P"]) + 1)] * int(row["B"]) for row in table)


def test_only_what_has_changed_is_measured_again(folder):
    run(folder, "s.json", expect=1)
    numpy.save(folder / "v4.npy", numpy.ones((1, 4, 2), numpy.float32))
    assert "6 points, 4 of them kept, 0 failed" in run(folder, "s.json").err
    numpy.save(folder / "v3.npy", numpy.full((1, 3, 2), 7, numpy.float32))
    assert "6 points, 4 of them kept, 0 failed" in run(folder, "s.json", "--out=t.json").err
    found = json.loads((folder / "t.json").read_text())
    assert [row["values"]["v@0,0"] for row in found] == [[2, 2]] * 2 + [[21, 21]] * 2 + [[4, 4]] * 2
    source = folder / "line_pe.csl"
    images = {path: path.stat().st_mtime_ns for path in (folder / "s.kept/images").glob("*.bin")}
    assert len(images) == 6
    source.write_text(source.read_text() + "// changed\n")
    assert "6 points, 0 of them kept" in run(folder, "s.json").err
    assert all(path.stat().st_mtime_ns > then for path, then in images.items())


def test_a_program_that_runs_for_ever_is_one_failed_point(folder):
    spec = {**LINE, "timeout_seconds": 0.001, "points": [{"P": 2, "B": 2, "kind": 0, "which": 2,
                                                          "arch": "wse2"}]}
    (folder / "s.json").write_text(json.dumps(spec))
    assert "took longer than 0.001 seconds" in run(folder, "s.json", expect=1).err


def test_warnings_of_points_are_shown(folder):
    """Nine elements are printed of an array that has B."""
    chain = harness.SAMPLES / "reduce-chain"
    for name in chain.glob("*.csl"):
        (folder / name.name).write_text(name.read_text())
    lengths = list(range(1, 10))
    spec = {"layout": "layout.csl", "actions": ["--print=sum:9@0,0,1,1"],
            "points": {"P": [2, 3], "B": lengths}}
    (folder / "s.json").write_text(json.dumps(spec))
    told = run(folder, "s.json", "--jobs=1").err.splitlines()
    assert "P=2 B=1: wse-emu: warning: 36 bytes are read from 'sum' of tile 0,0" in told[0]
    # The same words once, though P=3 has them, too; of more than five, a last line.
    assert [line.split(":")[1] for line in told[:-1]] == [f" P=2 B={n}" for n in range(1, 7)], told
    assert told[-2] == ("wse-sweep: P=2 B=6: more points are warned of; the first messages stand "
                        "above")
    assert "0 failed" in told[-1]


@pytest.mark.parametrize("change, text", [
    ({"layuot": "x"}, "unknown key 'layuot'; did you mean 'layout'?"),
    ({"layout": 3}, "layout: the name of a file"),
    ({"points": {}}, "points: a list of points, or lists"),
    ({"points": [[]]}, "points[0]: a point is a dictionary"),
    ({"points": {"P": 4}}, "P: a list of at least one value"),
    ({"actions": "--launch=main"}, "actions: a list of texts"),
    ({"points": {"cycles": [1]}, "stats": ["cycles"]}, "points: the table has another column 'cycles'"),
    ({"points": [{"P": 2}, {"error": 1}]}, "points: the table has another column 'error'"),
    ({"timeout_seconds": 0}, "timeout_seconds: a number above 0")])
def test_mistakes_in_files(folder, change, text):
    spec = {**LINE, **change}
    if spec["points"] == {}:
        spec["points"] = 5
    (folder / "s.json").write_text(json.dumps(spec))
    assert f"wse-sweep: error: s.json: {text}" in run(folder, "s.json", expect=2).err
    assert not (folder / "s.csv").exists()


@pytest.mark.parametrize("change, text", [
    ({"options": ["--arch={arhc}"]}, "the point has no 'arhc'"),
    ({"options": ["--arch={"]}, "and {{ and }} for braces"),
    ({"params": ["Q"]}, "the point has no Q, which 'params' names"),
    ({"stats": ["cycels"]}, "the statistics have no number 'cycels'; there are cycles, host_cycles"),
    ({"stats": ["stalls"]}, "wavelet_hops, stalls.paused, stalls.input"),
    ({"layout": "absent.csl"}, "cslc ended with exit code 1"),
    ({"actions": ["--launch=mian"]}, "wse-emu ended with exit code 1")])
def test_mistakes_in_points(folder, change, text):
    (folder / "s.json").write_text(json.dumps({**LINE, **change}))
    assert text in run(folder, "s.json", expect=1).err


def test_mistakes_on_the_command_line(folder):
    assert "'t.json' cannot be read" in run(folder, "t.json", expect=2).err
    assert "neither in .csv nor in .json" in run(folder, "s.json", "--out=x", expect=2).err
    assert "--out is given twice, as 'a.csv' and as 'b.json'" in \
        run(folder, "s.json", "--out=a.csv", "--out=b.json", expect=2).err
    assert "--keep is given twice" in run(folder, "s.json", "--keep=a", "--keep=b", expect=2).err
    (folder / "t.json").write_text("{")
    assert "t.json: it is no JSON" in run(folder, "t.json", expect=2).err
    assert "t.json' is no folder" in run(folder, "s.json", "--keep=t.json", expect=2).err


def test_a_table_does_not_replace_the_file_of_its_sweep(folder):
    told = run(folder, "s.json", "--out=./s.json", expect=2).err
    assert "would replace the file that describes the sweep" in told
    assert json.loads((folder / "s.json").read_text()) == LINE


def test_a_killed_sweep_goes_on(tmp_path, checks):
    """The short form of the claim sweep_kills."""
    sweep = harness.claim("sweep_kills").Sweep(tmp_path, random.Random(harness.commit_seed()), 24)
    for _ in range(3):
        sweep.kill_once(1)
    sweep.finish(checks)


# ---- processes --------------------------------------------------------------------------------

needs_mpi = pytest.mark.skipif(not ranks_run.is_possible(), reason="needs Open MPI")


@needs_mpi
def test_processes_give_the_same_table(folder):
    pytest.importorskip("mpi4py")
    run(folder, "s.json", "--out=one.csv", "--keep=one", expect=1)
    ended = ranks_run.run(3, harness.tool("wse-sweep"), "s.json", "--out=three.csv", cwd=folder,
                          expect=1)
    assert "MPI_ABORT" not in ended.err     # mpirun might hang after it
    assert (folder / "one.csv").read_bytes() == (folder / "three.csv").read_bytes()
    assert "4 of them kept" in run(folder, "s.json", expect=1).err


@needs_mpi
def test_a_script_measures_in_processes(tmp_path):
    pytest.importorskip("mpi4py")
    (tmp_path / "mine.py").write_text("""
import os
import wse_sweep
def measure(point):
    return {"pid": os.getpid()}
if __name__ == "__main__":
    found = wse_sweep.sweep(measure, wse_sweep.grid(x=list(range(40))))
    print(os.getpid() in [outcome.values["pid"] for outcome in found], len(found))
""")
    assert run(tmp_path, "mine.py").out == "True 40\n"
    done = ranks_run.run(3, harness.tool("wse-sweep"), "mine.py", cwd=tmp_path)
    assert done.out == "False 40\n"


@needs_mpi
def test_a_script_that_fails_in_processes_ends_with_its_code(tmp_path):
    pytest.importorskip("mpi4py")
    (tmp_path / "mine.py").write_text("""
import sys
import wse_sweep
if __name__ == "__main__":
    wse_sweep.sweep(len, wse_sweep.grid(x=[1]))
    if sys.argv[1:]:
        raise ValueError("mine")
    sys.exit(7)
""")
    def ended(*args, expect):
        return ranks_run.run(2, harness.tool("wse-sweep"), "mine.py", *args, cwd=tmp_path,
                             expect=expect).err

    assert "MPI_ABORT" not in ended(expect=7)
    told = ended("raise", expect=1)
    assert "ValueError: mine" in told and "MPI_ABORT" not in told


def test_values_that_are_printed_twice_have_numbers():
    actions = ["--print=v@0,0,1,1", "--launch=main", "--print=v@0,0,1,1", "--print=n"]
    text = "v@0,0: 1 2\nhello: 3\nv@0,0: 1.5 x\nn@0,0: 7\nother@0,0: 8\nv@0,0: 9\n"
    assert wse_sweep.program.printed_values(text, actions) == {
        "v@0,0": [1, 2], "v@0,0#2": [1.5, "x"], "n@0,0": 7, "v@0,0#3": 9}


def test_values_may_stand_behind_their_option_and_names_have_points(tmp_path):
    """As wse-emu takes them; a file of --h2d counts in both forms, its name may have a '='."""
    text = "v@0,0: 1 2\nreduce.buf@0,0: 3\nother@0,0: 4\n"
    assert wse_sweep.program.printed_values(text, ["--print", "v:2@0,0,1,1", "--print=reduce.buf"]) == {
        "v@0,0": [1, 2], "reduce.buf@0,0": 3}
    (tmp_path / "a=1.npy").write_text("")
    (tmp_path / "b.npy").write_text("")
    program = wse_sweep.Program("layout.csl", folder=str(tmp_path))
    assert [os.path.basename(path) for path in program._inputs(
        ["--h2d", "v@0,0,1,1=a=1.npy", "--h2d=w=b.npy", "--h2d=x=1,2", "--run"])] == [
            "a=1.npy", "b.npy"]


def test_a_file_that_changes_during_a_compilation_holds_for_none(tmp_path):
    """The compiler may have read it before."""
    source = tmp_path / "a.csl"
    source.write_text("const a = 1;\n")
    written = os.stat(source).st_mtime_ns
    assert wse_sweep.program._digest_before(source, written + 1) == wse_sweep.kept.digest_of(source)
    assert wse_sweep.program._digest_before(source, written) != wse_sweep.kept.digest_of(source)
