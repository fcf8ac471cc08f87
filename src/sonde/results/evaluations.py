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
        return Evaluations(tuple(result for result in self.results if result.name == name))

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def to_arrow(self) -> pa.Table:
        """One row per evaluation; a column per metric that a framework reported."""
        rows = self.results
        columns = {
            "name": pa.array([row.name for row in rows], pa.string()),
            "data": pa.array([row.data for row in rows], pa.string()),
            "step": pa.array([row.step for row in rows], pa.int64()),
            "time": pa.array([row.time_ns for row in rows], pa.int64()).cast(TIME),
            "samples": pa.array([row.samples for row in rows], pa.int64()),
            "batches": pa.array([row.batches for row in rows], pa.int64()),
            "loss": pa.array([row.loss for row in rows], pa.float64()),
        }
        for metric in sorted({name for row in rows for name in row.metrics}):
            columns.setdefault(metric, pa.array([row.metrics.get(metric) for row in rows]))
        return pa.table(columns)

    def __repr__(self) -> str:
        if not len(self):
            return "No evaluations recorded"
        titles = ("name", "step", "samples", "loss", "data")
        lines = [
            (result.name, str(result.step), str(result.samples), _loss(result), result.data)
            for result in self.results[-_MAX_LINES:]
        ]
        earlier = len(self) - _MAX_LINES
        shown = aligned([titles, *lines], left_columns=1)
        return shown if earlier <= 0 else f"{shown}\n(and {earlier} earlier)"

    def _chart_spec(self) -> Spec:
        table = self.to_arrow()
        losses = table["loss"].fill_null(np.nan)
        table = table.set_column(table.schema.get_field_index("loss"), "loss", losses)
        return step_lines(table, "Evaluations", "loss", ("name",))


def _loss(evaluation: Evaluation) -> str:
    return "none" if evaluation.loss is None else f"{evaluation.loss:.5g}"


def latest_evaluations(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last evaluation of each series."""
    return list({result["name"]: result for result in results}.values())
