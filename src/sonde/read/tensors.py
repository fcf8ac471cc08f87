"""Tensors of a job: what is known of them, their statistics over steps, their full values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import DamagedError, KeyMissingError
from sonde.read.arrays import to_array
from sonde.read.documents import read_document
from sonde.read.workers import Numbers, WorkerReader, of_one_training
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
Reals = npt.NDArray[np.float64]

_OF_THE_ROW = ("step", "time_ns")
_EDGES = bin_edges()
_VALUES_FILE = re.compile(r"(?P<mode>[a-z]+)-(?P<step>-?[0-9]{1,18})-\w+\.safetensors")
_MOSTLY_ENOUGH_BYTES = 1 << 16  # of most files the header is not longer


def read_infos(readers: Sequence[WorkerReader], damages: list[str]) -> dict[str, "Holders"]:
    """All tensors, and what the workers that hold them say of them; the last life has the word."""
    found: dict[str, Holders] = {}
    for reader in readers:
        for life in reader.lives:
            place = (life.info.rank, life.info.attempt, life.info.restart)
            key = layout.worker_key(*place, "tensors")
            index = read_document(TensorIndex, reader.backend, key, damages)
            for info in index.tensors if index else ():
                found.setdefault(info.name, {})[reader.rank] = info
    return found


Holders = dict[int, TensorInfo]  # by rank


@cache
def columns_for(reduction: str) -> tuple[str, ...]:
    """The columns from which a reduction is computed."""
    noting = _Noting(dict.fromkeys(COLUMNS, 1) | {HISTOGRAM: ""})
    reduce_columns(reduction, noting)
    return (*COLUMNS, HISTOGRAM) if HISTOGRAM in noting.asked else tuple(sorted(noting.asked))


class _Noting(dict[str, Any]):
    """Remembers what was asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


@dataclass(frozen=True)
class TensorRows:
    """Statistics of one tensor of one worker: one row per step, in order."""

    worker: int
    steps: Numbers
    times_ns: Numbers
    life_starts_ns: Numbers
    world_sizes: Numbers
    columns: Columns

    def take(self, which: npt.NDArray[Any] | slice) -> "TensorRows":
        """Some rows."""
        return TensorRows(
            self.worker,
            self.steps[which],
            self.times_ns[which],
            self.life_starts_ns[which],
            self.world_sizes[which],
            _Taken(self.columns, which),
        )


class _Taken(Mapping[str, Any]):
    """Some rows of columns, each taken when it is asked for: mostly two or three of them are."""

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
    """What one worker recorded of one tensor; of a step that was done twice, the last life's."""
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


def read_statistics_by_name(
    reader: WorkerReader,
    mode: str,
    extent: tuple[StepRange, TimeRange],
    columns: tuple[str, ...],
) -> dict[str, TensorRows]:
    """What one worker recorded of all tensors in some steps, by their names."""
    steps, within = extent
    table = reader.folder(STATISTICS).rows(
        within, steps, ("name", "step", "time_ns", *columns), {"mode": (mode,)}
    )
    known, numbers = texts_of(table["name"])
    times_ns = to_numpy(table["time_ns"])
    found = {name: _column(table, name) for name in columns}
    whole = TensorRows(
        reader.rank,
        to_numpy(table["step"]),
        times_ns,
        reader.life_starts_ns(times_ns),
        reader.world_sizes(times_ns),
        found,
    )
    order = np.lexsort((times_ns, whole.steps, numbers))
    edges = np.searchsorted(numbers[order], np.arange(len(known) + 1)).tolist()
    whole = replace(whole.take(order), columns={name: one[order] for name, one in found.items()})
    taken = {
        name: whole.take(slice(edges[place], edges[place + 1]))
        for place, name in enumerate(known)
        if edges[place] < edges[place + 1]
    }
    # many will take some of these again
    return {name: replace(one, columns=dict(one.columns)) for name, one in taken.items()}


def _column(table: Any, name: str) -> npt.NDArray[Any]:
    if name == HISTOGRAM:
        return np.array(table[name].to_pylist(), dtype=object)
    return to_numpy(table[name])


def joined(parts: Sequence[TensorRows]) -> TensorRows:
    """Rows of one tensor that follow each other, together."""
    if len(parts) == 1:
        return parts[0]
    return TensorRows(
        parts[0].worker,
        np.concatenate([one.steps for one in parts]),
        np.concatenate([one.times_ns for one in parts]),
        np.concatenate([one.life_starts_ns for one in parts]),
        np.concatenate([one.world_sizes for one in parts]),
        {name: np.concatenate([one.columns[name] for one in parts]) for name in parts[0].columns},
    )


