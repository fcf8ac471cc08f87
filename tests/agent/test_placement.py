"""Jobs on several machines: exactly the variables and commands of each cluster and launcher."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from sonde.agent.placement import Placement, placement

TRAIN = ("python", "train.py")
HOST = "gpu-box-7"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variables, and the path of SageMaker's file, which does not exist."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setattr("platform.node", lambda: "gpu box/7")
    resources = tmp_path / "resourceconfig.json"
    monkeypatch.setattr("sonde.agent.clusters.sagemaker._RESOURCES", resources)
    return resources


def place(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], *command: str
) -> Placement:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return placement(command or TRAIN)


def test_a_single_machine_is_one_node() -> None:
    assert placement(TRAIN) == Placement(HOST)


SLURM = {"SLURM_JOB_ID": "4711", "SLURM_NNODES": "8", "SLURM_NODEID": "3", "SLURM_PROCID": "26"}
STEP = {**SLURM, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "4", "SLURM_LOCALID": "2"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (SLURM, Placement(HOST, "4711", 8)),
        (STEP, Placement(f"{HOST}.2", "4711", 4, 2)),
        ({**STEP, "SLURM_STEP_ID": "1"}, Placement(f"{HOST}.2", "4711.1", 4, 2)),
        (
            {**STEP, "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "11"},
            Placement(f"{HOST}.2", "4700_11", 4, 2),
        ),
        ({**STEP, "SLURM_RESTART_COUNT": "1"}, Placement(f"{HOST}.2", "4711", 4, 2, restarts=True)),
    ],
    ids=["batch script", "step", "later step", "array", "requeued"],
)
def test_slurm(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], expected: Placement
) -> None:
    assert place(monkeypatch, variables) == expected


@pytest.mark.parametrize(
    ("command", "group", "nodes"),
    [
        ("torchrun --nproc-per-node=8 train.py", None, 1),
        ("torchrun --nnodes=2 --node-rank=0 --master-addr=10.0.0.1 train.py", "10.0.0.1", 2),
        (
            "torchrun --nnodes 2 --master_addr 10.0.0.1 --master_port 29501 train.py --nnodes 9",
            "10.0.0.1-29501",
            2,
        ),
        ("python -m torch.distributed.run --nnodes=2 --master_addr=a train.py", "a", 2),
        ("torchrun --nnodes=1:4 --rdzv-backend=c10d --rdzv-endpoint=a:1 train.py", "a:1", 4),
        ("torchrun --nnodes=4 --rdzv_id=77 --rdzv_endpoint=a:1 train.py", "77", 4),
        ("torchrun --nnodes=4 --rdzv_id=none --rdzv_endpoint=a:1 train.py", "a:1", 4),
        ("/opt/venv/bin/torchrun --nnodes=4 --rdzv-id=77 -m package.train", "77", 4),
        ("torchrun --nnodes= train.py", None, 1),
        ("torchrun --nnodes", None, 1),
        ("bash launch.sh --nnodes=4", None, 1),
    ],
)
def test_torchrun_on_each_machine(
    monkeypatch: pytest.MonkeyPatch, command: str, group: str | None, nodes: int
) -> None:
    result = place(monkeypatch, {}, *command.split())
    assert (result.group, result.nodes) == (group, nodes)


@pytest.mark.parametrize(("run_id", "group"), [("none", None), ("77", "77")])
def test_a_process_of_torchrun(
    monkeypatch: pytest.MonkeyPatch, run_id: str, group: str | None
) -> None:
    result = place(monkeypatch, {"TORCHELASTIC_RUN_ID": run_id, "LOCAL_RANK": "3"})
    assert (result.node, result.group, result.local_rank) == (f"{HOST}.3", group, 3)


TRAIN_JOB = {
    "PET_NNODES": "2",
    "PET_NPROC_PER_NODE": "auto",
    "PET_NODE_RANK": "1",
    "PET_MASTER_ADDR": "llama-node-0-0.llama",
    "PET_MASTER_PORT": "29400",
}
PYTORCH_JOB = {
    "MASTER_ADDR": "llama-master-0",
    "MASTER_PORT": "23456",
    "WORLD_SIZE": "3",
    "RANK": "2",
}
ELASTIC_PYTORCH_JOB = {
    "PET_RDZV_ID": "e1",
    "PET_NNODES": "1:3",
    "PET_RDZV_ENDPOINT": "llama-worker-0:1",
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (TRAIN_JOB, Placement(HOST, "llama", 2, restarts=True)),
        ({**TRAIN_JOB, "PET_NNODES": "1:4"}, Placement(HOST, "llama", 4, restarts=True)),
        (PYTORCH_JOB, Placement(HOST, "llama", 3, restarts=True)),
        (ELASTIC_PYTORCH_JOB, Placement(HOST, "e1", 3)),
        ({"MASTER_ADDR": "10.0.0.1", "WORLD_SIZE": "8", "RANK": "0"}, Placement(HOST)),
    ],
    ids=["TrainJob", "elastic TrainJob", "PyTorchJob", "elastic PyTorchJob", "neither"],
)
def test_kubeflow(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], expected: Placement
) -> None:
    assert place(monkeypatch, variables) == expected


OPEN_MPI_4 = {
    "OMPI_COMM_WORLD_SIZE": "16",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "8",
    "OMPI_COMM_WORLD_RANK": "9",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_MCA_ess_base_jobid": "1234",
}
OPEN_MPI_5 = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "PMIX_NAMESPACE": "prterun-head-77@1",
}
MPICH = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (OPEN_MPI_4, Placement(f"{HOST}.1", "1234", 2, 1)),
        (OPEN_MPI_5, Placement(HOST, "prterun-head-77@1", 1, 0)),
        (MPICH, Placement(f"{HOST}.1", None, 2, 1)),
    ],
    ids=["Open MPI 4", "Open MPI 5", "MPICH"],
)
def test_mpi_counts_processes_not_machines(
    monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], expected: Placement
) -> None:
    assert place(monkeypatch, variables) == expected


def test_mpi_inside_slurm_has_the_job_of_slurm_and_the_rank_of_mpi(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mpi = {"OMPI_COMM_WORLD_LOCAL_RANK": "3", "OMPI_MCA_ess_base_jobid": "1234"}
    result = place(monkeypatch, {**SLURM, "SLURM_LOCALID": "0", **mpi})
    assert (result.group, result.nodes, result.local_rank) == ("4711", 8, 3)


def test_skypilot(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "sky-managed-2026-11-01-12-00-00-000000_train_7-0"
    nodes = {"SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2", "SKYPILOT_NODE_RANK": "1"}
    result = place(monkeypatch, {"SKYPILOT_TASK_ID": task, **nodes})
    assert result == Placement(HOST, task, 2, restarts=True)


def test_sagemaker_with_its_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2"}
    result = place(monkeypatch, {**hosts, "TRAINING_JOB_NAME": "bert-2026"})
    assert result == Placement("algo-2", "bert-2026", 2)


def test_sagemaker_in_any_container(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    machine.write_text(json.dumps({"current_host": "algo-1", "hosts": ["algo-1", "algo-2"]}))
    result = place(monkeypatch, {"TRAINING_JOB_NAME": "bert-2026"})
    assert result == Placement("algo-1", "bert-2026", 2)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"hosts": []}'])
def test_a_damaged_file_of_sagemaker_is_ignored(machine: Path, content: str) -> None:
    machine.write_text(content)
    assert placement(TRAIN) == Placement(HOST)


def test_lepton(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {"LEPTON_JOB_TOTAL_WORKERS": "4", "LEPTON_JOB_WORKER_INDEX": "2"}
    result = place(monkeypatch, {"LEPTON_JOB_NAME": "pretrain", **workers})
    assert result == Placement(HOST, "pretrain", 4, restarts=True)


@pytest.mark.parametrize("value", ["x", "1:y", "-1", "", "0"])
def test_invalid_values_are_ignored(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    names = ("PET_NNODES", "SLURM_LOCALID", "OMPI_COMM_WORLD_SIZE", "SKYPILOT_NUM_NODES")
    result = place(monkeypatch, dict.fromkeys(names, value))
    assert (result.nodes, result.local_rank) == (1, 0)
