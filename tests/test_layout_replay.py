"""Loops and functions of a layout whose iterations and calls the compiler repeats without walking
them: random layouts come out as they do where it walks each, because of a sum with the counter or
of an assertion."""
import re

import harness

PE = """
param p: bool = false;
param q: comptime_int = 0;
var a: i32 = if (p) 3 else 4;
var w = @zeros([if (q > 0 and q < 20) q else 1]u16);
task t() void {
  w[0] = @as(u16, a);
}
comptime {
  @bind_local_task(t, @get_local_task_id(9));
  @activate(@get_local_task_id(9));
}
"""
HEAD = """
const one: color = @get_color(1);
const two: color = @get_color(2);
const colors = [2]color { @get_color(3), @get_color(4) };
const last: i32 = 6;
fn edge(y: i16) bool {
  return y == 0 or y == last;
}
fn route(x: i16, y: i16) i16 {
  const row = y;
  @set_color_config(x, row, @get_color(5), .{ .routes = .{ .rx = .{ WEST }, .tx = .{ EAST } } });
  return 3;
}
"""
ROUTES = [".{ .routes = .{ .rx = .{ WEST }, .tx = .{ EAST } } }",
          ".{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } }",
          ".{ .routes = .{ .rx = .{ from }, .tx = .{ SOUTH } } }"]


# Statements that have effects beside those on tiles.
WALKED = ["count += 1;", "count += @as(i32, y);", "@comptime_print({number});", "continue;",
          "@comptime_assert({condition});", "break;", "x + 1;", "_ = route(x, y);",
          "if (y == {number}) {{ _ = route(x, 2); }}",
          "for (@range(i16, 2)) |k| {{ count += @as(i32, k); }}",
          "for (@range(i16, 2)) |k| {{ count += @as(i32, k + y); }}",
          "for (@range(i16, 2)) |k| {{ if (k == y) {{ count += 3; }} }}",
          "switch (y) {{ 0 => {{}}, else => {{ count += 1; }} }}"]


BLOCK = f"blk: {{ @set_color_config(x, y, @get_color(5), {ROUTES[0]}); break :blk y; }}"


class Code:
    """Random code over x, y, last and the names that it declares."""

    def __init__(self, random):
        self.random = random
        self.names = ["x", "y", "last"]
        self.inner = 0
        self.wild = self.often(0.3)          # sums and calls that only a walk can do, mistakes
        self.walked = self.pick(*WALKED) if self.often(0.5) else None

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def often(self, chance):
        return self.random.random() < chance

    def number(self, depth=1):
        if depth == 0 or self.often(0.6):
            return self.pick(*self.names, str(self.random.integers(0, 9)))
        op, factor = self.pick("+", "-", "*", "%"), self.pick("2", "3", "7")
        return f"({self.number(depth - 1)} {op} {factor})"

    def condition(self, depth=2):
        if depth == 0 or self.often(0.6):
            op = self.pick("==", "==", "!=", "<", "<=", ">", ">=")
            return f"{self.number()} {op} {self.number()}"
        if self.often(0.2):
            return f"!({self.condition(depth - 1)})"
        if self.wild and self.often(0.2):
            return "edge(y)"
        if self.often(0.2):
            return f"{self.call()} > 2"
        return f"({self.condition(depth - 1)} {self.pick('and', 'or')} {self.condition(depth - 1)})"

    def call(self):
        x, y = self.pick(("x", "y"), ("x", "y"), ("y", "x"), ("x", "3"))
        return f"choose({x}, {y}, {self.pick('true', 'false', 'x == 0')})"

    def declare(self):
        self.inner += 1
        name = f"v{self.inner}" if self.often(0.8) or "last" not in self.names[:3] else "last"
        kind = self.pick("const", "const", "const", "var") if self.wild else "const"
        value = self.number() if self.wild else self.pick("x", "last", self.call(),
                                                          f"if ({self.condition()}) 2 else 3")
        if name == "last":               # hides the one of the file
            self.names.remove(name)
        self.names.append(name)
        return f"{kind} {name}: i32 = {value};"


class Function(Code):
    """The body of choose(x, y, flag)."""

    def call(self):
        return self.pick("2", "3")

    def condition(self, depth=2):
        return "flag" if self.often(0.1) else super().condition(depth)

    def statement(self):
        kind = self.random.integers(7)
        if kind == 0:
            return f"if ({self.condition()}) {{ return {self.pick('1', '4', 'last', 'r')}; }}"
        if kind < 3 and self.wild:
            return self.pick(f"r = {self.number()};", "r += @as(i32, y);", "_ = route(x, 1);",
                             f"@set_color_config(x, y, @get_color(6), {ROUTES[0]});",
                             "if (x > 0) { return choose(x - 1, y, flag); }",
                             "for (@range(i16, 2)) |k| { if (k == y) { r += 3; } }")
        if kind == 3:
            return "for (@range(i16, 3)) |k| { r += @as(i32, k); }"
        if kind == 4:
            return self.declare()
        return f"if ({self.condition()}) {{ r = 3; }} else {{ r += 2; }}"

    def text(self):
        lines = [self.statement() for _ in range(self.random.integers(1, 5))]
        return "\n".join("  " + line for line in lines)


