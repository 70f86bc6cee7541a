"""A host script that fails: warnings about what the tiles have lost stand beside the script's
exception, which stays the one that is raised; nothing runs on for it."""
import pytest

import harness
import host_run

LAYOUT = """
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("total", [*]u32, false);
  @export_name("sum", fn()void);
  @export_name("spin", fn()void);
  @export_name("long", fn()void);
}
"""
# The FIFO holds four of the six words, and nothing looks at what the operation returns.
PE = """
param memcpy_params;
const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
var room = @zeros([4]u32);
const line = @allocate_fifo(room);
var word = @zeros([1]u32);
const word_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> word[i] });
var total = @zeros([1]u32);
const total_ptr: [*]u32 = &total;
const again_id = @get_local_task_id(9);
fn put(value: u32) void { @mov32(line, value); }
fn sum() void {
  for (@range(u32, 6)) |i| { put(i); }
  while (@mov32(word_dsd, line)) { total[0] += word[0]; }
  sys_mod.unblock_cmd_stream();
}
task again() void { total[0] += 1; @activate(again_id); }
fn spin() void { put(1); put(2); put(3); put(4); put(5); @activate(again_id); }
fn long() void {
  for (@range(u32, 4000000000)) |i| { total[0] ^= total[0] * 3 + i; }
  sys_mod.unblock_cmd_stream();
}
comptime {
  @bind_local_task(again, again_id);
  @export_symbol(total_ptr, "total");
  @export_symbol(sum);
  @export_symbol(spin);
  @export_symbol(long);
}
"""
READ = """
total = np.zeros(1, np.uint32)
r.memcpy_d2h(total, r.get_id("total"), 0, 0, 1, 1, 1, data_type=WIDE, **COPY)
"""
IMPORTS = host_run.PREAMBLE[:host_run.PREAMBLE.index("\nr = SdkRuntime")]


@pytest.fixture(scope="module", params=("wse2", "wse3"))
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"failed_{request.param}")
    return host_run.build(folder, LAYOUT, PE, arch=request.param, params={})


def failed(program, text, env=None):
    """What a script has printed that must fail."""
    (program / "run.py").write_text(text)
    return harness.run([harness.tool("cs_python"), "run.py"], cwd=program, expect=1, env=env).err


def inside(text):
    return "".join(f"  {line}\n" for line in text.strip().splitlines())


def test_the_context_tells_what_was_lost(program):
    err = failed(program, IMPORTS + 'with SdkRuntime("out") as r:\n'
                 + inside("r.launch('sum', nonblock=False)" + READ + "assert total[0] == 15"))
    assert err.count("elements are lost: an operation has found its FIFO full") == 1, err
    assert "[FIFO_FULL]" in err and "pe.csl" in err
    assert err.rstrip().endswith("AssertionError")


def test_a_script_without_a_context_is_told_the_same(program):
    err = failed(program, host_run.PREAMBLE + "r.launch('sum', nonblock=False)" + READ
                 + "assert total[0] == 15\n")
    assert err.count("[FIFO_FULL]") == 1, err
    assert "AssertionError" in err and "stop()" not in err


def test_the_exception_stays_the_one_that_is_raised(program):
    """Also where the script makes errors of warnings."""
    err = failed(program, IMPORTS + """
import warnings
warnings.simplefilter("error")
try:
  with SdkRuntime("out") as r:
    r.launch("sum", nonblock=False)
    raise KeyError("of the script")
except KeyError as error:
  assert error.args == ("of the script",)
  assert "after stop()" in message(r.launch, "sum")
  raise SystemExit(1)
""")
    assert err.count("[FIFO_FULL]") == 1, err


def test_nothing_runs_on(program):
    """A task that activates itself for ever, and commands for which no call has waited."""
    err = failed(program, IMPORTS + """
try:
  with SdkRuntime("out") as r:
    r.launch("sum", nonblock=False)
    cycle = wse_lib.load().wse_cycle(r._handle)
    r.launch("spin", nonblock=True)
    raise KeyError("of the script")
except KeyError as error:
  assert wse_lib.load().wse_cycle(r._handle) == cycle
  raise SystemExit(1)
""", env={"WSE_MAX_CYCLES": str(2 ** 62)})
    assert err.count("[FIFO_FULL]") == 1 and "Traceback" not in err, err


def test_statistics_of_a_failed_script_are_whole(program):
    failed(program, IMPORTS + """
with SdkRuntime("out", wse_args="--stats=s.json") as r:
  r.launch("sum", nonblock=False)
  assert False
""")
    assert '"cycles"' in (program / "s.json").read_text()


def test_an_exit_of_the_script_is_told_too(program):
    err = failed(program, IMPORTS + """
import sys
with SdkRuntime("out") as r:
  r.launch("sum", nonblock=False)
  sys.exit(1)
""")
    assert err.count("[FIFO_FULL]") == 1 and "stop()" not in err, err


def test_a_call_of_another_thread_is_not_waited_for(program):
    err = failed(program, IMPORTS + """
import threading, time
with SdkRuntime("out") as r:
  other = threading.Thread(target=lambda: r.launch("long", nonblock=False), daemon=True)
  other.start()
  while wse_lib.load().wse_cycle(r._handle) == 0:
    time.sleep(0.01)
  raise KeyError("of the script")
""", env={"WSE_MAX_CYCLES": str(2 ** 62)})
    assert "KeyError: 'of the script'" in err, err


def test_words_for_the_host_that_are_left(tmp_path):
    """At rest, the warnings are those of stop()."""
    host_run.build(tmp_path)
    err = failed(tmp_path, IMPORTS + """
with SdkRuntime("out") as r:
  stream = dict(streaming=True, order=MemcpyOrder.ROW_MAJOR, data_type=WIDE, nonblock=False)
  back = np.zeros(2, np.uint32)
  r.memcpy_h2d(4, np.arange(6, dtype=np.uint32), 1, 1, 2, 1, 3, **stream)
  r.memcpy_d2h(back, 5, 1, 1, 2, 1, 1, **stream)
  raise KeyError("of the script")
""")
    assert "[stream_untaken]" in err and err.rstrip().endswith("KeyError: 'of the script'"), err
