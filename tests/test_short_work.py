"""Rows of tiles whose tasks are short: some scalar code, operations of few elements, a wavelet or
two to the next tile.  The fast engine does such a task in one visit, ahead of its cycle, and takes
it back where a run ends in between.  Random programs end as on the reference engine: to the end, at
any cycle, at a failed assertion of another tile, from a state, with and without a trace, on
threads.
"""
import random

import harness

WIDTH, HEIGHT, NUMBERS = 5, 3, 9
PROGRAMS, STOPS = 4, 6

LAYOUT = """
param numbers: u16;
param fails: u16;
const even: color = @get_color(0);
const odd: color = @get_color(1);
layout {{
  @set_rectangle({width}, {height});
  for (@range(u16, {width})) |x| {{
    const out = if (x % 2 == 0) even else odd;
    const in = if (x % 2 == 0) odd else even;
    for (@range(u16, {height})) |y| {{
      @set_tile_code(x, y, "pe.csl", .{{
        .numbers = numbers + y, .fails = fails, .in = in, .out = out,
        .is_first = x == 0, .is_last = x == {width} - 1, .asserts = x == {width} - 1 and y == 1
      }});
      if (x != 0) {{
        @set_color_config(x, y, in, .{{ .routes = .{{ .rx = .{{ WEST }}, .tx = .{{ RAMP }} }} }});
      }}
      if (x != {width} - 1) {{
        @set_color_config(x, y, out, .{{ .routes = .{{ .rx = .{{ RAMP }}, .tx = .{{ EAST }} }} }});
      }}
    }}
  }}
  @export_name("sum", u32, true);
  @export_name("data", [*]f32, true);
}}
"""

TILE = """
param numbers: u16;
param fails: u16;
param in: color;
param out: color;
param is_first: bool;
param is_last: bool;
param asserts: bool;

const in_queue = @get_input_queue(2);
const out_queue = @get_output_queue(3);
const add_id = if (@is_arch("wse3")) @get_data_task_id(in_queue) else @get_data_task_id(in);
const main_id = @get_local_task_id(9);
const more_id = @get_local_task_id(10);

var one = @zeros([2]u32);
var data = @zeros([64]f32);
export var sum: u32 = 0;
var data_ptr: [*]f32 = &data;
var taken: u16 = 0;

{descriptors}
const sent = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{sends}}} -> one[i] }});
const out_dsd = @get_dsd(fabout_dsd, .{{
  .fabric_color = out, .extent = {sends}, .output_queue = out_queue
}});

fn send(number: u32) void {{
  if (!is_last) {{
    one[0] = number;
    @mov32(out_dsd, sent);
  }}
}}

fn work(number: u32) void {{
{work}
}}

task add(number: u32) void {{
  taken += 1;
  if (asserts) {{
    @assert(taken != fails);
  }}
  sum += number;
{order}
}}

task more() void {{
  sum += 3;
{more}
}}

task main() void {{
  for (@range(u16, numbers)) |i| {{
    work(@as(u32, i));
    send(@as(u32, i) * {sends} + 1);
  }}
}}

comptime {{
  @bind_local_task(more, more_id);
  if (is_first) {{
    @bind_local_task(main, main_id);
    @activate(main_id);
  }} else {{
    if (@is_arch("wse3")) {{
      @initialize_queue(in_queue, .{{ .color = in }});
    }}
    @bind_data_task(add, add_id);
  }}
  if (@is_arch("wse3") and !is_last) {{
    @initialize_queue(out_queue, .{{ .color = out }});
  }}
  @export_symbol(sum, "sum");
  @export_symbol(data_ptr, "data");
}}
"""

DESCRIPTORS = 4


def drawn_for(purpose):
    return random.Random(int(harness.commit_random(purpose).integers(1 << 32)))


def descriptor(chance, k):
    """Few elements, in any order, of 64; now and then more than a visit does ahead."""
    length, step = chance.choice([1, 2, 3, 5, 8, 14, 21]), chance.choice([1, 2, 3, -1])
    low = max(0, -step * (length - 1))
    first = chance.randint(low, 63 - max(0, step * (length - 1)))
    return (f"const d{k} = @get_dsd(mem1d_dsd, .{{ .tensor_access = "
            f"|i|{{{length}}} -> data[{step} * i + {first}] }});")


