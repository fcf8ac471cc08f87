"""The rank of this process among the workers of a distributed job."""

import os
import sys
from typing import Any

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "SLURM_PROCID")
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "HOROVOD_SIZE", "SLURM_NTASKS")


def worker_rank() -> int:
    """The rank of this process; 0 if there are no others."""
    distributed = _distributed()
    return int(distributed.get_rank()) if distributed else _number(_RANKS, 0)


def number_of_workers() -> int:
    """The number of workers; 1 if the job is not distributed."""
    distributed = _distributed()
    return int(distributed.get_world_size()) if distributed else _number(_SIZES, 1)


def worker_name(rank: int) -> str:
    """The name of a worker, such as `worker_0`."""
    return f"worker_{rank}"


def _distributed() -> Any:
    """`torch.distributed`, if a process group exists."""
    module = sys.modules.get("torch.distributed")
    return module if module and module.is_available() and module.is_initialized() else None


def _number(variables: tuple[str, ...], default: int) -> int:
    for variable in variables:
        value = os.environ.get(variable, "")
        if value.isdigit():
            return int(value)
    return default
