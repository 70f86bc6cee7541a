"""The sources of the WebAssembly package and the playground, as far as they need no Emscripten:
what the two sides of the module call each other, the samples that the page offers, and the
checksums of what the build downloads."""
import json
import re
import shutil

import pytest

import harness

FOLDER = harness.ROOT / "playground"
MODULE = (FOLDER / "module" / "module.c").read_text()
SCRIPTS = "\n".join(p.read_text() for p in sorted((FOLDER / "module" / "src").glob("*.ts")))
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")


def functions():
    return set(re.findall(r"^EMSCRIPTEN_KEEPALIVE [\w* ]*?\bmodule_(\w+)\(", MODULE, re.M))


def calls():
    return set(re.findall(r'\b(?:call|callText)\("(\w+)"', SCRIPTS)) | set(
        re.findall(r'"_module_(\w+)"', SCRIPTS))


def test_both_sides_of_the_module_agree():
    assert len(functions()) > 15
    assert calls() == functions()


def test_sources_have_checksums_and_versions():
    rows = [line.split() for line in (FOLDER / "sources.lock").read_text().splitlines()]
    assert {package.split("=")[0] for _, _, package in rows} == {
        "gmp", "jansson", "libzstd", "zlib"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", total) for total, _, _ in rows)


def test_the_manifest_names_what_the_build_makes():
    manifest = json.loads((FOLDER / "module" / "package.json").read_text())
    assert manifest["types"].endswith(".d.ts") and manifest["exports"]["."]["types"]
    notice = (FOLDER / "module" / "NOTICE").read_text()
    for library in ("mini-gmp", "jansson", "zlib", "zstd", "stb_ds", "uthash"):
        assert library in notice
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    wanted = json.loads((FOLDER / "package.json").read_text())["devDependencies"]
    assert lock["packages"][""]["devDependencies"] == wanted


@needs_node
def test_the_page_offers_samples_that_compile(tmp_path):
    script = ("import('./samples.mjs').then((m) => "
              "console.log(JSON.stringify(m.collectSamples('../samples'))))")
    ran = harness.run(["node", "-e", script], cwd=FOLDER)
    samples = json.loads(ran.out)
    titles = [s["title"] for s in samples]
    assert len(titles) >= 10 and len(set(titles)) == len(titles)
    assert titles[:3] == ["hello-wavelet", "data-task", "packets"], "the order of samples/README.md"
    for sample in samples:
        folder = tmp_path / sample["title"].replace(": ", "-")
        for path, text in sample["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        harness.cslc(sample["main"], "-o", folder / "a.bin", *sample["options"].split(),
                     cwd=folder)
