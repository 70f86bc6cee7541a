"""Programs with probes: a copy of a source whose statements write what the variables in scope hold
into an array, before they run.  The copy says what a debugger has to print at these lines, and
shares no code with it: the test compiles it at -O0 and reads its array when the run is over.

Also a generator of programs, with one statement per line, for both.
"""
import random
import re

import numpy

MOST_HITS = 20                # of one line that are written
LOG_WORDS = 3000
# How a variable becomes an i32, and the numpy type that an i32's low bits are.
WORDS = {
    "i8": ("@as(i32, {})", numpy.int8), "i16": ("@as(i32, {})", numpy.int16),
    "u8": ("@as(i32, {})", numpy.uint8), "u16": ("@as(i32, {})", numpy.uint16),
    "i32": ("{}", numpy.int32), "u32": ("@bitcast(i32, {})", numpy.uint32),
    "f32": ("@bitcast(i32, {})", numpy.float32),
    "f16": ("@as(i32, @bitcast(i16, {}))", numpy.float16),
    "bool": ("(if ({}) @as(i32, 1) else @as(i32, 0))", numpy.bool_),
}
_SCALAR = "|".join(WORDS)
_DECLARATION = re.compile(rf"(?:export\s+)?(?:var|const)\s+(\w+)\s*:\s*({_SCALAR})\b(?!\s*\))")
_GLOBAL = re.compile(rf"^(?:export\s+)?var\s+(\w+)\s*:\s*({_SCALAR})\s*(?:=|;)")
_PARAMETER = re.compile(rf"(\w+)\s*:\s*({_SCALAR})\s*(?=[,)])")
_CAPTURE = re.compile(rf"@range\(\s*({_SCALAR})\s*,[^|]*\|\s*(\w+)\s*\|")
_FUNCTION = re.compile(r"^(fn|task)\s+(\w+)\s*\((.*)\)\s*\w+\s*\{$")
_CALL = re.compile(r"(?<![@\w])(?!if\b|while\b|switch\b|return\b|and\b|or\b)[A-Za-z_][\w.]*\s*\(")
_NO_STATEMENT = re.compile(r"^(else|for|while|switch|comptime|inline|case|[^\w@])|=>")


class Source:
    """A file with probes.  `lines`: {line: [(name, type)]} of the statements with a probe, the
    variables in sight from the innermost on; `not_yet`: {line: name} of those that the statement
    declares; `text`: the copy."""

    def __init__(self, text, tag, with_globals=True):
        self.tag, self.lines, self.not_yet, self.function_of = tag, {}, {}, {}
        code = [line.partition("//")[0].rstrip() for line in text.split("\n")]
        seen = [(m[1], m[2]) for m in map(_GLOBAL.match, code) if m] if with_globals else []
        self._seen = [m for m in seen if not m[0].startswith("probe")]
        out, scopes, before, function = [], [], "}", None
        for number, (line, full) in enumerate(zip(code, text.split("\n")), 1):
            bare = line.strip()
            pending = []                 # what the next brace brings into sight
            if not scopes and _FUNCTION.match(line):
                function = _FUNCTION.match(line)[2]
                scopes = [[]]
                pending = [(m[1], m[2]) for m in _PARAMETER.finditer(line)]
            elif scopes and bare and self._has_probe(bare, before):
                full = self._probe(number, scopes, bare, function) + full
            if scopes and not pending:
                pending = [(m[2], m[1]) for m in _CAPTURE.finditer(line)]
                scopes[-1][:0] = self._declared(bare)
            if scopes:
                scopes = self._behind(line, scopes, pending)
            before = bare[-1:] or before
            out.append(full)
        self.text = "\n".join(out) + self._helpers()

    @staticmethod
    def _declared(bare):
        """The variable that a statement declares; its type is None if it has no word."""
        found = _DECLARATION.match(bare)
        if found and not bare.endswith("{"):
            return [(found[1], found[2])]
        other = re.match(r"(?:var|const)\s+(\w+)", bare)
        return [(other[1], None)] if other else []

    @staticmethod
    def _behind(line, scopes, pending):
        """The scopes that are open behind the line; none behind the end of the function."""
        for letter in line:
            if letter == "{":
                scopes.append(pending)
                pending = []
            elif letter == "}":
                scopes.pop()
                if len(scopes) == 1:
                    return []
        return scopes

    @staticmethod
    def _has_probe(bare, before):
        """A whole statement on one line that begins behind another and calls no function: a call
        that is inlined splits its line."""
        return (before in "{};" and bare.endswith((";", "{")) and not _NO_STATEMENT.search(bare) and
                not _CALL.search(bare) and (bare.endswith(";") or bare.startswith("if")) and
                not re.search(r"@(block|unblock|activate)\b", bare))

    def _probe(self, number, scopes, bare, function):
        seen, shown = set(), []
        for name, kind in [v for scope in reversed(scopes) for v in scope] + self._seen:
            if name not in seen and kind:
                shown.append((name, kind))
            seen.add(name)
        if not shown:
            return ""
        declared = _DECLARATION.match(bare)
        if declared and declared[1] not in seen:
            self.not_yet[number] = declared[1]
        self.lines[number] = shown
        self.function_of[number] = function
        put = " ".join(f"probe_put_{self.tag}({WORDS[kind][0].format(name)});"
                       for name, kind in shown)
        return f"if (probe_room_{self.tag}({number}, {len(shown)})) {{ {put} }} "

    def _helpers(self):
        t, self.first = self.tag, max(self.lines, default=0) + 1
        return f"""
var probe_log_{t} = @zeros([{LOG_WORDS}]i32);
var probe_at_{t}: u16 = {self.first};
fn probe_put_{t}(word: i32) void {{
  probe_log_{t}[probe_at_{t}] = word;
  probe_at_{t} += 1;
}}
fn probe_room_{t}(line: u16, words: u16) bool {{
  probe_log_{t}[line] += 1;
  if (probe_log_{t}[line] > {MOST_HITS} or probe_at_{t} + words >= {LOG_WORDS}) {{
    return false;
  }}
  probe_put_{t}(@as(i32, line));
  return true;
}}
var probe_start_{t}: [*]i32 = &probe_log_{t};
"""

    def exported(self):
        """The copy, with its array for the host."""
        return self.text + f'comptime {{ @export_symbol(probe_start_{self.tag}, "probe_log"); }}\n'

    def hits(self, log):
        """{line: [{name: value} of each hit]} of an array that a run has left; of the lines whose hits
        had room in it."""
        log = numpy.asarray(log).ravel().view(numpy.int32)
        found, at = {}, self.first
        while at < len(log) and log[at]:
            names = self.lines[int(log[at])]
            values = {name: log[at + 1 + i:at + 2 + i].view(WORDS[kind][1])[0]
                      for i, (name, kind) in enumerate(names)}
            found.setdefault(int(log[at]), []).append(values)
            at += 1 + len(names)
        return {line: hits for line, hits in found.items() if len(hits) == log[line]}


