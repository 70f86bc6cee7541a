"""The table of cycles and bytes: what the programs cost now, and no level costs more cycles."""
import random
import sys

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "bench" / "codegen"))
import table  # noqa: E402


def test_the_table_is_what_the_programs_cost():
    assert table.TABLE.read_text() == table.table()


def test_samples_of_any_size_are_not_slower_at_O2(tmp_path, checks):
    """The short form of the claim levels."""
    levels = harness.claim("levels")
    found = levels.random_sizes(tmp_path, random.Random(harness.commit_seed()), each=3,
                                without=levels.SLOWER_AT_TIMES)
    levels.check(checks, "samples at random sizes", found)


def test_no_level_is_slower_than_the_one_below():
    rows = [line.split(" | ") for line in table.TABLE.read_text().splitlines()
            if line.startswith("| `")]
    assert len(rows) == len(list(table.FOLDER.glob("*.csl")))
    for row in rows:
        cycles = [int(cell) for cell in row[2:5]]
        assert cycles == sorted(cycles, reverse=True), row[0]
