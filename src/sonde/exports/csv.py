"""Comma-separated values: one row per sample and node, one column per series."""

import csv
import io
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from sonde.exports._export import Advance, Batch, Export, Selection
from sonde.exports._training import TrainingData


class Csv(Export):
    """One row per sample and node, one column per series; times in ISO 8601 (UTC)."""

    has_tables = True

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        if selection.training is not None:
            _write_tables(selection.training, sink, advance)
            return
        columns = selection.columns
        head = io.StringIO()
        writer = csv.writer(head, lineterminator="\n")
        writer.writerow(("time", "node", *(column.name for column in columns)))
        sink.write(head.getvalue().encode())
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
        names = [str(number) for number in range(len(columns) + 2)]
        for batch in selection.batches():
            arrow_csv.write_csv(_table(batch, names), sink, options)
            advance(batch.values.size)


def _write_tables(training: TrainingData, sink: BinaryIO, advance: Advance) -> None:
    """Write tables with the same columns below each other."""
    is_first = True
    for table in training.tables():
        options = arrow_csv.WriteOptions(include_header=is_first, quoting_style="needed")
        arrow_csv.write_csv(_with_iso_times(table), sink, options)
        advance(table.num_rows)
        is_first = False


def _with_iso_times(table: pa.Table) -> pa.Table:
    index = table.column_names.index("time")
    moments = table["time"].cast(pa.timestamp("us", tz="UTC"), safe=False)
    texts = pc.strftime(moments, format="%Y-%m-%dT%H:%M:%SZ")
    return table.set_column(index, "time", texts)


def _table(batch: Batch, names: list[str]) -> pa.Table:
    moments = batch.times_ns.astype("datetime64[ns]").astype("datetime64[us]")
    times = np.datetime_as_string(moments, unit="us", timezone="UTC")
    rows = [pa.array(row, from_pandas=True) for row in batch.values]  # NaN becomes null
    nodes = pa.array([batch.node] * len(times), pa.string())
    return pa.table([pa.array(times.tolist(), pa.string()), nodes, *rows], names=names)
