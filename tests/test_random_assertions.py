"""Random programs of assertions: a model says which one fails first and what it compares.  The
report may leave a side out, but shows no other value."""
import operator
import random
import re

import pytest

import harness

PROGRAMS = 120
PROGRAMS_OF_COMMIT = 40        # other ones with each commit
BITS = {"i16": 16, "u16": 16, "i32": 32, "u8": 8, "i8": 8, "u32": 32}
TYPES = [*BITS, "f32", "bool"]
ELEMENTS = 8
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
               "==": operator.eq, "!=": operator.ne}
SUMS = {"+": operator.add, "-": operator.sub}
OPERATORS = {**SUMS, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor}
LAYOUT = """layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }
"""
END = """}
comptime {
  @bind_local_task(main, @get_local_task_id(8));
  @activate(@get_local_task_id(8));
}
"""


class Failed(Exception):
    """An assertion, and the sides that the report may show, as text."""


def wrapped(type, value):
    if type not in BITS:
        return value
    value &= (1 << BITS[type]) - 1
    negative = type[0] == "i" and value >> (BITS[type] - 1)
    return value - (1 << BITS[type]) if negative else value


def shown(type, value):
    return str(value).lower() if type == "bool" else f"{value:g}" if type == "f32" else str(value)


class Program:
    """All variables are in one dictionary; a statement is [lines, run, parts]."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.types, self.values, self.arrays = {}, {}, {}
        self.removed, self.lines, self.line_of = set(), [], {}
        for i, type in enumerate([*TYPES, "i16", "u16"]):
            self.types[f"g{i}"], self.values[f"g{i}"] = type, self.value(type)
        for i, type in enumerate(self.random.sample(["i16", "u16", "i32", "u8", "f32"], 2)):
            self.arrays[f"a{i}"] = type
            self.values[f"a{i}"] = [self.value(type) for _ in range(ELEMENTS)]

    def value(self, type):
        draw = self.random
        if type == "bool":
            return draw.random() < 0.5
        if type == "f32":
            return draw.randint(-40, 40) / 4
        return wrapped(type, draw.randint(-20, 30) if draw.random() < 0.7 else draw.getrandbits(32))

    def leaf(self, type, scope):
        names = [n for n, t in {**self.types, **scope}.items() if t == type]
        choices = [(n, lambda v, n=n: v[n]) for n in names]
        indices = [n for n, t in scope.items() if t == "u16"]
        for array in (a for a, t in self.arrays.items() if t == type):
            at = self.random.randrange(ELEMENTS)
            choices.append((f"{array}[{at}]", lambda v, a=array: v[a][at]))
            choices += [(f"{array}[{i} & 7]", lambda v, a=array, i=i: v[a][v[i] & 7])
                        for i in indices]
        return self.random.choice(choices)

    def expression(self, type, scope, depth=2):
        """Text without parentheses around it, and its value as a function of the variables."""
        if depth == 0 or type == "bool" or self.random.random() < 0.4:
            return self.leaf(type, scope)
        text, left = self.expression(type, scope, depth - 1)
        other, right = self.leaf(type, scope)
        sign = self.random.choice([*(SUMS if type == "f32" else OPERATORS)])
        compute = OPERATORS[sign]
        text = f"({text})" if " " in text else text
        return (f"{text} {sign} {other}",
                lambda v: wrapped(type, compute(left(v), right(v))))

    def assertion(self, scope):
        type = self.random.choice(TYPES)
        sign = self.random.choice(["==", "!="] if type == "bool" else [*COMPARISONS])
        left, right = self.expression(type, scope), self.expression(type, scope, 1)
        statement = [[f"@assert({self.inside(left)} {sign} {self.inside(right)});"], None, []]

        def run(v):
            x, y = left[1](v), right[1](v)
            if id(statement) not in self.removed and not COMPARISONS[sign](x, y):
                raise Failed(statement, [f"{side[0]} = {shown(type, z)}"
                                         for side, z in ((left, x), (right, y))])
        statement[1] = run
        return statement

    @staticmethod
    def inside(expression):
        return f"({expression[0]})" if " " in expression[0] else expression[0]

    def assignment(self, scope):
        name, type = self.random.choice([*self.types.items()])
        text, compute = self.expression(type, scope)
        return [[f"{name} = {text};"], lambda v: v.update({name: compute(v)}), []]

    def store(self, scope):
        array, type = self.random.choice([*self.arrays.items()])
        text, compute = self.expression(type, scope)
        at = self.random.randrange(ELEMENTS)

        def run(v):
            v[array] = v[array][:at] + [compute(v)] + v[array][at + 1:]
        return [[f"{array}[{at}] = {text};"], run, []]

    def declaration(self, scope):
        type, name = self.random.choice(TYPES), f"v{self.random.getrandbits(40)}"
        text, compute = self.expression(type, scope)
        scope[name] = type
        return [[f"const {name}: {type} = {text};"], lambda v: v.update({name: compute(v)}), []]

    def loop(self, scope, depth):
        name, turns = f"n{self.random.getrandbits(40)}", self.random.randint(1, 6)
        parts = self.block({**scope, name: "u16"}, depth - 1)

        def run(v):
            for v[name] in range(turns):
                self.run(parts, v)
        return [[f"for (@range(u16, {turns})) |{name}| {{", "}"], run, parts]

    def branch(self, scope, depth):
        type = self.random.choice([*BITS])
        left, right = self.expression(type, scope, 1), self.leaf(type, scope)
        parts = self.block(dict(scope), depth - 1)

        def run(v):
            if left[1](v) < right[1](v):
                self.run(parts, v)
        return [[f"if ({self.inside(left)} < {right[0]}) {{", "}"], run, parts]

    def block(self, scope, depth):
        kinds = [self.assertion, self.assertion, self.assignment, self.store, self.declaration]
        outer = [self.loop, self.branch] if depth else []
        return [kind(scope, depth) if kind in outer else kind(scope)
                for kind in self.random.choices(kinds + outer, k=self.random.randint(3, 8))]

    def run(self, statements, values):
        for statement in statements:
            statement[1](values)

    def write(self, statements):
        for statement in statements:
            if id(statement) in self.removed:
                continue
            lines, _, parts = statement
            self.lines.append(lines[0])
            self.line_of[id(statement)] = len(self.lines)
            self.write(parts)
            self.lines += lines[1:]

    def failure(self, statements):
        """The assertion that ends the run; most of those that fail are left out before."""
        while True:
            try:
                self.run(statements, dict(self.values))
                return None
            except Failed as failed:
                if self.random.random() < 0.2:
                    return failed
                self.removed.add(id(failed.args[0]))

    def declare(self):
        for name, type in self.types.items():
            self.lines.append(f"export var {name}: {type} = {shown(type, self.values[name])};")
        for name, type in self.arrays.items():
            elements = ", ".join(shown(type, x) for x in self.values[name])
            self.lines.append(f"export var {name} = [{ELEMENTS}]{type}{{ {elements} }};")
        self.lines.append("task main() void {")


def report(folder, program, level, arch):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text("\n".join(program.lines) + "\n" + END)
    harness.compile(folder / "layout.csl", folder / "p.bin", f"--arch={arch}", level)
    ran = [harness.run([harness.tool("wse-emu"), folder / "p.bin", f"--engine={engine}"],
                       expect=2).err for engine in ("fast", "reference")]
    assert ran[0] == ran[1]
    return ran[0]


@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_the_first_assertion_that_fails_shows_its_own_values(tmp_path, level):
    shows = 0
    drawn = harness.commit_random("assertions").integers(10 ** 9, size=PROGRAMS_OF_COMMIT)
    for seed in [*range(PROGRAMS), *drawn.tolist()]:
        program = Program(seed)
        statements = program.block({}, 2) + program.block({}, 2)
        failed = program.failure(statements)
        if failed is None:
            continue
        program.declare()
        program.write(statements)
        err = report(tmp_path, program, level, ("wse2", "wse3")[seed % 2])
        statement, sides = failed.args
        at = f"/pe.csl:{program.line_of[id(statement)]}, pc "
        assert "[ASSERT]" in err and at in err.splitlines()[1], (seed, err)
        found = re.search(r"^  where (.*)$", err, re.M)
        allowed = [sides[0], sides[1], " and ".join(sides)]
        assert found is None or found[1] in allowed, (seed, found[1], sides)
        shows += found is not None
    assert shows > PROGRAMS / 5
