"""Steps of a job and their phases, as data frames and statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.analyze.durations import durations_of, time_percent
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent, pluralize
from sonde.read.steps import StepTable, read_steps
from sonde.read.workers import WorkerReader
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.chart import Spec
from sonde.records.ranges import ANY_STEP, StepRange
from sonde.records.step import Phase
from sonde.results.charts import bars, stacked_bars, step_lines
from sonde.results.distributions import Distribution, distribution_of
from sonde.results.outliers import StepOutliers, Systems
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, from_texts, repeated, to_numpy

DEVICE_PREFIX = "device_"
_PHASE_PREFIX = "phase_"  # for phases whose name from the script is that of another column
_FIRST = ("worker", "mode", "step", "time", "seconds")
_LAST = ("micro_steps", "skipped", "profiled")
_TIMES = ("mean", "p50", "p90", "p95", "p99", "maximum")
_NUMBERS = ("percent", *_TIMES)
_SHOWN = 10


@dataclass(frozen=True)
class Steps(Frame):
    """Finished steps of workers, in order; read on first use."""

    readers: tuple[WorkerReader, ...]
    modes: tuple[str, ...]
    within: StepRange = ANY_STEP
    systems: Systems = tuple  # readers of the nodes, for metrics during outliers

    @cached_property
    def tables(self) -> tuple[StepTable, ...]:
        """The steps by worker and mode, as read."""
        return tuple(
            read_steps(reader, mode, self.within) for reader in self.readers for mode in self.modes
        )

    def __len__(self) -> int:
        return sum(len(table.steps) for table in self.tables)

    @cached_property
    def phases(self) -> tuple[str, ...]:
        """The phases that add up to a step, including those named by the script."""
        named = dict.fromkeys(name for table in self.tables for name in table.phases_ns)
        return (*named,) or tuple(phase.value for phase in Phase)

    @cached_property
    def device_phases(self) -> tuple[str, ...]:
        """Phases that were also measured on the device."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.device_seconds))

    def to_arrow(self) -> pa.Table:
        """One row per worker and step; a column per phase, in seconds."""
        return self._table

    def slowest(self, max_rows: int = 5) -> "StepRows":
        """The longest steps, the slowest first; profiled steps are excluded."""
        seconds = self._seconds("seconds")
        indices = np.flatnonzero(self._is_representative)
        order = indices[np.argsort(-seconds[indices], kind="stable")][:max_rows]
        return StepRows(self._table.take(from_numpy(order)))

    def histogram(self, bins: int | Sequence[float] = 40) -> Distribution:
        """Distribution of step durations by worker; profiled steps are excluded.

        Args:
            bins: Number of bins of equal width, or their edges in seconds.
        """
        groups = {
            f"worker {table.worker}"
            if len(self.modes) == 1
            else f"worker {table.worker}, {table.mode}": table.durations_ns[table.is_representative]
            / NANOSECONDS
            for table in self.tables
            if len(table.steps)
        }
        return distribution_of(groups, bins, "Step durations", "seconds", "steps")

    def outliers(self) -> StepOutliers:
        """Steps that took much longer than the median, and the phase that was slow."""
        return StepOutliers(self.tables, self.readers, self.systems)

    def statistics(self) -> "PhaseStatistics":
        """Durations of steps and phases: mean, percentiles, share of step time.

        Profiled steps are excluded unless there are no others.
        """
        is_representative = self._is_representative
        step_seconds = self._seconds("seconds")[is_representative]
        names = ["seconds", *map(_column, self.phases)]
        names += [f"{DEVICE_PREFIX}{name}" for name in self.device_phases]
        return PhaseStatistics(
            tuple(
                PhaseRow.of(name, self._seconds(name)[is_representative], step_seconds)
                for name in names
            )
        )

    @cached_property
    def _table(self) -> pa.Table:
        tables = [self._step_columns(table) for table in self.tables]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _step_columns(self, table: StepTable) -> pa.Table:
        rows = len(table.steps)
        zeros = np.zeros(rows, dtype=np.int64)
        columns: dict[str, Any] = {
            "worker": from_numpy(np.full(rows, table.worker, dtype=np.int64)),
            "mode": repeated(table.mode, rows),
            "step": from_numpy(table.steps),
            "time": from_numpy(table.starts_ns).cast(TIME),
            "seconds": from_numpy(table.durations_ns / NANOSECONDS),
        }
        for name in self.phases:
            spent_ns = table.phases_ns.get(name, zeros)
            columns[_column(name)] = from_numpy(spent_ns / NANOSECONDS)
        for name in self.device_phases:
            unknown = np.full(rows, np.nan)
            measured = table.device_seconds.get(name, unknown)
            columns[f"{DEVICE_PREFIX}{name}"] = from_numpy(measured)
        columns["micro_steps"] = from_numpy(table.micro_steps)
        for name, marks in (("skipped", table.is_skipped), ("profiled", table.is_profiled)):
            columns[name] = from_numpy(marks.view(np.int8)).cast(pa.bool_())
        return pa.table(columns)

    @property
    def _is_representative(self) -> BoolArray:
        return np.concatenate(
            [np.empty(0, np.bool_), *(table.is_representative for table in self.tables)]
        )

    def _seconds(self, column: str) -> FloatArray:
        if not len(self):
            return np.empty(0)
        return to_numpy(self._table[column])

    def __repr__(self) -> str:
        if not len(self):
            return f"No steps recorded ({', '.join(self.modes)})"
        counts = dict.fromkeys(self.modes, 0)
        for table in self.tables:
            counts[table.mode] = max(counts[table.mode], len(table.steps))
        counts_text = ", ".join(
            pluralize(count, f"{mode} step") for mode, count in counts.items() if count
        )
        workers = len({table.worker for table in self.tables})
        workers_text = f" of {workers} workers" if workers > 1 else ""
        return f"{counts_text}{workers_text}; latest:\n{self._latest()}\n\n{self.statistics()}"

    def _shown(self) -> pa.Table:
        return self._latest().to_arrow() if len(self) else self._table

    def _chart_spec(self) -> Spec:
        """Step durations over steps."""
        return step_lines(
            self.to_arrow(), "Step durations", "seconds", ("worker", "mode"), "seconds"
        )

    def _latest(self) -> "StepRows":
        """The latest steps of all workers."""
        ends_ns = np.concatenate([table.ends_ns for table in self.tables])
        order = np.argsort(ends_ns, kind="stable")[-_SHOWN:]
        return StepRows(self._table.take(from_numpy(order)))


