"""One program of many functions: its text, and the words that it leaves according to the oracle.

Each function is called CALLS times, in a loop whose arguments stand in arrays: `got` receives the
results, the targets of pointers and, behind the last call, the function's globals, in words of 64
bits.  `want` receives the same from compile time, where no call is an error there.
"""
from dataclasses import dataclass, field

from oracle import choose
from oracle.expressions import literal
from oracle.places import Run, Slot
from oracle.types import Array, Bool, Enum, Pointer, Struct, Union

CALLS = 3
FIRST_TASK, TASKS = 8, 4      # local tasks among which the calls are spread
SMALL = 1                     # so many of the calls have small arguments


@dataclass
class Call:
    """What one call gives: words from `at` on; none at compile time where that is an error."""
    arguments: list
    at: int
    words: list
    refused: bool
    notes: set = field(default_factory=set)


@dataclass
class Driven:
    """A function with its calls."""
    function: object
    at: int
    calls: list
    left: list                    # words of the globals behind the last call
    words_per_call: int


def leaves(text, kind):
    """Scalars in a value: (text, type)."""
    if isinstance(kind, Array):
        found = []
        for i in range(kind.count):
            at, index = i, []
            for d in reversed(kind.dims):
                index.insert(0, str(at % d))
                at //= d
            found += leaves(f"{text}[{', '.join(index)}]", kind.element)
        return found
    if isinstance(kind, Union):
        return leaves(f"{text}.{kind.fields[0][0]}", kind.fields[0][1])
    if isinstance(kind, Struct):
        return [leaf for n, t in kind.fields for leaf in leaves(f"{text}.{n}", t)]
    return [(text, kind)]


def scalars(kind, value):
    """The bits of the scalars, in the order of `leaves`."""
    if isinstance(kind, Array):
        return [s for v in value for s in scalars(kind.element, v)]
    if isinstance(kind, Union):
        first = kind.fields[0][1]
        return scalars(first, first.decode(value))
    if isinstance(kind, Struct):
        if kind.bits_only:
            value = [t.decode(value >> at & ((1 << t.width) - 1))
                     for (_, t), at in zip(kind.fields, kind.offsets)]
        return [s for (_, t), v in zip(kind.fields, value) for s in scalars(t, v)]
    return [kind.encode(value)]


