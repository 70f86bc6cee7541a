"""Each cycle number in the prose of the pages is a fact that a script measures or has a source; the
quick facts hold.  The claim numbers_in_docs measures all."""
import re

import pytest

import doc_numbers
import harness
from doc_numbers import Fact, Stated

QUICK = [fact for fact in doc_numbers.FACTS if fact.is_quick]
SLOW = [fact for fact in doc_numbers.FACTS if not fact.is_quick]
PAGES = [page for page in doc_numbers.pages() if page not in doc_numbers.WHOLE]


def ids(fact):
    return fact.text[:40]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_number_that_no_script_knows(page):
    text = (harness.ROOT / page).read_text()
    assert doc_numbers.unknown_numbers(page, text) == [], (
        "measure it in tests/doc_numbers.py, name its source there, or delete it")


@pytest.mark.parametrize("page", doc_numbers.WHOLE)
def test_the_pages_of_a_script_have_it(page):
    assert (harness.ROOT / page).exists()
    assert (harness.ROOT / doc_numbers.WHOLE[page]).exists()


def names_a_script(row):
    named = re.findall(r"[`\s]((?:tests/)[\w/]+\.py)", row.split("|")[-2])
    return "`unit-" in row or any((harness.ROOT / name).exists() for name in named)


def test_each_measured_row_names_its_script():
    table = (harness.ROOT / "docs" / "measured.md").read_text()
    rows = [line for line in table.splitlines()
            if line.startswith("| ") and not line.startswith(("| what |", "| --- |"))]
    assert len(rows) > 50
    assert [row for row in rows if not names_a_script(row)] == []


@pytest.mark.parametrize("fact", doc_numbers.FACTS, ids=ids)
def test_a_fact_stands_once_on_its_page(fact):
    assert len(doc_numbers.places_of(fact)) == 1


@pytest.mark.parametrize("fact", doc_numbers.STATED, ids=ids)
def test_a_stated_number_stands_on_its_page_and_in_its_source(fact):
    assert doc_numbers.words_of(fact.text).search((harness.ROOT / fact.page).read_text())
    assert fact.source != fact.page, "a page is no source of its own numbers"
    assert fact.says in (harness.ROOT / fact.source).read_text()


@pytest.mark.parametrize("fact", doc_numbers.OTHERS, ids=ids)
def test_words_that_are_left_out_stand_on_their_page(fact):
    assert doc_numbers.words_of(fact.text).search((harness.ROOT / fact.page).read_text())


@pytest.mark.parametrize("fact", QUICK, ids=ids)
def test_quick_facts_hold(tmp_path, fact):
    assert list(doc_numbers.stated_on_page(fact)) == fact.measure(tmp_path), (
        "tests/claims/numbers_in_docs.py --update writes it")


def test_some_slow_facts_hold(tmp_path):
    """Others with each commit; the claim numbers_in_docs measures all."""
    for number in harness.commit_random("facts").choice(len(SLOW), 4, replace=False):
        test_quick_facts_hold(tmp_path, SLOW[number])


def test_a_number_that_no_script_knows_is_found():
    text = "A call takes 12 cycles.\nIt is 7 cycles\nmore on wse3: see below. A cycle is a cycle.\n"
    assert doc_numbers.unknown_numbers("page.md", text) == [
        "A call takes 12 cycles.", "It is 7 cycles more on wse3:"]
    known = [Fact("page.md", "takes {} cycles", None), Stated("page.md", "is 7 cycles", "", "")]
    assert doc_numbers.unknown_numbers("page.md", text, known[:1], known[1:]) == []


def test_tables_and_code_are_scanned_as_they_should():
    table = "| call | cycles |\n| --- | --- |\n| run | 5 |\n"
    assert doc_numbers.unknown_numbers("page.md", table) == ["| call | cycles | | run | 5 |"]
    for mark in ("measured: x", "published", "model: y"):
        assert doc_numbers.unknown_numbers("page.md", f"<!-- {mark} -->\n{table}<!-- end -->\n") == []
    assert doc_numbers.unknown_numbers("page.md", "    12 cycles\n```\n3 cycles\n```\n") == []


def test_update_writes_the_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("so 1,200 tiles\ntake 30 cycles here.\n")
    fact = Fact("page.md", "{} tiles take {} cycles", lambda _folder: ["8", "1,000"])
    doc_numbers.update(fact, fact.measure(None))
    assert (tmp_path / "page.md").read_text() == "so 8 tiles\ntake 1,000 cycles here.\n"
    assert doc_numbers.stated_on_page(fact) == ("8", "1,000")
