"""The measured tables of docs/collectives.md: each stands between `<!-- measured: NAME -->` and
`<!-- end -->`.  tests/test_collectives.py compares the quick ones, the claim collectives_guide all.

    WSE_UPDATE_GOLDEN=1 tests/claims/collectives_guide.py        rewrites the page
"""
import re

import collectives_measure as measure
import collectives_run as lines
import harness

PAGE = harness.ROOT / "docs" / "collectives.md"


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, body):
    return "\n".join([row(head), row(["---"] * len(head)), *map(row, body)])


# ---- types and operations --------------------------------------------------------------------

TILES = 8
SHORT, LONG = 64, 192
VECTOR = {("f32", "add"): "`@fadds`", ("f32", "max"): "`@fmaxs`", ("f32", "mul"): "`@fmuls`",
          ("f32", "min"): "`@fmaxs` of negated", ("f16", "add"): "`@faddh`",
          ("f16", "max"): "`@fmaxh`", ("f16", "mul"): "`@fmulh`",
          ("f16", "min"): "`@fmaxh` of negated", ("i16", "add"): "`@add16`",
          ("u16", "add"): "`@add16`"}


def root_cycles(folder, element, operation, length, arch):
    """Cycles between the root's timestamps before and after the first of three calls."""
    lines.run(folder, {"width": TILES, "element": element, "operation": operation, "first": length,
                       "second": 1, "third": 1}, arch=arch)
    words = harness.load_npy(folder / "stamps.npy")[0, 0].astype(int)
    begin, end = (sum(words[3 * i + k] << 16 * k for k in range(3)) for i in (0, 1))
    return end - begin


def types(folder):
    """Chain over TILES tiles."""
    body = []
    for element, type_name in enumerate(lines.TYPE_NAMES):
        for operation, name in enumerate(lines.OPERATION_NAMES):
            short, long, other = (root_cycles(folder, element, operation, n, arch)
                                  for n, arch in ((SHORT, "wse2"), (LONG, "wse2"),
                                                  (SHORT, "wse3")))
            how = VECTOR.get((type_name, name), "element by element")
            body.append((type_name, name, how, short, f"{(long - short) / (LONG - SHORT):.2f}",
                         other))
    return table(("type", "operation", "by", f"wse2, {SHORT} elements", "each further element",
                  f"wse3, {SHORT} elements"), body)


# ---- resources -------------------------------------------------------------------------------

def largest(layout, args):
    """Code and data of the largest tile program."""
    text = harness.cslc(layout, "--emit=map",
                        "--params=" + ",".join(f"{k}:{v}" for k, v in args.items())).out
    sizes = {kind: [int(n) for n in re.findall(rf"^{kind} +0x\w+ +(\d+) bytes", text, re.M)]
             for kind in ("data", "code")}
    return max(data + code for data, code in zip(sizes["data"], sizes["code"]))


def bytes_of(what, pattern, tiles, root=0):
    """`most` elements of data left out."""
    width, height = (tiles, 1) if isinstance(tiles, int) else tiles
    return largest(measure.HERE / "line_layout.csl",
                   {"width": width, "height": height, "what": what, "pattern": pattern,
                    "planned": 64, "most": 16, "root": root})


NOTHING = 3


def bytes_of_allreduce(kind, with_task, tiles):
    return largest(measure.HERE / "allreduce_layout.csl",
                   {"tiles": tiles, "kind": kind, "with_task": with_task})


def resources(_folder):
    """What a tile needs at most; bytes beside a program whose line has one tile."""
    alone = bytes_of(measure.REDUCE, measure.CHAIN, 1)
    body = [("reduce, " + measure.NAMES[pattern] + ", root at an end", 2, "1, 1", "2, 2, 1", 2,
             bytes_of(measure.REDUCE, pattern, 64) - alone)
            for pattern in (measure.STAR, measure.CHAIN, measure.TREE, measure.TWO_PHASE,
                            measure.OPTIMAL)]
    body += [
        ("reduce, tree, root in the line", 2, "2, 1", "2, 2, 2", 2,
         bytes_of(measure.REDUCE, measure.TREE, 64, root=20) - alone),
        ("broadcast", 1, "1, 1", "by the compiler", "1, shared 2",
         bytes_of(measure.BROADCAST, measure.CHAIN, 64) - alone),
        ("allreduce, chain and broadcast", 3, "2, 2", "2, 2, 1", "3, shared 4",
         bytes_of(measure.ALLREDUCE, measure.CHAIN, 64) - alone),
        ("reduce over a rectangle, two-phase", 4, "2, 2", "4, 4, 2", 4,
         bytes_of(measure.REDUCE, measure.TWO_PHASE, (8, 8)) - alone)]
    for name, kind, tiles, colors, queues, dsrs, tasks in (
            ("ring", lines.RING, 64, 3, "1, 1", "1, 1, 2", 2),
            ("exchange", lines.EXCHANGE, 2, 2, "1, 1", "2, 1, 2", "1, minimum of floats 2"),
            ("butterfly of 2", lines.BUTTERFLY, 64, 2, "2, 2", "by the compiler", 2)):
        both = [bytes_of_allreduce(kind, with_task, tiles)
                - bytes_of_allreduce(NOTHING, with_task, 1) for with_task in (0, 1)]
        body.append((name, colors, queues, dsrs, tasks, f"{both[0]}, start {both[1]}"))
    return table(("collective", "colors", "queues in, out", "DSRs dest, src0, src1",
                  "local tasks of start", "bytes"), body)


