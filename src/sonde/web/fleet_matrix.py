"""One metric of every node over time: a matrix that is read once and cut as often as needed."""

from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader, bucket_width_ns
from sonde.records.ranges import TimeRange
from sonde.store.rollups import Floats, Rollup, coarsen
from sonde.web.shared_job import SharedJob

MOST_COLUMNS = 2048


@dataclass(frozen=True)
class FleetMatrix:
    """Lowest, mean and highest as (node, column); NaN where nothing was measured."""

    nodes: tuple[str, ...]
    unit: str | None
    first: int  # the number of the first column since the epoch
    width_ns: int
    minimum: Floats
    mean: Floats
    maximum: Floats

    def by(self, name: str) -> Floats:
        """One of `mean`, `max` and `min`."""
        return {"mean": self.mean, "max": self.maximum, "min": self.minimum}[name]

    def cut(self, window: TimeRange, most: int) -> "FleetMatrix":
        """The columns that touch a window, several made one where there are too many."""
        whole = self.mean.shape[1]
        start = min(whole, max(0, (window.start_ns or 0) // self.width_ns - self.first))
        last = -(-(window.end_ns or 0) // self.width_ns) - self.first
        end = max(start, min(whole, last))  # nothing where the window lies beside the job
        together = max(1, -(-(end - start) // most))
        # whole groups since the epoch, so that the past stands still while a job goes on
        start = (self.first + start) // together * together - self.first
        return FleetMatrix(
            self.nodes,
            self.unit,
            (self.first + start) // together,
            self.width_ns * together,
            _grouped(self.minimum, start, end, together, np.fmin),
            _means(self.mean, start, end, together),
            _grouped(self.maximum, start, end, together, np.fmax),
        )


def read_matrix(job: SharedJob, metric: str, window: TimeRange, most: int) -> FleetMatrix:
    """Every node, one after the other."""
    nodes = job.facts.nodes
    span_ns = (window.end_ns or 0) - (window.start_ns or 0)
    fitting = max(2, min(most, span_ns // _interval_ns(job) + 2))
    found: list[tuple[Rollup | None, str | None]] = []
    for name in nodes:
        with job.node(name) as reader:
            found.append(_of_node(reader, metric, window, fitting))
    width_ns = max(
        (one.width_ns for one, _ in found if one is not None),
        default=bucket_width_ns(span_ns, fitting),
    )
    first = (window.start_ns or 0) // width_ns
    count = max(1, -(-(window.end_ns or 0) // width_ns) - first)
    parts = [np.full((len(nodes), count), np.nan, dtype=np.float32) for _ in range(3)]
    for row, (rollup, _) in enumerate(found):
        if rollup is not None:
            one = rollup if rollup.width_ns == width_ns else coarsen(rollup, width_ns)
            places = one.starts_ns // width_ns - first
            for whole, values in zip(parts, (one.minimum, one.mean, one.maximum), strict=True):
                whole[row, places] = values[0]
    unit = next((unit for _, unit in found if unit is not None), None)
    return FleetMatrix(nodes, unit, int(first), width_ns, *parts)


def _interval_ns(job: SharedJob) -> int:
    known = [one.attempt.interval_seconds for one in job.facts.latest]
    return max(1, round(max(known, default=0.5) * NANOSECONDS))


def _of_node(
    reader: SystemReader, metric: str, window: TimeRange, most: int
) -> tuple[Rollup | None, str | None]:
    """The node's own series of a metric, else the mean of its devices."""
    series = reader.series(metric, "") or reader.series(metric)
    if not series:
        return None, None
    found = reader.buckets(series, most, window)
    if len(series) > 1:
        count = found.count.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.where(found.count > 0, found.mean.astype(np.float64) * found.count, 0)
            mean = (total.sum(axis=0) / count).astype(np.float32)
        found = Rollup(
            found.width_ns,
            found.starts_ns,
            np.fmin.reduce(found.minimum, axis=0)[None],
            mean[None],
            np.fmax.reduce(found.maximum, axis=0)[None],
            count[None],
        )
    return found, series[0].metric.unit


def _padded(values: Floats, start: int, end: int, together: int) -> Floats:
    count = -(-(end - start) // together)
    whole = np.full((len(values), count * together), np.nan, dtype=np.float32)
    begin = max(0, start)
    whole[:, begin - start : end - start] = values[:, begin:end]
    return whole.reshape(len(values), count, together)


def _grouped(values: Floats, start: int, end: int, together: int, operation: np.ufunc) -> Floats:
    return np.asarray(operation.reduce(_padded(values, start, end, together), axis=2))


def _means(values: Floats, start: int, end: int, together: int) -> Floats:
    parts = _padded(values, start, end, together)
    if together == 1:
        return parts[:, :, 0]
    known = ~np.isnan(parts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            np.where(known, parts, 0).sum(axis=2) / known.sum(axis=2), dtype=np.float32
        )
