"""<blas/gemm> on emulated tiles against numpy."""
import random

import numpy
import pytest

import blas_run
import gemm_table
import harness
from blas_run import (A_STAYS, B_STAYS, BF16, BF16_F32, C_STAYS, F16, F16_F32, F32, MASTER, MASTER_BLOCK,
                      SUMMA, SUMMA_BLOCK, Case, check)

def in_words(case):
    return f"{case.M}x{case.N}x{case.K} on {case.width}x{case.height}"


# Odd on purpose: parts that do not divide, more tiles than rows, columns or inner elements.  The
# scaled ones go by gemm.start_scaled, the others by gemm.start.
CASES = [
    Case(1, 1, 1, 1, 1), Case(17, 5, 9, 3, 2), Case(3, 2, 40, 5, 4, arch="wse3"),
    Case(20, 33, 7, 2, 5, F16_F32), Case(11, 13, 17, 4, 4, F32, arch="wse3"),
    Case(8, 8, 100, 3, 1, F32), Case(5, 64, 3, 1, 6, F16_F32, arch="wse3"),
    Case(9, 10, 11, 3, 3, F16, 1, alpha=-0.5, beta=2.0),
    Case(30, 7, 12, 2, 3, F16_F32, 1, "wse3", alpha=3.0, beta=-1.0),
    Case(6, 25, 31, 6, 2, F32, 1, alpha=0.25, beta=0.5),
    Case(12, 7, 15, 2, 3, BF16), Case(9, 14, 33, 3, 2, BF16_F32, 1, "wse3", alpha=0.5, beta=1.5),
]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", CASES, ids=in_words)
def test_gemm(tmp_path, case, engine):
    case = Case(**{**vars(case), "engine": engine})
    check(tmp_path, case, seed=case.M * 1000 + case.N)


@pytest.mark.parametrize("case", CASES[-4:], ids=in_words)
def test_operands_have_the_lengths_of_their_operations(tmp_path, case):
    check(tmp_path, case, seed=1, emu=("--check=lengths",))


def test_random_products(tmp_path):
    """The short form of the claim gemm_shapes."""
    shapes, right = harness.claim("gemm_shapes"), 0
    for i in range(10):
        case = shapes.random_case(harness.commit_random(f"product {i}"))
        right += shapes.outcome(tmp_path, case, i) == "right"
    assert right > 2


# gemm_summa_block, gemm_summa, gemm_master_block and gemm_master of <blas/layout>.
BY_NAME = [
    Case(1, 1, 1, 1, 1, algorithm=SUMMA), Case(13, 9, 7, 3, 2, algorithm=SUMMA),
    Case(5, 40, 11, 2, 6, F16_F32, arch="wse3", algorithm=SUMMA),
    Case(30, 3, 9, 4, 4, F32, 1, alpha=0.5, beta=-2.0, algorithm=SUMMA),
    Case(7, 26, 20, 2, 1, F16, 1, "wse3", algorithm=SUMMA),
    Case(12, 18, 30, 4, 3, algorithm=SUMMA_BLOCK),
    Case(4, 236, 58, 1, 4, algorithm=SUMMA_BLOCK),     # one step of wide panels
    Case(9, 201, 59, 1, 8, arch="wse3", algorithm=SUMMA_BLOCK),     # more updates than operations
    Case(1, 1, 1, 1, 1, algorithm=MASTER_BLOCK), Case(13, 30, 11, 1, 3, algorithm=MASTER_BLOCK),
    Case(13, 30, 11, 2, 3, F16, 0, "wse3", algorithm=MASTER_BLOCK),
    Case(3, 3, 40, 7, 6, algorithm=MASTER_BLOCK),
    Case(13, 30, 11, 5, 3, F16_F32, 1, "wse3", alpha=0.5, beta=2.0, algorithm=MASTER_BLOCK),
    Case(50, 12, 40, 6, 2, algorithm=MASTER_BLOCK), Case(17, 64, 12, 3, 2, F32, algorithm=MASTER_BLOCK),
    Case(13, 30, 11, 4, 3, F32, 1, alpha=-1.0, beta=3.0, algorithm=MASTER),
    Case(10, 9, 11, 3, 3, F16_F32, algorithm=MASTER),
]


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("case", BY_NAME, ids=in_words)
def test_algorithms(tmp_path, case, engine):
    result = check(tmp_path, Case(**{**vars(case), "engine": engine}), seed=case.M)
    assert result.shape.algorithm == case.algorithm
    assert (result.shape.nb != 0) == (case.algorithm in (MASTER, MASTER_BLOCK))
    if case.algorithm in (SUMMA, MASTER):
        assert 1 in (result.shape.kb, result.shape.nb)


