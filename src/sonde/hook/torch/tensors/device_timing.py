"""Statistics on a device: how long it took for them, and what has to be ready before."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.torch.tensors.snapshots import on_own_stream
from sonde.hook.torch.tensors.statistics import Pending, launch

_SAMPLE = 64
_COUNTS = (2, 16)  # multiples of 16 have a program of their own


class Timed(NamedTuple):
    """Statistics under way between two marks in the device's queue."""

    pending: Pending
    first: Any
    last: Any

    def is_ready(self) -> bool:
        """Whether all of it can be read without waiting."""
        return bool(self.last.query()) and self.pending.is_ready()

    def seconds(self) -> float:
        """What the device took; once it is ready."""
        return float(self.first.elapsed_time(self.last)) / 1000


def launch_timed(tensors: Mapping[str, Tensor], with_histogram: bool) -> Timed:
    """Queues the statistics of tensors."""
    first = torch.Event("cuda", enable_timing=True)
    first.record()
    pending = launch(tensors, with_histogram)
    last = torch.Event("cuda", enable_timing=True)
    last.record()
    return Timed(pending, first, last)


class Kernels:
    """The programs that a device needs for statistics are built behind the training's back.

    That takes seconds; until it is done, whatever is not asked for by a person is left out.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ready: dict[torch.dtype, bool] = {}

    def are_ready_for(self, tensor: Tensor) -> bool:
        """Whether statistics of such tensors can be had without building anything."""
        if not tensor.is_cuda:
            return True
        is_ready = self._ready.get(tensor.dtype)
        if is_ready is None:
            is_ready = self._ready[tensor.dtype] = False
            dtype, device = tensor.dtype, tensor.device
            self._session.worker_thread.submit("statistics", lambda: self._build(dtype, device))
        return is_ready

    def _build(self, dtype: torch.dtype, device: torch.device) -> None:
        try:
            with torch.no_grad(), on_own_stream(device):
                sample = torch.ones(_SAMPLE, dtype=dtype, device=device)
                for count, with_histogram in product(_COUNTS, (False, True)):
                    launch({str(number): sample for number in range(count)}, with_histogram)
        finally:
            self._ready[dtype] = True
