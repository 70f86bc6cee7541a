"""Random programs of several tiles.

A program does its steps once or several times.  In each step of each tile, some streams are sent
and received.  Operations in the foreground stand in the order of their streams, on all tiles, and
nothing in a step waits for a later step; so no program waits for ever, and what it computes does
not depend on time.
"""
import random

from flows.code import KINDS, Array
from flows.network import Network
from flows.tile import Tile

SHAPES = ((1, 1), (2, 1), (2, 1), (3, 1), (1, 3), (2, 2), (2, 2), (3, 2), (2, 3))
MOST_STEPS, MOST_ROUNDS, MOST_LENGTH = 4, 3, 24


class Program:
    """careless: code uses memory of operations in the background without a wait.  Then the results
    depend on time, and expected() is what they are if operations end as late as they can."""

    def __init__(self, seed, careless=False):
        self.rng = r = random.Random(f"flows {seed}")
        self.careless = careless
        self.width, self.height = r.choice(SHAPES)
        self.steps, self.rounds = r.randrange(2, MOST_STEPS + 1), r.randrange(1, MOST_ROUNDS + 1)
        self.initializes = r.random() < 0.5           # input queues of the older machine, too
        self.hides = r.random() < 0.5                 # the host reads copies of what code uses
        self.lengths = [r.randrange(1, MOST_LENGTH + 1) for _ in range(r.randrange(1, 3))]
        self.arrays = [Array(f"{k}_{i}", k, r.randrange(MOST_LENGTH, 2 * MOST_LENGTH))
                       for k in KINDS for i in range(r.randrange(2, 4))]
        self.globals = [(f"g_{k}_{i}", k) for k in KINDS for i in range(r.randrange(1, 3))]
        places = [(x, y) for y in range(self.height) for x in range(self.width)]
        self.network = Network(r, places, self.steps, self.lengths, by_tasks=not careless)
        self.tiles = {place: Tile(self, place) for place in places}

    def layout(self):
        lines = ["layout {", f"  @set_rectangle({self.width}, {self.height});"]
        for (x, y), tile in self.tiles.items():
            params = ", ".join(f".{n} = {v}" for n, v in tile.params.items())
            lines.append(f'  @set_tile_code({x}, {y}, "{file_name(x, y)}", .{{ {params} }});')
        for stream in self.network.streams:
            for (x, y), node in stream.nodes.items():
                if stream not in self.tiles[x, y].configures:
                    lines.append(f"  @set_color_config({x}, {y}, @get_color({stream.color}), "
                                 f"{node.routes()});")
        lines += [f'  @export_name("{a.name}", [*]{a.kind}, true);' for a in self.arrays]
        lines += [f'  @export_name("{n}", {k}, true);' for n, k in self.globals]
        return "\n".join(lines + ["}"]) + "\n"

    def files(self):
        """Texts by name."""
        return {"layout.csl": self.layout(),
                **{file_name(*place): tile.text() for place, tile in self.tiles.items()}}

    def expected(self):
        """By place the Env at the end."""
        channels = {(s.number, p): [] for s in self.network.streams for p in s.receivers()}
        runs = {p: t.run(channels) for p, t in self.tiles.items()}
        while runs:
            moved = False
            for place in list(runs):
                try:
                    moved |= next(runs[place])
                except StopIteration:
                    del runs[place]
                    moved = True
            assert moved, "the program waits for ever"
        return {p: t.env for p, t in self.tiles.items()}


def file_name(x, y):
    return f"pe-{x}-{y}.csl"
