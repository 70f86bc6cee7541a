"""Random programs of several tiles leave what a model says; claims/flows.py is longer."""
import numpy
import pytest

import harness
import seeded_miscompiles
from flows import check, defects
from flows.filters import SparseFilter
from flows.library import Record, records_of
from flows.payloads import Command, Word, known_bits, popped
from flows.program import Program
from flows.routers import Router, Unfit, Wavelet, carry

PROGRAMS = 20


@pytest.mark.long
def test_programs_leave_what_the_model_says():
    found = check.run(PROGRAMS, harness.commit_seed(), jobs=1)
    assert not found.differences, "\n".join(found.differences[:5])
    assert all(found.counts[what] for what in (
        "streams", "data tasks", "courses", "switches", "queues that are flushed", "records",
        "operations in the background"))


def test_programs_that_do_not_wait_have_a_finding_if_they_go_wrong():
    outcomes = check.run_careless(PROGRAMS, harness.commit_seed(), jobs=1)
    wrong = sum(count for (result, _), count in outcomes.items() if result == "wrong")
    assert wrong > 1 and outcomes["wrong", None] <= 1, outcomes


def test_a_wrong_element_is_found(monkeypatch):
    def with_one_wrong(program):
        envs = right(program)
        place = max(envs)
        envs[place].arrays["u16_0"][3] ^= 1
        return envs

    right = Program.expected
    monkeypatch.setattr(Program, "expected", with_one_wrong)
    found = check.check(11, [("wse3", "-O1")])
    assert len(found.differences) == 1 and "u16_0[3] at " in found.differences[0]


def test_a_number_that_is_none_equals_itself_only():
    none, one = numpy.float32(numpy.nan), numpy.float32(1)
    same = check.is_same(numpy.array([none, none, one]), numpy.array([none, one, one]))
    assert list(same) == [True, False, True]


@pytest.mark.parametrize("row", defects.ROWS, ids=lambda row: row.name)
def test_the_quotes_of_seeded_miscompiles_are_in_the_sources(row):
    text = (harness.ROOT / row.file).read_text()
    assert f'is_seeded("{row.name}")' in seeded_miscompiles.seeded(row, text)


def arrivals(positions, sent, **options):
    """What the ramp of a tile alone gets: the numbers of the wavelets."""
    router = Router(positions, **options)
    here = (0, 0)
    return [w.number for w in carry({here: router}, {here: sent})[here]], router


def test_a_command_acts_behind_its_own_wavelet():
    advance = Word((Command("SWITCH_ADV", False),), 40)
    sent = [Wavelet((0, 0), 0, word=advance), Wavelet((0, 0), 1)]
    with pytest.raises(Unfit):                        # the second one waits at a closed input
        arrivals([("RAMP", ["RAMP"]), ("EAST", ["RAMP"])], sent)
    got, router = arrivals([("RAMP", ["RAMP"]), ("RAMP", ["RAMP"])], sent)
    assert got == [0, 1] and router.at == 1


def test_a_handler_takes_the_next_routes_round_and_round():
    stop = Word((Command("TEARDOWN", True),), None)
    sent = [Wavelet((0, 0), i, word=stop if i % 2 else None) for i in range(4)]
    got, router = arrivals([("RAMP", ["RAMP"]), ("RAMP", [])], sent, by_task=True)
    assert got == [0] and (router.at, router.torn) == (0, 2)
    with pytest.raises(Unfit):
        arrivals([("RAMP", ["RAMP"])], sent)


def test_a_sparse_filter_has_two_periods_at_most():
    def passed(second):
        here = SparseFilter(2, 0, 0, False, second=second)
        return [here.passes(Wavelet((0, 0), i)) for i in range(9)]

    assert passed(None) == [True, False, False] + 6 * [True]
    assert passed(3) == [True, False, False, True, False, False, False, True, True]


def test_records_are_read_by_their_kinds():
    key = [18, 5, 27750, 30575, 115]                  # "flows"
    words = [*key, 4, 7, 10, 3, 25185, 99, 9, 0, 16320, 11, 3, 0, 0]
    assert records_of(words) == [Record("u16", 7), Record("string", "abc"), Record("f32", 1.5),
                                 Record("timestamp", None)]


def test_a_closed_input_holds_up_the_sender():
    """West sends to a tile that takes only its own wavelets until a command of its own."""
    west, east = (0, 0), (1, 0)
    routers = {west: Router([("RAMP", ["EAST"])]),
               east: Router([("RAMP", ["RAMP"]), ("WEST", ["RAMP"])])}
    sent = {west: [Wavelet(west, 0)], east: [Wavelet(east, 0)]}
    with pytest.raises(Unfit):
        carry(routers, sent)
    sent[east].append(Wavelet(east, 1, word=Word((Command("SWITCH_ADV", True),), None)))
    got = carry(routers, sent)[east]
    assert [(w.sender, w.number) for w in got] == [(east, 0), (west, 0)]


def test_payloads_are_the_public_ones():
    teardown = 0x09df9249
    assert popped(teardown, 1) == 0x091f9249 & known_bits(1)
    ignored = (Command("SWITCH_ADV", True), Command("NOP", True))
    assert Word(ignored, None).payload() & ~0xffff == (5 << 22 | 4 << 25 | 31 << 16)
