#!/usr/bin/python3
"""The debugger's way back: after each of 1,000 random steps, forward and back, a cycle has one
state, with both engines and with two threads, in a short run and in a long one, and with a host
script; on 64 x 64 tiles the debugger finds where a variable was written last; and at the end of a
long run a step back costs a small part of the run.

Short form: test_debugger.py::test_the_way_back_leads_to_the_same_states.
"""
import random
import re
import resource
import time

from claims import Claims, commit_seed, harness
import dap_host
import host_run
from test_debugger import LONG_LAYOUT, LONG_PE

claims = Claims()
image = claims.scratch / "p.bin"
draw = random.Random(commit_seed())
STEPS = 1000
GOTOS = 5                     # as many of the ways to step as all others together
ENGINES = (["--engine=fast"], ["--engine=reference"], ["--engine=fast", "--threads=2"])


def ask(program, commands, *options):
    """The answer to each command."""
    script = claims.scratch / "script"
    script.write_text("\n".join(commands) + "\n")
    ran = harness.run([harness.tool("wse-dbg"), program, "-x", script, *options], timeout=900)
    return [piece.partition("\n")[2] for piece in ran.out.split("(wse-dbg) ")[1:]]


def random_walk(last):
    """Commands that go there and back, and ask for the state after each."""
    commands = []
    for _ in range(STEPS):
        n = draw.randint(1, 12)
        commands += [draw.choice((f"cycle {n}", f"reverse-cycle {n}", f"stepi {n % 4 + 1}",
                                  "reverse-stepi", "reverse-step",
                                  *[f"goto {draw.randint(0, last)}"] * GOTOS)),
                     "hash"]
    return commands


def walk_there_and_back(name):
    end = int(re.search(r"cycle (\d+)", ask(image, ["continue"])[0])[1])
    walk, states = ["continue", *random_walk(end)], {}
    for options in ENGINES:
        answers = ask(image, walk, *options)[2::2]
        found = [re.match(r"cycle (\d+), state (\w+)", text).groups() for text in answers[:STEPS]]
        wrong = sum(states.setdefault(cycle, state) != state for cycle, state in found)
        claims.equals(f"{name}, {' '.join(options)}: {STEPS} steps, {len(states)} cycles, wrong states",
                      wrong, 0)


harness.compile("samples/reduce-chain/layout.csl", image, "-O0", params={"P": 6, "B": 9})
walk_there_and_back("a short run")
harness.compile("samples/reduce-chain/layout.csl", image, "-O0", params={"P": 6, "B": 9000})
walk_there_and_back("a long run")

# The host copies, calls functions and copies back: what it does is part of the past.
host = host_run.build(claims.scratch / "host", params={"W": 5, "H": 6})
(host / "run.py").write_text(dap_host.SCRIPT)
states = {}
for options in ENGINES:
    walk = dap_host.Walk(host, *options)
    wrong = walk.there_and_back(draw, STEPS, states)
    name = f"a host script, {' '.join(options)}"
    claims.equals(f"{name}: {STEPS} steps, {len(states)} cycles, wrong states", wrong, 0)
    claims.equals(f"{name}: the script after it", walk.end(), dap_host.ANSWER)

harness.compile("samples/gemv/layout.csl", image,
                params={"width": 64, "height": 64, "M": 256, "N": 256})


def timed(commands):
    start = time.monotonic()
    answers = ask(image, commands)
    return answers, time.monotonic() - start


watched = ["tile 63,5", "continue"]
plain, plain_seconds = timed(watched)
answers, seconds = timed([*watched, "watch y[1]", "reverse-continue", "print y"])
claims.equals("64 x 64 tiles: the watchpoint stops on the way back",
             answers[3].startswith("watchpoint 1"), True)
claims.at_most("64 x 64 tiles: reverse-continue to the last write", seconds - plain_seconds, 2.0,
               "s")
(claims.scratch / "layout.csl").write_text(LONG_LAYOUT)
(claims.scratch / "pe.csl").write_text(LONG_PE)
harness.compile(claims.scratch / "layout.csl", image, "-O0")
watched = ["break take", "continue", "delete", "tile 0,0", "goto 2000000", "continue"]
plain, plain_seconds = timed(watched)
answers, seconds = timed([*watched, *["reverse-step"] * 20])
print(f"  a run of {re.search(r'cycle ([0-9]+)', answers[5]).group(1)} cycles takes {plain_seconds:.2f} s")
claims.at_most("a long run: one reverse-step at its end", (seconds - plain_seconds) / 20, 0.1, "s")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
claims.at_most("peak memory of a child", peak, 1.0, "GB")
claims.finish()
