"""Runs samples/gemv-collectives with numbers of its own and measures its phases."""
import numpy

import harness

PHASES = ("scatter x", "scatter b", "broadcast x", "multiply", "reduce", "gather y")
LIBRARY, CHAIN, TWO_PHASE = range(3)


def run(folder, width, height, rows, columns, with_2d=False, sum_by=LIBRARY, arch="wse3",
        engine="fast"):
    """(y is right, cycles of each phase, cycles from the start to the end).

    A phase ends when the slowest tile has finished it."""
    rng = numpy.random.default_rng(width * 1000 + rows)
    matrix = rng.integers(-3, 4, (height * rows, width * columns)).astype(numpy.float32)
    x = rng.integers(-3, 4, width * columns).astype(numpy.float32)
    b = rng.integers(-9, 10, height * rows).astype(numpy.float32)
    # Blocks, each by columns.
    blocks = matrix.reshape(height, rows, width, columns).transpose(0, 2, 3, 1)
    inputs = [("A", blocks.reshape(height, width, -1)), ("x@0,0,1,1", x.reshape(1, 1, -1)),
              ("b@0,0,1,1", b.reshape(1, 1, -1))]
    copies = [f"--h2d={name}={harness.save_npy(folder / f'{name[0]}.npy', array)}"
              for name, array in inputs]
    image = folder / "gemv.bin"
    harness.compile("samples/gemv-collectives/layout.csl", image, f"--arch={arch}",
                    params={"width": width, "height": height, "rows": rows, "columns": columns,
                            "with_2d": str(with_2d).lower(), "sum_by": sum_by})
    done = harness.emu(image, f"--engine={engine}", *copies, "--launch=main",
                       f"--print=y:{height * rows}@{width - 1},{height - 1},1,1",
                       "--print=stamps:21", timeout=600)
    y = harness.values(done.out, "y")[width - 1, height - 1]
    words = numpy.array(list(harness.values(done.out, "stamps").values()), dtype=numpy.int64)
    stamps = (words.reshape(-1, 7, 3) << numpy.array([0, 16, 32])).sum(axis=2)
    ends = stamps.max(axis=0)
    is_right = bool(numpy.array_equal(y, matrix @ x + b))
    return is_right, dict(zip(PHASES, numpy.diff(ends).tolist())), int(ends[-1] - ends[0])
