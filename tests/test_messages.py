"""docs/diagnostics.md says what the compiler does: fields of the JSON form, warnings, fixes."""
import json
import re

import harness

PAGE = (harness.ROOT / "docs/diagnostics.md").read_text()
PROGRAM = """\
var count: i16 = 1;
task main() void {
  cuont += 1;
  @activaet(main);
}
comptime { @bind_local_task(main, @get_local_task_id(8)); }
"""


def heads(program, folder):
    (folder / "p.csl").write_text(program)
    ran = harness.cslc("p.csl", "--diag-format=json", "-o", "x.bin", cwd=folder, expect=1)
    return [json.loads(line) for line in ran.err.splitlines()]


def documented(title):
    """What stands in the first column of the table under a title, without the quotes."""
    section = PAGE.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_json_has_the_documented_fields(tmp_path):
    first = heads(PROGRAM, tmp_path)[0]
    note = first["notes"][0]
    assert set(first) | set(note) == set(documented("For programs"))
    assert set(note) - {"fix"} == set(first) - {"notes"}
    assert set(note["fix"]) == {"file", "line", "col", "end_line", "end_col", "length", "text"}
    assert (first["line"], first["col"], first["end_col"], first["length"]) == (3, 3, 8, 5)


def applied(program, found):
    """The program with every fix put in, from the end to the start."""
    lines = program.splitlines()
    fixes = [d["fix"] for head in found for d in (head, *head["notes"]) if "fix" in d]
    for fix in sorted(fixes, key=lambda f: (-f["line"], -f["col"])):
        line = lines[fix["line"] - 1]
        lines[fix["line"] - 1] = line[:fix["col"] - 1] + fix["text"] + line[fix["end_col"] - 1:]
    return "\n".join(lines) + "\n"


def test_fixes_make_the_program_compile(tmp_path):
    fixed = applied(PROGRAM, heads(PROGRAM, tmp_path))
    assert fixed == PROGRAM.replace("cuont", "count").replace("activaet", "activate")
    (tmp_path / "p.csl").write_text(fixed)
    harness.cslc("p.csl", "-o", "x.bin", cwd=tmp_path)


def test_a_missing_semicolon_has_its_fix(tmp_path):
    program = PROGRAM.replace("+= 1;", "+= 1").replace("cuont", "count").replace("aet", "ate")
    fixed = applied(program, heads(program, tmp_path))
    assert fixed == program.replace("+= 1", "+= 1;")


def test_every_warning_is_documented():
    table = (harness.ROOT / "frontend/diag.def").read_text()
    rows = re.findall(r"^DIAG\d\(WARNING, (\w+),", table, re.M)
    assert sorted(documented("Warnings")) == sorted(rows)
