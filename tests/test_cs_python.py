"""cs_python, which finds a Python with numpy and starts it, and sdk_debug_shell."""
import os
import re
import stat
import subprocess
import sys
import time

import pytest

import harness


def fake_python(folder, name, numpy_works, version_works=True):
    """A program that stands for a Python with or without numpy."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    answer = "old" if not version_works else path if numpy_works else "none"
    path.write_text(f"""#!/bin/sh
case "$2" in
  *version_info*numpy*) echo {answer}; exit ;;
esac
echo "RAN $0 $PYTHONPATH $*"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def cs_python(*args, expect=0, **env):
    return harness.run([harness.tool("cs_python"), *args], expect=expect, env=env)


def test_cs_python_takes_the_python_that_is_named(tmp_path):
    fake = fake_python(tmp_path, "mine", True)
    ran = cs_python("script.py", "--name", "a b", CS_PYTHON=str(fake), PYTHONPATH="/elsewhere")
    said = " ".join(ran.out.split())
    assert re.fullmatch(rf"RAN {fake} .*python.*:/elsewhere script\.py --name a b", said), said


def test_cs_python_does_not_start_itself(tmp_path):
    """Neither by its name nor through a program that starts it."""
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(harness.tool("cs_python")))
    assert "cs_python: is this program, not a Python" in ran.err
    around = tmp_path / "around"
    around.write_text(f'#!/bin/sh\nexec {harness.tool("cs_python")} "$@"\n')
    around.chmod(0o755)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(around))
    assert f"{around}: not Python 3.8 or newer" in ran.err


def test_a_script_may_start_cs_python(tmp_path):
    ran = cs_python("-c", "import subprocess, sys; sys.exit(subprocess.call("
                    "['cs_python', '-c', 'import numpy; print(numpy.__name__)']))")
    assert ran.out == "numpy\n"


@pytest.mark.parametrize("container", ["SINGULARITYENV", "APPTAINERENV"])
def test_packages_of_the_container_are_found(tmp_path, container):
    (tmp_path / "mine.py").write_text("print('found')\n")
    ran = cs_python("-c", "import mine, wse_lib", **{f"{container}_PYTHONPATH": str(tmp_path)},
                    PYTHONPATH="/elsewhere")
    assert ran.out == "found\n"


def test_cs_python_without_numpy_says_how_to_get_it(tmp_path):
    fake = fake_python(tmp_path, "mine", False)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(fake))
    assert f"{fake}: has no numpy" in ran.err and "apt-get install python3-numpy" in ran.err
    assert "CS_PYTHON" in ran.err and ran.out == ""
    old = fake_python(tmp_path, "old", True, version_works=False)
    ran = cs_python("script.py", expect=1, CS_PYTHON=str(old))
    assert f"{old}: not Python 3.8 or newer" in ran.err
    ran = cs_python("script.py", expect=1, CS_PYTHON="/nowhere/python")
    assert "/nowhere/python: not found" in ran.err


