"""Random programs of several tiles.

A program does its steps once or several times.  In each step of each tile, some streams are sent
and received.  Operations in the foreground stand in the order of their streams, on all tiles, and
nothing in a step waits for a later step; so no program waits for ever, and what it computes does
not depend on time.
"""
import random

from flows.code import KINDS, Array
from flows.launches import make_launches
from flows.network import Network
from flows.tile import Tile

SHAPES = ((1, 1), (2, 1), (2, 1), (3, 1), (1, 3), (2, 2), (2, 2), (3, 2), (2, 3),
          (5, 1), (1, 4))
MOST_STEPS, MOST_ROUNDS, MOST_LENGTH = 4, 3, 24


class Program:
    """careless: code uses memory of operations in the background without a wait.  Then the results
    depend on time, and expected() is what they are if operations end as late as they can."""

    def __init__(self, seed, careless=False):
        self.rng = r = random.Random(f"flows {seed}")
        self.careless = careless
        self.width, self.height = r.choice(SHAPES)
        self.steps, self.rounds = r.randrange(2, MOST_STEPS + 1), r.randrange(1, MOST_ROUNDS + 1)
        self.is_new = r.random() < 0.25               # for release 2 of the SDK
        # Input queues of the older machine, too.
        self.initializes = self.is_new or r.random() < 0.5
        self.lengths = [r.randrange(1, MOST_LENGTH + 1) for _ in range(r.randrange(1, 3))]
        self.arrays = [Array(f"{k}_{i}", k, r.randrange(MOST_LENGTH, 2 * MOST_LENGTH))
                       for k in KINDS for i in range(r.randrange(2, 4))]
        self.globals = [(f"g_{k}_{i}", k) for k in KINDS for i in range(r.randrange(1, 3))]
        self.params, self.launches = [], []           # none: the program starts by itself
        places = [(x, y) for y in range(self.height) for x in range(self.width)]
        if not careless and r.random() < 0.3:
            self.params, self.launches = make_launches(r, self.arrays, places, self.rounds)
        # The host uses <memcpy/memcpy>.
        self.by_link = bool(self.launches) and r.random() < 0.5
        # The host reads copies of what code uses.
        self.hides = not self.launches and r.random() < 0.5
        # Release 2 packs elements of 16 bits, so pieces of a stream would not fit together.
        kinds = [k for k in KINDS if not self.is_new or k[1:] == "32"]
        self.network = Network(r, places, self.steps, self.lengths, kinds, by_tasks=not careless,
                               has_courses=not careless, by_link=self.by_link,
                               once=self.rounds == 1)
        self.tiles = {place: Tile(self, place) for place in places}

    def layout(self):
        lines = ["layout {", f"  @set_rectangle({self.width}, {self.height});"]
        if self.by_link:
            lines.insert(0, f'const link = @import_module("<memcpy/get_params>", '
                            f".{{ .width = {self.width}, .height = {self.height} }});")
        for (x, y), tile in self.tiles.items():
            given = {**tile.params, **({"memcpy_params": f"link.get_params({x})"}
                                       if self.by_link else {})}
            params = ", ".join(f".{n} = {v}" for n, v in given.items())
            lines.append(f'  @set_tile_code({x}, {y}, "{file_name(x, y)}", .{{ {params} }});')
        for stream in self.network.all():
            for (x, y), node in stream.nodes.items():
                if stream not in self.tiles[x, y].configures:
                    lines.append(f"  @set_color_config({x}, {y}, @get_color({stream.color}), "
                                 f"{node.config()});")
        lines += [f'  @export_name("{a.name}", [*]{a.kind}, true);' for a in self.arrays]
        lines += [f'  @export_name("{n}", {k}, true);' for n, k in self.globals]
        if self.launches:
            kinds = ", ".join(k for _, k in self.params)
            lines.append(f'  @export_name("begin", fn({kinds}) void);')
        return "\n".join(lines + ["}"]) + "\n"

    def options(self):
        """What the compiler needs."""
        link = ["--memcpy", "--channels=1", f"--fabric-dims={self.width + 7},{self.height + 2}",
                "--fabric-offsets=4,1"]
        return (["--sdk=2"] if self.is_new else []) + (link if self.by_link else [])

    def files(self):
        """Texts by name."""
        return {"layout.csl": self.layout(),
                **{file_name(*place): tile.text() for place, tile in self.tiles.items()}}

    def expected(self):
        """By place the Env at the end."""
        channels = {(s.number, p): s.channel(p, self.rounds)
                    for s in self.network.all() for p in s.receivers()}
        envs = {p: t.env for p, t in self.tiles.items()}
        if not self.launches:
            finish({p: t.run(channels, self.rounds) for p, t in self.tiles.items()})
        for launch in self.launches:
            launch.begin(envs)
            finish({p: t.run(channels, 1) for p, t in self.tiles.items()})
            launch.end(envs)
        return envs


def finish(runs):
    """Runs all tiles to their end, in any order."""
    while runs:
        moved = False
        for place in list(runs):
            try:
                moved |= next(runs[place])
            except StopIteration:
                del runs[place]
                moved = True
        assert moved, "the program waits for ever"


def file_name(x, y):
    return f"pe-{x}-{y}.csl"
