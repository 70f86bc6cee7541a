"""What the tools say of options that they do not have, and of output that is lost."""

import json
import re
import shlex

import pytest

import harness

TOOLS = ("cslc", "wse-emu", "wse-dbg", "wse-model", "csl-fmt", "csl-ls", "cs_readelf", "ir-opt",
         "wse-sweep", "cs_python", "sdk_debug_shell")


def in_shell(tool):
    """The program as a word of a shell's command: its path may have blanks."""
    return shlex.quote(harness.tool(tool))


@pytest.mark.parametrize("tool, argument, message", [
    ("csl-fmt", "--chek", "there is no option '--chek'\ndid you mean '--check'?\n"),
    ("csl-fmt", "--nothing", "there is no option '--nothing'\nrun 'csl-fmt --help'"),
    ("csl-fmt", "-c", "there is no option '-c'\n"),
    ("csl-fmt", "--check=yes", "--check takes no value\n"),
    ("csl-fmt", "--help=yes", "--help takes no value\n"),
    ("ir-opt", "--pases=dce", "there is no option '--pases'\ndid you mean '--passes'?\n"),
    ("ir-opt", "--passes", "'--passes' needs a value\n"),
    ("ir-opt", "--dump-after=dse", "--dump-after takes a pass that --help lists, not 'dse'\n"),
    ("ir-opt", "--level=7", "--level takes 0, 1 or 2, not '7'\n"),
    ("ir-opt", "--l", "'--l' is the beginning of several options: --level --locs\n"),
    ("wse-model", "--patern=chain", "there is no option '--patern'\ndid you mean '--pattern'?\n"),
    ("wse-model", "--op", "'--op' needs a value\n"),
    ("cs_readelf", "--symbls", "there is no option '--symbls'\ndid you mean '--symbols'?\n"),
    ("cs_readelf", "--tiles=1,1", "there is no option '--tiles'\ndid you mean '--tile'?\n"),
    ("cs_readelf", "--tile=1", "--tile takes two numbers, as in '--tile=3,1', not '1'\n"),
])
def test_options_that_there_are_not(tool, argument, message):
    ran = harness.run([harness.tool(tool), argument], expect=1 if tool == "cs_readelf" else 2)
    assert ran.err.startswith(f"{tool}: {message}") and ran.out == ""


@pytest.mark.parametrize("tool", TOOLS)
def test_help_that_is_lost_is_an_error(tool):
    assert harness.run([harness.tool(tool), "--help"]).out
    ran = harness.run(["bash", "-c", f"{in_shell(tool)} --help > /dev/full"], expect=1)
    assert "cannot write" in ran.err and "No space left" in ran.err


@pytest.mark.parametrize("tool", sorted({*TOOLS} - {"cs_readelf"}))
def test_the_short_form_of_help_is_help(tool):
    """Not of cs_readelf, whose -h is the header, as in the vendor's program."""
    short = harness.run([harness.tool(tool), "-h"])
    assert short.out == harness.run([harness.tool(tool), "--help"]).out and short.err == ""


@pytest.mark.parametrize("tool", sorted({*TOOLS} - {"cs_python"}))
def test_every_tool_has_a_version(tool):
    """Not cs_python, whose options are those of Python."""
    ran = harness.run([harness.tool(tool), "--version"])
    assert re.fullmatch(rf"{tool} \d+\.\d+\.\d+", ran.out.splitlines()[0]) and ran.err == ""


@pytest.mark.parametrize("tool", ["wse-emu", "wse-dbg"])
@pytest.mark.parametrize("arguments", ["p.bin --frob", "p.bin --print", "p.bin q.bin"])
def test_a_message_about_the_command_line_names_this_tool(tmp_path, tool, arguments):
    ran = shell(tmp_path, tool, f"{arguments} < /dev/null")
    assert ran.code == 1
    assert {"wse-emu", "wse-dbg"} & set(re.findall(r"wse-\w+", ran.err)) == {tool}


def test_a_file_of_commands_that_is_not_there_comes_with_the_reason(tmp_path):
    ran = shell(tmp_path, "wse-dbg", "p.bin -x none < /dev/null")
    assert (ran.code, ran.err) == (1, "wse-dbg: cannot read 'none': No such file or directory\n")


def test_a_page_that_is_lost_is_an_error(tmp_path):
    (tmp_path / "page.md").write_text("A page.\n")
    ran = shell(tmp_path, "wse-docgen", "page.md > /dev/full")
    assert ran.code == 1 and "wse-docgen: error: cannot write to standard output" in ran.err


