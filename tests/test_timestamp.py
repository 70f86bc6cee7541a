"""<time>: a timestamp is three instructions that move a counter's words to memory."""
import re

import pytest

import harness
import stdlib_run

STORES = re.compile(r"\bstctra? (\d), ")


def listing(tmp_path, body, *args):
    (tmp_path / "layout.csl").write_text(stdlib_run.LAYOUT.format(
        width=1, height=1, exports='  @export_name("out", [*]u16, true);'))
    (tmp_path / "pe.csl").write_text(stdlib_run.declarations({"out": ("u16", 8)}) + f"""
const time = @import_module("<time>");
const tile = @import_module("<tile_config>");
var stamp = @zeros([3]u16);
fn main() void {{ {body} }}
comptime {{ @export_symbol(main); }}
""")
    text = harness.run([harness.tool("cslc"), tmp_path / "layout.csl", "--emit=asm", *args]).out
    return text[text.index("\nmain:"):].split("\n\n")[0]


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_a_timestamp_is_three_instructions(tmp_path, level):
    text = listing(tmp_path, "time.enable_tsc(); time.get_timestamp(&stamp);", level)
    assert STORES.findall(text) == ["0", "1", "2"]
    assert "ldcfg" not in text


def test_a_word_that_is_used_otherwise_is_read(tmp_path):
    text = listing(tmp_path, "out[0] = @get_config(0x7e11); const low = @get_config(0x7e12);"
                             "out[1] = low; out[2] = low + 1;")
    assert STORES.findall(text) == ["0"] and text.count("ldcfgi") == 1


def test_what_lies_between_keeps_the_order(tmp_path):
    """The register is read before the assignment to another one, so it cannot move behind it."""
    text = listing(tmp_path, "const low = @get_config(0x7e11); @set_config(0x7e10, 1);"
                             "out[0] = low;")
    assert not STORES.findall(text)


def test_other_registers_are_read(tmp_path):
    text = listing(tmp_path, "out[0] = @get_config(0x7e00);")
    assert not STORES.findall(text) and "ldcfgi" in text
