"""Colors on which control wavelets travel: tiles send scripts of elements and control wavelets, and
switches, or handlers of stopped colors, let several senders, or several receivers, take turns.

A script leaves each router in the position in which it has found it, so each step begins alike; in
programs that do their steps once, some need not.
"""
from dataclasses import dataclass, field

from flows.payloads import Command, Word, all_nops, known_bits, popped
from flows.routers import (MOST_POSITIONS, SIDES, TORN_POP_MODES, Router, Unfit, Wavelet,
                           carry)

SWITCH_COLORS = (*range(10), 12, 13, 16, 17, 20, 21)     # that have switches on both machines
MOST_IN_STEP = 20                # elements and control wavelets that a tile gets
MOST_ENDED = 3                   # operations in a step that control wavelets end, one by one
MOST_WORDS = 6                   # switches on a way; each may pop a command
ENTRIES = range(32, 64)          # that collide with no data or local task


@dataclass
class Piece:
    """Elements that one operation sends."""
    length: int
    advances: bool = False        # the operation advances the tile's own router
    index: int = None             # the upper half of each wavelet

    def wavelets(self, place):
        return [Wavelet(place, 0, advances=self.advances and i == self.length - 1,
                        index=self.index) for i in range(self.length)]


@dataclass
class Words:
    """Control wavelets that one operation sends."""
    words: list

    def wavelets(self, place):
        return [Wavelet(place, 0, word=word) for word in self.words]


class Channel:
    """What a tile gets on a course in the whole program, in order.  plan: (sender, number of the
    wavelet among all of that sender, wavelet)."""

    def __init__(self, plan, senders):
        self.plan, self.at = plan, 0
        self.sent = {place: [] for place in senders}

    def has(self, is_word):
        """Whether the next one is there, and is what it should be."""
        sender, number, wavelet = self.plan[self.at]
        return number < len(self.sent[sender]) and bool(wavelet.word) == is_word

    def take(self):
        """An element, or what is known of a control wavelet's payload."""
        sender, number, wavelet = self.plan[self.at]
        self.at += 1
        value = self.sent[sender][number]
        if wavelet.word:
            return popped(value, wavelet.pops) & known_bits(wavelet.pops)
        return value

    def elements(self):
        return View(self, False)

    def words(self):
        return View(self, True)


@dataclass
class View:
    """The elements, or the control wavelets, each when those before it are gone."""
    channel: Channel
    is_word: bool

    def __bool__(self):
        return self.channel.has(self.is_word)

    def pop(self, _first):
        return self.channel.take()


