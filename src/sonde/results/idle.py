"""Time of devices by activity, and their idle time by cause, as data frames."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.breakdown import TIME_SHARES, Breakdown, breakdowns
from sonde.analyze.gaps import (
    Cause,
    Gap,
    IdleTime,
    Synchronization,
    find_gaps,
    merge_synchronizations,
)
from sonde.analyze.operations import Profile
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.records.chart import Spec
from sonde.results.charts import bars, stacked_bars
from sonde.results.record_rows import RecordRows
from sonde.results.tables import Frame, aligned
from sonde.store.tables import from_numpy, from_texts

_EMPTY = "No device operations recorded"


@dataclass(frozen=True)
class Breakdowns(Frame):
    """Time of each device of each worker by activity; activities add up to it."""

    profiles: tuple[Profile, ...]

    @cached_property
    def rows(self) -> tuple[Breakdown, ...]:
        """One row per worker and device, including the host."""
        return breakdowns(self.profiles)

    def to_arrow(self) -> pa.Table:
        """One row per worker and device: seconds, and the share of each activity."""
        wall_times = np.array([row.wall_ns for row in self.rows], dtype=np.float64)
        return pa.table(
            {
                "worker": from_numpy(np.array([row.worker for row in self.rows], dtype=np.int64)),
                "device": from_texts([row.device for row in self.rows]),
                "seconds": from_numpy(wall_times / NANOSECONDS),
                **{
                    f"{activity}_percent": from_numpy(
                        100
                        * np.array([getattr(row, f"{activity}_ns") for row in self.rows])
                        / wall_times
                    )
                    for activity in TIME_SHARES
                },
            }
        )

    def __repr__(self) -> str:
        if not self.rows:
            return "No operators recorded"
        rows = self.to_arrow().to_pylist()
        titles = (
            "device",
            "worker",
            "duration",
            *(activity.replace("_", " ") for activity in TIME_SHARES),
        )
        lines = [
            (
                row["device"],
                str(row["worker"]),
                format_duration(row["seconds"]),
                *(format_percent(row[f"{activity}_percent"], 1) for activity in TIME_SHARES),
            )
            for row in rows
        ]
        return aligned([titles, *lines], left_columns=1)

    def _chart_spec(self) -> Spec:
        columns = [f"{activity}_percent" for activity in TIME_SHARES]
        label = ("worker", "device")
        return stacked_bars(self.to_arrow(), "Device time", label, columns, "percent")


@dataclass(frozen=True)
class CauseRow:
    """All gaps of one cause."""

    cause: str
    gaps: int
    percent: float  # of device time
    total_ns: int
    longest_ns: int


@dataclass(frozen=True)
class GapPlace:
    """Gaps of one cause that the same operator ended (or, for synchronizations, caused)."""

    cause: str
    operator: str
    module: str
    phase: str
    gaps: int
    percent: float
    total_ns: int


@dataclass(frozen=True)
class Gaps(Frame):
    """Every gap in which a device was idle."""

    profiles: tuple[Profile, ...]

    @cached_property
    def _idle_times(self) -> tuple[IdleTime, ...]:
        return tuple(find_gaps(profile) for profile in self.profiles)

    @cached_property
    def rows(self) -> tuple[Gap, ...]:
        """Gaps by device, in order of time."""
        return tuple(gap for each in self._idle_times for gap in each.gaps)

    def __len__(self) -> int:
        return len(self.rows)

    def to_arrow(self) -> pa.Table:
        """One row per gap."""
        return RecordRows(self.rows, Gap).to_arrow()

    def longest(self, max_rows: int = 20) -> RecordRows:
        """The longest gaps, each with its cause."""
        ordered = sorted(self.rows, key=lambda gap: -gap.duration_ns)
        return RecordRows(tuple(ordered[:max_rows]), Gap, _EMPTY)

    def causes(self) -> RecordRows:
        """Idle time by cause, the longest first."""
        rows = [
            CauseRow(
                cause.value,
                len(durations_ns),
                self._percent(sum(durations_ns)),
                sum(durations_ns),
                max(durations_ns),
            )
            for cause in Cause
            for durations_ns in [[gap.duration_ns for gap in self.rows if gap.cause is cause]]
            if durations_ns
        ]
        rows.sort(key=lambda row: -row.total_ns)
        return RecordRows(tuple(rows), CauseRow, _EMPTY)

    def places(self) -> RecordRows:
        """Idle time by the operator that the device waited for, the longest first."""
        durations: dict[tuple[str, str, str, str], list[int]] = {}
        for gap in self.rows:
            location = (gap.cause.value, gap.operator, gap.module, gap.phase)
            durations.setdefault(location, []).append(gap.duration_ns)
        rows = [
            GapPlace(
                *location, len(durations_ns), self._percent(sum(durations_ns)), sum(durations_ns)
            )
            for location, durations_ns in durations.items()
        ]
        rows.sort(key=lambda row: -row.total_ns)
        return RecordRows(tuple(rows), GapPlace, _EMPTY)

    def _percent(self, spent_ns: int) -> float:
        """Share of the time of all devices."""
        devices = (
            (profile.wall_ns, len(profile.operations.device_names)) for profile in self.profiles
        )
        return 100 * spent_ns / sum(wall_ns * count for wall_ns, count in devices)

    def synchronizations(self) -> RecordRows:
        """Where the host waits for a device, the longest first."""
        rows = merge_synchronizations(
            row for each in self._idle_times for row in each.synchronizations
        )
        return RecordRows(rows, Synchronization, "No synchronizations recorded")

    def __repr__(self) -> str:
        return f"{self.causes()}\n\n{self.places()}" if self.rows else _EMPTY

    def _chart_spec(self) -> Spec:
        causes = self.causes().to_arrow()
        return bars(causes, "Idle time by cause", "cause", ("total_seconds",), "seconds")
