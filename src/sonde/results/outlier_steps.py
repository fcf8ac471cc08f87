"""Steps that took much longer than usual, for the charts that ask why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.durations import Marks, Reals
from sonde.analyze.outliers import outlier_limit
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable


@dataclass(frozen=True)
class StepOutliers:
    """The training steps of one worker, and which of them are outliers."""

    table: StepTable
    seconds: Reals
    limit: float
    is_outlier: Marks
    is_normal: Marks  # neither an outlier, nor slowed by a profiler


@dataclass(frozen=True)
class Excess:
    """One outlier, and the phase that took most more than usual in it."""

    place: int
    phase: str
    seconds: float  # more than usual


def step_outliers(tables: Iterable[StepTable]) -> Iterator[StepOutliers]:
    """The outliers of each worker that finished a step."""
    for table in tables:
        if len(table.steps):
            yield outliers_of(table)


def outliers_of(table: StepTable) -> StepOutliers:
    """Which steps of one worker took much longer than usual."""
    seconds = table.durations_ns / NANOSECONDS
    is_usual = table.is_usual
    limit = outlier_limit(seconds[is_usual])
    is_long = np.asarray(seconds > limit)
    return StepOutliers(table, seconds, limit, is_usual & is_long, is_usual & ~is_long)


def excesses(one: StepOutliers) -> Iterator[Excess]:
    """Where each outlier lost its time; nothing where there is no normal step to compare with."""
    if not one.is_outlier.any() or not one.is_normal.any():
        return
    phases = one.table.phases_ns
    names = list(phases)
    usual = np.array([np.median(phases[name][one.is_normal]) for name in names])
    for place in np.flatnonzero(one.is_outlier).tolist():
        more = np.array([phases[name][place] for name in names]) - usual
        worst = int(np.argmax(more))
        yield Excess(place, names[worst], float(more[worst]) / NANOSECONDS)
