"""csl-ls through the protocol library of VS Code: each request type, with answers that the library
takes for what they should be."""
import harness
import lsp_client
import pytest

pytestmark = pytest.mark.skipif(not lsp_client.is_possible(),
                                reason="needs Node.js, and npm ci in tests/lsp")


def test_every_request_has_an_answer_of_the_protocol():
    files = sorted((harness.SAMPLES / "gemv").glob("*.csl"))
    ran = lsp_client.ask_about(files, places=12)
    assert ran["wrong"] == [] and ran["exit"] == 0
    assert len(ran["answers"]) == 15
    of_files = len(files) * 12
    assert all(count in (1, len(files), of_files) for count in ran["answers"].values())
    empty = set(ran["answers"]) - set(ran["values"])
    assert empty <= {f"textDocument/{name}" for name in ("codeAction", "formatting", "inlayHint")} | {
        "workspace/symbol"}


def test_a_file_with_mistakes(tmp_path):
    path = tmp_path / "bad.csl"
    path.write_text("fn f( {\n  const x = @as(u16, ;\n}\nvar y: i16 = z;\n\n\n\n")
    ran = lsp_client.ask_about([path], places=8)
    assert ran["wrong"] == [] and ran["exit"] == 0
