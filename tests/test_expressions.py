"""Random expressions: what the compiler computes at compile time, and what the program computes
at -O0, -O1 and -O2, equal an oracle in Python.

Run-time integers wrap; at compile time an overflow is an error, so an expression whose oracle
overflows somewhere is checked at run time only.
"""
import random

import numpy
import pytest

import harness

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "i5", "u12"]
FUNCTIONS = 24


class Overflow(Exception):
    """Compile-time evaluation would refuse this."""


def bits_of(kind):
    return int(kind[1:])


def wrap(kind, value):
    bits = bits_of(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "i" and value >> (bits - 1) else value


class Tree:
    """An expression: CSL text, and a function from the arguments to (value, overflowed)."""

    def __init__(self, text, evaluate, is_literal=False):
        self.text = text
        self.evaluate = evaluate
        self.is_literal = is_literal


def checked(kind, exact, flags):
    value = wrap(kind, exact)
    return value, flags or value != exact


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def arithmetic(rng, kind, depth):
    left, right = operand(rng, kind, depth - 1), integer(rng, kind, depth - 1)
    op = rng.choice(["+", "-", "*", "&", "|", "^", "/", "%"])
    divides = op in "/%"
    # A divisor with its lowest bit set is not zero.
    text = f"({left.text} {op} ({right.text} | 1))" if divides \
        else f"({left.text} {op} {right.text})"

    def evaluate(args):
        a, fa = left.evaluate(args)
        b, fb = right.evaluate(args)
        b = b | 1 if divides else b
        exact = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "&": lambda: a & b,
                 "|": lambda: a | b, "^": lambda: a ^ b, "/": lambda: truncated(a, b),
                 "%": lambda: a - b * truncated(a, b)}[op]()
        return checked(kind, exact, fa or fb)

    return Tree(text, evaluate)


def shifted(rng, kind, depth):
    inner = operand(rng, kind, depth - 1)
    by, op = rng.randrange(bits_of(kind)), rng.choice(["<<", ">>"])

    def evaluate(args):
        a, flag = inner.evaluate(args)
        return (wrap(kind, a << by) if op == "<<" else a >> by), flag

    return Tree(f"({inner.text} {op} {by})", evaluate)


def converted(rng, kind, depth):
    other = rng.choice(INTS)
    inner = operand(rng, other, depth - 1)

    def evaluate(args):
        a, flag = inner.evaluate(args)
        return checked(kind, a, flag)

    return Tree(f"@as({kind}, {inner.text})", evaluate)


def chosen(rng, kind, depth):
    condition = truth(rng, depth - 1)
    yes, no = operand(rng, kind, depth - 1), operand(rng, kind, depth - 1)

    def evaluate(args):
        c, flag = condition.evaluate(args)
        value, more = (yes if c else no).evaluate(args)
        return value, flag or more

    return Tree(f"(if ({condition.text}) {yes.text} else {no.text})", evaluate)


def unary(rng, kind, depth):
    inner = operand(rng, kind, depth - 1)
    op = rng.choice(["-", "~"])

    def evaluate(args):
        a, flag = inner.evaluate(args)
        return checked(kind, -a, flag) if op == "-" else (wrap(kind, ~a), flag)

    return Tree(f"({op}{inner.text})", evaluate)


def integer(rng, kind, depth):
    if depth <= 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            value = wrap(kind, rng.choice([0, 1, 2, 7, -1, 1 << (bits_of(kind) - 1)]))
            return Tree(f"@as({kind}, {value})", lambda args: (value, False), True)
        name = f"{kind}_{rng.choice('ab')}"
        return Tree(name, lambda args: (args[name], False))
    make = rng.choice([arithmetic, arithmetic, shifted, converted, chosen, unary])
    return make(rng, kind, depth)


def operand(rng, kind, depth):
    """No literal: an operation on literals alone is computed at compile time, even in code."""
    while True:
        tree = integer(rng, kind, depth)
        if not tree.is_literal:
            return tree