def merge_shards(parts: Sequence[TensorRows]) -> tuple[Numbers, Numbers, Columns]:
    """Steps, instants and statistics of a tensor whose parts lie with several workers.

    Only of steps that every worker of that training recorded: a sum over some of the parts would be
    a wrong number.
    """
    ranks = np.array([part.worker for part in parts], dtype=np.int64)
    steps = np.concatenate([part.steps for part in parts])
    times_ns = np.concatenate([part.times_ns for part in parts])
    worlds = np.concatenate([part.world_sizes for part in parts])
    starts_ns = np.concatenate([part.life_starts_ns for part in parts])
    together = np.flatnonzero(of_one_training(times_ns, starts_ns, steps))
    # in order of steps, and of ranks at each step
    order = together[np.argsort(steps[together], kind="stable")]
    distinct, firsts, counts = np.unique(steps[order], return_index=True, return_counts=True)
    # a training of n workers has the ranks below n
    holders = np.searchsorted(np.sort(ranks), worlds[order][firsts])
    whole = counts == holders
    firsts, counts = firsts[whole], counts[whole]
    columns = {
        name: np.concatenate([part.columns[name] for part in parts])[order]
        for name in parts[0].columns
    }
    merged = {name: column[firsts] for name, column in columns.items()}
    for place in range(1, int(counts.max(initial=1))):
        has_more = np.flatnonzero(counts > place)
        rows = firsts[has_more] + place
        sums = merge(
            {name: column[has_more] for name, column in merged.items()},
            {name: column[rows] for name, column in columns.items()},
        )
        for name, column in sums.items():
            merged[name][has_more] = column
    return distinct[whole], times_ns[order][firsts], merged


def shares_outside(columns: Columns, low: float, high: float) -> Reals:
    """Which share of a tensor's values lies below or above two bounds, row by row.

    From its histogram, interpolated within a bin; where none was taken, as if its values were
    normally spread. NaN where there are no finite values.
    """
    counts, least, most = columns["count"], columns["minimum"], columns["maximum"]
    means, deviations = reduce_columns("mean", columns), reduce_columns("std", columns)
    found = np.full(len(counts), np.nan)
    for place in np.flatnonzero(np.isfinite(least)).tolist():
        extent = (float(least[place]), float(most[place]))
        if extent[0] >= low and extent[1] <= high:
            found[place] = 0.0
        elif extent[1] < low or extent[0] > high:
            found[place] = 1.0
        elif histogram := decode_histogram(str(columns[HISTOGRAM][place])):
            found[place] = _binned_outside(histogram, extent, low, high) / counts[place]
        else:
            spread = NormalDist(float(means[place]), float(deviations[place]))
            found[place] = spread.cdf(low) + 1 - spread.cdf(high)
    return found


def _binned_outside(
    counts: Mapping[int, int], extent: tuple[float, float], low: float, high: float
) -> float:
    outside = 0.0
    for place, number in counts.items():
        start, end = max(_EDGES[place], extent[0]), min(_EDGES[place + 1], extent[1])
        width = end - start
        beyond = min(max(low - start, 0.0), width) + min(max(end - high, 0.0), width)
        outside += number * (beyond / width if width > 0 else start < low or start > high)
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
    """The full tensors that one worker saved; headers are read once."""

    def __init__(self, reader: WorkerReader) -> None:
        self.rank = reader.rank
        self._backend = reader.backend
        self._names: dict[str, tuple[str, ...]] = {}
        self.damaged: dict[tuple[str, int], str] = {}  # by mode and step: what is wrong there

    def files(self, mode: str, name: str) -> dict[int, ValuesFile]:
        """The file that holds a tensor, by step; of several lives the last one's."""
        found: dict[int, ValuesFile] = {}
        for one in sorted(self._list(), key=lambda one: one.modified_ns):
            if one.mode == mode and name in self._names_of(one):
                found[one.step] = one
        return found

    def value(self, file: ValuesFile, name: str) -> npt.NDArray[Any]:
        """The tensor, checked."""
        try:
            tensors, _ = decode_tensors(self._backend.read(file.key), file.key)
            return to_array(tensors[name])
        except (DamagedError, KeyError, ValueError) as error:
            self._backend.ledger.report(file.key, str(error))
            raise DamagedError(str(error)) from error

    def _list(self) -> list[ValuesFile]:
        found = []
        for entry in self._backend.entries(f"{layout.worker_folder(self.rank)}/values"):
            match = _VALUES_FILE.fullmatch(entry.key.rpartition("/")[2])
            if match is not None:
                step = int(match["step"])
                found.append(
                    ValuesFile(entry.key, match["mode"], step, entry.modified_ns, entry.size)
                )
        return found

    def _names_of(self, file: ValuesFile) -> tuple[str, ...]:
        """The tensors of a file; none where it is damaged, or the disk budget has just taken it."""
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
        first = self._backend.read(file.key, 0, _MOSTLY_ENOUGH_BYTES)
        length = header_bytes(first, file.key)
        if length > len(first):
            first = self._backend.read(file.key, 0, length)
        header = read_header(first[:length], file.key)
        if header.size != file.size:
            raise DamagedError(f"{file.key} is damaged: {file.size} of {header.size} bytes")
        return header.names
