"""A loop's last branch goes back to its body, wherever the way out of it leads."""
import numpy
import pytest

import harness

PE = """
var kind: u16 = 0;
var turns: u16 = 0;
var sums = @zeros([3]i16);
var sums_words: [*]i16 = &sums;
task compute() void {
  var i: u16 = 0;
  if (kind == 0) {
    while (i != turns) : (i += 1) { sums[0] ^= @as(i16, i); }
  } else if (kind == 1) {
    while (i != turns) : (i += 1) { sums[1] ^= @as(i16, i); }
  } else {
    while (i != turns) : (i += 1) { sums[2] ^= @as(i16, i); }
  }
}
comptime {
  @export_symbol(kind);
  @export_symbol(turns);
  @export_symbol(sums_words, "sums");
  @bind_local_task(compute, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
"""
LAYOUT = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @export_name("kind", u16, true);
  @export_name("turns", u16, true);
  @export_name("sums", [*]i16, true);
}
"""


def run_loop(folder, kind, turns):
    """Cycles of one of three loops; its result is checked."""
    for name, value in (("kind", kind), ("turns", turns)):
        harness.save_npy(folder / f"{name}.npy", numpy.full((1, 1, 1), value, "uint16"))
    harness.emu(folder / "o.bin", *(f"--h2d={name}={folder / name}.npy" for name in ("kind", "turns")),
                "--run", f"--d2h=sums={folder / 'sums.npy'}",
                f"--stats={folder / 's.json'}")
    wanted = [0, 0, 0]
    for i in range(turns):
        wanted[kind] ^= i
    assert harness.load_npy(folder / "sums.npy").ravel().tolist() == wanted
    return harness.stats(folder / "s.json")["cycles"]


@pytest.mark.parametrize("level", ["-O1", "-O2"])
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_loops_with_a_common_way_out_take_the_same_per_turn(tmp_path, arch, level):
    """Only one of the loops stands in front of what follows all three."""
    (tmp_path / "pe.csl").write_text(PE)
    (tmp_path / "layout.csl").write_text(LAYOUT)
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", level, f"--arch={arch}")
    per_turn = [(run_loop(tmp_path, kind, 140) - run_loop(tmp_path, kind, 40)) / 100
                for kind in range(3)]
    assert per_turn[0] == per_turn[1] == per_turn[2]