def truth(rng, depth):
    if depth > 1 and rng.random() < 0.3:
        a, b, op = truth(rng, depth - 1), truth(rng, depth - 1), rng.choice(["and", "or"])

        def evaluate(args):
            x, fx = a.evaluate(args)
            if x == (op == "or"):
                return x, fx
            y, fy = b.evaluate(args)
            return y, fx or fy

        return Tree(f"({a.text} {op} {b.text})", evaluate)
    kind = rng.choice(INTS)
    a, b = operand(rng, kind, depth - 1), integer(rng, kind, depth - 1)
    op = rng.choice(["==", "!=", "<", "<=", ">", ">="])
    compare = {"==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
               "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}[op]

    def evaluate_comparison(args):
        x, fx = a.evaluate(args)
        y, fy = b.evaluate(args)
        return compare(x, y), fx or fy

    return Tree(f"({a.text} {op} {b.text})", evaluate_comparison)


def single(rng, depth):
    """f32 arithmetic: one rounding per operation."""
    if depth <= 0 or rng.random() < 0.2:
        name = f"f32_{rng.choice('ab')}"
        return Tree(name, lambda args: (args[name], False))
    a, b, op = single(rng, depth - 1), single(rng, depth - 1), rng.choice("+-*")

    def evaluate(args):
        x, y = a.evaluate(args)[0], b.evaluate(args)[0]
        return (x + y if op == "+" else x - y if op == "-" else x * y), False

    return Tree(f"({a.text} {op} {b.text})", evaluate)


def literal(kind, value):
    if kind == "f32":
        return f"@bitcast(f32, @as(u32, {int(numpy.float32(value).view(numpy.uint32))}))"
    return f"@as({kind}, {value})"


def program(seed):
    rng = random.Random(seed)
    args = {f"{kind}_{which}": wrap(kind, rng.getrandbits(64)) if rng.random() < 0.5
            else wrap(kind, rng.randrange(-20, 20)) for kind in INTS for which in "ab"}
    for which in "ab":
        args[f"f32_{which}"] = numpy.float32(rng.uniform(-8, 8))
    kinds = {name: name.split("_")[0] for name in args}
    params = ", ".join(f"{n}: {k}" for n, k in kinds.items())
    known = ", ".join(literal(kinds[n], v) for n, v in args.items())
    lines = ["layout {", "  @set_rectangle(1, 1);", "  @set_tile_code(0, 0);",
             '  @export_name("failed", [*]u16, true);', "}",
             f"var failed = @zeros([{FUNCTIONS}]u16);", "var failed_ptr: [*]u16 = &failed;"]
    lines += [f"var {n}_v: {kinds[n]} = {literal(kinds[n], v)};" for n, v in args.items()]
    checks, asserts = [], []
    for i in range(FUNCTIONS):
        kind = "f32" if i % 8 == 7 else rng.choice(INTS)
        tree = single(rng, 3) if kind == "f32" else integer(rng, kind, 4)
        value, overflows = tree.evaluate(args)
        lines.append(f"fn function{i}({params}) {kind} {{ return {tree.text}; }}")
        given = ", ".join(f"{n}_v" for n in args)
        checks.append(f"  if (function{i}({given}) != {literal(kind, value)}) {{ failed[{i}] = 1; }}")
        if not overflows:
            asserts.append(f"  @comptime_assert(function{i}({known}) == {literal(kind, value)});")
    lines += ["task main() void {", *checks, "}", "comptime {", *asserts,
              "  @bind_local_task(main, @get_local_task_id(8));",
              "  @activate(@get_local_task_id(8));", '  @export_symbol(failed_ptr, "failed");', "}"]
    return "\n".join(lines) + "\n", len(asserts)


@pytest.mark.parametrize("seed", range(6))
def test_expressions_agree_with_the_oracle(seed, tmp_path):
    text, n_asserts = program(seed)
    source = tmp_path / "program.csl"
    source.write_text(text)
    assert n_asserts > 2, "too few expressions can be checked at compile time"
    for level in ("-O0", "-O1", "-O2"):
        harness.compile(source, tmp_path / "program.bin", level)
        ran = harness.emu(tmp_path / "program.bin", "--run", "--print=failed")
        failed = harness.values(ran.out, "failed")[0, 0]
        assert not any(failed), f"{level}: f{failed.index(1.0)} differs; see {source}"
