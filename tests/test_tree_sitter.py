"""The tree-sitter grammar agrees with the compiler about which texts are CSL."""
import hashlib
import subprocess

import pytest

import harness

FOLDER = harness.ROOT / "editors" / "tree-sitter"
# What cslc refuses in texts whose tree is whole: values of tokens, marks that exclude each other,
# and the depth of nesting.
WHOLE_TREES = {
    "escapes.csl", "duplicate_attribute.csl", "chained_comparison.csl", "keyword_as_name.csl",
    "characters.csl", "nested_too_deep.csl", "task_section.csl", "nameless_parameters.csl"}


def csl_files():
    folders = ("samples", "stdlib", "tests")
    return sorted(p for folder in folders for p in (harness.ROOT / folder).rglob("*.csl"))


@pytest.fixture(scope="module")
def errors_of(tmp_path_factory):
    """A function from paths and options to the lines that tree_sitter_errors.c prints."""
    program = tmp_path_factory.mktemp("tree_sitter") / "errors"
    subprocess.run(["cc", "-o", program, harness.ROOT / "tests/tree_sitter_errors.c",
                    FOLDER / "src/parser.c", "-ltree-sitter"], check=True)

    def run(*arguments):
        done = subprocess.run([program, *arguments], check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout.splitlines()
    return run


def is_syntax(path):
    done = subprocess.run([harness.tool("cslc"), "--emit=ast", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0


def test_parser_is_current():
    known = (FOLDER / "src/grammar.sha256").read_text().split()[0]
    assert hashlib.sha256((FOLDER / "grammar.js").read_bytes()).hexdigest() == known, \
        "grammar.js has changed: run npm run generate in editors/tree-sitter"


def test_agrees_with_the_compiler(errors_of):
    files = csl_files()
    assert len(files) > 400
    broken = {line.split(":")[0] for line in errors_of(*files)}
    wrong = [str(p) for p in files
             if (str(p) not in broken) != is_syntax(p) and p.name not in WHOLE_TREES]
    assert not wrong, f"grammar.js and parse.y differ on these, or WHOLE_TREES lacks them: {wrong}"


def test_reports_the_place_of_an_error(errors_of, tmp_path):
    path = tmp_path / "bad.csl"
    path.write_text("fn f() void {\n  x = = 2;\n}\n")
    assert errors_of(path) == [f"{path}:2:7"]


def test_queries_name_nodes_of_the_grammar(errors_of, tmp_path):
    queries = sorted((FOLDER / "queries").glob("*.scm"))
    assert len(queries) == 4
    assert errors_of(*[f"--query={p}" for p in queries]) == []
    bad = tmp_path / "bad.scm"
    bad.write_text("(no_such_node) @x\n")
    assert len(errors_of(f"--query={bad}")) == 1
