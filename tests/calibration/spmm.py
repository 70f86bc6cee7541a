"""The sparse matrix products of the calibration suite, ported from SDK 0.6 to 0.8.

Their published times are those of the local loop alone, between two reads of the counter: no tile
waits there for another, and all tiles report the same.  `run_spmm` keeps the authors' file, with its
arrays in their order and its timed loop to the letter, and replaces what SDK 1.4 does not know: the
parameters for colors, the old memcpy module, the launch, the exchange of B and C before and after
the loop.  One tile runs it on the data that the authors' generator gives for one tile of a dense
matrix, or on so many nonzeros as a tile of the authors' random matrix has with its padding.  `bare=1` is the authors' measurement "memory accesses only": without the line of @fmacs.

The authors' dense product with M = 128 is not a point: its stride of 128 elements is more than the
8 bits that SDK 1.4 documents for a stride.
"""
import re

import numpy

from tools import ProgramFailed

LAYOUT = """const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "tile.csl", .{ .memcpyParams = memcpy.get_params(0)%s });
  @export_name("bcast_B", fn()void);
  @export_name("time_memcpy", [*]f32, true);
%s}
"""

TASKS = """
const COMP: local_task_id = @get_local_task_id(12);
const REDUCE: local_task_id = @get_local_task_id(13);
const EXIT: local_task_id = @get_local_task_id(14);
fn bcast_B() void { @activate(COMP); }
task f_reduce() void { @activate(EXIT); }
comptime {
  @bind_local_task(f_comp, COMP);
  @bind_local_task(f_reduce, REDUCE);
  @bind_local_task(f_exit, EXIT);
  @export_symbol(bcast_B);
  @export_symbol(ptr_time_memcpy, "time_memcpy");
"""

OLD_PARTS = (
    r"^param (LAUNCH|RXACT_B|TXACT_B|RXACT_C|TXACT_C|COMP|REDUCE|EXIT) *:.*?;",
    r"^const timeStampColor.*?;",
    r"^const fab_\w+ *=.*?\}\);",
    r"^task f_reduce\(\).*?^\}",
    r"^fn bcast_B\(\).*?^\}",
    r"^fn transformation\(.*?^\}",
    r"^comptime \{.*?^\}",
    r"^ *if *\(0 < _py and _py < height *- *1 *\) *\{.*?; *\s*\}",
)


def port_tile(text, bare):
    """The authors' tile program for SDK 1.4 and one tile; the timed loop stays as it is."""
    text = re.sub(r"//.*", "", text)
    exports = re.findall(r'@export_symbol\((ptr_A\w*), *"(\w+)"\)', text)
    for part in OLD_PARTS:
        text, count = re.subn(part, "", text, flags=re.M | re.S)
        if not count and "transformation" not in part and "timeStamp" not in part:
            raise ProgramFailed(f"the tile program has no {part}")
    text, count = re.subn(r'@import_module\( *"<memcpy_multi/memcpy>".*?\}\)\)',
                          '@import_module("<memcpy/memcpy>", memcpyParams)', text, flags=re.S)
    if not count:
        raise ProgramFailed("the tile program does not import the old memcpy module")
    if bare:
        text, count = re.subn(r"^ *@fmacs\(.*?\);", "", text, flags=re.M)
        if count != 1:
            raise ProgramFailed(f"{count} lines of @fmacs")
    lines = [f'  @export_symbol({pointer}, "{name}");' for pointer, name in exports]
    return text + TASKS + "\n".join(lines) + "\n}\n", [name for _, name in exports]


def dense_coo(rows, columns, _):
    """Row by row, and the slot that A_len has more, which stays zero."""
    y, x = numpy.divmod(numpy.arange(rows * columns, dtype=numpy.int32), columns)
    slots = rows * columns + 1
    return {"A_len": slots}, {"A_x": x, "A_y": y}


def dense_csc(rows, columns, _):
    pointers = numpy.arange(columns + 1, dtype=numpy.int32) * rows
    index = numpy.tile(numpy.arange(rows, dtype=numpy.int32), columns)
    return ({"A_val_len": rows * columns, "A_rowidx_len": rows * columns,
             "A_colptr_len": columns + 1}, {"A_row_idx": index, "A_col_ptr": pointers})


def dense_csr(rows, columns, _):
    pointers = numpy.arange(rows + 1, dtype=numpy.int32) * columns
    index = numpy.tile(numpy.arange(columns, dtype=numpy.int32), rows)
    return ({"A_val_len": rows * columns, "A_colidx_len": rows * columns,
             "A_rowptr_len": rows + 1}, {"A_col_idx": index, "A_row_ptr": pointers})


