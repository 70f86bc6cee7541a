"""The calibration suite: its table is whole, and it says what it could not run."""
import re
import sys

import harness
import pytest

HERE = harness.ROOT / "tests" / "calibration"
sys.path.insert(0, str(HERE))

import fit  # noqa: E402
import hardware  # noqa: E402
import published_programs as programs  # noqa: E402
import report  # noqa: E402
import report_table  # noqa: E402
import suite  # noqa: E402


def test_points_name_known_programs_and_stand_once():
    points = suite.read_points() + suite.read_table(hardware.POINTS)
    assert len(points) > 100
    assert {p.program for p in points} == set(programs.PROGRAMS)
    assert {p.role for p in points} == {"fit", "judge"}
    assert len({(p.program, p.case, p.quantity) for p in points}) == len(points)
    assert all(p.published > 0 and p.source and p.arch in ("wse2", "wse3") for p in points)


def test_the_range_of_the_statistics_comes_from_the_results():
    """Every point has a result, and what users see is computed from the results."""
    results = report.read_results()
    points = {(p.program, p.case, p.quantity): p for p in suite.read_points()}
    assert {(p.program, p.case, p.quantity) for p in results} == set(points)
    for p in results:
        point = points[p.program, p.case, p.quantity]
        assert (p.set, p.role, p.published) == (point.set, point.role, point.published)
    assert report.RESIDUALS.read_text() == report.residuals_text(report.residual_rows(results))
    for name, table in report.tables(results).items():
        assert report_table.read(name) == table


def test_a_range_covers_nine_tenths_and_counts_programs_the_same():
    def points(program, count, published, share=0.9):
        return [suite.Point("s", program, "wse2", "1.4", "fit", str(i), "q", published=published(i),
                            source="x", ours=100.0, group_share=share) for i in range(count)]
    even = points("even", 21, lambda i: 100.0 + i)
    own = points("own", 1, lambda i: 900.0, share=None)
    assert report.residual_rows(even + own) == [("wse2", "vector", 21, 1, 19)]
    # A thousand sizes of one program do not hide another one.
    many = points("many", 1000, lambda i: 100.0) + points("few", 2, lambda i: 140.0)
    assert report.residual_rows(many) == [("wse2", "vector", 1002, 0, 40)]
    scalar = points("even", 21, lambda i: 100.0 + i, share=0.1)
    assert report.residual_rows(scalar) == [("wse2", "scalar", 21, 1, 19)]


def test_absent_checkouts_are_skipped_with_a_message(tmp_path):
    done = harness.run([sys.executable, HERE / "suite.py", tmp_path, "--set=allreduce"])
    assert "skipped" in done.out and "siddharthbc/CSR-graph-coloring" in done.out


def test_a_run_that_fails_is_an_error(tmp_path):
    repository = tmp_path / "cs5220_hw4"
    repository.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "nothing"]):
        harness.run(["git", "-c", "user.name=n", "-c", "user.email=e", *command], cwd=repository)
    done = harness.run([sys.executable, HERE / "suite.py", tmp_path, "--only=M=2 H=2 N=2: max"],
                       expect=1)
    assert "has no commit" in done.out


def test_documented_times_stay(checks):
    """The short form of the claim timing_rows."""
    harness.claim("timing_rows").check_rows(checks)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    image = tmp_path_factory.mktemp("chain") / "chain.bin"
    harness.compile("samples/reduce-chain/layout.csl", image, params={"P": 5, "B": 7})
    return image


def cycles_of(image, tmp_path, *options):
    harness.emu(image, f"--stats={tmp_path}/s.json", *options)
    stats = harness.stats(tmp_path / "s.json")
    return stats["cycles"], stats.get("timing")


def test_timing_sets_rows_on_both_engines(chain, tmp_path):
    usual, named = cycles_of(chain, tmp_path)
    assert named is None
    for engine in ("fast", "reference"):
        slower, named = cycles_of(chain, tmp_path, f"--engine={engine}", "--timing=hop:3,store:2")
        assert named == "hop:3,store:2"
        assert slower >= usual + 2 * 4


def test_statistics_say_what_cycles_rest_on(tmp_path):
    layout = "tests/bench/busy/layout.csl"
    harness.compile(layout, tmp_path / "b.bin", params={"width": 3, "height": 2, "turns": 7})
    found = []
    for engine in ("fast", "reference"):
        harness.emu(tmp_path / "b.bin", f"--engine={engine}", f"--stats={tmp_path}/s.json")
        found.append(harness.stats(tmp_path / "s.json"))
    assert found[0]["trust"] == found[1]["trust"]
    trust = found[0]["trust"]
    # Tiles that only compute: all time is paid, from the start of the task to its end.
    paid = trust["documented"] + trust["fitted"] + trust["assumed"]
    assert abs(paid / 6 - found[0]["cycles"]) <= 8
    assert trust["assumed_share"] == pytest.approx(trust["assumed"] / paid)
    assert trust["documented"] and trust["assumed"]
    estimate = found[0]["estimate"]
    assert estimate == found[1]["estimate"] and estimate["class"] == "scalar"
    _, _, points, low, high = next(r for r in report.residual_rows(report.read_results())
                                   if r[:2] == ("wse2", "scalar"))
    cycles = found[0]["cycles"]
    assert estimate["points"] == points
    assert estimate["low"] == pytest.approx(cycles * (100 + low) / 100)
    assert estimate["high"] == pytest.approx(cycles * (100 + high) / 100)
    harness.emu(tmp_path / "b.bin", f"--stats={tmp_path}/s.json", "--timing=alu16:2")
    assert "estimate" not in harness.stats(tmp_path / "s.json")


