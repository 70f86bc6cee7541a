"""Random clusters for tests that compare ways to run them: wafers of tests/cluster/tokens with
several shapes, topologies and single links, random latencies, rates and credits, and host actions of
which some end in a deadlock, a fault, at the limit of cycles, or with words left behind."""
import json
import random
import shutil

import cluster_run
import harness
import ranks_run

SHAPES = ((1, 1), (3, 2), (2, 3), (4, 1))
MOST_CYCLES = 40000
CODE_LIMIT = 4
MOST_SECONDS = 600               # of a run: blocks of a cycle or two are slow on a loaded machine
ROW, COLUMN = {"colors": [2, 1]}, {"colors": [4, 3]}


def image_name(arch, shape):
    return f"{arch}-{shape[0]}x{shape[1]}.bin"


def compile_images(folder):
    """The images of all random clusters, which go to this folder, too."""
    for arch in ("wse2", "wse3"):
        for shape in SHAPES:
            harness.compile("tests/cluster/tokens/layout.csl", folder / image_name(arch, shape),
                            f"--arch={arch}", params=dict(zip("WH", shape)))


class RandomCluster:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.seed = seed
        self.arch = self.draw.choice(("wse2", "wse3"))
        self.shapes = {}                # of wafers, by name
        self.file = self.topology() if self.draw.random() < 0.6 else self.single_links()
        self.args = [*self.inputs(), *self.actions(), *self.options()]

    def wire(self, channel):
        draw = self.draw
        credits = {"credits": draw.randint(1, 40)} if draw.random() < 0.4 else {}
        return {"latency": draw.choice((1, 2, 3, draw.randint(4, 30), draw.randint(30, 300))),
                "words_per_cycle": draw.choice((1, 1, 0.5, 0.3, draw.randint(1, 1000) / 1000)),
                "channels": [{**channel, **credits}]}

    def topology(self):
        draw, kind = self.draw, self.draw.choice(("line", "ring", "mesh", "torus"))
        shape = draw.choice(SHAPES)
        size = draw.randint(2, 6) if kind in ("line", "ring") else \
            [draw.randint(1, 3), draw.randint(2, 3)]
        names = [f"w{i}" for i in range(size)] if isinstance(size, int) else \
            [f"w{x}.{y}" for y in range(size[1]) for x in range(size[0])]
        self.shapes = dict.fromkeys(names, shape)
        own = {"kind": kind, "size": size, "image": image_name(self.arch, shape),
               "rows": sorted(draw.sample(range(shape[1]), draw.randint(1, shape[1]))),
               **self.wire(ROW)}
        if not isinstance(size, int):
            own |= {"columns": [draw.randrange(shape[0])], "column_channels": [COLUMN]}
        return {"topology": own}

    def ends(self, side):
        """All places of a kind of edge, in random order."""
        found = [{"wafer": name, "edge": side, "at": at} for name, shape in self.shapes.items()
                 for at in range(shape[1] if side in ("east", "west") else shape[0])]
        self.draw.shuffle(found)
        return found

    def single_links(self):
        draw = self.draw
        self.shapes = {f"{name}{name}": draw.choice(SHAPES)
                       for name in "abcdefg"[:draw.randint(2, 7)]}
        pairs = []
        for a, b, channel in (("east", "west", ROW), ("south", "north", COLUMN)):
            both = list(zip(self.ends(a), self.ends(b)))
            pairs += [(*ends, channel) for ends in both[:draw.randint(1, len(both))]]
        return {"wafers": [{"name": name, "image": image_name(self.arch, shape)}
                           for name, shape in self.shapes.items()],
                "links": [{"from": a, "to": b, **self.wire(channel)} for a, b, channel in pairs]}

    def inputs(self):
        """Of each tile: up to 8 tokens, and seldom the number of one at which it fails."""
        draw = self.draw
        for name, (width, height) in self.shapes.items():
            tiles = width * height
            tokens = [draw.randint(0, 99) << 8 | draw.randint(0, 12) for _ in range(8 * tiles)]
            counts = [draw.choice((0, 1, draw.randint(2, 8))) for _ in range(tiles)]
            yield f"--h2d={name}:tokens={','.join(map(str, tokens))}"
            yield f"--h2d={name}:n_tokens={','.join(map(str, counts))}"
            if draw.random() < 0.05:
                yield f"--h2d={name}:fails_at@0,0,1,1={draw.randint(1, 6)}"

    def actions(self):
        draw = self.draw
        for _ in range(draw.randint(1, 2)):
            wafer = "" if draw.random() < 0.7 else draw.choice(list(self.shapes)) + ":"
            yield f"--launch={wafer}go({draw.choice((1, 2, draw.randint(3, 20)))})"
            if draw.random() < 0.4:
                yield "--print=seen"
        yield "--d2h=seen={out}/seen.npy"

    def options(self):
        draw = self.draw
        if draw.random() < 0.3:
            yield "--trace=task,wavelet,switch,host"
        if draw.random() < 0.1:
            yield "--check-left"
        yield f"--max-cycles={draw.randint(1, 600) if draw.random() < 0.15 else MOST_CYCLES}"


def outcome(cluster, folder, processes=0, extra=()):
    """All that a run shows on so many processes of mpirun; 0: without it."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    file = cluster_run.write(folder / "c.json", cluster.file)
    args = [f"--cluster={file}", *(a.replace("{out}", str(out)) for a in cluster.args),
            f"--stats={out}/s.json", f"--progress={10 * MOST_SECONDS}", *extra]
    limits = {"expect": None, "timeout": MOST_SECONDS}
    ran = ranks_run.emu(processes, *args, **limits) if processes else harness.emu(*args, **limits)
    stats = out / "s.json"
    return {"code": ran.code, "out": ran.out, "err": ranks_run.without_mpirun(ran.err),
            "stats": cluster_run.stable(json.loads(stats.read_text())) if stats.exists() else None,
            "files": {p.name: p.read_bytes() for p in out.iterdir() if p != stats}}


def without_trace(cluster):
    """States have none."""
    cluster.args = [a for a in cluster.args if not a.startswith("--trace")]
    return cluster


def end_of(found):
    """An outcome without warnings: those of host actions before the state are not given again."""
    errors = [line for line in found["err"].splitlines() if ": error" in line]
    return {**found, "err": errors}


def restart_differences(cluster, folder, draw, ways):
    """What differs if the run of the cluster goes on, in another of the `ways`, from a state on the
    way, from the last one that a run has written, and from the end of one that its limit has cut off;
    and the exit code of the whole run."""
    whole = end_of(outcome(cluster, folder))
    end, state = whole["stats"]["cycle"], folder / "state"

    def run(*options):
        processes, extra = draw.choice(ways)
        return end_of(outcome(cluster, folder, processes, [*extra, *options]))

    state.unlink(missing_ok=True)
    found = differences(whole, run(f"--save-state={state}",
                                   f"--save-every={draw.randint(1, end // 2 + 2)}"))
    if state.exists():
        found += differences(whole, run(f"--load-state={state}"))
    state.unlink(missing_ok=True)
    cut = run(f"--save-state={state}", f"--max-cycles={draw.randint(1, max(end, 1))}")
    if cut["code"] == CODE_LIMIT:       # else it has ended
        found += differences(whole, run(f"--load-state={state}"))
    return found, whole["code"]


def differences(expected, found):
    return [f"{key}: {expected[key]!s:.300} / {found[key]!s:.300}"
            for key in expected if expected[key] != found[key]]
