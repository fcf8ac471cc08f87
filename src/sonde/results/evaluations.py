"""Evaluations of a job as a table: one row per result, and a curve per series."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.read.evaluations import by_name
from sonde.records.chart import Spec
from sonde.records.evaluation import Evaluation
from sonde.results.charts import step_lines
from sonde.results.tables import TIME, Frame, aligned

_MAX_LINES = 40


@dataclass(frozen=True)
class Evaluations(Frame):
    """The evaluations of a job, in order."""

    results: tuple[Evaluation, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the series."""
        return tuple(by_name(self.results))

    def __getitem__(self, name: str) -> "Evaluations":
        """One series."""
        return Evaluations(tuple(one for one in self.results if one.name == name))

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def to_arrow(self) -> pa.Table:
        """One row per evaluation; a column per metric that a framework reported."""
        rows = self.results
        columns = {
            "name": pa.array([one.name for one in rows], pa.string()),
            "data": pa.array([one.data for one in rows], pa.string()),
            "step": pa.array([one.step for one in rows], pa.int64()),
            "time": pa.array([one.time_ns for one in rows], pa.int64()).cast(TIME),
            "samples": pa.array([one.samples for one in rows], pa.int64()),
            "batches": pa.array([one.batches for one in rows], pa.int64()),
            "loss": pa.array([one.loss for one in rows], pa.float64()),
        }
        for metric in sorted({name for one in rows for name in one.metrics}):
            columns.setdefault(metric, pa.array([one.metrics.get(metric) for one in rows]))
        return pa.table(columns)

    def __repr__(self) -> str:
        if not len(self):
            return "No evaluations recorded"
        titles = ("name", "step", "samples", "loss", "data")
        lines = [
            (one.name, str(one.step), str(one.samples), _loss(one), one.data)
            for one in self.results[-_MAX_LINES:]
        ]
        earlier = len(self) - _MAX_LINES
        shown = aligned([titles, *lines], left=1)
        return shown if earlier <= 0 else f"{shown}\n(and {earlier} earlier)"

    def _picture(self) -> Spec:
        table = self.to_arrow()
        losses = table["loss"].fill_null(np.nan)
        table = table.set_column(table.schema.get_field_index("loss"), "loss", losses)
        return step_lines(table, "Evaluations", "loss", ("name",))


def _loss(one: Evaluation) -> str:
    return "none" if one.loss is None else f"{one.loss:.5g}"


def latest_evaluations(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last evaluation of each series."""
    return list({one["name"]: one for one in results}.values())
