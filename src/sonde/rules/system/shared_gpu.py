"""SharedGPU: other processes compute on a GPU of the job."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import upper_bound
from sonde.formats import format_bytes, format_percent
from sonde.read.window import Samples, Window
from sonde.records.advice import PREDICTS, Bottleneck, Improvement, Remedy
from sonde.records.finding import Evidence, Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.job_gpus import holds_memory, record_job_memory

_UTILIZATION, _MEMORY = "gpu.others_utilization_percent", "gpu.others_memory_bytes"
_JOB_MEMORY = "gpu.job_memory_bytes"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of SharedGPU.

    Chosen by hand unless a comment says otherwise.
    """

    windows_in_a_row: int = 2  # of 15 seconds


LIMITS = Calibration()


class SharedGPU(Rule):
    """Other processes compute on a GPU that the job uses.

    Why it matters: A GPU computes for one process at a time, unless MPS is active, so the job gets
    a share of it. The processes also compete for memory.
    How it decides:
    - Processes that do not belong to the job use more than `threshold` percent of the compute units
      of a GPU on which the job holds memory, for 30 seconds.
    - Not applied in containers that do not see the processes of the host.
    What to do: Find the processes with `nvidia-smi` and end them, or move the job to another GPU
    (`CUDA_VISIBLE_DEVICES`).
    """

    threshold: Percent = 10.0

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(_UTILIZATION), Metric(_JOB_MEMORY))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 4
    explains: ClassVar[tuple[str, ...]] = ("Straggler", "ThroughputDrop", "LoadBalancing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the utilization of other processes with the threshold, by GPU."""
        record_job_memory(window, state)
        memory = {(each.node, each.device): each for each in window.system(_MEMORY)}
        for samples in window.system(_UTILIZATION):
            gpu = state.of("gpus", f"{samples.node}/{samples.device}")
            gpu["windows"] = gpu.get("windows", 0) + 1
            percent = float(np.mean(samples.values))
            is_shared = percent > self.threshold and bool(holds_memory(samples, state))
            gpu["in_a_row"] = gpu.get("in_a_row", 0) + 1 if is_shared else 0
            if gpu["in_a_row"] >= LIMITS.windows_in_a_row:
                yield self._finding(samples, percent, memory.get((samples.node, samples.device)))

    def lacks(self, state: State) -> str | Shortfall:
        """How much time is missing."""
        count = max((gpu.get("windows", 0) for gpu in state.of("gpus").values()), default=0)
        needed = LIMITS.windows_in_a_row
        return "" if count >= needed else Shortfall(15 * count, 15 * needed, DataUnit.SECONDS)

    def summary(self, state: State) -> Evidence:
        """That the rule predicts gains."""
        del state
        return {PREDICTS: True}

    def _finding(self, samples: Samples, percent: float, memory: Samples | None) -> Finding:
        held = float(np.max(memory.values)) if memory is not None else 0.0
        reason = "at most the time that other processes compute becomes free."
        gain = upper_bound(100.0, percent, reason)
        remedy = Remedy("a GPU for this job alone", "CUDA_VISIBLE_DEVICES=1 python train.py", gain)
        return self.finding(
            f"Other processes use {format_percent(percent)} of the compute units of "
            f"{samples.device} on {samples.node} and {format_bytes(held)} of its memory.",
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}/{samples.device}",
            improvement=Improvement(Bottleneck.SHARED_DEVICE, (remedy,)),
            evidence={"others_percent": percent, "others_memory_bytes": held},
        )
