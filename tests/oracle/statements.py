"""Statements and functions: each class prints itself (text) and carries itself out (run)."""
from dataclasses import dataclass, field

from oracle.expressions import Expr, Node, call, chosen, combined, literal, of_arm, shifted
from oracle.places import Break, Continue, Return
from oracle.types import Type


def block(body):
    return "{ " + " ".join(s.text() for s in body) + " }"


def run_all(body, frame):
    for statement in body:
        statement.run(frame)


@dataclass(eq=False)
class Declare(Node):
    name: str
    kind: Type
    init: Expr
    constant: bool = False
    typed: bool = True            # the type is written

    def text(self):
        written = f": {self.kind}" if self.typed else ""
        return f"{'const' if self.constant else 'var'} {self.name}{written} = {self.init.text()};"

    def run(self, frame):
        frame.cells[self.name] = [self.kind.copy(self.init.value(frame))]


@dataclass(eq=False)
class Assign(Node):
    """op: empty, or that of a compound assignment."""
    to: Expr
    op: str
    value: Expr

    def text(self):
        return f"{self.to.text()} {self.op}= {self.value.text()};"

    def run(self, frame):
        value, kind = self.value.value(frame), self.to.type
        place = self.to.place(frame)
        if self.op in ("<<", ">>"):
            value = shifted(kind, self.op, place.get(), value, frame.run)
        elif self.op:
            value = combined(kind, self.op, place.get(), value, frame.run)
        place.set(kind.copy(value))


@dataclass(eq=False)
class If(Node):
    condition: Expr
    yes: list
    no: list

    def text(self):
        other = f" else {block(self.no)}" if self.no else ""
        return f"if ({self.condition.text()}) {block(self.yes)}{other}"

    def run(self, frame):
        run_all(self.yes if self.condition.value(frame) else self.no, frame)


@dataclass(eq=False)
class Arm(Node):
    body: list

    def text(self):
        return block(self.body)

    def run(self, frame):
        run_all(self.body, frame)


@dataclass(eq=False)
class SwitchStatement(Node):
    subject: Expr
    labels: list
    arms: list

    def text(self):
        parts = [f"{', '.join(literal(self.subject.type, n, True) for n in ns)} => {arm.text()}"
                 for ns, arm in zip(self.labels, self.arms)]
        return (f"switch ({self.subject.text()}) {{ {', '.join(parts)}, "
                f"else => {self.arms[-1].text()} }}")

    def run(self, frame):
        chosen(self, frame).run(frame)


@dataclass(eq=False)
class Loop(Node):
    """What loops share: a label and a body."""
    label: str
    body: list

    def head(self):
        return f"{self.label}: " if self.label else ""

    def turn(self, frame):
        """One turn; true if the loop ends with it."""
        frame.run.step()
        try:
            run_all(self.body, frame)
        except Continue as jump:
            if jump.label not in (None, self.label):
                raise
        except Break as jump:
            if jump.label not in (None, self.label):
                raise
            return True
        return False


@dataclass(eq=False)
class While(Loop):
    """step: what follows each turn, or None."""
    condition: Expr
    step: Assign

    def text(self):
        step = f" : ({self.step.text().rstrip(';')})" if self.step else ""
        return f"{self.head()}while ({self.condition.text()}){step} {block(self.body)}"

    def run(self, frame):
        while self.condition.value(frame):
            if self.turn(frame):
                return
            if self.step:
                self.step.run(frame)


@dataclass(eq=False)
class ForRange(Loop):
    kind: Type
    start: Expr
    stop: Expr
    step: Expr
    item: str
    index: str = None

    def text(self):
        names = self.item if self.index is None else f"{self.item}, {self.index}"
        bounds = ", ".join(e.text() for e in (self.start, self.stop, self.step))
        return f"{self.head()}for (@range({self.kind}, {bounds})) |{names}| {block(self.body)}"

    def run(self, frame):
        bounds = [e.value(frame) for e in (self.start, self.stop, self.step)]
        for index, item in enumerate(range(*bounds)):
            frame.cells[self.item], frame.cells[self.index] = [item], [index]
            if self.turn(frame):
                return


@dataclass(eq=False)
class ForArray(Loop):
    """inline: unrolled."""
    array: Expr
    item: str
    index: str = None
    inline: bool = False

    def text(self):
        names = self.item if self.index is None else f"{self.item}, {self.index}"
        inline = "inline " if self.inline else ""
        return f"{self.head()}{inline}for ({self.array.text()}) |{names}| {block(self.body)}"

    def run(self, frame):
        element = self.array.type.element
        for index, item in enumerate(self.array.type.copy(self.array.value(frame))):
            frame.cells[self.item], frame.cells[self.index] = [element.copy(item)], [index]
            if self.turn(frame):
                return


@dataclass(eq=False)
class Scope(Node):
    """A block, with or without a label to leave it by."""
    label: str
    body: list

    def text(self):
        return f"{self.label + ': ' if self.label else ''}{block(self.body)}"

    def run(self, frame):
        try:
            run_all(self.body, frame)
        except Break as jump:
            if self.label is None or jump.label != self.label:
                raise


@dataclass(eq=False)
class Leave(Node):
    """break, continue or return under a condition."""
    condition: Expr
    way: str
    label: str = None
    value: Expr = None

    def text(self):
        label = f" :{self.label}" if self.label else ""
        value = f" {self.value.text()}" if self.value else ""
        return f"if ({self.condition.text()}) {{ {self.way}{label}{value}; }}"

    def run(self, frame):
        if not self.condition.value(frame):
            return
        value = self.value and self.value.type.copy(of_arm(self.value, frame))
        if self.way == "return":
            raise Return(value)
        raise Break(self.label, value) if self.way == "break" else Continue(self.label)


@dataclass(eq=False)
class CallStatement(Node):
    """A call for what it does to what its arguments point to."""
    call: Expr

    def text(self):
        return f"_ = {self.call.text()};"

    def run(self, frame):
        self.call.value(frame)


@dataclass(eq=False)
class Function(Node):
    """comptime: the name of a parameter known at compile time; inline: declared so.
    run_time: cannot be evaluated at compile time."""
    name: str
    params: list                  # (name, type)
    result_type: Type
    body: list
    result: Expr
    comptime: str = None
    inline: bool = False
    run_time: bool = False
    globals: list = field(default_factory=list)       # (name, type, initial value)
    prelude: list = field(default_factory=list)       # lines of text in front of it
    callees: list = field(default_factory=list)
    cost: int = 1                                     # loop turns and calls, roughly

    def text(self):
        first = [f"comptime {self.comptime}: u16"] if self.comptime else []
        params = ", ".join(first + [f"{n}: {t}" for n, t in self.params])
        body = " ".join(s.text() for s in self.body)
        return (f"{'inline ' if self.inline else ''}fn {self.name}({params}) {self.result_type} "
                f"{{ {body} return {self.result.text()}; }}")

    def execute(self, frame):
        frame.run.step()
        try:
            run_all(self.body, frame)
            return self.result_type.copy(self.result.value(frame))
        except Return as left:
            return left.value

    def call(self, run, arguments, comptime):
        return call(self, run, arguments, comptime)
