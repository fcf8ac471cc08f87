"""Operators in the profiles of a job, as data frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.launches import LaunchCost, launch_costs
from sonde.analyze.operations import HOST, Profile
from sonde.analyze.operators import (
    OperatorRow,
    OperatorTable,
    device_operators,
    host_operators,
)
from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.formats import format_duration, format_percent
from sonde.read.operator_profiles import read_operator_profiles
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.records.step import Phase
from sonde.results.charts import bars
from sonde.results.idle import Breakdowns, Gaps
from sonde.results.record_rows import RecordRows, shortened
from sonde.results.tables import Frame, aligned
from sonde.store.tables import from_numpy, from_texts

GPU = "gpu"
DEVICES = (HOST, GPU)
GROUPS = ("operator", "module", "phase", "kernel")
ORDERS = ("self", "total")
EMPTY = "No operators recorded. Record some with: sonde run --profile operators …"

_SHOWN = 20
_LEAST_PERCENT = 0.05  # less is shown as 0.0%
_PHASES = [phase.value for phase in Phase]
_SELF_TIMES = ("self", "total")
_DEVICE_TIMES = ("device_self", "device_total")


def significant_rows(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows up to the last one whose share is not shown as 0.0%, and at least one."""
    last = [index for index, row in enumerate(rows) if row["percent"] >= _LEAST_PERCENT]
    return list(rows[: last[-1] + 1 if last else 1])


@dataclass(frozen=True)
class Operators(Frame):
    """Time by operator in profiled steps; read on first use."""

    readers: tuple[WorkerReader, ...]
    device: str | None = None
    group: str = "operator"

    def __post_init__(self) -> None:
        if self.device not in (None, *DEVICES):
            raise UsageError(f"Unknown device {self.device!r}. Available: {', '.join(DEVICES)}")
        if self.group not in GROUPS:
            raise UsageError(f"Unknown grouping {self.group!r}. Available: {', '.join(GROUPS)}")
        if self.group == "kernel" and self.device == HOST:
            raise UsageError("Kernels run on GPUs only. Available for cpu: operator, module, phase")

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles by worker."""
        return read_operator_profiles(self.readers)

    @cached_property
    def has_gpu(self) -> bool:
        """Whether anything ran on a device other than the host."""
        return any(profile.operations.device_names for profile in self.profiles)

    @property
    def shown_device(self) -> str:
        """The requested device; by default the GPU if one was used."""
        if self.device is not None:
            return self.device
        return GPU if self.has_gpu or self.group == "kernel" else HOST

    @cached_property
    def table(self) -> OperatorTable:
        """The unsorted rows and the elapsed time."""
        if self.shown_device == GPU:
            return device_operators(self.profiles, self.group)
        return host_operators(self.profiles, self.group)

    @property
    def wall_seconds(self) -> float:
        """Total duration of the profiles of all workers and devices."""
        return self.table.wall_ns / NANOSECONDS

    @property
    def steps(self) -> int:
        """Number of profiled steps per worker."""
        counts: dict[int, int] = {}
        for profile in self.profiles:
            counts[profile.worker] = counts.get(profile.worker, 0) + profile.steps
        return max(counts.values(), default=0)

    def top(self, max_rows: int | None = _SHOWN, by: str = "self") -> "OperatorRows":
        """The operators with the most time.

        Args:
            max_rows: Number of operators; None for all of them.
            by: `self` time, or `total` time including callees.
        """
        if by not in ORDERS:
            raise UsageError(f"Unknown order {by!r}. Available: {', '.join(ORDERS)}")
        rows = sorted(self.table.rows, key=lambda row: -getattr(row, f"{by}_ns"))
        return self._rows(self.table, rows[:max_rows])

    def to_arrow(self) -> pa.Table:
        """One row per operator, most self time first."""
        return self.top(None).to_arrow()

    def phases(self) -> "OperatorRows":
        """Time by phase of the step; device operations count in the phase that started them."""
        add_up = device_operators if self.shown_device == GPU else host_operators
        table = add_up(self.profiles, "phase")
        rows = sorted(table.rows, key=lambda row: (_phase_position(row.name), row.name))
        return self._rows(table, rows)

    def _rows(self, table: OperatorTable, rows: Sequence[OperatorRow]) -> "OperatorRows":
        # the host also has the time of the device operations that it started
        times = (
            _SELF_TIMES
            if self.shown_device == GPU or not self.has_gpu
            else (*_SELF_TIMES, *_DEVICE_TIMES)
        )
        return OperatorRows(tuple(rows), table.wall_ns, table.not_covered_ns, times)

    def breakdown(self) -> Breakdowns:
        """Time of each device of each worker by activity."""
        return Breakdowns(self.profiles)

    def gaps(self) -> Gaps:
        """When devices were idle, and why."""
        return Gaps(self.profiles)

    def launches(self) -> RecordRows:
        """Cost of kernel launches, per worker and device."""
        return RecordRows(launch_costs(self.profiles), LaunchCost, "No kernels recorded")

    def __len__(self) -> int:
        return len(self.table.rows)

    def __repr__(self) -> str:
        if not self.profiles:
            return EMPTY
        return repr(self.top()) if len(self) else "No GPU operations recorded"

    def _chart_spec(self) -> Spec:
        return self.top().plot().spec

    def _shown(self) -> pa.Table:
        return self.top().to_arrow()


def _phase_position(phase: str) -> int:
    return _PHASES.index(phase) if phase in _PHASES else len(_PHASES)


@dataclass(frozen=True)
class OperatorRows(Frame):
    """Rows of operators, and the time that their shares refer to."""

    rows: tuple[OperatorRow, ...]
    wall_ns: float
    not_covered_ns: float
    times: tuple[str, ...] = _SELF_TIMES

    @property
    def not_covered_percent(self) -> float:
        """Share of the time in which no operator ran."""
        return self._percent(self.not_covered_ns)

    def to_arrow(self) -> pa.Table:
        """One row per operator: calls, seconds, and share of the elapsed time."""
        columns: dict[str, Any] = {
            "name": from_texts([row.name for row in self.rows]),
            "calls": from_numpy(np.array([row.calls for row in self.rows], dtype=np.int64)),
            "percent": _reals([self._percent(row.share_ns) for row in self.rows]),
        }
        for name in self.times:
            row_seconds = [getattr(row, f"{name}_ns") / NANOSECONDS for row in self.rows]
            columns[f"{name}_seconds"] = _reals(row_seconds)
        return pa.table(columns)

    def _percent(self, spent_ns: float) -> float:
        return 100 * spent_ns / self.wall_ns if self.wall_ns else 0.0

    def __repr__(self) -> str:
        titles = ("name", "calls", "share", *(name.replace("_", " ") for name in self.times))
        lines = [
            (
                shortened(row.name) or "(none)",
                str(row.calls),
                format_percent(self._percent(row.share_ns), 2),
                *(format_duration(getattr(row, f"{name}_ns") / NANOSECONDS) for name in self.times),
            )
            for row in self.rows
        ]
        empty = ("",) * len(self.times)
        last = ("not covered", "", format_percent(self.not_covered_percent, 2), *empty)
        return aligned([titles, *lines, last], left_columns=1)

    def _chart_spec(self) -> Spec:
        values = [f"{name}_seconds" for name in self.times]
        return bars(self.to_arrow(), "Operators", "name", values, "seconds")


def _reals(values: Sequence[float]) -> pa.Array:
    return from_numpy(np.array(values, dtype=np.float64))
