"""Tensors of a job: facts, statistics over steps, and full values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import DamagedError, KeyMissingError
from sonde.formats import format_count
from sonde.read.arrays import to_array
from sonde.read.documents import read_document
from sonde.read.workers import WorkerReader, is_of_latest_attempt
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.worker import TensorIndex, TensorInfo
from sonde.store import layout
from sonde.store.format import STATISTICS
from sonde.store.statistics import (
    COLUMNS,
    HISTOGRAM,
    bin_edges,
    decode_histogram,
    merge,
    reduce_columns,
)
from sonde.store.tables import texts_of, to_numpy
from sonde.store.tensors import decode_tensors, header_bytes, read_header

Columns = Mapping[str, npt.NDArray[Any]]

_OF_THE_ROW = ("step", "time_ns")
_EDGES = bin_edges()
_VALUES_FILE = re.compile(r"(?P<mode>[a-z]+)-(?P<step>-?[0-9]{1,18})-\w+\.safetensors")
_HEADER_READ_BYTES = 1 << 16  # enough for most headers


def read_infos(readers: Sequence[WorkerReader], damages: list[str]) -> dict[str, "Holders"]:
    """All tensors with the facts of each worker that holds them, from its last start."""
    tensors: dict[str, Holders] = {}
    for reader in readers:
        for life in reader.lives:
            life_key = (life.info.rank, life.info.attempt, life.info.restart)
            key = layout.worker_key(*life_key, "tensors")
            index = read_document(TensorIndex, reader.backend, key, damages)
            for info in index.tensors if index else ():
                tensors.setdefault(info.name, {})[reader.rank] = info
    return tensors


Holders = dict[int, TensorInfo]  # by rank


@cache
def columns_for(reduction: str) -> tuple[str, ...]:
    """The columns from which a reduction is computed."""
    recorder = _RecordingDict(dict.fromkeys(COLUMNS, 1) | {HISTOGRAM: ""})
    reduce_columns(reduction, recorder)
    return (
        (*COLUMNS, HISTOGRAM)
        if HISTOGRAM in recorder.accessed
        else tuple(sorted(recorder.accessed))
    )


class _RecordingDict(dict[str, Any]):
    """Records which keys are read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.accessed: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.accessed.add(key)
        return super().__getitem__(key)


@dataclass(frozen=True)
class TensorRows:
    """Statistics of one tensor of one worker: one row per step, in order."""

    worker: int
    steps: IntArray
    times_ns: IntArray
    life_starts_ns: IntArray
    world_sizes: IntArray
    columns: Columns

    def take(self, which: npt.NDArray[Any] | slice) -> "TensorRows":
        """A subset of the rows."""
        return TensorRows(
            self.worker,
            self.steps[which],
            self.times_ns[which],
            self.life_starts_ns[which],
            self.world_sizes[which],
            _LazyColumns(self.columns, which),
        )


class _LazyColumns(Mapping[str, Any]):
    """A subset of rows that slices each column on access: usually only two or three are read."""

    def __init__(self, columns: Columns, which: npt.NDArray[Any] | slice) -> None:
        self._columns = columns
        self._which = which

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._which]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def read_statistics(
    reader: WorkerReader, name: str, mode: str, columns: Sequence[str]
) -> TensorRows:
    """The statistics of one tensor of one worker; repeated steps replace earlier ones."""
    only = {"name": (name,), "mode": (mode,)}
    table = reader.folder(STATISTICS).rows(columns=(*_OF_THE_ROW, *columns), only=only)
    times_ns = to_numpy(table["time_ns"])
    rows = TensorRows(
        reader.rank,
        to_numpy(table["step"]),
        times_ns,
        reader.life_starts_ns(times_ns),
        reader.world_sizes(times_ns),
        {
            column: np.array(table[column].to_pylist(), dtype=object)
            if column == HISTOGRAM
            else to_numpy(table[column])
            for column in columns
        },
    )
    lives = reader.lives_of(times_ns)
    order = np.lexsort((times_ns, lives, rows.steps))
    steps = rows.steps[order]
    return rows.take(order[np.append(steps[1:] != steps[:-1], True)[: len(steps)]])


