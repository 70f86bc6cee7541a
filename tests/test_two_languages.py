"""Facts that two languages need to have: the interface of libwse in C and in Python, the opcodes of
the host in C and in CSL, the records of <debug> in CSL and in Python."""
import ctypes
import re
import sys

import harness
from c_text import plain

PYTHON = harness.ROOT / "emu" / "host" / "python"
sys.path.insert(0, str(PYTHON))
import wse_lib  # noqa: E402

HEADER = plain((harness.ROOT / "emu" / "include" / "wse.h").read_text())
SIMPLE = {"bool": ctypes.c_bool, "char": ctypes.c_char, "size_t": ctypes.c_size_t,
          "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32,
          "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
          "WseTask": ctypes.c_uint64}
ENUMS = {name: re.findall(r"\bWSE_(\w+)", body)
         for body, name in re.findall(r"typedef enum \{([^}]*)\} (\w+);", HEADER)}
STRUCTS = {name: body for body, name in re.findall(r"typedef struct \{([^}]*)\} (\w+);", HEADER)}
OPAQUE = {"WseProgram", "WseCluster"}


def in_python(written):
    """The type of a member or of an argument, as ctypes has it."""
    kind = written.replace("const ", "").replace(" ", "")
    stars, name = kind.count("*"), kind.replace("*", "")
    if kind == "void":
        return None
    if name in (*OPAQUE, "void"):
        inner, stars = ctypes.c_void_p, stars - 1
    elif name == "char" and stars:
        inner, stars = ctypes.c_char_p, stars - 1
    elif name in STRUCTS:
        inner = getattr(wse_lib, name.removeprefix("Wse"))
    else:
        inner = ctypes.c_int if name in ENUMS else SIMPLE[name]
    return ctypes.POINTER(inner) if stars else inner


def declarations(text):
    """(type, name) of `uint32_t x, y` or `const char *path`."""
    found = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        first, *others = part.split(",")
        kind, name = re.fullmatch(r"(.*?[ *])(\w+)", first.strip()).groups()
        found += [(kind.strip(), each.strip()) for each in (name, *others)]
    return found


def members(name):
    return [(member, in_python(kind)) for kind, member in declarations(STRUCTS[name])]


def test_structs_have_the_same_members():
    python = {name: each for name, each in vars(wse_lib).items()
              if isinstance(each, type) and issubclass(each, ctypes.Structure)}
    assert len(python) >= 6
    for name, each in python.items():
        fields = [(field, ctypes.POINTER(ctypes.c_char) if field == "param_class" else kind)
                  for field, kind in members(f"Wse{name}")]     # not ended by a zero byte
        assert [(field, kind) for field, kind, *_ in each._fields_] == fields, name


def test_enumerations_have_the_same_values():
    in_c_alone = {"WseStep", "WseStopKind"}
    assert in_c_alone < ENUMS.keys()
    for name in ENUMS.keys() - in_c_alone:
        assert [getattr(wse_lib, value) for value in ENUMS[name]] == list(range(len(ENUMS[name])))


def test_functions_have_the_same_types():
    declared = {name: (result, arguments) for result, name, arguments in re.findall(
        r"WSE_API ([\w ]+?[ *]+)(wse_\w+)\(([^)]*)\);", HEADER)}
    assert len(declared) > 40
    for name, (result, arguments) in wse_lib._PROTOTYPES.items():
        written, given = declared[name]
        kinds = [] if given == "void" else [
            in_python(declarations(each)[0][0]) for each in given.split(",")]
        assert in_python(written.strip()) == result, name
        assert kinds == arguments, name


def numbers(text, pattern):
    return {name: int(value) for name, value in re.findall(pattern, text)}


def test_opcodes_are_those_of_the_library_and_of_the_page():
    listed = re.search(r"COMMAND_WRITE_32 = 1(?:, COMMAND_\w+)+",
                       (harness.ROOT / "emu" / "host" / "host.h").read_text()).group()
    host = {name: n for n, name in enumerate(re.findall(r"COMMAND_(\w+)", listed), 1)}
    csl = re.search(r"const opcode = enum\(u16\) \{(.*?)\}",
                    (harness.ROOT / "stdlib" / "memcpy" / "memcpy.csl").read_text()).group(1)
    page = (harness.ROOT / "docs" / "host-protocol.md").read_text()
    assert len(host) == 5
    assert host == numbers(csl, r"(\w+) = (\d+)")
    assert host == {name: int(n) for n, name in re.findall(r"^\| (\d) \| `(\w+)`", page, re.M)}


def test_records_of_debug_have_the_same_kinds():
    text = (PYTHON / "cerebras" / "sdk" / "debug" / "debug_util.py").read_text()
    csl = numbers((harness.ROOT / "stdlib" / "debug.csl").read_text(),
                  r"const RECORD_(\w+): u16 = (\d+);")
    table = text[text.index("_STRING = "):text.index("def _text")]
    kinds = [int(n) for n in re.findall(r"^    (\d+): \(", table, re.M)]
    assert sorted([*kinds, csl["STRING"]]) == sorted(csl.values()) == list(range(1, 14))
    assert int(re.search(r"^_STRING = (\d+)", table, re.M).group(1)) == csl["STRING"]
    names = {"uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "float16": "F16",
             "uint32": "U32", "int32": "I32", "float32": "F32"}
    for kind, name in re.findall(r"^    (\d+): \(\d, _value\(np\.(\w+)\)\)", table, re.M):
        assert csl[names[name]] == int(kind)
