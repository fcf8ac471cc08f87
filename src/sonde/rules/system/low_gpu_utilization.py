"""LowGPUUtilization: a GPU has too little to do, all the time or again and again."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Count, Patience, Percent
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Counting, Values, datapoints_of, full_windows

_METRIC = "gpu.utilization_percent"
_IN_A_ROW = 2  # windows, calibrated
_IDLE = 1.0  # percent: a GPU that does nothing at all is another rule's matter
_LOW_SHARE = 0.1  # of the datapoints, calibrated: one pause is no fluctuation
_LEAST_DIPS = 4


class LowGPUUtilization(Rule):
    """A GPU has too little to do: all the time (underused), or again and again (fluctuating).

    Why it matters: you pay for the whole GPU, busy or not.
    How it decides: over windows of datapoints, per GPU: the 95th percentile is below threshold_p95
    (underused), or it is not, and the 5th is below threshold_p5 (fluctuating). Calibrated looks
    only at the time between the first and the last training step, wants two such windows in a row,
    and calls it fluctuating when at least a tenth of the time lies in four or more dips: a pause
    for a checkpoint is none. GPUs that do nothing at all are left to IdleGPU.
    What to do: underused: raise the batch size, use lower precision or a smaller GPU; fluctuating:
    find what the GPU waits for (`sonde dataloader`, `sonde operators`), mostly data or the host.
    """

    threshold_p95: Percent = 70.0
    threshold_p5: Percent = 10.0
    window: Count = 500
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
            counted = counting.take(state, name, samples.times_ns, samples.values)
            gpu = state.of("gpus", name)
            for rows in full_windows(gpu, counted, self.window):
                yield self._judge(samples, rows, gpu)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        gpus = list(state.of("gpus").values())
        has = max((datapoints_of(gpu, self.window) for gpu in gpus), default=0)
        if has >= self._needed:
            return ""
        return Shortfall(has, self._needed, DataUnit.SYSTEM_SAMPLES)

    @property
    def _needed(self) -> int:
        return self.window if self.is_classic else self.window * _IN_A_ROW

    def _judge(self, samples: Samples, rows: Values, gpu: State) -> Finding:
        kind = self._kind(rows[:, 1])
        is_again = bool(kind) and kind == gpu.get("kind")
        gpu["in_a_row"] = gpu.get("in_a_row", 0) + 1 if is_again else int(bool(kind))
        gpu["kind"] = kind
        subject = f"{samples.node}/{samples.device}"
        if not kind or gpu["in_a_row"] < (1 if self.is_classic else _IN_A_ROW):
            return self.recovered(subject)
        values = rows[:, 1]
        p5, p50, p95 = (float(one) for one in np.percentile(values, (5, 50, 95)))
        first_ns, last_ns = int(rows[0, 0]), int(rows[-1, 0])
        hours = (last_ns - first_ns) / NANOSECONDS / 3600 * (1 - float(values.mean()) / 100)
        said = (
            f"is underused: it never passed {p95:.0f} %"
            if kind == "underused"
            else f"fluctuates: {float(np.mean(values < self.threshold_p5)):.0%} of the time it is "
            f"below {self.threshold_p5:.0f} %, though it reaches {p95:.0f} %"
        )
        return self.finding(
            f"{samples.device} of {samples.node} {said} (mean {values.mean():.0f} % over "
            f"{(last_ns - first_ns) / NANOSECONDS:.0f} s).",
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
        if p95 < _IDLE:
            return ""
        if p95 < self.threshold_p95:
            return "underused"
        is_low = values < self.threshold_p5
        dips = int(np.sum(is_low[1:] & ~is_low[:-1])) + int(is_low[0])
        is_fluctuating = is_low.mean() >= _LOW_SHARE and dips >= _LEAST_DIPS
        return "fluctuating" if is_fluctuating else ""
