"""The tables of predictions of docs/cluster.md: prints them, or with --update writes them there."""
import re
import sys

import harness

PAGE = harness.ROOT / "docs" / "cluster.md"
END = "<!-- end -->"
WAFERS = [4, 16, 64, 256, 1024]
COLUMNS = [("all-gather, split", "all-gather", "split"), ("all-gather, half", "all-gather", "half"),
           ("all-gather, line", "all-gather", "line"),
           ("reduce-scatter, split", "reduce-scatter", "split"),
           ("reduce-scatter, line", "reduce-scatter", "line"),
           ("all-reduce", "all-reduce", "split"), ("all-to-all", "all-to-all", "split"),
           ("broadcast", "broadcast", "split")]
# Over the tiles: columns of workers, elements and arrays of a part for every tile of all wafers.
GRIDS = [((32, 27), 1, (("all-reduce", 0), ("broadcast", 0))),
         ((32, 27), 1024, (("all-reduce", 0), ("broadcast", 0))),
         ((8, 4), 1, (("all-gather", 1), ("reduce-scatter", 1), ("all-to-all", 3)))]
TILE_WORDS = 11000          # for a program's arrays, of the 12,288 of a tile


def cycles(wafers, length, operation, scheme, *more):
    return int(harness.run([harness.tool("wse-model"), "cluster", f"--op={operation}",
                            f"--scheme={scheme}", f"--wafers={wafers}", f"--len={length}",
                            *more]).out)


def lines_of(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- " * len(header) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def table():
    return lines_of(["wafers", "words", *(name for name, _, _ in COLUMNS)],
                    [[wafers, length, *(cycles(wafers, length, op, scheme) for _, op, scheme in COLUMNS)]
                     for wafers in WAFERS for length in (64, 16384)])


def cell(wafers, grid, length, operation, arrays):
    """A dash where a tile has no room for the arrays."""
    width, height = grid
    if arrays * wafers * width * height * length > TILE_WORDS:
        return "-"
    return cycles(wafers, length, operation, "split", f"--grid={width}x{height}")


def tiles_table():
    columns = [(grid, length, *op) for grid, length, ops in GRIDS for op in ops]
    return lines_of(["wafers", *(f"{op}, {grid[0]} x {grid[1]} tiles, {length}"
                                 for grid, length, op, _ in columns)],
                    [[wafers, *(cell(wafers, *column) for column in columns)] for wafers in WAFERS])


TABLES = {"wafers": table, "tiles": tiles_table}


def begin_of(name):
    return f"<!-- predicted: {name} -->\n"


def of_page(name):
    return re.search(re.escape(begin_of(name)) + "(.*?)" + END, PAGE.read_text(), re.S).group(1)


if __name__ == "__main__":
    for name, made in TABLES.items():
        if "--update" in sys.argv:
            PAGE.write_text(PAGE.read_text().replace(begin_of(name) + of_page(name) + END,
                                                     begin_of(name) + made() + END))
        else:
            print(made())
