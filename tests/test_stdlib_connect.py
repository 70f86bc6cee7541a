"""<collectives/connect>: random channels on random rectangles, all in use, against numpy."""
import numpy
import pytest

import collectives_run as lines
import harness

MOST_ENDS = 3            # a tile's channels in, and out
TYPES = {"f32": numpy.float32, "f16": numpy.float16, "i32": numpy.int32, "u16": numpy.uint16}


def drawn_channels(random, width, height, n):
    """(from, to) of channels, so that no tile has too many."""
    found, out, into = [], {}, {}
    while len(found) < n:
        source, target = (tuple(int(random.integers(0, k)) for k in (width, height))
                          for _ in range(2))
        if source != target and out.get(source, 0) < MOST_ENDS and into.get(target, 0) < MOST_ENDS:
            out[source] = out.get(source, 0) + 1
            into[target] = into.get(target, 0) + 1
            found.append((source, target))
    return found


def write_program(folder, width, height, channels, lengths, element, colors):
    """Each tile makes its calls in the order of the channels, so some tile can always continue."""
    listed = ", ".join(f".{{ .from_x = {a[0]}, .from_y = {a[1]}, .to_x = {b[0]}, .to_y = {b[1]} }}"
                       for a, b in channels)
    total = sum(lengths)
    codes = []
    for y in range(height):
        for x in range(width):
            imports, calls, queues = [], [], {True: 2, False: 2}
            for k, (a, b) in enumerate(channels):
                if (x, y) in (a, b):
                    sends = (x, y) == a
                    imports.append(f'const c{k} = @import_module("<collectives/channel>", '
                                   f'.{{ .role = r{k}, .T = {element}, .queue = {queues[sends]} }});\n'
                                   f'param r{k}: comptime_struct;\n')
                    queues[sends] += 1
                    calls.append(f"  c{k}.run({lengths[k]}, @ptrcast([*]{element}, "
                                 f"&v[{sum(lengths[:k])}]));\n")
            (folder / f"pe{x}_{y}.csl").write_text(
                "".join(imports) + f"var v = @zeros([{total + 1}]{element});\n"
                f"var v_ptr: [*]{element} = &v;\n"
                "task main() void {\n" + "".join(calls) + "}\ncomptime {\n"
                "  @bind_local_task(main, @get_local_task_id(8));\n"
                "  @activate(@get_local_task_id(8));\n  @export_symbol(v_ptr, \"v\");\n}\n")
            ends = ", ".join(f".r{k} = net.channel_end({x}, {y}, plan, {k})"
                             for k, pair in enumerate(channels) if (x, y) in pair)
            codes.append(f"  net.connect_tile({x}, {y}, plan);\n"
                         f"  @set_tile_code({x}, {y}, \"pe{x}_{y}.csl\", .{{ {ends} }});\n")
    (folder / "layout.csl").write_text(
        'const net = @import_module("<collectives/connect>");\n'
        f"const channels = [{len(channels)}]net.channel{{ {listed} }};\n"
        f"const plan = net.connect_plan({width}, {height}, {len(channels)}, channels, "
        f"{'@get_color(1)' if len(channels) % 2 else 1}, "
        f"{colors});\n"
        f"layout {{\n  @set_rectangle({width}, {height});\n" + "".join(codes)
        + f'  @export_name("v", [*]{element}, true);\n}}\n')


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("element", TYPES)
def test_random_channels(tmp_path, element, arch):
    random = harness.commit_random(f"connect {element} {arch}")
    width, height = (int(random.integers(2, 5)) for _ in range(2))
    channels = drawn_channels(random, width, height, int(random.integers(2, width * height + 1)))
    lengths = [lines.log_uniform(random, 1, 60) for _ in channels]
    write_program(tmp_path, width, height, channels, lengths, element, 20)
    image = tmp_path / "o.bin"
    harness.compile(tmp_path / "layout.csl", image, f"--arch={arch}")
    before = random.integers(0, 900, (height, width, sum(lengths) + 1)).astype(TYPES[element])
    for engine in ("fast", "reference"):
        harness.emu(image, f"--engine={engine}",
                    f"--h2d=v={harness.save_npy(tmp_path / 'v.npy', before)}", "--run",
                    f"--d2h=v={tmp_path / 'after.npy'}")
        want = before.copy()
        for k, (a, b) in enumerate(channels):
            part = slice(sum(lengths[:k]), sum(lengths[:k + 1]))
            want[b[1], b[0], part] = before[a[1], a[0], part]
        after = harness.load_npy(tmp_path / "after.npy").reshape(before.shape)
        numpy.testing.assert_array_equal(after, want)


@pytest.mark.parametrize("text, channels, colors", [
    ("no color is free on the whole way of a channel", [((0, 0), (2, 0)), ((1, 0), (2, 0))], 1),
    ("a channel is between two tiles of the rectangle", [((0, 0), (3, 0))], 4),
    ("a channel is between two tiles, not from one to itself", [((1, 0), (1, 0))], 4),
])
def test_mistakes_are_told(tmp_path, text, channels, colors):
    write_program(tmp_path, 3, 1, channels, [1] * len(channels), "f32", colors)
    assert text in harness.compile(tmp_path / "layout.csl", tmp_path / "o.bin", expect=1).err
