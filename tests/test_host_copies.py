"""CSELFRunner with colors of memcpy: tensors that are streamed to and from the tiles of a program, at once
or in batches; and ELFLoader, which reads what the tiles held in the end."""
import pytest

import harness
from test_host_border import RUN, build as build_border, script as run_script

LAYOUT = """
param W: u16; param H: u16; param n: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = W, .height = H });
layout {
  @set_rectangle(W, H);
  for (@range(u16, W)) |x| {
    for (@range(u16, H)) |y| {
      @set_tile_code(x, y, "pe.csl", .{ .memcpyParams = memcpy.get_params(x), .n = n });
    }
  }
}
"""

# Takes an element of `left` and one of `right` by turns, so the host must send both at once, and sends
# the sums back; after each batch also how many batches there were.
PE = """
param memcpyParams: comptime_struct; param n: u16;
const left = @get_color(1);
const right = @get_color(2);
const sums = @get_color(3);
const batches = @get_color(4);
const sys_mod = @import_module("<memcpy/memcpy>", @concat_structs(memcpyParams, .{
  .MEMCPYH2D_1 = left, .MEMCPYH2D_2 = right, .MEMCPYD2H_1 = sums, .MEMCPYD2H_2 = batches }));
const wse3 = @is_arch("wse3");
const left_queue = @get_input_queue(2);
const right_queue = @get_input_queue(3);
const sums_queue = @get_output_queue(4);
const batches_queue = @get_output_queue(5);
const left_id = if (wse3) @get_data_task_id(left_queue) else @get_data_task_id(left);
const right_id = if (wse3) @get_data_task_id(right_queue) else @get_data_task_id(right);
const out = @get_dsd(fabout_dsd, .{ .fabric_color = sums, .extent = 1,
                                    .output_queue = sums_queue });
const count_out = @get_dsd(fabout_dsd, .{ .fabric_color = batches, .extent = 1,
                                          .output_queue = batches_queue });
var first: u32 = 0;
var taken: u16 = 0;
var done: u32 = 0;
task take_left(word: u32) void {
  first = word;
  @block(left_id);
  @unblock(right_id);
}
task take_right(word: u32) void {
  @mov32(out, first + word);
  taken += 1;
  if (taken == n) {
    taken = 0;
    done += 1;
    @mov32(count_out, done);
  }
  @block(right_id);
  @unblock(left_id);
}
comptime {
  @bind_data_task(take_left, left_id);
  @bind_data_task(take_right, right_id);
  @block(right_id);
  if (wse3) {
    @initialize_queue(left_queue, .{ .color = left });
    @initialize_queue(right_queue, .{ .color = right });
    @initialize_queue(sums_queue, .{ .color = sums });
    @initialize_queue(batches_queue, .{ .color = batches });
  }
}
"""


def build(folder, arch, width, height, n):
    (folder / "layout.csl").write_text(LAYOUT)
    (folder / "pe.csl").write_text(PE)
    harness.compile(folder / "layout.csl", folder / "out", f"--arch={arch}", "--memcpy",
                    "--channels=1", f"--fabric-dims={width + 7},{height + 2}",
                    "--fabric-offsets=4,1", params={"W": width, "H": height, "n": n})
    return folder


def copies(inputs="[1, 2]", outputs="[3, 4]"):
    return RUN.splitlines()[-1].replace(
        "])", f"], debug_mode=True, width=W, height=H, input_colors={inputs}, "
        f"output_colors={outputs})")


