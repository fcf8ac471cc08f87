"""GPUThrottling: heat or a power limit reduces the clock of a GPU."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from sonde.analyze.speedups import upper_bound
from sonde.formats import format_percent, format_value
from sonde.read.window import Samples, Window
from sonde.records.advice import Bottleneck, Improvement, Remedy
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.system_samples import Values, values_at

_REASONS = ("gpu.throttled_thermal", "gpu.throttled_power", "gpu.throttled_hardware")
_UTILIZATION, _CLOCK = "gpu.utilization_percent", "gpu.sm_clock_mhz"
_TEMPERATURE = "gpu.temperature_celsius"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of GPUThrottling.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    busy_percent: float = 50.0  # of utilization; an idle GPU lowers its clock anyway
    min_samples: int = 10
    windows_in_a_row: int = 3
    min_clock_loss_percent: float = 5.0  # for thermal and hardware slowdowns
    # of `clock_loss`; a power limit reduces the clock of every GPU a little by design
    single_gpu_factor: float = 3.0


LIMITS = Calibration()


class GPUThrottling(Rule):
    """Heat or a power limit reduces a GPU's clock.

    Why it matters: The GPU computes more slowly than it could. In a job with several GPUs, all of
    them wait for it.
    How it decides:
    - In 3 windows of 15 seconds in a row, the driver reports a reason for at least `threshold`
      percent of the time in which the GPU is more than 50% utilized (10 samples or more).
    - Thermal and hardware slowdowns count if the clock is 5% below its highest value or below the
      job's other GPUs.
    - A power limit counts only if the clock is `clock_loss` percent below the median of the job's
      other GPUs, or, with one GPU, 3 times that below its own highest value.
    What to do: Heat: check fans, dust, room temperature and neighbors in the rack. Power: check the
    power limit (`nvidia-smi -q -d POWER`) and whether the power supply is shared.
    """

    threshold: Percent = 20.0
    clock_loss: Percent = 10.0

    section = Section.MACHINE
    calibration = LIMITS
    needs = tuple(map(Metric, _REASONS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 8
    explains: ClassVar[tuple[str, ...]] = ("Straggler", "ThroughputDrop", "LoadBalancing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the clock and the throttling reasons of every busy GPU."""
        inspections = list(_inspections(window))
        for samples in window.system(_UTILIZATION):
            busy = int((samples.values >= LIMITS.busy_percent).sum())
            state["busiest"] = max(state.get("busiest", 0), busy)
        for entry in inspections:
            gpu = state.of("gpus", entry.name)
            gpu["highest"] = max(gpu.get("highest", 0.0), entry.clock or 0.0)
            other_clocks = [
                inspection.clock
                for inspection in inspections
                if inspection is not entry and inspection.clock
            ]
            loss = _percent_below(entry.clock, gpu["highest"])
            behind = _percent_below(
                entry.clock, float(median(other_clocks)) if other_clocks else None
            )
            kind = self._kind(entry, loss, behind)
            gpu["in_a_row"] = gpu.get("in_a_row", 0) + 1 if kind else 0
            if gpu["in_a_row"] >= LIMITS.windows_in_a_row:
                lost = max(item for item in (loss, behind, 0.0) if item is not None)
                yield self._finding(entry, kind, lost)

    def lacks(self, state: State) -> str | Shortfall:
        """How many samples of a busy GPU are missing."""
        busiest = int(state.get("busiest", 0))
        if state.of("gpus") or busiest >= LIMITS.min_samples:
            return ""
        return Shortfall(busiest, LIMITS.min_samples, DataUnit.BUSY_GPU_SAMPLES)

    def _kind(self, inspection: "_Inspection", loss: float | None, behind: float | None) -> str:
        is_hot = max(inspection.thermal, inspection.hardware) >= self.threshold
        if is_hot and (loss is None or max(loss, behind or 0.0) >= LIMITS.min_clock_loss_percent):
            return "heat" if inspection.thermal >= inspection.hardware else "hardware"
        if inspection.power < self.threshold:
            return ""
        is_behind = behind is not None and behind >= self.clock_loss
        is_far_down = (
            behind is None
            and loss is not None
            and loss >= LIMITS.single_gpu_factor * self.clock_loss
        )
        return "power" if is_behind or is_far_down else ""

    def _finding(self, inspection: "_Inspection", kind: str, lost: float) -> Finding:
        share = {
            "heat": inspection.thermal,
            "power": inspection.power,
            "hardware": inspection.hardware,
        }[kind]
        what = {
            "heat": "Heat"
            if inspection.celsius is None
            else f"Heat ({format_value(inspection.celsius, 'celsius')})",
            "power": "The power limit",
            "hardware": "A hardware slowdown",
        }[kind]
        clock = (
            f", which reduces its clock by {format_percent(lost)} to "
            f"{format_value(inspection.clock, 'mhz')}"
            if inspection.clock
            else ""
        )
        node, _, device = inspection.name.partition("/")
        return self.finding(
            f"{what} throttles {device} on {node} for {format_percent(share)} of its busy time"
            f"{clock}.",
            node=node,
            device=device,
            improvement=_improvement(kind, lost),
            evidence={
                "kind": kind,
                "share_percent": share,
                "clock_mhz": inspection.clock,
                "lost_percent": lost,
                "temperature_celsius": inspection.celsius,
            },
        )


