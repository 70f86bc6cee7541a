"""A run as a host sees it: options from the environment, files that are written whole, signals,
threads of a script, and data that do not fit."""
import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import time

import numpy as np
import pytest

import harness
import host_run
import page_data
from host_run import script

ENDLESS = """
var x: u16 = 0;
var turns: u16 = 0;           // it counts, so nothing proves that it does not end
task go() void { while (x < 1) { turns += 1; } }
comptime { @bind_local_task(go, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""
NEVER = "--max-cycles=1000000000000"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return host_run.build(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A program without memcpy that never comes to its end."""
    folder = tmp_path_factory.mktemp("endless")
    (folder / "layout.csl").write_text(
        'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }\n')
    (folder / "pe.csl").write_text(ENDLESS)
    harness.compile(folder / "layout.csl", folder / "out")
    return folder


def interrupted(args, number, folder, env=None, ready="ready"):
    """Starts a command, sends it a signal a moment after the file `ready` has appeared in its
    folder (None: after a moment), and returns exit code, standard output and standard error."""
    with subprocess.Popen([str(a) for a in args], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **(env or {})}, preexec_fn=harness.default_signals) as child:
        until = time.monotonic() + 60
        while ready and not (folder / ready).exists():
            assert time.monotonic() < until and child.poll() is None, child.communicate()
            time.sleep(0.02)
        time.sleep(0.7)
        child.send_signal(number)
        try:
            out, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    return child.returncode, out, err


# ---- options from the environment ----------------------------------------------------------------

def test_options_of_every_run(program, tmp_path):
    """Files of the second runtime of a script have names of their own."""
    words = (f"--trace=task '--trace-file={tmp_path}/a trace.txt' --stats={tmp_path}/s.json "
             f'"--report={tmp_path}/r.html" --profile={tmp_path}/p --engine=reference --threads=2')
    script(program, """
        r.launch("scale", np.float32(1), np.int16(1), nonblock=False)
        r.stop()
        assert (folder / "s.json").exists()               # with stop(), not at the end
        again = SdkRuntime("out")
        again.load()
        again.run()
        again.stop()
    """, preamble=f"from pathlib import Path\nfolder = Path({str(tmp_path)!r})\n"
         + host_run.PREAMBLE, env={"WSE_ARGS": words})
    assert sorted(f.name for f in tmp_path.iterdir()) == [
        "a trace-2.txt", "a trace.txt", "p", "p-2", "r-2.html", "r.html", "s-2.json", "s.json"]
    first, second = harness.stats(tmp_path / "s.json"), harness.stats(tmp_path / "s-2.json")
    assert first["engine"] == "reference" and first["threads"] == 2 and "partial" not in first
    assert first["cycles"] > second["cycles"]
    assert "task start" in (tmp_path / "a trace.txt").read_text()
    assert "by source line" in (tmp_path / "p").read_text()
    assert "</html>" in (tmp_path / "r.html").read_text()


def test_stop_without_run(program):
    """A program without commands of the host would be read as if it had run."""
    ran = script(program, """
        r = SdkRuntime("out")
        r.load()
        r.stop()
        SdkRuntime("out").stop()
    """, preamble=host_run.PREAMBLE.replace("r = SdkRuntime", "# r = SdkRuntime").replace(
        "\nr.load()\nr.run()", ""))
    assert ran.err.count("stop() before run(): the program has been loaded and has never run") == 1
    assert "; call run() after load()" in ran.err


def test_load_and_run_again(program):
    """A second call leaves the program and its memory as they are, and warns."""
    script(program, """
        import warnings
        a, x = r.get_id("a"), np.full(36, 3, np.float32)
        r.memcpy_h2d(a, x, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            r.load()
            r.run()
        assert [w.category for w in heard] == [RuntimeWarning] * 2, heard
        assert "load() again has no effect" in str(heard[0].message), heard
        assert "run() again has no effect" in str(heard[1].message), heard
        assert heard[0].filename.endswith(".py") and "cerebras" not in heard[0].filename, heard
        y = np.zeros(36, np.float32)
        r.memcpy_d2h(y, a, 0, 0, 3, 2, 6, data_type=WIDE, **COPY)
        assert (x == y).all()
        r.stop()
    """)