def _column(phase: str) -> str:
    is_taken = phase in (*_FIRST, *_LAST) or phase.startswith(DEVICE_PREFIX)
    return f"{_PHASE_PREFIX}{phase}" if is_taken else phase


@dataclass(frozen=True)
class StepRows(Frame):
    """Selected steps."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        """One row per worker and step."""
        return self.table

    def _chart_spec(self) -> Spec:
        nonzero = [
            name
            for name in self.table.column_names
            if name not in (*_FIRST, *_LAST)
            and not name.startswith(DEVICE_PREFIX)
            and to_numpy(self.table[name]).any()
        ]
        label = ("worker", "mode", "step")
        return stacked_bars(self.table, "Steps by phase", label, nonzero, "seconds")

    def __repr__(self) -> str:
        if not self.table.num_rows:
            return "No steps"
        rows = self.table.drop_columns(["time"]).to_pylist()
        nonzero = [name for name in self.table.column_names if name not in (*_FIRST, *_LAST)]
        # phases without time are not shown
        nonzero = [name for name in nonzero if any(row[name] for row in rows)]
        titles = ("worker", "mode", "step", "duration", *nonzero, *_LAST)
        lines = [_line(row, nonzero) for row in rows]
        return aligned([titles, *lines], left_columns=2)


def _line(row: dict[str, Any], nonzero: Sequence[str]) -> tuple[str, ...]:
    return (
        str(row["worker"]),
        row["mode"],
        str(row["step"]),
        *(format_duration(row[name]) for name in ("seconds", *nonzero)),
        str(row["micro_steps"]),
        *("yes" if row[name] else "" for name in ("skipped", "profiled")),
    )


@dataclass(frozen=True)
class PhaseRow:
    """Statistics of a phase over all steps."""

    phase: str
    percent: float
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float

    @classmethod
    def of(cls, phase: str, seconds: FloatArray, step_seconds: FloatArray) -> "PhaseRow":
        """Compute the statistics from the durations of a phase in each step."""
        finite = seconds[~np.isnan(seconds)]
        percent = time_percent(finite, step_seconds) if len(finite) else float("nan")
        durations = durations_of(finite)
        return cls(phase, percent, *(getattr(durations, name) for name in _TIMES))


@dataclass(frozen=True)
class PhaseStatistics(Frame):
    """Durations by phase; the row `seconds` is the complete step."""

    rows: tuple[PhaseRow, ...]

    def to_arrow(self) -> pa.Table:
        """One row per phase; all columns except `percent` are in seconds."""
        return pa.table(
            {
                "phase": from_texts([row.phase for row in self.rows]),
                **{
                    name: from_numpy(np.array([getattr(row, name) for row in self.rows]))
                    for name in _NUMBERS
                },
            }
        )

    def __repr__(self) -> str:
        shown = [row for row in self.rows if row.maximum > 0 or row.phase == "seconds"]
        lines = [
            (
                row.phase,
                format_percent(row.percent, 1),
                *(format_duration(getattr(row, name)) for name in _TIMES),
            )
            for row in shown
        ]
        return aligned([("phase", *_NUMBERS), *lines], left_columns=1)

    _units = dict.fromkeys(_TIMES, "seconds")

    def _shown(self) -> pa.Table:
        """Only phases that took time."""
        rows = tuple(row for row in self.rows if row.maximum > 0 or row.phase == "seconds")
        return PhaseStatistics(rows).to_arrow()

    def _chart_spec(self) -> Spec:
        shown = PhaseStatistics(tuple(row for row in self.rows if row.maximum > 0))
        values = ("mean", "p95", "maximum")
        return bars(shown.to_arrow(), "Time by phase", "phase", values, "seconds")
