"""Events of a job and its stages, as data frames."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS, iso
from sonde.errors import UsageError
from sonde.formats import format_duration, format_percent
from sonde.read.name_patterns import Expression, expression_of
from sonde.read.scalars import Matching
from sonde.read.stages import StageSpan
from sonde.read.workers import WorkerReader
from sonde.records.chart import BarSeries, Spec, StackedBars
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import Stage
from sonde.results.charts import step_lines
from sonde.results.distributions import Distribution, distribution_of
from sonde.results.names import no_match_text
from sonde.results.tables import TIME, Frame, aligned
from sonde.results.worker_rows import WorkerRows
from sonde.store.format import EVENTS
from sonde.store.tables import from_numpy, from_texts, to_numpy

_MAX_LINES = 40


@dataclass(frozen=True)
class Events(WorkerRows):
    """Events of workers: name, worker, step, time and duration."""

    name: str = "*"
    category: str | None = None
    within: TimeRange = EVER
    steps: StepRange = ANY_STEP

    @cached_property
    def _table(self) -> pa.Table:
        return self._selected[0]

    @cached_property
    def _selected(self) -> tuple[pa.Table, Expression | None]:
        """The rows, and the expression if the pattern was read as one."""
        rows = self._rows_of(Matching(self.name))
        expression = None if rows.num_rows else expression_of(self.name)
        if expression is None:
            return rows, None
        matches = self._rows_of(expression)
        return matches, expression if matches.num_rows else None

    def _rows_of(self, names: Container[str]) -> pa.Table:
        tables = [self._worker_rows(reader, names) for reader in self.readers]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _worker_table(self, reader: WorkerReader) -> pa.Table:
        return self._worker_rows(reader, self._selected[1] or Matching(self.name))

    def _worker_rows(self, reader: WorkerReader, names: Container[str]) -> pa.Table:
        only = {"name": names, "category": Matching(self.category or "*")}
        rows = reader.folder(EVENTS).rows(self.within, self.steps, only=only)
        texts = {
            name: rows[name].cast(pa.string())
            for name in ("name", "category", "lane", "mode", "detail")
        }
        return pa.table(
            {
                "name": texts["name"],
                "category": texts["category"],
                "worker": from_numpy(np.full(rows.num_rows, reader.rank, dtype=np.int64)),
                "lane": texts["lane"],
                "mode": texts["mode"],
                "step": rows["step"],
                "time": rows["start_ns"].cast(TIME),
                "seconds": from_numpy(to_numpy(rows["duration_ns"]) / NANOSECONDS),
                "detail": texts["detail"],
            }
        )

    def histogram(self, bins: int | Sequence[float] = 40) -> Distribution:
        """Distribution of the durations of events, by name.

        Args:
            bins: Number of bins of equal width, or their edges in seconds.
        """
        names = np.array(self._table["name"].to_pylist() if len(self) else [], dtype=np.object_)
        groups = {
            str(name): to_numpy(self._table["seconds"])[names == name]
            for name in dict.fromkeys(names.tolist())
        }
        return distribution_of(groups, bins, f"Durations of {self.name}", "seconds", "events")

    def __repr__(self) -> str:
        if not len(self):
            recorded = Events(self.readers).to_arrow()
            pattern, column = (
                (self.category, "category") if self.name == "*" else (self.name, "name")
            )
            names = recorded[column].unique().to_pylist() if recorded.num_rows else ()
            return no_match_text("event", pattern or "*", names)
        kinds = self._table.select(["category", "name"])
        seconds = to_numpy(self._table["seconds"])
        lines: dict[tuple[str, str], list[float]] = {}
        for kind, each in zip(kinds.to_pylist(), seconds.tolist(), strict=True):
            lines.setdefault((kind["category"], kind["name"]), []).append(each)
        rows = [
            (
                *kind,
                str(len(durations)),
                *map(format_duration, (sum(durations), float(np.mean(durations)), max(durations))),
            )
            for kind, durations in sorted(lines.items())
        ]
        titles = ("category", "name", "events", "total", "mean", "maximum")
        more = f"\n… and {len(rows) - _MAX_LINES} more" if len(rows) > _MAX_LINES else ""
        note = f"\n{self._selected[1].note}" if self._selected[1] else ""
        return aligned([titles, *rows[:_MAX_LINES]], left_columns=2) + more + note

    def _chart_spec(self) -> Spec:
        """Durations of events over steps."""
        return step_lines(self._table, "Events", "seconds", ("name", "worker"), "seconds")


def _instants(instants_ns: Sequence[int | None]) -> pa.ChunkedArray:
    columns = [
        pa.nulls(1, TIME) if instants_n is None else from_numpy(np.array([instants_n])).cast(TIME)
        for instants_n in instants_ns
    ]
    return pa.chunked_array(columns, TIME)


@dataclass(frozen=True)
class Stages(Frame):
    """The stages of a job; empty without training."""

    spans: tuple[StageSpan, ...]

    def __getitem__(self, stage: str) -> StageSpan:
        """One of `initialization`, `training_loop`, `finalization`."""
        spans = {span.stage.value: span for span in self.spans}
        if stage not in spans:
            names = ", ".join(Stage) if spans else "none (no training recorded)"
            raise UsageError(f"Unknown stage {stage!r}. Available: {names}")
        return spans[stage]

    def to_arrow(self) -> pa.Table:
        """One row per stage."""
        return pa.table(
            {
                "stage": from_texts([span.stage.value for span in self.spans]),
                "seconds": from_numpy(np.array([span.seconds for span in self.spans])),
                "percent": from_numpy(np.array([span.percent for span in self.spans])),
                "start": _instants([span.start_ns for span in self.spans]),
                "end": _instants([span.end_ns for span in self.spans]),
            }
        )

    def __repr__(self) -> str:
        if not self.spans:
            return "No training recorded"
        rows = [
            (
                span.stage.value,
                format_duration(span.seconds),
                format_percent(span.percent, 1),
                "" if span.start_ns is None else iso(span.start_ns),
                "" if span.end_ns is None else iso(span.end_ns),
            )
            for span in self.spans
        ]
        return aligned([("stage", "duration", "share", "start", "end"), *rows], left_columns=1)

    def _chart_spec(self) -> Spec:
        stages = tuple(
            BarSeries(label=span.stage.value, values=(span.seconds,), tone=span.stage.value)
            for span in self.spans
        )
        return StackedBars(
            title="Stages", labels=("job",) if self.spans else (), parts=stages, unit="seconds"
        )
