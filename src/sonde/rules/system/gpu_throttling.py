"""GPUThrottling: heat or power holds the clocks of a GPU down."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from sonde.read.window import Samples, Window
from sonde.records.finding import Finding
from sonde.records.need import Metric
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Values, values_at

_REASONS = ("gpu.throttled_thermal", "gpu.throttled_power", "gpu.throttled_hardware")
_UTILIZATION, _CLOCK = "gpu.utilization_percent", "gpu.sm_clock_mhz"
_TEMPERATURE = "gpu.temperature_celsius"
_BUSY = 50.0  # percent: an idle GPU lowers its clocks by itself
_LEAST = 20  # datapoints at work
_IN_A_ROW = 2  # windows
_LEAST_LOSS = 5.0  # percent of the clock: below that heat costs nothing worth a word
_ALONE = 3.0  # times the loss: a power limit costs every GPU something, by design


class GPUThrottling(Rule):
    """Heat or power holds the clocks of a GPU down.

    Why it matters: the GPU computes more slowly than it could, and in a job of several GPUs all of
    them wait for it.
    How it decides: in two minutes in a row, the reason is given for at least threshold percent of
    the time at work. Heat, and hardware that protects itself, count once the clock lies 5 % below
    the highest that was seen. A power limit is reached by every GPU that works hard: it counts only
    where the clock lies clock_loss percent below that of the job's other GPUs, or three times that
    below its own highest where there is only one.
    What to do: heat: look after fans, dust, room temperature and the neighbours in the rack; power:
    look at the power limit (`nvidia-smi -q -d POWER`) and whether the power supply is shared.
    """

    threshold: Percent = 20.0
    clock_loss: Percent = 10.0

    needs = tuple(map(Metric, _REASONS))
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 60.0
    recovers_after: ClassVar[int] = 2
    explains: ClassVar[tuple[str, ...]] = ("Straggler", "ThroughputDrop", "LoadBalancing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks at every GPU at work."""
        looks = list(_looks(window))
        for look in looks:
            gpu = state.of("gpus", look.name)
            gpu["highest"] = max(gpu.get("highest", 0.0), look.clock or 0.0)
            others = [one.clock for one in looks if one is not look and one.clock]
            loss = _percent_below(look.clock, gpu["highest"])
            behind = _percent_below(look.clock, float(median(others)) if others else None)
            kind = self._kind(look, loss, behind)
            gpu["in_a_row"] = gpu.get("in_a_row", 0) + 1 if kind else 0
            if gpu["in_a_row"] >= _IN_A_ROW:
                lost = max(one for one in (loss, behind, 0.0) if one is not None)
                yield self._found(look, kind, lost)

    def lacks(self, state: State) -> str:
        """Whether there was work at all."""
        return "" if state.of("gpus") else "no GPU was at work long enough in any minute"

    def _kind(self, look: "_Look", loss: float | None, behind: float | None) -> str:
        is_hot = max(look.thermal, look.hardware) >= self.threshold
        if is_hot and (loss is None or max(loss, behind or 0.0) >= _LEAST_LOSS):
            return "heat" if look.thermal >= look.hardware else "hardware"
        if look.power < self.threshold:
            return ""
        is_behind = behind is not None and behind >= self.clock_loss
        is_far_down = behind is None and loss is not None and loss >= _ALONE * self.clock_loss
        return "power" if is_behind or is_far_down else ""

    def _found(self, look: "_Look", kind: str, lost: float) -> Finding:
        share = {"heat": look.thermal, "power": look.power, "hardware": look.hardware}[kind]
        what = {
            "heat": "Heat" if look.celsius is None else f"Heat ({look.celsius:.0f} °C)",
            "power": "The power limit",
            "hardware": "The hardware's own protection",
        }[kind]
        clock = (
            f": at {look.clock:.0f} MHz it is {lost:.0f} % slower than it could be"
            if look.clock
            else ""
        )
        node, _, device = look.name.partition("/")
        return self.finding(
            f"{what} holds down the clocks of {device} of {node} for {share:.0f} % of the time at "
            f"work{clock}.",
            node=node,
            device=device,
            evidence={
                "kind": kind,
                "share_percent": share,
                "clock_mhz": look.clock,
                "lost_percent": lost,
                "temperature_celsius": look.celsius,
            },
        )


@dataclass(frozen=True)
class _Look:
    """One GPU at work in one window: how often it was held down, and how quick it was."""

    name: str
    thermal: float  # percent of the time at work, as the next two
    power: float
    hardware: float
    clock: float | None  # MHz; None where nobody knows, as the temperature
    celsius: float | None


def _looks(window: Window) -> Iterator[_Look]:
    series = {metric: _of_gpus(window, metric) for metric in (*_REASONS, _CLOCK, _TEMPERATURE)}
    held = [one for metric in _REASONS for one in series[metric].values()]
    is_held = any(one.values.max() > 0 for one in held)
    wanted = tuple(series) if is_held else (_CLOCK,)
    unknown = np.full(1, np.nan)
    for name, utilization in _of_gpus(window, _UTILIZATION).items():
        times_ns = utilization.times_ns[utilization.values >= _BUSY]
        if len(times_ns) < _LEAST or not any(name in series[one] for one in _REASONS):
            continue
        own = dict.fromkeys(series, unknown)
        for metric in wanted:  # mostly nothing is held down, and only the clock is of interest
            if name in series[metric]:
                own[metric] = values_at(series[metric][name], times_ns)
        thermal, power, hardware = (
            100 * float(np.mean(own[one] > 0)) if is_held else 0.0 for one in _REASONS
        )
        clock, celsius = _mean(own[_CLOCK]), _mean(own[_TEMPERATURE])
        yield _Look(name, thermal, power, hardware, clock, celsius)


def _mean(values: Values) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _percent_below(clock: float | None, other: float | None) -> float | None:
    return 100 * (1 - clock / other) if clock and other else None


def _of_gpus(window: Window, metric: str) -> dict[str, Samples]:
    return {f"{one.node}/{one.device}": one for one in window.system(metric)}
