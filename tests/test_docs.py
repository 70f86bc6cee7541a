"""The generated tables of the documentation are those of the code, and its links lead somewhere.

After a change of a table: build/release/bin/wse-docgen --update docs/*.md
"""
import re

import pytest

import harness

PAGES = sorted((harness.ROOT / "docs").glob("*.md"))

DOCS = sorted(p for p in (harness.ROOT / "docs").glob("*.md")
              if "<!-- generated: " in p.read_text())


def test_the_generated_pages_are_found():
    assert {"isa.md", "image.md", "cycle-model.md"} <= {p.name for p in DOCS}


@pytest.mark.parametrize("page", DOCS, ids=lambda p: p.name)
def test_tables_are_current(page):
    renewed = harness.run([harness.tool("wse-docgen"), page]).out
    assert renewed == page.read_text(), (
        f"run: {harness.tool('wse-docgen')} --update docs/{page.name}")


@pytest.mark.parametrize("text, complaint", [
    ("<!-- generated: no such table -->\n<!-- end -->\n", "unknown name"),
    ("<!-- generated: machine -->\n| row |\n", "does not end"),
])
def test_a_wrong_page_is_refused(tmp_path, text, complaint):
    page = tmp_path / "page.md"
    page.write_text(text)
    ran = harness.run([harness.tool("wse-docgen"), "--update", page], expect=2)
    assert complaint in ran.err
    assert page.read_text() == text


def test_update_renews_a_stale_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- generated: sections -->\nstale\n<!-- end -->\nafter\n")
    harness.run([harness.tool("wse-docgen"), "--update", page])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n")
    assert "| 0 | strings |" in text and "stale" not in text


def broken_links(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return [t for t in targets if "://" not in t and not (page.parent / t).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](page.md) [b](https://x.org/y) [c](lost.md) [d](lost.md#part)\n")
    assert broken_links(page) == ["lost.md", "lost.md"]


def test_the_index_lists_each_page():
    listed = re.findall(r"^\| \[([\w.-]+)\]\(\1\) \|", (harness.ROOT / "docs/index.md").read_text(),
                        re.MULTILINE)
    assert sorted(listed + ["index.md"]) == [p.name for p in PAGES]