@pytest.mark.parametrize("tool, codes", [("cslc", "0123"), ("wse-emu", "01234")])
def test_help_lists_the_exit_codes(tool, codes):
    text = harness.run([harness.tool(tool), "--help"]).out.split("\nExit code: ")[1]
    assert [c for c in re.findall(r"(?:^|, |,\n)(\d) ", text)] == list(codes)
    assert tool == "cslc" or "130 SIGINT, 143 SIGTERM" in text


def test_an_answer_of_the_model_that_is_lost_is_an_error():
    question = "predict --op=reduce --pattern=chain --pes=4 --len=4"
    ran = harness.run(["bash", "-c", f"{in_shell('wse-model')} {question} > /dev/full"],
                      expect=1)
    assert "wse-model: error: cannot write to standard output" in ran.err


LAYOUT = harness.ROOT / "samples" / "hello-wavelet" / "layout.csl"
HELLO = shlex.quote(str(LAYOUT))        # in a shell


def shell(folder, tool, rest):
    return harness.run(["bash", "-c", f"{in_shell(tool)} {rest}"], expect=None, cwd=folder)


@pytest.fixture
def hello(tmp_path):
    harness.compile(LAYOUT, tmp_path / "p.bin")
    return tmp_path


@pytest.mark.parametrize("tool, arguments", [
    ("csl-fmt", HELLO), ("cslc", f"{HELLO} --emit=asm"), ("cslc", f"{HELLO} --emit=ast"),
    ("cs_readelf", "p.bin")])