def read_measured_steps(
    reader: WorkerReader, mode: str, within: TimeRange
) -> tuple[IntArray, IntArray]:
    """The steps with statistics of any tensor, and the last time of each."""
    columns, only = ("step", "time_ns"), {"mode": (mode,)}
    table = reader.folder(STATISTICS).rows(within, columns=columns, only=only)
    all_steps, times_ns = to_numpy(table["step"]), to_numpy(table["time_ns"])
    steps, numbers = np.unique(all_steps, return_inverse=True)
    ends_ns = np.zeros(len(steps), dtype=np.int64)
    np.maximum.at(ends_ns, numbers, times_ns)
    return steps, ends_ns


def read_statistics_by_name(
    reader: WorkerReader,
    mode: str,
    extent: tuple[StepRange, TimeRange],
    columns: tuple[str, ...],
) -> dict[str, TensorRows]:
    """The statistics of all tensors of one worker in a range of steps, by name."""
    steps, within = extent
    table = reader.folder(STATISTICS).rows(
        within, steps, ("name", "step", "time_ns", *columns), {"mode": (mode,)}
    )
    names, numbers = texts_of(table["name"])
    times_ns = to_numpy(table["time_ns"])
    values = {name: _column(table, name) for name in columns}
    all_rows = TensorRows(
        reader.rank,
        to_numpy(table["step"]),
        times_ns,
        reader.life_starts_ns(times_ns),
        reader.world_sizes(times_ns),
        values,
    )
    order = np.lexsort((times_ns, all_rows.steps, numbers))
    edges = np.searchsorted(numbers[order], np.arange(len(names) + 1)).tolist()
    all_rows = replace(
        all_rows.take(order), columns={name: column[order] for name, column in values.items()}
    )
    by_name = {
        name: all_rows.take(slice(edges[index], edges[index + 1]))
        for index, name in enumerate(names)
        if edges[index] < edges[index + 1]
    }
    # materialized, because rows are taken from them often
    return {name: replace(column, columns=dict(column.columns)) for name, column in by_name.items()}


def _column(table: Any, name: str) -> npt.NDArray[Any]:
    if name == HISTOGRAM:
        return np.array(table[name].to_pylist(), dtype=object)
    return to_numpy(table[name])


def joined(segments: Sequence[TensorRows]) -> TensorRows:
    """Concatenate consecutive rows of one tensor."""
    if len(segments) == 1:
        return segments[0]
    return TensorRows(
        segments[0].worker,
        np.concatenate([rows.steps for rows in segments]),
        np.concatenate([rows.times_ns for rows in segments]),
        np.concatenate([rows.life_starts_ns for rows in segments]),
        np.concatenate([rows.world_sizes for rows in segments]),
        {
            name: np.concatenate([rows.columns[name] for rows in segments])
            for name in segments[0].columns
        },
    )


def merge_shards(shards: Sequence[TensorRows]) -> tuple[IntArray, IntArray, Columns]:
    """Steps, instants and statistics of a tensor that is sharded over several workers.

    Only includes steps that all workers recorded: a sum over some shards would be wrong.
    """
    ranks = np.array([shard.worker for shard in shards], dtype=np.int64)
    steps = np.concatenate([shard.steps for shard in shards])
    times_ns = np.concatenate([shard.times_ns for shard in shards])
    world_sizes = np.concatenate([shard.world_sizes for shard in shards])
    starts_ns = np.concatenate([shard.life_starts_ns for shard in shards])
    current = np.flatnonzero(is_of_latest_attempt(times_ns, starts_ns, steps))
    # by step, then by rank
    order = current[np.argsort(steps[current], kind="stable")]
    distinct, firsts, counts = np.unique(steps[order], return_index=True, return_counts=True)
    # n workers have the ranks 0 to n-1
    holders = np.searchsorted(np.sort(ranks), world_sizes[order][firsts])
    is_complete = counts == holders
    firsts, counts = firsts[is_complete], counts[is_complete]
    columns = {
        name: np.concatenate([shard.columns[name] for shard in shards])[order]
        for name in shards[0].columns
    }
    merged = {name: column[firsts] for name, column in columns.items()}
    for index in range(1, int(counts.max(initial=1))):
        has_more = np.flatnonzero(counts > index)
        rows = firsts[has_more] + index
        sums = merge(
            {name: column[has_more] for name, column in merged.items()},
            {name: column[rows] for name, column in columns.items()},
        )
        for name, column in sums.items():
            merged[name][has_more] = column
    return distinct[is_complete], times_ns[order][firsts], merged


