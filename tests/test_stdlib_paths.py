"""<collectives/scatter>, gather, ring and exchange: three calls in a row with different lengths,
against the same in numpy, and their cycles against the model."""
import numpy
import pytest

import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "paths" / "layout.csl"
MOVE, RING, EXCHANGE, BUTTERFLY = range(4)


def run(folder, program, size, lengths, *args, arch="wse3", engine="fast", **params):
    """{name: one array per tile}, by position in the rectangle; and the cycles."""
    image = folder / "o.bin"
    params = {"program": program, "size": size, **{f"n{k}": n for k, n in enumerate(lengths)},
              **params}
    harness.compile(PROGRAM, image, f"--arch={arch}", *args, params=params)
    shown = ["--print=parts"]
    if program == MOVE and sum(lengths):
        shown.append(f"--print=gathered:{size * sum(lengths)}@" + ",".join(map(str, (
            *position(params["target"], size, params["width"], params["is_column"]), 1, 1))))
    done = harness.emu(image, f"--engine={engine}", f"--stats={folder / 's.json'}", *shown)
    return ({name: harness.values(done.out, name) for name in ("parts", "gathered")},
            harness.stats(folder / "s.json")["cycles"])


def position(p, size, width=0, is_column=0):
    """(x, y) of tile p of the line."""
    if is_column:
        return 0, p
    if not width:
        return p, 0
    x, y = p % width, p // width
    return (width - 1 - x if y % 2 else x), y


def check_move(folder, size, root, target, lengths, width=0, is_column=0, **options):
    found, _ = run(folder, MOVE, size, lengths, root=root, target=target, width=width,
                   is_column=is_column, **options)
    starts = numpy.cumsum([0, *lengths])
    gathered = []
    parts = [[] for _ in range(size)]
    for n, start in zip(lengths, starts):
        whole = (size * start + numpy.arange(size * n)).reshape(size, n)
        gathered.append((whole + 1000 * numpy.arange(size)[:, None]).ravel())
        for p in range(size):
            parts[p] += whole[p].tolist()
    for p in range(size):
        assert found["parts"][position(p, size, width, is_column)] == parts[p], f"tile {p}"
    assert (found["gathered"][position(target, size, width, is_column)]
            == numpy.concatenate(gathered).tolist())


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("size, root, target, lengths", [
    (1, 0, 0, (3, 1, 2)), (2, 0, 1, (3, 0, 2)), (2, 1, 0, (1, 7, 2)), (3, 1, 1, (5, 1, 9)),
    (5, 0, 4, (2, 20, 1)), (8, 3, 5, (17, 1, 6)), (9, 8, 1, (1, 1, 1)), (6, 4, 2, (30, 4, 30))])
def test_scatter_and_gather(tmp_path, arch, size, root, target, lengths):
    check_move(tmp_path, size, root, target, lengths, arch=arch)


def test_scatter_and_gather_in_a_column_and_a_rectangle(tmp_path):
    check_move(tmp_path, 7, 2, 4, (3, 8, 2), is_column=1)
    check_move(tmp_path, 12, 5, 7, (3, 8, 2), width=4)
    check_move(tmp_path, 6, 3, 1, (4, 1, 5), engine="reference")


def test_scatter_in_descending_order(tmp_path):
    check_move(tmp_path, 7, 2, 4, (3, 8, 2), last_first="true")
    check_move(tmp_path, 5, 0, 0, (4, 4, 4), last_first="true")


def test_scatter_and_gather_of_16_bits(tmp_path):
    check_move(tmp_path, 5, 1, 3, (3, 8, 2), is_16_bit="true")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("program", [MOVE, RING, BUTTERFLY])
def test_the_library_packs_by_its_own_rule(tmp_path, program, arch):
    """Whatever the release of the program that uses it."""
    one, two = (run(tmp_path, program, 5, (3, 8, 2), f"--sdk={release}", arch=arch,
                    is_16_bit="true", root=1, target=3, width=0, is_column=0, group=2)
                for release in ("1.4", "2"))
    assert one == two


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("width, height, root, target, lengths", [
    (1, 1, (0, 0), (0, 0), (2, 1, 3)), (2, 2, (0, 0), (1, 1), (3, 1, 8)),
    (4, 3, (2, 1), (1, 2), (5, 0, 11)), (3, 5, (2, 4), (0, 0), (1, 30, 2)),
    (1, 4, (0, 2), (0, 1), (4, 4, 4)), (5, 1, (3, 0), (4, 0), (2, 9, 1))])
