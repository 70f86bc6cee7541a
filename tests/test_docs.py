"""The generated tables of the documentation are those of the code, its links lead somewhere, and the
files that pages and comments name exist.

After a change of a table: build/release/bin/wse-docgen --update docs/*.md
"""
import re

import pytest

import harness

PAGES = sorted((harness.ROOT / "docs").glob("*.md"))

ALL_PAGES = sorted(p for p in harness.ROOT.rglob("*.md")
                   if not {"node_modules", "build", ".git"} & set(p.relative_to(harness.ROOT).parts))
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


TOOLS = ("cslc", "wse-emu", "wse-model", "wse-dbg", "wse-sweep", "csl-fmt", "csl-ls", "cs_readelf")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_page_has_each_option_of_a_tool(tool):
    options = set(re.findall(r"--[a-z][\w-]*\w", harness.run([harness.tool(tool), "--help"]).out))
    text = "".join(page.read_text() for page in PAGES)
    assert options - {"--help", "--version"} - set(re.findall(r"--[a-z][\w-]*\w", text)) == set()


def test_the_page_of_the_compiler_has_its_options_and_no_others():
    options = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
    printed = set(options.findall(harness.run([harness.tool("cslc"), "--help"]).out))
    page = (harness.ROOT / "docs/compiler.md").read_text()
    rows = "".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `-"))
    others = page[page.index("Scripts for the vendor's compiler"):page.index("## Exit codes")]
    assert set(options.findall(rows + others)) - {"-o", "-v"} == printed - {"-o", "-v", "-"}


@pytest.mark.parametrize("option, constant", [
    ("max-inlined-iterations", "MAX_INLINED"), ("comptime-func-depth-limit", "FUNC_DEPTH"),
    ("comptime-step-limit", "STEPS")])
def test_the_page_of_the_compiler_has_the_limits_of_the_code(option, constant):
    code = "".join((harness.ROOT / "frontend" / name).read_text()
                   for name in ("driver/options.c", "sema/sema.h"))
    limit = int(re.search(rf"OPTION_DEFAULT_{constant} = (\d+)", code)[1])
    page = (harness.ROOT / "docs/compiler.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `--{option}="))
    assert f"efault {limit:,}" in row