def words_of(width):
    return -(-width // 64)


def split(bits, width):
    return [bits >> 64 * i & 0xffffffffffffffff for i in range(words_of(width))]


def word_texts(text, kind):
    """Expressions of type u64 for a scalar's bits."""
    if isinstance(kind, Enum):
        text, kind = f"@as({kind.base}, {text})", kind.base
    if isinstance(kind, Bool):
        return [f"@as(u64, {text})"]
    raw = f"@bitcast(u{kind.width}, {text})"
    if kind.width <= 64:
        return [f"@as(u64, {raw})"]
    return [f"low({raw} >> {64 * i})" for i in range(words_of(kind.width))]


# The low 64 bits of a wide integer.
LOW = "fn low(v: anytype) u64 { return @as(u64, v & 0xffffffffffffffff); }"


def widths(values):
    return [w for kind, value in values for s, (_, leaf) in zip(scalars(kind, value),
                                                               leaves("", kind))
            for w in split(s, leaf.width)]


def draw_arguments(function, rng):
    """For each call the values of the parameters, or of what they point to."""
    return [[choose.value(rng, t.target if isinstance(t, Pointer) else t, number < SMALL)
             for _, t in function.params] for number in range(CALLS)]


def comptime_unlike(kind):
    """Is there a union in it whose other fields compile time does not read?"""
    if isinstance(kind, Union) and kind.kind != "packed":
        return True
    if isinstance(kind, Array):
        return comptime_unlike(kind.element)
    return isinstance(kind, Struct) and any(comptime_unlike(t) for _, t in kind.fields)


def tasks(count):
    """Tasks that call so many drivers, one after the other; each activates the next, by an id that
    is known at compile time or at run time only."""
    lines, each = [], -(-count // TASKS)
    starts = range(0, count, each)
    for number, first in enumerate(starts):
        calls = " ".join(f"drive{i}();" for i in range(first, min(first + each, count)))
        following = FIRST_TASK + number + 1
        text = f"zero + {following}" if number % 2 else str(following)
        after = f" @activate(@get_local_task_id({text}));" if first + each < count else ""
        lines.append(f"task step{number}() void {{ {calls}{after} }}")
    binds = [f"  @bind_local_task(step{i}, @get_local_task_id({FIRST_TASK + i}));"
             for i in range(len(starts))]
    return lines + ["comptime {", *binds, f"  @activate(@get_local_task_id({FIRST_TASK}));"]


class Program:
    """functions: each behind those it calls; arguments: of the functions to call, by name."""

    def __init__(self, types, functions, arguments):
        self.types, self.functions, self.arguments = types, functions, arguments
        self.inputs = {}                              # scalar type: values of its input array
        self.driven, self.size = [], 0
        for function in functions:
            if function.name in arguments:
                self.drive(function, arguments[function.name])

    def drive(self, function, arguments):
        """Computes what the calls give."""
        cells = {n: [t.copy(v)] for n, t, v in function.globals}
        start, calls = self.size, []
        for values in arguments:
            calls.append(self.evaluate(function, values, cells))
            calls[-1].at = self.size
            self.size += len(calls[-1].words)
        left = widths([(t, cells[n][0]) for n, t, _ in function.globals])
        self.size += len(left)
        self.driven.append(Driven(function, start, calls, left, len(calls[0].words)))

    @staticmethod
    def evaluate(function, arguments, cells):
        run = Run(cells)
        targets, given = [], []
        for (_, kind), value in zip(function.params, arguments):
            if isinstance(kind, Pointer):
                targets.append((kind.target, [kind.target.copy(value)]))
                given.append(Slot(targets[-1][1], 0))
            else:
                given.append(value)
        result = function.call(run, given, 3 if function.comptime else None)
        shown = [(function.result_type, result)] + [(t, c[0]) for t, c in targets]
        refused = run.refused or function.run_time or any(comptime_unlike(t) for t, _ in shown)
        return Call(arguments, 0, widths(shown), refused, run.notes)

    def expected(self):
        """The words of `got`."""
        found = []
        for d in self.driven:
            for call in d.calls:
                found += call.words
            found += d.left
        return found

    # ---- text ------------------------------------------------------------------------------------

    def input(self, kind, values):
        """The text of an argument: built of elements of input arrays; c is the number of the
        call."""
        if isinstance(kind, Array):
            parts = [self.input(kind.element, [v[i] for v in values]) for i in range(kind.count)]
            return f"{kind}{{ {', '.join(parts)} }}"
        if isinstance(kind, Union):
            name, first = kind.fields[0]
            return (f"{kind}{{ .{name} = "
                    f"{self.input(first, [first.decode(v) for v in values])} }}")
        if isinstance(kind, Struct):
            if kind.bits_only:
                values = [[t.decode(v >> at & ((1 << t.width) - 1))
                           for (_, t), at in zip(kind.fields, kind.offsets)] for v in values]
            parts = [f".{n} = {self.input(t, [v[i] for v in values])}"
                     for i, (n, t) in enumerate(kind.fields)]
            return f"{kind}{{ {', '.join(parts)} }}"
        held = self.inputs.setdefault(kind, [])
        held += values
        return f"in_{kind}[c + {len(held) - len(values)}]"

    def call_lines(self, driven, texts, at, keep):
        """One call and what becomes of its results; at: the text of the first word's index."""
        f = driven.function
        lines, names = [], []
        for i, ((_, kind), text) in enumerate(zip(f.params, texts)):
            if isinstance(kind, Pointer):
                lines.append(f"var t{i}: {kind.target} = {text};")
                names.append(f"&t{i}")
            else:
                names.append(text)
        first = ["3"] if f.comptime else []
        lines.append(f"const r = {f.name}({', '.join(first + names)});")
        shown = leaves("r", f.result_type)
        for i, (_, kind) in enumerate(f.params):
            if isinstance(kind, Pointer):
                shown += leaves(f"t{i}", kind.target)
        words = [w for text, kind in shown for w in word_texts(text, kind)]
        lines += [f"{keep}[{at} + {i}] = {w};" for i, w in enumerate(words)]
        return " ".join(lines)

    def driver(self, number, driven):
        f = driven.function
        texts = [self.input(t.target if isinstance(t, Pointer) else t,
                            [c.arguments[i] for c in driven.calls])
                 for i, (_, t) in enumerate(f.params)]
        per = driven.words_per_call
        body = self.call_lines(driven, texts, f"n * {per} + {driven.at}", "got")
        left = driven.at + per * len(driven.calls)
        words = [w for n, t, _ in f.globals for text, kind in leaves(n, t)
                 for w in word_texts(text, kind)]
        rest = " ".join(f"got[{left + i}] = {w};" for i, w in enumerate(words))
        return (f"fn drive{number}() void {{ for (@range(u16, {len(driven.calls)})) |n| "
                f"{{ const c = n + zero; {body} }} {rest} }}")

    def known(self, driven, call):
        f = driven.function
        texts = [literal(t.target if isinstance(t, Pointer) else t, v)
                 for (_, t), v in zip(f.params, call.arguments)]
        return f"  {{ {self.call_lines(driven, texts, call.at, 'o')} }}"

    def text(self, want, size):
        """want: with the calls at compile time; size: of the arrays of results."""
        self.inputs = {}
        drivers = [self.driver(i, d) for i, d in enumerate(self.driven)]
        lines = self.types.declarations() + [LOW]
        for f in self.functions:
            lines += [f"var {n}: {t} = {literal(t, v)};" for n, t, v in f.globals]
            lines += f.prelude + [f.text()]
        lines += [f"const in_{k} = [{len(v)}]{k}{{ {', '.join(literal(k, x) for x in v)} }};"
                  for k, v in self.inputs.items()]
        lines += [f"var got = @zeros([{size}]u64);", "var zero: u16 = 0;"]
        lines += drivers
        if want:
            lines += [f"fn known() [{size}]u64 {{", f"  var o = @zeros([{size}]u64);"]
            lines += [self.known(d, c) for d in self.driven for c in d.calls if not c.refused]
            lines += ["  return o;", "}", f"var want: [{size}]u64 = known();"]
        names = ["got", "want"] if want else ["got"]
        lines += [f"var at_{n}: [*]u64 = &{n};" for n in names]
        lines += tasks(len(drivers))
        lines += [f'  @export_symbol(at_{n}, "{n}");' for n in names]
        lines += ["  @export_symbol(zero);", "}"]
        return "\n".join(lines) + "\n"

