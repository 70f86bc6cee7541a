#!/usr/bin/python3
"""What one more @fmach of f16 costs SUMMA's inner loop: Table I of "General Matrix Multiply on CS-2"
says it for blocks of 8, 16 and 24 rows, by the difference between rows of 8 and of 16 columns per
tile.  A plain version of the loop (calibration/rank_one_pe.csl) costs the same, also with other
columns, and at both levels; with any other number of rows it costs the groups of 4 elements.

The difference between rows of our whole SUMMA, which docs/gemm.md has, is printed.  It also holds what
the longer rows of B cost: they take cycles of the processor when they come.

Short form: test_blas.py::test_one_more_operation_costs_its_groups.
"""
from claims import Claims, harness
import gemm_table

LAYOUT = harness.ROOT / "tests" / "claims" / "calibration" / "rank_one_layout.csl"
SIMD = 4
TOLERANCE = 0.05                  # cycles; the table's differences are whole numbers of a few steps
STEPS = 32


def published():
    """Pairs of rows that differ only in N."""
    return [(narrow, wide) for narrow in gemm_table.ROWS for wide in gemm_table.ROWS
            if narrow.N < wide.N
            and (narrow.M, narrow.K, narrow.tiles) == (wide.M, wide.K, wide.tiles)]


def per_operation(steps, narrow, wide, columns):
    return (wide - narrow) / steps / (columns[1] - columns[0])


def cycles(claims, level, n, columns):
    image = claims.scratch / "rank_one.bin"
    harness.compile(LAYOUT, image, "--arch=wse2", level,
                    params={"n": n, "columns": columns, "steps": STEPS})
    shown = harness.emu(image, "--launch=main", "--print=stamps:6",
                        f"--d2h=C@0,0,1,1={claims.scratch}/C.npy").out
    words = [int(word) for word in shown.split(":")[1].split()[:6]]
    C = harness.load_npy(claims.scratch / "C.npy").ravel()[2:]
    claims.equals(f"{columns} columns of {n} rows {level}: right", bool((C == 2 * STEPS).all()), True)
    return sum((words[3 + i] - words[i]) << 16 * i for i in range(3))


def marginal(claims, level, n, columns):
    return per_operation(STEPS, *(cycles(claims, level, n, c) for c in columns), columns)


def ours_on_the_page():
    """Our SUMMA's cycles by (K, N, M)."""
    rows = [[cell.strip() for cell in row.split("|")]
            for row in gemm_table.on_the_page("published").splitlines()[2:]]
    return {tuple(map(int, row[1:4])): int(row[9]) for row in rows}


def main():
    claims = Claims()
    ours = ours_on_the_page()
    pairs = published()
    claims.at_least("pairs of rows in the table", len(pairs), 6)
    for narrow, wide in pairs:
        n, K = narrow.M // narrow.tiles, narrow.K
        columns = narrow.N // narrow.tiles, wide.N // wide.tiles
        of_table = per_operation(K, narrow.summa, wide.summa, columns)
        for level in ("-O1", "-O2"):
            claims.within(f"one more operation of {n} elements, K = {K}: {of_table:.2f} published; "
                          f"the plain loop {level}", marginal(claims, level, n, columns),
                          of_table - TOLERANCE, of_table + TOLERANCE)
        whole = (ours[K, row.N, row.M] for row in (narrow, wide))
        print(f"  our whole SUMMA: {per_operation(K, *whole, columns):.2f}")
    random = harness.commit_random("rank one")
    for _ in range(8):
        n = SIMD * int(random.integers(2, 20))
        columns = tuple(sorted(random.choice(range(2, 21), 2, replace=False).tolist()))
        claims.within(f"one more operation of {n} elements, {columns[0]} to {columns[1]} columns",
                      marginal(claims, "-O1", n, columns), n / SIMD - TOLERANCE, n / SIMD + TOLERANCE)
    claims.finish()


main()