def test_more_threads_than_the_vendor_has(program):
    script(program, """
        try: SdkRuntime("out", simfab_numthreads=65)
        except ValueError as error: assert "simfab_numthreads must be at most 64" in str(error)
        else: raise AssertionError("65 threads")
    """)


BAD_OPTIONS = (
    ("--no-such=1", "no option '--no-such=1'"), ("--check=maybe", "off, warn"),
    ("out", "[option_of_command_line]"), ("--run", "only options of a run"),
    ("--version", "only options of a run"), ("--stats 'x", "end within a quote [quote_open]"),
    ("--max-cycles", "needs a value"), ("--trace-file=/nowhere/x", "cannot write '/nowhere/x'"))


def test_bad_options_are_errors(program):
    script(program, f"""
        import os
        r.stop()
        for words, told in {BAD_OPTIONS!r}:
            os.environ["WSE_ARGS"] = words
            text = message(SdkRuntime, "out")
            assert told in text and ("cannot write" in text or words in text), text     # options_from
    """)


def test_options_bound_and_check_a_run(program):
    script(program, """
        assert "limit of 700 cycles" in message(r.launch, "spin", nonblock=False)
    """, env={"WSE_ARGS": "--max-cycles=700", "WSE_MAX_CYCLES": "900"})


def test_words_are_quoted_as_in_a_shell(program, tmp_path):
    for words, name in ((r"--stats=a\ b", "a b"), ("--stats=\"c 'd\\\"\"", "c 'd\""),
                        ("--stats='e\\'f", "e\\f"), ("\t--stats=g''h \n", "gh")):
        folder = tmp_path / str(len(name))
        folder.mkdir(exist_ok=True)
        script(program, f"import os; os.chdir({str(folder)!r}); r.stop()", env={"WSE_ARGS": words})
        assert [f.name for f in folder.iterdir() if f.name not in ("sim.log", "simfab_traces")] == [
            name]
        (folder / name).unlink()


# ---- files ---------------------------------------------------------------------------------------

def test_a_folder_that_takes_no_files_does_not_end_a_script(program):
    """One that is gone, and one where a file has the name of the folder of traces."""
    script(program, """
        import os, tempfile
        r.stop()
        out, gone = os.path.abspath("out"), tempfile.mkdtemp()
        os.chdir(gone)
        open("simfab_traces", "w").close()
        SdkRuntime(out).stop()
        os.remove("simfab_traces"); os.remove("sim.log"); os.rmdir(gone)
        with SdkRuntime(out) as again:
            again.launch("scale", 2.0, 1, nonblock=False)
        os.chdir(os.path.dirname(out))
    """)


def test_files_appear_whole(endless, tmp_path):
    """Nothing stands under a file's name, and nothing else in its folder, while it is written."""
    with subprocess.Popen([harness.tool("wse-emu"), endless / "out", "--trace=inst",
                           f"--trace-file={tmp_path}/t.txt", NEVER]) as child:
        time.sleep(0.7)
        seen = list(tmp_path.iterdir())
        child.kill()
    assert seen == [] and list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_only_by_a_whole_one(program, tmp_path):
    old = tmp_path / "t.txt"
    old.write_text("old\n")
    (tmp_path / "link").symlink_to(old)
    ran = harness.emu(program / "out", "--trace=task", f"--trace-file={old}", "--launch=nothing",
                      expect=1)
    assert "exports no 'nothing'" in ran.err and old.read_text() == "old\n"
    harness.emu(program / "out", "--trace=task", f"--trace-file={tmp_path}/link", "--launch=scale(1,1)")
    assert "task start" in old.read_text() and (tmp_path / "link").is_symlink()


# ---- signals -------------------------------------------------------------------------------------

