"""How often the GPUs of a node had next to nothing to do while its host was at its limit."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Bottleneck:
    """Samples at which the GPUs waited, and those of them at which the host was busy."""

    count: int  # samples at which both are known
    is_low: BoolArray  # the GPUs had next to nothing to do
    is_held_up: BoolArray  # likewise, and the host was at its limit

    @property
    def low_percent(self) -> float:
        """Of all samples."""
        return 100 * float(self.is_low.sum()) / self.count if self.count else 0.0

    @property
    def held_up_percent(self) -> float:
        """Of all samples."""
        return 100 * float(self.is_held_up.sum()) / self.count if self.count else 0.0


def find_bottleneck(
    load: FloatArray, gpu: FloatArray, limit: float, gpu_limit: float
) -> Bottleneck:
    """Compares the load of a host with that of its GPUs.

    Args:
        load: Of the host, in percent; NaN is unknown.
        gpu: The mean of its GPUs, in percent, at the same instants.
        limit: Above it the host is busy.
        gpu_limit: Below it the GPUs wait.
    """
    is_known = ~(np.isnan(load) | np.isnan(gpu))
    is_low = is_known & (gpu < gpu_limit)
    return Bottleneck(int(is_known.sum()), is_low, is_low & (load > limit))