# ---- what the parameters are if the program does not set them --------------------------------

LIBRARY = harness.ROOT / "stdlib"
MODULES = ("reduce", "reduce_2d", "broadcast", "broadcast_any", "ring_reduce", "planned_allreduce",
           "stream_allreduce", "ring", "exchange", "butterfly", "scatter", "gather", "gather_2d",
           "allgather", "planned_allgather", "reduce_scatter", "ring_scatter",
           "planned_reduce_scatter", "neighbours", "scan", "barrier", "steady_barrier", "alltoall",
           "alltoall_2d", "alltoall_task", "alltoall_short", "alltoall_both", "packets")


def param(text, name):
    """The value that a module gives a parameter, and the comment behind it; of numbers alone."""
    found = re.search(rf"^param {name}(?:: \w+)? = ([^;]+);(?: *// *(.*(?:\n  +// .*)*))?", text, re.M)
    if not found:
        return "", ""
    value, comment = found.group(1), re.sub(r"\s*\n\s*// ", " ", found.group(2) or "")
    lists = re.findall(r"\{ ([^{}]*) \}", value) or [value]
    by_machine = re.search(r"if \(@is_arch\(\"wse3\"\)\)", value)
    if not by_machine:
        return lists[0], comment
    return f"{' or '.join(reversed(lists[1:]))}; wse3: {lists[0]}", comment


def defaults(_folder):
    """The queues and the first DSR of each module, as its file has them."""
    body = []
    for name in MODULES:
        text = (LIBRARY / "collectives" / f"{name}.csl").read_text()
        queues = [next(filter(None, (param(text, f"{way}_queue{s}")[0] for s in ("s", ""))), "")
                  for way in ("input", "output")]
        first, comment = param(text, "dsrs")
        body.append((f"`{name}`", *queues, f"{first}: {comment}" if first else "by the compiler"))
    return table(("module", "`input_queues`", "`output_queues`", "`dsrs`"), body)


# ---- which pattern when ----------------------------------------------------------------------

GUIDE_TILES = (8, 64, 512)
GUIDE_LENGTHS = (1, 16, 64, 256, 1024, 4096)
GUIDE_PATTERNS = (measure.STAR, measure.CHAIN, measure.TREE, measure.TWO_PHASE, measure.AUTO)
LONG_RUN = 300_000       # predicted cycles from which on the prediction stands for the run


GUIDE_HEAD = "tiles", "elements", "star", "chain", "tree", "two-phase", "auto", "broadcast"
GUIDE_POINTS = [(tiles, length) for tiles in GUIDE_TILES for length in GUIDE_LENGTHS]


def guide(folder, points=tuple(GUIDE_POINTS)):
    runs = measure.Runs(folder)
    body = []
    for tiles, length in points:
        cells = []
        for pattern in GUIDE_PATTERNS:
            model = measure.predicted(measure.REDUCE, min(pattern, measure.OPTIMAL), tiles, length)
            cells.append(f"({model})" if model > LONG_RUN else
                         runs.cycles(measure.REDUCE, pattern, tiles, length, most=4096))
        broadcast = runs.cycles(measure.BROADCAST, measure.CHAIN, tiles, length, most=4096)
        body.append((tiles, length, *cells, broadcast))
    return table(GUIDE_HEAD, body)


QUICK = {"types": types, "resources": resources, "defaults": defaults}
ALL = {**QUICK, "guide": guide}


def section(text, name):
    """(begin, end) of the table in the page."""
    found = re.search(rf"<!-- measured: {name} -->\n(.*?)<!-- end -->", text, re.S)
    assert found, f"{PAGE.name} has no table '{name}'"
    return found.span(1)


def current(name):
    text = PAGE.read_text()
    begin, end = section(text, name)
    return text[begin:end].rstrip("\n")


def update(name, content):
    text = PAGE.read_text()
    begin, end = section(text, name)
    PAGE.write_text(text[:begin] + content + "\n" + text[end:])
