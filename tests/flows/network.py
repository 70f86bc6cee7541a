"""Streams of wavelets: trees of tiles, the steps in which they run, and the tiles that make one
stream of another."""
from dataclasses import dataclass, field

from flows.code import KINDS

SIDES = {"EAST": (1, 0), "WEST": (-1, 0), "NORTH": (0, -1), "SOUTH": (0, 1)}
OPPOSITE = {"EAST": "WEST", "WEST": "EAST", "NORTH": "SOUTH", "SOUTH": "NORTH"}
DATA_TASK_COLORS, COLORS = range(8), range(24)   # local tasks have other ids than the former
MOST_STREAMS, MOST_RELAYS = 6, 3
MOST_SENT, MOST_RECEIVED = 3, 4                  # by a tile


class Unfit(Exception):
    """The program needs more of something than there is."""


@dataclass
class Node:
    """A stream at a tile."""
    source: str
    children: list = field(default_factory=list)      # sides
    receives: bool = False

    def routes(self):
        outputs = self.children + (["RAMP"] if self.receives else [])
        return (f".{{ .routes = .{{ .rx = .{{ {self.source} }}, "
                f".tx = .{{ {', '.join(outputs)} }} }} }}")


@dataclass
class Stream:
    number: int
    kind: str
    color: int
    root: tuple
    nodes: dict                   # by tile
    steps: dict                   # step: length
    bound: set = field(default_factory=set)           # steps in which a relay takes or makes it
    tasks: set = field(default_factory=set)           # tiles whose data task takes it

    def receivers(self):
        return [t for t, n in self.nodes.items() if n.receives]

    def push(self, channels, value):
        for place in self.receivers():
            channels[self.number, place].append(value)


@dataclass
class Relay:
    """In a step, a tile makes one stream of another, element by element."""
    tile: tuple
    step: int
    incoming: Stream
    outgoing: Stream
    by_fifo: bool                 # two operations, with a queue of elements in memory between them


class Network:
    """`lengths`: of which each stream has one in each of its steps; `by_tasks`: data tasks take some
    streams."""

    def __init__(self, rng, places, steps, lengths, by_tasks=True):
        self.rng, self.places, self.steps, self.lengths = rng, places, steps, lengths
        self.streams, self.relays = [], []
        self.kinds = rng.sample(KINDS, rng.randrange(1, 4))
        for number in range(rng.randrange(2, MOST_STREAMS + 1) if len(places) > 1 else 0):
            self.make_stream(number)
        for _ in range(rng.randrange(MOST_RELAYS + 1)):
            self.make_relay()
        if by_tasks:
            self.choose_tasks()

    def sent(self, place):
        return [s for s in self.streams if s.root == place]

    def received(self, place):
        return [s for s in self.streams if place in s.receivers()]

    def make_stream(self, number):
        r = self.rng
        roots = [p for p in self.places if len(self.sent(p)) < MOST_SENT]
        steps = {k: r.choice(self.lengths) for k in range(self.steps) if r.random() < 0.6}
        if not roots or not steps:
            return
        root, used = r.choice(roots), {s.color for s in self.streams}
        color = r.choice([c for c in COLORS if c not in used and
                          (c in DATA_TASK_COLORS or r.random() < 0.3)])
        nodes = {root: Node("RAMP")}
        for _ in range(r.randrange(1, 4)):
            self.grow(nodes)
        for place, node in nodes.items():
            if (place != root and len(self.received(place)) < MOST_RECEIVED and
                    (not node.children or r.random() < 0.4)):
                node.receives = True
        self.prune(nodes)
        if len(nodes) > 1:
            self.streams.append(Stream(number, r.choice(self.kinds), color, root, nodes, steps))

    def grow(self, nodes):
        """A path from some node on."""
        at = self.rng.choice(list(nodes))
        for _ in range(self.rng.randrange(1, 4)):
            sides = [(side, (at[0] + dx, at[1] + dy)) for side, (dx, dy) in SIDES.items()]
            sides = [(s, p) for s, p in sides if p in self.places and p not in nodes]
            if not sides:
                return
            side, following = self.rng.choice(sides)
            nodes[at].children.append(side)
            nodes[following] = Node(OPPOSITE[side])
            at = following

    @staticmethod
    def prune(nodes):
        """Takes away the ends at which no tile receives."""
        while True:
            ends = [p for p, n in nodes.items()
                    if not n.children and not n.receives and n.source != "RAMP"]
            if not ends:
                return
            for end in ends:
                source = nodes.pop(end).source
                dx, dy = SIDES[source]
                nodes[end[0] + dx, end[1] + dy].children.remove(OPPOSITE[source])

    def make_relay(self):
        """All operations on its streams in the step are in the background."""
        by_fifo = self.rng.random() < 0.4
        found = [Relay(a.root, k, b, a, by_fifo) for a in self.streams for b in self.streams
                 for k in a.steps if a.root in b.receivers() and k in b.steps and a.kind == b.kind
                 and b.number < a.number and k not in a.bound | b.bound]
        if not found:
            return
        relay = self.rng.choice(found)
        relay.outgoing.steps[relay.step] = relay.incoming.steps[relay.step]
        relay.incoming.bound.add(relay.step)
        relay.outgoing.bound.add(relay.step)
        self.relays.append(relay)

    def choose_tasks(self):
        """Streams of which some receivers have data tasks."""
        for stream in self.streams:
            if not stream.bound and stream.color in DATA_TASK_COLORS:
                stream.tasks = {p for p in stream.receivers() if self.rng.random() < 0.35}
