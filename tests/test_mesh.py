"""wse_mesh: arrays distributed over tiles, each operation with each layout against numpy."""
import os
import sys

import numpy
import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "emu" / "host" / "python"))
import wse_mesh  # noqa: E402

LAYOUTS = {"rows": wse_mesh.ROWS, "columns": wse_mesh.COLUMNS, "blocks": wse_mesh.BLOCKS,
           "replicated": wse_mesh.REPLICATED, "interleaved": wse_mesh.INTERLEAVED,
           "rows, interleaved": ("y", None, "x"), "columns, interleaved": (None, "x", "y")}
SIZES_OF_PAGES = [(1, 1), (2, 3), (1, None), (2, None)]
PAGES = pytest.mark.parametrize("page", SIZES_OF_PAGES,
                                ids=["row-major", "tiled", "a row", "two rows"])
EACH_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.setenv("PATH", f"{harness.bin_dir()}{os.pathsep}{os.environ['PATH']}")


def drawn(purpose, shape, dtype):
    return harness.commit_random(purpose).integers(-40, 40, shape).astype(dtype)


def check_copies(tensor):
    """Tiles that differ only along axes that divide nothing have the same."""
    first = {}
    for tile in tensor.mesh.tiles():
        key = tuple(tensor.mesh.index(axis, *tile) for axis in tensor.axes)
        first.setdefault(key, tensor.shards[tile])
        numpy.testing.assert_array_equal(tensor.shards[tile], first[key])


@PAGES
@EACH_LAYOUT
@pytest.mark.parametrize("size", [(3, 2), (1, 3)])
def test_all_gather_of_each_dimension(layout, page, size):
    array = drawn(f"gather {layout}", (7, 10), numpy.float32)
    tensor = wse_mesh.Mesh(*size).distribute(array, layout, page)
    for dim in range(3):
        if tensor.axes[dim]:
            gathered = tensor.all_gather(dim)
            left = list(tensor.axes)
            left[dim] = None
            assert gathered.axes == tuple(left)
            numpy.testing.assert_array_equal(gathered.numpy(), array)
            check_copies(gathered)
            assert gathered.cycles > 0
    whole = tensor.gather()
    check_copies(whole)
    numpy.testing.assert_array_equal(whole.numpy(), array)


@PAGES
@pytest.mark.parametrize("operation", ["add", "max", "min"])
@pytest.mark.parametrize("axis", ["x", "y", "xy"])
def test_reduce_scatter_and_all_reduce(axis, operation, page):
    mesh = wse_mesh.Mesh(3, 2, "wse2")
    arrays = {tile: drawn(f"{tile} {axis}", (5, 8), numpy.float32) for tile in mesh.tiles()}
    tensor = mesh.partial(arrays, page)
    function = {"add": numpy.add, "max": numpy.maximum, "min": numpy.minimum}[operation]
    groups = {}
    for x, y in mesh.tiles():
        groups.setdefault({"x": y, "y": x, "xy": 0}[axis], []).append((x, y))
    reduced = tensor.all_reduce(axis, operation)
    scattered = [tensor.reduce_scatter(dim, axis, operation) for dim in range(3)]
    for tiles in groups.values():
        want = function.reduce([tensor.shards[tile] for tile in tiles])
        for tile in tiles:
            numpy.testing.assert_array_equal(reduced.shards[tile], want)
            i = mesh.index(axis, *tile)
            for dim in (0, 1):
                part = numpy.split(want, mesh.size(axis), dim)[i]
                numpy.testing.assert_array_equal(scattered[dim].shards[tile], part)
            numpy.testing.assert_array_equal(scattered[wse_mesh.PAGES].memory(*tile),
                                             dealt(want, page, mesh.size(axis), i))


def dealt(array, page, turns, turn):
    """Every so many-th page of an array, page by page: what interleaving means, written out."""
    height, width = page[0], page[1] or array.shape[1]
    pages = [array[row:row + height, column:column + width].ravel()
             for row in range(0, array.shape[0], height)
             for column in range(0, array.shape[1], width)]
    return numpy.concatenate(pages[turn::turns])


@pytest.mark.parametrize("page", [(1, 1), (2, 3), (1, None)])
def test_interleaved_pages_go_round(page):
    mesh = wse_mesh.Mesh(3, 2)
    tensor = mesh.distribute(drawn("round", (12, 36), numpy.int16), wse_mesh.INTERLEAVED, page)
    whole = numpy.zeros(tensor.padded, numpy.int16)
    whole[:12, :36] = tensor.numpy()
    for tile in mesh.tiles():
        numpy.testing.assert_array_equal(
            tensor.memory(*tile), dealt(whole, page, 6, mesh.index("xy", *tile)))