def program_with(folder, plan, kb, chunk, parts):
    """<blas/program> with the panels of that plan instead of the best ones."""
    text = blas_run.PROGRAM.read_text()
    head, given, rest = text.partition("blas.gemm(.{")
    options, end, rest = rest.partition("});")
    assert given and end
    program = folder / "program.csl"
    program.write_text(f"{head}blas.with_panels(.{{{options}}}, blas.algorithm.{plan}, {kb}, {chunk}, {parts});{rest}")
    return program


# One step; parts alone; chunks in one slot and in two, an odd and an even number of them.
@pytest.mark.parametrize("chunk, parts", [
    (30, 1), (30, 2), (30, 4), (29, 1), (20, 3), (16, 4), (7, 1), (7, 2), (9, 3), (8, 4), (5, 4), (1, 1)])
@pytest.mark.parametrize("case", [Case(11, 8, 120, 3, 2), Case(9, 7, 120, 2, 3, F32, 1, alpha=0.5, beta=2.0),
                                  Case(8, 6, 120, 2, 3)],
                         ids=in_words)
def test_steps(tmp_path, case, chunk, parts):
    """Steps of any plan, also with operations of one group on pairs of columns."""
    kb = 4
    result = check(tmp_path, case, seed=5, program=program_with(tmp_path, "summa_block", kb, chunk, parts))
    assert result.shape.panels == 30 and result.shape.kb == kb


@pytest.mark.parametrize("case, algorithm", [
    (Case(13, 30, 11, 5, 3, stationary=A_STAYS), MASTER_BLOCK),
    (Case(13, 30, 11, 5, 3, F16_F32, 1, alpha=2.0, beta=-1.0, stationary=B_STAYS), MASTER_BLOCK),
    (Case(13, 30, 11, 5, 3, stationary=C_STAYS), SUMMA_BLOCK),
    (Case(13, 30, 11, 5, 3, stationary=B_STAYS, algorithm=MASTER, arch="wse3"), MASTER),
    (Case(13, 30, 11, 5, 3, stationary=B_STAYS, streamed=1), MASTER_BLOCK)])
def test_stationary(tmp_path, case, algorithm):
    assert check(tmp_path, case, seed=2).shape.algorithm == algorithm


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("case", [
    Case(13, 30, 11, 5, 3, algorithm=MASTER_BLOCK), Case(21, 14, 40, 3, 4, F32),
    Case(13, 3, 11, 5, 3, F16_F32, 1, alpha=2.0, beta=-1.0, algorithm=SUMMA)])
def test_streamed(tmp_path, case, arch):
    """B's panels come from a row of tiles above (<blas/feeder>), which holds all of them."""
    check(tmp_path, Case(**{**vars(case), "arch": arch, "streamed": 1}), seed=3)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", [F16, F16_F32, F32, BF16, BF16_F32], ids=blas_run.NAMES.__getitem__)
