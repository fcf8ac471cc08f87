"""A process group that records every collective, and which ones were started by hooks."""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup, ProcessGroupGloo

_COLLECTIVES = (
    *("allgather", "allgather_coalesced", "allgather_into_tensor_coalesced", "_allgather_base"),
    *("all_gather_single", "all_gather_single_coalesced", "allreduce", "allreduce_coalesced"),
    *("alltoall", "alltoall_base", "all_to_all_single", "barrier", "broadcast", "gather"),
    *("reduce", "reduce_scatter", "reduce_scatter_tensor_coalesced", "_reduce_scatter_base"),
    *("reduce_scatter_single", "reduce_scatter_single_coalesced", "scatter"),
    *("send", "recv", "recv_anysource", "monitored_barrier"),
)
# all hook code runs below one of these frames
_HOOKS = ("/sonde/guard.py", "/sonde/hook/worker_thread.py")

calls: list[str] = []
calls_of_hooks: list[str] = []


class RecordedGroup(ProcessGroup):
    """Forwards all collectives to Gloo."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta) -> None:
        super().__init__(rank, size)
        self.inner = ProcessGroup(store, rank, size)
        kind = ProcessGroup.BackendType.GLOO
        gloo = ProcessGroupGloo(store, rank, size, timeout)
        self.inner._register_backend(torch.device("cpu"), kind, gloo)
        self.inner._set_default_backend(kind)

    def getBackendName(self) -> str:  # noqa: N802 — as torch calls it
        return "recorded"

    @property
    def group_name(self) -> str:
        return dist.distributed_c10d._world.pg_names[self]


def _recorded(name: str) -> Callable[..., Any]:
    def call(group: RecordedGroup, *args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename.endswith(_HOOKS):
                calls_of_hooks.append(name)
                break
            frame = frame.f_back
        return getattr(group.inner, name)(*args, **kwargs)

    return call


def init_recorded_group() -> None:
    """Initialize the default process group as a recorded one."""
    for name in _COLLECTIVES:
        if hasattr(ProcessGroup, name):
            setattr(RecordedGroup, name, _recorded(name))
    dist.Backend.register_backend("recorded", RecordedGroup, devices=["cpu"])
    dist.init_process_group("cpu:recorded")


def print_collectives(name: str) -> None:
    """Print the collectives since the last call, in order."""
    if dist.get_rank() == 0:
        print(name, "collectives", len(calls), *calls[:3], hash(tuple(calls)))
        print(name, "collectives of hooks", calls_of_hooks, flush=True)
    calls.clear()
