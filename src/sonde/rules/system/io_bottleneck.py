"""IOBottleneck: the node waits for its disks while GPUs wait."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from sonde.formats import format_exact_percent, format_percent
from sonde.read.window import Samples, Window
from sonde.records.need import Metric
from sonde.rules._parameters import Percent
from sonde.rules._rule import Section
from sonde.rules.measures.system_samples import Values, values_at
from sonde.rules.system._bottleneck import GPU, Bottleneck

_PRESSURE = "pressure.io_full_percent"


class IOBottleneck(Bottleneck):
    """The node waits for its disks while the GPUs are nearly idle.

    Why it matters: The GPUs wait for data that a disk or a network file system cannot deliver.
    How it decides:
    - A sample counts if I/O wait is above `io_threshold` while the mean utilization of the node's
      GPUs is below `gpu_threshold`.
    - Fires if more than `threshold` percent of the node's samples count.
    - I/O wait is replaced by the kernel's I/O pressure (all tasks stalled) if that is higher.
      Classic: I/O wait alone.
    - While the job runs, the share must exceed `threshold` with 95% confidence, so a clear case is
      reported after 60 samples (30 s) and a close one later or at the end.
    - The first 3 steps, steps that mostly evaluate or save a checkpoint, and samples outside
      training do not count. Classic: all samples after `patience` count, without confidence.
    What to do: Copy the data to a local disk, read fewer and larger files (shards), cache what fits
    in memory, and overlap reads in as many loader processes as `sonde dataloader` recommends.
    """

    io_threshold: Percent = 50.0

    metric: ClassVar[str] = "cpu.iowait_percent"
    section = Section.MACHINE
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **Bottleneck.classic_defaults,
        "gpu_threshold": 70.0,
        "patience": 1000,
    }
    needs = (Metric(metric), Metric(GPU))

    @property
    def limit(self) -> float:
        """The load in percent above which the host is saturated."""
        return self.io_threshold

    def load(self, window: Window, host: Samples) -> Values:
        """Return the I/O wait of the node or, if higher, its I/O pressure."""
        wait = host.values.astype(np.float64)
        pressure = [samples for samples in window.system(_PRESSURE) if samples.node == host.node]
        if self.is_classic or not pressure:
            return wait
        return np.fmax(wait, values_at(pressure[0], host.times_ns))

    def message(self, node: str, share: float) -> str:
        """Return the message of a finding."""
        return (
            f"{node}: for {format_percent(share)} of the time, I/O wait is above "
            f"{format_exact_percent(self.io_threshold)} and GPU utilization below "
            f"{format_exact_percent(self.gpu_threshold)}."
        )
