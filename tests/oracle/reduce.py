#!/usr/bin/python3
"""Makes a difference small: takes away parts of the functions as long as it stays.

    reduce.py SEED [--functions=N]      what differs or fails in the batch of that seed

Seeds stand in the messages of check.py and of the claim.
"""
import argparse
import re
import shutil
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from oracle import check  # noqa: E402
from oracle.expressions import Expr, Labelled, Literal, Widen, literal  # noqa: E402
from oracle.places import Break, Continue, Return, TooLong  # noqa: E402
from oracle.program import Program  # noqa: E402
from oracle.types import Array, Bool, Enum, Float, Int, Pointer  # noqa: E402

SECONDS = 60
# What the evaluation of a program raises that is not one: a name without a declaration, an index
# out of range, a jump to nowhere, a loop or a recursion without end.
BROKEN = (KeyError, AssertionError, IndexError, TypeError, AttributeError, ValueError,
          RecursionError, TooLong, Break, Continue, Return)


def reachable(function, functions):
    """The functions that it needs, in their order."""
    needed, waiting = set(), [function]
    while waiting:
        f = waiting.pop()
        if f.name not in needed:
            needed.add(f.name)
            waiting += calls_in(f)
    return [f for f in functions if f.name in needed]


def calls_in(node):
    found = []
    for _, _, child in node.children():
        if hasattr(child, "execute"):         # a function that another calls
            found.append(child)
            continue
        if hasattr(child, "function"):
            found.append(child.function)
        found += calls_in(child)
    return found


def slots(node):
    """Where parts of the tree stand: (owner, field, index or None, node), outermost first."""
    for name, index, child in list(node.children()):
        if hasattr(child, "execute"):
            continue
        yield node, name, index, child
        yield from slots(child)


def bodies(node):
    """The lists of statements in the tree: (owner, field)."""
    for f in fields(node):
        if f.name == "body":
            yield node, f.name
        if f.name in ("yes", "no") and isinstance(getattr(node, f.name), list):
            yield node, f.name
    for _, _, child in node.children():
        if not hasattr(child, "execute"):
            yield from bodies(child)


def size(function):
    return 1 + sum(1 for _ in slots(function))


def simple(kind):
    """A plain literal."""
    if isinstance(kind, Bool):
        return False
    if isinstance(kind, (Int, Float)):
        return 0
    if isinstance(kind, Enum):
        return kind.values[0]
    if isinstance(kind, Array):
        return [simple(kind.element) for _ in range(kind.count)]
    return 0 if kind.bits_only else [simple(t) for _, t in kind.fields]


