"""DSD operations on random descriptors give what numpy gives; claims/dsd_properties.py is longer."""
from fractions import Fraction

from diff import dsd_check, vectors


def test_operations_agree_with_numpy():
    found = dsd_check.run(20, seed=7, jobs=1)
    assert not found.differences, "\n".join(found.differences)
    assert not dsd_check.missing(found)


def test_a_wrong_element_is_found(tmp_path, monkeypatch):
    def with_one_wrong(program):
        values = right(program)
        values["s"][5] ^= 1
        return values

    right = vectors.Program.result
    monkeypatch.setattr(vectors.Program, "result", with_one_wrong)
    found = dsd_check.check(3, tmp_path, arches=("wse2",), levels=("-O1",))
    assert len(found.differences) == 1 and "[('s', 5, " in found.differences[0]


def test_numbers_are_rounded_once():
    half = vectors.DTYPE["h"]
    above_the_middle = 1 + Fraction(1, 2 ** 11) + Fraction(1, 2 ** 30)   # in f32 the middle
    assert vectors.rounded("h", above_the_middle) == half(1 + 2 ** -10)
    assert vectors.rounded("h", Fraction(2 ** 16)) == half("inf")
    assert vectors.fused("h", half(1), half(2 ** -6), half(2 ** -6)) == half(1)
