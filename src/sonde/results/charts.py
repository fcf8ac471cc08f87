"""Charts of Arrow tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.analyze.curves import bucket_values
from sonde.records.arrays import FloatArray
from sonde.records.chart import Bars, BarSeries, Cell, Column, Curve, LineChart, StackedBars, Table
from sonde.store.tables import to_numpy

_MAX_CURVES = 12
_MAX_POINTS = 400
_MAX_BARS = 20
_MAX_ROWS = 50
_MAX_NAME_LENGTH = 60


def step_lines(
    table: pa.Table, title: str, value: str, by: Sequence[str], unit: str = ""
) -> LineChart:
    """A curve over steps per group of rows; many steps become means with their range.

    Args:
        table: With a column `step`.
        title: Of the chart.
        value: The column to draw.
        by: Columns that distinguish the curves; those with a single value are not in labels.
        unit: Of the values.
    """
    keys = [column for column in by if len(table[column].unique()) > 1]
    rows = table.select(keys).to_pylist() if keys else [{}] * table.num_rows
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(tuple(row[key] for key in keys), []).append(index)
    steps, values = to_numpy(table["step"]), to_numpy(table[value]).astype(np.float64)
    shown = list(groups.items())[:_MAX_CURVES]
    series = {
        _label(keys, group) or title: (steps[indices], values[indices]) for group, indices in shown
    }
    return lines(series, title, unit, coarsened=_truncation_note(len(shown), len(groups), "curves"))


def lines(
    series: Mapping[str, tuple[npt.NDArray[Any], FloatArray]],
    title: str,
    unit: str = "",
    *,
    x_title: str = "Step",
    x_unit: str = "",
    coarsened: str = "",
) -> LineChart:
    """Curves over one axis: all points, or buckets if there are many."""
    all_x = np.unique(np.concatenate([np.empty(0), *(x for x, _ in series.values())]))
    if len(all_x) <= _MAX_POINTS:
        curves = [
            Curve(label=name, values=_at(all_x, x, values)) for name, (x, values) in series.items()
        ]
        axis = all_x
    else:
        edges = np.linspace(all_x[0], np.nextafter(all_x[-1], np.inf), _MAX_POINTS + 1)
        axis = (edges[:-1] + edges[1:]) / 2
        curves = [_band(name, *each, edges) for name, each in series.items()]
    return LineChart(
        title=title,
        x=tuple(axis.tolist()),
        x_title=x_title,
        x_unit=x_unit,
        unit=unit,
        curves=tuple(curves),
        coarsened=coarsened,
    )


def bars(
    table: pa.Table, title: str, label: str | Sequence[str], values: Sequence[str], unit: str = ""
) -> Bars:
    """A bar per row and column, for the first rows."""
    labels, toned, coarsened = _bars(table, label, values)
    groups = tuple(
        replace(each, tone="") for each in toned
    )  # colors by position, which are all different
    return Bars(title=title, labels=labels, parts=groups, unit=unit, coarsened=coarsened)


def stacked_bars(
    table: pa.Table, title: str, label: str | Sequence[str], values: Sequence[str], unit: str = ""
) -> StackedBars:
    """A bar per row, made of columns that add up."""
    labels, layers, coarsened = _bars(table, label, values)
    return StackedBars(title=title, labels=labels, parts=layers, unit=unit, coarsened=coarsened)


def rows_of(
    table: pa.Table, title: str, max_rows: int = _MAX_ROWS, units: Mapping[str, str] | None = None
) -> Table:
    """The first rows as a table.

    Args:
        table: With the rows.
        title: Of the table.
        max_rows: Number of rows to show.
        units: Units of columns whose names do not end with it; `row`: see column `unit`.
    """
    shown = table.slice(0, max_rows)
    columns = tuple(
        Column(
            name=field.name,
            title=field.name.replace("_", " "),
            unit=(units or {}).get(field.name) or _unit_of(field),
            is_number=_is_number(field.type),
        )
        for field in table.schema
    )
    texts = [_cells(shown[field.name], field.type) for field in table.schema]
    rows: tuple[tuple[Cell, ...], ...] = tuple(zip(*texts, strict=True))
    return Table(title=title, columns=columns, rows=rows, total=table.num_rows)


def _bars(
    table: pa.Table, label: str | Sequence[str], values: Sequence[str]
) -> tuple[tuple[str, ...], tuple[BarSeries, ...], str]:
    shown = table.slice(0, _MAX_BARS)
    names = [label] if isinstance(label, str) else _distinguishing(shown, label)
    labels = tuple(
        ", ".join(filter(None, (_label_of(name, row[name]) for name in names))) or "(none)"
        for row in shown.select(names).to_pylist()
    )
    groups = tuple(
        BarSeries(label=_column_label(name), values=tuple(shown[name].to_pylist()), tone=name)
        for name in values
    )
    return labels, groups, _truncation_note(shown.num_rows, table.num_rows, "rows")


def _distinguishing(table: pa.Table, columns: Sequence[str]) -> list[str]:
    """The columns that distinguish rows; the last one if none does."""
    return [column for column in columns if len(table[column].unique()) > 1] or [columns[-1]]


def _label_of(column: str, value: object) -> str:
    text = str(value)
    return f"{column} {text}" if isinstance(value, int) else _short(text)


def _at(axis: FloatArray, x: npt.NDArray[Any], values: FloatArray) -> tuple[float, ...]:
    aligned = np.full(len(axis), np.nan)
    aligned[np.searchsorted(axis, x)] = values
    return tuple(aligned.tolist())


def _band(label: str, x: npt.NDArray[Any], values: FloatArray, edges: FloatArray) -> Curve:
    buckets = bucket_values(x, values, edges)
    return Curve(
        label=label,
        values=tuple(buckets.mean.tolist()),
        low=tuple(buckets.low.tolist()),
        high=tuple(buckets.high.tolist()),
    )


def _label(keys: Sequence[str], group: Sequence[Any]) -> str:
    texts = [
        f"{key} {answer}" if isinstance(answer, int | None) else str(answer)
        for key, answer in zip(keys, group, strict=True)
    ]
    return ", ".join(texts)


def _truncation_note(shown: int, count: int, noun: str) -> str:
    return f"Only the first {shown:,} of {count:,} {noun} are shown." if shown < count else ""


def _column_label(column: str) -> str:
    return column.removesuffix("_seconds").removesuffix("_percent").replace("_", " ")


def _short(text: str) -> str:
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[: _MAX_NAME_LENGTH - 1]}…"


def _cells(column: pa.ChunkedArray, kind: pa.DataType) -> list[Cell]:
    if pa.types.is_timestamp(kind):
        texts = column.cast(pa.string()).to_pylist()
        return [None if text is None else text[:23].replace(" ", "T") + "Z" for text in texts]
    return [
        each if isinstance(each, str | float | int | None) else str(each)
        for each in column.to_pylist()
    ]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _unit_of(field: pa.Field) -> str:
    if pa.types.is_timestamp(field.type):
        return "time"
    return unit_of(field.name)


def unit_of(column: str) -> str:
    """The unit at the end of the name of a column; empty without a unit."""
    ending = column.rpartition("_")[2]
    return ending if ending in ("seconds", "percent", "bytes") else ""