@pytest.mark.parametrize("alpha, beta", [(0.0, 2.0), (0.5, 0.0), (0.0, 0.0)])
def test_what_a_zero_multiplies_is_not_read(tmp_path, arch, element, alpha, beta):
    """As in BLAS: C may be NaN if beta is 0, A and B if alpha is."""
    case = Case(7, 6, 5, 2, 3, element, 1, arch, alpha=alpha, beta=beta)
    A, B, C = blas_run.matrices(case, seed=1)
    wanted = alpha * (A.astype(float) @ B.astype(float)) + beta * C.astype(float)
    most = blas_run.bound(case, A, B, C)
    if alpha == 0:
        A[:], B[0] = numpy.nan, numpy.inf
    if beta == 0:
        C[:] = numpy.nan
    found = blas_run.run(tmp_path, case, A, B, C).C.astype(float)
    assert (numpy.abs(found - wanted) <= most).all()


@pytest.mark.parametrize("case, algorithm", [
    (Case(48, 48, 48, 3, 3), SUMMA_BLOCK),
    (Case(360, 10, 360, 5, 5), MASTER_BLOCK),      # panels of A take longer to come than to use
    (Case(32, 64, 8, 8, 8, F16_F32, arch="wse3"), SUMMA_BLOCK)])
def test_choice(tmp_path, case, algorithm):
    """auto takes what fits and is faster by the model; here the faster one is that in fact, too."""
    chosen = check(tmp_path, case, seed=4)
    assert chosen.shape.algorithm == algorithm
    other = MASTER_BLOCK if algorithm == SUMMA_BLOCK else SUMMA_BLOCK
    try:
        slower = check(tmp_path, Case(**{**vars(case), "algorithm": other}), seed=4)
    except AssertionError as failure:
        assert "bytes more than a tile has" in str(failure)
    else:
        assert chosen.cycles < slower.cycles


@pytest.mark.parametrize("case", [
    Case(103, 21, 152, 11, 2, F32, algorithm=SUMMA),     # long columns
    Case(38, 120, 12, 12, 12, algorithm=SUMMA)], ids=in_words)     # many tiles have a turn
def test_own_panels_come_the_faster_way(tmp_path, case):
    taken = check(tmp_path, case, seed=1).cycles
    ways = [blas_run.cycles_with(blas_run.library_with_own_panels(tmp_path / str(way), way), tmp_path, case)
            for way in (True, False)]
    assert taken == min(ways) < max(ways)


