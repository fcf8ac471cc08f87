"""LowGPUUtilization: a GPU is underused, constantly or intermittently."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.shares import effective_count, share_bounds
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_exact_percent, format_percent
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.early_samples import (
    count_steps,
    holds_in_each_quarter,
    is_due,
    latest_quarter,
    min_samples,
    recent_rows,
)
from sonde.rules.measures.system_samples import (
    SampleFilter,
    Values,
    full_windows,
    missing_samples,
    sample_count,
)

_METRIC = "gpu.utilization_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of LowGPUUtilization.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    idle_percent: float = 1.0  # IdleGPU reports idle GPUs
    low_share: float = 0.1  # of the samples; a single pause is not a fluctuation
    min_dips: int = 4
    bound_deviations: float = 2.0  # 95% confidence


LIMITS = Calibration()


class LowGPUUtilization(ProfilingRule):
    """A GPU is underused, constantly or intermittently.

    Why it matters: You pay for the whole GPU, busy or not.
    How it decides:
    - Underused: the 95th percentile of utilization is below `threshold_p95`.
    - Fluctuating: otherwise, if utilization is below `threshold_p5` for 10% of the samples, in 4
      or more dips. A pause for a checkpoint is one dip.
    - One of them must hold in each quarter of the last 2 windows of `window` samples, and at the
      start of training in each quarter of the samples so far, from 60 samples (30 s) on. Each
      quarter must contain the end of a training step.
    - The first 3 steps, steps that mostly evaluate or save a checkpoint, and GPUs that are idle all
      the time (see IdleGPU) do not count.
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
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **ProfilingRule.classic_defaults,
        "patience": 1000,
    }
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collect samples of each GPU and check those so far; classic: each complete window."""
        sample_filter = SampleFilter(self.patience, self.is_classic, is_early=not self.is_classic)
        sample_filter.begin(window, state)
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            gpu = state.of("gpus", name)
            if self.is_classic:
                counted = sample_filter.take(state, name, samples.times_ns, samples.values)
                for rows in full_windows(gpu, counted, self.window):
                    kind = self._classic_kind(rows[:, 1])
                    yield self._finding(samples, rows, kind) if kind else self.recovered(name)
                continue
            steps = count_steps(window, state, samples.times_ns)
            counted = sample_filter.take(state, name, samples.times_ns, samples.values, steps)
            rows = recent_rows(gpu, counted, self.window)
            if is_due(gpu, rows, self._needed, is_last=window.is_last):
                yield from self._judge(samples, rows)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        has = max((sample_count(gpu, self.window) for gpu in state.of("gpus").values()), default=0)
        return missing_samples(has, self._needed, self.patience, state)

    @property
    def _needed(self) -> int:
        if self.is_classic:
            return self.window
        return min_samples(self.window, is_explicit="window" in self.explicit_parameters)

    def _judge(self, samples: Samples, rows: Values) -> Iterator[Finding]:
        kind = self._kind(rows)
        if kind and holds_in_each_quarter(rows, lambda quarter: bool(self._kind(quarter, 1))):
            yield self._finding(samples, rows, kind)
        elif not self._kind(latest_quarter(rows), 1):
            yield self.recovered(f"{samples.node}/{samples.device}")

    def _finding(self, samples: Samples, rows: Values, kind: str) -> Finding:
        values = rows[:, 1]
        p5, p50, p95 = (float(item) for item in np.percentile(values, (5, 50, 95)))
        first_ns, last_ns = int(rows[0, 0]), int(rows[-1, 0])
        hours = (last_ns - first_ns) / NANOSECONDS / 3600 * (1 - float(values.mean()) / 100)
        busy_percents = self._busy_bounds(values)
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
            subject=f"{samples.node}/{samples.device}",
            time_ns=(first_ns, last_ns),
            evidence={
                "kind": kind,
                "p5": p5,
                "p50": p50,
                "p95": p95,
                "mean": float(values.mean()),
                "datapoints": len(values),
                "busy_percent_bounds": busy_percents,
                "gpu_hours_lost": hours,
            },
        )

    def _classic_kind(self, values: Values) -> str:
        p5, p95 = np.percentile(values, (5, 95))
        if p95 < self.threshold_p95:
            return "underused"
        return "fluctuating" if p95 > self.threshold_p95 and p5 < self.threshold_p5 else ""

    def _kind(self, rows: Values, min_dips: int = LIMITS.min_dips) -> str:
        values = rows[:, 1]
        p95 = float(np.percentile(values, 95))
        if p95 < LIMITS.idle_percent:
            return ""
        if p95 < self.threshold_p95:
            return "underused"
        is_low = values < self.threshold_p5
        dips = int(np.sum(is_low[1:] & ~is_low[:-1])) + int(is_low[0])
        is_fluctuating = is_low.mean() >= LIMITS.low_share and dips >= min_dips
        return "fluctuating" if is_fluctuating else ""

    def _busy_bounds(self, values: Values) -> tuple[float, float]:
        """The share of time above `threshold_p95`, in percent, with 95% confidence."""
        is_busy = (values >= self.threshold_p95).astype(np.float64)
        count = effective_count(values)
        low, high = share_bounds(float(is_busy.mean()), count, LIMITS.bound_deviations)
        return 100 * low, 100 * high
