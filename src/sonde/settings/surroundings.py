"""What variables say about where this process runs: its store, its node, its rank, its job."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sonde.settings.hook import HookSettings

DEFAULT_STORE = "sonde-jobs"

VARIABLES = {
    "SONDE_STORE": "the default store; without it, ./sonde-jobs",
    "SONDE_DISABLE": "set to 1: `sonde run` becomes the command, `sonde.start()` and its like do "
    "nothing, as if Sonde were not there",
}

# How launchers tell a process its rank, how many there are, and its rank on its node.
_RANKS = (
    ("RANK", ("WORLD_SIZE",), "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", ("PMI_SIZE",), "MPI_LOCALRANKID"),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), "SLURM_LOCALID"),
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where this process runs among the machines and processes of one job."""

    node: str
    group: str | None = None  # what the cluster calls the whole job, where it says so
    nodes: int = 1
    local_rank: int = 0  # above 0: another launcher on this node watches the machine


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Where a training process runs: its job, as `sonde run` tells it, and its rank in it."""

    node: str
    job_uri: str | None = None  # None: there is no `sonde run` around
    attempt: int = 1
    clock_anchor_ns: int | None = None  # of the clock that all processes of the attempt share
    run_id: str | None = None
    rank: int | None = None  # None: nobody gave it one, so it may be alone
    world_size: int = 1
    local_rank: int = 0
    restart: int = 0  # how often an elastic launcher has started this rank again


def default_store() -> str:
    """SONDE_STORE, else a folder here."""
    return os.environ.get("SONDE_STORE") or DEFAULT_STORE


def is_disabled() -> bool:
    """Whether SONDE_DISABLE asks that nothing be done at all."""
    return os.environ.get("SONDE_DISABLE", "") not in ("", "0")


def environment() -> dict[str, str]:
    """All variables that we were given, to be handed on or, masked, to be recorded."""
    variables = dict(os.environ)
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return variables
    # Python sets this one by itself where there is no locale; the command must not inherit it
    if not any(one.startswith(b"LC_CTYPE=") for one in given):
        variables.pop("LC_CTYPE", None)
    return variables


def placement() -> Placement:
    """Where this process runs, from the variables of SLURM, torchrun, MPI and Kubernetes."""
    group = _first("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PET_RDZV_ID", "OMPI_MCA_ess_base_jobid")
    if group == "none":  # torchrun's name for a run that was given none
        group = None
    local_rank = _number(
        *("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
        *(("LOCAL_RANK",) if "TORCHELASTIC_RUN_ID" in os.environ else ()),
    )
    nodes = _number("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PET_NNODES", "OMPI_COMM_WORLD_SIZE")
    host = _host()
    return Placement(
        node=f"{host}.{local_rank}" if local_rank else host,
        group=group,
        nodes=1 if nodes is None else nodes,
        local_rank=local_rank or 0,
    )


def notebook_file() -> str | None:
    """The notebook that runs here, where Jupyter tells."""
    file = _first("JPY_SESSION_NAME")
    return file if file and file.endswith(".ipynb") else None


def announce(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """Sets variables for this process and those it will start; returns what they were before."""
    before = {name: os.environ.get(name) for name in variables}
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def worker_place() -> WorkerPlace:
    """Where this training process runs, from what `sonde run` and the cluster have told it."""
    rank, world_size, local_rank = _rank()
    return WorkerPlace(
        node=_first("SONDE_NODE") or _host(),
        job_uri=None if is_disabled() else _first("SONDE_WORKER_URI", "SONDE_JOB_URI"),
        attempt=_number("SONDE_ATTEMPT") or 1,
        clock_anchor_ns=_number("SONDE_CLOCK_ANCHOR_NS"),
        run_id=_first("SONDE_RUN_ID"),
        rank=rank,
        world_size=world_size,
        local_rank=local_rank,
        restart=_number("TORCHELASTIC_RESTART_COUNT") or 0,
    )


def hook_settings() -> HookSettings:
    """What the hook keeps, as `sonde run` hands it to every process of the job."""
    handed_on = os.environ.get("SONDE_HOOK")
    return HookSettings.from_json(handed_on) if handed_on else HookSettings()


def _rank() -> tuple[int | None, int, int]:
    """Rank, world size and local rank, all by the same launcher."""
    for rank_name, size_names, local_name in _RANKS:
        rank = _number(rank_name)
        # a batch script has SLURM's variables too; only what srun started is one of its tasks
        if rank is None or (rank_name == "SLURM_PROCID" and not _first("SLURM_STEP_ID")):
            continue
        return rank, _number(*size_names) or 1, _number(local_name) or 0
    local_rank = _number("LOCAL_RANK") or 0
    # Lightning starts its processes with a local rank alone
    is_known = "LOCAL_RANK" in os.environ and not _number("NODE_RANK")
    return local_rank if is_known else None, _number("WORLD_SIZE") or 1, local_rank


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()) or "node"


def _number(*names: str) -> int | None:
    value = _first(*names)
    return int(value) if value and value.isdecimal() else None


def _first(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
