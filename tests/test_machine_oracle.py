"""The emulator against the second model of the machine in tests/machine; the claim
machine_oracle.py runs thousands of programs, and drivers with seeded defects."""
import copy

import harness
import pytest

from machine import floats, network, oracle, scalar, verdict
from machine.defects import DEFECTS, edited_files
from machine.fabric import Fabric
from machine.sequences import Sequence
from machine.verdict import Wild


def test_sequences_of_instructions_end_as_the_model_says():
    tally = oracle.check(Sequence, range(1, 151))
    assert not tally.differences, tally.differences
    assert tally.programs == 150 and tally.undecided < 15
    assert tally.outcomes["done"] > 100 and len(tally.outcomes) > 3


def test_a_load_waits_for_an_operation_that_goes_back():
    """Once differed: a load beside an operation of four dimensions whose address went back to it."""
    assert not oracle.check(Sequence, [782002309]).differences


def test_what_the_model_cannot_say_is_no_difference():
    """A fault beside an operation that had not written yet, or not set `vstat`; a FIFO with an
    action that is none."""
    assert not oracle.check(Sequence, [927181202, 271185718, 927180244]).differences


@pytest.mark.long
def test_fabric_programs_end_as_the_model_says():
    tally = oracle.check(Fabric, range(1, 46))
    assert not tally.differences, tally.differences
    assert tally.outcomes["done"] > 5 and tally.outcomes["stuck"] > 10


def test_a_wavelet_that_has_ended_an_operation_is_not_dropped():
    """It waits for the next operation, as docs/cycle-model.md says; once judged as none could."""
    assert not oracle.check(Wild, [916212182]).differences


@pytest.mark.parametrize("seed", [338099743, 338099910])
def test_a_wavelet_waits_in_front_of_a_router_that_does_not_know_its_color(seed):
    """Random programs in which one does; the judge once knew routers of all colors only."""
    assert not oracle.check(Wild, [seed]).differences


def test_a_snapshot_has_what_other_threads_have_written_to_routers():
    """Once lost: a write in the last cycle of a tile that a worker other than its own had visited."""
    assert not oracle.check(Wild, [338100683, 338101394]).differences


def test_a_snapshot_has_what_the_tiles_know_of_operations_in_the_background():
    """Once lost: --check=order found nothing of what had begun before the snapshot."""
    assert not oracle.check(Wild, [338099900, 338100772]).differences


def test_no_process_has_a_lone_row():
    """With one, a tile did not hear in time that its neighbour's router was full."""
    assert not oracle.check(Wild, [338100565]).differences


def test_quiet_ends_of_wild_programs_are_ends():
    tally = oracle.check(Wild, range(1, 31))
    assert not tally.differences, tally.differences
    assert tally.outcomes["stuck"] > 5 and tally.undecided < 3


def test_wild_programs_of_each_commit_end_as_the_model_says():
    """Each commit tries others; a difference names its seed."""
    seeds = harness.commit_random("wild programs").integers(10 ** 9, size=15).tolist()
    tally = oracle.check(Wild, seeds)
    assert not tally.differences, tally.differences
    assert tally.programs == len(seeds) and tally.undecided < 3


def test_a_wrong_instruction_is_noticed(monkeypatch):
    monkeypatch.setitem(scalar.VALUES, "sar", lambda b, c: b >> min(c, 15))
    monkeypatch.setitem(scalar.VALUES, "sari", lambda b, c: b >> min(c, 15))
    assert oracle.check(Sequence, range(1, 101)).differences


def test_wrong_rounding_is_noticed(monkeypatch):
    right = floats.pack
    monkeypatch.setattr(floats, "pack", lambda f, negative, n, e, d=1: right(f, negative, n | 1, e, d))
    assert oracle.check(Sequence, range(1, 101)).differences


def test_a_wrong_router_is_noticed(monkeypatch):
    monkeypatch.setattr(network, "RAMP_STAGES", {"wse2": 1, "wse3": 1})
    assert oracle.check(Fabric, range(1, 16)).differences


@pytest.fixture(scope="module")
def shown_end():
    """The end of a program that waits for ever, as the emulator shows it."""
    return next(end for seed in range(1, 11)
                for end in oracle.ends_of([Fabric(seed)], oracle.driver())
                if end["idle"] == "stuck" and any(t["threads"] for t in end["tiles"]))


@pytest.fixture
def stuck_end(shown_end):
    return copy.deepcopy(shown_end)


def test_a_wrong_verdict_is_noticed(stuck_end):
    end = stuck_end
    assert verdict.differences(end) == []
    end["idle"] = "done"
    assert verdict.differences(end)


def test_an_end_that_is_none_is_noticed(stuck_end):
    end = stuck_end
    tile = next(t for t in end["tiles"] if t["threads"])
    for queue in tile["in"]:
        queue[:] = [1, 0, queue[2], 0, 0, 0]       # a wavelet for whatever waits
    for queue in tile["out"]:
        queue[0] = 0
    assert verdict.differences(end)


def test_a_main_thread_that_waits_for_no_operation_is_noticed(stuck_end):
    tile = next(t for t in stuck_end["tiles"] if any(thread[0] for thread in t["threads"]))
    operation = next(thread for thread in tile["threads"] if thread[0])
    tile["threads"] = [operation, [0, 0, -1 - operation[0]]]
    assert not any("main thread" in text for text in verdict.differences(stuck_end))
    tile["threads"] = [[0, 0, -1 - operation[0]]]
    assert any("main thread" in text for text in verdict.differences(stuck_end))


@pytest.mark.parametrize("defect", DEFECTS, ids=[d.name for d in DEFECTS])
def test_seeded_defects_still_have_their_place(defect):
    assert edited_files(defect)
