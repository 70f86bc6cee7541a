#!/usr/bin/python3
"""VS Code itself, with the extension: messages, hints, values and steps of the debugger with and
without launch.json and behind a host script, the report, and what it shows without a server.

CODE_SERVER names a folder where tests/vscode/install_host.sh has installed VS Code's server; without
it the claim installs one, which takes minutes.  SCREENSHOTS names a folder for screenshots.
tests/test_vscode.py runs the extension over a stand-in.

No short form: programs of others.
"""
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from claims import Claims, harness

TESTS = harness.ROOT / "tests" / "vscode"
EXTENSION = harness.ROOT / "editors" / "vscode"
MOST_SECONDS = 900
LAYOUT = """param turns: u16;
layout { @set_rectangle(2, 1); for (@range(u16, 2)) |x| {
  @set_tile_code(x, 0, "pe.csl", .{ .turns = turns }); } }
"""
PROGRAM = """param turns: u16;
const many = 4 * turns;
var count: u16 = 0;
task main() void {
  for (@range(u16, many)) |i| {
    count += i;
  }
  count += 1;  // stop
  count *= 2;
}
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""
STUCK = """param turns: u16;
var n: u16 = 4;
var taken = @zeros([4]u32);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = @get_color(3), .extent = 4,
                                  .input_queue = @get_input_queue(2) });
const taken_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> taken[i] });
task main() void {
  @mov32(@set_dsd_length(taken_dsd, n), @set_dsd_length(in, n));  // stop
}
comptime { @bind_local_task(main, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }
"""
STUCK_LAYOUT = LAYOUT.replace("} }", """
  @set_color_config(x, 0, @get_color(3), .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } }); } }""")
OPTIONS = ["--params=turns:3", "-O0"]
COUNT = sum(range(4 * 3))


def run_quietly(command, **options):
    """Shows what the command has printed only if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise RuntimeError(done.stdout[-4000:])


def make_workspace(folder, settings=None, program=PROGRAM, layout=LAYOUT):
    (folder / ".vscode").mkdir(parents=True)
    (folder / "layout.csl").write_text(layout)
    (folder / "pe.csl").write_text(program)
    (folder / "csl.json").write_text(json.dumps(
        {"programs": [{"layout": "layout.csl", "options": OPTIONS}]}))
    (folder / ".vscode" / "settings.json").write_text(json.dumps(settings or {}))


def make_workspaces(folder):
    make_workspace(folder / "plain")
    make_workspace(folder / "wrong", program=PROGRAM.replace("count *= 2", "count *= nothing"))
    make_workspace(folder / "missing", {"csl.server": "/nowhere/csl-ls"})
    make_workspace(folder / "stuck", program=STUCK, layout=STUCK_LAYOUT)
    make_workspace(folder / "launch")
    harness.run([harness.tool("cslc"), "layout.csl", *OPTIONS, "-o", "built/here"],
                cwd=folder / "launch")
    (folder / "launch" / ".vscode" / "launch.json").write_text(json.dumps({"configurations": [
        {"type": "csl", "request": "launch", "name": "built", "program": "built/here"}]}))
    shutil.copytree(harness.ROOT / "samples" / "axpy", folder / "hosted")
    program = folder / "hosted" / "pe.csl"
    program.write_text(program.read_text().replace("x_dsd, a);", "x_dsd, a);  // stop"))
    (folder / "hosted" / "commands.sh").write_text(
        "set -e\ncslc layout.csl --params=width:3,height:2,N:4 --memcpy --channels=1 "
        "--fabric-dims=10,4 --fabric-offsets=4,1 -o axpy\n"
        "cs_python run.py --name axpy > said.txt\n")


def package_extension(scratch, env):
    """The .vsix, as docs/editors.md says."""
    folder = scratch / "extension"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules"))
    for command in (["npm", "install", "--no-audit", "--no-fund"], ["npm", "run", "package"]):
        run_quietly(command, cwd=folder, env=env)
    package, = folder.glob("*.vsix")
    return package


