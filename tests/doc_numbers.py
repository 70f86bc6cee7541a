"""Cycle numbers in the prose of the pages: each is a fact that a script measures, or one whose source
is named.  test_doc_numbers.py scans the pages for others; the claim numbers_in_docs measures.

    tests/claims/numbers_in_docs.py --update        rewrites the numbers that differ

Tables stand between `<!-- measured: NAME -->` (or predicted, model, generated, ...) and `<!-- end -->`;
scripts of their own write them or hold their formulas to runs.  Between `<!-- published -->` and `<!-- end -->` are numbers of others.
"""
import csv
import dataclasses
import functools
import re
import sys
from pathlib import Path
from typing import Callable

import harness
import collectives_measure
import collectives_run
import gemm_table
import math_accuracy
import message_run
import packets_run
import streams_run

sys.path.insert(0, str(harness.SAMPLES / "study"))
import programs  # noqa: E402

DOCS = harness.ROOT / "docs"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


@dataclasses.dataclass(frozen=True)
class Fact:
    """A sentence or a part of it, on one page; each {} is one of the numbers that measure() gives."""
    page: str
    text: str
    measure: Callable             # of a folder; numbers as the page shows them
    is_quick: bool = True


@dataclasses.dataclass(frozen=True)
class Stated:
    """Numbers that are not measured: what `source`, a file, says in the words `says`."""
    page: str
    text: str
    source: str
    says: str


def flat(text):
    return " ".join(text.split())


def pattern_of(text):
    """The words of a fact, any numbers in their places, line ends as they come."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in text.split("{}")]
    spaced = [(r"\s+" if p[:1].isspace() else "", r"\s+" if p[-1:].isspace() else "")
              for p in text.split("{}")]
    return re.compile(NUMBER.join(before + part + after if part else before
                                  for part, (before, after) in zip(parts, spaced)))


def places_of(fact):
    return list(pattern_of(fact.text).finditer((harness.ROOT / fact.page).read_text()))


def stated_on_page(fact):
    found, = places_of(fact)
    return found.groups()


def update(fact, numbers):
    """Writes the numbers to the page."""
    path = harness.ROOT / fact.page
    text = path.read_text()
    found = pattern_of(fact.text).search(text)
    for i in reversed(range(len(numbers))):
        begin, end = found.span(i + 1)
        text = text[:begin] + numbers[i] + text[end:]
    path.write_text(text)


# ---- what the numbers are ------------------------------------------------------------------------

@functools.cache
def timing():
    """{row: (wse2, wse3)} of the generated tables of docs/cycle-model.md."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|", (DOCS / "cycle-model.md").read_text(), re.M)
    return {name: (int(wse2), int(wse3)) for name, wse2, wse3 in rows}


def rows(*names):
    """Values of rows, "alu32" of wse2, "alu32.wse3" of wse3."""
    def measure(_folder):
        return [str(timing()[name.split(".")[0]]["." in name]) for name in names]
    return measure


def of_ramps(formula):
    """Of T_R of both machines."""
    return lambda _folder: [str(n) for n in formula(*timing()["ramp_up"])]


def host_rate(_folder):
    of, per = timing()["host_wavelets_num"][0], timing()["host_wavelets_den"][0]
    return [f"{of / per:.3f}"]


def walk_through(_folder):
    """From the output on the page, which test_page_blocks.py compares with a run."""
    text = (DOCS / "walk-through.md").read_text()
    patterns = (r"issue \S+ vec\.mov32", r"wavelet move .* RAMP -> EAST", r"wavelet move .* WEST -> RAMP",
                r"task start data", r"issue \S+ st32a")
    return [re.search(rf"^@(\d+) P\d\.\d (?:inst )?{p}", text, re.M)[1] for p in patterns]


def group_delay(_folder):
    text = (DOCS / "walk-through.md").read_text()
    issue, group = (int(re.search(rf"^@(\d+) \S+ inst {what}", text, re.M)[1])
                    for what in (r"issue \S+ vec", "group"))
    return [str(group - issue)]


