"""Tensors of a job: statistics over steps, histograms, full values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.errors import DamagedError, UsageError, known_names
from sonde.read.name_patterns import Expression, select_names
from sonde.read.scalars import ScalarQuestion, read_scalars
from sonde.read.tensors import (
    Holders,
    ValuesReader,
    columns_for,
    merge_shards,
    read_statistics,
)
from sonde.read.workers import WorkerReader
from sonde.records.chart import Spec
from sonde.records.worker import TensorInfo
from sonde.results.arguments import checked_name, checked_shares, checked_step
from sonde.results.layers import Layers
from sonde.results.names import known_mode
from sonde.results.series import Histogram, Histograms, Quantiles, Reduction, TensorSeries
from sonde.results.tables import Frame, aligned
from sonde.store.statistics import (
    BINS,
    COLUMNS,
    HISTOGRAM,
    LEVELS,
    QUANTILES,
    REDUCTIONS,
    bin_edges,
    decode_histogram,
    quantiles,
    reduce_columns,
)
from sonde.store.tables import from_numpy, from_texts, to_numpy

_PRODUCT = "prod"  # recorded as a scalar: it cannot be computed from the statistics
_MAX_STEPS = 8
_COMMON_REDUCTIONS = (
    "min",
    "max",
    "mean",
    "std",
    "abs_mean",
    "l2_norm",
    "zero_fraction",
    "nan_count",
)


@dataclass(frozen=True)
class Tensors(Frame):
    """Tensors of a job: iterate over their names; tables have their properties."""

    holders: Mapping[str, Holders]
    readers: tuple[WorkerReader, ...] = ()
    expression: Expression | None = None  # how the pattern was read, unless as a glob

    @classmethod
    def matching(
        cls,
        holders: Mapping[str, Holders],
        pattern: str,
        collection: str | None,
        readers: tuple[WorkerReader, ...],
    ) -> "Tensors":
        """Select tensors by pattern and collection."""
        names, expression = select_names(checked_name(pattern, "tensor"), sorted(holders))
        selected = {
            name: holders[name]
            for name in names
            if collection is None or collection in _first(holders[name]).collections
        }
        return cls(selected, readers, expression)

    def reduction(self, name: str, *, mode: str = "train") -> Layers:
        """A reduction of all tensors over steps, to find the layer that differs.

        Args:
            name: Such as `l2_norm`, `abs_max`, `zero_fraction`.
            mode: `train`, `eval` or `predict`.
        """
        tensors = (Tensor(holder, self.readers, self.holders[holder]) for holder in self.holders)
        return Layers(name, tuple(each.reduction(name, mode=mode) for each in tensors))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tensors."""
        return tuple(self.holders)

    def __iter__(self) -> Iterator[str]:
        return iter(self.holders)

    def __len__(self) -> int:
        return len(self.holders)

    def to_arrow(self) -> pa.Table:
        """One row per tensor."""
        infos = [_first(by_rank) for by_rank in self.holders.values()]
        workers = np.array([len(by_rank) for by_rank in self.holders.values()], dtype=np.int64)
        return pa.table(
            {
                "name": from_texts([info.name for info in infos]),
                "collections": from_texts([", ".join(info.collections) for info in infos]),
                "dtype": from_texts([info.dtype for info in infos]),
                "shape": from_texts([_shape(info) for info in infos]),
                "workers": from_numpy(workers),
                "note": from_texts([info.note for info in infos]),
            }
        )

    def __repr__(self) -> str:
        if not self.holders:
            damaged = self._damaged_lists()
            return "; ".join(damaged) if damaged else "No matching tensor recorded"
        titles = ("name", "collections", "dtype", "shape", "note")
        infos = [_first(by_rank) for by_rank in self.holders.values()]
        rows = [
            (info.name, ", ".join(info.collections), info.dtype, _shape(info), info.note)
            for info in infos
        ]
        text = aligned([titles, *rows], left_columns=5)
        return text if self.expression is None else f"{text}\n{self.expression.note}"

    def _damaged_lists(self) -> list[str]:
        """Errors of tensor lists that could not be read."""
        damages = (
            damage for reader in self.readers[:1] for damage in reader.backend.ledger.damages
        )
        return [damage.text for damage in damages if damage.key.endswith("/tensors.json")]