def operation(chance):
    """All lengths are those of the destination, which decides."""
    a, b, c = (f"d{chance.randrange(DESCRIPTORS)}" for _ in range(3))
    return chance.choice([
        f"  @fadds({a}, {b}, {c});", f"  @fmuls({a}, {b}, 0.5);", f"  @fmovs({a}, 1.25);",
        f"  @fmovs({a}, {b});", f"  @fmacs({a}, {b}, {c}, 0.125);",
        "  sum += number;", "  sum = sum * 3 + 1;", "  data[7] += 0.5;", "  one[1] = sum;",
        f"  @fmovs(@set_dsd_length({a}, @as(u16, number % 4)), {b});",
        f"  @fadds(@increment_dsd_offset({a}, 0, f32), {b}, {c});",
    ])


def source(chance):
    def lines(most):
        return "\n".join(operation(chance) for _ in range(chance.randint(0, most)))

    order = ["  work(number);", "  send(number + 1);"]
    chance.shuffle(order)
    return TILE.format(
        descriptors="\n".join(descriptor(chance, k) for k in range(DESCRIPTORS)),
        sends=chance.choice([1, 1, 1, 2]), work=lines(6), order="\n".join(
            order + ["  @activate(more_id);"] * chance.randint(0, 1)),
        more=lines(2).replace("number", "sum"))


def compiled(chance, tmp_path):
    (tmp_path / "layout.csl").write_text(LAYOUT.format(width=WIDTH, height=HEIGHT))
    (tmp_path / "pe.csl").write_text(source(chance))
    return harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin",
                           f"--arch={chance.choice(['wse2', 'wse3'])}",
                           f"-O{chance.choice([0, 1, 2])}",
                           params={"numbers": NUMBERS, "fails": 0})


OF_THE_RUN = ("engine", "threads", "load_seconds", "wall_seconds", "peak_rss_bytes",
              "active_tile_cycles_per_second")


ALL_TILES = f"--dump=0,0,{WIDTH},{HEIGHT}"


def outcome(tmp_path, image, *args):
    """Code, text and statistics of a run."""
    ran = harness.emu(image, f"--stats={tmp_path}/s.json", "--print=sum", "--print=data",
                      "--check=warn", *args, expect=None)
    counted = {k: v for k, v in harness.stats(tmp_path / "s.json").items() if k not in OF_THE_RUN}
    return ran.code, ran.out, ran.err, counted


def compare(tmp_path, image, *args, ways=((), ("--threads=2",))):
    args = (ALL_TILES, *args)
    wanted = outcome(tmp_path, image, "--engine=reference", *args)
    for way in ways:
        assert outcome(tmp_path, image, "--engine=fast", *way, *args) == wanted, args
    return wanted


def compare_states(tmp_path, image, stop):
    state = tmp_path / "run.state"
    wanted = outcome(tmp_path, image)
    for engine, other in (("fast", "reference"), ("reference", "fast")):
        outcome(tmp_path, image, f"--engine={engine}", f"--max-cycles={stop}",
                f"--save-state={state}")
        again = outcome(tmp_path, image, f"--engine={other}", f"--load-state={state}")
        assert again == wanted, (engine, stop)


def test_short_tasks(tmp_path):
    chance = drawn_for("short work")
    for _ in range(PROGRAMS):
        compiled(chance, tmp_path)
        image = tmp_path / "p.bin"
        wanted = compare(tmp_path, image)
        cycles = wanted[3]["cycles"]
        for _ in range(STOPS):
            compare(tmp_path, image, f"--max-cycles={chance.randint(1, cycles)}")
        compare_states(tmp_path, image, chance.randint(1, cycles))
        traces = [tmp_path / f"{engine}.txt" for engine in ("fast", "reference")]
        for trace in traces:
            harness.emu(image, f"--engine={trace.stem}", "--trace=all", f"--trace-file={trace}",
                        "--check=warn", expect=None)
        assert traces[0].read_bytes() == traces[1].read_bytes()


def test_short_tasks_beside_a_fault(tmp_path):
    """Where few tiles are awake a run ends with the cycle of the fault: what others have done ahead
    of it is undone."""
    chance = drawn_for("short work beside a fault")
    ends = set()
    for _ in range(PROGRAMS):
        compiled(chance, tmp_path)
        for fails in chance.sample(range(1, NUMBERS + 1), 3):
            harness.compile(tmp_path / "layout.csl", tmp_path / "p.bin",
                            params={"numbers": NUMBERS, "fails": fails})
            ends.add(compare(tmp_path, tmp_path / "p.bin", ways=((),))[0])
    assert 2 in ends, "no program has failed"