def test_update_renews_a_stale_table(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- generated: sections -->\nstale\n<!-- end -->\nafter\n")
    harness.run([harness.tool("wse-docgen"), "--update", page])
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n")
    assert "| 0 | strings |" in text and "stale" not in text


def anchors_of(page):
    """What links may name behind a `#`: the titles of the page's sections."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


def broken_links(page):
    broken = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)]*)?\)", page.read_text()):
        other = page.parent / target if target else page
        if "://" not in target and (not other.exists() or
                                    (anchor and anchor[1:] not in anchors_of(other))):
            broken.append(target + anchor)
    return broken


def accidental_items(page):
    """Lines of a paragraph that begin as an item of a list does: readers would see one."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    found = []
    for part in re.split(r"\n\s*\n", text):
        lines = part.strip("\n").split("\n")
        is_list = re.match(r" *(\d+[.)]|[-*+]) ", lines[0]) or lines[0].startswith(("|", "    "))
        found += [] if is_list else [line for line in lines[1:]
                                     if re.match(r"(\d+[.)]|[-*+]) ", line)]
    return found


def long_lines(page):
    """Lines of text of more than 100 columns.  Tables, titles and code are as long as they are."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return [line for line in text.splitlines()
            if len(line) > 100 and not line.startswith(("|", "#", "    "))]


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda p: str(p.relative_to(harness.ROOT)))
def test_links_lead_somewhere_and_paragraphs_are_whole(page):
    assert broken_links(page) == []
    assert accidental_items(page) == []
    assert long_lines(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title, two\n[a](page.md) [b](https://x.org/y) [c](lost.md) [d](lost.md#part) "
                    "[e](#a-title-two)\n[f](page.md#a-title) [g](#lost)\n")
    assert broken_links(page) == ["lost.md", "lost.md#part", "page.md#a-title", "#lost"]


def test_an_accidental_item_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("This takes P\n- 3 cycles.\n\n- one\n- two\n\n```\na\n- b\n```\n")
    assert accidental_items(page) == ["- 3 cycles."]


def test_a_long_line_is_found(tmp_path):
    page = tmp_path / "page.md"
    long = "word " * 21
    page.write_text(f"{long}\n\n| {long}|\n\n```\n{long}\n```\n\n    {long}\n\n# {long}\n")
    assert long_lines(page) == [long]


# ---- files that pages and comments name ---------------------------------------------------------

FOLDERS = "docs|editors|emu|frontend|ir|playground|samples|stdlib|tests"
IN_PAGE = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")
IN_SOURCE = re.compile(rf"(?<![\w/.<\"'-])((?:{FOLDERS})/[\w./]*\w\.(?:md|c|h|py|csl|def|sh|ts))\b")
MADE = ("playground/page/dist",)          # by a build


def lost_files(path):
    found = (IN_PAGE if path.suffix == ".md" else IN_SOURCE).findall(path.read_text())
    names = [name.replace("NAME", "*") for name in found]
    return [name for name in names if name not in MADE and
            not (list(harness.ROOT.glob(name)) if "*" in name else (harness.ROOT / name).exists())]


SOURCES = [p for folder in FOLDERS.split("|") for p in sorted((harness.ROOT / folder).rglob("*"))
           if p.suffix in {".c", ".h", ".l", ".y", ".def", ".py", ".csl", ".ts"}
           and not {"node_modules", "build", "dist"} & set(p.parts)]


def test_pages_and_comments_name_files_that_exist():
    own = ("test_docs.py", "test_walk_through.py")          # they name some that do not
    lost = {str(p.relative_to(harness.ROOT)): lost_files(p) for p in (*ALL_PAGES, *SOURCES)
            if p.name not in own}
    assert not {path: names for path, names in lost.items() if names}


def test_a_lost_file_is_found(tmp_path):
    page, source = tmp_path / "page.md", tmp_path / "file.c"
    page.write_text("`docs/index.md` `tests/lost.py` `tests/test_*.py` `samples/lost*` `a/b.c`\n")
    assert lost_files(page) == ["tests/lost.py", "samples/lost*"]
    source.write_text("/* docs/index.md and emu/lost/lost.c; lost.c */\n")
    assert lost_files(source) == ["emu/lost/lost.c"]


def test_the_samples_have_an_index():
    samples = harness.ROOT / "samples"
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1\) \|", (samples / "README.md").read_text(), re.M)
    assert sorted(listed) == sorted(p.name for p in samples.iterdir() if p.is_dir())


def test_the_index_lists_each_page():
    listed = re.findall(r"^\| \[([\w.-]+)\]\(\1\) \|", (harness.ROOT / "docs/index.md").read_text(),
                        re.MULTILINE)
    assert sorted(listed + ["index.md"]) == [p.name for p in PAGES]


# ---- tables that stand in the code, too ----------------------------------------------------------

def page_of(name):
    return (harness.ROOT / "docs" / name).read_text()


def test_the_page_of_the_ir_has_each_operation():
    rows = re.findall(r"^IR_OP\((\w+), +(\w+), +(\w+), +([\w |]+)\)",
                      (harness.ROOT / "ir" / "ops.def").read_text(), re.M)
    assert len(rows) > 60
    shown = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \| ([A-Z ]+) \|", page_of("ir.md"), re.M)
    assert shown == [(name, operands, result, " ".join(effects.split(" | ")))
                     for name, operands, result, effects in rows]


def test_the_page_of_the_ir_has_each_pass_and_its_level():
    text = (harness.ROOT / "ir" / "opt" / "passes.def").read_text()
    passes = [(name, "".join(re.findall(r'"(.*?)"', texts))) for name, texts in re.findall(
        r'^PASS_\w+\((\w+),\s*((?:".*?"\s*)+)\)', text, re.M)]
    assert len(passes) > 20
    page = page_of("ir.md")
    assert re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", page[page.index("## Passes"):], re.M) == passes
    lines = re.findall(r'^  \{"([\w ]+)", (\d)\},$',
                       (harness.ROOT / "ir" / "opt" / "pipeline.c").read_text(), re.M)
    level = {name: min(int(n) for names, n in lines if name in names.split()) for name, _ in passes}
    assert {name for name in level if level[name] == 0} == {"unused"}
    marked = re.search(r"marked for `-O2`, which are ([^.]*)\.", page.replace("\n", " ")).group(1)
    assert set(re.findall(r"`(\w+)`", marked)) == {name for name in level if level[name] == 2}


def test_the_page_of_the_debugger_has_each_command():
    page = page_of("debugger.md")
    part = page[page.index("## Commands\n"):page.index("## In an editor")]
    shown = {word for code in re.findall(r"`(.*?)`", part) for word in re.findall(r"[a-z-]+", code)}
    commands = re.findall(r'^  \{"([a-z-]+)", (?:"(\w+)"|NULL)',
                          (harness.ROOT / "emu" / "debug" / "commands.c").read_text(), re.M)
    assert len(commands) > 40
    names = {name for command in commands for name in command if name}
    assert names <= shown, names - shown


def test_the_page_of_the_emulator_has_each_option():
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+",
                             harness.run([harness.tool("wse-emu"), "--help"]).out))
    assert len(options) > 25
    pages = page_of("emulator.md") + page_of("cluster.md") + page_of("debugger.md")
    assert not options - set(re.findall(r"--[a-z][a-z0-9-]+", pages))
