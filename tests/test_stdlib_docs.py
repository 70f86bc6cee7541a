"""docs/library.md and the library agree: modules, members, code sizes."""
import re

import harness
import stdlib_run

PAGE = (harness.ROOT / "docs" / "library.md").read_text()
STDLIB = harness.ROOT / "stdlib"


def sections():
    """{module: its text}, for headings that name one module."""
    parts = re.split(r"^### (.*)$", PAGE, flags=re.M)[1:]
    return {match.group(1): text for heading, text in zip(parts[::2], parts[1::2])
            if (match := re.fullmatch(r"`<([\w/]+)>`", heading))}


def members(module):
    text = (STDLIB / f"{module}.csl").read_text()
    declaration = r"^(?:export )?(?:inline )?(?:fn|const|var|param|task) (\w+)"
    return set(re.findall(declaration, text, re.M))


def first_column(text):
    """The names in the first cells of a section's tables."""
    for line in text.splitlines():
        if line.startswith("| `"):
            for span in re.findall(r"`([^`]*)`", line.split("|")[1]):
                yield re.match(r"[\w.]+", span).group(0)


def test_every_module_has_a_section():
    modules = {str(path.relative_to(STDLIB).with_suffix("")) for path in STDLIB.rglob("*.csl")}
    named = set(re.findall(r"`<([\w/]+)>`", PAGE))
    inside = {m for m in modules if m.startswith("tile_config/")}   # members of <tile_config>
    assert modules - inside <= named
    assert not named - modules


def test_every_name_exists():
    seen = 0
    for module, text in sections().items():
        for name in first_column(text):
            *submodule, member = name.split(".")
            place = "/".join([module, *submodule])
            assert member in members(place), f"<{place}> has no {member}"
            seen += 1
    assert seen > 150


def between_commas(text):
    """The parts of a list; commas inside of brackets do not count."""
    return [part for part in re.split(r",(?![^\[({]*[\])}])", text) if part.strip()]


def counts_of_parameters(module):
    """{function: the numbers of parameters of its forms}"""
    text, found = (STDLIB / f"{module}.csl").read_text(), {}
    for name, given in re.findall(r"^(?:export |inline )*fn (\w+)\((.*?)\)\s*[\[\w@*(]", text,
                                  re.M | re.S):
        found.setdefault(name, set()).add(len(between_commas(given)))
    return found


def test_every_signature_has_the_parameters_of_its_function():
    parts = re.split(r"^### (.*)$", PAGE, flags=re.M)[1:]
    seen, wrong = 0, []
    for heading, text in zip(parts[::2], parts[1::2]):
        modules = re.findall(r"`<([\w/]+)>`", heading)
        for line in text.splitlines():
            if not line.startswith("| `"):
                continue
            for path, given in re.findall(r"`([\w.]+)\(([^`]*)\)`", line.split("|")[1]):
                *submodule, name = path.split(".")
                counts = set().union(*(counts_of_parameters("/".join([module, *submodule])).get(name, ())
                                       for module in modules))
                seen += 1
                if given != "..." and len(between_commas(given)) not in counts:
                    wrong.append(f"{heading}: {path}({given}) takes {counts}")
    assert seen > 300 and wrong == []


def test_every_row_says_since_which_release():
    tables = re.findall(r"^\| member .*\n\| ---.*\n((?:\|.*\n)+)", PAGE, re.M)
    releases = [line.split("|")[-2].strip() for table in tables for line in table.splitlines()]
    assert len(tables) > 30 and len(releases) > 140
    assert set(releases) == {"1.4", "2.10", "seen", "ours"}
    assert all(heading.split("|")[-2].strip() == "SDK"
               for heading in re.findall(r"^\| member .*$", PAGE, re.M))


def test_what_is_ours_is_not_the_vendors():
    """The column and the folders agree: modules of these folders are ours, nothing else is."""
    for module, text in sections().items():
        cells = {line.split("|")[-2].strip() for line in text.splitlines() if line[:3] == "| `"}
        assert ("ours" in cells) == module.startswith(("collectives/", "blas/", "links/", "tasks/")) or not cells, module
        assert "ours" not in cells or cells == {"ours"}, module


def test_suffixed_forms_of_math_exist():
    functions = members("math")
    table = [line for line in sections()["math"].splitlines() if "exact" in line or "," in line]
    names = {name for line in table for name in first_column(line)}
    for name in names - {"POSITIVE_INF", "PI", "E", "NEGATIVE_INF", "NaN"}:
        assert {name, f"{name}_f16", f"{name}_f32"} <= functions, name


def code_bytes(listing):
    return int(next(line for line in listing.splitlines() if line.startswith("code")).split()[2])


def bytes_of(folder, expression):
    stdlib_run.build(folder, f"""
const math = @import_module("<math>");
fn main() void {{ y[0] = {expression}; }}
""", {"x": ("f32", 2), "y": ("f32", 1), "n": ("i16", 1)})
    return code_bytes(harness.cslc(folder / "layout.csl", "--arch=wse3", "--emit=map").out)


def test_code_bytes_of_math(tmp_path):
    """No function is larger than its row says, and no row says far more than it is."""
    empty = bytes_of(tmp_path, "x[0]")
    rows = 0
    for line in sections()["math"].splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 6 or not re.match(r"\d", cells[4]):
            continue
        for name, stated in zip(re.findall(r"`(\w+)`", cells[1]), cells[4].split(",")):
            more = {"pow": ", x[1]", "fscale": ", n[0]"}.get(name, "")
            size = bytes_of(tmp_path, f"math.{name}_f32(x[0]{more})") - empty
            assert int(stated) * 0.6 <= size <= int(stated), f"{name}: {size} bytes"
            rows += 1
    assert rows == 13


def test_memcpy_takes_at_most_two_kilobytes(tmp_path):
    for arch in stdlib_run.ARCHS:
        (tmp_path / "layout.csl").write_text("""
const memcpy = @import_module("<memcpy/get_params>", .{ .width = 1, .height = 1 });
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(0) });
  @export_name("main", fn(f32, i16)void);
}
""")
        (tmp_path / "pe.csl").write_text("""
param memcpy_params;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
fn main(a: f32, b: i16) void { sys.unblock_cmd_stream(); }
comptime { @export_symbol(main); }
""")
        listing = harness.cslc(tmp_path / "layout.csl", f"--arch={arch}", "--memcpy",
                               "--channels=1", "--fabric-dims=8,3", "--fabric-offsets=4,1",
                               "--emit=map").out
        assert 0 < code_bytes(listing) <= 2048