def read_value(text, kind):
    """What the debugger has printed, as a value of the type."""
    if kind == "bool":
        return numpy.bool_({"true": 1, "false": 0, "1": 1, "0": 0}[text])
    return WORDS[kind][1](float(text) if kind.startswith("f") else int(text))


def same_bits(a, b):
    return a.tobytes() == b.tobytes() or (a != a and b != b)


def first_disagreement(stops, hits):
    """Whether the stops of a debugger at one line, [{name: value}] of the variables it has printed,
    show what the hits of the line say.  Optimised code may stop at a line more often or less often:
    then each stop has to be one of the hits, in their order.  None, or (number of the stop, name)."""
    if len(stops) == len(hits):
        for number, (stop, hit) in enumerate(zip(stops, hits)):
            for name, value in stop.items():
                if not same_bits(value, hit[name]):
                    return number, name, value, hit[name]
        return None
    at = 0
    for number, stop in enumerate(stops):
        fits = [i for i in range(at, len(hits))
                if all(same_bits(v, hits[i][n]) for n, v in stop.items())]
        if not fits:
            return number, "all", stop, hits[at:at + 2]
        at = fits[0]
    return None


# ---- programs ----------------------------------------------------------------------------------


class Maker:
    """A random program of one tile: functions and tasks over scalars, arrays and a struct."""

    KINDS = ("i16", "u16", "i32", "u32", "f32", "f16", "bool")
    RETURNS = ("i16", "u16", "i32", "f32")

    def __init__(self, seed):
        self.rng, self.count, self.lines = random.Random(seed), 0, []
        self.globals = [(f"g{i}", self.rng.choice(self.KINDS)) for i in range(6)]
        self.functions = []
        for _ in range(self.rng.randint(2, 4)):
            self.function()
        self.tasks()
        self.head = [f"var {n}: {k} = {self.literal(k)};"
                     for n, k in [*self.globals, *[(f"in_{k}", k) for k in self.KINDS]]]

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def local(self, letter, seen):
        """A name that is free here; other blocks may have it, too."""
        known = {n for n, _ in seen}
        free = [f"{letter}{i}" for i in range(40) if f"{letter}{i}" not in known]
        return self.rng.choice(free[:4])

    def literal(self, kind):
        if kind == "bool":
            return self.rng.choice(("true", "false"))
        if kind.startswith("f"):
            return self.rng.choice(("0.5", "1.25", "-2.0", "3.0"))
        return str(self.rng.randint(0 if kind[0] == "u" else -9, 99))

    def value(self, kind, seen, depth=2):
        """An expression of the type over what is in sight."""
        known = [n for n, k in seen if k == kind]
        roll = self.rng.random()
        if kind == "bool" and depth and roll < 0.6:
            of = self.rng.choice(self.KINDS[:5])
            return (f"({self.value(of, seen, 0)} {self.rng.choice(('<', '>', '==', '!='))} "
                    f"{self.variable(of, seen)})")
        if depth and roll < 0.5 and kind != "bool":
            ways = ("+", "-", "*") if kind[0] == "f" else ("+", "-", "*", "^", "&", "|")
            return (f"({self.variable(kind, seen)} {self.rng.choice(ways)} "
                    f"{self.value(kind, seen, depth - 1)})")
        if kind == "i16" and roll < 0.6:
            return f"list[{self.variable('u16', seen)} & 7]"
        if known and roll < 0.85:
            return self.rng.choice(known)
        return self.literal(kind)

    def variable(self, kind, seen):
        """What is not known at compile time."""
        known = [n for n, k in seen if k == kind]
        return self.rng.choice(known) if known else f"in_{kind}"

    def block(self, depth, seen, writable, inside):
        self.statements(depth, list(seen), list(writable), inside)

    def statements(self, depth, seen, writable, inside):
        """What they declare is added to the lists."""
        for _ in range(self.rng.randint(2, 6)):
            self.statement(depth, seen, writable, inside)

    def put(self, depth, text):
        self.lines.append("  " * depth + text)

    def statement(self, depth, seen, writable, inside):
        roll, kind = self.rng.random(), self.rng.choice(self.KINDS)
        if roll < 0.25:
            name, word = self.local("v", seen), self.rng.choice(("var", "const"))
            self.put(depth, f"{word} {name}: {kind} = {self.value(kind, seen)};")
            seen.insert(0, (name, kind))
            if word == "var":
                writable.insert(0, (name, kind))
        elif roll < 0.55 and writable:
            name, kind = self.rng.choice(writable)
            ways = ("", "+", "-") if kind != "bool" else ("",)
            self.put(depth, f"{name} {self.rng.choice(ways)}= {self.value(kind, seen)};")
        elif roll < 0.65:
            self.put(depth, f"list[{self.variable('u16', seen)} & 7] = {self.value('i16', seen)};")
        elif roll < 0.75 and self.functions and inside != "loops":
            self.call(depth, seen, writable)
        elif roll < 0.88 and depth < 4:
            self.put(depth, f"if ({self.value('bool', seen)}) {{")
            self.block(depth + 1, seen, writable, inside)
            if self.rng.random() < 0.5:
                self.put(depth, "} else {")
                self.block(depth + 1, seen, writable, inside)
            self.put(depth, "}")
        elif depth < 3:
            name = self.local("i", seen)
            turns = self.rng.choice(("3", "5", "(in_u16 & 3) + 2"))
            self.put(depth, f"for (@range(u16, {turns})) |{name}| {{")
            self.block(depth + 1, [(name, "u16"), *seen], writable, "loops" if inside else "loop")
            self.put(depth, "}")

    def call(self, depth, seen, writable):
        name, params, kind = self.rng.choice(self.functions)
        given = ", ".join(self.value(k, seen) for _, k in params)
        targets = [n for n, k in writable if k == kind]
        if targets and self.rng.random() < 0.5:
            self.put(depth, f"{self.rng.choice(targets)} = {name}({given});")
        else:
            result = self.local("r", seen)
            self.put(depth, f"const {result}: {kind} = {name}({given});")
            seen.insert(0, (result, kind))

    def function(self):
        name, kind = self.name("fun"), self.rng.choice(self.RETURNS)
        params = [(f"p{i}", self.rng.choice(self.KINDS))
                  for i in range(self.rng.randint(1, 3))]
        self.put(0, f"fn {name}({', '.join(f'{n}: {k}' for n, k in params)}) {kind} {{")
        seen = params + self.globals
        self.statements(1, seen, list(self.globals), "")
        self.put(1, f"return {self.value(kind, seen)};")
        self.put(0, "}")
        self.functions.append((name, params, kind))

    def tasks(self):
        for number in range(2):
            self.put(0, f"task step{number}() void {{")
            seen, writable = list(self.globals), list(self.globals)
            self.statements(1, seen, writable, "")
            self.call(1, seen, writable)
            self.statements(1, seen, writable, "")
            self.put(1, "@activate(next_id);" if number == 0 else "done = 1;")
            self.put(0, "}")

    def text(self):
        return "\n".join([
            *self.head, "var list = [8]i16{ 1, 2, 3, 4, 5, 6, 7, 8 };", "var done: u16 = 0;",
            "const start_id = @get_local_task_id(8);", "const next_id = @get_local_task_id(9);",
            *self.lines, "comptime {", "  @bind_local_task(step0, start_id);",
            "  @bind_local_task(step1, next_id);", "  @activate(start_id);",
            *[f"  @export_symbol({n});" for n in ("done", *self.inputs())], "}"]) + "\n"

    def inputs(self):
        return [f"in_{k}" for k in self.KINDS]

    def layout(self, with_log):
        names = [("done", "u16"), *[(f"in_{k}", k) for k in self.KINDS]]
        if with_log:
            names.append(("probe_log", "[*]i32"))
        exports = [f'  @export_name("{n}", {k}, true);' for n, k in names]
        return "\n".join(["layout {", "  @set_rectangle(1, 1);",
                          '  @set_tile_code(0, 0, "pe.csl", .{});', *exports, "}"]) + "\n"
