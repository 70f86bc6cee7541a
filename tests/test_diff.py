"""A short run of the differential fuzzer; the long one is claims/diff_fuzz.py."""
import random
import re

from diff import fuzz, generate


def test_compile_time_and_all_levels_agree():
    total = fuzz.run(640, seed=7, jobs=1)
    assert not total.differences, "\n".join(total.differences)
    assert total.calls > 1500 and total.known > 0.7 * total.calls
    assert not total.rows_missing()
    assert total.refused, "no call that only compile time refuses: masks hide too much"


def test_programs_have_the_shapes_that_two_seeded_miscompiles_need():
    """Fills of one array in turns, and loops over descriptors that call their function."""
    text = generate.Program(random.Random(7), 200).text()
    fills = re.findall(r"\{ (v\d+)\[[^]]*\] = \d+; \1\[[^]]*\] = \d+; \}", text)
    walks = re.findall(r"^fn (fun\d+)\(.*@increment_dsd_offset.* \1\(left - 1,", text, re.M)
    assert len(fills) > 20 and len(walks) > 2, (len(fills), len(walks))
