"""A caller of libwse that runs a program in parts gets the statistics of one run."""
import ctypes
import json

import pytest

import harness

LAYOUT = 'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }\n'
TILE = """export var n: i32 = 0;
const main_id = @get_local_task_id(8);
task main() void { while (n < 50) { n += 1; } }
comptime { @bind_local_task(main, main_id); @activate(main_id); }
"""


def statistics_of(image, step):
    lib = ctypes.CDLL(str(harness.bin_dir().parent / "lib" / "libwse.so"))
    lib.wse_statistics.restype = ctypes.c_char_p
    lib.wse_cycle.restype = ctypes.c_uint64
    program = ctypes.c_void_p()
    assert lib.wse_open(str(image).encode(), None, ctypes.byref(program)) == 0
    before = None
    while lib.wse_cycle(program) != before:
        before = lib.wse_cycle(program)
        assert lib.wse_run(program, ctypes.c_uint64(step)) == 0
    assert lib.wse_finish(program) == 0
    stats = json.loads(lib.wse_statistics(program))
    lib.wse_close(program)
    return stats


@pytest.mark.parametrize("step", (1, 10, 333))
def test_parts_count_as_one_run(tmp_path, step):
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(TILE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "a.bin")
    whole, parts = (statistics_of(tmp_path / "a.bin", n) for n in (0, step))
    assert whole["cycles"] > 500
    assert parts["cycles"] == whole["cycles"]
    assert [p["cycles"] for p in parts["phases"] if p["cycles"]] == [whole["cycles"]]
