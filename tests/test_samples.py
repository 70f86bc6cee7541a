"""Each sample compiles for both architectures, computes what numpy computes, and prints exactly
what its expected/ folder says, cycles included.

A sample's commands stand in its README as the fenced block after "Run it"; expected/output.txt is
what they print.  `tests/update_golden.sh` writes it anew.
"""
import os
import re
import shlex

import numpy
import pytest

import harness
import token_mutants

# Those with programs: job scripts for clusters have none.
SAMPLES = sorted(p.parent.name for p in harness.SAMPLES.glob("*/README.md")
                 if list(p.parent.rglob("*.csl")))
ARCHS = ("wse2", "wse3")


def commands(sample):
    """The command lines of the README's "Run it" block, each as a list of words."""
    text = (harness.SAMPLES / sample / "README.md").read_text()
    block = re.search(r"## Run it\n.*?```sh\n(.*?)```", text, re.DOTALL).group(1)
    return [shlex.split(line) for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def run_commands(sample, scratch, *compiler_options):
    """Runs a README's commands with their outputs in `scratch`; what wse-emu printed."""
    out = ""
    for tool, *args in commands(sample):
        args = [re.sub(r"\b(\w+\.(?:bin|json|npy))\b", rf"{scratch}/\1", a) for a in args]
        options = compiler_options if tool == "cslc" else ()
        ran = harness.run([harness.tool(tool), *args, *options], cwd=harness.ROOT)
        out += ran.out
    stats = harness.stats(scratch / "s.json")
    return out + f"cycles: {stats['cycles']}\n"


@pytest.mark.parametrize("sample", SAMPLES)
def test_output_is_as_expected(sample, tmp_path):
    golden = harness.SAMPLES / sample / "expected" / "output.txt"
    out = run_commands(sample, tmp_path)
    if os.environ.get("WSE_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(out)
    assert out == golden.read_text()


# Each runs the commands of its README; a sort of keys by a network takes seconds.
QUICK = [sample for sample in token_mutants.samples() if sample.folder.parent.name != "npb"]


@pytest.mark.parametrize("sample", QUICK, ids=[sample.folder.name for sample in QUICK])
def test_engines_and_threads_agree(sample, tmp_path):
    """The short form of the claim engines: a machine and a level, others with each commit."""
    engines, draw = harness.claim("engines"), harness.commit_random(f"engines {sample.folder.name}")
    harness.cslc(*sample.args, draw.choice(["-O0", "-O1", "-O2"]), f"--arch={draw.choice(ARCHS)}",
                 "-o", tmp_path / "p.bin", cwd=sample.folder)
    reference, *others = [engines.run_by_host(sample, tmp_path / "p.bin", tmp_path, *way)
                          for way in engines.WAYS]
    assert reference[0] and all(other == reference for other in others)


def printed(tmp_path, sample, arch, params, symbol, level="-O1"):
    harness.compile(f"samples/{sample}/layout.csl", tmp_path / "p.bin", f"--arch={arch}", level,
                    params=params)
    return harness.values(harness.emu(tmp_path / "p.bin", "--check=lengths", f"--print={symbol}").out,
                          symbol.split("@")[0])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("level", ("-O0", "-O1", "-O2"))
def test_hello_wavelet(tmp_path, arch, level):
    assert printed(tmp_path, "hello-wavelet", arch, {}, "received", level) == {(1, 0): [42.0]}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tiles, words", ((2, 1), (5, 16), (17, 100)))
def test_broadcast(tmp_path, arch, tiles, words):
    got = printed(tmp_path, "broadcast-1d", arch, {"P": tiles, "B": words}, "v")
    assert got == {(p, 0): [float(i + 1) for i in range(words)] for p in range(tiles)}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("sample, tiles, words", (
    ("reduce-chain", 2, 1), ("reduce-chain", 7, 33), ("reduce-chain", 32, 256),
    ("reduce-tree", 2, 1), ("reduce-tree", 8, 33), ("reduce-tree", 32, 64)))
def test_reduce(tmp_path, arch, sample, tiles, words):
    got = printed(tmp_path, sample, arch, {"P": tiles, "B": words}, "sum@0,0,1,1")
    p, i = numpy.arange(tiles)[:, None], numpy.arange(words)
    assert got == {(0, 0): list((p + i).sum(axis=0).astype(float))}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("numbers", (1, 10, 200))
def test_data_task(tmp_path, arch, numbers):
    got = printed(tmp_path, "data-task", arch, {"N": numbers}, "total")
    assert got == {(1, 0): [numbers * (numbers + 1) / 2]}


def gemv_reference(M, N):
    i, j = numpy.arange(M), numpy.arange(N)
    A = ((3 * i[:, None] + 5 * j) % 7 - 3).astype(numpy.float32)
    # CSL's % has the sign of the dividend, which is never negative here.
    return A @ (j % 5 - 2).astype(numpy.float32) + (i % 3).astype(numpy.float32)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("width, height, M, N", ((4, 4, 32, 32), (2, 3, 6, 10), (5, 2, 8, 20)))
def test_gemv(tmp_path, arch, width, height, M, N):
    params = {"width": width, "height": height, "M": M, "N": N}
    got = printed(tmp_path, "gemv", arch, params, f"y@{width - 1},0,1,{height}")
    y = numpy.concatenate([got[width - 1, row] for row in range(height)])
    assert numpy.array_equal(y, gemv_reference(M, N))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("packets", (1, 4, 20))
def test_packets(tmp_path, arch, packets):
    got = printed(tmp_path, "packets", arch, {"packets": packets}, "numbers")
    assert got == {(1, 0): [10.0 * k + i for k in range(packets) for i in range(k + 1)]}
