"""States of clusters: a run that goes on from one shows what the whole run shows, on each engine and on
several processes; and files that are no states of this cluster are errors."""
import random

import pytest

import cluster_random
import cluster_run
import harness
import ranks_run
import test_cluster

WAYS = [(0, ["--engine=fast"]), (0, ["--engine=reference"]), (0, ["--threads=3"])]


ONCE_DIFFERENT = 184942         # the report of an assertion reads the stack


@pytest.mark.parametrize("number", [*range(10), ONCE_DIFFERENT])
def test_random_clusters_go_on(number, cluster_images):
    seed = number if number == ONCE_DIFFERENT else \
        int(harness.commit_random("cluster states").integers(10 ** 6)) + number
    cluster = cluster_random.without_trace(cluster_random.RandomCluster(seed))
    found, _ = cluster_random.restart_differences(cluster, cluster_images, random.Random(seed), WAYS)
    assert not found, seed


@pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")
def test_a_state_goes_from_processes_to_processes(cluster_images):
    seed = int(harness.commit_random("cluster states").integers(10 ** 6))
    ways = [(2, ["--engine=reference"]), (3, ["--threads=2"])]
    cluster = cluster_random.without_trace(cluster_random.RandomCluster(seed))
    found, _ = cluster_random.restart_differences(cluster, cluster_images, random.Random(seed), ways)
    assert not found, seed


def relay(folder, words=40, **topology):
    test_cluster.relay(folder, words)
    file = cluster_run.write(folder / "c.json", {"topology": {
        **test_cluster.LINE, "size": 3, "latency": 50, **topology}})
    return [f"--cluster={file}", *test_cluster.roles(3, 3), "--launch=go", "--print=got"]


def test_a_state_of_a_state(tmp_path):
    args = relay(tmp_path)
    whole = harness.emu(*args)
    for cycle, load in ((90, []), (170, [f"--load-state={tmp_path}/90"])):
        harness.emu(*args, *load, f"--max-cycles={cycle}", f"--save-state={tmp_path}/{cycle}",
                    expect=4)
    ran = harness.emu(*args, f"--load-state={tmp_path}/170", "--engine=reference")
    assert (ran.out, ran.err) == (whole.out, whole.err)


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-100])


def damage(path):
    """A byte in the middle, which is in the state of a wafer."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


MISTAKES = [
    (lambda path: path.write_text("text"), "it is too short for a state of a cluster"),
    (lambda path: path.write_text("text" * 99), "it is no state of a cluster"),
    (cut_off, "it is damaged"),
    (damage, "it is damaged: its checksum does not match"),
    (lambda path: path.unlink(), "No such file"),
]


@pytest.mark.parametrize("spoil,message", MISTAKES)
def test_files_that_are_no_states(spoil, message, tmp_path):
    args, state = relay(tmp_path), tmp_path / "state"
    harness.emu(*args, f"--save-state={state}")
    spoil(state)
    assert message in harness.emu(*args, f"--load-state={state}", expect=1).err


def test_states_of_other_runs(tmp_path):
    args, state = relay(tmp_path), tmp_path / "state"
    harness.emu(*args, f"--save-state={state}")
    assert "it is of another cluster: of other wafers or links" in harness.emu(
        *relay(tmp_path, latency=51), f"--load-state={state}", expect=1).err
    assert "w0: error: cannot use the state" in harness.emu(
        *relay(tmp_path, words=41), f"--load-state={state}", expect=1).err
    args = relay(tmp_path)
    ran = harness.emu(args[0], "--launch=w1:go", *args[1:], f"--load-state={state}", expect=1)
    assert "the host does something else than in the run that has written it" in ran.err
    assert "it is of a cluster: give its file with --cluster" in harness.emu(
        tmp_path / "p.bin", f"--load-state={state}", expect=1).err
    harness.emu(tmp_path / "p.bin", "--run", f"--save-state={state}")
    assert "it is no state of a cluster" in harness.emu(
        *args, f"--load-state={state}", expect=1).err
