"""Settings from environment variables: store, node, rank and job."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sonde.settings.hook import HookSettings

DEFAULT_STORE = "sonde-jobs"

VARIABLES = {
    "SONDE_STORE": "the default store; `./sonde-jobs` if unset",
    "SONDE_DISABLE": "set to 1 to disable Sonde: `sonde run` only runs the command, and the "
    "functions of the `sonde` module do nothing",
}

# variables of launchers for rank, world size and local rank
_RANKS = (
    ("RANK", ("WORLD_SIZE",), "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",), "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", ("PMI_SIZE",), "MPI_LOCALRANKID"),
    ("SLURM_PROCID", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), "SLURM_LOCALID"),
)


@dataclass(frozen=True, slots=True)
class WorkerPlacement:
    """The position of a training process: its job, set by `sonde run`, and its rank."""

    node: str
    job_uri: str | None = None  # None: not started by `sonde run`
    attempt: int = 1
    clock_anchor_ns: int | None = None  # shared by all processes of the attempt
    run_id: str | None = None
    rank: int | None = None  # None: no launcher has set one
    world_size: int = 1
    local_rank: int = 0
    restart: int = 0  # number of restarts by an elastic launcher


def default_store() -> str:
    """SONDE_STORE, or a folder in the current directory."""
    return os.environ.get("SONDE_STORE") or DEFAULT_STORE


def is_disabled() -> bool:
    """Whether SONDE_DISABLE is set."""
    return os.environ.get("SONDE_DISABLE", "") not in ("", "0")


def current_variables() -> Mapping[str, str]:
    """The environment variables of this process, including later changes."""
    return os.environ


def environment() -> dict[str, str]:
    """All environment variables of this process."""
    variables = dict(os.environ)
    try:
        initial = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return variables
    # Python sets LC_CTYPE if there is no locale; the command must not inherit it
    if not any(variable.startswith(b"LC_CTYPE=") for variable in initial):
        variables.pop("LC_CTYPE", None)
    return variables


def notebook_file() -> str | None:
    """The notebook that runs in this process, if Jupyter reports it."""
    file = _first("JPY_SESSION_NAME")
    return file if file and file.endswith(".ipynb") else None


def set_variables(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    """Set variables for this process and its future children; return the previous values."""
    before = {name: os.environ.get(name) for name in variables}
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return before


def worker_placement() -> WorkerPlacement:
    """The position of this training process, from `sonde run` and the cluster."""
    rank, world_size, local_rank = _rank()
    return WorkerPlacement(
        node=_first("SONDE_NODE") or host_name(),
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
    """The hook settings that `sonde run` passes to every process of the job."""
    variable = os.environ.get("SONDE_HOOK")
    return HookSettings.from_json(variable) if variable else HookSettings()


def _rank() -> tuple[int | None, int, int]:
    """Rank, world size and local rank, all from the same launcher."""
    for rank_name, size_names, local_name in _RANKS:
        rank = _number(rank_name)
        # a batch script has SLURM's variables, too; only srun starts tasks
        if rank is None or (rank_name == "SLURM_PROCID" and not _first("SLURM_STEP_ID")):
            continue
        return rank, _number(*size_names) or 1, _number(local_name) or 0
    local_rank = _number("LOCAL_RANK") or 0
    # Lightning sets only the local rank
    is_known = "LOCAL_RANK" in os.environ and not _number("NODE_RANK")
    return local_rank if is_known else None, _number("WORLD_SIZE") or 1, local_rank


def host_name() -> str:
    """The name of this machine, as part of a file name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()) or "node"


def _number(*names: str) -> int | None:
    value = _first(*names)
    return int(value) if value and value.isdecimal() else None


def _first(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