def test_scatter_and_gather_over_a_rectangle(tmp_path, arch, width, height, root, target, lengths):
    """Parts row by row."""
    image, size = tmp_path / "o.bin", width * height
    harness.compile(PROGRAM.with_name("grid_layout.csl"), image, f"--arch={arch}", params={
        "width": width, "height": height, "root_x": root[0], "root_y": root[1],
        "target_x": target[0], "target_y": target[1], "n0": lengths[0], "n1": lengths[1],
        "n2": lengths[2]})
    everything = size * sum(lengths)
    done = harness.emu(image, "--print=parts",
                       f"--print=gathered:{everything}@{target[0]},{target[1]},1,1")
    parts, gathered = (harness.values(done.out, name) for name in ("parts", "gathered"))
    starts = numpy.cumsum([0, *lengths])
    wholes = [(size * start + numpy.arange(size * n)).reshape(size, n)
              for n, start in zip(lengths, starts)]
    for p in range(size):
        expected = numpy.concatenate([whole[p] for whole in wholes]).tolist()
        assert parts[p % width, p // width] == expected, f"tile {p}"
    number = 1000 * numpy.arange(size)[:, None]
    assert gathered[target] == numpy.concatenate([(whole + number).ravel()
                                                  for whole in wholes]).tolist()


def check_sums(folder, program, size, lengths, width=0, **options):
    found, cycles = run(folder, program, size, lengths, width=width, **options)
    total = sum(lengths)
    expected = (numpy.arange(size).sum() + size * numpy.arange(total)).tolist()
    for p in range(size):
        assert found["parts"][position(p, size, width)] == expected, f"tile {p}"
    return cycles


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("size, lengths", [
    (2, (1, 8, 3)), (3, (9, 1, 2)), (4, (64, 3, 5)), (5, (4, 0, 11)), (8, (100, 7, 1)),
    (17, (40, 17, 3))])
def test_ring(tmp_path, arch, size, lengths):
    check_sums(tmp_path, RING, size, lengths, arch=arch)


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("size, seed", [(2, 1), (3, 0), (4, 2), (5, 3), (9, 0), (9, 4)])
def test_parts_of_their_own_lengths_without_waiting(tmp_path, arch, size, seed):
    harness.compile(PROGRAM.parent / "parts_layout.csl", tmp_path / "o.bin", f"--arch={arch}",
                    params={"P": size, "seed": seed})
    done = harness.emu(tmp_path / "o.bin", "--print=parts")
    lengths = [0] + [(7 * p + seed) % 5 for p in range(1, size)]
    owners = numpy.repeat(numpy.arange(size), lengths)
    turn = numpy.arange(len(owners)) + 1000 * owners
    assert harness.values(done.out, "parts")[0, 0] == [*turn, *(turn + 100)]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("what", [0, 1], ids=["scatter", "gather"])
def test_16_bit_elements_travel_in_pairs(tmp_path, what, arch):
    """An even number of 16-bit elements takes the cycles of half as many of 32 bits."""
    def cycles(length, is_16_bit):
        image = tmp_path / "o.bin"
        harness.compile(PROGRAM.parent.parent / "measure" / "move_layout.csl", image,
                        f"--arch={arch}", params={"tiles": 7, "what": what, "length": length,
                                                  "is_16_bit": is_16_bit})
        harness.emu(image, f"--stats={tmp_path / 's.json'}")
        return harness.stats(tmp_path / "s.json")["cycles"]

    assert cycles(190, "true") <= cycles(95, "false") + 8
    check_move(tmp_path, 6, 2, 4, (8, 7, 30), is_16_bit="true", arch=arch)


def test_ring_elsewhere(tmp_path):
    check_sums(tmp_path, RING, 6, (13, 6, 50), is_column=0, engine="reference")
    check_sums(tmp_path, RING, 12, (13, 6, 50), width=3)
    check_sums(tmp_path, RING, 5, (13, 6, 50), is_16_bit="true")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("size, group, lengths", [
    (1, 2, (3, 1, 2)), (2, 2, (1, 30, 3)), (8, 2, (9, 1, 20)), (9, 3, (4, 0, 11)),
    (16, 4, (40, 7, 1)), (27, 3, (2, 30, 1)), (7, 2, (5, 1, 20)), (22, 3, (12, 1, 3)),
    (6, 5, (4, 40, 2)), (5, 9, (1, 7, 30))])
def test_butterfly(tmp_path, arch, size, group, lengths):
    check_sums(tmp_path, BUTTERFLY, size, lengths, group=group, arch=arch)


def test_butterfly_elsewhere(tmp_path):
    check_sums(tmp_path, BUTTERFLY, 9, (13, 6, 50), group=3, engine="reference")
    check_sums(tmp_path, BUTTERFLY, 12, (13, 6, 50), width=3)
    check_sums(tmp_path, BUTTERFLY, 5, (13, 6, 50), is_16_bit="true")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("lengths", [(1, 2, 3), (100, 7, 0), (33, 500, 64)])
def test_exchange(tmp_path, arch, lengths):
    check_sums(tmp_path, EXCHANGE, 2, lengths, arch=arch)
    check_sums(tmp_path, EXCHANGE, 2, lengths, arch=arch, engine="reference")


ROOTS = PROGRAM.with_name("roots_layout.csl")
CHAIN, TREE, TWO_PHASE, OPTIMAL = range(1, 5)


def check_roots(folder, size, root, count, by_ring, which=CHAIN, arch="wse3", engine="fast"):
    image = folder / "o.bin"
    harness.compile(ROOTS, image, f"--arch={arch}", params={
        "size": size, "root": root, "count": count, "by_ring": str(by_ring).lower(),
        "which": which})
    done = harness.emu(image, f"--engine={engine}", "--print=sums", f"--stats={folder / 's.json'}")
    sums = harness.values(done.out, "sums")
    p = numpy.arange(size)[:, None]
    for call in range(3):
        tile = (root + call) % size if by_ring else root
        expected = (p + call + numpy.arange(count)).sum(axis=0).tolist()
        assert sums[tile, 0][call * count:(call + 1) * count] == expected, f"call {call}"
    return harness.stats(folder / "s.json")["cycles"]


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("size, root, count", [(1, 0, 3), (2, 1, 5), (3, 1, 4), (8, 3, 1),
                                               (9, 8, 30), (17, 6, 7)])
def test_ring_reduces_to_any_root(tmp_path, arch, size, root, count):
    check_roots(tmp_path, size, root, count, True, arch=arch)


@pytest.mark.parametrize("is_i32", ["false", "true"])
@pytest.mark.parametrize("operation, combine", [(0, numpy.sum), (1, numpy.max), (2, numpy.min),
                                                (3, numpy.prod)])
def test_ring_reduces_by_every_operation(tmp_path, operation, combine, is_i32):
    image = tmp_path / "o.bin"
    harness.compile(ROOTS, image, params={"size": 6, "root": 2, "count": 9, "by_ring": "true",
                                          "operation": operation, "is_i32": is_i32})
    sums = harness.values(harness.emu(image, "--print=sums").out, "sums")
    for call in range(3):
        values = numpy.arange(6)[:, None] + call + numpy.arange(9)
        for tile in range(6):
            expected = combine(values, axis=0) if tile == 2 + call else values[tile]
            assert sums[tile, 0][call * 9:(call + 1) * 9] == expected.tolist(), f"call {call}"


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("which", [CHAIN, TREE, TWO_PHASE, OPTIMAL])
@pytest.mark.parametrize("size, root, count", [(3, 1, 4), (8, 2, 5), (9, 6, 30), (17, 8, 7),
                                               (16, 0, 3), (16, 15, 20), (31, 20, 1)])
def test_jump(tmp_path, arch, which, size, root, count):
    check_roots(tmp_path, size, root, count, False, which, arch=arch)


def test_roots_agree_on_the_reference_engine(tmp_path):
    for by_ring in (True, False):
        assert (check_roots(tmp_path, 9, 3, 6, by_ring, TWO_PHASE, engine="reference")
                == check_roots(tmp_path, 9, 3, 6, by_ring, TWO_PHASE))


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_ring_and_jump_take_what_the_model_says(tmp_path, arch):
    """Three calls of 500 elements on 32 tiles: by the ring to three roots, each call from its start
    to its end; by the jump to one root, one call behind the other."""
    t_r = harness.timing("ramp_up", arch)
    ring = 2 * 31 * (t_r + 1) + 500 + 29
    assert check_roots(tmp_path, 32, 11, 500, True, arch=arch) <= 3 * (ring + 64)
    jump = 2 * 30 * (t_r + 1) + 500 + 5 + 11
    assert check_roots(tmp_path, 32, 11, 500, False, arch=arch) <= jump + 2 * 500 + 3 * 64


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("program, size", [(RING, 5), (BUTTERFLY, 6), (EXCHANGE, 2)])
def test_other_operations(tmp_path, arch, program, size):
    for operation, combine in ((1, numpy.max), (3, numpy.prod)):
        found, _ = run(tmp_path, program, size, (3, 1, 7), arch=arch, operation=operation)
        values = (numpy.arange(size)[:, None] + numpy.arange(11)).astype(numpy.float32)
        for p in range(size):
            assert found["parts"][p, 0] == combine(values, axis=0).tolist()


# A call: the words and the distance, and a constant for descriptors, tasks and the ramps.
@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_cycles(tmp_path, arch):
    def cycles(program, size, n, **params):
        return run(tmp_path, program, size, (n, n, n), arch=arch, **params)[1] / 3
    for n in (1, 64, 1000):
        assert cycles(EXCHANGE, 2, n) <= n + 64
    for size, n in ((3, 999), (8, 1000), (16, 16)):
        piece = -(-n // size)
        assert cycles(RING, size, n) <= 2 * (size - 1) * (piece + 7 + 80) + 110
