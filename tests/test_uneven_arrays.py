"""Exported arrays whose length differs from tile to tile: each tile takes part with its own."""
import numpy
import pytest

import harness

WIDTH, HEIGHT = 4, 3
TYPES = {"i8": numpy.int8, "i16": numpy.int16, "f32": numpy.float32, "i64": numpy.int64}
LAYOUT = """
const lengths = [{count}]u16{{ {lengths} }};
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{
    for (@range(u16, {height})) |y| {{
      @set_tile_code(x, y, "pe.csl", .{{ .n = lengths[y * {width} + x] }});
    }}
  }}
  @export_name("v", [*]{type}, true);
  @export_name("behind", [*]{type}, true);
}}
"""
PE = """
param n: u16;
var v = @zeros([n]{type});
var behind = @constants([4]{type}, 77);
var v_ptr: [*]{type} = &v;
var behind_ptr: [*]{type} = &behind;
comptime {{
  @export_symbol(v_ptr, "v");
  @export_symbol(behind_ptr, "behind");
}}
"""


def program(folder, kind, lengths):
    texts = {"type": kind, "width": WIDTH, "height": HEIGHT, "count": WIDTH * HEIGHT,
             "lengths": ", ".join(map(str, lengths.reshape(-1)))}
    (folder / "layout.csl").write_text(LAYOUT.format(**texts))
    (folder / "pe.csl").write_text(PE.format(**texts))
    harness.compile(folder / "layout.csl", folder / "p.bin")
    return folder / "p.bin"


def padded(values, lengths):
    """With zeros behind the end of each tile's array."""
    return numpy.where(numpy.arange(values.shape[2]) < lengths[:, :, None], values, 0)


@pytest.mark.parametrize("kind", TYPES)
def test_copies_take_the_length_of_each_tile(tmp_path, kind):
    chance = numpy.random.default_rng()
    lengths = chance.integers(1, 7, (HEIGHT, WIDTH))
    lengths[1, 1:3] = lengths[2, 1:3] = lengths.max()        # some rectangle of equal ones
    most = lengths.max()
    image = program(tmp_path, kind, lengths)
    given = padded(chance.integers(-100, 100, (HEIGHT, WIDTH, most)), lengths).astype(TYPES[kind])
    numpy.save(tmp_path / "a.npy", given)
    out = harness.emu(image, f"--h2d=v={tmp_path}/a.npy", f"--d2h=v={tmp_path}/b.npy",
                      f"--d2h=v@1,0,3,2={tmp_path}/part.npy", "--print=v", "--print=behind").out
    assert (numpy.load(tmp_path / "b.npy") == given).all(), lengths
    part = lengths[:2, 1:]
    assert (numpy.load(tmp_path / "part.npy") == given[:2, 1:, :part.max()]).all(), lengths
    for y in range(HEIGHT):
        for x in range(WIDTH):
            shown = " ".join(f"{v:g}" for v in given[y, x, :lengths[y, x]])
            assert f"v@{x},{y}: {shown}\n" in out, lengths
            assert f"behind@{x},{y}: 77 77 77 77\n" in out, lengths


def test_values_that_no_array_takes_are_refused(tmp_path):
    lengths = numpy.full((HEIGHT, WIDTH), 4)
    lengths[1, 2] = 2
    image = program(tmp_path, "i16", lengths)
    values = numpy.ones((HEIGHT, WIDTH, 4), numpy.int16)
    numpy.save(tmp_path / "a.npy", values)
    ran = harness.emu(image, f"--h2d=v={tmp_path}/a.npy", expect=1)
    assert "4 elements are given for 'v', but tile (2, 1) has 2: those behind its end must be 0 " \
        "[values_behind_end]" in ran.err
    three = ",".join(["1"] * 3 * WIDTH * HEIGHT)
    ran = harness.emu(image, f"--h2d=v={three}", expect=1)
    assert "3 elements do not fit 'v', which has 2" in ran.err
    two = ",".join(["5"] * 2 * WIDTH * HEIGHT)
    assert "v@2,1: 5 5\n" in harness.emu(image, f"--h2d=v={two}", "--print=v").out