class Body(Code):
    """A random body of the inner loop."""

    def place(self):
        if self.wild and self.often(0.1):
            return self.pick("x, route(x, y)", "x, blk: { _ = route(x, y); break :blk y; }")
        if self.wild and self.often(0.2):
            return f"x, {self.pick(self.number(), *self.names[3:], 'y')}"
        return "x, y"

    def code(self):
        q = self.number() if self.often(0.3) else str(self.random.integers(0, 5))
        if self.wild and self.often(0.3):
            q = self.pick("route(x, y)", "route(x, 0)", BLOCK)
        file = '"pe.csl"' if not self.wild or self.often(0.98) else '"other.csl"'
        return f"@set_tile_code({self.place()}, {file}, .{{ .p = {self.condition(1)}, .q = {q} }});"

    def color(self):
        name = self.pick("one", "two", "colors[1]", "way")
        if self.wild and self.often(0.2):
            name = "colors[@as(u16, y) % 2]"
        return f"@set_color_config({self.place()}, {name}, {self.pick(*ROUTES)});"

    def statement(self, depth):
        kind = self.random.random()
        if kind < 0.35 and depth:
            other = f" else {{ {self.statement(depth - 1)} }}" if self.often(0.5) else ""
            return f"if ({self.condition()}) {{ {self.statement(depth - 1)} }}{other}"
        if kind < 0.6 and self.walked:
            return self.walked.format(number=self.number(), condition=self.condition())
        return self.color()

    def text(self):
        lines = [f"const way = if ({self.condition()}) one else two;",
                 f"const from = if ({self.condition()}) RAMP else WEST;"]
        lines += [self.declare() for _ in range(self.random.integers(0, 3))]
        lines.append(self.code())
        lines += [self.statement(2) for _ in range(self.random.integers(0, 4))]
        return "\n".join("      " + line for line in lines)


def layout(random, body):
    """The layout with the body and the function as they are, and twice so that each is walked."""
    rows = body.pick("@range(i16, 7)", "@range(i16, 7)", "@range(i16, 6, -1, -1)",
                     "[7]i16 { 3, 0, 1, 6, 5, 2, 4 }", "@range(i16, 0, 7, 3)")
    text, function = body.text(), Function(random).text()
    for walked in ("", "_ = x + y;", "@comptime_assert(true);"):
        yield f"""{HEAD}
fn choose(x: i16, y: i16, flag: bool) i32 {{ {walked}
  var r: i32 = 0;
{function}
  return r;
}}
layout {{
  @set_rectangle(3, 7);
  var count: i32 = 0;
  for (@range(i16, 3)) |x| {{
    for ({rows}) |y, i| {{ {walked}
{text}
    }}
  }}
  @comptime_print(count);
}}
"""


def outcome(tmp_path, text):
    (tmp_path / "layout.csl").write_text(text)
    done = harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "image.bin", expect=None)
    image = (tmp_path / "image.bin").read_bytes() if done.code == 0 else b""
    return done.code, done.out, done.err, image


def test_more_cases_than_are_kept(tmp_path):
    """Each number below 40,000 is a case of its own, called twice."""
    bits, numbers = range(17), 40000
    body = "\n".join(f"  if (x / {1 << b} % 2 == 0) {{ r += {b + 1}; }}" for b in bits)
    (tmp_path / "layout.csl").write_text(f"""
fn weigh(x: u32) i32 {{
  var r: i32 = 0;
{body}
  return r;
}}
layout {{
  @set_rectangle(1, 1);
  var sum: i32 = 0;
  for (@range(u32, {numbers})) |x| {{
    sum += 2 * weigh(x) - weigh(x);
  }}
  @comptime_print(sum);
  @set_tile_code(0, 0, "pe.csl", .{{}});
}}
""")
    (tmp_path / "pe.csl").write_text(PE)
    done = harness.cslc(tmp_path / "layout.csl", "-o", tmp_path / "image.bin")
    expected = sum(b + 1 for x in range(numbers) for b in bits if x >> b & 1 == 0)
    assert f"print: {expected}\n" in done.err


def test_random_layouts(tmp_path):
    (tmp_path / "pe.csl").write_text(PE)
    random = harness.commit_random("loops of layouts")
    codes = []
    for _ in range(150):
        body = Body(random)
        plain, *walked = layout(random, body)
        expected = outcome(tmp_path, plain)
        for text in walked:
            assert outcome(tmp_path, text) == expected, plain
        codes.append(expected[0])
    assert 30 < codes.count(0) < 140
