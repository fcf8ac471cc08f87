"""DiskFull: a disk that the job writes to will not last."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import halve
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, State
from sonde.rules.system._datapoints import Counting, Values, in_seconds

_METRIC, _PERCENT = "disk.free_bytes", "disk.free_percent"
_MOST = 240  # datapoints that are remembered one by one
_LEAST = 24  # two minutes at the usual interval
_STILL = 0.3  # of the whole fall lies in the later half: else it has come to an end
_LEAST_FALL = 100 << 20  # bytes: logs are no trouble
_SOON_SECONDS = 600.0
_LONGEST_SECONDS = 24 * 3600.0


class DiskFull(Rule):
    """A disk that the job writes to will be full before long, or is.

    Why it matters: the next checkpoint fails, and mostly the job with it.
    How it decides: since training began, free space falls, and still does in the later half of that
    time. At this pace it lasts for a shorter time than the job has trained already (at least ten
    minutes, at most a day ahead): nobody knows when a job ends, but one that is half way may not
    get there. Old checkpoints that are deleted, or a cache that has filled up, end the fall. A disk
    that had room and has less than least_free percent is full.
    What to do: keep only the last checkpoints, write them elsewhere, clear caches, or move the job
    to a larger disk before it is too late.
    """

    least_free: Percent = 0.5

    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 60.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows the free space of every disk."""
        counting = Counting("auto", is_classic=False)
        counting.begin(window, state)
        percents = {(one.node, one.device): one for one in window.system(_PERCENT)}
        for samples in window.system(_METRIC):
            name = f"{samples.node}:{samples.device}"
            disk = state.of("disks", name)
            disk.setdefault("at_first", float(samples.values[0]))
            known = percents.get((samples.node, samples.device))
            disk["percent"] = float(known.values[-1]) if known else None
            counted = counting.take(state, name, samples.times_ns, samples.values)
            disk["rows"] = halve(disk.get("rows", []) + in_seconds(*counted), _MOST)
            yield self._judge(samples, disk)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [len(disk.get("rows", ())) for disk in state.of("disks").values()]
        has = max(counts, default=0)
        return "" if has >= _LEAST else Shortfall(has, _LEAST, DataUnit.SYSTEM_SAMPLES)

    def _judge(self, samples: Samples, disk: State) -> Finding:
        free = float(samples.values[-1])
        had = float(disk["at_first"])
        percent = disk["percent"]
        if percent is not None and percent < self.least_free and had - free > _LEAST_FALL:
            said = f"is full: {_size(free)} ({percent:.1f} %) are left"
            return self._found(samples, said, Severity.CRITICAL, {"free_bytes": free})
        left = _seconds_left(np.array(disk["rows"])) if len(disk["rows"]) >= _LEAST else None
        if left is None:
            return self.recovered(f"{samples.node}:{samples.device}")
        is_near = left < _SOON_SECONDS and percent is not None and percent < 10 * self.least_free
        said = f"has {_size(free)} left, and will be full in {_lasts(left)} at this pace"
        return self._found(
            samples,
            said,
            Severity.CRITICAL if is_near else Severity.WARNING,
            {"free_bytes": free, "seconds_left": left},
        )

    def _found(
        self, samples: Samples, said: str, severity: Severity, evidence: dict[str, float]
    ) -> Finding:
        return self.finding(
            f"The disk {samples.device} of {samples.node} {said}.",
            severity=severity,
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}:{samples.device}",
            evidence=evidence,
        )


def _seconds_left(rows: Values) -> float | None:
    """How long the space lasts at this pace; None where it does not fall, or lasts long."""
    seconds, free = rows[:, 0], rows[:, 1]
    lasted = float(seconds[-1] - seconds[0])
    fall = float(free[0] - free[-1])
    if fall < _LEAST_FALL or lasted <= 0:
        return None
    half = free[int(np.searchsorted(seconds, seconds[0] + lasted / 2))]
    if float(half - free[-1]) < _STILL * fall:
        return None
    left = float(free[-1]) / fall * lasted
    return left if left < min(max(lasted, _SOON_SECONDS), _LONGEST_SECONDS) else None


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _lasts(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
