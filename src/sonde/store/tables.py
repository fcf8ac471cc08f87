"""Arrow tables of the families, and the batches of live segments as such tables."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.records.metric import Series
from sonde.store.decode import Column, Text
from sonde.store.format import INTEGER, REAL, SINGLE, TEXT, Family
from sonde.store.manifest import Extent
from sonde.store.rollups import Rollup

_TEXT_TYPE = pa.dictionary(pa.int32(), pa.string())
_TYPES = {INTEGER: pa.int64(), REAL: pa.float64(), SINGLE: pa.float32(), TEXT: _TEXT_TYPE}

ROLLUP_COLUMNS = ("minimum", "mean", "maximum", "count")


def schema_of(family: Family) -> pa.Schema:
    """The schema of a family of rows."""
    return pa.schema([(name, _TYPES[code]) for name, code in family.columns])


def rows_table(family: Family, columns: dict[str, Column]) -> pa.Table:
    """A decoded batch of rows."""
    schema = schema_of(family)
    return pa.table(
        [
            _arrow(columns[name], kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ],
        schema=schema,
    )


def samples_table(
    series: Sequence[Series], times_ns: npt.NDArray[np.int64], values: npt.NDArray[np.float32]
) -> pa.Table:
    """System samples: one column per series."""
    columns = {"time_ns": pa.array(times_ns)}
    columns |= {
        one.key: pa.array(row)
        for one, row in zip(series, np.ascontiguousarray(values), strict=True)
    }
    return pa.table(columns)


def rollup_table(series: Sequence[Series], rollup: Rollup) -> pa.Table:
    """A roll-up as rows, series by series: a dense matrix that any Parquet reader understands."""
    buckets = len(rollup.starts_ns)
    numbers = np.repeat(np.arange(len(series), dtype=np.int32), buckets)
    names = pa.array([one.key for one in series], pa.string())
    return pa.table(
        {
            "series": pa.DictionaryArray.from_arrays(pa.array(numbers), names),
            "width_ns": pa.array(np.full(len(numbers), rollup.width_ns, dtype=np.int64)),
            "start_ns": pa.array(np.tile(rollup.starts_ns, len(series))),
            "minimum": pa.array(rollup.minimum.reshape(-1)),
            "mean": pa.array(rollup.mean.reshape(-1)),
            "maximum": pa.array(rollup.maximum.reshape(-1)),
            "count": pa.array(rollup.count.reshape(-1)),
        }
    )


def rollup_of(table: pa.Table, width_ns: int, series: int) -> Rollup:
    """The dense matrix back from its rows."""
    buckets = table.num_rows // series
    minimum, mean, maximum, count = (
        table[name].to_numpy().reshape(series, buckets) for name in ROLLUP_COLUMNS
    )
    starts_ns = table["start_ns"].slice(0, buckets).to_numpy()
    return Rollup(width_ns, starts_ns, minimum, mean, maximum, count)


def extent_of(family: Family, table: pa.Table) -> Extent:
    """Rows, time range and step range of a table that is not empty."""
    times = table[family.time_column].to_numpy()
    steps = table[family.step_column].to_numpy() if family.step_column else None
    return Extent(
        table.num_rows,
        int(times.min()),
        int(times.max()),
        None if steps is None else int(steps.min()),
        None if steps is None else int(steps.max()),
    )


def _arrow(column: Column, kind: pa.DataType) -> pa.Array:
    if isinstance(column, Text):
        numbers = pa.array(column.numbers.astype(np.int32))
        return pa.DictionaryArray.from_arrays(numbers, pa.array(column.distinct, pa.string()))
    return pa.array(column, type=kind)
