"""wse-model: the performance model of collectives, and its command line."""
import cluster_model_table
import harness
import pytest

# P, B, then cycles: broadcast; reduce star, chain, tree, two-phase, optimal, ring; allreduce chain,
# ring.  The values are those of an independent program that carries out the rules of the model.
TABLE = """
  4   16   24      54    34    38    38    34    35    58    66
 16   16   36     246   106    70    68    61   119   142   240
 64   64  132    4038   442   390   248   215   503   574  1008
 64 1028 1096   64770  1406  6174  2176  1406  1467  2502  2906
512    1  517     517  3067   557   732   517  3576  3584  7156
512   64  580   32710  3130   853   831   668  3639  3710  7282
512  512 1028  261638  3578  4614  1727  1527  4087  4606  8176
512 4096 4612 2093062  7162 36870  8895  7162  7671 11774 15330
"""
COLUMNS = ["broadcast multicast", "reduce star", "reduce chain", "reduce tree", "reduce two-phase",
           "reduce optimal", "reduce ring", "allreduce chain", "allreduce ring"]


def model(*args, **options):
    return harness.run([harness.tool("wse-model"), *args], **options)


def predict(op, pattern, *args):
    return int(model("predict", f"--op={op}", f"--pattern={pattern}", *args).out)


@pytest.mark.parametrize("row", TABLE.strip().splitlines())
def test_table(row):
    tiles, length, *expected = map(int, row.split())
    got = [predict(*column.split(), f"--pes={tiles}", f"--len={length}") for column in COLUMNS]
    assert got == expected


# ---- the rules of the model, carried out here once more -----------------------------------------

def executed(parent, length, t_r):
    """Cycles of a reduction along a tree: children in turn, one element per cycle."""
    tiles = len(parent)
    children = [[] for _ in parent]
    for v in range(1, tiles):
        children[parent[v]].append(v)
    start, free = [0] * tiles, [0] * tiles
    for v in reversed(range(tiles)):
        for c in children[v]:
            start[v] = max(free[v], start[c] + c - v + 2 * t_r + 1)
            free[v] = start[v] + length
    return free[0]


def best_tree(tiles, length, t_r):
    """The least over all pre-order trees, by the recurrence without shortcuts."""
    send, take = [0] * (tiles + 1), [0] * (tiles + 1)
    for n in range(2, tiles + 1):
        send[n] = min(max(take[i], send[n - i] + i + 2 * t_r + 1) for i in range(1, n))
        take[n] = send[n] + length
    return take[tiles]


def tree(tiles, length, t_r):
    lines = model("tree", f"--pes={tiles}", f"--len={length}", f"--tr={t_r}").out.splitlines()
    cycles = int(lines[0].split(": ")[1].split()[0])
    parent = [0] + [int(line.split()[1]) for line in lines[2:]]
    assert lines[1] == "0 -" and len(parent) == tiles
    assert [int(line.split()[0]) for line in lines[1:]] == list(range(tiles))
    return cycles, parent


@pytest.mark.parametrize("tiles,length,t_r", [
    (1, 5, 2), (2, 1, 2), (3, 7, 2), (13, 1, 2), (13, 40, 0), (60, 9, 2), (100, 30, 5),
    (127, 200, 1), (200, 64, 2), (613, 77, 2), (1024, 3, 4)])
def test_tree_is_preorder_and_optimal(tiles, length, t_r):
    cycles, parent = tree(tiles, length, t_r)
    assert all(parent[v] < v for v in range(1, tiles))
    # Pre-order: a tile's parent is its neighbour or an ancestor of that.
    for v in range(2, tiles):
        up = v - 1
        while up != parent[v]:
            assert up != 0
            up = parent[up]
    assert cycles == executed(parent, length, t_r) == best_tree(tiles, length, t_r)
    assert cycles == predict("reduce", "optimal", f"--pes={tiles}", f"--len={length}",
                             f"--tr={t_r}")


@pytest.mark.parametrize("tiles,length,step", [(9, 4, 3), (10, 4, 3), (50, 100, 7), (64, 3, 32),
                                               (61, 500, 40), (30, 9, 29), (17, 20, 1)])
def test_two_phase_is_what_its_tree_takes(tiles, length, step):
    parent = [0] * tiles
    for v in range(1, tiles):
        parent[v] = max(v - step, 0) if (tiles - v) % step == 0 else v - 1
    assert predict("reduce", "two-phase", f"--pes={tiles}", f"--len={length}",
                   f"--step={step}") == executed(parent, length, 2)


def test_roots_and_grids():
    line = ("--pes=100", "--len=50")
    chain = predict("reduce", "chain", *line)
    assert chain == 2 * 99 * 3 + 50
    assert predict("reduce", "chain", *line, "--root=30") == max(2 * 30 * 3 + 100,
                                                                 2 * 69 * 3 + 50)
    assert predict("reduce", "chain", *line, "--root=99") == chain
    assert predict("reduce", "jump-chain", *line, "--root=30") == 2 * 98 * 3 + 50 + 5 + 30
    assert predict("broadcast", "multicast", *line, "--root=30") == 4 + 70 + 50
    assert predict("reduce", "chain", "--grid=64x32", "--len=1028") == 6 * 63 + 6 * 31 + 2 * 1028
    assert predict("broadcast", "multicast", "--grid=8x4", "--len=10", "--root=2,1") == 4 + 6 + 3 - 1 + 10
    assert predict("allreduce", "butterfly", "--pes=8", "--len=12") == sum(
        2 * (5 + d) + 12 for d in (1, 2, 4))


