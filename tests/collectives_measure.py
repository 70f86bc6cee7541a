"""Emulated and predicted cycles of one collective, for tests and claims on <collectives>."""
import functools

import numpy

import collectives_run as lines
import harness

HERE = harness.ROOT / "tests" / "stdlib" / "measure"
REDUCE, BROADCAST, ALLREDUCE = range(3)
STAR, CHAIN, TREE, TWO_PHASE, OPTIMAL, AUTO = range(6)
NAMES = ["star", "chain", "tree", "two-phase", "optimal", "auto"]
WITH_TASK = ["task-" + name for name in NAMES[:5]]
BY_ELEMENTS = ["element-" + name for name in NAMES[:5]]
OPERATIONS = ["reduce", "broadcast", "allreduce"]


@functools.lru_cache(maxsize=None)
def predicted(what, pattern, tiles, length, root=0, arch="wse2"):
    """Cycles by the model; `tiles` is a number, or a pair for a rectangle.  A broadcast has no pattern
    of sums."""
    shape = f"--pes={tiles}" if isinstance(tiles, int) else f"--grid={tiles[0]}x{tiles[1]}"
    name = "multicast" if what == BROADCAST else NAMES[pattern]
    args = [harness.tool("wse-model"), "predict", f"--op={OPERATIONS[what]}", shape,
            f"--len={length}", f"--pattern={name}", f"--arch={arch}"]
    if root:
        args.append(f"--root={root}")
    return int(harness.run(args).out)


def predicted_with_task(pattern, tiles, length, arch="wse2"):
    """Cycles of a reduction to the end of a row, with a completion task."""
    return int(harness.run([harness.tool("wse-model"), "predict", "--op=reduce",
                            f"--pes={tiles}", f"--len={length}", f"--arch={arch}",
                            f"--pattern={WITH_TASK[pattern]}"]).out)


def predicted_by_elements(pattern, tiles, length, arch="wse2"):
    """Cycles of a reduction of i32 to the end of a row."""
    return int(harness.run([harness.tool("wse-model"), "predict", "--op=reduce",
                            f"--pes={tiles}", f"--len={length}", f"--arch={arch}",
                            f"--pattern={BY_ELEMENTS[pattern]}"]).out)


@functools.lru_cache(maxsize=None)
def predicted_allreduce(pattern, tiles, length, group=0, arch="wse2"):
    return int(harness.run([harness.tool("wse-model"), "predict", "--op=allreduce",
                            f"--pattern={pattern}", f"--pes={tiles}", f"--len={length}",
                            f"--arch={arch}",
                            *([f"--step={group}"] if group else [])]).out)


def exchange_cycles(folder, length, arch="wse2"):
    """Of one of three exchanges in a row."""
    image = folder / "exchange.bin"
    harness.compile(harness.ROOT / "tests" / "stdlib" / "paths" / "layout.csl", image,
                    f"--arch={arch}", params={"program": 2, "size": 2, "n0": length,
                                              "n1": length, "n2": length})
    harness.emu(image, f"--stats={folder / 's.json'}")
    return harness.stats(folder / "s.json")["cycles"] / 3