def test_a_column_of_master_takes_the_published_cycles(tmp_path):
    """Per column of B, with many rows of A and few columns: what is behind the multiplications counts."""
    row = gemm_table.ROWS[-1]
    few, many = (check(tmp_path, Case(row.M // row.tiles, N, row.K, row.tiles, 1, algorithm=MASTER),
                       seed=N).cycles for N in (4 * row.tiles, 8 * row.tiles))
    assert (many - few) / (4 * row.tiles) == pytest.approx(row.master / row.N, rel=0.1)


@pytest.mark.parametrize("options, text", [
    ({"algorithm": SUMMA, "stationary": A_STAYS}, "SUMMA moves A and B: its stationary matrix is c"),
    ({"algorithm": MASTER, "stationary": C_STAYS},
     "MASTER moves the sums of C: its stationary matrix is a or b")])
def test_contradictions(tmp_path, options, text):
    done = harness.compile(blas_run.PROGRAM, tmp_path / "o.bin", expect=1,
                           params={"M": 4, "N": 4, "K": 4, "width": 1, "height": 1, **options})
    assert text in done.err


LAYOUT = """
const blas = @import_module("<blas/{module}>");
const plan = blas.{operation}(.{{ {plan} }});
layout {{
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {{
    @set_tile_code(x, 0, "pe.csl", .{{
      .role = blas.{operation}_tile(x, 0, plan, x, 0, [{colors}]color{{ {list} }}) }});
  }}
}}
"""
GOOD = {"M": 4, "N": 4, "K": 4, "width": 2, "height": 1, "T": "f16", "S": "f16", "scaled": "false"}


@pytest.mark.parametrize("wrong, text", [
    ({"M": 0}, "the plan's M is 0: take 1 or more"), ({"N": -3}, "the plan's N is -3: take 1 or more"),
    ({"width": 0}, "the plan's width is 0: take"), ({"height": 0}, "the plan's height is 0: take"),
    ({"T": "i16", "S": "i16"}, "the plan's T is a float type of 16 bits or f32"),
    ({"S": "i32"}, "the plan's S, the type of sums, is T or f32"),
    ({"T": "f32"}, "the plan's S, the type of sums, is T or f32"),
    ({"width": 1}, "tile (1, 0) is outside the plan's rectangle, which is 1 x 1 tiles: give it no role"),
    ({"width": 3}, "the plan's 3 columns begin at 0, and the program's rectangle has 2: its other tiles "
                   "would wait for ever; make the plan's width smaller"),
    ({"height": 2}, "the plan's 2 rows begin at 0, and the program's rectangle has 1: its other"),
    ({"sclaed": "true"}, "has no field 'sclaed'"), ({}, None)])
@pytest.mark.parametrize("module, operation, colors", [("layout", "gemm", 5), ("vector_layout", "gemv", 6)])
def test_mistakes_of_plans(tmp_path, module, operation, colors, wrong, text):
    options = {**GOOD, **wrong}
    if operation == "gemv":
        del options["K"]
    (tmp_path / "layout.csl").write_text(LAYOUT.format(
        module=module, operation=operation, colors=colors,
        plan=", ".join(f".{name} = {value}" for name, value in options.items()),
        list=", ".join(f"@get_color({i})" for i in range(colors))))
    (tmp_path / "pe.csl").write_text("param role: comptime_struct;")
    done = harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", expect=1 if text else 0)
    assert not text or text in done.err


@pytest.mark.parametrize("queues, fits", [("2, 5", True), ("6, 3", False)])
def test_queues_of_a_number_share_a_microthread(tmp_path, queues, fits):
    """A tile sends its panels while others come in."""
    (tmp_path / "layout.csl").write_text(LAYOUT.format(
        module="layout", operation="gemm", colors=5,
        plan=", ".join(f".{name} = {value}" for name, value in GOOD.items()),
        list=", ".join(f"@get_color({i})" for i in range(5))))
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const gemm = @import_module("<blas/gemm>", .{{
  .role = role, .input_queues = [2]u16{{ 3, 4 }}, .output_queues = [2]u16{{ {queues} }} }});
task main() void {{ gemm.start(); }}
comptime {{ @bind_local_task(main, @get_local_task_id(9)); @activate(@get_local_task_id(9)); }}
""")
    done = harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", "--arch=wse3",
                           expect=0 if fits else 1)
    assert fits or "the output queues need other numbers than the input queues" in done.err
    assert done.err.count("error: ") == (not fits), done.err


@pytest.mark.parametrize("module, operation, colors, names", [
    ("layout", "gemm", 5, "M N K width height T S scaled"), ("vector_layout", "gemv", 6, "M T"),
    ("vector_layout", "ger", 2, "N width")])
def test_plans_without_a_member_that_they_need(tmp_path, module, operation, colors, names):
    """One error, which names it: everything in the plan depends on it."""
    (tmp_path / "pe.csl").write_text("param role: comptime_struct;")
    of_gemm = {"K", "S", "scaled"}
    for missing in names.split():
        (tmp_path / "layout.csl").write_text(LAYOUT.format(
            module=module, operation=operation, colors=colors,
            plan=", ".join(f".{name} = {value}" for name, value in GOOD.items()
                           if name != missing and (operation == "gemm" or name not in of_gemm)),
            list=", ".join(f"@get_color({i})" for i in range(colors))))
        done = harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", expect=1)
        assert done.err.count("error: ") == 1, done.err
        assert f"the plan needs the member '.{missing}', which it is not given" in done.err


@pytest.mark.parametrize("places, fits", [
    (".x = blas.x_on(1, 0), .y = blas.y_on(1, 0)", True), (".x = blas.along(0)", True),
    (".x = blas.y_on(0, 0)", False), (".y = blas.x_on(0, 0)", False)])
def test_a_place_of_the_other_vector(tmp_path, places, fits):
    """Its coordinates are swapped, so the vector would lie on another tile."""
    (tmp_path / "layout.csl").write_text(LAYOUT.format(
        module="vector_layout", operation="gemv", colors=6,
        plan=f".M = 4, .N = 4, .width = 2, .height = 1, .T = f16, {places}",
        list=", ".join(f"@get_color({i})" for i in range(6))))
    (tmp_path / "pe.csl").write_text("param role: comptime_struct;")
    done = harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", expect=0 if fits else 1)
    assert fits or "the place of x on one tile is x_on(px, py), that of y is y_on" in done.err
    assert done.err.count("error: ") == (not fits), done.err


VECTORS = """
const blas = @import_module("<blas/vector_layout>");
param width: u16;
layout {
  @set_rectangle(2, 1);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .role = blas.vector_tile(x, 0, width, 1, x, 0, [5]color{
      @get_color(0), @get_color(1), @get_color(2), @get_color(3), @get_color(4) }) });
  }
}
"""


@pytest.mark.parametrize("width, T, text", [
    (2, "f32", None), (3, "f32", "the plan's 3 columns begin at 0, and the program's rectangle has 2"),
    (2, "i16", "T, the type of elements, is f32 or the 16-bit float type")])
def test_mistakes_with_vectors(tmp_path, width, T, text):
    (tmp_path / "layout.csl").write_text(VECTORS)
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const vector = @import_module("<blas/vector>", .{{ .role = role, .T = {T} }});
var x = @zeros([4]{T});
var sum: f32 = 0.0;
task main() void {{ sum = vector.dot(4, &x, &x); }}
comptime {{ @bind_local_task(main, @get_local_task_id(20)); @activate(@get_local_task_id(20)); }}
""")
    done = harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", expect=1 if text else 0,
                           params={"width": width})
    assert not text or (text in done.err and done.err.count("error: ") == 1), done.err


