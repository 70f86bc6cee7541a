"""<blas/gemm> on emulated tiles against numpy."""
import random

import pytest

import harness
from blas_run import F16, F16_F32, F32, Case, check

# Odd on purpose: parts that do not divide, more tiles than rows, columns or inner elements.  The
# scaled ones go by gemm.start_scaled, the others by gemm.start.
CASES = [
    Case(1, 1, 1, 1, 1), Case(17, 5, 9, 3, 2), Case(3, 2, 40, 5, 4, arch="wse3"),
    Case(20, 33, 7, 2, 5, F16_F32), Case(11, 13, 17, 4, 4, F32, arch="wse3"),
    Case(8, 8, 100, 3, 1, F32), Case(5, 64, 3, 1, 6, F16_F32, arch="wse3"),
    Case(9, 10, 11, 3, 3, F16, 1, alpha=-0.5, beta=2.0),
    Case(30, 7, 12, 2, 3, F16_F32, 1, "wse3", alpha=3.0, beta=-1.0),
    Case(6, 25, 31, 6, 2, F32, 1, alpha=0.25, beta=0.5),
]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.M}x{c.N}x{c.K} on {c.width}x{c.height}")
def test_gemm(tmp_path, case, engine):
    case = Case(**{**vars(case), "engine": engine})
    check(tmp_path, case, seed=case.M * 1000 + case.N)


VECTORS = [Case(1, 1, 1, 1, 1), Case(13, 9, 7, 3, 2), Case(5, 40, 11, 2, 6, F16_F32, arch="wse3"),
           Case(30, 3, 9, 4, 4, F32, 1, alpha=0.5, beta=-2.0), Case(7, 26, 20, 2, 1, F16, 1, "wse3")]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", VECTORS, ids=lambda c: f"{c.M}x{c.N}x{c.K} on {c.width}x{c.height}")
def test_by_vectors(tmp_path, case, engine):
    """blas.gemm_summa with <blas/summa>: summa.run and summa.run_scaled."""
    case = Case(**{**vars(case), "engine": engine})
    result = check(tmp_path, case, seed=case.M, algorithm=1)
    assert result.shape.kb == 1


def test_one_more_operation_costs_its_groups(tmp_path):
    """Eight more columns of C add eight operations to each step: 2 cycles each at 8 elements and 4 at
    16, as the differences between rows of the paper's Table I say; and what B's words take to come."""
    for rows, cycles in ((8, 2), (16, 4)):
        narrow, wide = (check(tmp_path, Case(4 * rows, 4 * columns, 64, 4, 4), 1, algorithm=1).cycles
                        for columns in (8, 16))
        per_step = (wide - narrow) / 64
        assert 8 * cycles <= per_step <= 8 * cycles + 8


def test_both_engines_take_the_same_cycles(tmp_path):
    draw = random.Random(7)
    for _ in range(3):
        sizes = [draw.randint(1, 40) for _ in range(3)]
        cycles = [check(tmp_path, Case(*sizes, 3, 2, engine=engine), 1).cycles
                  for engine in ("fast", "reference")]
        assert cycles[0] == cycles[1], sizes


def test_too_large(tmp_path):
    done = harness.compile("stdlib/blas/program.csl", tmp_path / "o.bin", expect=1, params={
        "M": 200, "N": 200, "K": 200, "width": 1, "height": 1})
    assert "bytes more than a tile has" in done.err


PLACED = """
const blas = @import_module("<blas/layout>", .{ .data_bytes = 20000 });
const plan = blas.gemm_summa_block(.{
  .M = 6, .N = 5, .K = 7, .width = 2, .height = 2, .T = f32, .S = f32, .scaled = false
});
layout {
  @set_rectangle(4, 3);
  for (@range(u16, 4)) |x| {
    for (@range(u16, 3)) |y| {
      if (x == 0 or x == 3 or y == 0) {
        @set_tile_code(x, y, "other.csl", .{});
      } else {
        @set_tile_code(x, y, "pe.csl", .{ .role = blas.gemm_tile(
          x, y, plan, x - 1, y - 1, [2]color{ @get_color(4), @get_color(5) }) });
      }
    }
  }
  @export_name("C", [*]f32, true);
}
"""

TILE = """
param role: comptime_struct;
const gemm = @import_module("<blas/gemm>", .{ .role = role, .done_task = 20, .step_task = 21 });
const a = @constants([100]f32, 2.0);
task again() void { }
task main() void {
  for (@range(u16, role.plan.a_panels * role.plan.a_panel)) |i| { gemm.A[i] = 2.0; }
  for (@range(u16, role.plan.b_panels * role.plan.b_panel)) |i| { gemm.B[i] = 3.0; }
  gemm.start();
}
comptime {
  @bind_local_task(main, @get_local_task_id(22));
  @bind_local_task(again, @get_local_task_id(20));
  @activate(@get_local_task_id(22));
  @export_symbol(gemm.C, "C");
}
"""


def test_part_of_a_program(tmp_path):
    """A rectangle inside the program's, colors and tasks of one's own; constant matrices whose
    padding is not zero, so K is that of whole panels."""
    (tmp_path / "layout.csl").write_text(PLACED)
    (tmp_path / "pe.csl").write_text(TILE)
    (tmp_path / "other.csl").write_text("comptime {}\n")
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin")
    done = harness.emu(tmp_path / "o.bin", "--print=C:9@1,1,2,2")
    found = harness.values(done.out, "C")
    assert len(found) == 4 and all(set(block) == {6.0 * 8} for block in found.values())
