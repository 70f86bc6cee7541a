"""A client of csl-ls for the tests: speaks the protocol, keeps what the server publishes.

    with Client() as client:
        doc = client.open(path)
        client.wait(doc)                          # until its version has messages
        client.ask("hover", doc, line, character)
"""
import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import quote, unquote

import harness


class Document:
    def __init__(self, path, text):
        self.path, self.text, self.version = Path(path), text, 1
        self.uri = "file://" + quote(str(self.path))

    def place(self, mark, skip=0):
        """Line and UTF-16 unit of a text in the document, `skip` characters into it."""
        before = self.text[:self.text.index(mark) + skip]
        return {"line": before.count("\n"), "character": units(before.rpartition("\n")[2])}


def units(text):
    return len(text.encode("utf-16-le")) // 2


def path_of(uri):
    return Path(unquote(uri.removeprefix("file://")))


def apply(text, edits):
    """The text after TextEdits of the protocol."""
    def offset(position):
        lines = text.split("\n")
        line = lines[position["line"]].encode("utf-16-le")[:2 * position["character"]]
        return sum(len(l) + 1 for l in lines[:position["line"]]) + len(line.decode("utf-16-le"))
    for edit in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        text = (text[:offset(edit["range"]["start"])] + edit["newText"]
                + text[offset(edit["range"]["end"]):])
    return text


class Client:
    def __init__(self, timeout=30, initialize=True, capabilities=None):
        self.timeout, self.number, self.published, self.answers = timeout, 0, {}, {}
        self.asked = []          # what the server has asked of the client
        self.process = subprocess.Popen([harness.tool("csl-ls"), "--stdio"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.inbox = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        if initialize:
            self.capabilities = self.request("initialize", {"capabilities": capabilities or {}})[
                "capabilities"]
            self.notify("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The exit code of the server."""
        if self.process.poll() is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        return self.process.wait(self.timeout)

    def _read(self):
        out = self.process.stdout
        while True:
            length = 0
            while (line := out.readline().strip()):
                name, value = line.split(b":")
                assert name.lower() == b"content-length"
                length = int(value)
            if not length:
                self.inbox.put(None)
                return
            self.inbox.put(json.loads(out.read(length)))

    def send_raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def take(self, timeout=None):
        """Reads one message of the server."""
        message = self.inbox.get(timeout=timeout or self.timeout)
        assert message is not None, "the server is gone"
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.published[path_of(params["uri"])] = (params.get("version"), params["diagnostics"])
        elif "method" in message:
            self.asked.append(message)
            self.send({"id": message["id"], "result": None})
        else:
            self.answers[str(message["id"])] = message
        return message

    def wait_asked(self, method):
        """The parameters of the next request of the server with this method."""
        while not any(message["method"] == method for message in self.asked):
            self.take()
        at = next(i for i, message in enumerate(self.asked) if message["method"] == method)
        return self.asked.pop(at).get("params")

    def request_raw(self, method, params):
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        while str(number) not in self.answers:
            self.take()
        return self.answers.pop(str(number))

    def request(self, method, params):
        answer = self.request_raw(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path, text=None):
        doc = Document(path, Path(path).read_text() if text is None else text)
        self.notify("textDocument/didOpen", {"textDocument": {
            "uri": doc.uri, "languageId": "csl", "version": doc.version, "text": doc.text}})
        return doc

    def change(self, doc, text):
        """One incremental change: what lies between the equal start and the equal end."""
        old, start, end = doc.text, 0, 0
        least = min(len(old), len(text))
        while start < least and old[start] == text[start]:
            start += 1
        while end < least - start and old[-1 - end] == text[-1 - end]:
            end += 1
        where = {"start": self.position(old, start), "end": self.position(old, len(old) - end)}
        doc.text, doc.version = text, doc.version + 1
        self.notify("textDocument/didChange", {
            "textDocument": {"uri": doc.uri, "version": doc.version},
            "contentChanges": [{"range": where, "text": text[start:len(text) - end]}]})

    @staticmethod
    def position(text, at):
        before = text[:at]
        return {"line": before.count("\n"), "character": units(before.rpartition("\n")[2])}

    def close_document(self, doc):
        self.notify("textDocument/didClose", {"textDocument": {"uri": doc.uri}})

    def wait(self, doc):
        """The messages for this version of the document."""
        end = time.monotonic() + self.timeout
        while self.published.get(doc.path, (0, None))[0] != doc.version:
            self.take(max(0.1, end - time.monotonic()))
        return self.published[doc.path][1]

    def wait_for(self, doc, codes):
        """Until this version of the document has messages with these codes, and no others."""
        end = time.monotonic() + self.timeout
        while [m["code"] for m in self.wait(doc) if m["code"] != "unused"] != codes:
            self.take(max(0.1, end - time.monotonic()))

    def ask(self, what, doc, place=None, **more):
        params = {"textDocument": {"uri": doc.uri}, **more}
        if place is not None:
            params["position"] = place
        return self.request(f"textDocument/{what}", params)