@pytest.mark.parametrize("engine", ("fast", "reference"))
@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_was_seen(endless, tmp_path, number, code, engine):
    got, out, err = interrupted(
        [harness.tool("wse-emu"), endless / "out", f"--engine={engine}", "--trace=inst",
         "--trace-file=t.txt", "--stats=s.json", "--report=r.html", "--profile=p.txt", NEVER],
        number, tmp_path, ready=None)
    assert got == code and "interrupted at cycle" in err, err
    assert re.search(r"P\d\.\d main thread .*has not ended at ", err)
    stats = harness.stats(tmp_path / "s.json")
    last = (tmp_path / "t.txt").read_text().splitlines()[-1]
    assert stats["partial"] is True and stats["instructions"] > 100
    assert last.endswith("the run has not come to its end") and last.startswith("@")
    assert (tmp_path / "p.txt").read_text().startswith("partial")
    page = (tmp_path / "r.html").read_text()
    assert "interrupted at cycle" in page_data.of_page(tmp_path / "r.html").top["message"]
    assert page.endswith("</html>\n")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_signal_keeps_a_compressed_trace_whole(endless, tmp_path, ending):
    interrupted([harness.tool("wse-emu"), endless / "out", "--trace=inst",
                 f"--trace-file=t{ending}", NEVER], signal.SIGINT, tmp_path, ready=None)
    tool = "gzip" if ending == ".gz" else "zstd"
    text = subprocess.run([tool, "-dc", tmp_path / f"t{ending}"], capture_output=True,
                          check=True).stdout.decode()
    assert text.splitlines()[-1].endswith("the run has not come to its end")


def test_an_interrupted_trace_for_perfetto_is_json(endless, tmp_path):
    interrupted([harness.tool("wse-emu"), endless / "out", "--trace-format=perfetto",
                 "--trace-file=t.json", NEVER], signal.SIGINT, tmp_path, ready=None)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert events[-1]["name"] == "the run has not come to its end"


SPIN = """
import sys
from pathlib import Path
try:
    Path("ready").write_text("")
    r.launch("spin", nonblock=False)
except BaseException as error:
    print(type(error).__name__, getattr(error, "code", ""))
    print(message(r.launch, "spin"))
    raise
finally:
    r.stop()
    print("finally", flush=True)
"""


@pytest.mark.parametrize("number,code,name", [
    (signal.SIGINT, -signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, 143, "SystemExit 143")])
def test_a_script_hears_signals(program, tmp_path, number, code, name):
    (tmp_path / "out").symlink_to(program / "out")
    (tmp_path / "run.py").write_text(host_run.PREAMBLE + SPIN)
    got, out, err = interrupted([harness.tool("cs_python"), "run.py"], number, tmp_path,
                                {"WSE_ARGS": f"--stats=s.json --trace --trace-file=t.txt {NEVER}"})
    assert got == code and out.splitlines()[0].strip() == name, (got, out, err)
    assert "interrupted at cycle" in out and out.endswith("finally\n")
    assert re.search(r"P\d\.\d main thread .*has not ended at ", err)
    assert harness.stats(tmp_path / "s.json")["partial"] is True
    assert (tmp_path / "t.txt").read_text().endswith("the run has not come to its end\n")


