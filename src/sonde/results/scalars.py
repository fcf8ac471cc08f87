"""Scalars of a job by worker and over all workers, as data frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sonde.read.name_patterns import Expression, expression_of
from sonde.read.scalars import Matching, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.results.charts import step_lines
from sonde.results.names import no_match_text
from sonde.results.tables import TIME, Frame, aligned
from sonde.store.tables import from_numpy, texts_of, to_numpy

if TYPE_CHECKING:
    from sonde.records.arrays import IntArray

_MAX_LINES = 40


@dataclass(frozen=True)
class Scalars(Frame):
    """Scalars of workers; read on first use."""

    readers: tuple[WorkerReader, ...]
    question: ScalarQuestion

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the matching scalars."""
        texts, numbers = texts_of(self._rows["name"])
        return tuple(sorted(texts[number] for number in set(numbers.tolist())))

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def to_arrow(self) -> pa.Table:
        """One row per worker and value, in the order each worker recorded them."""
        return _for_people(
            self._rows, ("name", "worker", "mode", "step", "time", "value", "source")
        )

    def reduced(self) -> "ReducedScalars":
        """The mean over the workers per step: for a distributed loss, that of the global batch.

        Steps that only some of the workers recorded have fewer `workers`.
        """
        return ReducedScalars(reduce_scalars(self._rows))

    @property
    def _rows(self) -> pa.Table:
        return self._selected[0]

    @cached_property
    def _selected(self) -> tuple[pa.Table, Expression | None]:
        """The rows, and the expression if the pattern was read as one."""
        rows, names = read_scalars(self.readers, self.question), self.question.names
        if rows.num_rows or not isinstance(names, Matching) or len(names.patterns) != 1:
            return rows, None
        expression = expression_of(names.patterns[0])
        if expression is None:
            return rows, None
        matches = read_scalars(self.readers, replace(self.question, names=expression))
        return matches, expression if matches.num_rows else None

    def __repr__(self) -> str:
        if not len(self) and isinstance(self.question.names, Matching):
            names = Scalars(self.readers, ScalarQuestion(Matching("*"))).names
            return no_match_text("scalar", self.question.names.patterns[0], names)
        text = described(self._rows, ("name", "mode", "source", "worker"))
        return f"{text}\n{self._selected[1].note}" if self._selected[1] else text

    def _chart_spec(self) -> Spec:
        by = ("name", "mode", "source", "worker")
        return step_lines(self.to_arrow(), ", ".join(self.names), "value", by)


@dataclass(frozen=True)
class ReducedScalars(Frame):
    """Scalars over all workers: one row per scalar and step, in order of steps."""

    rows: pa.Table

    def to_arrow(self) -> pa.Table:
        """Mean, minimum, maximum and number of workers, per scalar and step."""
        columns = ("name", "mode", "step", "time", "value", "minimum", "maximum", "workers")
        return _for_people(self.rows, (*columns, "source"))

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Steps and values; meaningful for a single scalar."""
        steps, values = to_numpy(self.rows["step"]), to_numpy(self.rows["value"])
        return zip(steps.tolist(), values.tolist(), strict=True)

    def __repr__(self) -> str:
        return described(self.rows, ("name", "mode", "source"))

    def _chart_spec(self) -> Spec:
        table = self.to_arrow()
        names = sorted(set(table["name"].to_pylist()))
        return step_lines(table, ", ".join(names), "value", ("name", "mode", "source"))


def _for_people(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    table = rows.append_column("time", rows["time_ns"].cast(TIME)).select(list(columns))
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pa.string()))
    return table


def described(rows: pa.Table, keys: Sequence[str]) -> str:
    """A line per series: number of values, first, last, minimum and maximum."""
    if not rows.num_rows:
        return "No matching scalar recorded"
    titles = (*keys, "values", "steps", "first", "last", "minimum", "maximum")
    lines = [_line(series, keys) for series in _series(rows, keys)]
    shown = aligned([titles, *lines[:_MAX_LINES]], left_columns=len(keys))
    more = len(lines) - _MAX_LINES
    return shown if more <= 0 else f"{shown}\n… and {more} more"


def _series(rows: pa.Table, keys: Sequence[str]) -> Iterator[pa.Table]:
    groups: list[IntArray] = [
        to_numpy(rows[key]) if key == "worker" else texts_of(rows[key])[1].astype(np.int64)
        for key in keys
    ]
    order = np.lexsort([to_numpy(rows["time_ns"]), *reversed(groups)])
    changes = [group[order][1:] != group[order][:-1] for group in groups]
    for indices in np.split(order, np.flatnonzero(np.logical_or.reduce(changes)) + 1):
        yield rows.take(from_numpy(indices))


def _line(rows: pa.Table, keys: Sequence[str]) -> tuple[str, ...]:
    values, steps = to_numpy(rows["value"]), to_numpy(rows["step"])
    finite = values[~np.isnan(values)]
    extremes = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    return (
        *(str(rows[key][0].as_py()) for key in keys),
        str(rows.num_rows),
        f"{steps.min()}–{steps.max()}",
        *(f"{number:.5g}" for number in (values[0], values[-1], *extremes)),
    )
