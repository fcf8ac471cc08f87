"""A Parquet file: one row per sample and node, one column per series."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from sonde.exports._export import Advance, Batch, Column, Export, Selection
from sonde.exports._training import TrainingData

_TIME = pa.timestamp("ns", tz="UTC")


class Parquet(Export):
    """A file for pandas, polars and DuckDB, with the unit and description of each column."""

    is_text = False
    has_tables = True

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        if selection.training is not None:
            _write_tables(selection, selection.training, sink, advance)
            return
        schema = _schema(selection)
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for batch in selection.batches():
                writer.write_table(_table(batch, schema))
                advance(batch.values.size)


def _write_tables(
    selection: Selection, training: TrainingData, sink: BinaryIO, advance: Advance
) -> None:
    """Write tables with the same columns as row groups."""
    writer: pq.ParquetWriter | None = None
    for table in training.tables():
        if writer is None:
            schema = table.schema.with_metadata({"sonde.job": selection.job})
            writer = pq.ParquetWriter(sink, schema, compression="zstd")
        writer.write_table(table.cast(writer.schema))
        advance(table.num_rows)
    if writer is not None:
        writer.close()


def _schema(selection: Selection) -> pa.Schema:
    fields = [pa.field("time", _TIME), pa.field("node", pa.string())]
    fields += [_field(column) for column in selection.columns]
    return pa.schema(fields, metadata={"sonde.job": selection.job})


def _field(column: Column) -> pa.Field:
    metric = column.series.metric
    return pa.field(column.name, pa.float32(), metadata={"unit": metric.unit, "help": metric.help})


def _table(batch: Batch, schema: pa.Schema) -> pa.Table:
    times = pa.array(batch.times_ns).cast(_TIME)
    nodes = pa.array([batch.node] * len(times), pa.string())
    rows = [pa.array(row, from_pandas=True) for row in batch.values]  # NaN becomes null
    return pa.table([times, nodes, *rows], schema=schema)
