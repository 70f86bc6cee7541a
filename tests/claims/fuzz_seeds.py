"""Inputs that fuzzing starts from, by target: our own files, and small ones made here."""
import io
import json
import random
import tempfile
from pathlib import Path

import numpy

from claims import harness

# First-line characters of tests/fuzz/frontend.c that choose unlike options.
OPTIONS, EMIT = "@AEPQas", "zbzgzfze"
MOST_BYTES = 16000


def programs():
    """Sources of the project, each short enough to be read often."""
    folders = ("samples", "stdlib", "tests/golden", "tests/parse", "tests/lang")
    files = sorted(f for folder in folders for f in (harness.ROOT / folder).rglob("*.csl"))
    return [(file, text) for file in files if len(text := file.read_bytes()) < MOST_BYTES]


def frontend():
    found = []
    for number, (file, text) in enumerate(programs()):
        # The target names every input so: a file that imports itself goes on to do so.
        first = f"//{OPTIONS[number % len(OPTIONS)]}{EMIT[number % len(EMIT)]}\n"
        found.append(first.encode() + text.replace(file.name.encode(), b"program.csl"))
    return found


def parse():
    return [text for _, text in programs()]


def ir():
    return [file.read_bytes() for file in sorted((harness.ROOT / "tests" / "golden").rglob("*.ir"))]


def image():
    """Images of two samples."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for sample, params in (("hello-wavelet", {}), ("data-task", {"N": 8})):
            path = Path(folder) / f"{sample}.bin"
            harness.compile(harness.ROOT / "samples" / sample / "layout.csl", path, params=params)
            found.append(path.read_bytes())
    return found


def run():
    """Images of small samples that use much of the machine, on both machines."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for sample, params in (("packets", {"packets": 3}), ("reduce-tree", {"P": 4, "B": 3}),
                               ("reduce-chain", {"P": 4, "B": 8})):
            for arch in ("wse2", "wse3"):
                path = Path(folder) / f"{sample}.bin"
                harness.compile(harness.ROOT / "samples" / sample / "layout.csl", path,
                                f"--arch={arch}", params=params)
                found.append(path.read_bytes())
    return [image for image in found if len(image) < MOST_BYTES]


def npy():
    """Arrays of each type, in both orders, and files of each version of the format."""
    found = []
    for dtype in ("?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", ">i4"):
        for shape, order in (((), "C"), ((3,), "C"), ((2, 3), "F"), ((2, 1, 3), "F"), ((0, 2), "C")):
            out = io.BytesIO()
            array = numpy.asarray(numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape), dtype,
                                  order=order)
            numpy.lib.format.write_array(out, array, version=((1, 0), (2, 0))[len(shape) % 2])
            found.append(out.getvalue())
    return found


def host():
    """Bytes by chance, long enough for many calls."""
    chance = random.Random(1)
    return [chance.randbytes(chance.randrange(200, 1200)) for _ in range(300)]


def regions():
    """Layouts with every member of the format."""
    def port(name, region, color, edge, output):
        side = "rx" if output else "tx"
        return {"name": name, "region": region, "color": color, "edge": edge, "output": output,
                "size": 4, "positions": [{side: ["RAMP"]}]}

    def region(name, x, y, **more):
        return {"name": name, "source": "program.csl", "x": x, "y": y, "width": 1, "height": 1,
                "params": [{"name": "b", "color": "c"}, {"name": "a", "value": 2.5}], **more}

    paint = [{"color": "d", "rect": [0, 0, 1, 1],
              "positions": [{"rx": ["RAMP"], "tx": ["EAST", "NORTH"]},
                            {"rx": ["WEST"], "tx": ["RAMP"]}]}]
    symbol = [{"name": "v", "file": "program.csl", "columns": 2, "rows": 2, "element_bytes": 4}]
    colors = [{"name": "c", "value": None}, {"name": "d", "value": 3}, {"name": "e"}]
    plain = {"format": 1, "colors": colors, "regions": [region("one", 1, 1, paint=paint)]}
    joined = {**plain, "regions": [region("one", 1, 1), region("two", 4, 3)],
              "ports": [port("out", "one", "c", "RIGHT", True), port("in", "two", "e", "TOP", False),
                        port("last", "two", "d", "BOTTOM", True)],
              "connections": [{"from": "out", "to": "in"}],
              "streams": [{"name": "s", "port": "last", "place": [2, 5]}]}
    filled = {**plain, "regions": [region("one", 0, 0, symbols=symbol, width=2, height=2)]}
    return [json.dumps(layout).encode() for layout in (plain, joined, filled)]