def _improvement(kind: str, lost_percent: float) -> Improvement:
    """Kernels that compute are as fast as the clock; those that wait for memory are not."""
    reason = f"the clock is {format_percent(lost_percent)} lower than without throttling."
    gain = upper_bound(100.0, lost_percent, reason)
    title = {"heat": "better cooling", "power": "a higher power limit"}.get(kind, "a repair")
    return Improvement(Bottleneck.CLOCK, (Remedy(title, "", gain if lost_percent else None),))


@dataclass(frozen=True)
class _Inspection:
    """A busy GPU in one window: its throttling and its clock."""

    name: str
    thermal: float  # percent of the busy time, as the next two
    power: float
    hardware: float
    clock: float | None  # MHz; None if unknown
    celsius: float | None  # None if unknown


def _inspections(window: Window) -> Iterator[_Inspection]:
    series = {metric: _of_gpus(window, metric) for metric in (*_REASONS, _CLOCK, _TEMPERATURE)}
    reasons = [samples for metric in _REASONS for samples in series[metric].values()]
    is_throttled = any(samples.values.max() > 0 for samples in reasons)
    needed = tuple(series) if is_throttled else (_CLOCK,)  # without throttling, only the clock
    unknown = np.full(1, np.nan)
    for name, utilization in _of_gpus(window, _UTILIZATION).items():
        times_ns = utilization.times_ns[utilization.values >= LIMITS.busy_percent]
        if len(times_ns) < LIMITS.min_samples or not any(name in series[item] for item in _REASONS):
            continue
        aligned = dict.fromkeys(series, unknown)
        for metric in needed:
            if name in series[metric]:
                aligned[metric] = values_at(series[metric][name], times_ns)
        thermal, power, hardware = (
            100 * float(np.mean(aligned[item] > 0)) if is_throttled else 0.0 for item in _REASONS
        )
        clock, celsius = _mean(aligned[_CLOCK]), _mean(aligned[_TEMPERATURE])
        yield _Inspection(name, thermal, power, hardware, clock, celsius)


def _mean(values: Values) -> float | None:
    valid = values[~np.isnan(values)]
    return float(valid.mean()) if len(valid) else None


def _percent_below(clock: float | None, value: float | None) -> float | None:
    return 100 * (1 - clock / value) if clock and value else None


def _of_gpus(window: Window, metric: str) -> dict[str, Samples]:
    return {f"{samples.node}/{samples.device}": samples for samples in window.system(metric)}