@pytest.mark.parametrize("seed", range(12))
def test_random_chains_of_operations(seed):
    """Any layouts, pages, shapes and types; what a partial array is reduced to, too."""
    random = harness.commit_random(f"chain {seed}")
    mesh = wse_mesh.Mesh(*(int(n) for n in random.integers(1, 4, 2)),
                         arch=["wse2", "wse3"][seed % 2])
    shape = tuple(int(n) for n in random.integers(1, 14, 2))
    page = [(1, 1), (2, 2), (1, None), (3, 1), (2, None)][random.integers(5)]
    layouts = [*LAYOUTS.values(), ("x", "y"), ("y", None), (None, None, "x"), ("x", None, "y"),
               (None, "y", "x")]
    arrays = {tile: random.integers(-9, 9, shape).astype(numpy.int32) for tile in mesh.tiles()}
    total = sum(arrays.values())
    first, second, third = (layouts[i] for i in random.integers(len(layouts), size=3))
    tensor = mesh.partial(arrays, page).all_reduce("xy").reshard(first)
    for layout in (first, second, third):
        tensor = tensor.reshard(layout)
        numpy.testing.assert_array_equal(tensor.numpy(), total, (seed, layout))
        check_copies(tensor)
    partial = mesh.partial(arrays, page)
    reduced = partial.reshard((None, None, "y")).all_reduce("x")
    for x, y in mesh.tiles():
        of_row = sum(partial.memory(other, y) for other in range(mesh.width))
        numpy.testing.assert_array_equal(
            reduced.memory(x, y),
            dealt(partial._unpaged(of_row, partial.padded), page, mesh.height, y))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_products_gather_while_they_multiply(dtype, arch):
    random = harness.commit_random(f"product {dtype} {arch}")
    for axis, rows_over in (("x", "y"), ("x", None), ("y", "x"), ("xy", None)):
        mesh = wse_mesh.Mesh(*(int(n) for n in random.integers(1, 4, 2)), arch=arch)
        m, k, n = (int(size) for size in random.integers(1, 20, 3))
        left = random.integers(-4, 5, (m, k)).astype(dtype)
        right = random.integers(-4, 5, (k, n)).astype(dtype)
        factor = mesh.distribute(right, (None, axis))
        for columns_over in (axis, None):
            product = mesh.distribute(left, (rows_over, columns_over)).product(factor)
            assert product.layout == (rows_over, axis) and product.cycles > 0
            numpy.testing.assert_array_equal(product.numpy(), left @ right)
            check_copies(product)


def test_the_second_matrix_may_have_more_padding():
    mesh = wse_mesh.Mesh(2, 2)
    left = numpy.arange(12, dtype=numpy.float32).reshape(4, 3)
    factor = mesh.distribute(left.T, (None, "x"), page=(3, None))
    for columns_over in ("x", None):
        product = mesh.distribute(left, ("y", columns_over)).product(factor)
        numpy.testing.assert_array_equal(product.numpy(), left @ left.T)


def test_arrays_in_the_other_byte_order():
    array = numpy.arange(12, dtype=">f4").reshape(3, 4)
    tensor = wse_mesh.Mesh(2, 1).distribute(array, wse_mesh.COLUMNS)
    numpy.testing.assert_array_equal(tensor.gather().shard(0, 0)[:3, :4], array)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_a_product_hides_waits_of_the_gather(arch):
    """The words take the processor's cycles, but nothing waits for them."""
    mesh = wse_mesh.Mesh(4, 1, arch)
    left = numpy.ones((32, 64), numpy.float32)
    factor = mesh.distribute(numpy.ones((64, 32), numpy.float32), (None, "x"))
    divided, whole = (mesh.distribute(left, (None, axis)) for axis in ("x", None))
    fused, alone = divided.product(factor).cycles, whole.product(factor).cycles
    assert fused <= alone + 0.85 * divided.all_gather(1).cycles