def test_cs_python_looks_further_than_the_first(tmp_path):
    """A python3 on the PATH without numpy is passed over for another that has it."""
    fake_python(tmp_path, "python3", False)
    ran = cs_python("-c", "import numpy, wse_lib; print(numpy.__name__)",
                    PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ran.out == "numpy\n"


def test_cs_python_remembers_the_python_that_it_found(tmp_path):
    """As long as it is the same program, with its numpy."""
    here = tmp_path / "bin"
    here.mkdir()
    python = here / "python3"
    python.symlink_to("/usr/bin/python3")
    known = tmp_path / "cache" / "wse" / "python"

    def run():
        return cs_python("-c", "import numpy, sys; print(sys.executable)", PYTHONPATH="",
                         XDG_CACHE_HOME=str(tmp_path / "cache"),
                         PATH=f"{here}:{os.environ['PATH']}").out
    assert run() == f"{python}\n"
    path, program, numpy = known.read_text().splitlines()
    assert path == str(python) and program == os.path.realpath(python)
    assert numpy.endswith("numpy/__init__.py")
    known.write_text(f"{path}\n{program}\n/nowhere/numpy.py\n")
    assert run() == f"{python}\n"
    assert known.read_text() == f"{path}\n{program}\n{numpy}\n"
    python.unlink()
    fake_python(here, "python3", False)
    assert run() == "/usr/bin/python3\n"
    assert known.read_text().splitlines()[0] == "/usr/bin/python3"


def test_cs_python_remembers_nothing_about_shell_scripts(tmp_path):
    """A shim with the same name may start another Python tomorrow; nor what PYTHONPATH has."""
    fake = fake_python(tmp_path, "mine", True)
    env = {"CS_PYTHON": str(fake), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": ""}
    assert cs_python("a.py", **env).out.startswith("RAN")
    fake_python(tmp_path, "mine", False)
    assert "has no numpy" in cs_python("a.py", expect=1, **env).err
    cs_python("-c", "pass", XDG_CACHE_HOME=str(tmp_path / "other"), PYTHONPATH=str(tmp_path))
    assert not (tmp_path / "other").exists()


def python_without_numpy(tmp_path):
    """A virtual environment, which logs each start."""
    root = tmp_path / "own"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", root], check=True)
    packages, = root.glob("lib/python3*/site-packages")
    (packages / "log.pth").write_text(
        f"import os; open({str(tmp_path / 'asked')!r}, 'a').write('x')\n")
    return root / "bin", packages


def test_cs_python_remembers_a_python_without_numpy(tmp_path):
    """It does not ask that one again, before one of the folders changes where numpy could be."""
    here, packages = python_without_numpy(tmp_path)
    asked, caches = tmp_path / "asked", tmp_path / "cache"

    def run(**env):
        asked.unlink(missing_ok=True)
        env = {"PYTHONPATH": "", "XDG_CACHE_HOME": str(caches), "PATH": f"{here}:/usr/bin:/bin", **env}
        return cs_python("-c", "import sys; print(sys.executable)", **env).out, asked.exists()
    assert run() == ("/usr/bin/python3\n", True)
    assert str(packages) in (caches / "wse" / "python-without-numpy").read_text().splitlines()
    assert run() == ("/usr/bin/python3\n", False)
    assert run(PYTHONPATH=str(packages)) == ("/usr/bin/python3\n", True)
    (packages / "numpy").mkdir()
    (packages / "numpy" / "__init__.py").touch()
    later = time.time() + 60
    os.utime(packages, (later, later))
    assert run()[0] == f"{here}/python3\n"


def test_cs_python_asks_all_again_before_it_gives_up(tmp_path):
    """Numpy may have come into a folder whose time did not change."""
    here, packages = python_without_numpy(tmp_path)
    env = {"PYTHONPATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), "CS_PYTHON": f"{here}/python3"}
    assert f"{here}/python3: has no numpy" in cs_python("a.py", expect=1, **env).err
    before = packages.stat()
    (packages / "numpy").mkdir()
    (packages / "numpy" / "__init__.py").touch()
    os.utime(packages, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cs_python("-c", "print(1)", **env).out == "1\n"


def pyenv_root(tmp_path):
    """A root of pyenv with two versions, and a shim that logs each start."""
    root = tmp_path / "pyenv"
    for name in ("3.11.7", "mine"):
        (root / "versions" / name / "bin").mkdir(parents=True)
        (root / "versions" / name / "bin" / "python3").symlink_to("/usr/bin/python3")
    (root / "shims").mkdir()
    shim = root / "shims" / "python3"
    shim.write_text('#!/usr/bin/env bash\necho x >>"$0.asked"\nexec /usr/bin/python3 "$@"\n')
    shim.chmod(0o755)
    return root


@pytest.mark.parametrize("of_variable,of_folder,of_root,taken", (
    ("mine", "3.11.7\n", "3.11.7\n", "mine"),
    ("", "mine", "3.11.7\n", "mine"),
    ("", None, "3.11.7\n", "3.11.7"),
    ("", None, None, None),
    ("", None, "system\n", None),
    ("", None, "3.11.7\nmine\n", None),
    ("", "# chosen by hand\nmine\n", "mine\n", None),
    ("3.11.7:mine", None, "mine\n", None),
    ("removed", None, "mine\n", None),
))
def test_cs_python_chooses_as_pyenv_does_without_its_shim(tmp_path, of_variable, of_folder, of_root,
                                                          taken):
    """Where pyenv's choice is no single installed version, the shim has to say it."""
    root = pyenv_root(tmp_path)
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    if of_folder is not None:
        (tmp_path / "a" / ".python-version").write_text(of_folder)
    if of_root is not None:
        (root / "version").write_text(of_root)
    out = harness.run(
        [harness.tool("cs_python"), "-c", "import numpy, sys; print(sys.executable)"], cwd=work,
        env={"PYENV_ROOT": str(root), "PYENV_VERSION": of_variable, "PYENV_DIR": "",
             "PYTHONPATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache"),
             "PATH": f"{root}/shims:/usr/bin:/bin"}).out
    expected = f"{root}/versions/{taken}/bin/python3" if taken else "/usr/bin/python3"
    assert out == f"{expected}\n"
    assert (root / "shims" / "python3.asked").exists() == (taken is None)


def test_cs_python_makes_no_folder_for_who_has_no_home(tmp_path):
    log = tmp_path / "made"
    (tmp_path / "mkdir").write_text(f'#!/bin/sh\necho "$@" >>{log}\n')
    (tmp_path / "mkdir").chmod(0o755)
    env = {"PYTHONPATH": "", "PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_CACHE_HOME": ""}
    assert cs_python("-c", "print(1)", HOME="", **env).out == "1\n"
    assert not log.exists(), log.read_text()
    assert cs_python("-c", "print(1)", HOME=str(tmp_path), **env).out == "1\n"
    # Once for each Python that it remembers: one without numpy may come first.
    assert set(log.read_text().splitlines()) == {f"-p {tmp_path}/.cache/wse"}


def test_cs_python_does_not_import_numpy_to_find_it(tmp_path):
    """The import takes longer than everything else that happens before the script starts."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(
        f"open({str(tmp_path / 'imports')!r}, 'a').write('x')\n")
    env = {"PYTHONPATH": str(tmp_path), "CS_PYTHON": sys.executable}
    cs_python("-c", "pass", **env)
    assert not (tmp_path / "imports").exists()
    cs_python("-c", "import numpy", **env)
    assert (tmp_path / "imports").read_text() == "x"


def test_cs_python_hands_on_the_exit_code():
    assert cs_python("-c", "import sys; sys.exit(7)", expect=7).code == 7


def test_the_missing_library_is_named(tmp_path):
    ran = cs_python("-c", "import wse_lib; wse_lib.load()", expect=1, WSE_LIB=str(tmp_path / "no.so"))
    assert "no.so" in ran.err


# ---- sdk_debug_shell ------------------------------------------------------------------------------

def shell(*args, expect=0):
    return harness.run([harness.tool("sdk_debug_shell"), *args], expect=expect)


def test_smoke_runs_the_scripts_where_they_lie(tmp_path):
    for name, text in {"a/commands.sh": "command -v cslc && touch ran",
                       "b c/commands_wse3.sh": "echo what was wrong; exit 3",
                       "d/other.sh": "touch ran"}.items():
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text + "\n")
    ran = shell("smoke", tmp_path, expect=1)
    assert ran.out.splitlines() == [
        f"passed  {tmp_path}/a/commands.sh", f"failed  {tmp_path}/b c/commands_wse3.sh",
        "    what was wrong", "1 passed, 1 failed"]
    assert (tmp_path / "a" / "ran").exists() and not (tmp_path / "d" / "ran").exists()
    assert shell("smoke", tmp_path / "a").out.endswith("1 passed, 0 failed\n")
    empty = shell("smoke", tmp_path / "d", expect=1)
    assert empty.out == "0 passed, 0 failed\n"
    assert empty.err == f"sdk_debug_shell: no commands*.sh below {tmp_path}/d\n"
    assert "no such folder" in shell("smoke", tmp_path / "e", expect=2).err
    assert "--report" in shell("visualize", expect=2).err
    assert shell("--help").out == shell(expect=2).err != ""