def test_allreduces_of_the_library():
    """One tile has nothing to do; a group of all tiles has one stage; two neighbours exchange."""
    for pattern in ("library-ring", "library-butterfly"):
        assert predict("allreduce", pattern, "--pes=1", "--len=7") == 0
    few, many = (predict("allreduce", "library-butterfly", "--pes=9", f"--len={length}", "--step=9")
                 for length in (100, 1100))
    assert many - few == 9.5 * 1000      # nine vectors, and a copy of two elements per cycle
    assert (predict("allreduce", "library-ring", "--pes=4", "--len=1100")
            - predict("allreduce", "library-ring", "--pes=4", "--len=100")) == 1500
    assert predict("allreduce", "exchange", "--pes=2", "--len=100") == 106
    assert "another shape" in model("predict", "--op=allreduce", "--pattern=exchange", "--pes=3",
                                    "--len=1", expect=2).err


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_gathers_and_scatters_have_a_model_for_lines_alone(op):
    query = ("predict", f"--op={op}", "--len=7")
    assert "another shape" in model(*query, "--pattern=line", "--grid=3x2", expect=2).err
    assert "no such pattern" in model(*query, "--pattern=any", "--pes=3", expect=2).err


@pytest.mark.parametrize("op", ["allgather", "reduce-scatter", "scan", "exclusive-scan"])
@pytest.mark.parametrize("pattern", ["line", "task"])
def test_the_library_has_these_calls_for_lines_alone(op, pattern):
    query = ("predict", f"--op={op}", f"--pattern={pattern}", "--len=7", "--grid=3x2")
    assert "another shape" in model(*query, expect=2).err


def test_the_butterfly_of_three_is_never_the_fastest():
    """The sweep of the thesis, 3^2 to 3^7 tiles; of its lengths, 1 to 4096, some."""
    random = harness.commit_random("butterfly sweep")
    lengths = (1, 8, 64, 512, 4096, *(int(B) for B in random.integers(1, 4097, 2)))
    for tiles in (3 ** k for k in range(2, 8)):
        for length in lengths:
            line = (f"--pes={tiles}", f"--len={length}")
            naive = min(predict("allreduce", name, *line) for name in ("chain", "tree", "two-phase"))
            assert predict("allreduce", "butterfly", *line, "--step=3") > naive, (tiles, length)


def test_best():
    for length, name in ((1, "star"), (16, "tree"), (512, "two-phase"), (4096, "chain")):
        line = ("--pes=512", f"--len={length}")
        best, cycles = model("best", "--op=reduce", *line).out.split()
        assert (best, int(cycles)) == (name, predict("reduce", name, *line))
    assert model("best", "--op=allreduce", "--pes=3", "--len=1028").out.startswith("ring ")


@pytest.mark.parametrize("pattern", ["line", "task", "steady"])
def test_a_barrier_needs_no_length(pattern):
    line = ("--op=barrier", f"--pattern={pattern}", "--grid=4x3")
    cycles = {model("predict", *line, *length).out for length in ([], ["--len=1"], ["--len=900"])}
    assert len(cycles) == 1 and int(cycles.pop()) > 0


@pytest.mark.parametrize("args", [
    [], ["guess"], ["predict"], ["predict", "--op=reduce", "--pes=4", "--len=4"],
    ["predict", "--op=reduce", "--pattern=spiral", "--pes=4", "--len=4"],
    ["predict", "--op=scan", "--pattern=chain", "--pes=4", "--len=4"],
    ["predict", "--op=reduce", "--pattern=chain", "--pes=0", "--len=4"],
    ["predict", "--op=reduce", "--pattern=chain", "--pes=4", "--len=x"],
    ["predict", "--op=reduce", "--pattern=chain", "--pes=4", "--grid=2x2", "--len=4"],
    ["predict", "--op=reduce", "--pattern=chain", "--pes=4", "--len=4", "--root=4"],
    ["predict", "--op=reduce", "--pattern=chain", "--grid=2y2", "--len=4"],
    ["predict", "--op=reduce", "--pattern=optimal", "--pes=1025", "--len=4"],
    ["tree", "--pes=2187", "--len=4"],
    ["tree", "--grid=2x2", "--len=4"], ["tree", "--pes=4"], ["tree", "--pes=4", "--len=4", "x"],
    ["best", "--op=allgather", "--pes=4", "--len=4"],
    ["predict", "--op=broadcast", "--pattern=chain", "--pes=4", "--len=4"],
    ["best", "--op=reduce", "--pes=4", "--len=4", "--nonsense=1"]])
