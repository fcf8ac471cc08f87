"""Outliers among training steps, and the phase in which each lost its time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.outliers import outlier_limit
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.records.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class StepOutliers:
    """The training steps of one worker, and which of them are outliers."""

    table: StepTable
    seconds: FloatArray
    limit: float
    is_outlier: BoolArray
    is_normal: BoolArray  # neither an outlier nor profiled

    @property
    def median_seconds(self) -> float:
        """The median duration of the normal steps; NaN if there are none."""
        return float(np.median(self.seconds[self.is_normal])) if self.is_normal.any() else np.nan


@dataclass(frozen=True)
class Excess:
    """An outlier, and the phase that exceeded its median most."""

    index: int
    phase: str
    seconds: float  # above the median of the phase


def step_outliers(tables: Iterable[StepTable]) -> Iterator[StepOutliers]:
    """The outliers of each worker that finished a step."""
    for table in tables:
        if len(table.steps):
            yield outliers_of(table)


def outliers_of(table: StepTable) -> StepOutliers:
    """Split the steps of a worker into outliers and normal steps."""
    seconds = table.durations_ns / NANOSECONDS
    is_representative = table.is_representative
    limit = outlier_limit(seconds[is_representative])
    is_long = np.asarray(seconds > limit)
    return StepOutliers(
        table, seconds, limit, is_representative & is_long, is_representative & ~is_long
    )


def excesses(outliers: StepOutliers) -> Iterator[Excess]:
    """The slowest phase of each outlier; empty without normal steps to compare with."""
    if not outliers.is_outlier.any() or not outliers.is_normal.any():
        return
    phases = outliers.table.phases_ns
    names = list(phases)
    medians = np.array([np.median(phases[name][outliers.is_normal]) for name in names])
    for index in np.flatnonzero(outliers.is_outlier).tolist():
        more = np.array([phases[name][index] for name in names]) - medians
        worst = int(np.argmax(more))
        yield Excess(index, names[worst], float(more[worst]) / NANOSECONDS)
