"""GPUMemoryIncrease: the memory use of a GPU keeps growing during training."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import MIN_POINTS, growth_of, halve
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._profiling_rule import ProfilingRule
from sonde.rules._rule import Section, State
from sonde.rules.measures.system_samples import Rows, SampleFilter, missing_samples, window_means

_METRIC = "gpu.memory_used_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of GPUMemoryIncrease.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_windows: int = 128  # remembered


LIMITS = Calibration()


class GPUMemoryIncrease(ProfilingRule):
    """GPU memory use keeps growing during training.

    Why it matters: Sooner or later the job runs out of memory, usually long after the cause.
    How it decides:
    - Per GPU, memory use has risen steadily since training began, by more than `increase`
      percentage points, over 12 or more means of `window` samples.
    - A jump (a first evaluation, a larger batch) or a rise that levels off (a cache) does not
      count.
    - Classic: the mean over `window` samples is more than `increase` percentage points above the
      previous mean.
    What to do: Do not keep tensors that hold a graph: use `total += loss.item()`, detach what you
    store in lists, delete outputs before the next step. `sonde profile --kinds memory` shows what
    is held.
    """

    increase: Percent = 5.0
    window: Count = 10
    patience: Patience = "auto"

    section = Section.MACHINE
    calibration = LIMITS
    classic_defaults: ClassVar[Mapping[str, object]] = {
        **ProfilingRule.classic_defaults,
        "increase": 10.0,
        "window": 500,
        "patience": 100,
    }
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collect samples of each GPU and check the means of complete windows."""
        sample_filter = SampleFilter(self.patience, self.is_classic)
        sample_filter.begin(window, state)
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            gpu = state.of("gpus", name)
            # a new process starts with empty memory
            if gpu.get("attempt") != window.attempt.number:
                gpu.clear()
                gpu["attempt"] = window.attempt.number
            counted = sample_filter.take(state, name, samples.times_ns, samples.values)
            means = window_means(gpu, counted, self.window)
            if not self.is_classic:
                yield self._calibrated(samples, means, gpu)
                continue
            for time_ns, mean in means:
                yield self._classic(samples, int(time_ns), mean, gpu)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [int(gpu.get("windows", 0)) for gpu in state.of("gpus").values()]
        has, needed = max(counts, default=0), 2 if self.is_classic else MIN_POINTS
        return missing_samples(has * self.window, needed * self.window, self.patience, state)

    def _classic(self, samples: Samples, time_ns: int, mean: float, gpu: State) -> Finding:
        before = gpu.get("mean", mean)
        since_ns = gpu.get("time_ns", time_ns)
        gpu["mean"], gpu["time_ns"] = mean, time_ns
        if mean - before <= self.increase:
            return self.recovered(f"{samples.node}/{samples.device}")
        return self.finding(
            f"Memory use of {samples.device} on {samples.node} rose from "
            f"{format_percent(before, 1)} to {format_percent(mean, 1)} within "
            f"{self.window} samples.",
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}/{samples.device}",
            time_ns=(since_ns, time_ns),
            evidence={"before_percent": before, "after_percent": mean},
        )

    def _calibrated(self, samples: Samples, means: Rows, gpu: State) -> Finding:
        subject = f"{samples.node}/{samples.device}"
        series = gpu.get("series", [])
        for time_ns, mean in means:
            series = halve([*series, [time_ns / NANOSECONDS, mean]], LIMITS.max_windows)
        gpu["series"] = series
        levels = [row[1] for row in series]
        if not series or max(levels) - min(levels) <= self.increase:  # the common case
            return self.recovered(subject)
        points = np.array(series)
        growth = growth_of(points[:, 0], points[:, 1])
        if growth is None or not growth.is_steady or growth.rise <= self.increase:
            return self.recovered(subject)
        remaining = growth.seconds_until(100.0)
        return self.finding(
            f"Memory use of {samples.device} on {samples.node} keeps growing: from "
            f"{format_percent(growth.start)} to {format_percent(growth.end)}. At this rate, it "
            f"will be full in {format_duration(remaining)}.",
            node=samples.node,
            device=samples.device,
            subject=subject,
            time_ns=(round(points[0, 0] * NANOSECONDS), round(points[-1, 0] * NANOSECONDS)),
            evidence={
                "start_percent": growth.start,
                "end_percent": growth.end,
                "percent_per_hour": growth.per_second * 3600,
                "seconds_left": remaining,
                "curve_percent": points[:, 1].tolist(),
            },
        )
