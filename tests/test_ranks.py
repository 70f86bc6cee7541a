"""One program on several processes: everything that a run shows is as on one.  The fabrics of
tests/test_machine_oracle.py run on several as well, as threads of the test's driver; here are the
command line, host scripts, files, and MPI itself."""
import shutil

import pytest

import harness
import hazard_run
import ranks_run

pytestmark = pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")

PROGRAMS = {
    "gemv": ("samples/gemv/layout.csl", {"width": 3, "height": 5, "M": 15, "N": 6},
             ["--trace", "--trace-file={out}/t.txt", "--d2h=y@2,0,1,5={out}/y.npy", "--print=y@2,0,1,5"]),
    "wafer": ("tests/bench/wafer/layout.csl", {"width": 4, "height": 41, "B": 9},
              ["--d2h=sum@0,0,1,1={out}/sum.npy", "--profile={out}/p.txt"]),
    "packets": ("samples/packets/layout.csl", {"packets": 5}, ["--trace=all", "--trace-file={out}/t.txt"]),
}


def compiled(name, tmp_path):
    source, params, args = PROGRAMS[name]
    harness.compile(source, tmp_path / "p.bin", params=params)
    return tmp_path / "p.bin", args


@pytest.mark.parametrize("name", PROGRAMS)
def test_everything_is_as_on_one_process(name, tmp_path):
    image, args = compiled(name, tmp_path)
    alone = ranks_run.outcome(tmp_path, 0, image, args)
    assert ranks_run.outcome(tmp_path, 3, image, args) == alone


def test_threads_inside_processes(tmp_path):
    image, args = compiled("wafer", tmp_path)
    alone = ranks_run.outcome(tmp_path, 0, image, args)
    assert ranks_run.outcome(tmp_path, 2, image, [*args, "--threads=2"]) == alone


@pytest.mark.parametrize("name", ["missing_receiver", "failed_assert", "two_senders"])
def test_reports_are_as_on_one_process(name, tmp_path):
    hazard = hazard_run.read(hazard_run.FOLDER / name)
    text = hazard_run.report(hazard, "fast", tmp_path)
    ran = ranks_run.emu(2, tmp_path / f"{name}.bin", *hazard.options, expect=hazard.exit_code)
    assert ranks_run.without_mpirun(ran.err) == text


def test_what_tiles_have_left_is_as_on_one_process(tmp_path):
    """Nothing waits at the tiles any more, also at those of other processes."""
    folder = harness.ROOT / "tests/mistakes/handler_without_exit"
    (tmp_path / "pe.csl").write_text((folder / "pe.csl").read_text())
    text = (folder / "layout.csl").read_text().replace("@set_rectangle(1, 1)", "@set_rectangle(1, 3)")
    for line in text.splitlines():
        if "(0, 0, " in line:
            text = text.replace(line, "\n".join(line.replace("(0, 0, ", f"(0, {y}, ") for y in range(3)))
    (tmp_path / "layout.csl").write_text(text)
    harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin")
    alone = harness.emu(tmp_path / "p.bin").err
    assert "P0.0: the run ends, and a color is still torn down" in alone
    assert "likewise at P0.1, P0.2" in alone
    assert ranks_run.without_mpirun(ranks_run.emu(3, tmp_path / "p.bin").err) == alone


def test_memory_falls_with_the_number_of_processes(tmp_path):
    harness.compile("tests/bench/wafer/layout.csl", tmp_path / "p.bin",
                    params={"width": 200, "height": 300, "B": 2})
    peaks = []
    for processes in (1, 2):
        ranks_run.emu(processes, tmp_path / "p.bin", f"--stats={tmp_path}/s.json")
        peaks.append(harness.stats(tmp_path / "s.json")["peak_rss_bytes"])
    assert peaks[1] < 0.75 * peaks[0]      # MPI itself takes some


def test_what_needs_one_process_says_so(tmp_path):
    """The message ranks_refuse."""
    image, _ = compiled("gemv", tmp_path)
    ran = ranks_run.emu(2, image, "--engine=reference", expect=1)
    assert "the reference engine runs programs on one process only" in ran.err
    ran = ranks_run.run(2, harness.tool("wse-dbg"), image, "-x", "/dev/null", expect=1)
    assert "the debugger runs programs on one process only" in ran.err


def test_a_build_without_mpi_says_so(tmp_path):
    """The message ranks_broken: the module is not beside the program."""
    image, _ = compiled("gemv", tmp_path)
    lonely = shutil.copy(harness.tool("wse-emu"), tmp_path / "wse-emu")
    ran = ranks_run.run(2, lonely, image, expect=1)
    assert "mpirun has started several processes, but this build has no support for MPI" in ran.err


SCRIPT = """
import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime, MemcpyDataType, MemcpyOrder
print("one script")
runner = SdkRuntime("out")
runner.load()
runner.run()
symbol = runner.get_id("data")
kinds = dict(streaming=False, order=MemcpyOrder.ROW_MAJOR, data_type=MemcpyDataType.MEMCPY_32BIT,
             nonblock=False)
data = np.arange(3 * 4 * 5, dtype=np.uint32)
runner.memcpy_h2d(symbol, data, 0, 0, 3, 4, 5, **kinds)
runner.launch("double", nonblock=False)
back = np.zeros(3 * 4 * 5, np.uint32)
runner.memcpy_d2h(back, symbol, 0, 0, 3, 4, 5, **kinds)
runner.stop()
assert np.array_equal(back, 2 * data), back
print("SUCCESS")
"""
LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 3, .height = 4 });
layout {
  @set_rectangle(3, 4);
  for (@range(u16, 3)) |x| {
    for (@range(u16, 4)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpy_params = memcpy.get_params(x) });
    }
  }
  @export_name("data", [*]u32, true);
  @export_name("double", fn () void);
}
"""
TILE = """
param memcpy_params: comptime_struct;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var data: [5]u32;
var data_ptr: [*]u32 = &data;
fn double() void {
  for (@range(u16, 5)) |i| { data[i] *= 2; }
  sys_mod.unblock_cmd_stream();
}
comptime {
  @export_symbol(data_ptr, "data");
  @export_symbol(double);
}
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_host_script_runs_once(processes, tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(TILE)
    (tmp_path / "run.py").write_text(SCRIPT)
    harness.cslc("layout.csl", "--fabric-dims=10,6", "--fabric-offsets=4,1", "--memcpy",
                 "--channels=1", "-o", "out", cwd=tmp_path)
    ran = ranks_run.run(processes, harness.tool("cs_python"), "run.py", cwd=tmp_path)
    assert ran.out == "one script\nSUCCESS\n"


def test_a_dead_process_ends_all(tmp_path):
    """Promptly, with a message and an exit code."""
    harness.compile("tests/bench/wafer/layout.csl", tmp_path / "p.bin",
                    params={"width": 100, "height": 120, "B": 3000})
    ranks_run.check_dead_process_ends_all(tmp_path / "p.bin")
