"""What the routers of a color do, without time.

In each of its positions a router takes wavelets from one side only, so each of them sees the same
wavelets in the same order whatever their times are: the routers' results do not depend on time.
"""
from collections import deque
from dataclasses import dataclass, field

from flows.payloads import NO_ENTRY, Word

SIDES = {"EAST": (1, 0), "WEST": (-1, 0), "NORTH": (0, -1), "SOUTH": (0, 1)}
OPPOSITE = {"EAST": "WEST", "WEST": "EAST", "NORTH": "SOUTH", "SOUTH": "NORTH"}
MOST_POSITIONS = 4
POP_MODES = ("no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop")
TORN_POP_MODES = (None, "no_pop", "always_pop", "always_pop")


class Unfit(Exception):
    """The program needs more of something than there is."""


@dataclass
class Wavelet:
    sender: tuple
    number: int                   # of those that the sender sends in the step
    word: Word = None             # of a control wavelet
    advances: bool = False        # the last one of an operation that advances its router
    index: int = None
    pops: int = 0                 # commands that routers on the way have popped

    def is_task(self):
        """Whether its entry names a control task."""
        return self.word.entry not in (None, NO_ENTRY)


@dataclass
class Router:
    """positions: (the side that wavelets come from, the sides that they go to)."""
    positions: list
    start: int = 0
    is_ring: bool = False
    pop_mode: str = None          # None: not named
    names_end: bool = False       # the position behind the last one is said to be invalid
    by_task: bool = False         # a TEARDOWN command stops the color; a handler of the program
                                  # gives it the routes of the next position, round and round
    filter: object = None
    at: int = field(init=False)
    turns: int = 0                # changes of position
    torn: int = 0                 # how often the handler runs
    is_closed: bool = False       # the color begins suspended

    def __post_init__(self):
        self.begin()

    def begin(self):
        self.at, self.turns, self.torn = self.start, 0, 0
        if self.filter:
            self.filter.begin()

    def is_at_start(self):
        return self.at == self.start and (not self.filter or self.filter.is_at_start())

    def source(self):
        return self.positions[self.at][0]

    def outputs(self):
        return self.positions[self.at][1]

    def advance(self):
        if self.by_task:
            return                                    # no switch has a second position
        if self.at + 1 < len(self.positions):
            self.at += 1
        elif self.is_ring:
            self.at = 0

    def execute(self, wavelet):
        """The wavelet's command; whether the processor gets the wavelet."""
        command, before = wavelet.word.command(wavelet.pops), self.at
        if command is None:
            raise Unfit("a command that depends on data")
        if command.name == "SWITCH_ADV":
            self.advance()
        elif command.name == "SWITCH_RST" and not self.by_task:
            self.at = 0
        elif command.name == "TEARDOWN":
            self.tear_down()
        self.turns += self.at != before
        if self.pops(command, self.at != before):
            wavelet.pops += 1
        return not command.ignored

    def tear_down(self):
        if not self.by_task:
            raise Unfit("no handler opens the color again")
        self.torn += 1
        self.at = (self.at + 1) % len(self.positions)

    def pops(self, command, has_changed):
        if self.pop_mode == "always_pop":
            return True
        on_advance = str(self.pop_mode).startswith("pop_on_advance")
        if on_advance and command.name in ("SWITCH_RST", "TEARDOWN"):
            raise Unfit("no public text says whether it pops")
        if self.pop_mode == "pop_on_advance":
            return has_changed
        return self.pop_mode == "pop_on_advance_nop" and (has_changed or command.name == "NOP")

    def config(self):
        """The color's configuration, as text."""
        source, outputs = self.positions[self.start if self.by_task else 0]
        text = f".routes = .{{ .rx = .{{ {source} }}, .tx = .{{ {', '.join(outputs)} }} }}"
        fields = [] if self.by_task else self.position_fields()
        if self.pop_mode:
            fields.append(f".pop_mode = .{{ .{self.pop_mode} = true }}")
        if fields:
            text += f", .switches = .{{ {', '.join(fields)} }}"
        if self.filter:
            text += f", .filter = {self.filter.config()}"
        if self.is_closed:
            text += ", .teardown = true"
        return f".{{ {text} }}"

    def position_fields(self):
        if len(self.positions) == 1:
            return []
        fields = [f".pos{i + 1} = .{{ {changed} }}"
                  for i, changed in enumerate(self.changes())]
        if self.names_end and len(self.positions) < MOST_POSITIONS:
            fields.append(f".pos{len(self.positions)} = .{{ .invalid = true }}")
        if self.start:
            fields.append(f".current_switch_pos = {self.start}")
        if self.is_ring:
            fields.append(".ring_mode = true")
        return fields

    def changes(self):
        """What each position behind the first one changes: one side, the other one stays."""
        for (source, outputs), (later, ways) in zip(self.positions, self.positions[1:]):
            if source != later:
                assert outputs == ways, "a position changes one side"
                yield f".rx = {later}"
            else:
                assert len(ways) == 1, "a position sends to one side"
                yield f".tx = {ways[0]}"


def carry(routers, sent):
    """The wavelets that each tile's ramp gets, in order.  routers: by tile; sent: by tile the
    wavelets that it sends.

    A router holds one wavelet, and takes the next one when that has left: what does not wait for
    ever here does so with no larger buffers.
    """
    waiting = {place: deque(sent.get(place, ())) for place in routers}
    held, arrived = {}, {place: [] for place in routers}
    has_moved = True
    while has_moved:
        has_moved = False
        for place, router in routers.items():
            if place not in held and waiting[place] and router.source() == "RAMP":
                held[place] = waiting[place].popleft()
                has_moved = True
            if place in held and has_room(place, routers, held):
                pass_on(place, router, held, arrived)
                has_moved = True
    if held or any(waiting.values()):
        raise Unfit("wavelets wait for ever")
    return arrived


def beside(place, side):
    (x, y), (dx, dy) = place, SIDES[side]
    return x + dx, y + dy


def has_room(place, routers, held):
    """Whether all that get the wavelet can take it."""
    for side in routers[place].outputs():
        if side == "RAMP":
            continue
        following = beside(place, side)
        if following not in routers:
            raise Unfit("wavelets leave the course")
        if following in held or routers[following].source() != OPPOSITE[side]:
            return False
    return True


def pass_on(place, router, held, arrived):
    outputs, sent_on, is_delivered = router.outputs(), held.pop(place), True
    if sent_on.word:
        is_delivered = router.execute(sent_on)
    elif sent_on.advances:
        router.advance()
        sent_on.advances = False
    for side in outputs:
        if side != "RAMP":
            held[beside(place, side)] = Wavelet(**vars(sent_on))
        elif is_delivered and (not router.filter or router.filter.passes(sent_on)):
            arrived[place].append(Wavelet(**vars(sent_on)))