def dense_ellpack(rows, columns, _):
    index = numpy.tile(numpy.arange(columns, dtype=numpy.int32), rows)
    return {"A_len": columns}, {"A_indices": index}


def dense_gemm(rows, columns, _):
    return {}, {"A": numpy.ones(rows * columns, numpy.float32)}


def spread(count, rows, columns):
    """Places of so many nonzeros, evenly over a tile's part of the matrix: y and x."""
    place = numpy.arange(count, dtype=numpy.int64) * (rows * columns) // count
    return [part.astype(numpy.int32) for part in numpy.divmod(place, columns)]


def spread_coo(rows, columns, case):
    """So many nonzeros, and the slot that A_len has more."""
    y, x = spread(int(case["nonzeros"]), rows, columns)
    last = numpy.zeros(1, numpy.int32)
    return ({"A_len": len(x) + 1}, {"A_x": numpy.append(x, last), "A_y": numpy.append(y, last)})


def spread_ellpack(rows, columns, case):
    """As many nonzeros in each row."""
    in_row = int(case["nonzeros"]) // rows
    return {"A_len": in_row}, {"A_indices": numpy.tile(spread(in_row, 1, columns)[1], rows)}


def few_coo(rows, columns, case):
    """Indices as numbers in f32; the slot behind the last nonzero says -1, which ends the loop."""
    count = int(case["nonzeros"])
    y, x = numpy.divmod(numpy.arange(count, dtype=numpy.float32) * 3 % (rows * columns), columns)
    end = numpy.full(1, -1, numpy.float32)
    return {"A_len": count + 1}, {"A_x": numpy.append(x, end), "A_y": numpy.append(y, end)}


FORMATS = {
    "coo": ("src/grid_coo/spmm_coo_memcpy.csl", dense_coo),
    "csc": ("src/grid_csc/spmm_csc_memcpy.csl", dense_csc),
    "csr": ("src/grid_csr/spmm_csr_memcpy.csl", dense_csr),
    "ellpack": ("src/grid_ellpack/spmm_ellpack_memcpy.csl", dense_ellpack),
    "gemm": ("src/gemm/spmm_gemm_memcpy.csl", dense_gemm),
    "coo-spread": ("src/grid_coo/spmm_coo_memcpy.csl", spread_coo),
    "ellpack-spread": ("src/grid_ellpack/spmm_ellpack_memcpy.csl", spread_ellpack),
    "custom-dsd": ("src/grid_custom_dsd/spmm_custom_memcpy.csl", few_coo),
    "custom-dsr": ("src/grid_custom_dsr/spmm_custom_memcpy.csl", few_coo),
}


def write_layout(folder, names, params):
    given = "".join(f", .{name} = {value}" for name, value in params.items())
    exports = "".join(f'  @export_name("{name}", [*]f32, true);\n' for name in names)
    text = LAYOUT % (given, exports)
    (folder / "layout.csl").write_text(text)


def run_spmm(tools, folder, case):
    source, make_data = FORMATS[case["format"]]
    tile, names = port_tile((folder / source).read_text(), case.get("bare") == "1")
    rows = int(case["N"]) // int(case.get("height") or case["grid"])
    columns = int(case["K"]) // int(case.get("width") or case["grid"])
    lengths, data = make_data(rows, columns, case)
    here = folder / "ported"
    here.mkdir(exist_ok=True)
    (here / "tile.csl").write_text(tile)
    write_layout(here, names, {"Nt": rows, "Kt": columns, "M": case["M"], "width": 1, "height": 1,
                               **lengths})
    for name, values in data.items():
        numpy.save(here / f"{name}.npy", values.view(numpy.float32))
    tools.run(here, "cslc --arch=wse2 layout.csl --fabric-dims=8,3 --fabric-offsets=4,1 --memcpy "
                    "--channels=1 -o out")
    copies = " ".join(f"--h2d={name}={name}.npy" for name in data)
    tools.run(here, f"wse-emu out {copies} --launch=bcast_B --d2h=time_memcpy:3=time.npy")
    words = numpy.load(here / "time.npy").view(numpy.uint16).reshape(-1).astype(int)
    start, end = (sum(int(w) << 16 * i for i, w in enumerate(words[k:k + 3])) for k in (0, 3))
    return {"loop": end - start}
