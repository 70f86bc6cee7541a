"""Time and memory of the compiler grow with a program as the program grows."""
import ctypes
import resource
import subprocess
import sys

import pytest

import harness

ONE_TILE = """
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
}
"""

TASK = """
{functions}
export var n: u16 = 1;
export var a = @zeros([10]u16);
fn added(x: u16, y: u16) u16 {{ if (x > y) {{ return x - y; }} return a[y]; }}
noinline fn step(x: u16) void {{ n += x; a[x % 10] = n; }}
task main() void {{
  {body}
}}
comptime {{ @bind_local_task(main, @get_local_task_id(8)); }}
"""


def write_program(folder, body, functions=""):
    (folder / "layout.csl").write_text(ONE_TILE)
    (folder / "pe.csl").write_text(TASK.format(body=body, functions=functions))


def least_seconds(folder, program, *options):
    """Processor seconds of the compiler, from the least of three runs."""
    write_program(folder, *program)
    least = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        harness.cslc(*options, "layout.csl", cwd=folder)
        least = min(least, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return least


def refuse_huge_pages():
    """In the process that is about to begin: of a huge page, all counts as used."""
    PR_SET_THP_DISABLE = 41
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


# A process counts the memory of the one that started it until it runs its own program.  The tests'
# own process grows, so a small one starts the compiler.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def memory_of_its_own(folder, *args, accepts=(0,)):
    """Megabytes that the compiler had at most, whatever started it; `accepts`: the codes that it may
    end with."""
    ran = subprocess.run([sys.executable, "-c", MEASURE, harness.tool("cslc"), *args], cwd=folder,
                         stdout=subprocess.PIPE, text=True, preexec_fn=refuse_huge_pages)
    assert ran.returncode in accepts
    return int(ran.stdout) / 1024


def test_memory_of_the_compiler_is_not_that_of_the_tests(tmp_path):
    grown = b"x" * (400 << 20)
    (tmp_path / "layout.csl").write_text(ONE_TILE)
    (tmp_path / "pe.csl").write_text("")
    assert memory_of_its_own(tmp_path, "layout.csl", "-o", "p.bin") < len(grown) >> 21


def most_memory(folder, program, *options, accepts=(0,)):
    write_program(folder, *program)
    return memory_of_its_own(folder, *options, "layout.csl", accepts=accepts)


def cases_of_a_switch(count):
    cases = ", ".join(f"{i} => n = {i % 7}" for i in range(count))
    return f"switch (n) {{ {cases}, else => n = 9, }}"


def loops_that_add_to_a_global(count):
    return "\n".join(f"for (@range(i16, 10)) |i| {{ n += a[i] + {k}; }}" for k in range(count))


def changes_under_conditions(count):
    changes = " ".join(f"if (a[{k % 10}] > {k}) {{ x += {k}; }} else {{ y ^= x; }}"
                       for k in range(count))
    return f"var x: u16 = 0; var y: u16 = n; {changes} n = x + y;"


def many_locals_in_a_loop(count):
    begin = " ".join(f"var v{k}: u16 = n * {k};" for k in range(count))
    turn = " ".join(f"v{k} += v{(k + 1) % count};" for k in range(count))
    return f"{begin} while (n < 100) {{ {turn} n += v0; }} n = " + " + ".join(
        f"v{k}" for k in range(count)) + ";"


def locals_without_value(count):
    return "\n".join(f"var v{k}: [2]u16; v{k}[0] = n; n += v{k}[0]; if (n > {k}) n -= v{k}[0];"
                     for k in range(count))


def calls_to_inline(count):
    return " ".join(f"n = added(n, {k});" for k in range(count))


def locals_under_conditions(count):
    return "\n".join(f"var v{k}: u16 = n; if (n > {k}) {{ v{k} = a[{k % 10}]; }} n += v{k};"
                     for k in range(count))


def calls_under_conditions(count):
    return "\n".join(f"if (n > {k}) {{ step({k}); }}" for k in range(count))


def loops_that_clear(count):
    return "\n".join("for (@range(i16, 10)) |i| { a[i] = 0; }" for _ in range(count))


def loops_that_run_until(count):
    return "\n".join(f"while (n > {k}) {{ n -= a[n % 10]; }}" for k in range(count))


def loops_that_call(count):
    return "\n".join(f"for (@range(u16, 10)) |i| {{ step(i); if (n > {k}) {{ n -= a[i]; }} }}"
                     for k in range(count))


def chain_of_calls(count):
    """Each function is called once, by the next one."""
    functions = "\n".join(
        f"fn link{k + 1}(x: u16) u16 {{ a[{k % 10}] ^= x; var y = link{k}(x + {k}); "
        f"if (y > {k}) {{ n += y; }} return y * 3; }}" for k in range(count))
    return f"n = link{count}(n);", f"fn link0(x: u16) u16 {{ return x * n; }}\n{functions}"


def values_alive_at_once(count):
    """All are read before the first is used."""
    read = " ".join(f"const v{k} = a[n + {k}];" for k in range(count))
    return read + " ".join(f"n ^= v{k};" for k in range(count))


def dsds_in_locals(count):
    """The checks take each for known, as nothing writes it after its declaration."""
    return " ".join(f"var d{k} = @get_dsd(mem1d_dsd, .{{ .base_address = &a, .extent = 3 }}); "
                    f"@add16(d{k}, d{k}, 1);" for k in range(count))


def calls_that_pass_dsds_on(count):
    """Each of four functions calls the next one so often: there are count**4 ways through them."""
    functions = "\n".join(
        f"fn pass{k}(d: mem1d_dsd) void {{ {f'pass{k + 1}(d); ' * count}}}" for k in range(4))
    return ("pass0(@get_dsd(mem1d_dsd, .{ .base_address = &a, .extent = 3 }));",
            functions + "\nfn pass4(d: mem1d_dsd) void { @add16(d, d, 1); }"
            "\ncomptime { @activate(@get_local_task_id(8)); }")


def program_of(body_of, count):
    """The body of the task, and functions if it calls any of its own."""
    made = body_of(count)
    return made if isinstance(made, tuple) else (made,)


# Four times the size: 4 where the work is linear, 16 where it is quadratic.
@pytest.mark.parametrize("body_of, size, options", [
    (cases_of_a_switch, 2000, ["-O2", "--emit=ir"]),
    (loops_that_add_to_a_global, 120, ["-O2", "--emit=asm"]),
    (changes_under_conditions, 200, ["-O1", "--emit=asm"]),
    (many_locals_in_a_loop, 100, ["-O1", "--emit=asm"]),
    (locals_without_value, 500, ["-O0", "--emit=ir"]),
    (calls_to_inline, 1000, ["-O1", "--emit=ir"]),
    (locals_under_conditions, 1000, ["-O1", "--emit=ir"]),
    (calls_under_conditions, 600, ["-O0", "--check"]),
    (loops_that_clear, 400, ["-O1", "--emit=ir"]),
    (loops_that_call, 200, ["-O1", "--emit=ir"]),
    (loops_that_call, 2000, ["-O0", "--emit=ir"]),
    (chain_of_calls, 250, ["-O1", "--emit=ir"]),
    (values_alive_at_once, 600, ["-O1", "--emit=asm"]),
    (dsds_in_locals, 600, ["-O1", "--emit=ir"]),
    (calls_that_pass_dsds_on, 15, ["-O0", "--check"]),
])
def test_time_grows_with_the_program(tmp_path, body_of, size, options):
    few, many = (least_seconds(tmp_path, program_of(body_of, n), *options)
                 for n in (size, 4 * size))
    assert many < 9 * max(few, 0.02)


@pytest.mark.parametrize("body_of, size, options", [
    (calls_to_inline, 1000, ["-O1", "--emit=ir"]),
    (loops_that_run_until, 800, ["-O1", "--emit=ir"]),
    (loops_that_clear, 400, ["-O1", "--emit=ir"]),
    (loops_that_call, 200, ["-O1", "--emit=ir"]),
    (chain_of_calls, 250, ["-O1", "--emit=ir"]),
    (values_alive_at_once, 600, ["-O1", "--emit=asm"]),
])
def test_memory_grows_with_the_program(tmp_path, body_of, size, options):
    few, many = (most_memory(tmp_path, program_of(body_of, n), *options)
                 for n in (size, 4 * size))
    assert many < 9 * few


@pytest.mark.parametrize("body_of", [
    loops_that_add_to_a_global, loops_that_call, loops_that_run_until])
def test_a_function_of_thousands_of_blocks(tmp_path, body_of):
    """Sets of registers per block, or a bit for each two registers, grow with the square: four times
    as many loops once took eight to ten times the memory.  Most do not fit a tile."""
    few, many = (most_memory(tmp_path, program_of(body_of, n), "-O1", "--emit=asm", accepts=(0, 1))
                 for n in (2000, 8000))
    assert many < 4.5 * few


@pytest.mark.skipif("debug" in str(harness.bin_dir()), reason="sanitizers need memory of their own")
def test_memory_of_tables_that_differ_by_tile(tmp_path):
    """The tiles of an all-to-all differ in tables alone; a class for each would take 4 GB."""
    layout = harness.SAMPLES / "published" / "fft" / "layout.csl"
    assert memory_of_its_own(tmp_path, layout, "--params=log_side:7", "-o", "p.bin") < 150


TILES_WITH_LISTS = """
param side: u16;
fn list_of(x: u16, y: u16) [40]u16 {
  var list = @zeros([40]u16);
  for (@range(u16, 40)) |i| { list[i] = x * side + y + i; }
  return list;
}
layout {
  @set_rectangle(side, side);
  for (@range(u16, side)) |x| {
    for (@range(u16, side)) |y| { @set_tile_code(x, y, "pe.csl", .{ .list = list_of(x, y) }); }
  }
}
"""

TILE_WITH_A_LIST = """
param list: [40]u16;
USE
var a = @zeros([100]u16);
fn step(at: u16, comptime by: u16) void {
  if (a[at] > by) { a[at] -= by; } else { a[at] += at; }
}
task main() void {
BODY
}
comptime { @bind_local_task(main, @get_local_task_id(8)); }
"""


def megabytes_per_tile(folder, use, sides=(24, 40)):
    body = "\n".join(f"  step({i}, {i + 1});" for i in range(100))
    (folder / "layout.csl").write_text(TILES_WITH_LISTS)
    (folder / "pe.csl").write_text(TILE_WITH_A_LIST.replace("USE", use).replace("BODY", body))
    few, many = (memory_of_its_own(folder, "layout.csl", f"--params=side:{side}", "-o", "p.bin")
                 for side in sides)
    return (many - few) / (sides[1] ** 2 - sides[0] ** 2)


@pytest.mark.skipif("debug" in str(harness.bin_dir()), reason="sanitizers need memory of their own")
@pytest.mark.parametrize("use, most", [
    ("var length: u16 = list.len;", 0.02),    # the code is the same everywhere
    ("export var own = list;", 0.09),         # it is not
])
def test_memory_of_a_program_per_tile(tmp_path, use, most):
    """Each tile has a param of its own, an array; of its program the compiler keeps the code, and
    that once if many programs have the same."""
    assert megabytes_per_tile(tmp_path, use) < most
