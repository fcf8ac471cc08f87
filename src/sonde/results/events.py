"""Events of a job and its stages, as data frames."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.clock import NANOSECONDS, iso
from sonde.errors import UsageError
from sonde.formats import format_duration, format_percent
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

_MOST_LINES = 40


@dataclass(frozen=True)
class Events(WorkerRows):
    """Events of workers: name, worker, step, time and duration."""

    name: str = "*"
    category: str | None = None
    within: TimeRange = EVER
    steps: StepRange = ANY_STEP

    def _part(self, reader: WorkerReader) -> pa.Table:
        categories = Matching(self.category or "*")
        only = {"name": Matching(self.name), "category": categories}
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
            everything = Events(self.readers).to_arrow()
            asked, column = (self.category, "category") if self.name == "*" else (self.name, "name")
            known = everything[column].unique().to_pylist() if everything.num_rows else ()
            return no_match_text("event", asked or "*", known)
        kinds = self._table.select(["category", "name"])
        seconds = to_numpy(self._table["seconds"])
        lines: dict[tuple[str, str], list[float]] = {}
        for kind, one in zip(kinds.to_pylist(), seconds.tolist(), strict=True):
            lines.setdefault((kind["category"], kind["name"]), []).append(one)
        rows = [
            (
                *kind,
                str(len(all_)),
                *map(format_duration, (sum(all_), float(np.mean(all_)), max(all_))),
            )
            for kind, all_ in sorted(lines.items())
        ]
        titles = ("category", "name", "events", "total", "mean", "maximum")
        more = f"\n… and {len(rows) - _MOST_LINES} more" if len(rows) > _MOST_LINES else ""
        return aligned([titles, *rows[:_MOST_LINES]], left=2) + more

    def _picture(self) -> Spec:
        """Durations of events over steps."""
        return step_lines(self._table, "Events", "seconds", ("name", "worker"), "seconds")


def _instants(instants_ns: Sequence[int | None]) -> pa.ChunkedArray:
    parts = [
        pa.nulls(1, TIME) if one is None else from_numpy(np.array([one])).cast(TIME)
        for one in instants_ns
    ]
    return pa.chunked_array(parts, TIME)


@dataclass(frozen=True)
class Stages(Frame):
    """The stages of a job; empty without training."""

    spans: tuple[StageSpan, ...]

    def __getitem__(self, stage: str) -> StageSpan:
        """One of `initialization`, `training_loop`, `finalization`."""
        found = {one.stage.value: one for one in self.spans}
        if stage not in found:
            known = ", ".join(Stage) if found else "none (no training recorded)"
            raise UsageError(f"Unknown stage {stage!r}. Known: {known}")
        return found[stage]

    def to_arrow(self) -> pa.Table:
        """One row per stage."""
        return pa.table(
            {
                "stage": from_texts([one.stage.value for one in self.spans]),
                "seconds": from_numpy(np.array([one.seconds for one in self.spans])),
                "percent": from_numpy(np.array([one.percent for one in self.spans])),
                "start": _instants([one.start_ns for one in self.spans]),
                "end": _instants([one.end_ns for one in self.spans]),
            }
        )

    def __repr__(self) -> str:
        if not self.spans:
            return "No training recorded"
        rows = [
            (
                one.stage.value,
                format_duration(one.seconds),
                format_percent(one.percent, 1),
                "" if one.start_ns is None else iso(one.start_ns),
                "" if one.end_ns is None else iso(one.end_ns),
            )
            for one in self.spans
        ]
        return aligned([("stage", "duration", "share", "start", "end"), *rows], left=1)

    def _picture(self) -> Spec:
        parts = tuple(
            BarSeries(label=one.stage.value, values=(one.seconds,), tone=one.stage.value)
            for one in self.spans
        )
        return StackedBars(
            title="Stages", labels=("job",) if self.spans else (), parts=parts, unit="seconds"
        )