def test_text_that_is_lost_is_one_error(hello, tool, arguments):
    for where, why in (("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        ran = shell(hello, tool, f"{arguments} {where}")
        assert ran.code == 1
        assert ran.err == f"{tool}: error: cannot write to standard output: {why}\n"


def test_a_debugger_without_an_output_says_so(hello):
    for where in ("> /dev/full", ">&-"):
        ran = shell(hello, "wse-dbg", f"p.bin < /dev/null {where}")
        assert ran.code == 1 and ran.err.startswith("wse-dbg: error: cannot write to standard output")
        assert "Success" not in ran.err


@pytest.mark.parametrize("name, where", [
    ("/dev/stdout", "| cat"), ("/dev/stderr", "2>&1 >/dev/null | cat"), ("/dev/fd/3", "3>&1 | cat"),
    ("/proc/self/fd/1", "| cat"), ("/dev/stdout", "> f; cat f"), ("/dev/fd/1", ">> f; cat f")])
def test_a_file_may_be_one_that_the_caller_has_opened(hello, name, where):
    """A pipe has no name of its own, and what the tool writes besides to a file stays there."""
    for option, part in (("--trace-file", "task start"), ("--stats", '"cycles": '),
                         ("--profile", "profile: "), ("--report", "</html>")):
        ran = shell(hello, "wse-emu", f"p.bin --print=received {option}={name} {where}")
        assert ran.code == 0 and ran.err == "" and part in ran.out
        assert ("received@1,0: 42" in ran.out) == ("stderr" not in name)
    ran = shell(hello, "cslc", f"{HELLO} -o o --depfile={name} {where}")
    assert ran.code == 0 and ran.err == "" and "layout.csl" in ran.out


@pytest.mark.parametrize("option", ["--stats", "--profile", "--report", "--save-state",
                                    "--trace=all --trace-file"])
def test_a_full_disk_is_named_whatever_is_written(hello, option):
    ran = shell(hello, "wse-emu", f"p.bin {option}=/dev/full")
    assert ran.code == 1
    assert ran.err == ("error: cannot write '/dev/full': No space left on device "
                       "[output_unwritable]\n")


@pytest.mark.parametrize("command", [
    "wse-emu p.bin --report=r.html", "wse-emu p.bin --report=/dev/stdout > r.html",
    "wse-emu p.bin --trace-format=perfetto --trace-file=t", "wse-emu p.bin --save-state=s",
    f"cslc {HELLO} -o q.bin", f"cslc {HELLO} -o q", f"cslc {HELLO} -o new/folders/q/",
    f"cslc {HELLO} -o empty", "csl-fmt -i long.csl", "wse-emu --cluster=c.json --stats=s.json"])
def test_a_limit_of_file_sizes_is_named_and_leaves_no_part(hello, command):
    (hello / "long.csl").write_text("const a=1;\n" * 500)
    wafers = [{"name": name, "image": "p.bin"} for name in ("a", "b")]
    (hello / "c.json").write_text(json.dumps({"wafers": wafers, "links": []}))
    (hello / "empty").mkdir()

    def contents():
        return {p.name: list(p.iterdir()) if p.is_dir() else p.read_bytes()
                for p in hello.iterdir() if p.name != "r.html"}
    before = contents()
    tool, rest = command.split(" ", 1)
    limited = f"ulimit -f 1; {in_shell(tool)} {rest}"
    ran = harness.run(["bash", "-c", limited], expect=1, cwd=hello)
    assert "cannot write" in ran.err
    assert re.search("File too large|not all of it has arrived", ran.err)
    assert contents() == before


@pytest.mark.parametrize("options, name", [
    ("--stats=a.json --report=./a.json", "[output_twice]"),
    ("--profile=b --trace --trace-file=b", "[output_twice]"),
    ("--d2h=received@1,0,1,1=r.npy --d2h=received@1,0,1,1=./r.npy", "[output_twice]"),
    ("--d2h=received@1,0,1,1=r.npy --stats=r.npy", "[output_twice]"),
    ("--stats=p.bin", "[output_over_program]"), ("--trace-file=link", "[output_over_program]")])
def test_an_output_in_the_place_of_another_file_is_refused(hello, options, name):
    (hello / "link").symlink_to("p.bin")
    before = (hello / "p.bin").read_bytes()
    ran = shell(hello, "wse-emu", f"p.bin {options}")
    assert ran.code == 1 and name in ran.err and ran.out == ""
    assert (hello / "p.bin").read_bytes() == before
    assert sorted(p.name for p in hello.iterdir()) == ["link", "p.bin"]


def test_an_output_folder_keeps_its_program(hello):
    harness.compile(LAYOUT, hello / "out")
    for name in ("prog.bin", "out.json"):
        ran = shell(hello, "wse-emu", f"out --report=out/{name}")
        assert ran.code == 1 and "[output_over_program]" in ran.err


def test_both_outputs_may_go_to_one_device(hello):
    assert shell(hello, "wse-emu", "p.bin --stats=/dev/null --profile=/dev/null").code == 0
    both = shell(hello, "wse-emu", "p.bin --stats=/dev/stdout --profile=/dev/stdout")
    assert both.code == 0 and '"cycles"' in both.out and "profile: " in both.out


@pytest.mark.parametrize("options", ["--emit=asm -o pe.csl", "--emit=ast -o layout.bin",
                                     "--depfile=pe.csl -o o.bin",
                                     "--output-json=sub/../pe.csl -o o.bin", "-o layout.bin"])
def test_the_compiler_keeps_its_sources(tmp_path, options):
    (tmp_path / "sub").mkdir()
    texts = {"layout.bin": 'layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl", .{}); }',
             "pe.csl": "var x: i16 = 0;"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    ran = shell(tmp_path, "cslc", f"layout.bin {options}")
    assert ran.code == 1 and "the program is read from this file" in ran.err
    assert {name: (tmp_path / name).read_text() for name in texts} == texts


@pytest.mark.parametrize("options, first, second, path", [
    ("-o p.bin --depfile=./p.bin", "-o", "--depfile", "./p.bin"),
    ("-o p.bin --output-json=p.bin", "-o", "--output-json", "p.bin"),
    ("-o p.bin --output-json=x --depfile=x", "--output-json", "--depfile", "x"),
    ("-o out --output-json=out/prog.bin", "-o", "--output-json", "out/prog.bin"),
    ("-o out --depfile=out/out.json", "-o", "--depfile", "out/out.json")])
def test_two_outputs_of_the_compiler_in_one_file_are_refused(tmp_path, options, first, second, path):
    """Nothing is written then: the second would be all that is left of the first."""
    ran = shell(tmp_path, "cslc", f"{HELLO} {options}")
    assert (ran.code, ran.err) == (1, f"cslc: error: {first} and {second} both name the file "
                                      f"'{path}'; give each a file of its own\n")
    assert not list(tmp_path.iterdir())


def test_two_outputs_of_the_compiler_may_go_to_one_device(tmp_path):
    options = "-o p.bin --output-json=/dev/null --depfile=/dev/null"
    assert shell(tmp_path, "cslc", f"{HELLO} {options}").code == 0


@pytest.mark.parametrize("tool", ["wse-emu", "wse-dbg"])
def test_a_program_that_is_missing_names_no_other_tool(tmp_path, tool):
    ran = shell(tmp_path, tool, "< /dev/null")
    assert ran.code == 1 and "[program_missing]" in ran.err
    assert not {"wse-emu", "wse-dbg"} & set(ran.err.split())
