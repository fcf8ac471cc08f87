"""Timing of statistics on a device, and the kernels that they need."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.torch.tensors.snapshots import on_own_stream
from sonde.hook.torch.tensors.statistics import Pending, launch

_SAMPLE = 64
_COUNTS = (2, 16)  # multiples of 16 are compiled separately


class Timed(NamedTuple):
    """Pending statistics between two events in the device's queue."""

    pending: Pending
    first: Any
    last: Any

    def is_ready(self) -> bool:
        """Return whether the results can be read without waiting."""
        return bool(self.last.query()) and self.pending.is_ready()

    def seconds(self) -> float:
        """Return the device time; call once it is ready."""
        return float(self.first.elapsed_time(self.last)) / 1000


def launch_timed(tensors: Mapping[str, Tensor], with_histogram: bool) -> Timed:
    """Queue the statistics of tensors."""
    first = torch.Event("cuda", enable_timing=True)
    first.record()
    pending = launch(tensors, with_histogram)
    last = torch.Event("cuda", enable_timing=True)
    last.record()
    return Timed(pending, first, last)


class Kernels:
    """Build the statistics kernels of a device in the worker thread.

    That takes seconds; until then, only explicitly requested statistics are recorded.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ready: dict[torch.dtype, bool] = {}

    def are_ready_for(self, tensor: Tensor) -> bool:
        """Return whether the kernels for such tensors are built."""
        if not tensor.is_cuda:
            return True
        is_ready = self._ready.get(tensor.dtype)
        if is_ready is None:
            is_ready = self._ready[tensor.dtype] = False
            dtype, device = tensor.dtype, tensor.device
            self._session.worker_thread.submit_once(
                "statistics", lambda: self._build(dtype, device)
            )
        return is_ready

    def _build(self, dtype: torch.dtype, device: torch.device) -> None:
        try:
            with torch.no_grad(), on_own_stream(device):
                sample = torch.ones(_SAMPLE, dtype=dtype, device=device)
                for count, with_histogram in product(_COUNTS, (False, True)):
                    launch({str(number): sample for number in range(count)}, with_histogram)
        finally:
            self._ready[dtype] = True
