"""Comma-separated values: one row per sample and node, one column per series."""

import csv
import io
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from sonde.exports._export import Advance, Batch, Export, Selection


class Csv(Export):
    """One row per sample and node, one column per series; times in ISO 8601 (UTC)."""

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
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


def _table(batch: Batch, names: list[str]) -> pa.Table:
    moments = batch.times_ns.astype("datetime64[ns]").astype("datetime64[us]")
    times = np.datetime_as_string(moments, unit="us", timezone="UTC")
    rows = [pa.array(row, from_pandas=True) for row in batch.values]  # NaN becomes null
    nodes = pa.array([batch.node] * len(times), pa.string())
    return pa.table([pa.array(times.tolist(), pa.string()), nodes, *rows], names=names)
