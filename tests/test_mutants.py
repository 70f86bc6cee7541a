"""A short form of the claim on programs that are damaged in one token (claims/mutants.py)."""
import random

import token_mutants

COUNT = 80


def test_mutants_are_refused_near_the_change(tmp_path):
    mutator = token_mutants.Mutator(tmp_path, random.Random(7))
    refused = [m for m in (mutator.next() for _ in range(COUNT)) if m.code]
    assert len(refused) > COUNT / 2
    far = [f"{m.file.name}:{m.line}: {m.shown}: {m.first_error[0]}" for m in refused
           if not m.is_near]
    assert len(far) <= len(refused) / 5, "\n".join(far)


def test_a_swap_that_changes_nothing_is_none():
    tokens = [token_mutants.Token(1, 1, "a"), token_mutants.Token(1, 3, "a")]
    assert token_mutants.mutate(b"a a", tokens, "swap", random.Random(1)) is None
