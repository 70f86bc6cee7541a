"""Streams of wavelets: trees of tiles, the steps in which they run, and the tiles that make one
stream of another."""
from dataclasses import dataclass, field

from flows.code import WIDTHS
from flows.courses import ENTRIES, SWITCH_COLORS, Branch, Course, CourseMaker, Piece
from flows.filters import CounterFilter, RangeFilter, random_counter
from flows.routers import OPPOSITE, SIDES, Unfit
from flows.wild import WildMaker

DATA_TASK_COLORS, COLORS = range(8), range(24)   # local tasks have other ids than the former
LINK_COLORS, LINK_ENTRIES = (21, 22, 23), range(33, 38)
MOST_STREAMS, MOST_RELAYS = 6, 3
MOST_SENT, MOST_RECEIVED = 3, 4                  # by a tile


@dataclass
class Node:
    """A stream at a tile."""
    source: str
    children: list = field(default_factory=list)      # sides
    receives: bool = False
    is_closed: bool = False       # the color begins suspended

    def config(self):
        outputs = self.children + (["RAMP"] if self.receives else [])
        closed = ", .teardown = true" if self.is_closed else ""
        return (f".{{ .routes = .{{ .rx = .{{ {self.source} }}, "
                f".tx = .{{ {', '.join(outputs)} }} }}{closed} }}")


class Elements(list):
    """What has come and waits."""

    def elements(self):
        return self


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

    def senders(self):
        return [self.root]

    def receivers(self):
        return [t for t, n in self.nodes.items() if n.receives]

    def is_sent(self, place, step):
        return place == self.root and step in self.steps

    def is_received(self, place, step):
        return self.nodes[place].receives and step in self.steps

    def may_be_relayed(self, place, step):
        return place in self.receivers() and step in self.steps

    def length(self, _place, step):
        return self.steps[step]

    @staticmethod
    def may_have_task(_place):
        return True

    @staticmethod
    def may_be_flushed():
        """The input queue of a receiver."""
        return True

    def is_flushed(self, way, step):
        return way == "send" or step == max(self.steps)

    def push(self, channels, value, _sender):
        for place in self.receivers():
            channels[self.number, place].append(value)

    @staticmethod
    def channel(_place, _rounds):
        return Elements()


@dataclass
class Relay:
    """In a step, a tile makes one stream of another, element by element."""
    tile: tuple
    step: int
    incoming: object              # a Stream or a Course
    outgoing: Stream
    by_fifo: bool                 # two operations, with a queue of elements in memory between them


