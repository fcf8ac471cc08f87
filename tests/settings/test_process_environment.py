"""Placement and settings read from environment variables."""

from pathlib import Path

import pytest

from sonde.settings import (
    HookSettings,
    WorkerPlacement,
    default_store,
    environment,
    hook_settings,
    is_disabled,
    load_settings,
    notebook_file,
    read_collections,
    set_variables,
    worker_placement,
)

CLUSTER_VARIABLES = (
    *("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PET_RDZV_ID", "OMPI_MCA_ess_base_jobid"),
    *("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    *("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PET_NNODES", "OMPI_COMM_WORLD_SIZE"),
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "TORCHELASTIC_RESTART_COUNT"),
    *("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_SIZE"),
    *("SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"),
    *("SONDE_STORE", "SONDE_DISABLE", "SONDE_NODE", "SONDE_JOB_URI", "SONDE_ATTEMPT"),
    *("SONDE_CLOCK_ANCHOR_NS", "SONDE_RUN_ID", "SONDE_HOOK"),
)


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in CLUSTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platform.node", lambda: "node7")
    monkeypatch.chdir(tmp_path)


def test_the_store_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_STORE", "/data/jobs")
    assert default_store() == load_settings(None).store == "/data/jobs"
    monkeypatch.setenv("SONDE_STORE", "")
    assert default_store() == "sonde-jobs"


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("yes", True), ("0", False), ("", False)]
)
def test_sonde_is_disabled_by_any_value_except_0_and_empty(
    monkeypatch: pytest.MonkeyPatch, value: str, *, expected: bool
) -> None:
    monkeypatch.setenv("SONDE_DISABLE", value)
    assert is_disabled() is expected


def test_a_process_outside_of_a_job_has_only_a_node_name() -> None:
    assert worker_placement() == WorkerPlacement("node7")


def test_a_worker_learns_its_job_from_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_JOB_URI", "/data/jobs/resnet")
    monkeypatch.setenv("SONDE_NODE", "gpu-box")
    monkeypatch.setenv("SONDE_ATTEMPT", "3")
    monkeypatch.setenv("SONDE_CLOCK_ANCHOR_NS", "1700000000123456789")
    monkeypatch.setenv("SONDE_RUN_ID", "0a1b")
    result = worker_placement()
    assert (result.job_uri, result.node, result.attempt) == ("/data/jobs/resnet", "gpu-box", 3)
    assert (result.clock_anchor_ns, result.run_id) == (1700000000123456789, "0a1b")
    assert (result.rank, result.world_size, result.local_rank, result.restart) == (None, 1, 0, 0)


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "SLURM_PROCID": "0"},
        {
            "OMPI_COMM_WORLD_RANK": "5",
            "OMPI_COMM_WORLD_SIZE": "8",
            "OMPI_COMM_WORLD_LOCAL_RANK": "1",
        },
        {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1"},
        {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_STEP_ID": "0"},
    ],
    ids=["torchrun", "Open MPI", "MPICH", "SLURM"],
)
def test_ranks_of_every_launcher_are_read(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = worker_placement()
    assert (result.rank, result.world_size, result.local_rank) == (5, 8, 1)


def test_the_restart_count_of_an_elastic_launcher_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    assert worker_placement().restart == 2


def test_a_slurm_batch_script_is_not_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert (worker_placement().rank, worker_placement().world_size) == (None, 1)


def test_a_local_rank_alone_is_the_rank_on_the_first_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (worker_placement().rank, worker_placement().world_size) == (1, 2)
    monkeypatch.setenv("NODE_RANK", "1")
    assert (worker_placement().rank, worker_placement().local_rank) == (None, 1)


@pytest.mark.parametrize("value", ["x", "-1", "1.5", " "])
def test_a_rank_that_is_not_a_number_is_ignored(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("RANK", value)
    monkeypatch.setenv("SONDE_ATTEMPT", value)
    assert (worker_placement().rank, worker_placement().attempt) == (None, 1)


def test_without_a_launcher_the_hook_uses_defaults() -> None:
    assert hook_settings() == HookSettings()


def test_hook_settings_are_passed_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = HookSettings(
        statistics=("weights",),
        histogram_every=0,
        stop_on_non_finite=True,
        replica_check_every=50,
        collections=read_collections(
            ["gradients:every=10,values", "x:include=é{1,3},eval.steps=1"]
        ),
        overhead_percent=2.5,
    )
    line = settings.to_json()
    assert "\n" not in line
    assert line.isascii()
    monkeypatch.setenv("SONDE_HOOK", line)
    assert hook_settings() == settings


def test_variables_can_be_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.delenv("SONDE_JOB", raising=False)
    before = set_variables({"PYTHONPATH": "ours:mine", "SONDE_JOB": "job"})
    assert environment()["PYTHONPATH"] == "ours:mine"
    set_variables(before)
    assert environment()["PYTHONPATH"] == "mine"
    assert "SONDE_JOB" not in environment()


def test_a_disabled_worker_has_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_JOB_URI", "somewhere/job")
    assert worker_placement().job_uri == "somewhere/job"
    monkeypatch.setenv("SONDE_DISABLE", "1")
    assert worker_placement().job_uri is None


@pytest.mark.parametrize(
    ("session_name", "file"),
    [("/home/me/deep learning.ipynb", "/home/me/deep learning.ipynb"), ("x", None)],
)
def test_the_path_of_a_notebook_is_read_from_jupyter(
    monkeypatch: pytest.MonkeyPatch, session_name: str, file: str | None
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", session_name)
    assert notebook_file() == file
