#!/usr/bin/python3
"""csl-ls on the vendor's public examples: every request on every file without an error, answers in
time on the largest program, and after random edits the messages of a fresh `cslc --check`.

CONFORMANCE_DIR names a checkout of github.com/Cerebras/sdk-examples.  LANGUAGE_SERVER_EDITS sets the
number of edits (2,000).  Times are wall times of this machine: from a change to its messages, and
from a question to its answer.

Short form: test_language_server.py::test_random_edits_leave_the_messages_of_a_fresh_check.
"""
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from claims import Claims, commit_seed, harness
import lsp_client
from examples import commands, without_output
from language_client import Client

EVERYTHING = {"start": {"line": 0, "character": 0}, "end": {"line": 10 ** 6, "character": 0}}
AT_A_PLACE = ("hover", "definition", "references", "documentHighlight", "prepareRename",
              "completion", "signatureHelp")
PIECES = ["", "x", ";", "}", "{", "(", " 1 ", "\n", "\u00e9", "\U0001f600", "@as(", ".", "const "]


def ask_everything(client, doc, choice, times):
    def timed(what, place=None, **more):
        start = time.monotonic()
        client.ask(what, doc, place, **more)
        times.append(time.monotonic() - start)
    for what in ("semanticTokens/full", "documentSymbol", "foldingRange"):
        timed(what)
    timed("formatting", options={})
    timed("inlayHint", range=EVERYTHING)
    timed("codeAction", range=EVERYTHING, context={"diagnostics": []})
    for what in AT_A_PLACE:
        place = client.position(doc.text, choice.randrange(len(doc.text) or 1))
        timed(what, place, context={"includeDeclaration": True})


def fresh_checks(folder, calls, path):
    """(line, id) of the messages about the file in any of the programs."""
    return sorted(set().union(*(fresh_check(folder, words, path) for words in calls)))


def fresh_check(folder, words, path):
    ran = subprocess.run([harness.tool("cslc"), "--check", "--diag-format=json", *words], cwd=folder,
                         capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    rows = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
    return {(1 if r["file"] == "<command line>" else r["line"], r["id"])
            for r in rows if r["line"] and is_about(r, folder, words, path)}


def is_about(row, folder, words, path):
    """What is wrong with the options, the server shows at the start of the program's main file."""
    main = next(word for word in words if word.endswith(".csl"))
    file = main if row["file"] == "<command line>" else row["file"]
    return (folder / file).resolve() == path.resolve()


def is_read(folder, calls, path):
    """Does a program read the file? Then a mistake in it is reported."""
    text = path.read_text()
    path.write_text(text + "\nvar var;\n")
    found = fresh_checks(folder, calls, path)
    path.write_text(text)
    return bool(found)


def edit(text, original, choice):
    text = text if choice.random() < 0.8 else original
    at = choice.randrange(len(text) + 1)
    return text[:at] + choice.choice(PIECES) + text[at + choice.randrange(6):]


def edit_program(folder, number, choice):
    """Random edits of one program; the number of them with other messages."""
    scripts = sorted(folder.glob("commands*.sh"))
    for script in scripts[1:]:
        script.unlink()                   # the others take time and show the same
    calls = [without_output(words) for words in commands(scripts[0])]
    wrong = 0
    with Client() as client:
        docs = {path: client.open(path) for path in sorted(folder.rglob("*.csl"))
                if is_read(folder, calls, path)}
        originals = {path: doc.text for path, doc in docs.items()}
        for _ in range(number):
            path = choice.choice(list(docs))
            doc = docs[path]
            client.change(doc, edit(doc.text, originals[path], choice))
            got = sorted({(m["range"]["start"]["line"] + 1, m["code"]) for m in client.wait(doc)
                          if m["source"] == "cslc"})
            path.write_text(doc.text)
            want = fresh_checks(folder, calls, path)
            if got != want:
                print(f"{path}: the server has {got}, cslc has {want}")
                wrong += 1
            client.change(doc, originals[path])
            path.write_text(originals[path])
            client.wait(doc)
    return wrong


def main():
    claims = Claims()
    root = Path(os.environ.get("CONFORMANCE_DIR", ""))
    files = sorted(root.rglob("*.csl")) if os.environ.get("CONFORMANCE_DIR") else []
    if not files:
        print("set CONFORMANCE_DIR to a checkout of github.com/Cerebras/sdk-examples")
        claims.finish()
    choice = random.Random(commit_seed())
    claims.equals("client of VS Code's protocol library is installed", lsp_client.is_possible(), True)
    checked = lsp_client.ask_about(files, places=5, timeout=3600)
    claims.equals("request types with answers", len(checked["answers"]), 15)
    claims.equals(f"answers, of {sum(checked['answers'].values())}, that the protocol does not have",
                  len(checked["wrong"]), 0)
    times = []
    for path in files:
        with Client() as client:
            doc = client.open(path)
            client.wait(doc)
            ask_everything(client, doc, choice, times)
    claims.equals("files with every request answered", len(files), len(files))
    print(f"questions: {len(times)}, p95 {statistics.quantiles(times, n=20)[-1] * 1000:.0f} ms")
    largest = max(files, key=lambda path: path.stat().st_size)
    changes, answers, used = [], [], resource.getrusage(resource.RUSAGE_CHILDREN)
    with Client() as client:
        doc = client.open(largest)
        client.wait(doc)
        for turn in range(40):
            start = time.monotonic()
            client.change(doc, doc.text + f"// {turn}\n")
            client.wait(doc)
            changes.append(time.monotonic() - start)
            ask_everything(client, doc, choice, answers)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(f"processor time per change: {busy / 41 * 1000:.0f} ms")   # no matter how busy the machine is
    p95 = statistics.quantiles(changes, n=20)[-1], statistics.quantiles(answers, n=20)[-1]
    claims.at_most(f"{largest.name}: change to messages, p95", p95[0] * 1000, 200, "ms")
    claims.at_most(f"{largest.name}: question to answer, p95", p95[1] * 1000, 200, "ms")
    programs = [p for p in sorted({s.parent for s in root.rglob("commands*.sh")})
                if commands(sorted(p.glob("commands*.sh"))[0])]
    number = int(os.environ.get("LANGUAGE_SERVER_EDITS", "2000"))
    copy = claims.scratch / "edited"     # of all: programs import what lies beside their folders
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git"))
    wrong = sum(edit_program(copy / folder.relative_to(root), number // len(programs) + 1, choice)
                for folder in programs)
    claims.equals(f"random edits ({number} or more) with other messages than a fresh check", wrong, 0)
    claims.finish()


main()
