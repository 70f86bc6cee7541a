"""Courses of random switches and commands.  Of many, those count whose wavelets all arrive, turn a
switch, and leave each router in the position in which it was."""
from flows.courses import Course, Piece, Words
from flows.payloads import SLOTS, Command, Word
from flows.routers import MOST_POSITIONS, POP_MODES, TORN_POP_MODES, Router, Unfit

TRIES = 200
MOST_PARTS, MOST_LENGTH, MOST_COMMANDS = 3, 3, 4


class WildMaker:
    """`maker`: the CourseMaker, which has the tiles."""

    def __init__(self, maker):
        self.maker, self.rng = maker, maker.rng

    def course(self):
        m = self.maker
        for _ in range(TRIES):
            resets = self.rng.random() < 0.7
            nodes = {place: self.router(branch, resets) for place, branch in m.tree.items()}
            script = {place: self.script(resets) for place in nodes if self.rng.random() < 0.6}
            try:
                course = Course(m.number, m.kind, m.color, nodes,
                                {step: self.again(script) for step in m.steps}, m.once)
            except Unfit:
                continue
            if course.receivers() and any(n.turns or n.torn for n in nodes.values()):
                return course
        raise Unfit("none of these switches does")

    def router(self, branch, resets):
        r = self.rng
        sides = branch.below + ["RAMP"] + ([branch.above] if branch.above != "RAMP" else [])
        source = r.choice(sides)
        outputs = r.sample(others(sides, source), r.randrange(1, min(2, len(sides) - 1) + 1)) \
            if len(sides) > 1 else ["RAMP"]
        positions = [(source, outputs)]
        for _ in range(r.randrange(MOST_POSITIONS)):
            if r.random() < 0.5:
                free = [s for s in sides if s == "RAMP" or s not in outputs]
                source = r.choice(free)
            else:
                outputs = [r.choice(others(sides, source))]
            if positions[-1] != (source, outputs):
                positions.append((source, outputs))
        if self.maker.tears and r.random() < 0.8:
            return Router(positions, r.randrange(len(positions)), True, r.choice(TORN_POP_MODES),
                          by_task=True)
        if len(positions) == 1:
            return Router(positions)
        start = 0 if resets else r.randrange(len(positions))
        modes = (None, *POP_MODES[:2]) if resets else (None, *POP_MODES)
        return Router(positions, start, r.random() < 0.6, r.choice(modes), r.random() < 0.2)

    def script(self, resets):
        """resets: the last control wavelet mostly takes each router back to its first position."""
        r, parts = self.rng, []
        for _ in range(r.randrange(1, MOST_PARTS + 1)):
            parts.append(Piece(0) if r.random() < 0.5 else Words([self.word(
                r.choices(("NOP", "SWITCH_ADV", "SWITCH_RST", "TEARDOWN"),
                          (2, 2, 1, 2 * self.maker.tears),
                          k=r.randrange(1, MOST_COMMANDS + 1)))]))
        if resets and r.random() < 0.7:
            parts.append(Words([self.word(["SWITCH_RST"] * SLOTS)]))
        return parts

    def word(self, names):
        r, m = self.rng, self.maker
        commands = tuple(Command(name, m.is_quiet or r.random() < 0.5) for name in names)
        return Word(commands, r.choice(m.entries) if m.entries and r.random() < 0.92 else None)

    def again(self, script):
        """The script with other lengths, which change no way."""
        return {place: [Piece(self.rng.randrange(1, MOST_LENGTH + 1)) if isinstance(p, Piece) else p
                        for p in parts] for place, parts in script.items()}


def others(sides, source):
    """Where what comes from there may go: not back, but for the ramp."""
    return [s for s in sides if s == "RAMP" or s != source]
