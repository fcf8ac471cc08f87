"""A statistic of many tensors over steps: a row per tensor, a column per step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.updates import COLUMNS as UPDATE_COLUMNS
from sonde.analyze.updates import min_update_norms
from sonde.read.tensors import (
    Columns,
    Holders,
    TensorRows,
    columns_for,
    merge_shards,
    read_infos,
    read_statistics_by_name,
)
from sonde.read.workers import WorkerReader
from sonde.records.arrays import FloatArray, IntArray
from sonde.records.ranges import ANY_STEP, EVER
from sonde.store.statistics import COLUMNS, reduce_columns

UPDATE_RATIO = "update_ratio"


@dataclass(frozen=True)
class Layers:
    """A value per tensor and step; NaN where nothing was recorded."""

    names: tuple[str, ...]
    steps: IntArray
    values: FloatArray  # as (tensor, step)

    def coarser(self, max_columns: int) -> "Layers":
        """Average neighboring steps so that there are at most `max_columns` columns."""
        if len(self.steps) <= max_columns:
            return self
        edges = np.linspace(0, len(self.steps), max_columns + 1).astype(np.int64)
        is_known = np.isfinite(self.values)
        sums = np.add.reduceat(np.where(is_known, self.values, 0.0), edges[:-1], axis=1)
        counts = np.add.reduceat(is_known.astype(np.int64), edges[:-1], axis=1)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return Layers(self.names, self.steps[edges[:-1]], means)


def sort_by_model_order(readers: Sequence[WorkerReader], names: Iterable[str]) -> list[str]:
    """Sort names by their order in the model, as the first worker recorded them."""
    order = {name: index for index, name in enumerate(read_infos(readers[:1], []))}
    return sorted(names, key=lambda name: order.get(name, len(order)))


def read_layers(
    readers: Sequence[WorkerReader], holders: Mapping[str, Holders], mode: str, reduction: str
) -> Layers:
    """A reduction of some tensors at every step at which any of them was recorded.

    Tensors keep their order. Shards are merged; of replicas, the first worker's values are used.
    `update_ratio` is a lower bound of the change of a tensor since the previous recorded step,
    divided by its norm at that step.
    """
    rows = _rows_by_name(readers, holders, mode, reduction)
    names = tuple(name for name, shards in rows.items() if shards)
    reduced = {name: _reduced(rows[name], reduction) for name in names}
    empty = np.empty(0, dtype=np.int64)
    steps = np.unique(np.concatenate([empty, *(each[0] for each in reduced.values())]))
    values = np.full((len(names), len(steps)), np.nan)
    for index, name in enumerate(names):
        tensor_steps, numbers = reduced[name]
        values[index, np.searchsorted(steps, tensor_steps)] = numbers
    return Layers(names, steps, values)


def _rows_by_name(
    readers: Sequence[WorkerReader], holders: Mapping[str, Holders], mode: str, reduction: str
) -> dict[str, list[TensorRows]]:
    ranks_by_name = {name: _ranks(by_rank) for name, by_rank in holders.items()}
    has_shards = any(len(ranks) > 1 for ranks in ranks_by_name.values())
    columns = UPDATE_COLUMNS if reduction == UPDATE_RATIO else columns_for(reduction)
    if has_shards:
        columns = tuple(dict.fromkeys((*COLUMNS, *columns)))
    rows_by_name: dict[str, list[TensorRows]] = {name: [] for name in ranks_by_name}
    for reader in readers:
        local_names = {name for name, ranks in ranks_by_name.items() if reader.rank in ranks}
        if local_names:
            rows = read_statistics_by_name(reader, mode, (ANY_STEP, EVER), columns)
            for name in local_names & rows.keys():
                rows_by_name[name].append(rows[name])
    return rows_by_name


def _ranks(holders: Holders) -> tuple[int, ...]:
    if any(info.is_shard for info in holders.values()):
        return tuple(sorted(holders))
    return (min(holders),)


def _reduced(shards: Sequence[TensorRows], reduction: str) -> tuple[IntArray, FloatArray]:
    if len(shards) > 1:
        steps, _, columns = merge_shards(shards)
    else:
        steps, columns = shards[0].steps, shards[0].columns
    if reduction == UPDATE_RATIO:
        return steps, _ratios(columns)
    return steps, np.asarray(reduce_columns(reduction, columns), dtype=np.float64)


def _ratios(columns: Columns) -> FloatArray:
    rows = np.stack(
        [np.asarray(columns[name], dtype=np.float64) for name in UPDATE_COLUMNS], axis=1
    )
    ratios = np.full(len(rows), np.nan)
    with np.errstate(all="ignore"):  # NaN stays NaN
        norms = np.sqrt(rows[:-1, 1])
        ratios[1:] = np.where(norms > 0, min_update_norms(rows[:-1], rows[1:]) / norms, np.nan)
    return ratios
