"""One way to do each thing: what CONTRIBUTING.md says of idioms, as far as a program can see it."""
import re
from collections import defaultdict

import pytest

import c_text
import harness

LAYERS = ("frontend", "ir", "emu")
SOURCES = {p.relative_to(harness.ROOT): c_text.plain(p.read_text()) for layer in LAYERS
           for p in sorted((harness.ROOT / layer).rglob("*")) if p.suffix in {".c", ".h", ".l", ".y"}}
MOST_ONE_WORD = 40
# Ids are compared and made absent here and nowhere else.
HOME_OF_IDS = {"ir/base/base.h", "ir/ir.h", "frontend/value/value.h"}
# Types and values, the evaluator's PairMap, instructions by what they compute.
OWN_TABLES = {"frontend/value/pool.c", "frontend/sema/scope.c", "ir/opt/pass_cse.c",
              "emu/tile/known.c"}
ABSENT = {"PoolId": "POOL(NONE)", "StrId": "STR_NONE", "IrValue": "IR_NO_VALUE",
          "IrLocId": "IR_NO_LOC"}


def lines_with(pattern, texts, layers=LAYERS, but=()):
    return [f"{path}:{n}: {line.strip()}" for path, text in texts.items()
            if path.parts[0] in layers and str(path) not in but
            for n, line in enumerate(text.split("\n"), 1) if re.search(pattern, line)]


RAW_COMPARED = r"\.raw (==|!=) (0\b|POOL_RAW|IR_NO_|[\w.>\-\[\]]+\.raw\b)"


def test_ids_are_compared_by_their_functions():
    assert not lines_with(RAW_COMPARED, SOURCES, LAYERS, HOME_OF_IDS)


@pytest.mark.parametrize("type_name", ABSENT)
def test_absent_ids_have_one_spelling(type_name):
    bad = lines_with(rf"\({type_name}\)\{{0\}}", SOURCES, but=HOME_OF_IDS)
    assert not bad, f"{ABSENT[type_name]}:\n" + "\n".join(bad)


def test_diagnostics_are_called_by_their_names():
    """diag_ID(diags, ...): only diag_rows.h puts such a name together."""
    bad = lines_with(r"diag_##", SOURCES, but=("ir/base/diag_rows.h",))
    assert not bad, "\n".join(bad)
    assert not lines_with(r"\bs->session->diags\b", SOURCES, ("frontend",))


def test_hash_tables_of_our_own_are_known():
    """They multiply by the golden ratio; each says why it is one."""
    files = {line.split(":")[0] for line in lines_with("0x9e3779b", SOURCES)}
    assert files <= OWN_TABLES, files - OWN_TABLES


def test_memory_that_begins_as_zero_comes_so():
    """base_zeroed(n, size) also refuses a product that is too large.  Behind `if`, the memory may be
    older."""
    first = re.compile(r"^(?!\s*if\b)[^\n]*\n[^\n;]*= base_malloc\([^;]*;\s*memset\([\w.>-]+, 0,", re.M)
    bad = [str(path) for path, text in SOURCES.items()
           if first.search(text) or "memset(base_malloc(" in text]
    assert not bad, "\n".join(bad)


SYSTEMS = (r"__linux__|__EMSCRIPTEN__|__APPLE__|_WIN32|__x86_64__|__aarch64__|<(linux/.*|emscripten"
           r".*|sys/(mman|resource|syscall)\.h)>|\b(fopencookie|O_TMPFILE|pthread_create)\b|/proc/")


def test_systems_differ_in_one_place():
    """Everything else is the same C for Linux, WebAssembly and others."""
    home = {f"ir/base/platform/{p.name}" for p in (harness.ROOT / "ir/base/platform").iterdir()}
    assert home and not lines_with(SYSTEMS, SOURCES, but=home)
    assert {line.split(":")[0] for line in lines_with(SYSTEMS, SOURCES)} <= home


def test_handlers_of_builtins_are_in_files_of_builtins():
    bad = [f"{path}: {f.name}" for path, text in SOURCES.items() if path.parts[0] == "frontend"
           for f in c_text.functions(text) if f.name.startswith("builtin_")
           and not f.is_static and not path.name.startswith("builtin_")]
    assert not bad, "\n".join(bad)


def types_defined(text):
    """Names of the structs, unions, enums and function types that a file defines."""
    text = c_text.without_directives(text)
    names = set(re.findall(r"^(?:struct|union|enum) (\w+) \{", text, re.M))
    for start in re.finditer(r"^typedef (struct|union|enum)?\s*(\w*)\s*(\{)?", text, re.M):
        if start.group(3):
            rest = text[c_text.closing(text, start.end() - 1):]
            names.add(re.match(r"\s*(\w+)", rest).group(1))
        elif not start.group(1):
            found = re.match(r"[^;]*?\(?\*?(\w+)\)?\s*(?:\([^;]*\)|\[[^;]*\])?;", text[start.end():])
            names.update(found.groups() if found else ())
    return names


def test_types_are_found():
    text = """typedef struct A { int x; struct { int y; } z; } A;
typedef struct B B;
struct B { int x; };
typedef enum { ONE, TWO } C;
typedef void D(int x);
typedef int (*E)(int x);
typedef unsigned char F[4];
"""
    assert types_defined(text) == {"A", "B", "C", "D", "E", "F"}


def test_a_name_stands_for_one_type():
    homes = defaultdict(list)
    for path, text in SOURCES.items():
        for name in types_defined(text):
            homes[name].append(str(path))
    bad = [f"{name}: {', '.join(files)}" for name, files in sorted(homes.items()) if len(files) > 1]
    assert not bad, "\n".join(bad)


def test_functions_have_names_of_two_words():
    exported, local = [], []
    for path, text in SOURCES.items():
        for f in c_text.functions(text):
            if "_" not in f.name and f.name != "main":
                (local if f.is_static else exported).append(f"{path}: {f.name}")
    assert not exported, "\n".join(exported)
    assert len(set(local)) <= MOST_ONE_WORD, "\n".join(local)


@pytest.mark.parametrize("line", [
    "if (a.raw == b.raw)", "if (type.raw != POOL_RAW_VOID)", "return name.raw == 0;"])
def test_a_comparison_of_numbers_of_ids_would_be_seen(line):
    assert re.search(RAW_COMPARED, line)
