"""Structs with pointers to themselves and to each other: random types, objects and assignments over
random paths, against the same steps in Python."""
import numpy
import pytest

import harness
import stdlib_run

STEPS = 60


class Graph:
    """Types T0, T1, ...: each a number `v` and pointers p0, p1, ... to some of the types; objects
    of them with pointers to objects of the right types."""

    def __init__(self, random):
        self.random = random
        self.types = [[int(random.integers(0, 3)) for _ in range(random.integers(1, 4))]
                      for _ in range(3)]
        self.kinds = [t for t in range(3) for _ in range(random.integers(2, 5))]
        self.values = [int(random.integers(-100, 100)) for _ in self.kinds]
        self.pointers = [[self.any_of(to) for to in self.types[kind]] for kind in self.kinds]

    def any_of(self, kind):
        return int(self.random.choice([i for i, k in enumerate(self.kinds) if k == kind]))

    def declarations(self):
        lines = [f"const T{t} = struct {{ v: i16, "
                 + ", ".join(f"p{i}: *T{to}" for i, to in enumerate(pointers)) + " };"
                 for t, pointers in enumerate(self.types)]
        lines += [f"var o{i}: T{kind} = .{{ .v = {self.values[i]}, "
                  + ", ".join(f".p{k} = &o{to}" for k, to in enumerate(self.pointers[i])) + " };"
                  for i, kind in enumerate(self.kinds)]
        return [lines[i] for i in self.random.permutation(len(lines))]

    def path(self, kind=None):
        """Text of an object reached from a named one, and which it is now; of a type if given."""
        while True:
            at = int(self.random.integers(0, len(self.kinds)))
            text = f"o{at}"
            for _ in range(self.random.integers(0, 6)):
                k = int(self.random.integers(0, len(self.pointers[at])))
                text += f".p{k}" + str(self.random.choice(["", ".*"]))
                at = self.pointers[at][k]
            if kind in (None, self.kinds[at]):
                return text, at

    def address(self, kind):
        """Text of a pointer to an object of a type."""
        text, at = self.path(kind)
        if text.endswith(".*"):
            return text[:-2], at
        return (f"&{text}" if "." not in text else text), at

    def step(self):
        text, at = self.path()
        if self.random.integers(0, 2):
            other, source = self.path()
            self.values[at] += self.values[source]
            return f"{text}.v += {other}.v;"
        k = int(self.random.integers(0, len(self.pointers[at])))
        pointer, target = self.address(self.types[self.kinds[at]][k])
        self.pointers[at][k] = target
        return f"{text}.p{k} = {pointer};"


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(tmp_path, seed):
    graph = Graph(harness.commit_random(f"graphs {seed}"))
    declarations = graph.declarations()
    steps = [graph.step() for _ in range(STEPS)]
    n = len(graph.kinds)
    results = [f"y[{i}] = o{i}.v;" for i in range(n)]
    results += [f"y[{n + i}] = o{i}.p0.v;" for i in range(n)]
    text = "\n".join([*declarations, "fn main() void {", *steps, *results, "}"])
    expected = numpy.array(graph.values + [graph.values[p[0]] for p in graph.pointers])
    for arch in stdlib_run.ARCHS:
        for level in ("-O0", "-O2"):
            got = stdlib_run.run(tmp_path, text, {"y": ("i16", 2 * n)}, None, level, arch=arch)
            numpy.testing.assert_array_equal(got["y"], expected.astype(numpy.int16))
