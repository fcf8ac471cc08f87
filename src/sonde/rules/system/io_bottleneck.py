"""IOBottleneck: the node waits for its disks while GPUs wait for it."""

from typing import ClassVar

import numpy as np

from sonde.read.window import Samples, Window
from sonde.records.need import Metric
from sonde.rules._parameters import Percent
from sonde.rules.system._bottleneck import GPU, Bottleneck
from sonde.rules.system._datapoints import Values, values_at

_PRESSURE = "pressure.io_full_percent"


class IOBottleneck(Bottleneck):
    """The node waits for its disks while the GPUs have next to nothing to do.

    Why it matters: the GPUs wait for data that a disk or a network file system cannot deliver.
    How it decides: per node, the share of the datapoints at which I/O wait is above io_threshold
    while the mean utilization of its GPUs is below gpu_threshold exceeds threshold percent of the
    job. Calibrated counts only the time between the first and the last training step, from 120
    datapoints on, and takes the time in which all tasks waited for a disk where it is larger: with
    64 cores, I/O wait stays small though nobody can go on.
    What to do: copy the data to a local disk, read fewer and larger files (shards), cache in
    memory what fits, and let reads overlap in as many loader processes as `sonde dataloader`
    advises.
    """

    io_threshold: Percent = 50.0

    metric: ClassVar[str] = "cpu.iowait_percent"
    needs = (Metric(metric), Metric(GPU))

    @property
    def limit(self) -> float:
        """From what load on the host counts as busy, in percent."""
        return self.io_threshold

    def load(self, window: Window, host: Samples) -> Values:
        """Idle for want of a disk; calibrated also by what the kernel says of the tasks."""
        wait = host.values.astype(np.float64)
        own = [one for one in window.system(_PRESSURE) if one.node == host.node]
        if self.is_classic or not own:
            return wait
        return np.fmax(wait, values_at(own[0], host.times_ns))

    def said(self, node: str, share: float) -> str:
        """The finding in words."""
        return (
            f"{node}: {share:.0f} % of the time more than {self.io_threshold:.0f} % is spent "
            f"waiting for disks while the GPUs are below {self.gpu_threshold:.0f} %."
        )