def allreduce(tiles, elements, kind, with_task):
    """Cycles of an allreduce by a plan of <collectives/streams>, and by a reduction and a broadcast."""
    def measure(folder):
        ours = streams_run.cycles_of(streams_run.run(
            folder, {"kind": kind, "width": tiles, "with_task": with_task}, (elements,)))
        planned = collectives_run.run_allreduces(folder, {
            "width": tiles, "with_task": int(kind == streams_run.WIDE_ALLREDUCE or with_task),
            "in_place": 1, "first": elements, "second": elements, "third": elements,
            "pattern": collectives_measure.AUTO,
            **dict.fromkeys(collectives_run.KINDS, collectives_run.PLANNED)})["cycles"] / 3
        return [f"{ours:,}", f"{planned:,.0f}"]
    return measure


def alltoall(*ways, n=8):
    """Cycles of an all-to-all of n elements per pair on 7 x 7 tiles in each way: kind and machine."""
    def measure(folder):
        return [f"{cycles:,}" for cycles in (streams_run.cycles_of(streams_run.run(
            folder, {"kind": kind, "width": 7, "height": 7, "with_task": 1, "classes": 3,
                     "shape": collectives_run.RECTANGLE}, (n,), arch=arch))
            for kind, arch in ways)]
    return measure


def reduction_in_pairs(folder):
    """Cycles of a reduction of 16-bit elements planned by `reduce_plan_in_pairs`, and by `reduce_plan`."""
    return [str(collectives_measure.one_reduction(
        folder, "wse2", 92, 1, collectives_measure.AUTO, element=2, in_pairs=in_pairs))
            for in_pairs in (1, 0)]


def reduction_by_elements(folder):
    """Cycles of a reduction of i32 planned by `reduce_plan_by_elements`, and by `reduce_plan`."""
    cycles = [collectives_measure.one_reduction(
        folder, "wse2", 64, 1, collectives_measure.AUTO, element=4, by_elements=by_elements)
              for by_elements in (1, 0)]
    return [f"{number:,}" for number in cycles]


F16, F32, LIBRARY_2D = {"dtype": programs.numpy.float16}, {}, {"with_2d": True}


def gemv(*ways, blocks=(16,)):
    """samples/gemv-collectives on 64 x 64 tiles in each way, with blocks of each size."""
    def measure(folder):
        tools = programs.Tools(harness.bin_dir())
        return [str(programs.gemv_phases(tools, folder, 64, 64, n, n, **way)[1])
                for way in ways for n in blocks]
    return measure


def packets(arch):
    return lambda folder: list(packets_run.line_through(packets_run.latencies(folder, 8, 8, arch)))


def profile(folder):
    """The busiest line of samples/reduce-chain as its README runs it."""
    harness.compile(harness.SAMPLES / "reduce-chain" / "layout.csl", folder / "p.bin",
                    params={"P": 8, "B": 16})
    heads, line = harness.emu(folder / "p.bin", "--run", "--profile").out.splitlines()[1:3]
    assert line.endswith("samples/reduce-chain/pe.csl:41"), line
    return line.replace("%", "").split()[:len(heads.split()) - 1]      # the path may have blanks


def math_row(name):
    """Cycles and bytes of a function of <math>; the errors of its row are those that the claim
    math_accuracy finds."""
    def measure(folder):
        row = re.search(rf"^\| `{name}` \|(.*)\|$", (DOCS / "math.md").read_text(), re.M)[1].split(" | ")
        for element in ("f32", "f16"):
            cycles, code = math_accuracy.cost(folder, name, element,
                                              math_accuracy.typical(name, element))
            at = 4 if element == "f32" else 6
            row[at:at + 2] = f"{cycles:.0f}", str(code)
        return [cell.strip() for cell in row]
    return measure


def page_rows(page, name):
    """Rows of a measured table by K, N, M, as numbers where they are."""
    table = gemm_table.on_the_page(name, DOCS / page).splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return {tuple(map(int, row[:3])): row for row in cells}


def paper_row(K, N, M):
    return next(row for row in gemm_table.ROWS if (row.K, row.N, row.M) == (K, N, M))