@EACH_LAYOUT
@pytest.mark.parametrize("target", LAYOUTS.values(), ids=LAYOUTS)
def test_reshard(layout, target):
    """Each pair of layouts with one kind of page; each kind stands in each row and column of pairs."""
    layouts = list(LAYOUTS.values())
    page = SIZES_OF_PAGES[(layouts.index(layout) + layouts.index(target)) % len(SIZES_OF_PAGES)]
    array = drawn(f"reshard {layout} {target}", (9, 5), numpy.int32)
    tensor = wse_mesh.Mesh(2, 3).distribute(array, layout, page).reshard(target)
    assert tensor.layout == target
    numpy.testing.assert_array_equal(tensor.numpy(), array)
    check_copies(tensor)


@EACH_LAYOUT
def test_send(layout):
    array = drawn("send", (8, 9), numpy.uint16)
    before = wse_mesh.Mesh(3, 3).distribute(array, layout)
    after = before.send((0, 2), (2, 1))
    for tile in before.mesh.tiles():
        source = (0, 2) if tile == (2, 1) else tile
        numpy.testing.assert_array_equal(after.shards[tile], before.shards[source])


def test_memory_is_page_by_page():
    tensor = wse_mesh.Mesh(1, 1).distribute(numpy.arange(8, dtype=numpy.int16).reshape(2, 4),
                                            wse_mesh.REPLICATED, (2, 2))
    assert tensor.memory(0, 0).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_arrays_without_elements_have_their_shape(shape):
    tensor = wse_mesh.Mesh(2, 2).distribute(numpy.ones(shape, numpy.float32), wse_mesh.BLOCKS)
    assert tensor.shard(1, 1).shape == (2, 2)
    numpy.testing.assert_array_equal(tensor.all_gather(0).numpy(), numpy.ones(shape))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "uint16", "int32", "uint32"])
def test_types(dtype):
    array = numpy.arange(30).reshape(5, 6).astype(dtype)
    tensor = wse_mesh.Mesh(3, 1).distribute(array, wse_mesh.COLUMNS)
    numpy.testing.assert_array_equal(tensor.all_gather(1).numpy(), array)
    summed = tensor.all_gather(1).all_reduce("x")
    numpy.testing.assert_array_equal(summed.shard(1, 0)[:5, :6], 3 * array)


