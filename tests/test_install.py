"""What `cmake --install` puts in place works from there, and from where it is moved to: programs,
libraries, the Python layer, and the C example against the CMake package and with pkg-config."""
import os
import re
import shlex
import shutil

import pytest

import harness

SAMPLE = harness.SAMPLES / "axpy"
COMPILE = ["--params=width:3,height:2,N:4", "--memcpy", "--channels=1", "--fabric-dims=10,4",
           "--fabric-offsets=4,1"]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that was moved after it was made."""
    folder = tmp_path_factory.mktemp("install")
    harness.run(["cmake", "--install", harness.bin_dir().parent, "--prefix", folder / "first"])
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


def run(prefix, *args, **options):
    """With the installation's programs before all others, and nothing else that points to it."""
    return harness.run(args, env={"PATH": f"{prefix}/bin:/usr/bin:/bin"}, **options)


@pytest.fixture(scope="module", params=("wse2", "wse3"))
def program(request, prefix, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    run(prefix, "cslc", SAMPLE / "layout.csl", f"--arch={request.param}", *COMPILE, "-o", "axpy",
        cwd=folder)
    return folder


def test_what_is_installed(prefix):
    assert {p.name for p in (prefix / "bin").iterdir()} == {
        "cslc", "csl-fmt", "csl-ls", "wse-emu", "wse-dbg", "wse-model", "cs_python",
        "cs_readelf", "sdk_debug_shell", "wse-sweep"}
    assert (prefix / "include" / "wse.h").exists()
    for source in (harness.ROOT / "stdlib").rglob("*.csl"):
        assert (prefix / "share/wse/stdlib" / source.relative_to(harness.ROOT / "stdlib")).exists()
    python = harness.ROOT / "emu" / "host" / "python"
    for source in python.rglob("*.py"):
        assert (prefix / "share/wse/python" / source.relative_to(python)).exists()
    text = "".join(p.read_text() for p in prefix.rglob("*.cmake")) + "".join(
        p.read_text() for p in prefix.rglob("*.pc"))
    assert str(harness.ROOT) not in text and str(prefix.parent) not in text


@pytest.mark.parametrize("name", ["cslc", "csl-fmt", "csl-ls", "wse-emu", "wse-model",
                                  "cs_readelf"])
def test_programs_load_no_library_but_that_of_c(prefix, name):
    """Each library more takes a fifth of a millisecond of the start, or half of one."""
    dynamic = harness.run(["readelf", "-d", prefix / "bin" / name]).out
    loaded = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    assert loaded and all(library.startswith(("libc.", "ld-linux")) for library in loaded), loaded


def test_the_library_exports_its_header_and_nothing_else(prefix):
    names = {line.split()[-1] for line in harness.run(
        ["nm", "-D", "--defined-only", next(prefix.rglob("libwse.so"))]).out.splitlines()}
    header = (prefix / "include" / "wse.h").read_text()
    assert names and all(f" {name}(" in header or f"*{name}(" in header for name in names), names
    assert len(names) == header.count("\nWSE_API ")


def test_the_compiler_uses_the_installed_library(prefix, tmp_path):
    module = prefix / "share/wse/stdlib/memcpy/get_params.csl"
    module.rename(tmp_path / "away.csl")
    ran = run(prefix, "cslc", SAMPLE / "layout.csl", *COMPILE, "-o", tmp_path / "p.bin", expect=1)
    shutil.move(tmp_path / "away.csl", module)
    assert "memcpy/get_params" in ran.err


def test_command_line(prefix, program):
    ran = run(prefix, "wse-emu", "axpy", "--h2d=x@0,0,1,1=1,2,3,4", "--launch=axpy(0.5)",
              "--print=y@0,0,1,1", cwd=program)
    assert ran.out == "y@0,0: 0.5 1 1.5 2\n"


def test_python(prefix, program):
    ran = run(prefix, "cs_python", SAMPLE / "run.py", "--name", "axpy", cwd=program)
    assert ran.out == "3 x 2 tiles: 24 numbers as numpy has them\nSUCCESS\n"
    where = "import wse_lib; print(wse_lib.__file__, wse_lib.load()._name)"
    ran = run(prefix, "cs_python", "-c", where, cwd=program)
    assert all(path.startswith(str(prefix)) for path in ran.out.split())


def check_example(example, program, env=None):
    """The C example on the program, and what it says about mistakes."""
    ran = harness.run([example, "axpy"], cwd=program, env=env)
    assert ran.out.startswith(f"{program.name[:4]}, 3 x 2 tiles, ")
    assert ran.out.endswith(" cycles: 24 numbers, 0 wrong\n")
    assert "usage" in harness.run([example], expect=1, env=env).err
    ran = harness.run([example, "nothing"], cwd=program, expect=1, env=env)
    assert "cannot read program image 'nothing'" in ran.err


def test_c_example_with_cmake(prefix, program, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "source")
    build = tmp_path / "build"
    harness.run(["cmake", "-S", tmp_path / "source", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                 "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"])
    harness.run(["cmake", "--build", build])
    check_example(build / "axpy", program)


def test_c_example_with_pkg_config(prefix, program, tmp_path):
    folder = next(prefix.rglob("wse.pc")).parent
    flags = harness.run(["pkg-config", "--cflags", "--libs", "wse"],
                        env={"PKG_CONFIG_PATH": str(folder)}).out.split()
    harness.run([*shlex.split(os.environ.get("CC", "cc")), SAMPLE / "main.c", *flags, "-o", tmp_path / "axpy"])
    check_example(tmp_path / "axpy", program, env={"LD_LIBRARY_PATH": str(folder.parent)})


TOOLS = ("cslc", "csl-fmt", "csl-ls", "cs_readelf", "wse-dbg", "wse-emu", "wse-model", "wse-sweep")
OF_DEBIAN = "/usr/share/bash-completion/bash_completion"


def plain_text(page):
    """The text of a manual page without roff."""
    lines = [line.removeprefix("\\&") for line in page.splitlines() if not line.startswith(".")]
    return "\n".join(lines).replace("\\-", "-").replace("\\e", "\\")


@pytest.mark.parametrize("name", TOOLS)
def test_a_manual_page_says_what_help_says(prefix, name):
    page = (prefix / "share/man/man1" / f"{name}.1").read_text()
    assert f'.TH "{name}" 1' in page and page.index(".SH SYNOPSIS") < page.index(".SH DESCRIPTION")
    said = plain_text(page).split()[3:]      # behind the name, '-' and a word of the description
    text = run(prefix, name, "--help").out.removeprefix("usage: ").split()
    assert " ".join(text) in " ".join(said)


@pytest.mark.parametrize("name", TOOLS)
def test_shells_complete_options(prefix, name):
    script = prefix / "share/bash-completion/completions" / name
    done = run(prefix, "bash", "-c", f"source {shlex.quote(str(script))}; complete -p {name}")
    assert done.out == f"complete -F _longopt {name}\n"
    first, names = (prefix / "share/zsh/site-functions/_wse").read_text().split("\n")[:2]
    assert name in first.split() and names == "_gnu_generic"


@pytest.mark.skipif(not os.path.exists(OF_DEBIAN), reason="needs bash-completion")
def test_bash_offers_the_options_of_help(prefix):
    script = prefix / "share/bash-completion/completions/wse-emu"
    done = run(prefix, "bash", "-c", f"""source {OF_DEBIAN}; source {shlex.quote(str(script))}
COMP_WORDS=(wse-emu --trace-f) COMP_CWORD=1 COMP_LINE='wse-emu --trace-f' COMP_POINT=17
_longopt wse-emu --trace-f wse-emu; printf '%s\\n' "${{COMPREPLY[@]}}" """)
    assert sorted(done.out.split()) == ["--trace-file=", "--trace-format="]
