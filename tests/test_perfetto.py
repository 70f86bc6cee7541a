"""The spans of a trace for Perfetto are those of the trace in text, also behind a state, and lie in
each other as the viewer needs it."""
import json
import re

import pytest

import harness
from test_statistics import LAYOUT, LEFT, RIGHT


@pytest.fixture(params=("fast", "reference"))
def engine(request):
    return f"--engine={request.param}"


@pytest.fixture
def kinds(tmp_path):
    """Operations of all kinds, with conflicts of banks, FIFOs and ends by control."""
    for name, text in (("layout", LAYOUT), ("left", LEFT), ("right", RIGHT)):
        (tmp_path / f"{name}.csl").write_text(text)
    harness.compile(tmp_path / "layout.csl", tmp_path / "kinds.bin")
    return tmp_path / "kinds.bin"


@pytest.fixture
def stuck(tmp_path):
    """Two tiles that wait for each other."""
    hazard = harness.ROOT / "tests" / "hazards" / "cyclic_wait"
    harness.compile(hazard / "layout.csl", tmp_path / "stuck.bin", "--fabric-warnings")
    return tmp_path / "stuck.bin"


def spans_of(image, *options):
    """(tile, thread, what, from, to); what: `task`, `operation` or the cause of a wait."""
    file = image.parent / "t.json"
    harness.emu(image, "--trace-format=perfetto", f"--trace-file={file}", *options, expect=None)
    found, begun = [], {}
    for e in json.loads(file.read_text())["traceEvents"]:
        if e["ph"] == "X":
            what = e["name"].removeprefix("waits: ") if "waits: " in e["name"] else "operation"
            found.append((e["pid"], e["tid"], what, e["ts"], e["ts"] + e["dur"]))
        elif e["ph"] == "B":
            begun[e["pid"]] = e["ts"]
        elif e["ph"] == "E":
            found.append((e["pid"], 0, "task", begun.pop(e["pid"]), e["ts"]))
    assert not begun
    return sorted(found)


def spans_of_text(image, engine):
    """The same from the lines of the trace, of a run in which nothing waits at the end."""
    found, begun, busy = [], {}, {}
    for line in harness.emu(image, engine, "--trace=task,inst,stall").out.splitlines():
        cycle, x, what, rest = re.match(r"@(\d+) P(\d)\.0 (?:task|inst|stall) (\w+) (.*)",
                                        line).groups()
        cycle, words = int(cycle), rest.split()
        thread = 1 + int(words[1][2:]) if words[1:] and words[1].startswith("ut") else 0
        operation, task = (int(x), thread, "operation"), (int(x), 0, "task")
        if what == "start":
            begun[task] = cycle
        elif what == "end":
            found.append((*task, begun.pop(task), cycle + 1))
        elif what in ("group", "waits"):
            begun.setdefault(operation, cycle)
        elif what == "waited":
            cause, cycles = words[-3], int(words[-2])
            since = cycle + 1 if cause == "bank" else cycle - cycles
            found.append((int(x), thread, cause, since, since + cycles))
            busy[operation] = since + cycles
        elif what == "done" and operation in begun:
            end = max(cycle + 1, busy.get(operation, 0))
            found.append((*operation, begun.pop(operation), end))
    return sorted(found)


def is_nested(spans):
    around = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1] <= start:
            around.pop()
        if around and end > around[-1]:
            return False
        around.append(end)
    return True


def test_spans_are_those_of_the_text(kinds, engine):
    spans = spans_of(kinds, engine)
    assert spans == spans_of_text(kinds, engine)
    assert {"task", "operation", "bank", "input"} <= {span[2] for span in spans}
    for track in {span[:2] for span in spans}:
        assert is_nested([span[3:] for span in spans if span[:2] == track])
    for *track, what, start, end in spans:       # a wait belongs to an operation
        assert what in ("task", "operation") or any(
            other[:2] == tuple(track) and other[2] == "operation" and
            other[3] <= start and end <= other[4] for other in spans)


def test_behind_a_state_are_the_spans_from_there_on(kinds, stuck, engine):
    for image in (kinds, stuck):
        whole, state = spans_of(image, engine), image.parent / "state"
        # A state knows no conflict of banks.
        bank = [range(start, end + 1) for *_, what, start, end in whole if what == "bank"]
        issued = [range(start - 2, start) for *_, what, start, _ in whole if what == "operation"]
        places = [n for n in range(20, max(span[4] for span in whole), 11)
                  if not any(n in cycles for cycles in bank + issued)]
        assert len(places) > 3
        for place in places:
            harness.emu(image, engine, f"--max-cycles={place}", f"--save-state={state}",
                        expect=None)
            rest = sorted((*track, max(start, place), end) for *track, start, end in whole
                          if end > place)
            assert spans_of(image, engine, f"--load-state={state}") == rest


def test_limits_hold_for_the_ends_of_spans(stuck, engine):
    last = max(span[4] for span in spans_of(stuck, engine))
    spans = spans_of(stuck, engine, f"--trace-cycles=0:{last - 5}")
    assert max(span[4] for span in spans) == last - 4
    state = stuck.parent / "state"
    harness.emu(stuck, engine, f"--max-cycles={last - 1}", f"--save-state={state}", expect=None)
    waits = spans_of(stuck, engine, f"--load-state={state}", "--trace=stall",
                     "--trace-region=1,0,1,1")
    assert sorted(span[:3] for span in waits) == [(1, 0, "operation"), (1, 0, "output")]
    assert not spans_of(stuck, engine, f"--load-state={state}", "--trace=wavelet")


@pytest.mark.parametrize("chosen", ["stall", "task,stall", "inst", "task,inst,stall"])
def test_spans_lie_in_each_other_whatever_the_kinds(kinds, engine, chosen):
    """Without `inst`, an operation is shown where it waits."""
    for limits in ([], ["--trace-cycles=40:120"]):
        spans = spans_of(kinds, engine, f"--trace={chosen}", *limits)
        assert spans
        for track in {span[:2] for span in spans}:
            own = [span for span in spans if span[:2] == track]
            assert is_nested([span[3:] for span in own])
            operations = [span[4] for span in own if span[2] == "operation"]
            waits = [span[4] for span in own if span[2] not in ("operation", "task")]
            assert limits or "inst" in chosen or operations == waits
        if limits:
            assert all(40 <= start and end <= 121 for *_, start, end in spans)