def commands():
    """Lines of commands; the byte before them chooses the run."""
    lines = [
        "break scale", "tbreak wait @1,0", "break plain_pe.csl:9 @0,0,2,2 if $x == 1",
        "break *0x40", "break task", "break wavelet 3 7 arrives", "break switch 3", "watch n",
        "watch a[1]", "info breakpoints", "delete 1", "disable 2", "enable 2", "ignore 1 3",
        "continue", "step", "next 2", "finish", "stepi 3", "task", "cycle 4", "reverse-continue",
        "reverse-step", "reverse-next", "reverse-stepi", "reverse-cycle 2", "last-write n",
        "goto 5", "goto", "tile 2,1", "backtrace", "frame 1", "up", "down", "print a",
        "print /x n + 3 * -2", "print a[1] == 2.5 and h[0] < 3", "print &n", "print $pc",
        "set n = 4", "set a[1] = 1.5", "memory n 16", "list 3", "list", "disassemble",
        "disassemble $pc", "info locals", "info args", "info globals", "info registers",
        "info dsrs", "info tile", "info tiles", "hash", "help", "quit",
        "follow", "origin", "rectangle select 1,0,2,1", "rectangle reset", "rectangle deselect", "register",
        "memory read --address=n --length=9", "memory write --address=a --value=0x17", "wavelet",
        "image", "trace list", "trace select key", "trace show", "target list", "target save-core",
        "target create --core-file=/dev/null", "context show", "workdir select /tmp", "settings"]
    chance = random.Random(3)
    return [bytes([run]) + "\n".join(chance.choices(lines, k=chance.randrange(1, 25))).encode()
            for run in range(8) for _ in range(20)]


def dap():
    """Lines of requests, as an editor sends them."""
    source = {"path": "plain_pe.csl"}
    requests = [
        ("initialize", {"adapterID": "csl", "linesStartAt1": True}), ("configurationDone", {}),
        ("setBreakpoints", {"source": source, "breakpoints": [
            {"line": 9, "condition": "@1,0 if $x == 1", "hitCondition": ">=2"},
            {"line": 11, "logMessage": "n is {n}"}]}),
        ("setFunctionBreakpoints", {"breakpoints": [{"name": "scale"}, {"name": "task"},
                                                    {"name": "wavelet 3 arrives"}]}),
        ("setDataBreakpoints", {"breakpoints": [{"dataId": "0,0:0x0000+4", "accessType": "write"}]}),
        ("setInstructionBreakpoints", {"breakpoints": [{"instructionReference": "0,0:0x0060",
                                                        "offset": 2}]}),
        ("setExceptionBreakpoints", {"filters": ["fault", "deadlock", "end"]}),
        ("dataBreakpointInfo", {"name": "n", "frameId": 1}), ("threads", {}),
        ("dataBreakpointInfo", {"name": "n", "variablesReference": 3}),
        ("breakpointLocations", {"source": source, "line": 1, "endLine": 40}),
        ("stackTrace", {"threadId": 1, "startFrame": 0, "levels": 20}), ("scopes", {"frameId": 1}),
        *[("variables", {"variablesReference": n, "start": 0, "count": 4}) for n in range(1, 12)],
        ("setVariable", {"variablesReference": 3, "name": "n", "value": "4"}),
        ("setExpression", {"expression": "a[1]", "value": "2.5", "frameId": 1}),
        ("evaluate", {"expression": "n + 1", "frameId": 1, "context": "watch"}),
        ("evaluate", {"expression": "n = 3", "context": "repl"}),
        ("evaluate", {"expression": "info tile", "context": "repl"}),
        ("evaluate", {"expression": "tile 1,1", "context": "repl"}),
        ("evaluate", {"expression": "goto 3", "context": "repl"}),
        ("completions", {"text": "print n", "column": 8}), ("loadedSources", {}),
        ("source", {"source": source}), ("exceptionInfo", {"threadId": 1}),
        ("disassemble", {"memoryReference": "0,0:0x0060", "instructionCount": 5,
                         "instructionOffset": -2}),
        ("readMemory", {"memoryReference": "0,0:0x0000", "count": 16}),
        ("writeMemory", {"memoryReference": "0,0:0x0000", "data": "AQID"}),
        *[(move, {"threadId": 1}) for move in ("continue", "next", "stepIn", "stepOut", "stepBack",
                                               "reverseContinue", "pause")],
        ("stepIn", {"threadId": 2, "granularity": "instruction"}), ("terminate", {}),
        ("disconnect", {"terminateDebuggee": False})]
    texts = [json.dumps({"type": "request", "seq": n, "command": command, "arguments": arguments})
             for n, (command, arguments) in enumerate(requests, 2)]
    chance = random.Random(4)
    return [bytes([run]) + "\n".join(
        [texts[0], *chance.choices(texts[2:7], k=2), texts[1], texts[10], texts[11],
         *chance.choices(texts[2:], k=chance.randrange(1, 12))]).encode()
            for run in (*range(8), 0xff) for _ in range(20)]


SEEDS = {"commands": commands, "dap": dap, "frontend": frontend, "host": host, "image": image,
         "ir": ir, "npy": npy,
         "parse": parse, "regions": regions, "run": run}
