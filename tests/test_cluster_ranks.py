"""The wafers of a cluster on several processes: whatever a run shows is as on one, also where it ends
in a report; and runs that a signal or a lost process ends."""
import signal
import subprocess
import time

import pytest

import cluster_random
import cluster_run
import harness
import ranks_run
import test_cluster

needs_mpi = pytest.mark.skipif(not ranks_run.is_possible(), reason="no MPI")


ONCE_DIFFERENT = 184844         # an assertion in a function that is called


@needs_mpi
@pytest.mark.parametrize("number", [*range(2), ONCE_DIFFERENT])
def test_random_clusters_are_as_on_one_process(number, cluster_images):
    seed = number if number == ONCE_DIFFERENT else \
        int(harness.commit_random("cluster ranks").integers(10 ** 6)) + number
    cluster = cluster_random.RandomCluster(seed)
    alone = cluster_random.outcome(cluster, cluster_images)
    assert alone["code"] != 1, alone["err"]
    for processes, options in ((2, ["--threads=3"]), (3, ["--engine=reference", "--threads=2"])):
        found = cluster_random.outcome(cluster, cluster_images, processes, options)
        assert not cluster_random.differences(alone, found), seed


def test_random_clusters_on_both_engines(cluster_images):
    first = int(harness.commit_random("cluster engines").integers(10 ** 6))
    for seed in range(first, first + 8):
        cluster = cluster_random.RandomCluster(seed)
        alone = cluster_random.outcome(cluster, cluster_images)
        assert alone["code"] != 1, alone["err"]
        for options in (["--engine=reference"], ["--threads=2"]):
            found = cluster_random.outcome(cluster, cluster_images, extra=options)
            assert not cluster_random.differences(alone, found), (seed, options)


@needs_mpi
def test_a_deadlock_across_processes(tmp_path):
    """The wafers that wait for each other, and the link between them, are on three processes."""
    test_cluster.relay(tmp_path, 40)
    file = cluster_run.write(tmp_path / "c.json", {
        "topology": {**test_cluster.LINE, "size": 3, "latency": 50}})
    args = [f"--cluster={file}", *test_cluster.roles(3, 3), "--launch=w0:go", "--launch=w2:go"]
    alone, apart = harness.emu(*args, expect=3), ranks_run.emu(3, *args, expect=3)
    assert ranks_run.without_mpirun(apart.err) == alone.err
    assert "link w0-w1@0: 32 words of wafer w0" in alone.err


@needs_mpi
def test_more_processes_than_wafers(tmp_path):
    test_cluster.relay(tmp_path, 9)
    file = cluster_run.write(tmp_path / "c.json", {
        "topology": {**test_cluster.LINE, "size": 2, "latency": 5}})
    args = [f"--cluster={file}", *test_cluster.roles(2, 3), "--launch=go", "--print=got"]
    assert ranks_run.emu(4, *args).out == harness.emu(*args).out


def endless(folder):
    """Two wafers with a link, whose tiles run for ever."""
    (folder / "layout.csl").write_text("""
const c = @get_color(1);
layout {
  @set_rectangle(1, 1);
  @set_tile_code(0, 0, "pe.csl", .{});
  @set_color_config(0, 0, c, .{ .routes = .{ .rx = .{ RAMP }, .tx = .{ EAST } } });
}
""")
    (folder / "pe.csl").write_text("""
const id = @get_local_task_id(8);
task main() void { @activate(id); }
comptime {
  @bind_local_task(main, id);
  @activate(id);
}
""")
    harness.compile(folder / "layout.csl", folder / "p.bin")
    return cluster_run.write(folder / "c.json", {"topology": {
        **test_cluster.LINE, "size": 2, "latency": 2000, "channels": [{"colors": [1, 1]}]}})


@needs_mpi
def test_a_dead_process_ends_all(tmp_path):
    """Promptly, with a message and an exit code."""
    ranks_run.check_dead_process_ends_all(f"--cluster={endless(tmp_path)}")


@pytest.mark.parametrize("options", [[], ["--threads=2"], ["--engine=reference"]])
def test_a_signal_ends_a_cluster_in_order(options, tmp_path):
    """With messages that say where it was, and with statistics that say so, too."""
    stats = tmp_path / "s.json"
    started = subprocess.Popen(
        [harness.tool("wse-emu"), f"--cluster={endless(tmp_path)}", f"--stats={stats}", *options],
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        preexec_fn=harness.default_signals)
    time.sleep(1)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130 and "w0: error: the run was interrupted at cycle" in err
    assert harness.stats(stats)["wafers"]["w0"]["partial"]