def test_statistics_write_decimals_as_they_are(chain, tmp_path):
    """A hundredth of a count of cycles has two digits behind the point, and none that rounding
    makes."""
    cycles_of(chain, tmp_path)
    text = (tmp_path / "s.json").read_text()
    for name in ("low", "high"):
        assert re.search(rf'"{name}": \d+\.\d{{1,2}}\b', text), text


@pytest.mark.parametrize("words", ["", "hop", "hop:", "hop:x", "hop:0", "hop:1001", "ramp_up:9",
                                   "hop:2,", "nothing:2", "hop:2;store:2"])
def test_timing_refuses_what_is_no_row(chain, words):
    done = harness.emu(chain, f"--timing={words}", expect=1)
    assert "ROW:CYCLES" in done.err


def vector_stamps(image, *options):
    line = harness.emu(image, "--launch=main", "--print=stamps:6", *options).out
    words = [int(w) for w in line.split(":")[1].split()]
    return words[3] - words[0]


def test_the_hardware_mode_rests_behind_every_fifth_group_in_memory(tmp_path):
    layout = harness.ROOT / "tests/claims/calibration/vector_layout.csl"
    n = 103
    harness.compile(layout, tmp_path / "v.bin", "--arch=wse2",
                    params={"n": n, "shift": 1, "is_sum": 0, "loaded": 1})
    usual = vector_stamps(tmp_path / "v.bin")
    for engine in ("fast", "reference"):
        slower = vector_stamps(tmp_path / "v.bin", "--timing=cs2", f"--engine={engine}")
        assert slower - usual == (n - 1) // 5


def test_a_group_that_waits_for_a_bank_needs_no_rest(tmp_path):
    layout = harness.ROOT / "tests/claims/calibration/vector_layout.csl"
    harness.compile(layout, tmp_path / "v.bin", "--arch=wse2",
                    params={"n": 104, "shift": 0, "is_sum": 0, "loaded": 1})
    usual = vector_stamps(tmp_path / "v.bin")
    assert usual > 2 * 104      # its sources conflict
    for engine in ("fast", "reference"):
        assert vector_stamps(tmp_path / "v.bin", "--timing=cs2", f"--engine={engine}") == usual


def test_the_hardware_mode_is_one_of_wse2(tmp_path):
    harness.compile("samples/reduce-chain/layout.csl", tmp_path / "c.bin", "--arch=wse3",
                    params={"P": 4, "B": 8})
    done = harness.emu(tmp_path / "c.bin", "--timing=cs2", expect=1)
    assert "wafer of wse2" in done.err


# ---- the fit of rows ---------------------------------------------------------------------------

ROWS = {"alu32": (3, 1, "I"), "move32": (3, 2, "I"), "mul32": (7, 1, "I"), "load": (1, 1, "D"),
        "ramp_up": (2, 5, "D"), "counter": (1, 3, "D"), "idiv": (44, 20, "I")}


def published_point(program, published, ours, arch="wse2", **features):
    return {"program": program, "case": "", "quantity": "max", "arch": arch, "role": "fit",
            "published": published, "ours": ours, "features": features}


def test_rows_of_one_mechanism_move_together_within_their_range():
    points = [published_point("a", 1000, 1300, alu32=100), published_point("b", 1000, 1000, mul32=1)]
    names = fit.free_rows(points + [published_point("c", 1, 1, move32=1)], ROWS, "wse2")
    values = dict(zip(names, fit.solve(points, names, ROWS, "wse2")))
    assert values["alu32"] == values["move32"] == pytest.approx(1, abs=0.05)   # not 0: its range ends
    low, high = fit.GROUP_OF["mul32"].low, fit.GROUP_OF["mul32"].high
    assert values["mul32"] == pytest.approx((low + high) / 2, abs=0.1)      # hardly any point has it


def test_a_program_that_is_left_out_says_nothing_of_its_rows():
    """What it alone has keeps the middle of its range, whatever the table says now."""
    points = [published_point("a", 1000, 1000, idiv=10), published_point("b", 1000, 1000, alu32=100)]
    names = fit.free_rows(points, ROWS, "wse2")
    (_, miss), = fit.leave_one_out(points, names, ROWS, "wse2")["a"]
    middle = (fit.GROUP_OF["idiv"].low + fit.GROUP_OF["idiv"].high) / 2
    assert miss == pytest.approx(10 * (middle - 44) / 1000, abs=1e-6)
    assert fit.only_here(points, "a", names, ROWS, "wse2") == ["idiv"]


def test_documented_rows_stay():
    points = [published_point("a", 9, 9, ramp_up=1, counter=1, load=1, alu32=1)]
    assert fit.free_rows(points, ROWS, "wse2") == ["alu32"]
    assert fit.free_rows(points, ROWS, "wse3") == ["alu32", "ramp_up", "counter"]


def test_each_row_has_one_range_and_no_other_row_is_named():
    rows = [row for group in fit.GROUPS for row in group.rows]
    table = fit.read_rows()
    assert len(rows) == len(set(rows)) and set(rows) <= set(table)
    assert {row for row in table if table[row][2] != "D"} <= set(rows) | {"groups_per_rest"}
    assert all(group.low < group.high and group.source for group in fit.GROUPS)
