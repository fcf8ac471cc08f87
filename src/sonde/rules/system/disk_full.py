"""DiskFull: a disk that the job writes to is full or fills up soon."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sonde.analyze.growth import halve
from sonde.formats import format_bytes, format_duration, format_percent
from sonde.read.window import Samples, Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Metric
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._parameters import Percent
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.system_samples import SampleFilter, Values, rows_in_seconds

_METRIC, _PERCENT = "disk.free_bytes", "disk.free_percent"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of DiskFull.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    max_points: int = 240  # remembered
    min_points: int = 24  # two minutes at the default interval
    early_points: int = 12  # enough if every quarter of the time has its share of the drop
    quarter_share: float = 0.1  # of the drop; a checkpoint falls into one quarter
    later_share: float = 0.3  # of the drop, in the second half of the time; less has leveled off
    min_drop_bytes: int = 100 << 20  # logs take less
    soon_seconds: float = 600.0
    horizon_seconds: float = 24 * 3600.0
    nearly_full_factor: float = 10.0  # of `least_free`, for a critical finding


LIMITS = Calibration()


class DiskFull(Rule):
    """A disk that the job writes to is full or fills up soon.

    Why it matters: The next checkpoint fails, and usually the job with it.
    How it decides:
    - Full: less than `least_free` percent is free, and free space has dropped by 100 MB since the
      start.
    - Filling up: free space drops steadily since training began, by 100 MB and at least 30% of that
      in the second half of the time.
    - At this rate, the disk will be full in less time than the job has trained so far (limited to
      between 10 minutes and a day).
    - Needs 24 samples, or 12 (one minute) if each quarter of the time has 10% of the drop.
    - Critical if the disk is full, or nearly full with less than 10 minutes left.
    What to do: Keep only the latest checkpoints, write them elsewhere, clear caches, or move the
    job to a larger disk.
    """

    least_free: Percent = 0.5

    section = Section.MACHINE
    calibration = LIMITS
    needs = (Metric(_METRIC),)
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 15.0
    recovers_after: ClassVar[int] = 0

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Check the free space of every disk."""
        sample_filter = SampleFilter("auto", is_classic=False)
        sample_filter.begin(window, state)
        percents = {(samples.node, samples.device): samples for samples in window.system(_PERCENT)}
        for samples in window.system(_METRIC):
            name = f"{samples.node}:{samples.device}"
            disk = state.of("disks", name)
            disk.setdefault("at_first", float(samples.values[0]))
            percent_samples = percents.get((samples.node, samples.device))
            disk["percent"] = float(percent_samples.values[-1]) if percent_samples else None
            counted = sample_filter.take(state, name, samples.times_ns, samples.values)
            disk["rows"] = halve(
                disk.get("rows", []) + rows_in_seconds(*counted), LIMITS.max_points
            )
            yield self._judge(samples, disk)

    def lacks(self, state: State) -> str | Shortfall:
        """How many datapoints are missing."""
        counts = [len(disk.get("rows", ())) for disk in state.of("disks").values()]
        has = max(counts, default=0)
        return (
            ""
            if has >= LIMITS.early_points
            else Shortfall(has, LIMITS.early_points, DataUnit.SYSTEM_SAMPLES)
        )

    def _judge(self, samples: Samples, disk: State) -> Finding:
        free = float(samples.values[-1])
        initial = float(disk["at_first"])
        percent = disk["percent"]
        if (
            percent is not None
            and percent < self.least_free
            and initial - free > LIMITS.min_drop_bytes
        ):
            text = f"is full: {format_bytes(free)} ({format_percent(percent)}) left"
            return self._finding(samples, text, Severity.CRITICAL, {"free_bytes": free})
        rows = np.array(disk["rows"])
        is_enough = len(rows) >= LIMITS.min_points or _drops_in_each_quarter(rows)
        remaining = _seconds_left(rows) if is_enough else None
        if remaining is None:
            return self.recovered(f"{samples.node}:{samples.device}")
        is_near = (
            remaining < LIMITS.soon_seconds
            and percent is not None
            and percent < LIMITS.nearly_full_factor * self.least_free
        )
        text = (
            f"has {format_bytes(free)} left and will be full in {format_duration(remaining)} "
            "at this rate"
        )
        return self._finding(
            samples,
            text,
            Severity.CRITICAL if is_near else Severity.WARNING,
            {"free_bytes": free, "seconds_left": remaining},
        )

    def _finding(
        self, samples: Samples, name: str, severity: Severity, evidence: dict[str, float]
    ) -> Finding:
        return self.finding(
            f"Disk {samples.device} of {samples.node} {name}.",
            severity=severity,
            node=samples.node,
            device=samples.device,
            subject=f"{samples.node}:{samples.device}",
            evidence=evidence,
        )


def _drops_in_each_quarter(rows: Values) -> bool:
    """Whether few samples suffice: free space drops all the time."""
    if len(rows) < LIMITS.early_points:
        return False
    edges = np.interp(np.linspace(rows[0, 0], rows[-1, 0], 5), rows[:, 0], rows[:, 1])
    drops = -np.diff(edges)
    return bool((drops >= LIMITS.quarter_share * drops.sum()).all() and drops.sum() > 0)


def _seconds_left(rows: Values) -> float | None:
    """Return how long free space lasts at this rate, or None if it is stable or lasts long."""
    seconds, free = rows[:, 0], rows[:, 1]
    duration = float(seconds[-1] - seconds[0])
    drop = float(free[0] - free[-1])
    if drop < LIMITS.min_drop_bytes or duration <= 0:
        return None
    free_at_half = free[int(np.searchsorted(seconds, seconds[0] + duration / 2))]
    if float(free_at_half - free[-1]) < LIMITS.later_share * drop:
        return None
    remaining = float(free[-1]) / drop * duration
    limit = min(max(duration, LIMITS.soon_seconds), LIMITS.horizon_seconds)
    return remaining if remaining < limit else None
