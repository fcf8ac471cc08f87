"""Device memory statistics of PyTorch's allocator, which are never reset."""

import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import _C

from sonde.clock import NANOSECONDS
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.hook.torch.loop.device_phases import device_in_use

LIVE, PEAK = "memory/live_bytes", "memory/peak_bytes"
RESERVED, RETRIES = "memory/reserved_bytes", "memory/allocation_retries"

_INTERVAL_NS = NANOSECONDS // 20  # a query takes about ten microseconds
_MAX_ENTRIES = 100_000  # in the allocator's history
_is_in_use: Callable[[], bool] = torch.cuda.is_initialized
_memory_statistics: Callable[[], dict[str, Any]] = torch.cuda.memory_stats_as_nested_dict
# private functions
_record: Any = vars(torch.cuda.memory)["_record_memory_history"]
_snapshot: Any = vars(torch.cuda.memory)["_snapshot"]
_is_recorded: Callable[[], bool] = vars(_C).get("_cuda_isHistoryEnabled", lambda: False)


def live_bytes() -> dict[str, int]:
    """Allocated bytes on the current device; empty if CUDA is not in use."""
    return (
        {device_in_use(): _memory_statistics()["allocated_bytes"]["all"]["current"]}
        if _is_in_use()
        else {}
    )


class DeviceMemory:
    """Records allocated memory after steps, and the peak from PyTorch's statistics."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._due_ns = 0
        self._before: dict[str, int] = {}  # the last values of numbers that rarely change

    def start(self) -> None:
        """Record after every step."""
        self._session.listeners.on_step("device memory", self._after_step)

    def _after_step(self, step: FinishedStep) -> None:
        if step.end_ns < self._due_ns or not _is_in_use():
            return
        self._due_ns = step.end_ns + _INTERVAL_NS
        statistics = _memory_statistics()
        held = statistics["allocated_bytes"]["all"]
        values = {LIVE: held["current"], PEAK: held["peak"]}
        reserved, retries = statistics["reserved_bytes"], statistics["num_alloc_retries"]
        rare = {RESERVED: reserved["all"]["peak"], RETRIES: retries}
        values |= {name: value for name, value in rare.items() if value != self._before.get(name)}
        self._before = rare
        for name, value in values.items():
            self._session.recorder.scalar(name, value, at=(step.mode, step.number))


class History:
    """Allocation history with Python stacks, for a memory snapshot."""

    def __init__(self) -> None:
        self._is_ours = False

    def begin(self) -> None:
        """Start recording, unless the script already records."""
        if not _is_recorded():
            _record(max_entries=_MAX_ENTRIES, stacks="python")
            self._is_ours = True

    def end(self) -> Callable[[], bytes]:
        """Take a snapshot; return a function that serializes it for PyTorch's memory viewer."""
        snapshot = _snapshot()
        if self._is_ours:
            _record(enabled=None)
            self._is_ours = False
        return lambda: pickle.dumps(snapshot)
