"""Questions to csl-ls through the protocol library of VS Code (tests/lsp/client.js)."""
import json
import shutil
import subprocess

import harness

FOLDER = harness.ROOT / "tests" / "lsp"


def is_possible():
    return shutil.which("node") is not None and (FOLDER / "node_modules").is_dir()


def ask_about(files, places, timeout=600):
    """Asks each request type about each file, at `places` words of it, and returns what client.js
    prints."""
    ran = subprocess.run(
        ["node", FOLDER / "client.js", harness.tool("csl-ls"), str(places), *files], check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=timeout)
    return json.loads(ran.stdout)
