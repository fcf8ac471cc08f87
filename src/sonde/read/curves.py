"""Scalars of several workers merged into one curve."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.read.job_data import ScalarRows
from sonde.records.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Curve:
    """A scalar in one window: one value per step, averaged over the workers that recorded it."""

    name: str
    mode: str
    steps: IntArray
    times_ns: IntArray
    values: FloatArray

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Steps and values."""
        return iter(zip(self.steps.tolist(), self.values.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.steps)


def curves_from(rows: Sequence[ScalarRows]) -> Iterator[Curve]:
    """One curve per scalar and mode, averaged over workers; the last value per step counts."""
    groups: dict[tuple[str, str], list[ScalarRows]] = {}
    for scalar in rows:
        groups.setdefault((scalar.name, scalar.mode), []).append(scalar)
    return (_curve(name, mode, worker_rows) for (name, mode), worker_rows in sorted(groups.items()))


def _curve(name: str, mode: str, worker_rows: Sequence[ScalarRows]) -> Curve:
    lasts = [_last_of_each_step(rows) for rows in worker_rows]
    if len(lasts) == 1:
        [rows] = lasts
        return Curve(name, mode, rows.steps, rows.times_ns, rows.values)
    steps = np.concatenate([rows.steps for rows in lasts])
    distinct, indices = np.unique(steps, return_inverse=True)
    counts = np.bincount(indices, minlength=len(distinct))
    sums = np.zeros(len(distinct))
    times_ns = np.zeros(len(distinct), dtype=np.int64)
    with np.errstate(invalid="ignore"):  # infinities of both signs
        np.add.at(sums, indices, np.concatenate([rows.values for rows in lasts]))
    np.maximum.at(times_ns, indices, np.concatenate([rows.times_ns for rows in lasts]))
    return Curve(name, mode, distinct, times_ns, sums / counts)


def _last_of_each_step(rows: ScalarRows) -> ScalarRows:
    if (rows.steps[1:] > rows.steps[:-1]).all():  # the common case
        return rows
    order = np.lexsort((rows.times_ns, rows.steps))
    steps = rows.steps[order]
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return rows.take(order[is_last])