class Reducer:
    """differs(program): the difference or failure of a program, or None."""

    def __init__(self, types, functions, main, arguments, differs, seconds=SECONDS):
        self.types, self.functions, self.main = types, functions, main
        self.arguments, self.differs = arguments, differs
        self.end = time.time() + seconds
        self.best = None

    def holds(self):
        """Does the program as it stands still differ?"""
        if time.time() > self.end:
            return False
        try:
            program = Program(self.types, reachable(self.main, self.functions),
                              {self.main.name: self.arguments})
            found = self.differs(program)
        except BROKEN:
            return False
        if found is None:
            return False
        self.best = program, found
        return True

    def attempt(self, owner, name, value):
        """Sets a field; keeps it if the program still differs."""
        kept = getattr(owner, name)
        setattr(owner, name, value)
        if self.holds():
            return True
        setattr(owner, name, kept)
        return False

    def fewer_calls(self):
        for values in list(self.arguments):
            kept, self.arguments = self.arguments, [values]
            if self.holds():
                return
            self.arguments = kept

    def shorter_bodies(self, function):
        changed = False
        for owner, name in list(bodies(function)):
            step = max(1, len(getattr(owner, name)) // 2)
            while step:
                at = 0
                while at < len(getattr(owner, name)):
                    body = getattr(owner, name)
                    if self.attempt(owner, name, body[:at] + body[at + step:]):
                        changed = True
                    else:
                        at += step
                step //= 2
        return changed

    def unwrapped(self, function):
        """Statements that hold others give way to these."""
        changed = False
        for owner, name in list(bodies(function)):
            for at, statement in enumerate(list(getattr(owner, name))):
                inner = [getattr(o, n) for o, n in bodies(statement) if o is statement]
                inner += [arm.body for arm in getattr(statement, "arms", [])
                          if hasattr(arm, "body")]
                body = getattr(owner, name)
                if at < len(body) and any(self.attempt(owner, name, body[:at] + part +
                                                       body[at + 1:]) for part in inner):
                    changed = True
                    break
        return changed

    def put(self, owner, name, index, value):
        if index is None:
            return self.attempt(owner, name, value)
        held = list(getattr(owner, name))
        if index >= len(held):
            return False
        held[index] = value
        return self.attempt(owner, name, held)

    def smaller_expressions(self, function):
        changed = False
        for owner, name, index, node in list(slots(function)):
            if not isinstance(node, Expr) or isinstance(node.type, Pointer):
                continue
            if isinstance(node, Literal):
                continue
            found = [child for _, _, _, child in slots(node)
                     if isinstance(child, Expr) and child.type is node.type
                     and not isinstance(child, Literal)][:4]
            found += [n for _, _, n in node.children()
                      if isinstance(node, (Labelled,)) and isinstance(n, Expr)]
            found += [Widen(node.type, child) for _, _, child in node.children()
                      if isinstance(child, Expr) and isinstance(node, Widen)]
            found.append(Literal(node.type, simple(node.type)))
            if any(self.put(owner, name, index, other) for other in found):
                changed = True
        return changed

    def simpler_arguments(self):
        changed = False
        for values in self.arguments:
            for i, (_, kind) in enumerate(self.main.params):
                kind = kind.target if isinstance(kind, Pointer) else kind
                kept, plain = values[i], simple(kind)
                if kept == plain:
                    continue
                values[i] = plain
                if self.holds():
                    changed = True
                else:
                    values[i] = kept
        return changed

    def run(self):
        """(program, difference), or None if it does not differ to begin with."""
        if not self.holds():
            return None
        self.fewer_calls()
        before = None
        while before != (now := sum(size(f) for f in reachable(self.main, self.functions))):
            before = now
            for function in reachable(self.main, self.functions):
                self.shorter_bodies(function)
                self.unwrapped(function)
                self.smaller_expressions(function)
            self.simpler_arguments()
        return self.best


def differs_in(way, half, folder, env=None):
    """A predicate: does a program of one tile differ in that way, (machine, level, want)?"""
    machine, level, want = way

    def differs(program):
        got, known = check.run_way([program], folder, "r", half, machine, level, want, env)
        found = check.compare(0, 0, program, half, f"{level} {machine}", got[0], False)
        if want:
            found = check.compare(0, 0, program, half, f"comptime {machine}", known[0], True)
        return found[0] if found else None
    return differs


def crashes_in(way, half, folder, text, env=None):
    """A predicate: does the compiler fail with that text?"""
    machine, level, want = way

    def crashes(program):
        try:
            check.run_way([program], folder, "r", half, machine, level, want, env)
        except AssertionError as failed:
            return str(failed)[:300] if text in str(failed) else None
        return None
    return crashes


def way_of(difference):
    first, machine = difference.way.split()
    return (machine, "-O0", True) if first == "comptime" else (machine, first, False)


def reduced(program, difference, half, env=None, seconds=SECONDS):
    """The smallest program found, as text, and its difference."""
    folder = Path(tempfile.mkdtemp(prefix="reduce-"))
    main = difference.function.function
    try:
        found = Reducer(program.types, program.functions, main,
                        [list(c.arguments) for c in difference.function.calls],
                        differs_in(way_of(difference), half, folder, env), seconds).run()
    finally:
        shutil.rmtree(folder)
    return found


def shown(found):
    """What a reader needs: the functions, the calls, expected and got."""
    program, difference = found
    lines = [k.declaration() for k in program.types.used(program.functions)]
    for f in program.functions:
        lines += [f"var {n}: {t} = {literal(t, v)};" for n, t, v in f.globals]
        lines += f.prelude + [f.text()]
    if isinstance(difference, str):
        return "\n".join(lines + [difference])
    for call in difference.function.calls:
        values = [literal(t.target if isinstance(t, Pointer) else t, v)
                  for (_, t), v in zip(difference.function.function.params, call.arguments)]
        lines.append(f"// {difference.function.function.name}({', '.join(values)})")
    lines.append(f"// {difference.way}: word {difference.word}: expected "
                 f"{difference.wanted:#x}, got {difference.got:#x}")
    return "\n".join(lines)


def reduced_failure(programs, half, failure):
    """The same for a program that the compiler or the emulator fails on; failure: the message."""
    level, machine = re.search(r"(-O\d) (wse\d)", failure).groups()
    said = re.search(r"\[(\w+)\]$|exit code -?\d+", failure, re.M)
    folder = Path(tempfile.mkdtemp(prefix="reduce-"))
    try:
        fails = crashes_in((machine, level, level == "-O0"), half, folder, said[0])
        for program in programs:
            for driven in program.driven:
                found = Reducer(program.types, program.functions, driven.function,
                                [list(c.arguments) for c in driven.calls], fails).run()
                if found:
                    return found
    finally:
        shutil.rmtree(folder)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("--functions", type=int, default=check.BATCH)
    options = parser.parse_args()
    outcome, done = check.batch(options.seed, options.functions), set()
    for difference in outcome.differences:
        key = difference.tile, difference.function.function.name
        if key not in done:
            done.add(key)
            print(difference)
            found = reduced(difference.program, difference, difference.half)
            print(f"// --fp16-format={difference.half}\n{shown(found)}" if found else
                  "no smaller program differs", flush=True)
    if outcome.failures:
        print(outcome.failures[0][:1000])
        found = reduced_failure(*check.make(options.seed, options.functions), outcome.failures[0])
        print(shown(found) if found else "no single function fails")
    sys.exit(1 if done or outcome.failures else 0)


if __name__ == "__main__":
    main()