@dataclass
class Course:
    number: int
    kind: str
    color: int
    nodes: dict                   # routers by tile
    scripts: dict                 # by step, by tile: what it sends, a list of Piece and Words
    once: bool                    # the program does its steps once
    arrivals: dict = field(default_factory=dict)      # by step, by tile: wavelets
    torn: dict = field(default_factory=dict)          # by step, by tile: how often a handler runs
    bound: set = field(default_factory=set)           # steps in which a relay takes it
    tasks: set = field(default_factory=set)           # tiles whose data task takes the elements
    ended: set = field(default_factory=set)           # where control wavelets end operations
    droppers: set = field(default_factory=set)        # where control wavelets do nothing

    def __post_init__(self):
        for router in self.nodes.values():
            router.begin()
        for step in self.scripts:
            before = {place: node.torn for place, node in self.nodes.items()}
            self.arrivals[step] = carry(self.nodes, self.wavelets(step))
            self.torn[step] = {p: n.torn - before[p] for p, n in self.nodes.items()}
            if not self.once and not all(n.is_at_start() for n in self.nodes.values()):
                raise Unfit("a step that begins otherwise than the one before")

    def wavelets(self, step):
        found = {}
        for place, script in self.scripts[step].items():
            found[place] = [w for part in script for w in part.wavelets(place)]
            for number, wavelet in enumerate(found[place]):
                wavelet.number = number
        return found

    def senders(self):
        return sorted({p for script in self.scripts.values() for p in script})

    def receivers(self):
        found = {p for got in self.arrivals.values() for p, wavelets in got.items() if wavelets}
        return sorted(found | self.droppers)

    def is_sent(self, place, step):
        return bool(self.scripts.get(step, {}).get(place))

    def is_received(self, place, step):
        return bool(self.arrivals.get(step, {}).get(place))

    def is_torn(self, place, step):
        return bool(self.torn.get(step, {}).get(place))

    def may_be_relayed(self, place, step):
        return self.is_received(place, step) and not any(
            w.word for w in self.arrivals[step][place])

    def length(self, place, step):
        """Elements that the tile gets."""
        return sum(not w.word for w in self.arrivals[step][place])

    def arrived(self, place):
        """What the tile gets in each step in which it gets something."""
        return [a[place] for a in self.arrivals.values() if a.get(place)]

    def may_have_task(self, place):
        """A task has the last wavelet of each step, so it can end the step."""
        return all(not f[-1].word or f[-1].is_task() for f in self.arrived(place))

    @staticmethod
    def may_be_flushed():
        """Its tasks and operations may end before what comes behind them has left the queue."""
        return False

    @staticmethod
    def is_flushed(way, _step):
        return way == "send"

    def choose_ends(self, rng):
        """Tiles without a data task: in all steps control wavelets end operations, or in all steps
        tasks take them.  For while a tile's channel is open it drops what has no task: this may be
        the first wavelet of the next step."""
        for place in sorted(set(self.receivers()) - self.tasks):
            words = [[w for w in found if w.word] for found in self.arrived(place)]
            may_end = all(len(found) <= MOST_ENDED for found in words)
            # What no task takes may hold up an operation.
            may_start = all(w.is_task() for found in words for w in found)
            may_drop = not any(w.is_task() for found in words for w in found)
            if not may_end and not may_start and not may_drop:
                raise Unfit("tasks for control wavelets")
            if any(words) and may_drop and (not may_end or rng.random() < 0.7):
                self.drop_words(place)
            elif may_end and (not may_start or rng.random() < 0.35):
                self.ended.add(place)

    def drop_words(self, place):
        """The channel is always open, so the tile drops all control wavelets."""
        self.droppers.add(place)
        for arrived in self.arrivals.values():
            arrived[place] = [w for w in arrived[place] if not w.word]

    def push(self, channels, value, sender):
        for place in self.receivers():
            channels[self.number, place].sent[sender].append(value)

    def channel(self, place, rounds):
        plan, counts = [], dict.fromkeys(self.senders(), 0)
        for _ in range(rounds):
            for step in sorted(self.scripts):
                plan += [(w.sender, counts[w.sender] + w.number, w)
                         for w in self.arrivals[step][place]]
                for sender, wavelets in self.wavelets(step).items():
                    counts[sender] += len(wavelets)
        return Channel(plan, self.senders())


@dataclass
class Branch:
    """A tile of a tree: the side of the tile above it, and those of the tiles below."""
    above: str
    below: list = field(default_factory=list)