@pytest.mark.parametrize("N, over", [(65, 464), (255, 139856)])
def test_streamed_panels_that_do_not_fit_on_the_feeder(tmp_path, N, over):
    """It holds a column of tiles' panels of B, and there may be more of them than 16 bits count."""
    done = harness.compile(blas_run.PROGRAM, tmp_path / "o.bin", expect=1, params={
        "M": 2, "N": N, "K": 352, "width": 1, "height": 21, "scaled": 1, "algorithm": MASTER_BLOCK,
        "streamed": 1})
    assert f"{over} bytes more than a tile has" in done.err


def drawn_row(purpose):
    return gemm_table.ROWS[int(harness.commit_random(purpose).integers(len(gemm_table.ROWS)))]


def is_on_the_page(line, name):
    return gemm_table.table_of([line]).splitlines()[0] in gemm_table.on_the_page(name).splitlines()


def test_a_row_of_the_page_is_what_the_product_takes(tmp_path):
    """The short form of the claim gemm_table."""
    _, _, line, of_limits = harness.claim("gemm_table").lines_of(drawn_row("row of gemm"), tmp_path)
    assert is_on_the_page(line, "gemm"), line
    assert is_on_the_page(of_limits, "limits"), of_limits


def test_a_row_of_the_paper_is_near_what_it_published(tmp_path, checks):
    """The short form of the claim gemm_published."""
    line = harness.claim("gemm_published").check_row(checks, drawn_row("row of the paper"), tmp_path)
    assert is_on_the_page(line, "published"), line


