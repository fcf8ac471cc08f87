"""CPUBottleneck: the CPU is saturated while GPUs wait."""

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

_JOB, _CORES = "process_tree.cpu_percent", "cgroup.cpus_available"


class CPUBottleneck(Bottleneck):
    """The CPU is at its limit while the GPUs are nearly idle.

    Why it matters: The GPUs wait for the host, usually for data. A faster GPU would not help.
    How it decides:
    - A sample counts if CPU utilization is above `cpu_threshold` while the mean utilization of the
      node's GPUs is below `gpu_threshold`.
    - Fires if more than `threshold` percent of the node's samples count.
    - CPU utilization is relative to the cores that the job may use, if that is higher. Classic: all
      cores of the node.
    - While the job runs, the share must exceed `threshold` with 95% confidence, so a clear case is
      reported after 60 samples (30 s) and a close one later or at the end.
    - The first 3 steps, steps that mostly evaluate or save a checkpoint, and samples outside
      training do not count. Classic: all samples after `patience` count, without confidence.
    What to do: Move work off the host (augment on the GPU, preprocess data in advance, use cheaper
    decoding), give the job more cores, or use the number of loader processes that `sonde
    dataloader` recommends. `sonde python` shows which code takes the time.
    """

    cpu_threshold: Percent = 90.0

    metric: ClassVar[str] = "cpu.utilization_percent"
    section = Section.MACHINE
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **Bottleneck.classic_defaults,
        "patience": 100,
    }
    needs = (Metric(metric), Metric(GPU))

    @property
    def limit(self) -> float:
        """The load in percent above which the host is saturated."""
        return self.cpu_threshold

    def load(self, window: Window, host: Samples) -> Values:
        """Return CPU utilization of the node or, if higher, of the cores that the job may use."""
        total = host.values.astype(np.float64)
        if self.is_classic:
            return total
        job_samples = [samples for samples in window.system(_JOB) if samples.node == host.node]
        cores = [samples for samples in window.system(_CORES) if samples.node == host.node]
        if not job_samples or not cores:
            return total
        usable = np.maximum(values_at(cores[0], host.times_ns), 1.0)
        return np.fmax(total, np.minimum(values_at(job_samples[0], host.times_ns) / usable, 100.0))

    def message(self, node: str, share: float) -> str:
        """Return the message of a finding."""
        return (
            f"{node}: for {format_percent(share)} of the time, CPU utilization is above "
            f"{format_exact_percent(self.cpu_threshold)} and GPU utilization below "
            f"{format_exact_percent(self.gpu_threshold)}."
        )