def shares_outside(columns: Columns, low: float, high: float) -> FloatArray:
    """The share of a tensor's values below `low` or above `high`, row by row.

    Interpolated from its histogram; without one, a normal distribution is assumed. NaN if there
    are no finite values.
    """
    counts, minima, maxima = columns["count"], columns["minimum"], columns["maximum"]
    means, deviations = reduce_columns("mean", columns), reduce_columns("std", columns)
    shares = np.full(len(counts), np.nan)
    for row in np.flatnonzero(np.isfinite(minima)).tolist():
        extent = (float(minima[row]), float(maxima[row]))
        if extent[0] >= low and extent[1] <= high:
            shares[row] = 0.0
        elif extent[1] < low or extent[0] > high:
            shares[row] = 1.0
        elif histogram := decode_histogram(str(columns[HISTOGRAM][row])):
            shares[row] = _binned_outside(histogram, extent, low, high) / counts[row]
        else:
            spread = NormalDist(float(means[row]), float(deviations[row]))
            shares[row] = spread.cdf(low) + 1 - spread.cdf(high)
    return shares


def _binned_outside(
    counts: Mapping[int, int], extent: tuple[float, float], low: float, high: float
) -> float:
    outside = 0.0
    for bin_index, number in counts.items():
        start, end = max(_EDGES[bin_index], extent[0]), min(_EDGES[bin_index + 1], extent[1])
        width = end - start
        outer_width = min(max(low - start, 0.0), width) + min(max(end - high, 0.0), width)
        outside += number * (outer_width / width if width > 0 else start < low or start > high)
    return outside


@dataclass(frozen=True, slots=True)
class ValuesFile:
    """Full tensors of one step of one worker."""

    key: str
    mode: str
    step: int
    modified_ns: int
    size: int


class ValuesReader:
    """Reads the full tensors that one worker saved; headers are cached."""

    def __init__(self, reader: WorkerReader) -> None:
        self.rank = reader.rank
        self._backend = reader.backend
        self._names: dict[str, tuple[str, ...]] = {}
        self.damaged: dict[tuple[str, int], str] = {}  # error by mode and step

    def files(self, mode: str, name: str) -> dict[int, ValuesFile]:
        """The file with a tensor by step, from the last attempt that saved it."""
        by_step: dict[int, ValuesFile] = {}
        for file in sorted(self._list(), key=lambda file: file.modified_ns):
            if file.mode == mode and name in self._names_of(file):
                by_step[file.step] = file
        return by_step

    def value(self, file: ValuesFile, name: str) -> npt.NDArray[Any]:
        """The tensor, after verifying its checksum."""
        try:
            tensors, _ = decode_tensors(self._backend.read(file.key), file.key)
            return to_array(tensors[name])
        except (DamagedError, KeyError, ValueError) as error:
            self._backend.ledger.report(file.key, str(error))
            raise DamagedError(str(error)) from error

    def _list(self) -> list[ValuesFile]:
        files = []
        for entry in self._backend.entries(f"{layout.worker_folder(self.rank)}/values"):
            match = _VALUES_FILE.fullmatch(entry.key.rpartition("/")[2])
            if match is not None:
                step = int(match["step"])
                files.append(
                    ValuesFile(entry.key, match["mode"], step, entry.modified_ns, entry.size)
                )
        return files

    def _names_of(self, file: ValuesFile) -> tuple[str, ...]:
        """The tensors of a file; empty if it is damaged or was removed to free disk space."""
        if file.key not in self._names:
            try:
                self._names[file.key] = self._read_names(file)
            except KeyMissingError:
                return ()
            except DamagedError as error:
                self._backend.ledger.report(file.key, str(error))
                self.damaged[file.mode, file.step] = str(error)
                return ()
        return self._names[file.key]

    def _read_names(self, file: ValuesFile) -> tuple[str, ...]:
        first = self._backend.read(file.key, 0, _HEADER_READ_BYTES)
        length = header_bytes(first, file.key)
        if length > len(first):
            first = self._backend.read(file.key, 0, length)
        header = read_header(first[:length], file.key)
        if header.size != file.size:
            sizes = f"{format_count(file.size)} of {format_count(header.size)} bytes"
            raise DamagedError(f"{file.key} is damaged: {sizes}")
        return header.names