class CourseMaker:
    """Makes the course of a number and a color; `tree`: Branches by tile, the root first."""

    def __init__(self, rng, number, kind, color, tree, steps, entries, once):
        self.rng, self.number, self.kind, self.color = rng, number, kind, color
        self.tree, self.root, self.steps, self.entries = tree, next(iter(tree)), steps, entries
        self.once = once
        self.is_quiet = self.chance(0.3)              # no processor gets a control wavelet
        self.tears = self.chance(0.3)                 # control wavelets stop the color
        self.nodes, self.turns = {}, {}               # turns: by tile the sides in their order

    def chance(self, p):
        return self.rng.random() < p

    def course(self, scripts):
        return Course(self.number, self.kind, self.color, self.nodes, scripts, self.once)

    # ---- signals: one sender, no switches

    def signals(self):
        for place, branch in self.tree.items():
            outputs = list(branch.below)
            if not outputs or self.chance(0.4 if place != self.root else 0.1):
                outputs.append("RAMP")
            self.add_router(place, ("RAMP" if place == self.root else branch.above, outputs))
        return self.course({step: {self.root: self.signal_script()} for step in self.steps})

    def signal_script(self):
        script, left = [], MOST_IN_STEP
        for _ in range(self.rng.randrange(1, 5)):
            length = self.rng.randrange(1, 7)
            if length > left:
                break
            left -= length
            if self.chance(0.5):
                script.append(Piece(length))
            else:
                script.append(Words([self.word(self.signal_commands(), self.chance(0.5))
                                     for _ in range(max(1, length // 2))]))
        return script

    def signal_commands(self):
        if not self.tears or self.chance(0.3):
            return []
        return self.rng.choices(("TEARDOWN", "NOP"), k=self.rng.randrange(1, 4))

    def word(self, commands, has_data):
        """A control wavelet with these opcodes for the switches on its way."""
        r = self.rng
        entry = r.choice(self.entries) if self.entries and self.chance(0.92) else None
        if not commands and self.chance(0.2):
            return all_nops(entry)
        count = max(1, len(commands))
        ignored = [self.is_quiet or self.chance(0.5) for _ in range(count)]
        if not commands and not self.is_quiet:
            ignored = [self.chance(0.1)]
        found = tuple(Command(*c) for c in zip(commands or ["NOP"], ignored))
        return Word(found, entry, has_data and len(found) == 1)

    # ---- switches: their ways in turn

    def add_router(self, place, position):
        """With one position."""
        mode = self.rng.choice(TORN_POP_MODES) if self.tears else None
        self.nodes[place] = Router([position], pop_mode=mode, by_task=self.tears)

    def add_switch(self, place, positions, may_turn=True):
        """The position behind the last one is the first one again: by a ring, or by a reset."""
        by_task = self.tears and self.chance(0.8)
        is_ring = by_task or self.chance(0.6)
        turns = is_ring and may_turn and self.chance(0.4)
        start = self.rng.randrange(len(positions)) if turns else 0
        turned = positions[len(positions) - start:] + positions[:len(positions) - start]
        modes = ["always_pop"] * 4 + ["no_pop", None]
        if is_ring:                                   # no public text says whether a reset pops
            modes += ["pop_on_advance_nop"] * 2 + ["pop_on_advance"]
        self.nodes[place] = Router(turned, start, is_ring,
                                   self.rng.choice(TORN_POP_MODES if by_task else modes),
                                   self.chance(0.2), by_task)

    def commands(self, way, acting):
        """Opcodes for the switches of the tiles on the way, so that those of `acting` go on; None
        if no list does that."""
        found, slot = [], 0
        for place in way:
            router = self.nodes[place]
            if len(router.positions) == 1:
                slot += self.pass_single(router, found, slot)
                continue
            wanted = self.next_command(router) if place in acting else "NOP"
            if slot < len(found) and found[slot] != wanted:
                return None
            if slot == len(found):
                found.append(wanted)
            slot += self.is_popped(router, wanted)
            self.go_on(router, place in acting)
        return found if len(found) <= MOST_WORDS else None

    def pass_single(self, router, found, slot):
        """Commands that a router with one position pops."""
        if router.pop_mode != "always_pop":
            return 0
        if slot == len(found):
            found.append(self.rng.choice(("NOP", "TEARDOWN")) if router.by_task else "NOP")
        return 1

    @staticmethod
    def next_command(router):
        if router.by_task:
            return "TEARDOWN"
        turn = (router.at - router.start) % len(router.positions)
        is_last = turn == len(router.positions) - 1
        return "SWITCH_RST" if is_last and not router.is_ring else "SWITCH_ADV"

    @staticmethod
    def is_popped(router, command):
        if router.pop_mode == "pop_on_advance":
            return command == "SWITCH_ADV"
        return router.pop_mode in ("always_pop", "pop_on_advance_nop")

    @staticmethod
    def go_on(router, acts):
        if acts:
            router.at = (router.at + 1) % len(router.positions)

    def turn_words(self, way, acting):
        """What makes the switches of `acting` go on, as a list of control wavelets."""
        commands = self.commands(way, acting)
        if commands is None:
            raise Unfit("commands")
        return Words([self.word(commands, self.chance(0.3))])

    # ---- gather: several senders, one after the other

    def gather(self):
        senders = {p for p, b in self.tree.items()
                   if not b.below or self.chance(0.6 if p != self.root else 0.3)}
        for place, branch in self.tree.items():
            outputs = [branch.above] if place != self.root else ["RAMP"]
            if place != self.root and self.chance(0.2):
                outputs.append("RAMP")
            inputs = branch.below + (["RAMP"] if place in senders else [])
            self.rng.shuffle(inputs)
            if len(inputs) > MOST_POSITIONS:
                raise Unfit("positions")
            self.turns[place] = inputs
            positions = [(side, outputs) for side in inputs]
            if len(positions) > 1:
                self.add_switch(place, positions)
            else:
                self.add_router(place, positions[0])
        order = self.visits(self.root, ())
        return self.course({step: self.gather_scripts(order) for step in self.steps})

    def visits(self, place, way):
        """In the order of turns: a tile, the tiles from the root down to it, and those of whose
        turns one ends with it."""
        found = []
        for side in self.turns[place]:
            if side == "RAMP":
                inner = [(place, (*way, place), set())]
            else:
                (x, y), (dx, dy) = place, SIDES[side]
                inner = self.visits((x + dx, y + dy), (*way, place))
            last = inner[-1][2]
            if len(self.turns[place]) > 1:
                found += inner[:-1]
                # Whoever ends the last turn of all below ends one here, too.
                found.append((*inner[-1][:2], last | {place}))
            else:
                found += inner
        return found

    def gather_scripts(self, order):
        most = max(1, MOST_IN_STEP // len(order) - 1)
        scripts = {}
        for place, way, acting in order:
            scripts[place] = self.turn(place, way[::-1], acting, most)
        return scripts

    def turn(self, sender, way, acting, most):
        """Elements, and what makes the switches of `acting` go on, which are on the way."""
        piece = Piece(self.rng.randrange(1, most + 1))
        own = self.nodes[sender]
        if acting == {sender} and self.next_command(own) == "SWITCH_ADV" and self.chance(0.4):
            piece.advances = True
            self.go_on(own, True)
            return [piece]
        return [piece] + ([self.turn_words(way, acting)] if acting else [])

    # ---- scatter: several receivers, one after the other

    def scatter(self):
        """Where all take part at first, each switch begins by sending to all its sides."""
        has_all = not self.tears and self.chance(0.4)
        for place, branch in self.tree.items():
            source = branch.above if place != self.root else "RAMP"
            ways = list(branch.below)
            if not ways or place != self.root and self.chance(0.5):
                ways.append("RAMP")
            self.rng.shuffle(ways)
            self.turns[place] = ways
            positions = [(source, [side]) for side in ways]
            if len(ways) == 1:
                self.add_router(place, positions[0])
                continue
            if has_all:
                positions.insert(0, (source, list(ways)))
            if len(positions) > MOST_POSITIONS:
                raise Unfit("positions")
            self.add_switch(place, positions, may_turn=not has_all)
        order = self.visits(self.root, ())
        return self.course({step: {self.root: self.scatter_script(order, has_all)}
                            for step in self.steps})

    def scatter_script(self, order, has_all):
        most = max(1, MOST_IN_STEP // (len(order) + has_all) - 1)
        script = self.script_for_all(order, most) if has_all else []
        for _, way, acting in order:
            script += self.turn(self.root, way, acting, most)
        return script

    def script_for_all(self, order, most):
        """Behind it, each switch has begun its turns."""
        depth = max(sum(len(self.nodes[p].positions) > 1 for p in way) for _, way, _ in order)
        for router in self.nodes.values():
            self.go_on(router, len(router.positions) > 1)
        script = [Piece(self.rng.randrange(1, most + 1))]
        return script + ([Words([self.word(["SWITCH_ADV"] * depth, False)])] if depth else [])

    # ---- pass: each tile of a line takes what comes first, passes on the others and adds its own

    def passing(self):
        line = list(self.tree)
        if len(line) < 3 or any(len(b.below) > 1 for b in self.tree.values()):
            raise Unfit("line")
        self.add_router(line[0], ("RAMP", self.tree[line[0]].below))
        self.add_router(line[-1], (self.tree[line[-1]].above, ["RAMP"]))
        for place in line[1:-1]:
            above, below = self.tree[place].above, self.tree[place].below
            self.add_switch(place, [(above, ["RAMP"]), (above, below), ("RAMP", below)],
                            may_turn=False)
        return self.course({step: self.passing_scripts(line) for step in self.steps})

    def passing_scripts(self, line):
        pieces = self.rng.randrange(2, 4)             # that each tile gets
        most = MOST_IN_STEP // pieces - 1
        scripts = {line[0]: []}
        for rank in range(pieces):
            scripts[line[0]] += self.passed_turn(line, 0, rank, pieces, most)
        for i in range(1, len(line) - 1):
            scripts[line[i]] = self.passed_turn(line, i, pieces, pieces, most)
        return scripts

    def passed_turn(self, line, at, rank, pieces, most):
        """What tile `at` of the line sends; the next tile gets it as its piece of that rank."""
        way, acting = [line[at]], {line[at]} if at else set()
        rank = rank if not at else pieces - 1
        for place in line[at + 1:]:
            way.append(place)
            if rank in (0, pieces - 1) and place != line[-1]:
                acting.add(place)
            if rank == 0:
                break
            rank -= 1
        return self.turn(line[at], way, acting, most)

