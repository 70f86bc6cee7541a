"""Where values live: places that can be read and written, and what an evaluation keeps."""


class Slot:
    """An element of a list: a variable, an array's element, a struct's field."""
    __slots__ = ("holder", "key")

    def __init__(self, holder, key):
        self.holder, self.key = holder, key

    def get(self):
        return self.holder[self.key]

    def set(self, value):
        held = self.holder[self.key]
        if isinstance(held, list):
            replace(held, value)
        else:
            self.holder[self.key] = value


def replace(held, value):
    """Gives an aggregate another value where it stands: pointers may lead into it."""
    for i, item in enumerate(value):
        if isinstance(held[i], list):
            replace(held[i], item)
        else:
            held[i] = item


class Bits:
    """A part of an integer that stands in another place: of a packed struct or a union."""
    __slots__ = ("outer", "at", "kind", "width")

    def __init__(self, outer, at, kind, width):
        if isinstance(outer, Bits):
            outer, at = outer.outer, outer.at + at
        self.outer, self.at, self.kind, self.width = outer, at, kind, width

    def get(self):
        return self.kind.decode(self.outer.get() >> self.at & ((1 << self.width) - 1))

    def set(self, value):
        mask = (1 << self.width) - 1
        kept = self.outer.get() & ~(mask << self.at)
        self.outer.set(kept | (self.kind.encode(value) & mask) << self.at)


class Many:
    """A pointer to the elements of a list."""
    __slots__ = ("holder", "start")

    def __init__(self, holder, start):
        self.holder, self.start = holder, start

    def at(self, index):
        return Slot(self.holder, self.start + index)


class Break(Exception):
    """Leaves the loop or block of that label; None: the innermost loop."""

    def __init__(self, label, value=None):
        self.label, self.value = label, value


class Continue(Exception):
    def __init__(self, label):
        self.label = label


class Return(Exception):
    def __init__(self, value):
        self.value = value


class TooLong(Exception):
    """The evaluation takes more steps than a program may."""


class Run:
    """One evaluation.  refused: at compile time it is an error.  notes: unusual events in it."""
    MOST_STEPS = 20_000

    def __init__(self, cells=None):
        self.globals = cells if cells is not None else {}
        self.registers = {}           # DSRs by number: how far they have moved; FIFOs: what is in
        self.refused = False
        self.notes = set()
        self.steps = 0

    def step(self, count=1):
        self.steps += count
        if self.steps > self.MOST_STEPS:
            raise TooLong


class Frame:
    """The variables of one call."""
    __slots__ = ("cells", "run")

    def __init__(self, run):
        self.cells, self.run = {}, run

    def cell(self, name):
        found = self.cells.get(name)
        return found if found is not None else self.run.globals[name]