def test_wrong_usage(args):
    done = model(*args, expect=2)
    assert done.err.startswith("wse-model: ")
    assert "--help" in done.err
    # Of what the call says, not of a pattern that it does not name.
    assert "star" not in done.err


def test_the_machine_chooses_what_options_do_not():
    chain, gemm = ("--pes=200", "--len=2"), ("--size=64x64x64", "--pes=8")
    for arch, t_r, simd in (("wse2", 2, 4), ("wse3", 5, 8)):
        assert predict("reduce", "chain", *chain, f"--arch={arch}") == \
            predict("reduce", "chain", *chain, f"--tr={t_r}")
        assert model("gemm", *gemm, f"--arch={arch}").out == model("gemm", *gemm, f"--simd={simd}").out
    assert predict("reduce", "chain", *chain) == predict("reduce", "chain", *chain, "--arch=wse2")
    assert predict("reduce-scatter", "task", *chain, "--arch=wse3") > \
        1.5 * predict("reduce-scatter", "task", *chain, "--tr=5")      # through a FIFO


@pytest.mark.parametrize("option, message", [
    ("--pes=0", "--pes is a number from 1 to 4096: 0"),
    ("--pes=5000", "--pes is a number from 1 to 4096: 5000"),
    ("--tr=x", "--tr is a number from 0 to"),
    ("--root=x", "--root is a tile, or two numbers as in 3,0: x"),
    ("--grid=2y2", "--grid is two numbers, as in 4x3: 2y2"),
    ("--size=4x4", "--size is three numbers, as in 64x32x16: 4x4"),
    ("--arch=wse4", "--arch is wse2 or wse3: wse4"),
    ("--simd=3", "--simd is an even number of elements: 3")])
def test_a_wrong_value_is_told_what_the_option_takes(option, message):
    assert message in model("predict", option, expect=2).err


@pytest.mark.parametrize("first, second", [("pes", "8"), ("op", "broadcast"), ("pattern", "tree"),
                                           ("len", "9")])
def test_an_option_has_one_value(first, second):
    args = ["predict", "--op=reduce", "--pattern=chain", "--pes=4", "--len=4"]
    value = next(word for word in args if word.startswith(f"--{first}=")).split("=")[1]
    assert model(*args, f"--{first}={value}").out == model(*args).out
    err = model(*args, f"--{first}={second}", expect=2).err
    assert f"--{first} is given twice, as '{value}' and as '{second}'; ask twice" in err


def test_help():
    assert "predict" in model("--help").out
    assert model("--version").out.startswith("wse-model ")


def test_the_page_has_the_predictions_for_clusters():
    for name, made in cluster_model_table.TABLES.items():
        assert cluster_model_table.of_page(name) == made()


def test_the_model_of_links_has_its_limits():
    """Long blocks take the link's rate; more hops take their latency; `stream` is behind all of them."""
    cycles = cluster_model_table.cycles
    long = [cycles(4, n, "broadcast", "split", "--channels=4", "--rate=250") for n in (2**17, 2**18)]
    assert 4 * 2**17 < long[1] - long[0] < 1.01 * 4 * 2**17
    hops = [cycles(r, 1, "all-gather", "split", "--latency=5000") for r in (10, 20)]
    assert 10 * 5000 < hops[1] - hops[0] < 10 * 6000
    assert cycles(8, 10, "all-gather", "half") < cycles(8, 10, "all-gather", "split")


def test_the_model_of_all_tiles_has_its_limits():
    """Long vectors pass the gate twice and all tiles once more; many wafers cost their hops alone."""
    cycles = cluster_model_table.cycles
    grid = "--grid=8x4"
    words = [cycles(4, n, "broadcast", "split", "--channels=4", grid) -
             cycles(4, n, "broadcast", "split", "--channels=4") for n in (2000, 6000)]
    assert words[1] - words[0] == 5 * 4000          # from the tile 2, down, up, to all
    hops = [cycles(r, 64, "all-reduce", "split", grid) - cycles(r, 64, "all-reduce", "split")
            for r in (100, 1000)]
    assert hops[0] == hops[1]
    rounds = [cycles(8, 1, "all-to-all", "split", f"--grid=8x{height}") for height in (2, 4)]
    assert rounds[1] > 2 * rounds[0]


@pytest.mark.parametrize("args,message", [
    (["--op=gather", "--wafers=4", "--len=3"], "--op of cluster is"),
    (["--op=all-gather", "--wafers=4", "--len=3", "--scheme=full"], "--scheme is split, half or line"),
    (["--op=broadcast", "--wafers=4", "--len=3", "--scheme=half"], "only all-gather has this --scheme"),
    (["--op=reduce-scatter", "--wafers=4", "--len=3", "--scheme=half"], "reduce-scatter has line, too"),
    (["--op=all-gather", "--len=3"], "--wafers is missing"),
    (["--op=all-gather", "--wafers=4"], "--len is missing"),
    (["--op=all-gather", "--wafers=1", "--len=3"], "wafers"),
])
def test_mistakes_about_clusters(args, message):
    assert message in model("cluster", *args, expect=2).err
