"""The job scripts of samples/slurm, run as Slurm runs them: with its variables, and again after a
kill."""
import json
import os

import pytest

import harness
import ranks_run

FOLDER = harness.ROOT / "samples" / "slurm"


def job(folder, script, *args, expect=0, **variables):
    env = {**ranks_run.ENVIRONMENT, "PATH": f"{harness.bin_dir()}:{os.environ['PATH']}",
           **{name: str(value) for name, value in variables.items()}}
    return harness.run(["bash", FOLDER / script, *args], cwd=folder, env=env, expect=expect)


@pytest.mark.skipif(not ranks_run.is_possible(), reason="needs Open MPI")
def test_a_job_that_was_killed_goes_on_from_its_state(tmp_path):
    image = tmp_path / "p.bin"
    harness.compile("samples/reduce-chain/layout.csl", image, params={"P": 8, "B": 4000})
    harness.run([harness.tool("wse-emu"), image, "--stats=whole.json"], cwd=tmp_path)
    half = json.loads((tmp_path / "whole.json").read_text())["cycles"] // 2
    slurm = {"SLURM_JOB_ID": 7, "SLURM_NTASKS": 2, "WSE_SAVE_EVERY": half // 4}
    # The limit of cycles stands for a node that is lost.
    job(tmp_path, "wafer.sbatch", image, f"--max-cycles={half}", expect=None, **slurm)
    assert (tmp_path / "wse-emu-7.state").exists()
    job(tmp_path, "wafer.sbatch", image, "--stats=again.json", **slurm)
    assert ranks_run.stats_of(tmp_path / "again.json") == ranks_run.stats_of(tmp_path / "whole.json")


def test_a_job_array_runs_each_set_of_parameters(tmp_path):
    layout = harness.SAMPLES / "reduce-chain" / "layout.csl"
    cycles = []
    for task, parameters in enumerate(("P:4,B:16", "P:8,B:16")):
        job(tmp_path, "sweep.sbatch", layout, "P:4,B:16", "P:8,B:16", SLURM_ARRAY_TASK_ID=task)
        run = json.loads((tmp_path / f"sweep-{task}.json").read_text())
        cycles.append((run["tiles"], run["cycles"]))
    assert cycles[0][0] == 4 and cycles[1][0] == 8 and cycles[0][1] < cycles[1][1]
    ran = job(tmp_path, "sweep.sbatch", layout, "P:4,B:16", expect=1, SLURM_ARRAY_TASK_ID=3)
    assert "task 3 has no parameters" in ran.err