def test_one_more_operation_costs_its_groups(tmp_path):
    """Eight more columns of C add eight operations to each step: 2 cycles each at 8 elements and 4 at
    16, as the differences between rows of the paper's Table I say; and what B's words take to come."""
    for rows, cycles in ((8, 2), (16, 4)):
        narrow, wide = (check(tmp_path, Case(4 * rows, 4 * columns, 64, 4, 4, algorithm=SUMMA), 1).cycles
                        for columns in (8, 16))
        per_step = (wide - narrow) / 64
        assert 8 * cycles <= per_step <= 8 * cycles + 8


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("algorithm", [SUMMA_BLOCK, MASTER_BLOCK])
def test_words_move_two_at_a_time(tmp_path, arch, algorithm):
    """Panels and sums of 32 bits, too: the cycles of their groups are not the main thread's."""
    case = Case(24, 36, 24, 3, 2, F32, algorithm=algorithm, arch=arch)
    stats = check(tmp_path, case, seed=7).stats
    products = case.M * case.N * case.K       # in groups of one
    moved = stats["elements"] - products
    assert moved and stats["groups"] - products <= moved / 2 * 1.02


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
  .M = 6, .N = 5, .K = 8, .width = 2, .height = 2, .T = f32, .S = f32, .scaled = false
});
layout {
  @set_rectangle(4, 3);
  for (@range(u16, 4)) |x| {
    for (@range(u16, 3)) |y| {
      if (x == 0 or x == 3 or y == 0) {
        @set_tile_code(x, y, "other.csl", .{});
      } else {
        @set_tile_code(x, y, "pe.csl", .{ .role = blas.gemm_tile(
          x, y, plan, x - 1, y - 1,
          [4]color{ @get_color(4), @get_color(5), @get_color(9), @get_color(8) }) });
      }
    }
  }
  @export_name("C", [*]f32, true);
}
"""

TILE = """
param role: comptime_struct;
const gemm = @import_module("<blas/gemm>", .{ .role = role, .done_task = 20, .step_tasks = [2]u16{ 21, 23 } });
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
    """A rectangle inside the program's, colors and tasks of one's own; so small a product has one panel,
    and its constant matrices are padded with numbers that must not count."""
    (tmp_path / "layout.csl").write_text(PLACED)
    (tmp_path / "pe.csl").write_text(TILE)
    (tmp_path / "other.csl").write_text("comptime {}\n")
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin")
    done = harness.emu(tmp_path / "o.bin", "--print=C:9@1,1,2,2")
    found = harness.values(done.out, "C")
    assert len(found) == 4 and all(set(block) == {6.0 * 8} for block in found.values())


TWICE = """
param role: comptime_struct;
const gemm = @import_module("<blas/gemm>", .{ .role = role, .done_task = 20 });
var calls: u16 = 0;
task done() void {
  calls += 1;
  if (calls < 3) {
    for (@range(u16, role.plan.a_panels * role.plan.a_panel)) |i| { gemm.A[i] *= 2.0; }
    gemm.start();
  }
}
task main() void {
  for (@range(u16, role.plan.a_panels * role.plan.a_panel)) |i| { gemm.A[i] = 2.0; }
  for (@range(u16, role.plan.b_panels * role.plan.b_panel)) |i| { gemm.B[i] = 3.0; }
  gemm.start();
}
comptime {
  @bind_local_task(main, @get_local_task_id(22));
  @bind_local_task(done, @get_local_task_id(20));
  @activate(@get_local_task_id(22));
  @export_symbol(gemm.C, "C");
}
"""


@pytest.mark.parametrize("M, plan, keeps_own", [
    *((6, plan, "false") for plan in (
        "gemm_summa_block(what)", "gemm_summa(what)", "gemm_master_block(what)", "gemm_master(what)",
        *(f"with_panels(what, blas.algorithm.summa_block, 4, {chunk}, {parts})"
          for chunk, parts in ((1, 1), (2, 1), (3, 3), (3, 2))))),
    (300, "gemm_summa(what)", "true")])
def test_three_calls(tmp_path, M, plan, keeps_own):
    """Calls of the same product follow each other without synchronisation; an odd number of panels; tiles
    that take their own panels from the fabric and from their memory."""
    (tmp_path / "layout.csl").write_text(f"""
const blas = @import_module("<blas/layout>");
const what = .{{ .M = {M}, .N = 5, .K = 12, .width = 3, .height = 2, .T = f16, .S = f32, .scaled = false }};
const plan = blas.{plan};
layout {{
  @comptime_assert(blas.keeps_own(plan) == {keeps_own});
  @set_rectangle(3, 2);
  for (@range(u16, 3)) |x| {{
    for (@range(u16, 2)) |y| {{
      @set_tile_code(x, y, "pe.csl", .{{ .role = blas.gemm_tile(
        x, y, plan, x, y,
        [5]color{{ @get_color(4), @get_color(5), @get_color(6), @get_color(7), @get_color(8) }}) }});
    }}
  }}
  @export_name("C", [*]f16, true);
}}
""")
    (tmp_path / "pe.csl").write_text(TWICE)
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin")
    done = harness.emu(tmp_path / "o.bin", "--print=C:3@0,0,2,2")
    found = harness.values(done.out, "C")
    assert len(found) == 4 and all(set(block) == {6.0 * 12 * 4} for block in found.values())


