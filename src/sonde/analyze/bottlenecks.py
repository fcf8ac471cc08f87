"""How often the GPUs of a node were idle while its host was busy."""

from dataclasses import dataclass

import numpy as np

from sonde.records.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Bottleneck:
    """Samples with idle GPUs, and those of them with a busy host."""

    count: int  # samples with known load of host and GPUs
    is_low: BoolArray  # the GPUs were idle
    is_held_up: BoolArray  # the GPUs were idle and the host was busy

    @property
    def low_percent(self) -> float:
        """Percentage of samples with idle GPUs."""
        return 100 * float(self.is_low.sum()) / self.count if self.count else 0.0

    @property
    def held_up_percent(self) -> float:
        """Percentage of samples with idle GPUs and a busy host."""
        return 100 * float(self.is_held_up.sum()) / self.count if self.count else 0.0


def find_bottleneck(
    load: FloatArray, gpu: FloatArray, limit: float, gpu_limit: float
) -> Bottleneck:
    """Compare the load of a host with that of its GPUs.

    Args:
        load: Load of the host in percent; NaN if unknown.
        gpu: Mean utilization of its GPUs in percent, at the same instants.
        limit: The host is busy above this load.
        gpu_limit: The GPUs are idle below this utilization.
    """
    is_known = ~(np.isnan(load) | np.isnan(gpu))
    is_low = is_known & (gpu < gpu_limit)
    return Bottleneck(int(is_known.sum()), is_low, is_low & (load > limit))