PRINTS = """
const prints = @import_module("<simprint>", .{ .enable = true });
task go() void { prints.print_string("a line of the tile\\n"); }
comptime { @bind_local_task(go, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""


@pytest.fixture
def prints(endless, tmp_path):
    """A program whose tile prints a line, and a script that runs it."""
    (tmp_path / "pe.csl").write_text(PRINTS)
    (tmp_path / "layout.csl").write_text((endless / "layout.csl").read_text())
    harness.compile(tmp_path / "layout.csl", tmp_path / "out")
    (tmp_path / "run.py").write_text(textwrap.dedent("""
        from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
        with SdkRuntime("out", memcpy_required=False):
            pass
    """))
    return tmp_path


@pytest.mark.parametrize("where, why", [("> /dev/full", "No space left on device"),
                                        (">&-", "Bad file descriptor")])
@pytest.mark.parametrize("command, arguments", [
    *(("wse-emu out {}", a) for a in ("", "--trace", "--stats", "--profile")),
    *(("WSE_ARGS='{}' cs_python run.py", a) for a in ("--trace", "--stats", "--profile"))])
def test_lost_output_is_an_error(prints, command, arguments, where, why):
    """What tiles print, and what the options print besides, on a full disk or without an output; a file
    that is written at the same time has nothing of it."""
    tools = os.path.dirname(harness.tool("wse-emu"))
    line = command.format(f"{arguments} --report=r.wseview --trace-file=t.txt"
                          if arguments != "--trace" else arguments)
    ran = harness.run(["bash", "-c", f"PATH={tools}:$PATH; {line} {where}"], cwd=prints, expect=1)
    assert f"cannot write 'standard output': {why}" in ran.err, ran.err
    if arguments != "--trace":
        assert "a line of the tile" not in (prints / "t.txt").read_text()
        assert "task start" in (prints / "t.txt").read_text()


def test_a_script_without_standard_streams_leaves_its_files_whole(prints):
    tools = os.path.dirname(harness.tool("wse-emu"))
    harness.run(["bash", "-c", f"PATH={tools}:$PATH; export WSE_ARGS='--trace-file=t.txt --stats=s.json'"
                 "; cs_python run.py <&- >&- 2>&-; cp t.txt u.txt; cs_python run.py > /dev/null"],
                cwd=prints)
    assert (prints / "u.txt").read_text() == (prints / "t.txt").read_text()
    assert harness.stats(prints / "s.json")["instructions"] > 0


def test_two_scripts_in_a_folder_do_not_write_one_log(prints):
    """The second one says so, and its lines go to standard output."""
    (prints / "first.py").write_text(textwrap.dedent("""
        import time
        from pathlib import Path
        from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
        with SdkRuntime("out", memcpy_required=False):
            Path("ready").write_text("")
            while not Path("go_on").exists():
                time.sleep(0.01)
    """))
    with subprocess.Popen([harness.tool("cs_python"), "first.py"], cwd=prints) as first:
        until = time.monotonic() + 60
        while not (prints / "ready").exists():
            assert time.monotonic() < until and first.poll() is None
            time.sleep(0.01)
        second = harness.run([harness.tool("cs_python"), "run.py"], cwd=prints)
        (prints / "go_on").write_text("")
        assert first.wait(60) == 0
    assert second.err.count("'sim.log' belongs to another run that has not ended") == 1
    assert "[sim_log_taken]" in second.err
    assert second.out.startswith("@") and second.out.endswith(" a line of the tile\n")
    assert (prints / "sim.log").read_text() == second.out
    third = harness.run([harness.tool("cs_python"), "run.py"], cwd=prints)
    assert (third.out, third.err) == ("", "") and (prints / "sim.log").read_text() == second.out


def test_lines_of_tiles_in_a_folder_that_takes_no_files(prints, full_disk):
    shutil.copytree(prints / "out", full_disk / "out")
    shutil.copy(prints / "run.py", full_disk)
    subprocess.run(["mount", "-o", "remount,ro", full_disk], check=True)
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=full_disk)
    assert ran.out.endswith(" a line of the tile\n") and not (full_disk / "sim.log").exists()


@pytest.fixture
def full_disk(tmp_path):
    """A file system with almost no room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=False,
                             capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("may not mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("file", ["t.txt", "t.txt.gz"])
def test_a_trace_that_fills_the_disk_says_so(endless, full_disk, file):
    """Although the write that failed is long past when the run ends; other files are written."""
    ran = harness.run([harness.tool("wse-emu"), endless / "out", "--max-cycles=100000", "--trace=all",
                       f"--trace-file={full_disk / file}", f"--stats={full_disk.parent / 's.json'}"],
                      expect=4)
    assert f"cannot write '{full_disk / file}': No space left on device" in ran.err, ran.err
    assert harness.stats(full_disk.parent / "s.json")["cycles"] and not list(full_disk.iterdir())


OVERWRITTEN = """
var bound: u16 = 5;
export var block = @zeros([4]u16);
export var x: u16 = 0;
var turns: u16 = 0;
task go() void {
  for (@range(u16, bound)) |i| { block[i] = 0; }
  while (x < 1) { turns += 1; }
}
comptime { @bind_local_task(go, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""


@pytest.mark.parametrize("number,code", [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_a_signal_shows_the_warnings(endless, tmp_path, number, code):
    """What the run has found so far may be why it does not end."""
    (tmp_path / "pe.csl").write_text(OVERWRITTEN)
    (tmp_path / "layout.csl").write_text((endless / "layout.csl").read_text())
    harness.compile(tmp_path / "layout.csl", tmp_path / "out")
    (tmp_path / "run.py").write_text(textwrap.dedent("""
        from pathlib import Path
        from cerebras.sdk.runtime.sdkruntimepybind import SdkRuntime
        runner = SdkRuntime("out", memcpy_required=False)
        runner.load()
        Path("ready").write_text("")
        runner.run()
    """))
    got, out, err = interrupted([harness.tool("cs_python"), "run.py"], number, tmp_path,
                                {"WSE_ARGS": NEVER})
    assert got == code and "OUT_OF_BOUNDS" in err and "pe.csl:7" in err, (got, out, err)


def test_a_signal_at_the_end_of_a_run_leaves_its_report(program, tmp_path):
    """The run has failed already, and its report has the places, when the signal comes."""
    (tmp_path / "out").symlink_to(program / "out")
    (tmp_path / "run.py").write_text(host_run.PREAMBLE + textwrap.dedent("""
        from cerebras.sdk.runtime import _calls
        put = _calls._helper.put
        class Result:                  # the handler raises as soon as a call has failed
            def __init__(self, *call):
                self.call = call
            def get(self):
                status = put(*self.call).get()
                if status:
                    _calls._helper.put = put
                    raise KeyboardInterrupt
                return status
        _calls._helper.put = Result
        try:
            r.launch("spin", nonblock=False)
        except KeyboardInterrupt:
            print(message(r.launch, "spin"))
    """))
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path,
                      env={"WSE_ARGS": "--max-cycles=5000"})
    for said in (ran.out, ran.err):
        assert "interrupted" not in said and re.search(r"P\d\.\d main thread .*has not ended at ", said)


def test_a_handler_of_the_script_decides(program, tmp_path):
    """One that raises nothing leaves the run alone; one that does ends it."""
    (tmp_path / "out").symlink_to(program / "out")
    (tmp_path / "run.py").write_text(host_run.PREAMBLE + textwrap.dedent("""
        import signal
        heard = []
        def hear(number, frame):
            heard.append(number)
            if len(heard) == 3:
                raise TimeoutError("three")
        signal.signal(signal.SIGALRM, hear)
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        try:
            r.launch("spin", nonblock=False)
        except TimeoutError as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print("raised", error, len(heard))
    """))
    ran = harness.run([harness.tool("cs_python"), "run.py"], cwd=tmp_path, env={"WSE_ARGS": NEVER})
    assert ran.out == "raised three 3\n"


def test_a_script_that_does_not_stop_its_run(program, tmp_path):
    (tmp_path / "out").symlink_to(program / "out")
    script(tmp_path, "", env={"WSE_ARGS": "--stats=s.json"})
    assert harness.stats(tmp_path / "s.json")["partial"] is True


# ---- threads and tasks ---------------------------------------------------------------------------

def test_threads_of_a_script_take_turns(program):
    script(program, """
        import threading
        a, failures = r.get_id("a"), []
        def work(number):
            try:
                for _ in range(60):
                    sent = np.full(W * H * 6, number, np.float32)
                    r.memcpy_h2d(a, sent, 0, 0, W, H, 6, data_type=WIDE, **COPY)
                    r.launch("scale", np.float32(1), np.int16(0))
                    got = np.zeros(W * H * 6, np.float32)
                    r.memcpy_d2h(got, a, 0, 0, W, H, 6, data_type=WIDE, **COPY)
                    assert len(set(got)) == 1 and got[0] in range(4), got
                    assert len(r.read_symbol(4, 1, "a")) == 24
            except BaseException as error:
                failures.append(repr(error))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failures, failures
        r.stop()
    """)


def test_a_task_has_an_owner(program):
    script(program, """
        other = SdkRuntime("out")
        other.load()
        other.run()
        mine = r.launch("scale", np.float32(1), np.int16(1), nonblock=True)
        theirs = other.launch("scale", np.float32(1), np.int16(1), nonblock=True)
        for call in other.task_wait, other.is_task_done:
            assert "another SdkRuntime" in message(call, mine)
        r.task_wait(mine)
        other.stop()
        r.stop()
    """)


# ---- data ----------------------------------------------------------------------------------------

def test_elements_must_be_numbers_of_this_machine(program):
    script(program, """
        for dtype in ">f4", ">i4", ">u4", "V4", "S4", "U1", [("a", "<i2", 2)]:
            wrong = np.zeros(W * H * 6, dtype)
            for call in r.memcpy_h2d, r.memcpy_d2h:
                pair = (r.get_id("a"), wrong) if call == r.memcpy_h2d else (wrong, r.get_id("a"))
                try:
                    call(*pair, 0, 0, W, H, 6, data_type=WIDE, **COPY)
                except TypeError as error:
                    assert "dtype" in str(error)
                else:
                    raise AssertionError(dtype)
        r.stop()
    """)


def test_helpers_take_no_swapped_bytes(program):
    script(program, """
        from cerebras.sdk import sdk_utils
        r.stop()
        assert "big" in "big" and ">i2" in message(
            sdk_utils.input_array_to_u32, np.zeros(2, ">i2"), None, 1)
        assert ">u4" in message(sdk_utils.memcpy_view, np.zeros(2, ">u4"), np.int16)
        assert ">i2" in message(sdk_utils.memcpy_view, np.zeros(2, "u4"), ">i2")
    """)


def npy_file(path, shape, descr="<i8"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    return path


@pytest.mark.parametrize("shape", ["(2147483648, 1073741824)", "(4294967295, 4294967295)",
                                   "(4611686018,)", "(4294967295, 536870912)"])
def test_a_shape_too_large_for_any_file(program, tmp_path, shape):
    path = npy_file(tmp_path / "x.npy", shape)
    ran = harness.emu(program / "out", f"--h2d=a={path}", expect=1)
    assert "not as long as the shape says" in ran.err or "dimension is too large" in ran.err


def test_files_without_an_end(program, tmp_path):
    """Read as far as they make sense, not until memory is full."""
    def limited(*args):
        return harness.run(["bash", "-c", 'ulimit -v 1000000; exec "$@"', "-",
                            harness.tool("wse-emu"), *args], expect=1)

    os.symlink("/dev/zero", tmp_path / "zero.npy")
    assert "no .npy file" in limited(program / "out", f"--h2d=a={tmp_path}/zero.npy").err
    assert "program image" in limited("/dev/zero").err
    endless = f"cat {npy_file(tmp_path / 'x.npy', '(6,)', '<f4')} /dev/zero"
    image = f"cat {program}/out/prog.bin /dev/zero"
    for args, text in ((f"{program}/out --h2d=a={tmp_path}/pipe.npy", "tiles could take"),
                       (f"{tmp_path}/pipe.npy", "bytes follow")):
        os.mkfifo(tmp_path / "pipe.npy")
        with subprocess.Popen(["bash", "-c", f"exec {endless if '--h2d' in args else image} "
                               f"> {tmp_path}/pipe.npy"], stderr=subprocess.DEVNULL) as source:
            assert text in limited(*args.split()).err
            source.kill()
        (tmp_path / "pipe.npy").unlink()
