"""Loops that set arrays to constants leave the same memory at every level: at -O1 some become calls
(pass fill), which may not change the order of stores to the same place."""
import pytest

import harness

LAYOUT = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @export_name("main", fn() void);
  @export_name("x", [*]i16, true);
  @export_name("y", [*]i16, true);
}
"""

LOOPS = {
    "one": ("x[i] = 0;", lambda x, y, i: x.__setitem__(i, 0)),
    "equal bytes": ("x[i] = -1; x[i + 2] = -1;",
                    lambda x, y, i: (x.__setitem__(i, -1), x.__setitem__(i + 2, -1))),
    "overlapping": ("x[i] = 0; x[i + 1] = -1;",
                    lambda x, y, i: (x.__setitem__(i, 0), x.__setitem__(i + 1, -1))),
    "two arrays": ("x[i] = 0; y[i] = -1;",
                   lambda x, y, i: (x.__setitem__(i, 0), y.__setitem__(i, -1))),
    "a pointer": ("p[i] = 0; x[i + 3] = -1;",
                  lambda x, y, i: (x.__setitem__(i + 1, 0), x.__setitem__(i + 3, -1))),
}


@pytest.mark.parametrize("turns", ["20", "n"])
@pytest.mark.parametrize("loop", LOOPS)
def test_fills_keep_the_order_of_stores(tmp_path, loop, turns):
    code, step = LOOPS[loop]
    (tmp_path / "layout.csl").write_text(LAYOUT)
    (tmp_path / "pe.csl").write_text(f"""
var x = @constants([26]i16, 7);
var y = @constants([26]i16, 7);
var px: [*]i16 = &x;
var py: [*]i16 = &y;
var n: i16 = 20;
var p: [*]i16 = &x;
fn main() void {{
  n = n + 0;
  p = p + 1;
  for (@range(i16, {turns})) |i| {{ {code} }}
}}
comptime {{ @export_symbol(main); @export_symbol(px, "x"); @export_symbol(py, "y"); }}
""".replace("p = p + 1;", "p = @ptrcast([*]i16, &x[1]);"))
    x, y = [7] * 26, [7] * 26
    for i in range(20):
        step(x, y, i)
    for arch in ("wse2", "wse3"):
        for level in (0, 1, 2):
            harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "p.bin", f"--arch={arch}",
                         f"-O{level}")
            out = harness.emu(tmp_path / "p.bin", "--launch=main", "--print=x", "--print=y").out
            wants = [f"{name}@0,0: {' '.join(map(str, values))}"
                     for name, values in (("x", x), ("y", y))]
            assert out.splitlines()[-2:] == wants, (arch, level)