def test_slices_fit_their_buffers():
    """Every page of a part once, in slices that fit, to workers in turn."""
    for shape, dim, ring, workers, room, page in (((37, 12), 0, 4, 3, 40, (1, 1)),
                                                  ((64, 32), 1, 8, 2, 300, (4, 2))):
        found = wse_mesh.slices(shape, dim, ring, workers, room, page)
        covered = [page_ for _, first, last in found for page_ in range(first, last)]
        assert covered == list(range(-(-shape[dim] // (page[dim] * ring))))
        across = -(-shape[1 - dim] // page[1 - dim]) * page[0] * page[1]
        assert all((last - first) * across <= room for _, first, last in found)
        assert [worker for worker, _, _ in found] == [i % workers for i in range(len(found))]


def product(mesh, a, b, page=(1, 1), layout=(None, "x")):
    left = mesh.distribute(a.astype(numpy.float32), layout, page)
    return left.product(mesh.distribute(b.astype(numpy.float32), (None, "x")))


@pytest.mark.parametrize("text, call", [
    ("a layout names for each of two dimensions",
     lambda mesh, a: mesh.distribute(a, ("x", "x"))),
    ("a layout names for each of two dimensions",
     lambda mesh, a: mesh.distribute(a, ("xy", "y"))),
    ("a layout names for each of two dimensions",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).reshard(("z", None))),
    ("arrays have two dimensions and one of the types",
     lambda mesh, a: mesh.distribute(a.astype(float), wse_mesh.ROWS)),
    ("arrays have two dimensions and one of the types",
     lambda mesh, a: mesh.distribute(a[0], wse_mesh.ROWS)),
    ("5, 0. is not a tile of the mesh, which has 2 columns and 1 rows",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).shard(5, 0)),
    ("0, -1. is not a tile", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).memory(0, -1)),
    ("arrays have two dimensions and one of the types",
     lambda mesh, a: mesh.partial({tile: a[0] for tile in mesh.tiles()})),
    ("every tile of the mesh needs an array, and tile .1, 0. has none",
     lambda mesh, a: mesh.partial({(0, 0): a})),
    ("that of tile .1, 0. is .1, 1., that of tile .0, 0. .4, 6.",
     lambda mesh, a: mesh.partial({**{tile: a for tile in mesh.tiles()}, (1, 0): a[:1, :1]})),
    ("one type; that of tile .1, 0. is float32, that of tile .0, 0. int16",
     lambda mesh, a: mesh.partial({(0, 0): a, (1, 0): a.astype(numpy.float32)})),
    ("2, 0. is not a tile of the mesh of 2 x 1",
     lambda mesh, a: mesh.partial({(x, 0): a for x in range(3)})),
    ("a dictionary .*, not list", lambda mesh, a: mesh.partial([a, a])),
    ("rows of different lengths", lambda mesh, a: mesh.distribute([[1, 2], [3]], wse_mesh.ROWS)),
    ("a page has two sizes", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS, (0, 2))),
    ("a page has two sizes", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS, 2)),
    ("a page has two sizes", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS, (1.5, 1))),
    ("a page has two sizes", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS, (None, 1))),
    ("a layout names for each of two dimensions", lambda mesh, a: mesh.distribute(a, (3, None))),
    ("a layout names for each of two dimensions", lambda mesh, a: mesh.distribute(a, None)),
    ("a layout names for each of two dimensions", lambda mesh, a: mesh.distribute(a, "xy")),
    ("has dimensions 0 and 1", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).all_gather(0.0)),
    ("dimension 0 or 1, or PAGES, over axis",
     lambda mesh, a: mesh.distribute(a, (None, None)).reduce_scatter(0, ["x"])),
    ("nothing to gather", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).all_gather(1)),
    ("has dimensions 0 and 1", lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).all_gather(3)),
    ("pages are not divided",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).all_gather(wse_mesh.PAGES)),
    ("pages are divided over 'x' already",
     lambda mesh, a: mesh.distribute(a, (None, None, "x")).reduce_scatter(wse_mesh.PAGES, "y")),
    ("may name a third axis for pages; no axis twice",
     lambda mesh, a: mesh.distribute(a, ("x", None, "x"))),
    ("takes two matrices of float32 or of float16",
     lambda mesh, a: mesh.distribute(a, (None, "x")).product(mesh.distribute(a, (None, "x")))),
    ("these are .4, 6. and .4, 6.", lambda mesh, a: product(mesh, a, a)),
    ("pages of .1, 1., not of .2, 2.", lambda mesh, a: product(mesh, a, a.T, page=(2, 2))),
    ("takes layouts .any, axis. or .any, None. and .None, axis.",
     lambda mesh, a: product(mesh, a, a.T, layout=(None, None, "x"))),
    ("takes layouts .any, axis. or .any, None. and .None, axis.",
     lambda mesh, a: product(mesh, a, a.T, layout=(None, "y"))),
    ("no axis twice", lambda mesh, a: product(mesh, a, a.T, layout=("x", None))),
    ("is divided over 'xy' already",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).reduce_scatter(0, "x")),
    ("the operation is one of add, max, min, mul",
     lambda mesh, a: mesh.distribute(a, wse_mesh.REPLICATED).all_reduce("x", "sub")),
    ("the axis is 'x', 'y' or 'xy'",
     lambda mesh, a: mesh.distribute(a, wse_mesh.REPLICATED).all_reduce("z")),
    ("is not a tile of the mesh",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).send((0, 0), (2, 0))),
    ("0 is not a tile of the mesh",
     lambda mesh, a: mesh.distribute(a, wse_mesh.ROWS).send(0, (1, 0))),
    ("a product takes two matrices that are distributed over one mesh",
     lambda mesh, a: mesh.distribute(a, (None, "x")).product(a.T)),
    ("a mesh has 1 x 1 tiles at least, not '2' x 3", lambda mesh, a: wse_mesh.Mesh("2", 3)),
    ("the machine is one of wse2, wse3, not 'wse4'", lambda mesh, a: wse_mesh.Mesh(2, 3, "wse4")),
    ("divide the array over more tiles",
     lambda mesh, a: mesh.distribute(numpy.zeros((400, 400), numpy.int16), wse_mesh.REPLICATED)),
    ("a mesh has 1 x 1 tiles at least", lambda mesh, a: wse_mesh.Mesh(0, 3)),
    ("slices are cut from pages of two sizes",
     lambda mesh, a: wse_mesh.slices((8, 80), 0, 2, 1, 50, (1, None))),
    ("a row of pages has", lambda mesh, a: wse_mesh.slices((8, 80), 0, 2, 1, 50)),
])
def test_mistakes_are_told(text, call):
    with pytest.raises(wse_mesh.MeshError, match=text):
        call(wse_mesh.Mesh(2, 1), numpy.zeros((4, 6), numpy.int16))