class Tensor(Frame):
    """A tensor; shards of several workers are merged.

    Its data frame has common reductions for every step; its chart shows the norm.
    """

    def __init__(self, name: str, readers: Sequence[WorkerReader], holders: Holders) -> None:
        self.name = name
        self.infos = holders
        self._readers = tuple(reader for reader in readers if reader.rank in holders)

    @property
    def info(self) -> TensorInfo:
        """Element type, shape, collections, and notes."""
        return _first(self.infos)

    @property
    def workers(self) -> tuple[int, ...]:
        """The ranks that recorded it."""
        return tuple(reader.rank for reader in self._readers)

    @property
    def is_shard(self) -> bool:
        """Whether each worker holds a shard."""
        return any(info.is_shard for info in self.infos.values())

    def steps(self, mode: str = "train", worker: int | None = None) -> list[int]:
        """The steps with recorded statistics or values."""
        mode = known_mode(mode)
        steps: set[int] = set()
        for reader in self._of(worker):
            steps.update(read_statistics(reader, self.name, mode, ()).steps.tolist())
            steps.update(ValuesReader(reader).files(mode, self.name))
        return sorted(steps)

    def to_arrow(self) -> pa.Table:
        """One row per worker and training step, a column per common reduction."""
        return pa.concat_tables(
            [
                each.table(
                    {
                        name: np.asarray(reduce_columns(name, each.columns), dtype=np.float64)
                        for name in _COMMON_REDUCTIONS
                    }
                )
                for each in self._series(COLUMNS, "train", None)
            ]
        )

    def reduction(self, name: str, *, mode: str = "train", worker: int | None = None) -> Reduction:
        """A statistic of the tensor over steps: `l2_norm`, `mean`, `abs_max`, ….

        For a sharded tensor, of the complete tensor, or with `worker`, of that worker's shard. For
        a replicated tensor, one series per worker.
        """
        mode = known_mode(mode)
        if name == _PRODUCT:
            return Reduction(self.name, name, self._products(mode, worker))
        reductions = (
            *(reduction for reduction in REDUCTIONS if reduction != "quantiles"),
            _PRODUCT,
        )
        if name not in reductions:
            raise UsageError(f"Unknown reduction {name!r}.{known_names(name, reductions)}")
        series = [
            each.with_values(reduce_columns(name, each.columns))
            for each in self._series(columns_for(name), mode, worker)
        ]
        if name == "median" and not self._is_merged(worker):
            series = [self._exact(each, mode) for each in series]
        return Reduction(self.name, name, tuple(series))

    def reduction_value(
        self, step: int, name: str, *, mode: str = "train", worker: int | None = None
    ) -> float:
        """A statistic of the tensor at one step; of a replicated tensor, the first worker's."""
        values = dict(self.reduction(name, mode=mode, worker=worker))
        if checked_step(step) not in values:
            raise UsageError(_no_step(f"{name} of {self.name!r}", step, set(values)))
        return values[step]

    def quantiles(
        self,
        at: Sequence[float] = QUANTILES,
        *,
        mode: str = "train",
        worker: int | None = None,
    ) -> Quantiles:
        """Quantiles over steps, computed from histograms; NaN at steps without one."""
        shares = checked_shares(at, "at")
        series = self._series((*COLUMNS, HISTOGRAM), known_mode(mode), worker)
        return Quantiles(
            self.name,
            shares,
            tuple(each.with_values(quantiles(each.columns, shares)) for each in series),
        )

    def histogram(self, step: int, *, mode: str = "train", worker: int | None = None) -> Histogram:
        """The distribution of its values at a step."""
        step, mode = checked_step(step), known_mode(mode)
        recorded: set[int] = set()
        for each in self._series((*COLUMNS, HISTOGRAM), mode, worker):
            texts, steps = each.columns[HISTOGRAM], each.steps
            recorded.update(int(at) for at, text in zip(steps, texts, strict=True) if text)
            indices = np.flatnonzero(steps == step)
            if step in recorded and len(indices):
                zeros = int(each.columns["zeros"][indices[0]])
                return _histogram(texts[indices[0]], zeros)
        raise UsageError(_no_step(f"histogram of {self.name!r}", step, recorded))

    def histograms(self, *, mode: str = "train", worker: int | None = None) -> Histograms:
        """The distribution of its values over steps; of replicas, the first worker's."""
        series = self._series((*COLUMNS, HISTOGRAM), known_mode(mode), worker)[0]
        return _histograms(self.name, series)

    def value_steps(self, *, mode: str = "train", worker: int | None = None) -> list[int]:
        """The steps with full values."""
        mode = known_mode(mode)
        files_by_worker = [
            ValuesReader(reader).files(mode, self.name) for reader in self._of(worker)
        ]
        return sorted({step for files in files_by_worker for step in files})

    def value(
        self, step: int, *, mode: str = "train", worker: int | None = None
    ) -> npt.NDArray[Any]:
        """The full tensor at a step, without loss of precision.

        Element types that NumPy lacks (bfloat16, 8-bit floats) are returned as float32, which
        represents their values exactly. A sharded tensor requires `worker`.
        """
        step, mode = checked_step(step), known_mode(mode)
        if self._is_merged(worker):
            ranks = ", ".join(map(str, self.workers))
            raise UsageError(
                f"{self.name!r} is sharded. Pass the worker whose shard you want: {ranks}"
            )
        recorded: set[int] = set()
        for reader in self._of(worker):
            values = ValuesReader(reader)
            files = values.files(mode, self.name)
            recorded.update(files)
            if step in files:
                return values.value(files[step], self.name)
            if (mode, step) in values.damaged:
                raise DamagedError(values.damaged[mode, step])
        raise UsageError(_no_step(f"value of {self.name!r}", step, recorded))

    def _series(
        self, columns: Sequence[str], mode: str, worker: int | None
    ) -> tuple[TensorSeries, ...]:
        is_merged = self._is_merged(worker)
        needed = (
            (*COLUMNS, *(column for column in columns if column == HISTOGRAM))
            if is_merged
            else columns
        )
        rows = [read_statistics(each, self.name, mode, needed) for each in self._of(worker)]
        if is_merged:
            return (TensorSeries(None, *merge_shards(rows), np.empty(0)),)
        return tuple(
            TensorSeries(each.worker, each.steps, each.times_ns, each.columns, np.empty(0))
            for each in rows
        )

    def _is_merged(self, worker: int | None) -> bool:
        return self.is_shard and worker is None and len(self._readers) > 1

    def _products(self, mode: str, worker: int | None) -> tuple[TensorSeries, ...]:
        """Products, which are recorded as scalars."""
        question = ScalarQuestion((f"{_PRODUCT}/{self.name}",), mode, "reduction")
        series = []
        for reader in self._of(worker):
            rows = read_scalars([reader], question)
            steps, times_ns = to_numpy(rows["step"]), to_numpy(rows["time_ns"])
            series.append(TensorSeries(reader.rank, steps, times_ns, {}, to_numpy(rows["value"])))
        return tuple(series)

    def _exact(self, series: TensorSeries, mode: str) -> TensorSeries:
        """Replace medians by exact ones at steps with full values."""
        [reader] = self._of(series.worker)
        values = ValuesReader(reader)
        medians = series.values.copy()
        for step, file in values.files(mode, self.name).items():
            array = values.value(file, self.name)
            finite = array[np.isfinite(array)]
            if finite.size:
                medians[series.steps == step] = np.median(finite.astype(np.float64))
        return series.with_values(medians)

    def _of(self, worker: int | None) -> tuple[WorkerReader, ...]:
        if worker is not None and worker not in self.workers:
            ranks = ", ".join(map(str, self.workers))
            raise UsageError(
                f"{self.name!r} was not recorded by worker {worker}. Available: {ranks}"
            )
        return tuple(reader for reader in self._readers if worker in (None, reader.rank))

    def __repr__(self) -> str:
        info = self.info
        note = f", {info.note}" if info.note else ""
        shards = f", sharded over {len(self.workers)} workers" if self.is_shard else ""
        return f"<Tensor {self.name}: {info.dtype} {_shape(info)}{shards}{note}>"

    def _chart_spec(self) -> Spec:
        return self.reduction("l2_norm").plot().spec


