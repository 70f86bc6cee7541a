"""A short run of the differential fuzzer; the long one is claims/diff_fuzz.py."""
from diff import fuzz


def test_compile_time_and_all_levels_agree():
    total = fuzz.run(640, seed=7, jobs=1)
    assert not total.differences, "\n".join(total.differences)
    assert total.calls > 1500 and total.known > 0.7 * total.calls
    assert not total.rows_missing()
    assert total.refused, "no call that only compile time refuses: masks hide too much"
