"""A session with wse-dbg --dap, by a public client of the protocol (tests/dap/client.js).

    with Dap() as dap:
        dap.launch(image, ["--launch=main(2)"])
        dap.lines(path, [12])
        dap.go()                                  # configurationDone
        stop = dap.stopped()
        frame = dap.frames()[0]
        values = dap.values(frame, "Locals")      # {name: text}
"""
import json
import queue
import shutil
import subprocess
import threading

import harness

FOLDER = harness.ROOT / "tests" / "dap"
CLIENT = FOLDER / "node_modules" / "@vscode" / "debugadapter-testsupport"


class Refused(Exception):
    pass


def is_possible():
    """.ci/setup.sh installs the client, where the registry of npm can be reached."""
    return CLIENT.exists() and shutil.which("node") is not None


class Dap:
    def __init__(self, port=None, timeout=60):
        where = [str(port)] if port else [harness.tool("wse-dbg"), "--dap"]
        self.timeout, self.number, self.answers = timeout, 0, {}
        self.process = subprocess.Popen(["node", str(FOLDER / "client.js"), *where],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.inbox = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(self.timeout)

    def _read(self):
        for line in self.process.stdout:
            self.inbox.put(json.loads(line))
        self.inbox.put(None)

    def send(self, **message):
        self.number += 1
        self.process.stdin.write(json.dumps({"id": self.number, **message}).encode() + b"\n")
        self.process.stdin.flush()
        return self.number

    def answer(self, number):
        while number not in self.answers:
            message = self.inbox.get(timeout=self.timeout)
            assert message is not None, "the client is gone"
            self.answers[message["id"]] = message
        message = self.answers.pop(number)
        if "why" in message:
            raise Refused(message["why"])
        return message["body"]

    def ask(self, request, **args):
        return self.answer(self.send(request=request, args=args))

    def event(self, name):
        return self.answer(self.send(wait=name))

    def count(self, name):
        return self.answer(self.send(count=name))

    # ---- the usual steps ------------------------------------------------------------------------

    def launch(self, program, args=(), **more):
        self.capabilities = self.ask("initialize", adapterID="csl", linesStartAt1=True,
                                     columnsStartAt1=True, pathFormat="path")
        self.ask("launch", program=str(program), args=[str(a) for a in args], **more)
        self.event("initialized")

    def lines(self, path, lines, **more):
        """Breakpoints at lines; a line may be a dict with condition, hitCondition, logMessage."""
        wanted = [line if isinstance(line, dict) else {"line": line, **more} for line in lines]
        return self.ask("setBreakpoints", source={"path": str(path)},
                        breakpoints=wanted)["breakpoints"]

    def go(self):
        self.ask("configurationDone")

    def stopped(self):
        stop = self.event("stopped")
        self.thread = stop["threadId"]
        return stop

    def move(self, request, **args):
        """Moves the thread that stopped last; where it stops next."""
        self.ask(request, threadId=self.thread, **args)
        return self.stopped()

    def frames(self, thread=None, **more):
        return self.ask("stackTrace", threadId=thread or self.thread, **more)["stackFrames"]

    def place(self):
        frame = self.frames()[0]
        return frame["name"], frame["line"]

    def scopes(self, frame):
        return {s["name"]: s["variablesReference"]
                for s in self.ask("scopes", frameId=frame["id"])["scopes"]}

    def variables(self, reference, **more):
        return self.ask("variables", variablesReference=reference, **more)["variables"]

    def values(self, frame, scope):
        return {v["name"]: v["value"] for v in self.variables(self.scopes(frame)[scope])}

    def evaluate(self, text, frame=None, context="watch"):
        frame = frame or self.frames()[0]
        return self.ask("evaluate", expression=text, frameId=frame["id"],
                        context=context)["result"]