SLIM = (720, 20, 720)
F16_GROUP = 4                # elements that a tile of wse2 takes from the fabric in a cycle


def slim_bounds(_folder):
    """Equation 2, and 0.95 of the better published number."""
    row = paper_row(*SLIM)
    return [str(row.equations[1]), str(int(0.95 * min(row.master, row.summa)))]


def slim_blocks(_folder):
    """Elements of a tile's block of A, and the cycles in which as many come, a group in each."""
    K, _, M = SLIM
    elements = K * M // paper_row(*SLIM).tiles ** 2
    return [str(elements), str(elements // F16_GROUP)]


def slim_panels(_folder):
    """Elements of B for each column of A, the cycles for them, and both for all columns of a tile."""
    row = paper_row(*SLIM)
    columns, cycles = row.K // row.tiles, row.N // F16_GROUP
    return [str(row.N), str(cycles), str(columns), str(columns * cycles)]


def limits(key, formula):
    """Of arithmetic, words that come, words that leave, and the rest, in cycles."""
    return lambda _folder: [str(n) for n in formula(
        *map(int, page_rows("gemm.md", "limits")[key][6:10]))]


def share_of_ideal(key):
    def measure(_folder):
        work = sum(map(int, page_rows("gemm.md", "limits")[key][6:9]))
        return [str(work), f"{work / gemm_table.ideal(paper_row(*key)):.2f}"]
    return measure


def step_of_summa(_folder):
    row = page_rows("gemm.md", "published")[SLIM]
    return [f"{cycles / SLIM[0]:.0f}" for cycles in (int(row[8]), paper_row(*SLIM).summa)]


def summa_within(_folder):
    found = page_rows("gemm.md", "published").values()
    return [str(sum(abs(int(row[8]) / int(row[7]) - 1) <= 0.1 for row in found)), str(len(found))]


@functools.cache
def results():
    """(published, ours) by set and case: the calibration suite, which its claim keeps."""
    with open(harness.ROOT / "tests" / "calibration" / "results.csv") as file:
        return {(row["set"], row["case"]): (float(row["published"]), float(row["ours"]))
                for row in csv.DictReader(file)}


def message_links(folder):
    return [f"{message_run.cycles_of_a_link(folder, length):.0f}"
            for length in (1, message_run.MOST)]


def miss_of_allreduce(_folder):
    found = [results()["library allreduce", f"width={width} calls=100"] for width in (4, 8)]
    return [f"{(found[0][0] - found[0][1]) / 100:.0f}",
            *(f"{100 * (1 - ours / published):.1f}" for published, ours in found)]


def step_of_allreduce(_folder):
    small, large = (results()["library allreduce", f"width={width} calls=100"] for width in (4, 8))
    both = [f"{(large[i] - small[i]) / 100:.0f}" for i in (0, 1)]
    assert both[0] == both[1], both
    return [f"{float(both[0]) / 8:.0f}", both[0]]


def miss_of_star(_folder):
    published, ours = results()["stencils wse3",
                                "variant=star2d kernel=2 rows=16 radius=2 iterations=1"]
    return [f"{100 * (1 - ours / published):.0f}", f"{published - ours:.0f}"]


# ---- the facts -----------------------------------------------------------------------------------

STREAMS = streams_run
MODEL, COLLECTIVES, GEMM = "docs/cycle-model.md", "docs/collectives.md", "docs/gemm.md"
FACTS = [
    Fact("docs/walk-through.md", "issues `vec.mov32` in cycle {}, and its only element group follows",
         lambda f: walk_through(f)[:1]),
    Fact("docs/walk-through.md", "element group follows {} cycles later", group_delay),
    Fact("docs/walk-through.md", "The wavelet leaves the router of the sender in cycle {} and the "
         "router of the receiver in cycle {}. The receiver picks the data task in cycle {}, and the "
         "task stores the word in cycle {}:", lambda f: walk_through(f)[1:]),
    Fact("docs/library.md", "A link more on its way costs a message of 1 element {} cycles, one of 32 "
         "elements {}.", message_links),
    Fact("docs/guide.md", "at about {} cycles. Code that runs", rows("dsr_load")),
    Fact("docs/guide.md", "A wavelet takes {} cycles (wse3: {}) from the processor to its router, {} "
         "cycle for each hop and {} cycles (wse3: {}) from the router",
         rows("ramp_up", "ramp_up.wse3", "hop", "ramp_down", "ramp_down.wse3")),
    Fact("docs/hardware.md", "ramps take {} cycles each way, on wse3 {}",
         rows("ramp_up", "ramp_up.wse3")),
    Fact("docs/host-protocol.md", "Each channel moves {} words per cycle", host_rate),
    Fact(MODEL, "moves {} wavelets per cycle (7 Gb/s", host_rate),
    Fact(MODEL, "neighbour's operation: {} cycles", of_ramps(lambda two, _: [2 * (two + 1)])),
    Fact(MODEL, "On wse3 both ramps take {} cycles and the way takes {}:",
         of_ramps(lambda _, three: [three, 2 * (three + 1)])),
    Fact(MODEL, "On wse3 an addition of 32 bits costs {} cycle:", rows("alu32.wse3")),
    Fact(MODEL, "the access that starts it takes {} cycles (`config`)", rows("config.wse3")),
    Fact(MODEL, "Together they give {} cycles per word (`counter`) and {} for the start of a task",
         rows("counter.wse3", "data_task_start.wse3")),
    Fact(MODEL, "completion action takes effect {} cycles after", rows("async_done_action")),
    Fact(MODEL, "| end of a task | next pick by the scheduler | {} (wse3: {}) |",
         rows("task_end_to_pick", "task_end_to_pick.wse3")),
    Fact(MODEL, "| pick of a local task | its first instruction | {}, from",
         rows("local_task_start")),
    Fact(MODEL, "| pick of a data or control task | its first instruction | {} (wse3: {}),",
         rows("data_task_start", "data_task_start.wse3")),
    Fact(MODEL, "| write of a priority | its effect | {} (", rows("priority_update")),
    Fact(MODEL, "| `fp`, {} cycle, which", rows("fp")),
    Fact(MODEL, "| `fconv`, {} cycle, which no point of wse3 has (wse2: {})",
         rows("fconv.wse3", "fconv")),
    Fact(MODEL, "the star stencil of radius 2 takes {} % less here, {} cycles,", miss_of_star),
    Fact(MODEL, "takes {} cycles per call less here ({} and {} %)", miss_of_allreduce),
    Fact(MODEL, "at {} cycles per message as published ({} cycles from", step_of_allreduce),
    Fact(COLLECTIVES, "8 tiles with 8 elements take {} cycles instead of {}, with a task",
         allreduce(8, 8, STREAMS.VECTOR_ALLREDUCE, 0)),
    Fact(COLLECTIVES, ", with a task {} instead of {}.",
         allreduce(8, 8, STREAMS.VECTOR_ALLREDUCE, 1)),
    Fact(COLLECTIVES, "256 tiles with 2,048 elements take {} cycles instead of {},",
         allreduce(256, 2048, STREAMS.WIDE_ALLREDUCE, 0), False),
    Fact(COLLECTIVES, "200 with 1,600 take {} instead of {}.",
         allreduce(200, 1600, STREAMS.WIDE_ALLREDUCE, 0), False),
    Fact(COLLECTIVES, "7 x 7 tiles with 8 elements per pair take {} cycles instead of {}, on wse3 {}.",
         alltoall((STREAMS.ALLTOALL_BOTH, "wse2"), (STREAMS.ALLTOALL_2D, "wse2"),
                  (STREAMS.ALLTOALL_BOTH, "wse3"))),
    Fact(COLLECTIVES, "4 elements take {} and {} cycles.",
         alltoall((STREAMS.ALLTOALL_BOTH, "wse2"), (STREAMS.ALLTOALL_BOTH, "wse3"), n=4)),
    Fact(COLLECTIVES, "92 tiles with an element take {} cycles instead of {}.", reduction_in_pairs),
    Fact(COLLECTIVES, "64 tiles with one i32 take {} cycles instead of {}.", reduction_by_elements),
    Fact(COLLECTIVES, "blocks of 16 x 16 it takes {} cycles instead of {}.", gemv(F16, F32), False),
    Fact("docs/measured.md", "| {}, {}, {} cycles, with f16 elements {}, {}, {}; over "
         "`<collectives_2d>` {}, {}, {} |", gemv(F32, F16, LIBRARY_2D, blocks=(1, 4, 16)), False),
    Fact(COLLECTIVES, "a packet of one word takes {} cycles and {} per tile on wse2,",
         packets("wse2"), False),
    Fact(COLLECTIVES, "per tile on wse2, {} cycles and {} per tile on wse3", packets("wse3"), False),
    *(Fact("docs/math.md", f"| `{name}` | " + " | ".join(["{}"] * 8) + " |", math_row(name), False)
      for name in math_accuracy.FUNCTIONS),
    Fact("docs/emulator.md", "{} {}% {} {} {} {} {} {} {} {} {} {} samples/reduce-chain/pe.csl:41",
         profile),
    Fact(GEMM, "the sums alone take {} cycles there (equation 2). At most 0.95 of the published "
         "number would be {} cycles.", slim_bounds),
    Fact(GEMM, "its {} elements of A, and the others take {} cycles", slim_blocks),
    Fact(GEMM, "needs {} k elements of B, which take {} k cycles to come into memory; with k = {}, "
         "that is {}.", slim_panels),
    Fact(GEMM, "The products take {} cycles in 100 tiles.", limits(SLIM, lambda *n: n[:1])),
    Fact(GEMM, "the arithmetic and the words take {} cycles, {} of the ideal",
         share_of_ideal((128, 256, 256))),
    Fact(GEMM, "They take {} cycles in pairs of columns, and {} cycles go to panels that come and "
         "leave. The other {} are", limits((40, 40, 40), lambda work, come, leave, rest:
                                           [work, come + leave, rest])),
    Fact(GEMM, "SUMMA meets the published cycles within 10 % in {} of {} rows.", summa_within),
    Fact(GEMM, "a step takes {} cycles and the paper's takes {}.", step_of_summa),
]

# Files that have the number, and the words or the number there.
THESIS = "docs/index.md", "*the thesis*"
FMACS = "docs/index.md", "*fmacs*"
POINTS = "tests/calibration/points.csv", "course-gemm"
CS2 = "tests/calibration/hardware.csv", "spmm-hardware"
TABLE_I = "tests/gemm_table.py", "what was measured"
LAWS = "tests/claims/laws.py", "chain"
BLOCK = "emu/fast/fast_internal.h", "BLOCK_MOST = 16"
PATIENCE = "emu/host/session_internal.h", "SESSION_PATIENCE_CYCLES = 1 << 20"
MOST_CYCLES = "emu/host/host.h", "HOST_DEFAULT_MAX_CYCLES 1000000000"
TIMES = "emu/machine/timing.def", "MODE(cs2, groups_per_rest, 5)"
PEAK = "tests/claims/published.py", "PEAK_F16 = 8 "
WAFER = "tests/claims/published.py", "TILES = 850_000 "
STATED = [Stated(page, text, *source) for page, text, source in (
    ("docs/architecture.md", "runs up to 16 cycles row by row", BLOCK),
    ("docs/emulator.md", "in 16 cycles and the fill", ("emu/observe/perfetto.c", "BUCKET_CYCLES = 16")),
    ("docs/emulator.md", "that block of at most 16 cycles", BLOCK),
    ("docs/emulator.md", "default 1,000,000,000", MOST_CYCLES),
    ("docs/emulator.md", "90 % of `points` counts", (MODEL, "90 % of the published counts")),
    ("docs/host.md", "for 2^20 cycles", PATIENCE),
    ("docs/host.md", "after 1,000,000,000 cycles", MOST_CYCLES),
    ("docs/host-protocol.md", "by 2^20 cycles each time", PATIENCE),
    (COLLECTIVES, "if there are about 8 per tile", ("tests/claims/collectives_rabenseifner.py",
                                                   "PARTS = (1, 8")),
    (COLLECTIVES, "gives it 3 % fewer cycles", ("tests/claims/collectives_rabenseifner.py",
                                               "MARGIN = 1.03")),
    (COLLECTIVES, "takes P - 3 cycles more than a chain",
     ("stdlib/collectives/model.csl", "chain(P, B) + max(P - 3, 0)")),
    (COLLECTIVES, "On 8 x 8 tiles", ("tests/claims/packets.py", "WIDTH = HEIGHT = 8")),
    ("docs/library.md", "cycles of a chain and P - 3 more",
     ("stdlib/collectives/model.csl", "chain(P, B) + max(P - 3, 0)")),
    ("docs/library.md", "16-bit elements of a cycle, 4 on wse2, 8 on wse3", (MODEL, "| `mov16` | 4 | 8")),
    ("docs/library.md", "`data_bytes` (41000), what the matrices may take of a tile's memory, and "
     "`simd`, 16-bit elements", (MODEL, "| `mov16` | 4 | 8")),
    (GEMM, "are 1.4 cycles per row", TABLE_I),
    (GEMM, "KB max(2.95, MB / 4), the multiplications, and behind them 22, 30, 37 and 74 to 80 "
     "cycles for MB = 8, 16, 24 and 72:", TABLE_I),
    (GEMM, "2.95 cycles are three instructions", TABLE_I),
    (MODEL, "`t + 1`", LAWS), (MODEL, "`t + 3`", LAWS), (MODEL, "`t + 4`", LAWS),
    (MODEL, "`t + 6`", LAWS), (MODEL, "(`ramp_up` = T_R = 2)", LAWS), (MODEL, "(`hop` = 1)", LAWS),
    (MODEL, "(`ramp_down` = T_R = 2)", LAWS),
    (MODEL, "takes 2 (P - 1)(T_R + 1) + B cycles", LAWS), (MODEL, "takes 2 T_R + P + B cycles", LAWS),
    ("samples/broadcast-1d/README.md", "2 T_R + P + B cycles, with T_R = 2", LAWS),
    ("samples/reduce-chain/README.md", "2 (P - 1) (T_R + 1) + B cycles", LAWS),
    ("samples/slurm/README.md", "every 100 million cycles", ("samples/slurm/wafer.sbatch", "100000000")),
    (MODEL, "show 8 cycles more than with ramps of 2", POINTS),
    (MODEL, "With 2 slots, a color", ("ir/machine/machine.def", "MACHINE(router_slots,                2")),
    (MODEL, "with a 32-bit bound in each turn of their inner loops, as signed numbers, and would take "
     "10 to 23 % too few cycles", POINTS),
    (MODEL, "on takes 11 cycles more", POINTS),
    (MODEL, "gives about 50 for f32 division", ("emu/machine/timing.def", "about 50 cycles")),
    (MODEL, "n + 6 cycles with descriptors already in registers, n + 33 to n + 35", FMACS),
    (MODEL, "and 2n + 6 when both", FMACS),
    (MODEL, "in the same of four 32-bit banks cost one more cycle", ("emu/machine/timing.def", "SIMD")),
    (MODEL, "stride of a multiple of 8 elements:", ("emu/machine/timing.def", "SIMD")),
    (MODEL, "ends at once: 3 cycles from issue", ("tests/unit/emu_timing.c", "vector_start")),
    (MODEL, "take 23 cycles per element there", POINTS), (MODEL, "branch of 4 cycles", POINTS),
    (MODEL, "(N = 16) takes 37.9 cycles per turn", POINTS),
    (MODEL, "with 32 outer turns the loop takes 86.3 cycles", POINTS),
    (MODEL, "take 2 to 3 cycles per nonzero more", POINTS),
    (MODEL, "and 2 or 3 cycles for an f32 multiply-add down a column whose stride is a multiple of 8",
     ("emu/machine/timing.def", "SIMD")),
    (MODEL, "takes 1.2 cycles", TIMES),
    (MODEL, "is 2.18 cycles per f32 element", CS2),
    (MODEL, "about 44 cycles per nonzero", CS2),
    ("docs/published.md", "8 operations of 16 bits per cycle", PEAK),
    ("docs/published.md", "850,000 tiles at 850 MHz with two operations per cycle", WAFER),
    ("docs/study.md", "3067 cycles for the chain and 517 for the star, on 512 tiles", THESIS),
    ("docs/study.md", "the thesis' 50 cycles", THESIS),
    ("docs/study.md", "(5.51 for the tree over the chain at one element)", THESIS),
    ("docs/study.md", "about 50 cycles more than in the model", THESIS),
    ("docs/study.md", "takes B cycles if G is 2", THESIS),
    ("docs/study.md", "at least 1.26 times the cycles of the best naive pattern (9 tiles, 32 elements",
     THESIS),
    ("docs/study.md", "the published 544 cycles", ("tests/claims/gemv.py", "PUBLISHED = 544")),
)]

# Words with a number of something else, or of an example, in a sentence with cycles.
OTHERS = [Stated(page, text, "", "") for page, text in (
    ("docs/emulator.md", "1,024 tiles"),
    ("docs/emulator.md", "exit code 4"),
    ("docs/emulator.md", "| 4 | the run reached"),
    ("docs/cluster.md", "cycles, at least 1 |"),
    ("docs/cluster.md", "0.001 to 1 (the default)"),
    ("docs/cluster.md", "for 2 channels, packets of 1024 words, a latency of 200 cycles"),
    ("docs/codegen.md", "of the vendor's compiler in SDK 1.4"),
    ("docs/debugger.md", "begins at cycle 0"),
    ("docs/debugger.md", "`select 0`"),
    ("docs/library.md", "`elapsed(id, *timerType)` | cycles so far | 1.4"),
    ("docs/glossary.md", "one of the 8 parts"),
    (GEMM, "Below 8 x 8,"),
    ("docs/published.md", "The clock of a CS-1"),
)]


# ---- the scan ------------------------------------------------------------------------------------

REGION = re.compile(r"<!-- (?:generated|measured|predicted|model|conformance|calibration|published|claims)"
                    r"\b[^>]*-->.*?<!-- end(?: of claims)? -->", re.S)
CODE = re.compile(r"^```[\s\S]*?^```|^ {4}.*$", re.M)
WHOLE = {       # pages that a script writes, and those that name the claim of each number
    "docs/codegen-table.md": "tests/bench/codegen/table.py",
    "docs/math.md": "tests/claims/math_accuracy.py",
    "docs/measured.md": "tests/claims",
    "docs/status.md": "tests/claims"}


def pages():
    found = [*DOCS.glob("*.md"), harness.ROOT / "README.md", harness.ROOT / "CONTRIBUTING.md",
             *harness.SAMPLES.rglob("*.md"), *(harness.ROOT / "stdlib").rglob("*.md"),
             *(harness.ROOT / "playground").rglob("*.md"), *(harness.ROOT / "editors").rglob("*.md")]
    return sorted(str(p.relative_to(harness.ROOT)) for p in found if "node_modules" not in str(p))


def blanked(text, pattern):
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def sentences(text):
    """Of prose and rows of tables; a table's rows have its head with them."""
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("|"):
            yield from (f"{lines[0]} {line}" for line in lines[2:])
        else:
            yield from re.split(r"(?<=[.:;])\s+", flat(block))


def words_of(text):
    return re.compile(r"\s+".join(map(re.escape, text.split())))


def unknown_numbers(page, text, facts=None, stated=None):
    """Sentences of the text with a number of cycles that no fact and no source covers."""
    known = [pattern_of(f.text) for f in (FACTS if facts is None else facts) if f.page == page]
    known += [words_of(s.text) for s in ([*STATED, *OTHERS] if stated is None else stated)
              if s.page == page]
    spans = [found.span() for pattern in known for found in pattern.finditer(text)]
    text = blanked(blanked(text, REGION), CODE)
    for begin, end in spans:
        text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
    return [s for s in sentences(text)
            if re.search(r"\bcycles?\b", s) and re.search(r"(?<![\w.`^-])\d[\d,.]*(?!\w|-D)", s)]