def line_of_stop(program):
    return program[:program.index("// stop")].count("\n") + 1


class Server:
    """VS Code's server with the extension, for the workspaces of a folder."""

    def __init__(self, host, scratch):
        node = host / "node/node_modules/node/bin"
        tools = harness.bin_dir()
        env = {**os.environ, "PATH": f"{node}:{tools}:{os.environ['PATH']}"}
        self.command = [node / "node", host / "node_modules/code-server/out/node/entry.js",
                        "--user-data-dir", scratch / "data", "--extensions-dir", scratch / "added",
                        "--config", scratch / "config.yaml", "--auth", "none",
                        "--disable-telemetry", "--disable-update-check"]
        (scratch / "data" / "User").mkdir(parents=True)
        (scratch / "data" / "User" / "settings.json").write_text(json.dumps({
            "security.workspace.trust.enabled": False, "workbench.startupEditor": "none",
            "workbench.secondarySideBar.defaultVisibility": "hidden",
            "terminal.integrated.env.linux": {"PATH": f"{tools}:/usr/bin:/bin"},
            **{f"csl.{key}": str(tools / name) for key, name in (
                ("server", "csl-ls"), ("debugger", "wse-dbg"), ("compiler", "cslc"),
                ("emulator", "wse-emu"))}}))
        run_quietly([*self.command, "--install-extension", package_extension(scratch, env)], env=env)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [*self.command, "--bind-addr", f"127.0.0.1:{self.port}"], env=env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self, seconds=60):
        for _ in range(seconds * 10):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("VS Code's server does not listen")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def use_editor(host, scratch, workspaces):
    server = Server(host, scratch)
    shots = Path(os.environ.get("SCREENSHOTS") or scratch)
    try:
        server.wait()
        done = subprocess.run(["node", TESTS / "editor.mjs", f"http://127.0.0.1:{server.port}",
                               workspaces, shots], timeout=MOST_SECONDS, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
    finally:
        server.stop()
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    return json.loads(done.stdout)


def main():
    claims = Claims()
    host = Path(os.environ.get("CODE_SERVER") or claims.scratch / "host").resolve()
    if not host.exists():
        run_quietly([TESTS / "install_host.sh", host])
    workspaces = claims.scratch / "workspaces"
    make_workspaces(workspaces)
    seen = use_editor(host, claims.scratch, workspaces)
    harness.run([harness.tool("wse-emu"), "out", f"--stats={claims.scratch}/s.json"],
                cwd=workspaces / "plain")
    cycles = harness.stats(claims.scratch / "s.json")["cycles"]
    stop = line_of_stop(PROGRAM)

    claims.equals("messages about a mistake, after a compilation, too",
                  seen["wrong"].count("'nothing' is not declared"), 1)
    claims.equals("what is missing is named", "/nowhere/csl-ls" in seen["missing"], True)
    claims.equals("value beside a constant", seen["plain"]["hint"].endswith(f"= {4 * 3};"), True)
    claims.equals("line of the breakpoint", seen["plain"]["line"], stop)
    claims.equals("value of a global", seen["plain"]["count"], COUNT)
    claims.equals("answer of the debug console", seen["plain"]["sum"], COUNT + 40)
    claims.equals("cycles in the report", seen["plain"]["cycles"], cycles)
    claims.equals("line of the breakpoint, launch.json", seen["launch"]["line"], stop)
    for name in ("plain", "launch", "hosted"):
        claims.equals(f"{name}: ends well", seen[name]["over"].endswith("exit code 0"), True)
    claims.equals("line of the breakpoint, host script", seen["hosted"]["line"],
                  line_of_stop((workspaces / "hosted" / "pe.csl").read_text()))
    claims.equals("line of a deadlock", seen["stuck"]["line"], line_of_stop(STUCK))
    claims.equals("the editor shows why", "deadlock at cycle" in seen["stuck"]["text"], True)
    claims.equals("the host script has gone on to its end",
                  "SUCCESS" in (workspaces / "hosted" / "said.txt").read_text(), True)
    claims.finish()


main()