def script(folder, size, text):
    width, height, n = size
    return run_script(folder, f"""
        W, H, N = {width}, {height}, {n}
        {copies()}
        grid = "[x=0:{width - 1}, y=0:{height - 1}, k=0:{n - 1}] -> [PE[x, y] -> index[k]]"
        numbers = np.random.default_rng(W + H + N)
        """ + text)


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_tensors_are_copied_at_once_in_batches(tmp_path, arch):
    """`left` by rows from a side, `right` by a port map; a batch has the colors that it names."""
    random = harness.commit_random(f"copies {arch}")
    size = tuple(int(random.integers(1, 6)) for _ in range(3))
    script(build(tmp_path, arch, *size), size, """
        runner.add_input_array("left", 1, "W", None, reusable=True)
        runner.add_input_tensor(2, f"{{right{grid}}}", None, reusable=True)
        runner.add_output_tensor(3, f"{{sums{grid}}}", np.uint32)
        runner.add_output_array("batches", 4, "N", np.zeros((W, H, 1), np.int16), reusable=True)
        runner.load()
        runner.start()
        for batch in range(1, 4):
            left, right = numbers.integers(10 ** 6, size=(2, W, H, N), dtype=np.uint32)
            runner.prepare_input_array(1, 0, left.swapaxes(0, 1))
            runner.prepare_input_tensor(2, f"{{right{grid}}}", right)
            runner.run_batch([1, 2, 3])
            assert (runner.out_tensor_dict["sums"] == left + right).all()
            runner.run_batch([4])
            batches = runner.out_tensor_dict["batches"]
            assert batches.dtype == np.int16 and batches.shape == (W, H, 1)
            assert (batches == batch).all()
        runner.stop()
        assert (runner.get_symbol_rect(((4, 1), (W, H)), "done", np.uint32) == 3).all()
    """)


@pytest.mark.parametrize("arch", ("wse2", "wse3"))
def test_tensors_are_copied_in_one_run(tmp_path, arch):
    """Arrays by columns and rows, some rows further on; 16-bit elements are in the low halves."""
    random = harness.commit_random(f"copies in one run {arch}")
    size = int(random.integers(1, 5)), int(random.integers(1, 5)), int(random.integers(1, 7))
    script(build(tmp_path, arch, *size), size, """
        left = numbers.integers(0, 2 ** 15, (W, H, N), dtype=np.uint16)
        right = numbers.integers(0, 2 ** 15, (H, W, N), dtype=np.int16)
        runner.add_input_array("left", 1, "S", left)
        runner.add_input_array("right", 2, "E", right)
        runner.add_output_array("sums", 3, "W", np.zeros((H, W * N), np.uint32))
        runner.add_output_tensor(4, "{batches[x=0:%d][y=0:%d] -> [PE[x, y] -> index[0]]}" % (
            W - 1, H - 1), np.uint16)
        runner.connect_and_run("core.out")
        sums = runner.out_tensor_dict["sums"].reshape(H, W, N)
        assert (sums == left.swapaxes(0, 1).astype(np.uint32) + right.astype(np.uint32)).all()
        assert (runner.out_tensor_dict["batches"] == 1).all()
        from cerebras.elf.cself import ELFLoader
        done = ELFLoader("out/bin/out_0_0.elf", "core.out").get_as_array("done", 1, np.uint32)
        assert done.shape == (4 + W, 1 + H, 1)
        assert done.sum() == W * H and (done[4:, 1:] == 1).all()
    """)
    assert (tmp_path / "simfab_traces").is_dir() and (tmp_path / "sim.log").is_file()


def test_a_part_of_the_rows(tmp_path):
    """A stream to some tiles only, from a row on; the others wait, which is no mistake."""
    size = 3, 4, 2
    script(build(tmp_path, "wse2", *size), size, """
        half = np.arange(2 * W * N, dtype=np.uint32).reshape(2, W, N)
        runner.add_input_array("left", 1, "W", half, offset=1)
        runner.add_input_array("right", 2, "W", half[::-1], offset=1)
        runner.add_output_array("sums", 3, "W", half, offset=1)
        runner.add_output_array("batches", 4, "W", np.zeros((2, W), np.uint32), offset=1)
        runner.connect_and_run()
        assert (runner.out_tensor_dict["sums"] == half + half[::-1]).all()
    """)