def planned_allreduce_cycles(folder, tiles, length, arch="wse2"):
    """Cycles of the allreduce that the library plans for a completion task, of the fastest, and of
    each; a call of three in a row."""
    def cycles(kind, **more):
        return lines.run_allreduces(folder, {
            "width": tiles, "with_task": 1, "in_place": 0, "first": length, "second": length,
            "third": length, **dict.fromkeys(lines.KINDS, kind), **more}, arch=arch)["cycles"] / 3

    found = {"ring": cycles(lines.RING)}
    for group in sorted({2, min(3, tiles), min(tiles, 9)}):
        found[f"butterfly of {group}"] = cycles(lines.BUTTERFLY, group=group)
    if tiles == 2:
        found["exchange"] = cycles(lines.EXCHANGE)
    for name, pattern in (("chain", CHAIN), ("auto", AUTO)):
        for root in sorted({0, tiles // 4, tiles // 2}):
            found[f"{name} to {root}, broadcast"] = cycles(lines.NAIVE, pattern=pattern, root=root)
    return cycles(lines.PLANNED, pattern=AUTO), min(found.values()), found


def one_reduction(folder, arch, tiles, length, pattern, **more):
    """Cycles at the root of one reduction along a row, of any element type."""
    config = {"width": tiles, "first": length, "second": 0, "third": 0, "planned": length,
              "pattern_a": pattern, **more}
    lines.run(folder, config, arch=arch)
    words = harness.load_npy(folder / "stamps.npy").astype(numpy.int64).reshape(tiles, -1, 3)
    stamps = words[..., 0] + (words[..., 1] << 16) + (words[..., 2] << 32)
    return int(stamps[0, 1] - stamps[:, 0].max())


class Runs:
    """Programs are compiled once for each plan and run with any length."""

    def __init__(self, scratch, arch="wse2"):
        self.scratch = scratch
        self.arch = arch
        self.images = {}

    def image(self, what, pattern, tiles, planned, most, root):
        key = what, pattern, tiles, planned, most, root
        if key not in self.images:
            width, height = (tiles, 1) if isinstance(tiles, int) else tiles
            path = self.scratch / f"{len(self.images)}.bin"
            harness.compile(HERE / "line_layout.csl", path, "-O1", f"--arch={self.arch}",
                            params={"width": width, "height": height, "what": what,
                                    "pattern": pattern, "planned": planned, "most": most,
                                    "root": root})
            self.images[key] = path
        return self.images[key]

    def cycles(self, what, pattern, tiles, length, root=0, most=None):
        """Cycles from the first instruction to the last; the result is checked."""
        planned = length if pattern >= OPTIMAL else 1
        path = self.image(what, pattern, tiles, planned, most or length, root)
        return self.measure(path, what, tiles, length, root)

    def chosen_cycles(self, tiles, length, most, element=0):
        """Cycles of a reduction of f32 (0) or i32 (4) whose plan the program chooses by the
        length."""
        key = "chosen", tiles, most, element
        if key not in self.images:
            self.images[key] = self.scratch / f"{len(self.images)}.bin"
            harness.compile(HERE / "auto_layout.csl", self.images[key], "-O1",
                            f"--arch={self.arch}",
                            params={"tiles": tiles, "most": most, "element": element})
        return self.measure(self.images[key], REDUCE, tiles, length, 0,
                            numpy.int32 if element else numpy.float32)

    def measure(self, path, what, tiles, length, root, dtype=numpy.float32):
        width, height = (tiles, 1) if isinstance(tiles, int) else tiles
        position = numpy.arange(width * height).reshape(height, width, 1)
        data = (position % 16 + numpy.arange(length)).astype(dtype)
        harness.save_npy(self.scratch / "data.npy", data)
        harness.save_npy(self.scratch / "length.npy",
                         numpy.full((height, width, 1), length, numpy.uint16))
        harness.emu(path, f"--h2d=data={self.scratch / 'data.npy'}",
                    f"--h2d=length={self.scratch / 'length.npy'}", "--run",
                    f"--d2h=data@{root},0,1,1={self.scratch / 'out.npy'}",
                    f"--d2h=data@{width - 1},{height - 1},1,1={self.scratch / 'last.npy'}",
                    f"--stats={self.scratch / 's.json'}", timeout=3000)
        total = data.reshape(-1, length).sum(axis=0)
        want = data[0, root] if what == BROADCAST else total
        assert (harness.load_npy(self.scratch / "out.npy").ravel()[:length] == want).all()
        if what != REDUCE:
            last = harness.load_npy(self.scratch / "last.npy").ravel()[:length]
            assert (last == want).all()
        return harness.stats(self.scratch / "s.json")["cycles"]


# ---- ten calls in a row on the same colors -----------------------------------------------------

CALLS = 10
PAIRS = (("chain, broadcast", ((REDUCE, CHAIN), (BROADCAST, CHAIN))),
         ("two-phase, chain", ((REDUCE, TWO_PHASE), (REDUCE, CHAIN))),
         ("chain, allreduce by two-phase", ((REDUCE, CHAIN), (ALLREDUCE, TWO_PHASE))))


def switch_cycles(scratch, pair, tiles, length):
    """Cycles that a switch takes beyond the collectives themselves, each alone."""
    runs = Runs(scratch)
    alone = sum(runs.cycles(what, pattern, tiles, length) for what, pattern in PAIRS[pair][1])
    image = scratch / "switch.bin"
    harness.compile(HERE / "switch_layout.csl", image, "-O1",
                    params={"tiles": tiles, "length": length, "pair": pair})
    harness.emu(image, "--run", f"--d2h=data={scratch / 'data.npy'}",
                f"--stats={scratch / 's.json'}", timeout=900)
    if pair == 0:      # every broadcast hands out `tiles` times what it was
        assert (harness.load_npy(scratch / "data.npy") == tiles ** (CALLS // 2)).all()
    together = harness.stats(scratch / "s.json")["cycles"]
    return (together - alone * CALLS // 2) / (CALLS - 1)
