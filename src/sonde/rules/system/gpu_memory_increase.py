"""GPUMemoryIncrease: the memory of a GPU fills up while training goes on."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import LEAST_POINTS, growth_of, halve
from sonde.clock import NANOSECONDS
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Counting, Rows, window_means

_METRIC = "gpu.memory_used_percent"
_MOST = 128  # windows that are remembered one by one


class GPUMemoryIncrease(Rule):
    """The memory of a GPU fills up while training goes on.

    Why it matters: sooner or later the job dies for want of memory, mostly long after the cause.
    How it decides: per GPU, classic fires when the mean over `window` datapoints lies more than
    `increase` percentage points above that of the window before. Calibrated asks for a leak: since
    training began memory has risen by more than `increase` points, and evenly. A first evaluation,
    a larger batch and a cache that fills up are jumps, or come to an end. It tells how long memory
    will last.
    What to do: do not keep tensors that hang on a graph: write `total += loss.item()`, detach what
    goes into lists, delete outputs before the next step; `sonde profile --kinds memory` shows what
    is held.
    """

    increase: Percent = 5.0
    window: Count = 10
    patience: Patience = "auto"

    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 120.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Collects datapoints until a window of them is full, GPU by GPU."""
        counting = Counting(self.patience, self.is_classic)
        counting.begin(window, state)
        for samples in window.system(_METRIC):
            name = f"{samples.node}/{samples.device}"
            gpu = state.of("gpus", name)
            if gpu.get("leg") != window.leg.number:  # a new process begins with empty memory
                gpu.clear()
                gpu["leg"] = window.leg.number
            counted = counting.take(state, name, samples.times_ns, samples.values)
            means = window_means(gpu, counted, self.window)
            if not self.is_classic:
                yield self._calibrated(samples, means, gpu)
                continue
            for time_ns, mean in means:
                yield self._classic(samples, int(time_ns), mean, gpu)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [int(one.get("windows", 0)) for one in state.of("gpus").values()]
        has, needed = max(counts, default=0), 2 if self.is_classic else LEAST_POINTS
        if has >= needed:
            return ""
        return Shortfall(has * self.window, needed * self.window, DataUnit.SYSTEM_SAMPLES)

    def _classic(self, samples: Samples, time_ns: int, mean: float, gpu: State) -> Finding:
        before = gpu.get("mean", mean)
        since_ns = gpu.get("time_ns", time_ns)
        gpu["mean"], gpu["time_ns"] = mean, time_ns
        if mean - before <= self.increase:
            return self.recovered(f"{samples.node}/{samples.device}")
        return self.finding(
            f"The memory in use on {samples.device} of {samples.node} rose from {before:.1f} % to "
            f"{mean:.1f} % within {self.window} datapoints.",
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
            series = halve([*series, [time_ns / NANOSECONDS, mean]], _MOST)
        gpu["series"] = series
        levels = [row[1] for row in series]
        if not series or max(levels) - min(levels) <= self.increase:  # mostly so, and cheap to see
            return self.recovered(subject)
        points = np.array(series)
        found = growth_of(points[:, 0], points[:, 1])
        if found is None or not found.is_steady or found.rise <= self.increase:
            return self.recovered(subject)
        left = found.seconds_until(100.0)
        return self.finding(
            f"The memory in use on {samples.device} of {samples.node} grows all the time: from "
            f"{found.start:.0f} % to {found.end:.0f} %. At this pace it is full in "
            f"{left / 60:.0f} minutes.",
            node=samples.node,
            device=samples.device,
            subject=subject,
            time_ns=(round(points[0, 0] * NANOSECONDS), round(points[-1, 0] * NANOSECONDS)),
            evidence={
                "start_percent": found.start,
                "end_percent": found.end,
                "percent_per_hour": found.per_second * 3600,
                "seconds_left": left,
                "curve_percent": points[:, 1].tolist(),
            },
        )
