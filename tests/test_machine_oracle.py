"""The emulator against the second model of the machine in tests/machine; the claim
machine_oracle.py runs many more programs."""
from machine import oracle
from machine.fabric import Fabric
from machine.sequences import Sequence


def test_sequences_of_instructions_end_as_the_model_says():
    tally = oracle.check(Sequence, range(1, 401))
    assert not tally.differences, tally.differences
    assert tally.programs == 400 and tally.undecided < 40
    assert tally.outcomes["done"] > 300 and len(tally.outcomes) > 5


def test_fabric_programs_end_as_the_model_says():
    tally = oracle.check(Fabric, range(1, 161))
    assert not tally.differences, tally.differences
    assert tally.outcomes["done"] > 30 and tally.outcomes["stuck"] > 30
