"""Calls of the standard library in the code of a tile: places, times, numbers and records.

Public texts settle what these return, but for times: of them the programs compute only whether one
is later than another one.
"""
import re
from dataclasses import dataclass

import numpy

from flows.code import DTYPES, FLOATS, KINDS, Expr, Statement, indented, lines_of, run_all

MODULES = {"here": "<layout>", "math": "<math>", "clock": "<time>", "ops": "<dsd_ops>"}
# Functions of <dsd_ops> by the names of operations without the letter of their type, and how many
# types they take.
OPERATIONS = {"mov": ("mov", 1), "fmov": ("mov", 1), "add": ("add", 2), "fadd": ("add", 2),
              "sub": ("sub", 1), "fsub": ("sub", 1), "fmul": ("mul", 1), "fmax": ("max", 1),
              "fmac": ("fmac", 2), "fneg": ("neg", 1), "fabs": ("abs", 1)}
OF_FLOATS = {"abs": numpy.abs, "sign": numpy.sign, "floor": numpy.floor, "ceil": numpy.ceil}
OF_BOTH = {"max": numpy.maximum, "min": numpy.minimum}
QUESTIONS = {"isNaN": numpy.isnan, "isInf": numpy.isinf, "isFinite": numpy.isfinite}
MOST_RECORDS, MOST_SHIFT, TEXTS = 8, 12, ("", "a", "begin", "at 100 %")
FROM_ZERO = "tick_from_zero"
TICKS = {"tick": 1, "rest": 1, "tick_often": 4, FROM_ZERO: 1}        # what each adds
KEY = "flows"
# By number, as stdlib/debug.csl has them.
RECORD_KINDS = {1: "bool", 4: "u16", 5: "i16", 6: "f16", 7: "u32", 8: "i32", 9: "f32",
                10: "string", 11: "timestamp"}
# Counts readings of the counter that are later than the one before, or, while it rests, are not.
TIME = """\
var time_now = @zeros([clock.tsc_size_words]u16);
var time_before = @zeros([clock.tsc_size_words]u16);
var ticks: u16 = 0;
fn is_later(now: *[3]u16, before: *[3]u16) bool {
  var later = false;
  for (@range(u16, 3)) |i| {
    if (now.*[i] != before.*[i]) { later = now.*[i] > before.*[i]; }
    before.*[i] = now.*[i];
  }
  return later;
}
fn tick() u16 {
  clock.enable_tsc();
  clock.get_timestamp(&time_now);
  if (is_later(&time_now, &time_before)) { ticks += 1; }
  return ticks;
}
fn tick_from_zero() u16 {
  clock.reset_tsc_counter();
  for (@range(u16, 3)) |i| { time_before[i] = 0; }
  return tick();
}
fn tick_often() u16 {
  clock.enable_tsc();
  clock.get_timestamp(&time_before);
  clock.get_timestamp(&time_now);
  if (is_later(&time_now, &time_before)) { ticks += 1; }
  for (@range(u16, 3)) |_| {
    clock.get_timestamp(&time_now);
    if (is_later(&time_now, &time_before)) { ticks += 1; }
  }
  return ticks;
}
fn rest() u16 {
  clock.disable_tsc();
  clock.get_timestamp(&time_before);
  clock.get_timestamp(&time_now);
  if (!is_later(&time_now, &time_before)) { ticks += 1; }
  clock.enable_tsc();
  return ticks;
}""".split("\n")


@dataclass
class Record:
    """What <debug> keeps; value: None for a time."""
    kind: str
    value: object


def records_of(words):
    """What the host reads of a tile's record: behind the number of words in use and the key, each
    record has its kind and a value."""
    used, found, at = words[0], [], 2 + (words[1] + 1) // 2
    assert words[1] == len(KEY), "another key"
    while at < used:
        kind = RECORD_KINDS[words[at]]
        if kind == "string":
            length = words[at + 1]
            count = 1 + (length + 1) // 2
            text = numpy.array(words[at + 2:at + 1 + count], "<u2").tobytes()
            value = text[:length].decode()
        elif kind == "timestamp":
            count, value = 3, None
        elif kind == "bool":
            count, value = 1, bool(words[at + 1])
        else:
            count = numpy.dtype(DTYPES[kind]).itemsize // 2
            value = numpy.array(words[at + 1:at + 1 + count], "<u2").view(DTYPES[kind])[0]
        found.append(Record(kind, value))
        at += 1 + count
    return found


