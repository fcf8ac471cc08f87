"""CPUBottleneck: the processors are at their limit while GPUs wait."""

from typing import ClassVar

import numpy as np

from sonde.read.window import Samples, Window
from sonde.records.need import Metric
from sonde.rules._parameters import Percent
from sonde.rules.system._bottleneck import GPU, Bottleneck
from sonde.rules.system._datapoints import Values, values_at

_JOB, _CORES = "process_tree.cpu_percent", "cgroup.cpus_available"


class CPUBottleneck(Bottleneck):
    """The processors are at their limit while the GPUs have next to nothing to do.

    Why it matters: the GPUs wait for what the host prepares, mostly data; a faster GPU would bring
    nothing.
    How it decides: per node, the share of the datapoints at which CPU utilization is above
    cpu_threshold while the mean utilization of its GPUs is below gpu_threshold exceeds threshold
    percent of the job. Calibrated counts only the time between the first and the last training
    step, from 120 datapoints on, and takes the cores that the job may use as the whole: a job that
    fills its four of 64 cores is at its limit too.
    What to do: move work off the host (augmentation on the GPU, data prepared in advance, cheaper
    decoding), give the job more cores, or use as many loader processes as `sonde dataloader`
    advises; it and `sonde python` say what takes the time.
    """

    cpu_threshold: Percent = 90.0

    metric: ClassVar[str] = "cpu.utilization_percent"
    needs = (Metric(metric), Metric(GPU))

    @property
    def limit(self) -> float:
        """From what load on the host counts as busy, in percent."""
        return self.cpu_threshold

    def load(self, window: Window, host: Samples) -> Values:
        """Of the node; calibrated also of the cores that the job may use."""
        whole = host.values.astype(np.float64)
        if self.is_classic:
            return whole
        own = [one for one in window.system(_JOB) if one.node == host.node]
        cores = [one for one in window.system(_CORES) if one.node == host.node]
        if not own or not cores:
            return whole
        usable = np.maximum(values_at(cores[0], host.times_ns), 1.0)
        return np.fmax(whole, np.minimum(values_at(own[0], host.times_ns) / usable, 100.0))

    def said(self, node: str, share: float) -> str:
        """The finding in words."""
        return (
            f"{node}: {share:.0f} % of the time the processors are more than "
            f"{self.cpu_threshold:.0f} % busy while the GPUs are below {self.gpu_threshold:.0f} %."
        )