def test_mistakes_are_explained(tmp_path):
    size = 3, 2, 4
    script(build(tmp_path, "wse2", *size), size, """
        x = np.zeros((H, W, N), np.uint32)
        def said(text, call, *args, **named):
            found = message(call, *args, **named)
            assert text in found, found

        said("color 7 is none of CSELFRunner's input_colors", runner.add_input_array, "x", 7, "W", x)
        said("color 1 is none of CSELFRunner's output_colors", runner.add_output_tensor, 1,
             f"{{y{grid}}}", np.uint32)
        said("cannot share 5 elements evenly", runner.add_input_array, "x", 1, "W",
             np.zeros((2, 5), np.uint32))
        said("3 parts from row 0 on: the program has 2 rows of tiles", runner.add_input_array, "x", 1,
             "W", np.zeros((3, 6), np.uint32))
        said("2 parts from column 2 on: the program has 3 columns", runner.add_input_array, "x", 1,
             "N", x, offset=2)
        said("a sentinel behind a tensor that memcpy copies is not available", runner.add_input_array,
             "x", 1, "W", x, 40)
        said("with reusable=True", runner.add_input_array, "x", 1, "W", None)
        said("16 or 32 bits", runner.add_input_array, "x", 1, "W", x.astype(np.float64))
        said("is of 2 elements, but a stream to 2 x 2 tiles from 0,0 on with 1 each has 4",
             runner.add_input_tensor, 1, "{x[i=0:1] -> [PE[i, i] -> index[0]]}",
             np.zeros(2, np.uint32))
        said("not ('W', 0)", runner.add_input_tensor, 1, ("W", 0), x)
        said("color 3 stands twice", CSELFRunner, ["out/bin/out_0_0.elf"], input_colors=[3],
             output_colors=[3])
        runner.add_output_array("y", 4, "W", x)
        said("there is an output 'y' already", runner.add_output_tensor, 3, f"{{y{grid}}}", np.uint32)
        said("color 2 has no array: add_input_array gives it a side first",
             runner.prepare_input_array, 2, 0, x)
        said("run_batch() before load()", runner.run_batch, [1])
        runner.add_input_array("x", 1, "W", None, reusable=True)
        runner.load()
        runner.start()
        said("the input 'x' of color 1 has no elements yet", runner.run_batch, [1])
        said("color 3 has no tensor", runner.run_batch, [3])
        said("color 9 has no tensor", runner.run_batch, [9])
        said("runs once", runner.connect_and_run)
        runner.stop()
        late = CSELFRunner(["out/bin/out_0_0.elf"], input_colors=[1])
        late.add_input_array("x", 1, "W", None, reusable=True)
        said("the input 'x' of color 1 has no elements yet", late.connect_and_run)
        plain = CSELFRunner(["out/bin/out_0_0.elf"])
        said("run_batch() is for copies by memcpy", plain.run_batch, [1])
        said("is for input_colors", plain.add_input_array, "x", 1, "W", None)
        plain.connect_and_run("core.out")
        from cerebras.elf.cself import ELFLoader
        loader = ELFLoader("out/bin/out_0_0.elf", "core.out")
        said("no tile of the program has the symbol 'sum'", loader.get_as_array, "sum", 1, np.uint32)
        said("'done' has 1 elements on the tile (4, 1), not 2", loader.get_as_array, "done", 2,
             np.uint32)
    """)


def test_the_end_of_a_run_with_ports_is_read(tmp_path):
    """Its links are not those of the reader, whose program has none."""
    run_script(build_border(tmp_path, "wse3", 2, 1), """
        runner.add_input_tensor(1, ("W", 0), np.arange(5, dtype=np.uint32))
        runner.add_output_tensor(1, "{z[i=0:4] -> [PE[2, 0] -> index[i mod 5]]}}", np.uint32)
        runner.connect_and_run("core.out")
        assert runner.out_tensor_dict["z"].tolist() == list(range(5))
        from cerebras.elf.cself import ELFLoader
        seen = ELFLoader("out/bin/out_0_0.elf", "core.out").get_as_array("seen", 1, np.uint32)
        assert seen.shape == (6, 2, 1) and seen[4:, 1, 0].tolist() == [5, 5]
    """)
