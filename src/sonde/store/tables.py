"""Arrow tables of all record families."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sonde.errors import DamagedError
from sonde.records.metric import Series
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.store.decode import Column, Text
from sonde.store.format import INTEGER, REAL, SINGLE, TEXT, Family
from sonde.store.limits import MAX_TEXT_BYTES
from sonde.store.manifest import Extent
from sonde.store.rollups import Floats, Instants, Rollup

_TEXT_TYPE = pa.dictionary(pa.int32(), pa.string())
_TYPES = {INTEGER: pa.int64(), REAL: pa.float64(), SINGLE: pa.float32(), TEXT: _TEXT_TYPE}

_DTYPES: dict[pa.DataType, np.dtype[Any]] = {
    pa.int32(): np.dtype(np.int32),
    pa.int64(): np.dtype(np.int64),
    pa.float32(): np.dtype(np.float32),
    pa.float64(): np.dtype(np.float64),
}

ROLLUP_COLUMNS = ("minimum", "mean", "maximum", "count")
ROLLUP_TYPES = {
    "start_ns": pa.int64(),
    **dict.fromkeys(("minimum", "mean", "maximum"), pa.float32()),
    "count": pa.int64(),
}


@dataclass(frozen=True)
class RowQuery:
    """A query for rows and columns of a family; only these are decoded."""

    within: TimeRange = EVER
    steps: StepRange = ANY_STEP
    columns: tuple[str, ...] | None = None  # None: all
    only: Mapping[str, Container[str]] = field(default_factory=dict)  # allowed texts by column

    def columns_to_read(self, family: Family) -> tuple[str, ...] | None:
        """The requested columns, and the columns needed for filtering."""
        if self.columns is None:
            return None
        needed = {*self.columns, *self.only}
        if self.within != EVER:
            needed.add(family.time_column)
        if self.steps != ANY_STEP and family.step_column is not None:
            needed.add(family.step_column)
        return tuple(name for name, _ in family.columns if name in needed)


ALL_ROWS = RowQuery()


def schema_of(family: Family) -> pa.Schema:
    """The schema of a family of rows."""
    return pa.schema([(name, _TYPES[code]) for name, code in family.columns])


def column_types(family: Family, series: Sequence[Series]) -> dict[str, pa.DataType]:
    """The types of a sealed segment's columns."""
    if family.is_matrix:
        return {"time_ns": pa.int64(), **{each.key: pa.float32() for each in series}}
    return {name: _TYPES[code] for name, code in family.columns}


def empty_table(family: Family) -> pa.Table:
    """A table without rows."""
    return pa.Table.from_batches([], schema_of(family))


def rows_table(family: Family, columns: dict[str, Column]) -> pa.Table:
    """A decoded batch of rows."""
    return pa.table([_arrow(columns[name]) for name, _ in family.columns], schema=schema_of(family))


def check_texts(table: pa.Table, key: str) -> pa.Table:
    """Return the table, after checking that its expanded texts fit in memory."""
    for column in table.columns:
        if not pa.types.is_dictionary(column.type):
            continue
        longest = sum(
            (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0) * len(chunk)
            for chunk in column.chunks
        )
        if longest > MAX_TEXT_BYTES and _text_bytes(column) > MAX_TEXT_BYTES:
            raise DamagedError(f"{key} is damaged: its strings are too long")
    return table


def _text_bytes(column: pa.ChunkedArray) -> int:
    return sum(
        int(_lengths(chunk.dictionary)[view_of(chunk.indices)].sum()) for chunk in column.chunks
    )


def _lengths(texts: pa.Array) -> npt.NDArray[np.int64]:
    return view_of(pc.binary_length(texts)).astype(np.int64)


def rows_in(family: Family, table: pa.Table, query: RowQuery) -> pa.Table:
    """The rows and columns of a table that match a query."""
    inside = np.ones(table.num_rows, dtype=np.bool_)
    if query.within != EVER:
        times = to_numpy(table[family.time_column])
        inside &= inside_of(times, query.within.start_ns, query.within.end_ns)
    if query.steps != ANY_STEP and family.step_column is not None:
        steps = to_numpy(table[family.step_column])
        inside &= inside_of(steps, query.steps.start, query.steps.end)
    for name, texts in query.only.items():
        inside &= _is_one_of(table[name], texts)
    if query.columns is not None:
        table = table.select(query.columns)
    indices = np.flatnonzero(inside)
    if len(indices) and int(indices[-1] - indices[0]) == len(indices) - 1:  # the common case
        return table.slice(int(indices[0]), len(indices))
    return table.take(from_numpy(indices))


