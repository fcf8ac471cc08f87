"""Steps that took much longer than usual, for the charts that ask why."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.durations import Marks, Reals, longest_usual
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.show.job_view import JobView


@dataclass(frozen=True)
class StepOutliers:
    """The training steps of one worker, and which of them are outliers."""

    table: StepTable
    seconds: Reals
    limit: float
    is_outlier: Marks
    is_normal: Marks  # neither an outlier, nor slowed by a profiler


def step_outliers(job: JobView, worker: int | None = None) -> Iterator[StepOutliers]:
    """Per worker; those without a step are left out."""
    for table in job.steps(worker=worker).tables:
        if len(table.steps):
            seconds = table.durations_ns / NANOSECONDS
            is_usual = table.is_usual
            limit = longest_usual(seconds[is_usual])
            is_long = np.asarray(seconds > limit)
            yield StepOutliers(table, seconds, limit, is_usual & is_long, is_usual & ~is_long)
