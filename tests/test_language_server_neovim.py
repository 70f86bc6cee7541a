"""csl-ls with Neovim's client, which shares no code with ours: messages as one types, answers, a
rename and a formatting that Neovim carries out."""
import json
import os
import shutil

import pytest

import harness
import test_language_server as server

project = server.project


@pytest.fixture
def report(project):
    assert shutil.which("nvim"), ".ci/setup.sh installs neovim"
    (project / "pe.csl").write_text(server.PE.replace("size * 2", "size*2"))
    out = project / "report.json"
    harness.run(["nvim", "--headless", "-u", "NONE", "-c",
                 f"luafile {harness.ROOT / 'tests/language_server_neovim.lua'}"], cwd=project,
                env={"CSL_LS": harness.tool("csl-ls"), "CSL_FILE": str(project / "pe.csl"),
                     "CSL_OUT": str(out), "XDG_STATE_HOME": str(project), "HOME": str(project),
                     "XDG_CACHE_HOME": str(project), "TERM": os.environ.get("TERM", "dumb")})
    found = json.loads(out.read_text())
    assert "failure" not in found, found
    return found


def test_neovim(report):
    message, = report["messages"]
    lines = server.PE.split("\n")
    assert "untwice" in message["message"] and report["left"] == 0
    assert lines[message["line"]][:message["column"]] == "  point.first = "
    answers = report["answers"]
    assert "fn add(amount: f32, times: u16) void" in answers["hover"]["contents"]["value"]
    assert lines[answers["definition"]["range"]["start"]["line"]].startswith("fn add(")
    assert {"add", "values", "while"} <= {i["label"] for i in answers["completion"]["items"]}
    assert {"size", "main"} <= {s["name"] for s in answers["outline"]}
    assert len(answers["references"]) == 2
    assert report["text"] + "\n" == server.PE.replace("add(", "plus(")
