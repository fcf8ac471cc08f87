"""What operators and devices did in the windows of a job, as data frames."""

from collections.abc import Sequence
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
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.records.step import Phase
from sonde.results.charts import bars
from sonde.results.idle import Breakdowns, Gaps
from sonde.results.operator_profiles import read_operator_profiles
from sonde.results.record_rows import RecordRows, shortened
from sonde.results.tables import Frame, aligned
from sonde.store.tables import from_numpy, from_texts

GPU = "gpu"
DEVICES = (HOST, GPU)
GROUPS = ("operator", "module", "phase", "kernel")
ORDERS = ("self", "total")
NOTHING = "no operators have been recorded; a window of them: sonde run --profile operators …"

_SHOWN = 20
_PHASES = [phase.value for phase in Phase]
_OWN = ("self", "total")
_STARTED = ("device_self", "device_total")


@dataclass(frozen=True)
class Operators(Frame):
    """What took the time in the windows of operators; nothing is read until it is asked for."""

    readers: tuple[WorkerReader, ...]
    device: str | None = None
    group: str = "operator"

    def __post_init__(self) -> None:
        if self.device not in (None, *DEVICES):
            raise UsageError(f"There is no device {self.device!r}. Known: {', '.join(DEVICES)}")
        if self.group not in GROUPS:
            raise UsageError(f"There is no {self.group!r} here. Known: {', '.join(GROUPS)}")
        if self.group == "kernel" and self.device == HOST:
            raise UsageError("Kernels run on a GPU. Known for cpu: operator, module, phase")

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The windows, worker by worker."""
        return read_operator_profiles(self.readers)

    @cached_property
    def has_gpu(self) -> bool:
        """Whether anything ran on a device other than the host."""
        return any(profile.operations.device_names for profile in self.profiles)

    @property
    def shown_device(self) -> str:
        """The device that was asked for; without a word the GPU, where one was used."""
        if self.device is not None:
            return self.device
        return GPU if self.has_gpu or self.group == "kernel" else HOST

    @cached_property
    def table(self) -> OperatorTable:
        """Rows as they were added up, in no order, and the time that passed."""
        if self.shown_device == GPU:
            return device_operators(self.profiles, self.group)
        return host_operators(self.profiles, self.group)

    @property
    def wall_seconds(self) -> float:
        """How long the windows were, of all workers (and devices) together."""
        return self.table.wall_ns / NANOSECONDS

    @property
    def steps(self) -> int:
        """How many steps the windows hold, of one worker."""
        counts: dict[int, int] = {}
        for profile in self.profiles:
            counts[profile.worker] = counts.get(profile.worker, 0) + profile.steps
        return max(counts.values(), default=0)

    def top(self, most: int | None = _SHOWN, by: str = "self") -> "OperatorRows":
        """Those that took the most time.

        Args:
            most: How many; None is all of them.
            by: `self`, without what they called, or `total`, with it.
        """
        if by not in ORDERS:
            raise UsageError(f"Operators have no {by!r} time. Known: {', '.join(ORDERS)}")
        rows = sorted(self.table.rows, key=lambda row: -getattr(row, f"{by}_ns"))
        return self._rows(self.table, rows[:most])

    def to_arrow(self) -> pa.Table:
        """One row each, those with the most self time first."""
        return self.top(None).to_arrow()

    def phases(self) -> "OperatorRows":
        """The same by phase of the step: of device operations, that in which they were started."""
        add_up = device_operators if self.shown_device == GPU else host_operators
        table = add_up(self.profiles, "phase")
        rows = sorted(table.rows, key=lambda row: (_place(row.name), row.name))
        return self._rows(table, rows)

    def _rows(self, table: OperatorTable, rows: Sequence[OperatorRow]) -> "OperatorRows":
        # what a device did is all there is to tell of it; the host has also started something
        times = _OWN if self.shown_device == GPU or not self.has_gpu else (*_OWN, *_STARTED)
        return OperatorRows(tuple(rows), table.wall_ns, table.not_covered_ns, times)

    def breakdown(self) -> Breakdowns:
        """Where the time of each device of each worker went."""
        return Breakdowns(self.profiles)

    def gaps(self) -> Gaps:
        """When devices had nothing to do, and why."""
        return Gaps(self.profiles)

    def launches(self) -> RecordRows:
        """What it costs to start kernels, per worker and device."""
        return RecordRows(launch_costs(self.profiles), LaunchCost, "no kernel has been recorded")

    def __len__(self) -> int:
        return len(self.table.rows)

    def __repr__(self) -> str:
        if not self.profiles:
            return NOTHING
        return repr(self.top()) if len(self) else "nothing was recorded on a GPU"

    def _picture(self) -> Spec:
        return self.top().plot().spec

    def _shown(self) -> pa.Table:
        return self.top().to_arrow()


def _place(phase: str) -> int:
    return _PHASES.index(phase) if phase in _PHASES else len(_PHASES)


@dataclass(frozen=True)
class OperatorRows(Frame):
    """Some rows, and the whole that their shares belong to."""

    rows: tuple[OperatorRow, ...]
    wall_ns: float
    not_covered_ns: float
    times: tuple[str, ...] = _OWN

    @property
    def not_covered_percent(self) -> float:
        """The share of the time in which none of all ran."""
        return self._percent(self.not_covered_ns)

    def to_arrow(self) -> pa.Table:
        """One row each: calls, seconds, and the share of the time that passed."""
        columns: dict[str, Any] = {
            "name": from_texts([row.name for row in self.rows]),
            "calls": from_numpy(np.array([row.calls for row in self.rows], dtype=np.int64)),
            "percent": _reals([self._percent(row.share_ns) for row in self.rows]),
        }
        for name in self.times:
            spent = [getattr(row, f"{name}_ns") / NANOSECONDS for row in self.rows]
            columns[f"{name}_seconds"] = _reals(spent)
        return pa.table(columns)

    def _percent(self, spent_ns: float) -> float:
        return 100 * spent_ns / self.wall_ns if self.wall_ns else 0.0

    def __repr__(self) -> str:
        titles = ("name", "calls", "percent", *(f"{name} seconds" for name in self.times))
        lines = [
            (
                shortened(row.name) or "(none)",
                str(row.calls),
                f"{self._percent(row.share_ns):.2f}",
                *(f"{getattr(row, f'{name}_ns') / NANOSECONDS:.6f}" for name in self.times),
            )
            for row in self.rows
        ]
        empty = ("",) * len(self.times)
        last = ("not covered", "", f"{self.not_covered_percent:.2f}", *empty)
        return aligned([titles, *lines, last], left=1)

    def _picture(self) -> Spec:
        values = [f"{name}_seconds" for name in self.times]
        return bars(self.to_arrow(), "Operators", "name", values, "seconds")


def _reals(values: Sequence[float]) -> pa.Array:
    return from_numpy(np.array(values, dtype=np.float64))
