"""What PyTorch's allocator knows of a device's memory; its own statistics are never reset."""

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

_EVERY_NS = NANOSECONDS // 20  # a look takes some ten microseconds
_MOST_ENTRIES = 100_000  # of the allocator's history
_is_in_use: Callable[[], bool] = torch.cuda.is_initialized
_look: Callable[[], dict[str, Any]] = torch.cuda.memory_stats_as_nested_dict
# what it has no public name for
_record: Any = vars(torch.cuda.memory)["_record_memory_history"]
_snapshot: Any = vars(torch.cuda.memory)["_snapshot"]
_is_recorded: Callable[[], bool] = vars(_C).get("_cuda_isHistoryEnabled", lambda: False)


def live_bytes() -> dict[str, int]:
    """What tensors hold just now, on the device in use."""
    return {device_in_use(): _look()["allocated_bytes"]["all"]["current"]} if _is_in_use() else {}


class DeviceMemory:
    """Live memory after steps, and the highest that the script's own statistics know of."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._due_ns = 0
        session.listeners.on_step("device memory", self._step_over)

    def _step_over(self, step: FinishedStep) -> None:
        if step.end_ns < self._due_ns or not _is_in_use():
            return
        self._due_ns = step.end_ns + _EVERY_NS
        held = _look()["allocated_bytes"]["all"]
        for name, value in ((LIVE, held["current"]), (PEAK, held["peak"])):
            self._session.recorder.scalar(name, value, at=(step.mode, step.number))


class History:
    """Every allocation with the lines of Python that asked for it, for a snapshot."""

    def __init__(self) -> None:
        self._is_ours = False

    def begin(self) -> None:
        """Remembers from now on, unless the script does so already."""
        if not _is_recorded():
            _record(max_entries=_MOST_ENTRIES, stacks="python")
            self._is_ours = True

    def end(self) -> Callable[[], bytes]:
        """What makes the snapshot's bytes, as PyTorch's own viewer reads them."""
        taken = _snapshot()
        if self._is_ours:
            _record(enabled=None)
            self._is_ours = False
        return lambda: pickle.dumps(taken)
