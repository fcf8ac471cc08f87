"""LowGPUUtilization: a GPU is underused, constantly or intermittently."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_exact_percent, format_percent
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.system_samples import SampleFilter, Values, full_windows, sample_count

_METRIC = "gpu.utilization_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LowGPUUtilization.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    windows_in_a_row: int = 2
    idle_percent: float = 1.0  # IdleGPU reports idle GPUs
    low_share: float = 0.1  # of the samples; a single pause is not a fluctuation
    min_dips: int = 4


LIMITS = Calibration()


class LowGPUUtilization(Rule):
    """A GPU is underused, constantly or intermittently.

    Why it matters: You pay for the whole GPU, busy or not.
    How it decides:
    - Underused: the 95th percentile of utilization over `window` samples is below `threshold_p95`.
    - Fluctuating: it is not, but utilization is below `threshold_p5` for 10% of the samples, in 4
      or more dips. A pause for a checkpoint is one dip.
    - Either must hold in 2 windows in a row, between the first and the last training step.
    - Not applied to GPUs that are idle all the time (see IdleGPU).
    - Classic: one window after `patience` is enough, and fluctuating means that the 5th percentile
      is below `threshold_p5`.
    What to do: Underused: increase the batch size, use lower precision or a smaller GPU.
    Fluctuating: find out what the GPU waits for (`sonde dataloader`, `sonde operators`), usually
    data or the host.
    """

    threshold_p95: Percent = 70.0
    threshold_p5: Percent = 10.0
    window: Count = 500
    patience: Patience = "auto"

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 120.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collect samples of each GPU and check each complete window."""
        sample_filter = SampleFilter(self.patience, self.is_classic)
        sample_filter.begin(window, state)
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            counted = sample_filter.take(state, name, samples.times_ns, samples.values)
            gpu = state.of("gpus", name)
            for rows in full_windows(gpu, counted, self.window):
                yield self._judge(samples, rows, gpu)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        gpus = list(state.of("gpus").values())
        has = max((sample_count(gpu, self.window) for gpu in gpus), default=0)
        if has >= self._needed:
            return ""
        return Shortfall(has, self._needed, DataUnit.SYSTEM_SAMPLES)

    @property
    def _needed(self) -> int:
        return self.window if self.is_classic else self.window * LIMITS.windows_in_a_row

    def _judge(self, samples: Samples, rows: Values, gpu: State) -> Finding:
        kind = self._kind(rows[:, 1])
        is_again = bool(kind) and kind == gpu.get("kind")
        gpu["in_a_row"] = gpu.get("in_a_row", 0) + 1 if is_again else int(bool(kind))
        gpu["kind"] = kind
        subject = f"{samples.node}/{samples.device}"
        if not kind or gpu["in_a_row"] < (1 if self.is_classic else LIMITS.windows_in_a_row):
            return self.recovered(subject)
        values = rows[:, 1]
        p5, p50, p95 = (float(item) for item in np.percentile(values, (5, 50, 95)))
        first_ns, last_ns = int(rows[0, 0]), int(rows[-1, 0])
        hours = (last_ns - first_ns) / NANOSECONDS / 3600 * (1 - float(values.mean()) / 100)
        low_percent = 100 * float(np.mean(values < self.threshold_p5))
        text = (
            f"is underused: 95th percentile of utilization {format_percent(p95)}"
            if kind == "underused"
            else f"fluctuates: utilization is below {format_exact_percent(self.threshold_p5)} for "
            f"{format_percent(low_percent)} of the time and reaches {format_percent(p95)}"
        )
        return self.finding(
            f"{samples.device} on {samples.node} {text} "
            f"(mean {format_percent(float(values.mean()))} over "
            f"{format_duration((last_ns - first_ns) / NANOSECONDS)}).",
            node=samples.node,
            device=samples.device,
            subject=subject,
            time_ns=(first_ns, last_ns),
            evidence={
                "kind": kind,
                "p5": p5,
                "p50": p50,
                "p95": p95,
                "mean": float(values.mean()),
                "datapoints": len(values),
                "gpu_hours_lost": hours,
            },
        )

    def _kind(self, values: Values) -> str:
        p5, p95 = np.percentile(values, (5, 95))
        if self.is_classic:
            if p95 < self.threshold_p95:
                return "underused"
            return "fluctuating" if p95 > self.threshold_p95 and p5 < self.threshold_p5 else ""
        if p95 < LIMITS.idle_percent:
            return ""
        if p95 < self.threshold_p95:
            return "underused"
        is_low = values < self.threshold_p5
        dips = int(np.sum(is_low[1:] & ~is_low[:-1])) + int(is_low[0])
        is_fluctuating = is_low.mean() >= LIMITS.low_share and dips >= LIMITS.min_dips
        return "fluctuating" if is_fluctuating else ""
