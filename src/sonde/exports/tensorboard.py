"""Event files for TensorBoard."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.exports._export import Advance, Export, Selection
from sonde.read.tensors import Columns, Holders, merge_shards, read_statistics
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.step import Mode
from sonde.results.tensors import Tensors
from sonde.store.statistics import COLUMNS, HISTOGRAM, bin_edges, decode_histogram
from sonde.tfevents.events import (
    HistogramBuckets,
    encode_event,
    encode_histogram,
    encode_scalar,
    encode_version,
)
from sonde.tfevents.records import encode_record

_EDGES = bin_edges()
_MIDDLE = len(_EDGES) // 2  # of the edge at zero
_SMALLEST = 1e-12  # half the width of the bucket for zeros


class Tensorboard(Export):
    """Scalars and histograms of training for TensorBoard, which reads files named *tfevents*."""

    is_text = False
    needs_training = True
    file_mark = "tfevents"

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        training = selection.training
        if training is None:
            raise UsageError("An event file requires scalars or tensors.")
        rows = training.scalars.reduced().rows.select(["name", "mode", "step", "time_ns", "value"])
        values = sorted(rows.to_pylist(), key=lambda row: row["time_ns"])
        start_ns = values[0]["time_ns"] if values else 0
        sink.write(encode_record(encode_version(start_ns / NANOSECONDS)))
        for row in values:
            tag = f"{row['mode']}/{row['name']}"
            _write(sink, row["time_ns"], row["step"], encode_scalar(tag, row["value"]))
            advance(1)
        for time_ns, step, summary in _histograms(training.tensors):
            _write(sink, time_ns, step, summary)
            advance(1)


def _write(sink: BinaryIO, time_ns: int, step: int, summary: bytes) -> None:
    sink.write(encode_record(encode_event(time_ns / NANOSECONDS, step, [summary])))


def _histograms(tensors: Tensors) -> Iterator[tuple[int, int, bytes]]:
    """The histograms of all tensors by time, step and encoded summary."""
    for name, holders in tensors.holders.items():
        for mode in Mode:
            for steps, times_ns, columns in _series(tensors.readers, name, holders, mode.value):
                tag = name if mode is Mode.TRAIN else f"{mode}/{name}"
                for row in range(len(steps)):
                    buckets = _buckets({key: column[row] for key, column in columns.items()})
                    if buckets is not None:
                        summary = encode_histogram(tag, buckets)
                        yield int(times_ns[row]), int(steps[row]), summary


def _series(
    readers: Sequence[WorkerReader], name: str, holders: Holders, mode: str
) -> Iterator[tuple[IntArray, IntArray, Columns]]:
    """Steps, times and statistics: of all shards together, or of the first worker."""
    columns = (*COLUMNS, HISTOGRAM)
    parts = [
        read_statistics(reader, name, mode, columns) for reader in readers if reader.rank in holders
    ]
    if any(info.is_shard for info in holders.values()) and len(parts) > 1:
        yield merge_shards(parts)
    elif parts:
        yield parts[0].steps, parts[0].times_ns, parts[0].columns


def _buckets(row: Mapping[str, Any]) -> HistogramBuckets | None:
    """The histogram of one row; None without one, or without finite values."""
    counts = decode_histogram(str(row[HISTOGRAM]))
    zeros = int(row["zeros"])
    if not (counts or zeros) or not math.isfinite(row["minimum"]):
        return None
    limits: list[float] = []
    numbers: list[float] = []
    for low, high, count in _intervals(counts, zeros):
        if not limits or limits[-1] < low:  # an empty bucket up to the lower edge
            limits.append(low)
            numbers.append(0.0)
        limits.append(high)
        numbers.append(float(count))
    names = ("minimum", "maximum", "sum", "sum_of_squares")
    low, high, total, squares = (float(row[name]) for name in names)
    return HistogramBuckets(low, high, sum(numbers), total, squares, tuple(limits), tuple(numbers))


def _intervals(counts: Mapping[int, int], zeros: int) -> Iterator[tuple[float, float, int]]:
    """The non-empty bins in ascending order, and a narrow one for zeros."""
    is_done = not zeros
    for index in sorted(counts):
        if not is_done and index >= _MIDDLE:
            yield -_SMALLEST, _SMALLEST, zeros
            is_done = True
        low, high = _EDGES[index], _EDGES[index + 1]
        yield low + _SMALLEST * (low == 0), high - _SMALLEST * (high == 0), counts[index]
    if not is_done:
        yield -_SMALLEST, _SMALLEST, zeros