@pytest.mark.parametrize("K, keeps_own", [(1024, "true"), (1025, "false")])
def test_own_panels_and_what_filters_count(tmp_path, K, keeps_own):
    """A filter counts 65,536 words, so with more of them tiles take their own panels from the fabric."""
    (tmp_path / "layout.csl").write_text(f"""
const blas = @import_module("<blas/layout>");
const plan = blas.gemm_summa(.{{
  .M = 512, .N = 8, .K = {K}, .width = 8, .height = 8, .T = f16, .S = f16, .scaled = false
}});
layout {{
  @comptime_assert(plan.a_panel == 64 and blas.keeps_own(plan) == {keeps_own});
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl");
}}
""")
    (tmp_path / "pe.csl").write_text("comptime {}\n")
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin")


def test_a_feeder_of_your_own(tmp_path):
    """blas.feeder_tile and feeder.send: panel after panel, made as they go out; gemm_cycles of the plan."""
    (tmp_path / "layout.csl").write_text("""
const blas = @import_module("<blas/layout>");
const plan = blas.gemm_summa(.{
  .M = 6, .N = 8, .K = 12, .width = 2, .height = 3, .T = f16, .S = f32, .scaled = true,
  .is_streamed = true
});
const colors = [4]color{ @get_color(4), @get_color(5), @get_color(6), @get_color(7) };
layout {
  @comptime_assert(blas.gemm_cycles(plan) > 12 * 2 * 4);
  @set_rectangle(2, 4);
  for (@range(u16, 2)) |x| {
    @set_tile_code(x, 0, "feeder.csl", .{ .role = blas.feeder_tile(x, 0, plan, x, SOUTH, colors[0]) });
    for (@range(u16, 3)) |y| {
      @set_tile_code(x, y + 1, "pe.csl", .{ .role = blas.gemm_tile(x, y + 1, plan, x, y, colors) });
    }
  }
  @export_name("C", [*]f16, true);
}
""")
    (tmp_path / "feeder.csl").write_text("""
param role: comptime_struct;
const feeder = @import_module("<blas/feeder>", .{ .role = role });
var panel = @zeros([feeder.panel]f16);
task main() void {
  for (@range(u16, feeder.panels)) |k| {
    for (@range(u16, feeder.panel)) |i| { panel[i] = @as(f16, k + 1); }
    feeder.send(&panel, 1);
  }
}
comptime {
  @bind_local_task(main, @get_local_task_id(22));
  @activate(@get_local_task_id(22));
}
""")
    (tmp_path / "pe.csl").write_text("""
param role: comptime_struct;
const gemm = @import_module("<blas/gemm>", .{ .role = role });
task main() void {
  for (@range(u16, role.plan.a_panels * role.plan.a_panel)) |i| { gemm.A[i] = 1.0; }
  for (@range(u16, 8)) |i| { gemm.C[i] = 4.0; }
  gemm.start_scaled(2.0, 0.5);
}
comptime {
  @bind_local_task(main, @get_local_task_id(22));
  @activate(@get_local_task_id(22));
  @export_symbol(gemm.C, "C");
}
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin")
    done = harness.emu(tmp_path / "o.bin", "--print=C:8@0,1,2,3")
    found = harness.values(done.out, "C")
    # Twelve panels of one inner element, 1 to 12.
    assert len(found) == 6 and all(set(block) == {2 * 78 + 2.0} for block in found.values())