def _no_step(what: str, step: int, recorded: set[int]) -> str:
    if not recorded:
        return f"No {what} was recorded at any step."
    nearest = sorted(sorted(recorded, key=lambda each: abs(each - step))[:_MAX_STEPS])
    more = ", …" if len(recorded) > len(nearest) else ""
    return f"No {what} at step {step}. Recorded steps: {', '.join(map(str, nearest))}{more}"


def _histogram(text: str, zeros: int) -> Histogram:
    counts = np.zeros(BINS, dtype=np.int64)
    for index, count in decode_histogram(text).items():
        counts[index] = count
    counts[LEVELS] += zeros
    return Histogram(np.array(bin_edges()), counts)


def _histograms(name: str, series: TensorSeries) -> Histograms:
    texts, zeros = series.columns[HISTOGRAM], series.columns["zeros"]
    finite = series.columns["count"] - series.columns["nans"] - series.columns["infinities"]
    # a histogram of only zeros has no bins
    indices = [
        index for index, text in enumerate(texts) if text or 0 < zeros[index] == finite[index]
    ]
    counts = np.zeros((len(indices), BINS), dtype=np.int64)
    for row, index in enumerate(indices):
        for bin_, count in decode_histogram(texts[index]).items():
            counts[row, bin_] = count
    used = np.flatnonzero(counts.any(axis=0))
    first, end = (int(used[0]), int(used[-1]) + 1) if len(used) else (LEVELS, LEVELS)
    return Histograms(
        name,
        series.worker,
        series.steps[indices],
        np.array(bin_edges()[first : end + 1]),
        counts[:, first:end],
        np.asarray(zeros)[indices].astype(np.int64),
    )


def _first(holders: Holders) -> TensorInfo:
    return holders[min(holders)]


def _shape(info: TensorInfo) -> str:
    return "×".join(map(str, info.shape)) or "scalar"
