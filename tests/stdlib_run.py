"""Runs small programs against the standard library, on both architectures and engines.

A program is a tile's text with a function `main` that works on buffers; buffers, exports and the
layout are made here:

    values = stdlib_run.run(tmp_path, '''
      const math = @import_module("<math>");
      fn main() void { y[0] = math.sqrt_f32(x[0]); }''',
      {"x": ("f32", 1), "y": ("f32", 1)}, {"x": [2.0]})["y"]
"""
import re

import numpy

import harness

DTYPES = {"f32": numpy.float32, "u32": numpy.uint32, "i32": numpy.int32, "f16": numpy.float16,
          "u16": numpy.uint16, "i16": numpy.int16}
ARCHS = ("wse2", "wse3")

LAYOUT = """
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{
    for (@range(u16, {height})) |y| {{
      @set_tile_code(x, y, "pe.csl", .{{}});
    }}
  }}
{exports}
  @export_name("main", fn()void);
}}
"""


def declarations(buffers):
    """Exported buffers of a tile program: {name: (element type, count)}."""
    lines = []
    for name, (element, count) in buffers.items():
        lines += [f"var {name} = @zeros([{count}]{element});",
                  f"var {name}_ptr: [*]{element} = &{name};",
                  f'comptime {{ @export_symbol({name}_ptr, "{name}"); }}']
    return "\n".join(lines)


def build(folder, text, buffers, *args, arch="wse3", grid=(1, 1)):
    """Compiles one program with its exported buffers, for all tiles of a grid; the image."""
    exports = "\n".join(f'  @export_name("{name}", [*]{element}, true);'
                        for name, (element, _) in buffers.items())
    (folder / "layout.csl").write_text(LAYOUT.format(
        exports=exports, width=grid[0], height=grid[1]))
    (folder / "pe.csl").write_text(
        declarations(buffers) + "\n" + text + "\ncomptime { @export_symbol(main); }\n")
    image = folder / "program.bin"
    harness.compile(folder / "layout.csl", image, f"--arch={arch}", *args)
    return image


def run(folder, text, buffers, inputs=None, *args, arch="wse3", engine="fast", grid=(1, 1),
        expect=0):
    """Compiles, copies `inputs` in, launches main; {name: array} of all buffers, flat, in the order
    rows of tiles, tiles, elements."""
    image = build(folder, text, buffers, *args, arch=arch, grid=grid)
    actions = []
    for name, array in (inputs or {}).items():
        element, count = buffers[name]
        array = numpy.asarray(array, DTYPES[element]).reshape(grid[1], grid[0], count)
        actions.append(f"--h2d={name}={harness.save_npy(folder / f'{name}_in.npy', array)}")
    actions.append("--launch=main")
    for name in buffers:
        actions.append(f"--d2h={name}={folder / f'{name}.npy'}")
    done = harness.emu(image, f"--engine={engine}", *actions, expect=expect)
    if expect:
        return done
    return {name: harness.load_npy(folder / f"{name}.npy").ravel() for name in buffers}


def prints(folder, text, *args, grid=(1, 1), **options):
    """What a program without buffers writes with <simprint>: lines without the cycle; with more
    than one tile in order of the tiles."""
    image = build(folder, text, {}, *args, grid=grid, **options)
    lines = [re.fullmatch(r"@\d+ P(\d+)\.(\d+): (.*)", line).groups()
             for line in harness.emu(image, "--launch=main").out.splitlines()]
    return [line for _, _, line in sorted(lines, key=lambda l: (int(l[1]), int(l[0])))]
