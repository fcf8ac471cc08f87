"""One metric of every node over time as a matrix, read once and cut to any window."""

from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader, bucket_width_ns
from sonde.records.ranges import TimeRange
from sonde.settings.run import DEFAULT_INTERVAL_SECONDS
from sonde.store.rollups import Floats, Rollup, coarsen
from sonde.web.shared_job import SharedJob

MAX_COLUMNS = 2048


@dataclass(frozen=True)
class FleetMatrix:
    """Minimum, mean and maximum as (node, column); NaN where there is no sample."""

    nodes: tuple[str, ...]
    unit: str | None
    first: int  # index of the first column, counted from the epoch
    width_ns: int
    minimum: Floats
    mean: Floats
    maximum: Floats

    def by(self, name: str) -> Floats:
        """One of `mean`, `max` and `min`."""
        return {"mean": self.mean, "max": self.maximum, "min": self.minimum}[name]

    def cut(self, window: TimeRange, max_columns: int) -> "FleetMatrix":
        """The columns that overlap a window, merged into groups if there are too many."""
        total = self.mean.shape[1]
        start = min(total, max(0, (window.start_ns or 0) // self.width_ns - self.first))
        last = -(-(window.end_ns or 0) // self.width_ns) - self.first
        end = max(start, min(total, last))  # empty if the window is outside the job
        columns_per_group = max(1, -(-(end - start) // max_columns))
        # align groups with the epoch, so that past columns do not change while a job runs
        start = (self.first + start) // columns_per_group * columns_per_group - self.first
        return FleetMatrix(
            self.nodes,
            self.unit,
            (self.first + start) // columns_per_group,
            self.width_ns * columns_per_group,
            _grouped(self.minimum, start, end, columns_per_group, np.fmin),
            _means(self.mean, start, end, columns_per_group),
            _grouped(self.maximum, start, end, columns_per_group, np.fmax),
        )


def read_matrix(job: SharedJob, metric: str, window: TimeRange, max_columns: int) -> FleetMatrix:
    """Read a metric of every node into columns that are aligned between nodes."""
    nodes = job.facts.nodes
    span_ns = (window.end_ns or 0) - (window.start_ns or 0)
    fitting = max(2, min(max_columns, span_ns // _interval_ns(job) + 2))
    rollups: list[tuple[Rollup | None, str | None]] = []
    for name in nodes:
        with job.node(name) as reader:
            rollups.append(_of_node(reader, metric, window, fitting))
    width_ns = max(
        (rollup.width_ns for rollup, _ in rollups if rollup is not None),
        default=bucket_width_ns(span_ns, fitting),
    )
    first = (window.start_ns or 0) // width_ns
    count = max(1, -(-(window.end_ns or 0) // width_ns) - first)
    matrices = [np.full((len(nodes), count), np.nan, dtype=np.float32) for _ in range(3)]
    for row, (rollup, _) in enumerate(rollups):
        if rollup is not None:
            aligned = rollup if rollup.width_ns == width_ns else coarsen(rollup, width_ns)
            indices = aligned.starts_ns // width_ns - first
            for matrix, values in zip(
                matrices, (aligned.minimum, aligned.mean, aligned.maximum), strict=True
            ):
                matrix[row, indices] = values[0]
    unit = next((unit for _, unit in rollups if unit is not None), None)
    return FleetMatrix(nodes, unit, int(first), width_ns, *matrices)


def _interval_ns(job: SharedJob) -> int:
    nodes = job.facts.latest
    intervals = [node.attempt.interval_seconds for node in nodes]
    # the interval may have been changed since the start
    intervals += [node.heartbeat.interval_seconds or 0 for node in nodes if node.heartbeat]
    return max(1, round(max(intervals, default=DEFAULT_INTERVAL_SECONDS) * NANOSECONDS))


def _of_node(
    reader: SystemReader, metric: str, window: TimeRange, max_columns: int
) -> tuple[Rollup | None, str | None]:
    """The node's own series of a metric, or the mean of its devices."""
    series = reader.series(metric, "") or reader.series(metric)
    if not series:
        return None, None
    rollup = reader.buckets(series, max_columns, window)
    if len(series) > 1:
        count = rollup.count.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.where(rollup.count > 0, rollup.mean.astype(np.float64) * rollup.count, 0)
            mean = (total.sum(axis=0) / count).astype(np.float32)
        rollup = Rollup(
            rollup.width_ns,
            rollup.starts_ns,
            np.fmin.reduce(rollup.minimum, axis=0)[None],
            mean[None],
            np.fmax.reduce(rollup.maximum, axis=0)[None],
            count[None],
        )
    return rollup, series[0].metric.unit


def _padded(values: Floats, start: int, end: int, columns_per_group: int) -> Floats:
    count = -(-(end - start) // columns_per_group)
    padded = np.full((len(values), count * columns_per_group), np.nan, dtype=np.float32)
    begin = max(0, start)
    padded[:, begin - start : end - start] = values[:, begin:end]
    return padded.reshape(len(values), count, columns_per_group)


def _grouped(
    values: Floats, start: int, end: int, columns_per_group: int, operation: np.ufunc
) -> Floats:
    return np.asarray(operation.reduce(_padded(values, start, end, columns_per_group), axis=2))


def _means(values: Floats, start: int, end: int, columns_per_group: int) -> Floats:
    groups = _padded(values, start, end, columns_per_group)
    if columns_per_group == 1:
        return groups[:, :, 0]
    is_finite = ~np.isnan(groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            np.where(is_finite, groups, 0).sum(axis=2) / is_finite.sum(axis=2), dtype=np.float32
        )
