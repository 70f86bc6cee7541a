"""<mpi>: every call, in a row, against the same in numpy."""
import re

import numpy
import pytest

import collectives_run as lines
import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "mpi" / "layout.csl"
MESSAGES = harness.ROOT / "tests" / "stdlib" / "mpi" / "messages.csl"
CALLS = 16
FUNCTIONS = lines.FUNCTIONS
DIRECTIONS = {lines.ROW: "row", lines.COLUMN: "column", lines.SNAKE: "snake"}


def expected(send, counts, n, root, function):
    """results[call][rank]: (place, elements) pairs; what is not named stays zero."""
    P = len(send)
    parts = send.reshape(P, P, n)
    with numpy.errstate(over="ignore"):
        total = send[0].copy()
        for p in range(1, P):
            total = function(total, send[p])
    most = counts.max(axis=0)

    def on_root(pairs):
        return [pairs if p == root else [] for p in range(P)]

    return [
        [[(0, send[root][:n])]] * P,
        on_root([(0, total[:n])]),
        on_root([(q * n, send[q][:n]) for q in range(P)]),
        [[(0, parts[root, p])] for p in range(P)],
        [[(0, total)]] * P,
        [[(0, total[p * n:p * n + n])] for p in range(P)],
        [[(q * n, send[q][:n]) for q in range(P)]] * P,
        [[(q * n, parts[q, p]) for q in range(P)] for p in range(P)],
        [[(q * n, parts[q, p][:counts[q, p]]) for q in range(P)] for p in range(P)],
        [[(0, parts[root, p][:counts[root, p]])] for p in range(P)],
        [[(0, send[(p - 1) % P][:n])] for p in range(P)],
        on_root([(q * n, send[q][:counts[q, q]]) for q in range(P)]),
        [[(q * n, send[q][:most[q]]) for q in range(P)] for p in range(P)],
        [[(0, send[(p + 1) % P][:n])] for p in range(P)],
        [[(0, send[q][:counts[q, q]])] for q in (partner(p, P) for p in range(P))],
        [[(0, send[(p - P // 2) % P][:n])] for p in range(P)],
    ]


def partner(p, P):
    """Pairs of neighbours; the last of an odd number stays alone."""
    return p if p == P - 1 and P % 2 == 1 else p ^ 1


def check(folder, width, height, shape, n, root, is_integer, operation, seed, arch,
          engine="fast"):
    P = width * height
    config = {"width": width, "height": height, "shape": shape, "element": 4 * is_integer,
              "operation": operation}
    random = numpy.random.default_rng(seed)
    order = [(y, x) for x, y in lines.line_order(config)]
    send = lines.values(random, config, (P, P * n))
    counts = random.integers(0, n + 1, (P, P)).astype(numpy.uint16)
    image = folder / "o.bin"
    harness.compile(PROGRAM, image, f"--arch={arch}", "--werror", params={
        "width": width, "height": height, "shape": shape, "n": n, "root": root,
        "is_integer": "true" if is_integer else "false", "operation": operation})
    arrays = {}
    for name, by_rank in (("send", send), ("counts", counts)):
        array = numpy.zeros((height, width, by_rank.shape[1]), by_rank.dtype)
        for (y, x), row in zip(order, by_rank):
            array[y, x] = row
        arrays[name] = harness.save_npy(folder / f"{name}.npy", array)
    harness.emu(image, f"--engine={engine}", *(f"--h2d={k}={v}" for k, v in arrays.items()),
                "--run", f"--d2h=results={folder / 'results.npy'}",
                f"--d2h=send={folder / 's.npy'}")
    results = harness.load_npy(folder / "results.npy").reshape(height, width, CALLS, P * n)
    kept = harness.load_npy(folder / "s.npy").reshape(height, width, P * n)
    wanted = expected(send, counts, n, root, FUNCTIONS[operation])
    for p, (y, x) in enumerate(order):
        numpy.testing.assert_array_equal(kept[y, x], send[p])
        for call in range(CALLS):
            want = numpy.zeros(P * n, send.dtype)
            for place, elements in wanted[call][p]:
                want[place:place + len(elements)] = elements
            numpy.testing.assert_array_equal(results[y, x, call], want,
                                             err_msg=f"call {call}, rank {p}")


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("shape", list(DIRECTIONS), ids=DIRECTIONS.values())
def test_every_call(tmp_path, shape, arch):
    random = harness.commit_random(f"mpi {shape} {arch}")
    for is_integer in (0, 1):
        size = int(random.integers(1, 9))
        width, height = {lines.ROW: (size, 1), lines.COLUMN: (1, size)}.get(shape, (3, 2))
        check(tmp_path, width, height, shape, int(random.integers(1, 12)),
              int(random.integers(0, width * height)), is_integer, int(random.integers(0, 4)),
              size, arch)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_ranks_and_the_reference_engine(tmp_path, size):
    check(tmp_path, size, 1, lines.ROW, 4, size - 1, 0, 0, 5, "wse2", engine="reference")


def message_cycles(folder, size, n, distance, operation):
    """Those of a call in which each rank sends to the one `distance` further."""
    image = folder / "m.bin"
    harness.compile(MESSAGES, image, params={"size": size, "n": n, "distance": distance,
                                             "operation": operation})
    harness.emu(image, "--run", *(f"--d2h={name}={folder / (name + '.npy')}"
                                  for name in ("recv", "stamps")))
    recv = harness.load_npy(folder / "recv.npy").reshape(size, 3, n)
    for p in range(size):
        want = ((p - distance) % size) * 1000 + numpy.arange(3)[:, None] * 100 + numpy.arange(n)
        numpy.testing.assert_array_equal(recv[p], want)
    stamps = harness.load_npy(folder / "stamps.npy").reshape(size, 2, 3).astype(numpy.int64)
    cycles = stamps[..., 0] + (stamps[..., 1] << 16)
    return int(cycles[:, 1].max() - cycles[:, 0].max())


@pytest.mark.parametrize("operation", range(4), ids=["add", "max", "min", "mul"])
def test_messages_to_neighbours_do_not_go_around_the_ring(tmp_path, operation):
    """The ranks agree by a reduction, whatever the communicator's operation is."""
    size, n = 8, 32
    near = message_cycles(tmp_path, size, n, 1, operation)
    far = message_cycles(tmp_path, size, n, 3, operation)
    assert near < far / 2
    assert message_cycles(tmp_path, size, n, size - 1, operation) < far / 2


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("by_parts, n", [(0, 9), (1, 9), (1, 200)])
def test_calls_of_a_program_with_memcpy(tmp_path, arch, by_parts, n):
    """The default queues are none of those that the link to the host has."""
    tiles, image = 5, tmp_path / "o"
    harness.compile(PROGRAM.parent / "launched.csl", image, f"--arch={arch}", "--memcpy", "--werror",
                    params={"P": tiles, "n": n, "by_parts": "true" if by_parts else "false"})
    numbers = numpy.arange(tiles * n, dtype=numpy.float32).reshape(1, tiles, n)
    harness.emu(image, f"--h2d=numbers={harness.save_npy(tmp_path / 'a.npy', numbers)}",
                "--launch=sum", "--launch=sum", f"--d2h=numbers={tmp_path / 'b.npy'}")
    found = harness.load_npy(tmp_path / "b.npy").reshape(tiles, n)
    numpy.testing.assert_array_equal(found, numpy.tile(numbers.sum(axis=1) * tiles, (tiles, 1)))


LAYOUT = """const mpi = @import_module("<mpi/layout>");
param first: u16;
layout {
  @set_rectangle(3, 1);
  for (@range(u16, 3)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .role = mpi.mpi_row_tile(x, 0, 3, %s) });
  }
}
"""
TILE = """param role: comptime_struct;
const mpi = @import_module("<mpi>", .{ .role = role });
"""


@pytest.mark.parametrize("as_argument", ["first", "@get_color(first)"])
def test_on_wse3_two_colors_of_a_communicator_need_switches(tmp_path, as_argument):
    """docs/library.md names the first colors that are possible."""
    (tmp_path / "layout.csl").write_text(LAYOUT % as_argument)
    (tmp_path / "pe.csl").write_text(TILE)
    possible = []
    for first in range(15):
        result = harness.run([harness.tool("cslc"), tmp_path / "layout.csl", "--arch=wse3",
                              f"--params=first:{first}", "-o", tmp_path / "x.bin"], expect=None)
        if result.code == 0:
            possible.append(first)
        else:
            assert "has no switches on wse3" in result.err
    page = " ".join((harness.ROOT / "docs" / "library.md").read_text().split())
    assert possible == [0, 1, 2, 6, 10, 14]
    assert "`first_color` 0, 1, 2, 6, 10 or 14" in page


@pytest.mark.parametrize("call", [
    "bcast(&v, 1, @)", "reduce(&v, &v, 1, @)", "gather(&v, 1, &v, @)", "gatherv(&v, 1, &v, &n, @)",
    "scatter(&v, 1, &v, @)", "scatterv(&v, &n, &n, &v, @)", "sendrecv(&v, 1, @, &v)"])
def test_a_rank_that_the_communicator_does_not_have(tmp_path, call):
    """The rank is known at run time only; without the assertion, the tiles would wait for ever."""
    (tmp_path / "layout.csl").write_text(LAYOUT % "first")
    (tmp_path / "pe.csl").write_text(TILE + """
        var v = @zeros([9]f32);
        var n = @zeros([3]u16);
        var rank: u16 = 3;
        task main() void { mpi.%s; }
        comptime {
          @bind_local_task(main, @get_local_task_id(8));
          @activate(@get_local_task_id(8));
        }""" % call.replace("@", "rank"))
    harness.compile(tmp_path / "layout.csl", tmp_path / "x.bin", params={"first": 0})
    ran = harness.emu(tmp_path / "x.bin", expect=2)
    assert re.search(r"assertion failed: (root|n == 0 or to) < size ", ran.err), ran.err
    assert re.search(r"called at \S*pe\.csl:7$", ran.err, re.M), ran.err


@pytest.mark.parametrize("sender, receiver", [(0, 1), (0, 2), (2, 1)])
@pytest.mark.parametrize("nowhere", [3, 40000])
def test_a_rank_that_sends_nothing_names_no_rank(tmp_path, sender, receiver, nowhere):
    (tmp_path / "layout.csl").write_text(LAYOUT % "first")
    (tmp_path / "pe.csl").write_text(TILE + """
        var v = [2]f32{ 5.0, 6.0 };
        export var got = @zeros([2]f32);
        var nowhere: u16 = %d;
        task main() void {
          if (mpi.rank == %d) {
            mpi.sendrecv(&v, 2, %d, &got);
          } else {
            mpi.sendrecv(&v, 0, nowhere, &got);
          }
        }
        comptime {
          @bind_local_task(main, @get_local_task_id(8));
          @activate(@get_local_task_id(8));
        }""" % (nowhere, sender, receiver))
    harness.compile(tmp_path / "layout.csl", tmp_path / "x.bin", params={"first": 0})
    ran = harness.emu(tmp_path / "x.bin", "--check=memory", "--run", "--print=got")
    assert ran.out.splitlines() == [
        f"got@{rank},0: {'{ 5, 6 }' if rank == receiver else '{ 0, 0 }'}" for rank in range(3)], ran.out


@pytest.mark.parametrize("way, size, options, text", [
    ("row", 4, "", "the row has more ranks than the rectangle has columns"),
    ("column", 2, "", "the column has more ranks than the rectangle has rows"),
    ("row", 3, ", .longest = 0", "longest is the number of elements of the longest part, 1 or more")])
def test_mistakes_that_would_wait_for_ever(tmp_path, way, size, options, text):
    (tmp_path / "layout.csl").write_text(f"""
const mpi = @import_module("<mpi/layout>");
layout {{
  @set_rectangle(3, 1);
  for (@range(u16, 3)) |x| {{
    @set_tile_code(x, 0, "pe.csl", .{{ .role = mpi.mpi_{way}_tile(x, 0, {size}, 0) }});
  }}
}}
""")
    (tmp_path / "pe.csl").write_text(f"""
param role: comptime_struct;
const mpi = @import_module("<mpi>", .{{ .role = role{options} }});
var v = @zeros([9]f32);
task main() void {{ mpi.alltoall(&v, 1, &v); }}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }}
""")
    ran = harness.cslc("layout.csl", "-o", "x.bin", cwd=tmp_path, expect=1)
    assert ran.err.count("error: ") == 1 and text in ran.err, ran.err