class Library:
    """The modules that a tile imports.  rounds: how often a step runs at most."""

    def __init__(self, rng, coder, place, rounds):
        self.rng, self.coder, self.place, self.rounds = rng, coder, place, rounds
        self.modules = [m for m in MODULES if rng.random() < 0.4]
        self.resets_time = rng.random() < 0.5         # then no stop watch runs over a reset
        self.has_records = rng.random() < 0.4
        self.watches, self.records, self.record_words = [], 0, 0

    # ---- expressions

    def expression(self, scope, kind, depth):
        """None: this tile has no call of the kind."""
        if kind == "u16" and "here" in self.modules and self.rng.random() < 0.5:
            axis = self.rng.randrange(2)
            return Expr(kind, f"here.get_{'xy'[axis]}_coord()", lambda env: self.place[axis])
        if "math" not in self.modules:
            return None
        name = self.rng.choice(["scale", *OF_BOTH, *OF_FLOATS] if kind in FLOATS else [*OF_BOTH])
        left = self.coder.expression(scope, kind, depth - 1)
        suffix = f"_{kind}" if kind in FLOATS and self.rng.random() < 0.5 else ""
        if name in OF_BOTH:
            return self.of_two(name + suffix, OF_BOTH[name], left,
                               self.coder.right(scope, kind, depth))
        if name == "scale":
            return self.scaled(suffix, left)
        compute = OF_FLOATS[name]
        return Expr(kind, f"math.{name}{suffix}({left.text})",
                    lambda env: FLOATS[kind](compute(left.value(env))))

    @staticmethod
    def of_two(name, compute, left, right):
        of = FLOATS.get(left.kind, int)
        return Expr(left.kind, f"math.{name}({left.text}, {right.text})",
                    lambda env: of(compute(left.value(env), right.value(env))))

    def condition(self, scope):
        """None: this tile has none."""
        if "math" not in self.modules:
            return None
        name, compute = self.rng.choice(list(QUESTIONS.items()))
        kind = self.rng.choice(list(FLOATS))
        of = self.coder.expression(scope, kind, 1)
        suffix = f"_{kind}" if self.rng.random() < 0.5 else ""
        return Expr("bool", f"math.{name}{suffix}({of.text})",
                    lambda env: bool(compute(of.value(env))))

    def scaled(self, suffix, of):
        power = self.rng.randrange(-MOST_SHIFT, MOST_SHIFT + 1)
        return Expr(of.kind, f"math.fscale{suffix}({of.text}, {power})",
                    lambda env: numpy.ldexp(of.value(env), power))

    # ---- statements

    def operation(self, name, kind, operands):
        """The text of a vector operation, whose function may follow from the type."""
        function, types = OPERATIONS.get(re.sub("(16|32|[hs])$", "", name), (None, 0))
        if not function or "ops" not in self.modules or self.rng.random() < 0.5:
            return f"@{name}({', '.join(operands)});"
        return f"_ = ops.{function}({', '.join([kind] * types + operands)}, .{{}});"

    def statement(self, scope):
        """None: no module does for this place.  scope.times: how often it runs in a step at most,
        0 if that or its order is not known."""
        makers = []
        if "clock" in self.modules and scope.calls:
            makers += [self.tick, self.watch]
        if self.has_records and scope.times and self.records < MOST_RECORDS:
            makers.append(self.record)
        return self.rng.choice(makers)(scope) if makers else None

    def tick(self, scope):
        name = self.coder.name("t")
        function = self.rng.choice([f for f in TICKS if self.resets_time or f != FROM_ZERO])
        scope.readable.append((name, "u16"))

        def run(env):
            env.values["ticks"] += TICKS[function]
            env.values[name] = env.values["ticks"]
        return Statement([f"const {name} = {function}();"], run)

    def watch(self, scope):
        """A stop watch over some statements, which goes on each time."""
        if self.resets_time:
            return self.tick(scope)
        number, name = len(self.watches), self.coder.name("watched")
        self.watches.append(name)
        body = self.coder.block(scope, 2) if scope.depth < 2 else []

        def run(env):
            run_all(body, env)
            env.values["ticks"] += 1
        return Statement(["{", *indented([
            f"watch.start({number});", *lines_of(body), f"watch.stop({number});",
            f"watch.elapsed({number}, &time_now);",
            f"if (is_later(&time_now, &{name})) {{ ticks += 1; }}"]), "}"], run)

    def record(self, scope):
        """A line of the tile's record."""
        self.records += 1
        kind = self.rng.choice([*KINDS, "bool", "string", "timestamp"])
        if kind == "timestamp":
            text, value, words = "", lambda env: None, 3
        elif kind == "string":
            words_of = self.rng.choice(TEXTS)
            text, value, words = f'"{words_of}"', lambda env: words_of, 1 + (len(words_of) + 1) // 2
        else:
            found = self.coder.condition(scope) if kind == "bool" else \
                self.coder.expression(scope, kind, 2)
            text, value, words = found.text, found.value, 2
        self.record_words += (1 + words) * scope.times * self.rounds
        suffix = "" if kind in KINDS and self.rng.random() < 0.5 else f"_{kind}"
        return Statement([f"record.trace{suffix}({text});"],
                         lambda env: env.records.append(Record(kind, value(env))))

    # ---- text

    def text(self):
        lines = [f'const {m} = @import_module("{MODULES[m]}");' for m in self.modules]
        if "clock" in self.modules:
            lines += TIME
        if self.watches:
            lines.append(f'const watch = @import_module("<timer>", '
                         f".{{ .timerCount = {len(self.watches)} }});")
            lines += [f"var {name} = @zeros([3]u16);" for name in self.watches]
        if self.records:
            lines.append(f'const record = @import_module("<debug>", .{{ .key = "{KEY}", '
                         f".buffer_size = {self.record_words} }});")
        return lines
