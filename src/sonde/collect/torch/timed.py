"""Statistics on a device, and how long it took for them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.collect.torch.statistics import Pending, launch


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
