"""`wse-model gemm`: the equations of "General Matrix Multiply on CS-2" against its Table I."""
import blas_run
import harness
import pytest

from gemm_table import ROWS

MISPRINTED = 128, 256, 384, 15872, 14336      # K, N, M of a row; Equation 1 as printed and as meant


def gemm(*args, **options):
    return harness.run([harness.tool("wse-model"), "gemm", *args], **options)


def equation(number, size, shape, simd=4):
    return int(gemm(f"--size={size[0]}x{size[1]}x{size[2]}", shape, f"--equation={number}",
                    f"--simd={simd}").out)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.K},{row.N},{row.M}")
def test_table(row):
    shape = f"--pes={row.tiles}"
    first, second, third, fourth = row.equations
    assert equation(2, row.size, shape) == second
    assert equation(4, row.size, shape) == fourth
    # The slips of the table, which <blas/model> names: the equations with them are the columns.
    MB, NB, KB = row.M // row.tiles, row.N // row.tiles, row.K // row.tiles
    slipped = row.N * (max(MB * KB, 8 + 12 * row.tiles) + MB) // 4
    assert equation(1, row.size, shape) == row.N * (max(MB * KB, 4 + 12 * row.tiles) + MB) // 4
    if (row.K, row.N, row.M) == MISPRINTED[:3]:
        assert (first, slipped) == MISPRINTED[3:] and first == fourth
    else:
        assert first == slipped
    assert third == row.K * (MB * NB + 8 * row.tiles + 4 * MB) // 4
    assert equation(3, row.size, shape) == row.K * (MB * NB + 8 * row.tiles + 2 * MB + 2 * NB) // 4


@pytest.mark.parametrize("M, N, K, width, height, simd", [
    (256, 256, 256, 16, 16, 4), (40, 40, 40, 10, 10, 4), (100, 37, 61, 5, 3, 4), (7, 9, 11, 1, 1, 8),
    (1, 1, 1, 4, 4, 4), (512, 64, 640, 8, 32, 8)])
def test_equations_5_to_9(M, N, K, width, height, simd):
    up = lambda a, b: -(-a // b)
    MB, NB, KB = up(M, height), up(N, width), up(K, width)
    rows, columns = simd * width + simd // 2 * MB, simd * height + simd // 2 * NB
    block_rows = simd * width + simd // 2 * MB * KB
    block_columns = simd * height + simd // 2 * NB * KB
    expected = {
        5: K * max(MB * NB, rows, columns),
        6: width * (MB * NB * KB + block_rows + block_columns),
        7: width * (MB * NB * KB + max(block_rows, block_columns)),
        8: width * max(MB * NB * KB, block_rows, block_columns),
        9: max(MB * NB * K, simd * width + simd // 2 * MB * K, simd * height + simd // 2 * NB * K)}
    for number, value in expected.items():
        assert equation(number, (M, N, K), f"--grid={width}x{height}", simd) == up(value, simd)


def test_all_equations():
    lines = gemm("--size=128x128x128", "--pes=16").out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *(f"equation {n}" for n in range(1, 10)), "gemm_summa_block", "gemm_master_block"]
    assert lines[1] == "equation 2: 2352" and lines[8] == "equation 9: 2048"


def test_plans():
    """What the library expects of its own plans is within a quarter of what they take; a plan that does
    not fit has no line."""
    lines = gemm("--size=360x10x360", "--pes=5").out.splitlines()[9:]
    expected = {name: int(cycles) for name, cycles in (line.split(": ") for line in lines)}
    assert abs(expected["gemm_master_block"] / 14500 - 1) < 0.25
    assert expected["gemm_summa_block"] > expected["gemm_master_block"]
    assert len(gemm("--size=600x600x600", "--pes=1").out.splitlines()) == 9


@pytest.mark.parametrize("arch, simd", [("wse2", 4), ("wse3", 8)])
@pytest.mark.parametrize("MB, NB, kb, width", [(4, 1, 2, 12), (16, 2, 8, 10), (8, 4, 3, 8), (4, 2, 32, 12),
                                               (8, 3, 16, 3)])
def test_sums_go_round_long_rows(tmp_path, MB, NB, kb, width, arch, simd):
    """Few operations of a panel hide little of the way of the sums."""
    case = blas_run.Case(2 * MB, width * NB, width * kb, width, 2, arch=arch,
                         algorithm=blas_run.MASTER_BLOCK)
    out = gemm(f"--size={case.M}x{case.N}x{case.K}", f"--grid={width}x2", f"--simd={simd}").out
    expected = dict(line.split(": ") for line in out.splitlines())["gemm_master_block"]
    assert int(expected) == pytest.approx(blas_run.check(tmp_path, case, 1).cycles, rel=0.07)


PROGRAM = """
const model = @import_module("<blas/model>", .{ .simd = 4 });
param M: u16;
var cycles = [3]u32{
  @as(u32, model.ideal(M, 128, 128, 16, 16)), @as(u32, model.equation_2(M, 128, 128, 16, 16)),
  @as(u32, model.equation_9(M, 128, 128, 16, 16))
};
var cycles_ptr: [*]u32 = &cycles;
comptime {
  @export_symbol(cycles_ptr, "cycles");
}
"""


@pytest.mark.parametrize("M, expected", [(128, (2048, 2352, 2048)), (16, (336, 336, 528))])
def test_a_program_can_ask(tmp_path, M, expected):
    """By the same functions: .equation_1 and so on."""
    (tmp_path / "pe.csl").write_text(PROGRAM)
    (tmp_path / "layout.csl").write_text("""
param M: u16;
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .M = M });
  @export_name("cycles", [*]u32, true);
}
""")
    harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", params={"M": M})
    done = harness.emu(tmp_path / "o.bin", "--print=cycles")
    assert tuple(harness.values(done.out, "cycles")[0, 0]) == expected


@pytest.mark.parametrize("args, text", [
    (["--pes=4"], "--size is missing"), (["--size=4x4x4"], "give --pes or --grid"),
    (["--size=4x4", "--pes=4"], "--size is three numbers, as in 64x32x16: 4x4"),
    (["--size=0x4x4", "--pes=4"], "--size is three numbers, as in 64x32x16: 0x4x4"),
    (["--size=4x4x4", "--pes=4", "--grid=2x2"], "give --pes or --grid"),
    (["--size=4x4x4", "--pes=4", "--equation=10"], "--equation is a number from 1 to 9: 10"),
    (["--size=4x4x4", "--pes=4", "--simd=3"], "--simd is an even number of elements: 3")])
def test_mistakes(args, text):
    assert text in gemm(*args, expect=2).err