def _is_one_of(column: pa.ChunkedArray, texts: Container[str]) -> npt.NDArray[np.bool_]:
    """Which rows hold one of the texts; compares each distinct text once."""
    masks = [np.empty(0, dtype=np.bool_)]
    for chunk in column.chunks:
        is_match = np.array([text in texts for text in chunk.dictionary.to_pylist()], np.bool_)
        masks.append(is_match[view_of(chunk.indices)])
    return np.concatenate(masks)


def texts_of(column: pa.ChunkedArray) -> tuple[list[str], npt.NDArray[np.int32]]:
    """The distinct texts of a column, and the index of each row's text."""
    chunks = column.chunks if column.num_chunks == 1 else column.unify_dictionaries().chunks
    if not chunks:
        return [], np.empty(0, dtype=np.int32)
    return chunks[0].dictionary.to_pylist(), np.concatenate([view_of(c.indices) for c in chunks])


def inside_of(values: Instants, start: int | None, end: int | None) -> npt.NDArray[np.bool_]:
    """Which values are in a half-open range; None means unbounded."""
    inside = np.ones(len(values), dtype=np.bool_)
    if start is not None:
        inside &= values >= start
    if end is not None:
        inside &= values < end
    return inside


def samples_table(series: Sequence[Series], times_ns: Instants, values: Floats) -> pa.Table:
    """System samples: one column per series."""
    rows = {each.key: from_numpy(row) for each, row in zip(series, values, strict=True)}
    return pa.table({"time_ns": from_numpy(times_ns), **rows})


def rollup_table(series: Sequence[Series], rollup: Rollup) -> pa.Table:
    """A roll-up as rows, series by series, readable with any Parquet reader."""
    buckets = len(rollup.starts_ns)
    numbers = np.repeat(np.arange(len(series), dtype=np.int32), buckets)
    names = from_texts([each.key for each in series])
    return pa.table(
        {
            "series": pa.DictionaryArray.from_arrays(from_numpy(numbers), names),
            "width_ns": from_numpy(np.full(len(numbers), rollup.width_ns, dtype=np.int64)),
            "start_ns": from_numpy(np.tile(rollup.starts_ns, len(series))),
            **{name: from_numpy(getattr(rollup, name).reshape(-1)) for name in ROLLUP_COLUMNS},
        }
    )


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Convert numbers without a copy; `pa.array` would import pandas, which takes half a second."""
    values = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def to_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Convert a column to an array, with nulls as NaN, without importing pandas."""
    dtype = _DTYPES[column.type]
    chunks = [view_of(chunk) for chunk in column.chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0, dtype), *chunks])


def view_of(chunk: pa.Array) -> npt.NDArray[Any]:
    """Convert a chunk of numbers to an array; it is only copied if it has nulls."""
    dtype = _DTYPES[chunk.type]
    if chunk.null_count:
        chunk = chunk.fill_null(pa.scalar(float("nan"), chunk.type))
    if not len(chunk):
        return np.empty(0, dtype)
    return np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize)


def from_texts(texts: Sequence[str]) -> pa.Array:
    """Convert texts without importing pandas."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    )


def repeated(text: str, times: int) -> pa.Array:
    """A column with one repeated text."""
    encoded = text.encode()
    ends = np.arange(times + 1, dtype=np.int32) * np.int32(len(encoded))
    return pa.StringArray.from_buffers(times, pa.py_buffer(ends), pa.py_buffer(encoded * times))


def rollup_of(table: pa.Table, width_ns: int, series: int) -> Rollup:
    """The roll-up stored in the rows of a table."""
    buckets = table.num_rows // series
    minimum, mean, maximum, count = (
        to_numpy(table[name]).reshape(series, buckets) for name in ROLLUP_COLUMNS
    )
    starts_ns = to_numpy(table["start_ns"].slice(0, buckets))
    return Rollup(width_ns, starts_ns, minimum, mean, maximum, count)


def extent_of(family: Family, table: pa.Table) -> Extent:
    """Rows, time range and step range of a non-empty table."""
    times = to_numpy(table[family.time_column])
    steps = to_numpy(table[family.step_column]) if family.step_column else None
    return Extent(
        table.num_rows,
        int(times.min()),
        int(times.max()),
        None if steps is None else int(steps.min()),
        None if steps is None else int(steps.max()),
    )


def _arrow(column: Column) -> pa.Array:
    if isinstance(column, Text):
        numbers = from_numpy(column.numbers.astype(np.int32))
        return pa.DictionaryArray.from_arrays(numbers, from_texts(column.distinct))
    return from_numpy(column)