class Network:
    """lengths: each stream has one of them in each of its steps; by_tasks: data tasks take some
    streams; has_courses: some colors have control wavelets; by_link: the link to the host has
    colors, queues and entries of its own; once: the program does its steps once."""

    def __init__(self, rng, places, steps, lengths, kinds, by_tasks=True, has_courses=True,
                 by_link=False, once=False):
        self.by_link, self.once = by_link, once
        self.rng, self.places, self.steps, self.lengths = rng, places, steps, lengths
        self.streams, self.relays, self.courses = [], [], []
        self.kinds = rng.sample(kinds, rng.randrange(1, 4))
        entries = [e for e in ENTRIES if not by_link or e not in LINK_ENTRIES]
        self.entries = rng.sample(entries, len(entries))
        for number in range(rng.randrange(2, MOST_STREAMS + 1)):
            if has_courses and rng.random() < 0.45:
                self.make_course(number)
            elif len(places) > 1:
                self.make_stream(number)
        for _ in range(rng.randrange(MOST_RELAYS + 1)):
            self.make_relay()
        if by_tasks:
            self.choose_tasks()
        for course in self.courses:
            course.choose_ends(rng)

    def all(self):
        return self.streams + self.courses

    def sent(self, place):
        return [s for s in self.all() if place in s.senders()]

    def received(self, place):
        return [s for s in self.all() if place in s.receivers()]

    def most_received(self):
        """The link to the host has two queues."""
        return MOST_RECEIVED - (1 if self.by_link else 0)

    def free_color(self, colors):
        used = {s.color for s in self.all()} | (set(LINK_COLORS) if self.by_link else set())
        return self.rng.choice([c for c in colors if c not in used and
                                (c in DATA_TASK_COLORS or self.rng.random() < 0.3)])

    def make_stream(self, number):
        r = self.rng
        roots = [p for p in self.places if len(self.sent(p)) < MOST_SENT]
        steps = {k: r.choice(self.lengths) for k in range(self.steps) if r.random() < 0.6}
        if not roots or not steps:
            return
        root, color = r.choice(roots), self.free_color(COLORS)
        nodes = {root: Node("RAMP")}
        for _ in range(r.randrange(1, 4)):
            self.grow(nodes)
        for place, node in nodes.items():
            if (place != root and len(self.received(place)) < self.most_received() and
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

    # ---- courses

    def make_course(self, number):
        """Most trees do for some pattern; the few that do for none leave the number unused."""
        r = self.rng
        steps = [k for k in range(self.steps) if r.random() < 0.6]
        if not steps:
            return
        color, kind = self.free_color(SWITCH_COLORS), r.choice(self.kinds)
        entries = [self.entries.pop() for _ in range(r.choice((0, 1, 1, 2, 2)))]
        for _ in range(10):
            maker = CourseMaker(r, number, kind, color, self.tree(), steps, entries, self.once)
            pattern = r.choice((maker.signals, maker.gather, maker.gather, maker.scatter,
                                maker.scatter, maker.passing, WildMaker(maker).course))
            try:
                course = self.filtered(pattern())
            except Unfit:
                continue
            if self.has_room(course):
                self.courses.append(course)
                return

    def tree(self):
        """Branches by tile, the root first."""
        nodes = {self.rng.choice(self.places): Node("RAMP")}
        for _ in range(self.rng.randrange(1, 4)):
            self.grow(nodes)
        return {place: Branch(n.source, n.children) for place, n in nodes.items()}

    def has_room(self, course):
        return course.receivers() and all(
            len(self.sent(p)) + (p in course.senders()) <= MOST_SENT and
            len(self.received(p)) + (p in course.receivers()) <= self.most_received()
            for p in course.nodes)

    def filtered(self, course):
        """The course, perhaps with filters at some tiles."""
        r = self.rng
        if r.random() < 0.6:
            return course
        if WIDTHS.get(course.kind, 16) == 16 and course.kind != "f32" and r.random() < 0.5:
            return self.with_indices(course)
        for place in course.receivers():
            counts_words = r.random() < 0.5
            counted = [sum(counts_words or not w.word for w in a[place])
                       for a in course.arrivals.values()]
            if self.once and r.random() < 0.6:
                course.nodes[place].filter = random_counter(r)
                continue
            periods = [n for n in range(2, max(counted) + 1) if all(c % n == 0 for c in counted)]
            if periods:
                period = r.choice(periods)
                course.nodes[place].filter = CounterFilter(
                    period - 1, r.randrange(period - 1), r.randrange(period), counts_words)
        return again(course)

    def with_indices(self, course):
        """Each operation sends an index; some tiles take only elements of some indices."""
        most = self.rng.randrange(1, 5)
        for script in course.scripts.values():
            for parts in script.values():
                for part in parts:
                    if isinstance(part, Piece):
                        part.index = self.rng.randrange(most + 1)
        for place in course.receivers():
            low = self.rng.randrange(most + 1)
            course.nodes[place].filter = RangeFilter(low, self.rng.randrange(low, most + 1))
        return again(course)

    # ---- relays and tasks

    def make_relay(self):
        """All operations on its streams in the step are in the background."""
        by_fifo = self.rng.random() < 0.4
        found = [Relay(a.root, k, b, a, by_fifo) for a in self.streams for b in self.all()
                 for k in a.steps if b.may_be_relayed(a.root, k) and a.kind == b.kind
                 and b.number < a.number and k not in a.bound | b.bound]
        if not found:
            return
        relay = self.rng.choice(found)
        relay.outgoing.steps[relay.step] = relay.incoming.length(relay.tile, relay.step)
        relay.incoming.bound.add(relay.step)
        relay.outgoing.bound.add(relay.step)
        self.relays.append(relay)

    def choose_tasks(self):
        """Streams of which some receivers have data tasks."""
        for stream in self.all():
            if not stream.bound and stream.color in DATA_TASK_COLORS:
                stream.tasks = {p for p in stream.receivers()
                                if stream.may_have_task(p) and self.rng.random() < 0.35}


def again(course):
    """The course, with what arrives behind its filters."""
    return Course(course.number, course.kind, course.color, course.nodes, course.scripts,
                  course.once)
