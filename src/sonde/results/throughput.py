"""Training steps per second, of the slowest worker."""

from collections.abc import Sequence

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.records.ranges import TimeRange
from sonde.results.job import JobResults


def trained_steps(job: JobResults, worker: int | None = None) -> list[StepTable]:
    """The training steps of every worker that has any, or of a single worker."""
    return [table for table in job.steps(worker=worker).tables if len(table.steps)]


def slowest_worker(tables: Sequence[StepTable]) -> StepTable:
    """The steps of the worker with the longest mean step, which limits a distributed training."""
    return max(tables, key=lambda table: float(table.durations_ns.mean()))


def steps_per_second(table: StepTable) -> float:
    """Steps per second of step time, on average over the job."""
    return len(table.steps) / (float(table.durations_ns.sum()) / NANOSECONDS)


def recent_steps_per_second(table: StepTable, window: TimeRange) -> float | None:
    """Steps per second of wall time in a window, evaluations included; None below two steps."""
    start_ns, end_ns = window.start_ns or 0, window.end_ns or 0
    ends_ns = table.ends_ns[(table.ends_ns >= start_ns) & (table.ends_ns <= end_ns)]
    span_ns = int(np.ptp(ends_ns)) if len(ends_ns) > 1 else 0
    return (len(ends_ns) - 1) / (span_ns / NANOSECONDS) if span_ns else None
